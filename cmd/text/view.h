/* SPDX-License-Identifier: MIT */
/* view.h - IDs taken apart, and as they are, as text. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli.h"

/* ---- view.c: an ID taken apart ------------------------------------------- */

enum partition { PARTITION_NONE, PARTITION_DAY, PARTITION_HOUR };

struct view {
    bool wide;
    sfid_layout layout;
    sfid_wide_layout wide_layout; /* instead, when wide */
    sfid_form form;               /* how wide IDs are written */
    unsigned width;
    bool random; /* IDs have random bits */
    enum view_format format;
    enum partition partition; /* set behind view_begin(), as date.zone is */
    bool age;
    bool later; /* some ID was shown: the text form puts an empty line between */
    char name[SFID_LAYOUT_STR_LEN];
    sfid_field parts[SFID_LAYOUT_FIELDS]; /* of a split pid */
    int part_count;
    int id_width, pid_width, seq_width; /* of the table */
    struct dec id, unix_ms, tick, pid, seq, rest;
    struct date date;
};

void view_begin(struct view *view, const sfid_layout *layout, enum view_format format);
void view_begin_wide(struct view *view, const sfid_wide_layout *layout, enum view_format format);

/* An ID of either width, and what it is made of. */
struct taken {
    sfid_wide id;
    uint64_t tick, pid, seq, random;
    int64_t unix_ms;
};

/* False for what is no ID of the layout. */
bool view_take(const struct view *view, sfid_wide id, struct taken *taken);

/* The names of the columns, where the format has such: of a table, TSV and CSV. */
void view_header(const struct view *view);
void view_show(struct view *view, const struct taken *taken);

/* Takes apart and shows one ID of 64 bits. False, and nothing shown, when it is not of the layout. */
bool view_id(struct view *view, int64_t id);

/* Is the time that of no sane clock: past now by more than a minute? */
bool view_is_future(const struct taken *taken);

/* The ID alone, as its layout is usually written; DEC_ROOM or SFID_WIDE_TEXT_LEN bytes at most. */
char *view_put_id(struct view *view, char *p, sfid_wide id);

/* ---- view_kept.c: what is added to a record that is kept ------------------ */

/* All at p, OUT_ROOM bytes at most. Columns: each with the separator before it; without taken they are empty. */
char *view_put_names(const struct view *view, char *p, const char *prefix, char separator);
char *view_put_columns(struct view *view, char *p, const struct taken *taken, char separator);

/* Members of a JSON object: "time" and what follows. */
char *view_put_members(struct view *view, char *p, const struct taken *taken);

/* " [2026-11-21T10:30:00.000Z pid 1 seq 2]" */
char *view_put_note(struct view *view, char *p, const struct taken *taken);

/* The bits of a field. */
uint64_t view_part(const sfid_field *field, sfid_wide id);

/* What people know the pid of a wide ID by: a MAC address, a region. False where there is no such thing. */
#define VIEW_PID_NAME 32
bool view_pid_name(const struct view *view, const struct taken *taken, char name[VIEW_PID_NAME]);
const char *view_pid_label(const struct view *view);

/* Days, hours, minutes and seconds from a time to now. */
char *view_put_age(char *p, int64_t ms);
int64_t view_age(const struct taken *taken);

/* ---- ids.c: IDs as they are, one a line ----------------------------------- */

#define ID_FORMATS "dec|hex|base62|base32|base58|bytes|json"
#define ID_FORMATS_WIDE ID_FORMATS "|uuid"

struct ids {
    int format;     /* place among the formats */
    unsigned width; /* at least so many digits; 0: as the form or layout has it */
    struct dec cache;
    struct view view;
};

/*
 * Reads options of a format (of all of them for IDs of 128 bits, whose own form
 * stands for none) and of the least length. False when one is none, which is told.
 */
bool ids_read(struct ids *ids, const struct args *args, int format, int length, const struct any_layout *any);
void ids_show(struct ids *ids, const int64_t *list, size_t n);
void ids_show_wide(struct ids *ids, const sfid_wide *list, size_t n);

#endif
