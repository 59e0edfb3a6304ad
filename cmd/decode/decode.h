/* SPDX-License-Identifier: MIT */
/* decode.h - what the files of `sfid decode` share. */
#ifndef CLI_DECODE_H
#define CLI_DECODE_H

#include "decode/guess.h"
#include "decode/source.h"
#include "decode/stats.h"

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

/* ---- decode_options.c ------------------------------------------------------ */

extern const struct option_spec decode_options[];

/* Sets all of decode but its status. False for misuse, which is told. */
bool decode_read_options(const struct args *args, struct decode *decode);

#endif
