/* SPDX-License-Identifier: MIT */
/*
 * cli.h - what the commands of sfid(1) share.
 *
 * The command line is one process with one thread, built on the installed
 * headers alone. Data goes to standard output through out_…(), diagnostics to
 * standard error through say(). A command returns its exit status; main()
 * writes out what is left and closes.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sfid.h>

#define CLI_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- main.c ----------------------------------------------------------------- */

/* Before another program is run: signals as they were handed to this one. */
void signals_restore(void);

/* ---- say.c: diagnostics -------------------------------------------------- */

/* Exit statuses, as the manual lists them. */
enum status {
    STATUS_GOOD = 0,
    STATUS_BAD_INPUT = 1, /* the rest was still done */
    STATUS_USAGE = 2,
    STATUS_UNREACHABLE = 69, /* a server */
    STATUS_INTERNAL = 70,    /* clock, end of layout, memory */
    STATUS_STATE = 73,
    STATUS_IO = 74,
    STATUS_BUSY = 75,
    STATUS_LEASE = 76,
    STATUS_AUTH = 77,
    STATUS_CONFIG = 78
};

/* The exit status that stands for an SFID_E… code. */
int status_of(int code);

/* One line on standard error, "sfid: " before it, behind all output so far. */
void say(const char *fmt, ...) CLI_PRINTF(1, 2);

/* For whoever types a command: as say(), when standard error is a terminal, else nothing. */
void remark(const char *text);

/*
 * Untrusted text for a message: in quotes, cut where it is long, every byte
 * that is not printable ASCII as \xNN, so that it cannot drive a terminal. Of a
 * URL only the scheme: a password may stand behind it.
 */
#define QUOTE_LEN 240
struct quoted {
    char text[QUOTE_LEN];
};
struct quoted quote(const char *text, size_t len);
#define QUOTE(what) (quote((what), strlen(what)).text)

/* ---- out.c: standard output ---------------------------------------------- */

/* Room for n bytes (at most OUT_ROOM) at the end of the output; NULL never. */
#define OUT_ROOM 4096
char *out_room(size_t n);

/* Says that the output now ends here, inside the room of the last out_room(). */
void out_until(const char *end);

/* Bytes, as many as there are. */
void out_bytes(const char *text, size_t len);

/* At most OUT_ROOM bytes of formatted text. */
void out_print(const char *fmt, ...) CLI_PRINTF(1, 2);

/* Writes what is buffered. False once output failed or its reader is gone: the command should stop. */
bool out_flush(void);
bool out_pending(void);

/* False once output failed or its reader is gone. */
bool out_good(void);

/* Flushes and closes. Returns status, or STATUS_IO, told on standard error, when any output was lost. A gone reader is no error. */
int out_end(int status);

/* ---- in.c: lines of input ------------------------------------------------ */

/* No line is longer: what exceeds it is cut off, and never kept in memory. */
#define IN_LINE_MAX (1024 * 1024)
#define IN_BLOCK (256 * 1024) /* what is read at once */

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8 */

struct in {
    int fd;
    size_t max;   /* the longest line that is wanted whole */
    bool skip;    /* inside a line already handed out cut */
    bool end;     /* read(2) told the end */
    bool mark;    /* the first line began with a byte order mark, which is no part of it */
    size_t start; /* of what was handed out last, in buf */
    size_t at;    /* of what is not handed out yet: buf[at..filled) */
    size_t filled;
    uint64_t line;  /* number of the line handed out last, from 1 */
    uint64_t bytes; /* read so far */
    char buf[IN_LINE_MAX + 2 * IN_BLOCK];
};

struct line {
    const char *text; /* without its end, LF or CRLF; valid until the next in_line() or in_more() */
    size_t len;
    bool crlf;
    bool cut; /* longer than in.max: only its beginning */
};

void in_begin(struct in *in, int fd, size_t max);

/* The next line. Returns 1, 0 at the end, -1 with errno when reading failed. Flushes the output before it would wait for input. */
int in_line(struct in *in, struct line *line);

/* The line handed out last, with the next one behind it. Returns as in_line(); may be cut, too. At the end the line stays. */
int in_more(struct in *in, struct line *line);

/* Goes back inside what was handed out last: to its place-th byte, behind line `number`. */
void in_back(struct in *in, size_t place, uint64_t number);

/* The next `size` bytes, fewer at the end, as line and numbered as such. Returns as in_line(). */
int in_block(struct in *in, size_t size, struct line *block);

/* ---- progress.c: how far long input is, on a terminal ---------------------- */

/* Now and then, from in.c. */
void progress(const struct in *in);

/* Output comes at the end only, so that there is progress also where it goes to a terminal. */
void progress_silent(void);

/* Before anything else is written to a terminal. */
void progress_clear(void);

