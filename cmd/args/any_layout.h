/* SPDX-License-Identifier: MIT */
/* any_layout.h - layouts of either width, as an option. */
#ifndef CMD_ARGS_ANY_LAYOUT_H
#define CMD_ARGS_ANY_LAYOUT_H

#include "args/args.h"

#include <sfid.h>
#include <stdbool.h>

struct any_layout {
    bool wide;
    sfid_layout layout;
    sfid_wide_layout wide_layout; /* instead, when wide */
};

/* Reads the option, with $AWSFLAKE_EPOCH. False when it is none, which is told. */
bool args_any_layout(const struct args *args, int i, struct any_layout *any);

/* Into the options of a generator, which point to it. */
void any_layout_option(const struct any_layout *any, sfid_options *opt);

#endif
