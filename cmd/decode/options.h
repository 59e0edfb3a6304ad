/* SPDX-License-Identifier: MIT */
/* options.h - what `sfid decode` was asked to do. */
#ifndef CMD_DECODE_OPTIONS_H
#define CMD_DECODE_OPTIONS_H

#include "args/args.h"
#include "decode/candidates.h"
#include "decode/source.h"
#include "decode/stats.h"

#include <stdbool.h>

/* What is done with the IDs. */
enum task { TASK_SHOW, TASK_GUESS, TASK_STATS };

struct decode {
    enum task task;
    bool header;
    struct guess guess;
    struct stats stats;
    struct reader reader;
    struct view view;
    struct source source;
    bool hinted;  /* what to type instead was told */
    bool streams; /* IDs are inside something: there is nothing to be given as an argument */
    int status;
};

extern const struct option_spec decode_options[];

/* Sets all of decode but its status. False for misuse, which is told. */
bool decode_read_options(const struct args *args, struct decode *decode);

#endif
