/* SPDX-License-Identifier: MIT */
/* all.h - IDs as text, and the commands about them: what each file of this folder offers. */
#ifndef CMD_TEXT_ALL_H
#define CMD_TEXT_ALL_H

#include "args/all.h"

/* ---- commands that generate, write and convert IDs ----------------------- */

extern const struct command command_bench, command_convert, command_encode, command_gen, command_range;

/* ---- reader.c: reads IDs of 64 and 128 bits in all their forms ----------- */

/* Names of the forms, in the order of sfid_form, for args_choice(). */
extern const char *const id_forms[];

/*
 * A text of digits is decimal, and 0x means hex. Any other text has the
 * announced form. So do digits if their count is the form's length: one hex ID
 * in some thousands has no letter.
 */
struct reader {
    bool wide; /* 128 bits */
    sfid_form form;
    size_t least, most; /* this many digits alone have the form, too */
};

void reader_begin(struct reader *reader, sfid_form form, bool wide);

/* For the form in which IDs of a wide layout are usually written. */
void reader_begin_wide(struct reader *reader, const sfid_wide_layout *layout);

/* Returns false if the text is no ID. */
bool reader_read(const struct reader *reader, const char *text, size_t len, sfid_wide *id);

/* Returns whether there are only decimal digits. */
bool all_decimal(const char *text, size_t len);

/* Explains why reader_read() refused; the answer follows the text in a message. */
#define READER_WHY 200
void reader_explain(const struct reader *reader, const char *text, size_t len, char why[READER_WHY]);

/* Prints that a line or argument is bad: its place, its text, and why. */
void say_bad(const char *unit, uint64_t number, const char *text, size_t len, const char *why);

/* ---- view.c: takes an ID apart ------------------------------------------- */

#define VIEW_LABEL 32 /* the widest label of a layout, and two spaces, fit */

#define VIEW_CHOSEN 16 /* columns, at most */

enum partition { PARTITION_NONE, PARTITION_DAY, PARTITION_HOUR };

struct view {
    bool wide;
    sfid_layout layout;
    sfid_wide_layout wide_layout; /* used instead of layout if wide */
    sfid_form form;               /* the form of wide IDs */
    unsigned width;
    bool random; /* IDs have random bits */
    enum view_format format;
    unsigned char chosen[VIEW_CHOSEN]; /* columns of CSV and TSV, in this order */
    unsigned chosen_count;             /* 0: all of them */
    enum partition partition;          /* set after view_begin(), as date.zone is */
    bool age;
    bool later; /* the text form puts an empty line before all but the first ID */
    char name[SFID_LAYOUT_STR_LEN];
    size_t name_len;
    sfid_field own[SFID_LAYOUT_FIELDS]; /* the fields that their makers call by another name, and the parts of a split pid */
    int own_count;
    int label_width;                    /* of a line of VIEW_TEXT; two spaces follow */
    int id_width, pid_width, seq_width; /* column widths of the table */
    struct date date;
    struct {
        uint64_t tick;
        size_t len; /* 0: there are none yet */
        char text[DATE_ROOM + 2 * DEC_ROOM];
    } moment; /* the columns of the last tick: IDs of one tick mostly come one after another */
};

void view_begin(struct view *view, const sfid_layout *layout, enum view_format format);
void view_begin_wide(struct view *view, const sfid_wide_layout *layout, enum view_format format);

/* An ID of either width, and its parts. */
struct taken {
    sfid_wide id;
    uint64_t tick, pid, seq, random;
    int64_t unix_ms;
};

/* Returns false if it is no ID of the layout. */
bool view_take(const struct view *view, sfid_wide id, struct taken *taken);

/* Returns how long ago the ID was generated, in milliseconds. */
int64_t view_age(const struct taken *taken);

/* Returns whether the time is more than a minute past now, which only a wrong clock gives. */
bool view_is_future(const struct taken *taken);

/* ---- show.c: shows the parts of IDs -------------------------------------- */

/* Writes the ID as its layout usually does: at most DEC_ROOM or SFID_WIDE_TEXT_LEN bytes. */
char *view_put_id(struct view *view, char *p, sfid_wide id);

/* Each writes at most OUT_ROOM bytes at p. A separator precedes each column; with taken NULL, columns are empty. */
char *view_put_names(const struct view *view, char *p, const char *prefix, char separator);
char *view_put_columns(struct view *view, char *p, const struct taken *taken, char separator);

/* Chooses the columns by their names, with commas between them. Returns false after a message that begins with the label. */
bool view_choose(struct view *view, const char *label, const char *names);

