/* SPDX-License-Identifier: MIT */
/* all.h - what goes in and out: input, output, messages, numbers and times: what each file of this folder offers. */
#ifndef CMD_IO_ALL_H
#define CMD_IO_ALL_H

/* What nearly every file of the command needs of the C library. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- macros for all files of the command --------------------------------- */

#define CLI_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- output formats of commands ------------------------------------------ */

enum view_format { VIEW_TEXT, VIEW_JSON, VIEW_TSV, VIEW_CSV, VIEW_TABLE };

/* ---- in.c: lines of input ------------------------------------------------ */

/* Longer lines are cut; the rest is never kept in memory. */
#define IN_LINE_MAX (1024 * 1024)
#define IN_BLOCK (256 * 1024) /* size of one read */

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8 */

struct in {
    int fd;
    size_t max;   /* a longer line is cut */
    bool skip;    /* the rest of a line that was cut is still to be skipped */
    bool end;     /* read(2) reported the end */
    bool mark;    /* the first line began with a byte order mark, which is not part of it */
    size_t start; /* begin of the current line in buf */
    size_t at;    /* begin of the unread rest: buf[at..filled) */
    size_t filled;
    uint64_t line;  /* number of the current line, from 1 */
    uint64_t bytes; /* read so far */
    char buf[IN_LINE_MAX + 2 * IN_BLOCK];
};

struct line {
    const char *text; /* without LF or CRLF; valid until the next in_line() or in_more() */
    size_t len;
    bool crlf;
    bool cut; /* longer than in.max; only its beginning */
};

void in_begin(struct in *in, int fd, size_t max);

/* Reads the next line. Returns 1, 0 at the end, or -1 with errno. Flushes the output before it waits for input. */
int in_line(struct in *in, struct line *line);

/* Extends the current line by the next one; the result may be cut, too. Returns as in_line(). At the end the line stays. */
int in_more(struct in *in, struct line *line);

/* Goes back inside the current text, to byte `place`, which follows line `number`. */
void in_back(struct in *in, size_t place, uint64_t number);

/* Reads the next `size` bytes, fewer at the end, as a numbered line. Returns as in_line(). */
int in_block(struct in *in, size_t size, struct line *block);

/* ---- out.c: standard output ---------------------------------------------- */

/* Returns room for n bytes (at most OUT_ROOM) at the end of the output. Never NULL. */
#define OUT_ROOM 4096
char *out_room(size_t n);

/* Sets the end of the output, inside the room of the last out_room(). */
void out_until(const char *end);

/* Writes any number of bytes. */
void out_bytes(const char *text, size_t len);

/* Writes at most OUT_ROOM bytes of formatted text. */
void out_print(const char *fmt, ...) CLI_PRINTF(1, 2);

/* Writes out the buffer. Returns false once output failed or its reader is gone; the command should then stop. */
bool out_flush(void);

/* Flushes if reading fd would wait: the producer may be a tail -f, whose lines should appear. */
void out_before_read(int fd);

/* Returns false once output failed or its reader is gone. */
bool out_good(void);

/* Flushes and closes. Returns 0, or the errno of lost output. A missing reader is no error. */
int out_close(void);

/* ---- say.c: messages, exit statuses, and the end of the output ----------- */

/* Exit statuses, as in the manual. */
enum status {
    STATUS_GOOD = 0,
    STATUS_BAD_INPUT = 1, /* the rest was processed */
    STATUS_USAGE = 2,
    STATUS_UNSURE = 3,       /* the answer is a guess */
    STATUS_UNREACHABLE = 69, /* a server */
    STATUS_INTERNAL = 70,    /* clock, end of layout, memory */
    STATUS_STATE = 73,
    STATUS_IO = 74,
    STATUS_BUSY = 75,
    STATUS_LEASE = 76,
    STATUS_AUTH = 77,
    STATUS_CONFIG = 78
};

/* Returns the exit status for an SFID_E… code. */
int status_of(int code);

/* What a value was refused for is not the command line: close_output() returns `status` in place of STATUS_USAGE. */
void end_with(int status);

/* Flushes the output, then prints a line on standard error, after "sfid: ". */
void say(const char *fmt, ...) CLI_PRINTF(1, 2);

/* As say(), but only if standard error is a terminal: for people who type a command. */
void remark(const char *text);

/*
 * Quotes untrusted text for a message. Long text is cut, and bytes that are not
 * printable ASCII become \xNN, so that they cannot control a terminal. Of a URL
 * only the scheme is shown: a password may follow.
 */
#define QUOTE_LEN 240
struct quoted {
    char text[QUOTE_LEN];
};
struct quoted quote(const char *text, size_t len);
#define QUOTE(what) (quote((what), strlen(what)).text)

/* Flushes and closes standard output. Returns status (but see end_with()), or STATUS_IO with a message if output was lost. */
int close_output(int status);

/* ---- progress.c: progress through long input, on a terminal -------------- */

/* Called now and then while fd is read, with the lines and bytes so far. */
void progress(int fd, uint64_t lines, uint64_t bytes);

/* Shows progress even if output goes to a terminal, because output comes only at the end. */
void progress_silent(void);

/* Call this before anything else is written to a terminal. */
void progress_clear(void);

/* ---- signals.c: signals of this process and of programs that it starts --- */

/* Call this first. If the reader is gone, write(2) then fails instead of ending this process. */
void signals_begin(void);

