/* SPDX-License-Identifier: MIT */
/* all.h - sfid decode and its parts: what each file of this folder offers. */
#ifndef CMD_DECODE_ALL_H
#define CMD_DECODE_ALL_H

#include "text/all.h"

/* ---- decode.c: sfid decode ----------------------------------------------- */

extern const struct command command_decode;

/* ---- places in the input where IDs are: lines, columns, members, any text --- */

/*
 * A source returns one place after another. The caller reports a place without
 * a valid ID, unless the source is quiet: there it is no fault. A source that
 * keeps records writes them out again, with the parts of the ID added.
 */

struct column {
    char separator;
    const char *name; /* NULL: by number */
    size_t index;     /* from 0 */
    bool header;      /* the first record holds the names */
    size_t width;     /* columns of the first record; 0: none was read */
};

#define SOURCE_HEADER (64 * 1024)
#define SOURCE_DEPTH 32 /* depth of objects that a key may lead into */

/* A place. Its texts are valid until the next one is read. */
struct found {
    const char *record; /* the whole record, without its line end */
    size_t record_len;
    bool crlf;
    const char *id;
    size_t len;
    uint64_t line;     /* where the record begins, from 1 */
    size_t missing;    /* columns missing compared with the first record; they are filled up before others are added */
    bool part;         /* the record is longer than what was read of it */
    bool none;         /* no ID here, which is no fault */
    const char *fault; /* what is wrong with the record, to follow its text; NULL: nothing */
};

struct source {
    /* Returns 1, 0 at the end, or -1 with errno if reading failed. */
    int (*next)(struct source *source, struct found *found);

    /* Writes the record with the parts of its ID; taken NULL: it has no ID. NULL: the source does not keep records. */
    void (*keep)(struct source *source, const struct found *found, struct view *view, const struct taken *taken);

    /* Writes what comes first. Returns STATUS_GOOD, or, after a message, the exit status to end with. NULL: nothing comes first. */
    int (*begin)(struct source *source, struct view *view);

    const char *unit; /* what the line number counts: "line" */
    bool quiet;
    const struct reader *reader;
    struct column column;
    const char *key;
    char fault[320];
    char resolved[256]; /* for keys: the ID, if it is written with escapes */

    /* for CSV and TSV: the header, the output format, and whether to keep other columns */
    char header[SOURCE_HEADER];
    size_t header_len;
    enum view_format format;

    /* for grep: the read position in the line, and the characters of words */
    size_t at;
    bool is_part[256];
    struct line line;
    struct in in;
};

/* Writes the byte order mark of the first line, for text that is kept unchanged. */
static inline void source_put_mark(struct source *source) {
    if (source->in.mark)
        out_bytes(BYTE_ORDER_MARK, sizeof BYTE_ORDER_MARK - 1);
    source->in.mark = false;
}

/* Sets up what sources have in common. */
void source_begin(struct source *source, const struct reader *reader, int (*place)(struct source *, struct found *), size_t max);

/* Each sets up the source. Reading from standard input begins at once. */
void source_lines(struct source *source, const struct reader *reader); /* one ID a line; with bytes, one after the other */
void source_column(struct source *source, const struct reader *reader, const struct column *column, enum view_format format);
void source_key(struct source *source, const struct reader *reader, const char *key, bool keep);

/*
 * Digits may be written as escapes of JSON, such as \u0031. Resolves those of a place that was no ID as it stands. Returns false
 * if there are none; a text that is too long for an ID, or invalid, stays as it is.
 */
bool source_resolve(struct source *source, struct found *found);

void source_grep(struct source *source, const struct reader *reader, bool keep);

/* ---- csv.c: reads and writes the fields of CSV and TSV records ----------- */

/*
 * CSV follows RFC 4180: a quoted field may hold separators, line ends and
 * doubled quotes. In TSV quotes mean nothing, but those around a whole field
 * are no part of its value.
 */
struct field {
    const char *text; /* without the outer quotes; doubled quotes are still double */
    size_t len;
    bool quoted;
    size_t seen; /* CSV_OPEN: how far the text was searched; 0 for a new field */
};

enum csv_end { CSV_FIELD, CSV_LAST, CSV_OPEN, CSV_GARBAGE };

/*
 * Reads the field at *at and moves *at to the next one. CSV_LAST: no field
 * follows. CSV_OPEN: the text ends inside quotes; a call with the same field
 * and more text continues there. CSV_GARBAGE: something follows the closing
 * quote.
 */