/* ---- digits.c, date.c: fast text ------------------------------------------ */

/* Numbers of 64 bits have at most this many digits; writers below may scribble over this much room. */
#define DEC_ROOM 24

/* Neighbours share all but their last four digits: a cache of the rest, one per column of output. All zero at first. */
struct dec {
    uint64_t base; /* multiple of 10000 */
    size_t len;    /* of text; 0: base is 0 */
    char text[DEC_ROOM];
};

/* Each writes at p, without a NUL, and returns the end. */
char *put_dec(struct dec *cache, char *p, uint64_t value);
char *put_int(struct dec *cache, char *p, int64_t value);
char *put_text(char *p, const char *text);

/* Digits alone, at most max; false otherwise. */
bool read_u64(const char *text, uint64_t max, uint64_t *value);

/* What times are told in. */
struct zone {
    enum { ZONE_UTC, ZONE_FIXED, ZONE_SYSTEM } kind; /* ZONE_SYSTEM: of localtime_r(3) */
    int32_t shift;                                   /* seconds ahead of UTC, whole minutes */
    int64_t minute;                                  /* ZONE_SYSTEM: since 1970, that shift is of */
    bool known;
};

/* "utc", "local", "+HH:MM" or a name of the time zone database. NULL, or what is wrong, to stand behind the text in a message. */
const char *zone_begin(struct zone *zone, const char *text);
int32_t zone_shift(struct zone *zone, int64_t second);

/* RFC 3339 with milliseconds, exact for all of int64_t; years past 9999 with a plus sign, those before 0 with a minus. */
#define DATE_ROOM 48
struct date {
    bool known;
    struct zone zone;
    int64_t second; /* since 1970, that text is about */
    int64_t day;
    size_t len, day_len, tail_len;
    char text[DATE_ROOM]; /* YYYY-MM-DDTHH:MM:SS. */
    char tail[8];         /* Z or +HH:MM */
};
char *put_date(struct date *cache, char *p, int64_t unix_ms);
void date_text(char text[DATE_ROOM], int64_t unix_ms);

/* YYYY-MM-DD of the time written last; with hour YYYY-MM-DDTHH. */
char *put_partition(const struct date *cache, char *p, bool hour);

struct moment {
    int64_t unix_ms;
    bool more; /* it lies past that, by less than a millisecond */
};
struct moment moment_now(void);

/*
 * RFC 3339 with any zone and fraction, years as put_date() writes them; a date
 * alone, its midnight in UTC; "now"; or a distance from now, such as -1h. NULL, or what is wrong, to stand behind
 * the text in a message.
 */
const char *read_time(const char *text, struct moment now, struct moment *out);

/* How commands show what they found. */
enum view_format { VIEW_TEXT, VIEW_JSON, VIEW_TSV, VIEW_CSV, VIEW_TABLE };

/* ---- json.c: JSON --------------------------------------------------------- */

/* How many bytes of the text's len are its first character of UTF-8 (RFC 3629); 0 when they are none. */
size_t utf8_length(const char *text, size_t len);

/* Values of an object have a key, those of a list NULL. Brackets are { } [ ]; json_end() ends the line. */
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_end(void);
void json_text(const char *key, const char *value);
void json_int(const char *key, int64_t value);
void json_uint(const char *key, uint64_t value);
void json_bool(const char *key, bool value);

/* ---- report.c: what a check found ------------------------------------------ */

enum severity { FINE, WARNING, FAULT };

#define REPORT_TOPIC 16 /* width of the column */
#define REPORT_TEXT 1200

struct report {
    bool json, found;
    bool strict; /* warnings alone end with STATUS_BAD_INPUT; to be set behind report_begin() */
    enum severity worst;
    int status; /* of the first fault */
    char topic[80];
};

/*
 * One topic after the other, with at least one finding each. In JSON the facts
 * of a topic are members of its object, written before its first finding.
 */
void report_begin(struct report *report, bool json);
void report_topic(struct report *report, const char *topic);
void report_fine(struct report *report, const char *fmt, ...) CLI_PRINTF(2, 3);

/* status: the exit status that this fault ends with; STATUS_GOOD: it is a warning. */
void report_problem(struct report *report, int status, const char *cure, const char *fmt, ...) CLI_PRINTF(4, 5);

/* Returns the exit status: of the first fault, STATUS_GOOD where there is none (see strict). */
int report_end(struct report *report);

/* ---- args.c: options ------------------------------------------------------ */

#define ARGS_MAX 24

struct option_spec {
    const char *name; /* without its dashes; NULL ends the list */
    char letter;      /* short form, or 0 */
    const char *arg;  /* name of its argument; [=NAME]: may be left out; NULL: a flag */
    const char *env;  /* variable that stands in for it, or NULL */
    const char *help; /* NULL: not listed */
};