/* Writes the line of VIEW_JSON. */
char *view_put_json(struct view *view, char *p, const struct taken *taken);

/* Writes members of a JSON object: "time" and so on. */
char *view_put_members(struct view *view, char *p, const struct taken *taken);

/* Writes " [2026-11-21T10:30:00.000Z pid 1 seq 2]". */
char *view_put_note(struct view *view, char *p, const struct taken *taken);

/* Writes the common name of a wide ID's pid: a MAC address or a region. Returns false if it has none. */
#define VIEW_PID_NAME 32
bool view_pid_name(const struct view *view, const struct taken *taken, char name[VIEW_PID_NAME]);
const char *view_pid_label(const struct view *view);

/* Writes days, hours, minutes and seconds from a time until now. */
char *view_put_age(char *p, int64_t ms);

/* Writes the column names, if the format has any: a table, TSV or CSV. */
void view_header(const struct view *view);
void view_show(struct view *view, const struct taken *taken);

/* Shows the parts of a 64-bit ID. Returns false, and shows nothing, if it is not of the layout. */
bool view_id(struct view *view, int64_t id);

/* ---- ids.c: writes plain IDs, one a line --------------------------------- */

#define ID_FORMATS "dec|hex|base62|base32|base58|bytes|json"
#define ID_FORMATS_WIDE ID_FORMATS "|uuid"

struct ids {
    int format;     /* index into the formats */
    unsigned width; /* least number of digits; 0: that of the form or layout */
    struct view view;
};

/*
 * Reads format and least length. 128-bit IDs have all formats; the default is
 * their layout's own. Returns false after a message if one is invalid.
 */
bool ids_read(struct ids *ids, const struct args *args, int format, int length, const struct any_layout *any);
void ids_show(struct ids *ids, const int64_t *list, size_t n);
void ids_show_wide(struct ids *ids, const sfid_wide *list, size_t n);

/* ---- host.c: options for the host in IDs of flake, flake-go, awsflake ---- */

#define HOST_OPTIONS(first) \
    [first] = {"mac", 0, "ADDRESS", NULL, "flake, flake-go: the worker, a MAC address (of the first interface)"}, \
    [(first) + 1] = {"interface", 0, "NAME", NULL, "flake, flake-go, awsflake: the interface whose address to use"}, \
    [(first) + 2] = {"region", 0, "REGION", "AWSFLAKE_REGION", "awsflake: the region, such as us-east-1"}, \
    [(first) + 3] = {"ip", 0, "ADDRESS", "AWSFLAKE_IP", "awsflake: the host's address (that of the first interface)"}

#define OPTION_EC2 \
    { "ec2", 0, NULL, NULL, "awsflake: ask EC2 for the region and address that are not given" }

/* Their indexes in a command's list; ec2: -1 if it has none. */
struct host_options {
    int pid, mac, interface, region, ip, ec2;
};

/* Returns whether the IDs name the host that generated them, instead of a leased pid. */
bool host_is_named(const struct any_layout *any);

/* Checks that the given options fit the layout and each other. Returns false after a message. */
bool host_check(const struct args *args, const struct host_options *at, const struct any_layout *any);

/*
 * Sets the pid for a layout whose IDs name their host; -1 if a MAC address is
 * not given. Returns false, with a message, if it is invalid or missing.
 */
bool host_pid(const struct args *args, const struct host_options *at, const struct any_layout *any, int64_t *pid);

/* ---- source.c: where the pids of a generator come from ------------------- */

/* Indexes of the options in a command's list. */
struct source_options {
    int app, store, layout;
    struct host_options host;
};

/*
 * Sets opt->pid, or opt->store ("local" if neither is given). Options outrank
 * the environment. There a pid outranks a store: sfid's parent may have leased
 * the pid from it. Returns false after a message.
 */
bool source_read(const struct args *args, const struct source_options *at, const struct any_layout *any, sfid_options *opt);

/* The same for IDs that name their host, which have no app: variables for other layouts do not count. */
bool source_read_host(const struct args *args, const struct source_options *at, const struct any_layout *any, sfid_options *opt);

/* ---- hint.c: suggests what to type instead ------------------------------- */

/* Each returns text to follow a message, or "". columns: the command also finds IDs in columns, members and text. */
const char *hint_line(const char *text, size_t len, bool columns);
const char *hint_object(const char *text, size_t len);
const char *hint_columns(char separator, const char *text, size_t len);
const char *hint_argument(const char *text);

/* If an argument is a file's name instead of an ID, returns true and explains that. typed: the command to read the file with. */
#define HINT 480
bool hint_file(const char *typed, bool columns, const char *name, char why[HINT]);

#endif