/* Call this before another program is run. It restores the signals that this process was given. */
void signals_restore(void);

/* ---- digits.c: numbers as text and back ---------------------------------- */

/* A 64-bit number has at most this many digits, and a sign. The writers below may overwrite this much room. */
#define DEC_ROOM 24

/* Each writes at p, without a NUL, and returns the end. */
char *put_dec(char *p, uint64_t value);
char *put_int(char *p, int64_t value);

/* The numbers from 0000 to 9999. */
extern const char four_digits[];

/* Exactly four digits of value < 10^4, and two of value < 100. */
static inline char *put_four(char *p, unsigned value) { return (char *)memcpy(p, four_digits + (size_t)value * 4, 4) + 4; }
static inline char *put_two(char *p, unsigned value) { return (char *)memcpy(p, four_digits + (size_t)value * 4 + 2, 2) + 2; }

/* Inline, since a constant text becomes a few stores. */
static inline char *put_text(char *p, const char *text) {
    const size_t len = strlen(text);
    memcpy(p, text, len);
    return p + len;
}

/* Reads digits only, at most max. Returns false for anything else. */
bool read_u64(const char *text, uint64_t max, uint64_t *value);

/* ---- version.c ------------------------------------------------------------ */

/* The version of the library, and in parentheses those of the libraries that it uses. */
const char *version_text(void);

/* ---- zone.c: time zones: how far local time is ahead of UTC -------------- */

/* The zone for all times that are shown. */
struct zone {
    enum { ZONE_UTC, ZONE_FIXED, ZONE_SYSTEM } kind; /* ZONE_SYSTEM: from localtime_r(3) */
    int32_t shift;                                   /* seconds ahead of UTC, whole minutes */
    int64_t minute;                                  /* ZONE_SYSTEM: the minute since 1970 that the shift is valid for */
    bool known;
};

/* Reads "utc", "local", "+HH:MM" or a zone name. Returns NULL, or what is wrong, to follow the text in a message. */
const char *zone_begin(struct zone *zone, const char *text);

/* Of a ZONE_SYSTEM, at a second since 1970. */
int32_t zone_shift(struct zone *zone, int64_t second);

/* ---- date.c: times as text and back -------------------------------------- */

/* put_date() writes RFC 3339 with milliseconds, for all of int64_t. Years past 9999 have a plus sign, years before 0 a minus. */
#define DATE_ROOM 48
struct date {
    bool known;
    struct zone zone;
    int64_t second, day; /* since 1970: those that the text shows */
    int32_t shift;
    size_t len, day_len;
    char text[32]; /* YYYY-MM-DDTHH:MM:SS */
};
char *put_date(struct date *cache, char *p, int64_t unix_ms);
void date_text(char text[DATE_ROOM], int64_t unix_ms);

/* Writes YYYY-MM-DD of the last time written; with hour, YYYY-MM-DDTHH. */
char *put_partition(const struct date *cache, char *p, bool hour);

struct moment {
    int64_t unix_ms;
    bool more; /* plus less than a millisecond */
};
struct moment moment_now(void);
int64_t monotonic_ms(void);

/*
 * Reads RFC 3339 with any zone and fraction (years as put_date() writes them),
 * a date (its midnight in UTC), "now", or a distance from now such as -1h.
 * Returns NULL, or what is wrong, to follow the text in a message.
 */
const char *read_time(const char *text, struct moment now, struct moment *out);

/* ---- json.c: writes JSON piece by piece ---------------------------------- */

/* Returns how many of the len bytes form the first UTF-8 character (RFC 3629), or 0 if they form none. */
size_t utf8_length(const char *text, size_t len);

/* Values in an object have a key; in a list it is NULL. Brackets are { } [ ]. json_end() closes the outermost object, and ends the line. */
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_end(void);
void json_text(const char *key, const char *value);
void json_int(const char *key, int64_t value);
void json_uint(const char *key, uint64_t value);
void json_bool(const char *key, bool value);

/* ---- look.c: reads files without changing their access times ------------- */

#define PATH_ROOM 8192

/* open(2) for reading; keeps the access time if the kernel allows that. */
int look_open(const char *path, int flags);

/* Reads a small file as text, without trailing line end and spaces. Returns its length, or -1 with errno (EFBIG: too long). */
int look_read(const char *path, char *buf, size_t size);

/* Makes room for one more element. Ends the program if memory runs out. */
void *grown(void *list, size_t count, size_t size);

/* ---- report.c: findings of a check by topic ------------------------------ */

enum severity { FINE, WARNING, FAULT };

#define REPORT_TOPIC 16 /* column width */
#define REPORT_TEXT 1200

struct report {
    bool json, found;
    bool strict; /* warnings alone give STATUS_BAD_INPUT; set it after report_begin() */
    enum severity worst;
    int status; /* of the first fault */
    char topic[80];
};

/* Topics follow one another, each with at least one finding. In JSON, a topic's facts are members before its first finding. */
void report_begin(struct report *report, bool json);
void report_topic(struct report *report, const char *topic);
void report_fine(struct report *report, const char *fmt, ...) CLI_PRINTF(2, 3);

/* status: the exit status for a fault, or STATUS_GOOD for a warning. */
void report_problem(struct report *report, int status, const char *cure, const char *fmt, ...) CLI_PRINTF(4, 5);

/* Returns the exit status: that of the first fault, or STATUS_GOOD (but see strict). */
int report_end(struct report *report);

#endif