struct args;

struct command {
    const char *name;
    const char *alias;    /* or NULL */
    const char *synopsis; /* what follows the name */
    const char *summary;  /* one line, no full stop */
    const char *about;    /* shown below the options */
    const struct option_spec *options;
    int (*run)(const struct args *args);
};

struct args {
    const struct command *command;
    const char *value[ARGS_MAX]; /* by place in command->options; NULL: not given */
    char label[ARGS_MAX][24];    /* where the value comes from: "--pid", "-n", "$SFID_PID" */
    bool from_env[ARGS_MAX];
    char **operands;
    int operand_count;
};

/* Reads argv[0..argc), all behind the command's name. Returns -1, or the exit status to end with (help was asked for, or misuse told). */
int args_read(struct args *args, const struct command *command, int argc, char **argv);

/* The i-th option's value as one of a NULL-terminated list: its place there, 0 when not given; -1 when it is none, which is told. */
int args_choice(const struct args *args, int i, const char *const *names);

/* As a number of at most max; *value is left alone when the option is not given. False when it is none, which is told. */
bool args_number(const struct args *args, int i, uint64_t max, uint64_t *value);

/* The same from `least` to `most`, where those fit the value. */
bool args_between(const struct args *args, int i, uint32_t least, uint32_t most, uint32_t *value);

/* As a time; it has to be given. False when it is none, which is told. */
bool args_time(const struct args *args, int i, struct moment now, struct moment *moment);

/* Whether options that a command cannot do without are there, and no operand is; told, when not. */
bool args_given(const struct args *args, const int *needed, int count);
bool args_no_operands(const struct args *args, const char *hint);

/* As the name of an app, and as a directory; left alone when not given. False when it is none, which is told. */
bool args_app(const struct args *args, int i, const char **app);
bool args_directory(const struct args *args, int i, const char **directory);
bool is_app_name(const char *name);

/* As a layout; the default when not given. False when it is none, which is told. */
bool args_layout(const struct args *args, int i, sfid_layout *layout);

/* Reads a layout; tells what would be right, with label before it, when text is none. */
bool read_layout(const char *label, const char *text, sfid_layout *layout);

/* any_layout.c: the same of 64 bits or more, with $AWSFLAKE_EPOCH; and into the options of a generator, which point to it. */
struct any_layout {
    bool wide;
    sfid_layout layout;
    sfid_wide_layout wide_layout; /* instead, when wide */
};
bool args_any_layout(const struct args *args, int i, struct any_layout *any);
void any_layout_option(const struct any_layout *any, sfid_options *opt);

/* layout_fault.c: what is wrong with a text of numbers that is no layout, perhaps in room. */
const char *layout_fault(const char *text, char *room, size_t size);

/* The name nearest to a misspelt one, or NULL where none is near. next(i) lists them, NULL at the end. */
const char *nearest(const char *text, const char *(*next)(size_t i));

/* ---- store.c: leases from a server ----------------------------------------- */

/* Options that commands have which ask one. The first two have to be the same for all of an app. */
#define OPTION_TTL \
    { "ttl-ms", 0, "MS", NULL, "how long a lease lasts, the same for all of APP (600000)" }
#define OPTION_BUDGET \
    { "skew-budget-ms", 0, "MS", NULL, "how far servers' clocks may differ, likewise (15000)" }
#define OPTION_TIMEOUT \
    { "timeout-ms", 0, "MS", NULL, "how long to wait for the server (5000)" }

/* Their values, and what follows from them. False when one is none, which is told. */
bool store_options(const struct args *args, int ttl, int budget, int timeout, sfid_options *opt);

/* Is there a password in it, or one for sentinels? Not: the name of a file that holds one. */
bool store_has_password(const char *store);

/* Overwrites such passwords in argv, which others can read as long as this process lives. The value stays what it was. */
void store_hide_password(struct args *args);

/* Tells why the library could not do it. Returns the exit status. What it calls invalid is the store: the rest was checked. */
int store_failure(int code, const char *why);

/* ---- help.c, and one file per command ------------------------------------- */

/* All commands, NULL past the last. */
const struct command *command_at(size_t i);

/* By name or alias; NULL when there is none. */
const struct command *command_of(const char *name);

/* Tells that there is no such command, and what may have been meant. Returns STATUS_USAGE. */
int command_unknown(const char *name);

void help_all(void);
void help_command(const struct command *command);

/* The usage line of a command (NULL: of all) on standard error. Returns STATUS_USAGE. */
int usage(const struct command *command);

extern const struct command command_gen, command_decode, command_encode, command_convert, command_range, command_layout,
    command_init, command_lease, command_exec, command_bench, command_doctor, command_help;

#endif
