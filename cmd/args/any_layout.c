/* SPDX-License-Identifier: MIT */
/* any_layout.c - an option that takes a layout of 64 or 128 bits. */
#include "args/all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* $AWSFLAKE_EPOCH sets the epoch of layout awsflake. An epoch in the layout's text outranks it. */
static const char *epoch_from_outside(const char *text) {
    const char *epoch = getenv("AWSFLAKE_EPOCH");
    return text && strcmp(text, "awsflake") == 0 && epoch && epoch[0] ? epoch : NULL;
}

bool args_any_layout(const struct args *args, int i, struct any_layout *any) {
    const char *text = args->value[i], *epoch = epoch_from_outside(text);
    char with_epoch[SFID_LAYOUT_STR_LEN];
    if (epoch) {
        snprintf(with_epoch, sizeof with_epoch, "%s@%s", text, epoch);
        text = with_epoch;
    }
    any->wide = text && sfid_wide_layout_parse(text, &any->wide_layout) == 0;
    if (any->wide)
        return true;
    if (epoch)
        say("$AWSFLAKE_EPOCH: %s is not a time in Unix milliseconds", QUOTE(epoch));
    return epoch == NULL && args_layout(args, i, &any->layout);
}

void any_layout_option(const struct any_layout *any, sfid_options *opt) {
    opt->layout = any->wide ? NULL : &any->layout;
    opt->wide = any->wide ? &any->wide_layout : NULL;
}