enum csv_end csv_field(char separator, const char *text, size_t len, size_t *at, struct field *field);

/* Writes a value as a field of TSV or CSV, or between the quotes of a JSON string. */
void csv_write(enum view_format format, const struct field *field);

/* ---- candidates.c: the layouts that IDs may have, and a sample of the IDs -- */

#define GUESS_LAYOUTS 32
#define GUESS_SAMPLE 1024 /* IDs in the sample */
#define GUESS_ROOM (GUESS_SAMPLE + 2 + ARGS_LIST)
#define GUESS_SINCE INT64_C(1262304000000) /* 2010, the year of Twitter's Snowflake, the first such IDs */

/* A layout that has a name. */
struct candidate {
    struct reader reader; /* wide ones: those of 64 bits are all read alike */
    struct view view;
    int64_t epoch_ms;
    size_t family;
    uint64_t fits; /* wide ones: IDs */
};

/* What guess.c found out about the epoch of a family. */
struct epoch {
    bool sure, future; /* future: IDs would be from there */
    bool round;        /* it was chosen because it is a round time, or has a name */
    int64_t ms;
    int64_t within;              /* how far off known times leave it */
    const struct candidate *own; /* NULL: no layout with a name has it */
};

/* Layouts that read the same bits: they differ by their epoch alone. */
struct family {
    bool wide, fixed_epoch;
    sfid_layout shape; /* of its first layout, unless it is wide */
    size_t layouts;
    unsigned time_bits, pid_bits, seq_bits, fixed_bits; /* time_bits: in a random ID, all that stand above the rest */
    uint32_t unit_ms;

    /* Set by guess_judge(). */
    bool possible;
    double bits; /* how much better than chance it explains the IDs: random ones do as well once in 2^bits */
    size_t ids;
    unsigned pids;
    double seq_mean;
    int64_t oldest, newest; /* since the epoch, in milliseconds; the oldest and newest ID */
    uint64_t span;          /* ticks from the oldest to the newest */
    unsigned still;         /* how many of the lowest bits of the time never change */
    struct epoch epoch;
};

/* IDs of one width: a sample, each with the same chance to be here. */
struct sample {
    sfid_wide id[GUESS_ROOM];
    size_t count;
    uint64_t seen; /* IDs that the sample stands for */
    sfid_wide least, most;
};

/* An ID whose time is known. */
struct known {
    uint64_t id;
    int64_t from, to; /* the time lies between these */
};

struct guess {
    uint64_t count; /* texts */
    struct reader reader;
    size_t layouts, families, knowns;
    struct candidate candidate[GUESS_LAYOUTS];
    struct family family[GUESS_LAYOUTS];
    struct known known[ARGS_LIST];
    struct sample narrow, wide;
    uint64_t random;
    int64_t now, slack; /* now: 0 for what the clock says; slack: how far known times may be off */
};

/* from: the form of 64-bit IDs that are not plain digits. */
void guess_begin(struct guess *guess, sfid_form from);

/* Returns false if no named layout can read the text. */
bool guess_add(struct guess *guess, const char *text, size_t len);

/* ---- known.c: IDs whose time is known ------------------------------------ */

/* Reads ID=TIME, and adds the ID. Returns false after a message. */
bool guess_know(struct guess *guess, const char *text);

/* ---- epoch.c: finds the epoch of a family -------------------------------- */

double log2_of(double value); /* value > 0 */

/*
 * Finds what the times of the IDs, between oldest and newest, tell about the
 * epoch. Returns how much better than chance they are, in bits; *possible
 * becomes false if no epoch makes sense.
 */
double guess_epoch(const struct guess *guess, struct family *family, bool *possible);

/* Returns whether the IDs may have been read as this layout, so far as times tell: none from before 2010, none in the future. */
bool guess_makes_sense(const struct guess *guess, const struct family *family, int64_t epoch_ms);

/* ---- score.c: how much better than chance a family explains IDs ---------- */

/* Takes IDs of the family apart. */
const struct view *guess_view(const struct guess *guess, size_t family);

/* Sorts the sample, with the IDs whose time is known, and leaves out copies. */
void guess_sort(struct sample *sample, const struct known *known, size_t knowns);

/* Judges one family by sorted IDs. */
void guess_judge(struct guess *guess, size_t family, const sfid_wide *id, size_t count);

/* ---- mixture.c: finds out whether IDs are a mixture of several layouts --- */

