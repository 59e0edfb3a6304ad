/* SPDX-License-Identifier: MIT */
/* options.h - the options of `sfid decode`. */
#ifndef CMD_DECODE_OPTIONS_H
#define CMD_DECODE_OPTIONS_H

#include "args/args.h"
#include "decode/candidates.h"
#include "decode/damaged.h"
#include "decode/makers.h"
#include "decode/source.h"
#include "decode/stats.h"
#include "text/reader.h"

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
