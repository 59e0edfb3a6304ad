/* SPDX-License-Identifier: MIT */
/* view.h - an ID taken apart. */
#ifndef CMD_TEXT_VIEW_H
#define CMD_TEXT_VIEW_H

#include "io/date.h"
#include "io/digits.h"
#include "io/format.h"

#include <sfid.h>
#include <stdbool.h>
#include <stdint.h>

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

/* How long ago it was, in milliseconds. */
int64_t view_age(const struct taken *taken);

/* Is the time that of no sane clock: past now by more than a minute? */
bool view_is_future(const struct taken *taken);

/* The ID alone, as its layout is usually written; DEC_ROOM or SFID_WIDE_TEXT_LEN bytes at most. */
char *view_put_id(struct view *view, char *p, sfid_wide id);

#endif