#define GUESS_PARTS 4 /* layouts in a mixture */
#define GUESS_SOME 8  /* IDs are enough to see what is usual */

/* Layouts that share the IDs so that all their times fall together. */
struct mixture {
    size_t parts;
    size_t layout[GUESS_PARTS]; /* indexes into the candidates */
    unsigned percent[GUESS_PARTS];
    int64_t from, to, last; /* of all times, with a margin; the last one; in Unix milliseconds */
};

/* Returns false if the IDs show no sign of a mixture. */
bool guess_find_mixture(const struct guess *guess, struct mixture *out);

/* ---- pair.c: finds IDs of two families among one another ----------------- */

struct pair {
    enum { PAIR_LAYOUTS, PAIR_EITHER, PAIR_HABITS } kind; /* two layouts; these or habits; two habits of the makers of one layout */
    size_t family[2];
    unsigned percent;    /* of the first */
    uint64_t example[2]; /* an ID of each, beyond doubt */
    bool known;          /* a time is known of each */
};

/* Looks whether the best family with another, or twice by itself, explains sorted IDs of 64 bits much better. */
bool guess_find_pair(struct guess *guess, size_t best, const sfid_wide *id, size_t count, struct pair *pair);

/* ---- guess.c: guesses which layout IDs have ------------------------------ */

/* Ranks and prints the families of layouts that fit. Returns the exit status: STATUS_GOOD only for a certain answer. */
int guess_report(struct guess *guess, enum view_format format, bool header);

/* ---- order.c: arrays of 64-bit or 128-bit numbers ------------------------ */

struct numbers {
    uint64_t *words; /* a wide number takes two, the high one first */
    size_t count, room;
    bool wide;
};

static inline sfid_wide number_at(const struct numbers *n, size_t i) {
    return n->wide ? (sfid_wide){n->words[2 * i], n->words[2 * i + 1]} : (sfid_wide){0, n->words[i]};
}

static inline void number_set(struct numbers *n, size_t i, sfid_wide number) {
    if (n->wide)
        n->words[2 * i] = number.high;
    n->words[n->wide ? 2 * i + 1 : i] = number.low;
}

static inline bool is_below(sfid_wide a, sfid_wide b) { return a.high < b.high || (a.high == b.high && a.low < b.low); }
static inline bool is_same(sfid_wide a, sfid_wide b) { return a.high == b.high && a.low == b.low; }

/* Sorts the numbers in place. */
void sort_numbers(struct numbers *numbers);

/* ---- disorder.c: finds IDs that are out of order ------------------------- */

#define STATS_SHOWN 10 /* entries in each list: duplicates, breaks, pids, gaps */

/* An ID that is out of place: without it, its neighbours are in order. */
struct misplaced {
    sfid_wide id;
    size_t number; /* its position in the input, from 1 */
    size_t places; /* its distance from where it belongs, in IDs */
};

struct order {
    size_t in_order; /* length of the longest increasing subsequence */
    size_t shown;    /* entries in the list, which leaves out copies of an ID in order */
    struct misplaced list[STATS_SHOWN];
    struct misplaced farthest;
};

/* Returns false if memory runs out. */
bool stats_order(const struct numbers *ids, struct order *order);

/* ---- summary.c: writes statistics of IDs as text and JSON ---------------- */

struct pid_count {
    uint64_t pid;
    size_t count;
};

struct span_of_time {
    int64_t from, to; /* Unix milliseconds */
};

struct repeated {
    sfid_wide id;
    size_t count;
};

struct summary {
    uint64_t max_seq;
    size_t count, distinct, breaks, seconds, bursts, pids;
    size_t second_peak, tick_peak, pid_seconds, pid_second_peak; /* pid_seconds: pairs of a pid and a second with IDs */
    uint64_t tick_peak_pid, pid_second_peak_pid;
    int64_t second_peak_at, tick_peak_at, pid_second_peak_at;
    int64_t first, last;
    size_t hot, gaps, repeats; /* entries in the lists below */
    struct pid_count hottest[STATS_SHOWN];
    struct span_of_time gap[STATS_SHOWN];
    struct repeated repeat[STATS_SHOWN];
    struct order order;
};

void stats_show(struct view *view, const struct summary *summary, enum view_format format);

/* ---- stats.c: collects statistics of many IDs ---------------------------- */

struct stats {
    struct numbers ids; /* in input order; later sort keys, see stats.c */
    bool no_memory;
    struct view *view;
    unsigned pid_bits, seq_bits, random_bits; /* of the keys */
    uint64_t max_seq;
};

