/* SPDX-License-Identifier: MIT */
/* any_layout.h - an option that takes a layout of 64 or 128 bits. */
#ifndef CMD_ARGS_ANY_LAYOUT_H
#define CMD_ARGS_ANY_LAYOUT_H

#include "args/args.h"

struct any_layout {
    bool wide;
    sfid_layout layout;
    sfid_wide_layout wide_layout; /* used instead of layout if wide */
};

/* Read a text, or an option, and $AWSFLAKE_EPOCH. Without a text it is the default. Return false,
 * with a message, if invalid. */
bool read_any_layout(const char *label, const char *text, struct any_layout *any);
bool args_any_layout(const struct args *args, int i, struct any_layout *any);

/* Returns false if the text is no layout. */
bool any_layout_parse(const char *text, struct any_layout *any);

/* Points the options of a generator to the layout. */
void any_layout_option(const struct any_layout *any, sfid_options *opt);

/* Works out what follows from the layout. Returns 0, or a negative code. */
int any_layout_describe(const struct any_layout *any, sfid_wide_facts *facts);
int64_t any_layout_epoch_ms(const struct any_layout *any);
uint32_t any_layout_unit_ms(const struct any_layout *any);

/* The highest pid of its IDs. */
uint64_t any_layout_max_pid(const struct any_layout *any);
uint64_t option_max_pid(const sfid_options *opt); /* of what any_layout_option() has set */

#endif
