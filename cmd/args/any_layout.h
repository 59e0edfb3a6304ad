/* SPDX-License-Identifier: MIT */
/* any_layout.h - an option that takes a layout of 64 or 128 bits. */
#ifndef CMD_ARGS_ANY_LAYOUT_H
#define CMD_ARGS_ANY_LAYOUT_H

#include "args/args.h"

#include <sfid.h>
#include <stdbool.h>

struct any_layout {
    bool wide;
    sfid_layout layout;
    sfid_wide_layout wide_layout; /* used instead of layout if wide */
};

/* Reads the option and $AWSFLAKE_EPOCH. Returns false, with a message, if the value is invalid. */
bool args_any_layout(const struct args *args, int i, struct any_layout *any);

/* Points the options of a generator to the layout. */
void any_layout_option(const struct any_layout *any, sfid_options *opt);

#endif