void stats_begin(struct stats *stats, struct view *view);
void stats_add(struct stats *stats, sfid_wide id);

/* Writes the statistics as text or JSON. Returns the exit status. */
int stats_report(struct stats *stats, enum view_format format);

/* ---- makers.c: IDs of other makers, by their form ------------------------ */

#define MAKER_PARTS 3
#define MAKER_VALUE 40
#define MAKER_KINDS 20 /* more than there are */

struct made {
    const char *name, *what; /* "ulid", and for messages "a ULID" */
    const char *note;        /* what has to be known about it, or NULL */
    bool timed;              /* it has a time: unix_ms */
    bool odd;                /* but nobody generated such IDs at that time: it has no more than the form */
    int64_t unix_ms;
    unsigned parts;
    struct {
        const char *name;
        char value[MAKER_VALUE];
    } part[MAKER_PARTS];
};

/* Returns false if the text has the form of none. */
bool maker_find(const char *text, size_t len, struct made *made);

/* Shows the ID as text or JSON. Returns false in the other formats, whose columns it does not have. */
bool maker_show(struct view *view, const char *text, size_t len, const struct made *made);

/* Says that the ID is not of the layout, but whose it may be. */
void maker_explain(const struct made *made, const char *layout, char why[READER_WHY]);

/* Returns whether it is worth saying that the text has none of these forms. */
#define MAKERS_NONE "; nor has it the form of a ULID, KSUID, ObjectId, xid, TSID or UUID"
bool maker_is_word(const char *text, size_t len);

/* How many IDs of each maker there are. */
struct makers {
    uint64_t all;
    struct maker_count {
        const char *what;
        uint64_t count;
        bool timed;
        int64_t first, last;
    } list[MAKER_KINDS];
};
void makers_add(struct makers *makers, const struct made *made);

/* Tells of each kind. others: how many IDs there are beside them. */
void makers_tell(const struct makers *makers, uint64_t others);

/* ---- rounded.c: notices IDs that were rounded before they came ---------- */

/* The first that fits all IDs is told. */
enum rounding { ROUNDED_15, ROUNDED_BINARY, ROUNDED_SHORTEST, ROUNDED_17, ROUNDED_KINDS };

struct rounded {
    unsigned open;              /* a bit for each kind that fits all IDs so far; 0: they are sound */
    uint64_t count;             /* IDs, while one is open */
    double bits[ROUNDED_KINDS]; /* sound IDs look so with a chance of 2^-bits */
    unsigned low_bits;          /* of the lowest field; 64: unknown */
    bool low_pid;               /* it is a pid */
    bool even;                  /* the lowest bit that a double kept was 0 in some */
    uint64_t seen[16];          /* pids of the lowest field, a bit each */
};

/* layout: NULL if it is unknown. */
void rounded_begin(struct rounded *rounded, const sfid_layout *layout);
void rounded_look(struct rounded *rounded, uint64_t id);

static inline void rounded_add(struct rounded *rounded, uint64_t id) {
    if (rounded->open)
        rounded_look(rounded, id);
}

/* Says that all IDs were rounded, if they were. */
void rounded_tell(const struct rounded *rounded);

/* Returns whether a double may have left a number above 2^53. */
bool rounded_may_be(uint64_t id);

/* ---- damaged.c: explains what a spreadsheet or a float has made of an ID - */

/* Returns false if the text has none of these forms. */
bool damaged_explain(const char *text, size_t len, char why[READER_WHY]);

/* ---- options.c: the options of `sfid decode` ----------------------------- */

/* What to do with the IDs. */
enum task { TASK_SHOW, TASK_GUESS, TASK_STATS };

struct decode {
    enum task task;
    bool header;
    struct guess guess;
    struct stats stats;
    struct makers makers;
    struct rounded rounded;
    bool keep_bad;  /* records without a valid ID are passed through */
    uint64_t least; /* numbers below it are no IDs of the layout, though it could take them apart */
    bool any;       /* neither layout nor form is given: IDs of other makers are taken apart */
    struct reader reader;
    struct view view;
    struct source source;
    bool hinted;  /* the hint was given */
    bool streams; /* IDs are inside other text, so there can be no arguments */
    int status;
};

extern const struct option_spec decode_options[];

/* Sets all of decode but its status. Returns false after a usage message. */
bool decode_read_options(const struct args *args, struct decode *decode);

#endif
