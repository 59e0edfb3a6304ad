/* SPDX-License-Identifier: MIT */
/* candidates.h - the layouts that IDs may have, and a sample of the IDs. */
#ifndef CMD_DECODE_CANDIDATES_H
#define CMD_DECODE_CANDIDATES_H

#include "args/args.h"
#include "text/reader.h"

#define GUESS_LAYOUTS 32
#define GUESS_SAMPLE 1024 /* IDs in the sample */
#define GUESS_ROOM (GUESS_SAMPLE + 2 + ARGS_LIST)
/* 2010, the year of Twitter's Snowflake, the first such IDs */
#define GUESS_SINCE INT64_C(1262304000000)

/* A layout that has a name. */
struct candidate {
    struct reader reader; /* wide ones: those of 64 bits are all read alike */
    struct view view;
    int64_t epoch_ms;
    size_t family;
    uint64_t fits; /* wide ones: IDs */
};

/* What guess.c found out about the epoch of a family. */
struct epoch {
    bool sure, future; /* future: IDs would be from there */
    bool round;        /* it was chosen because it is a round time, or has a name */
    int64_t ms;
    int64_t within;              /* how far off known times leave it */
    const struct candidate *own; /* NULL: no layout with a name has it */
};

/* Layouts that read the same bits: they differ by their epoch alone. */
struct family {
    bool wide, fixed_epoch;
    sfid_layout shape; /* of its first layout, unless it is wide */
    size_t layouts;
    /* time_bits: in a random ID, all that stand above the rest */
    unsigned time_bits, pid_bits, seq_bits, fixed_bits;
    uint32_t unit_ms;

    /* Set by guess_judge(). */
    bool possible;
    /* how much better than chance it explains the IDs: random ones do as well once in 2^bits */
    double bits;
    double epoch_bits, field_bits; /* what its epoch adds to them; what pids and sequences tell */
    size_t ids;
    unsigned pids;
    double seq_mean;
    int64_t oldest, newest; /* since the epoch, in milliseconds; the oldest and newest ID */
    uint64_t span;          /* ticks from the oldest to the newest */
    unsigned still;         /* how many of the lowest bits of the time never change */
    struct epoch epoch;
};

/* IDs of one width: a sample, each with the same chance to be here. */
struct sample {
    sfid_wide id[GUESS_ROOM];
    size_t count;
    uint64_t seen; /* IDs that the sample stands for */
    sfid_wide least, most;
};

/* An ID whose time is known. */
struct known {
    uint64_t id;
    int64_t from, to; /* the time lies between these */
};

struct guess {
    uint64_t count; /* texts */
    struct reader reader;
    size_t layouts, families, knowns;
    struct candidate candidate[GUESS_LAYOUTS];
    struct family family[GUESS_LAYOUTS];
    struct known known[ARGS_LIST];
    struct sample narrow, wide;
    uint64_t random;
    int64_t now, slack; /* now: 0 for what the clock says; slack: how far known times may be off */
};

/* from: the form of 64-bit IDs that are not plain digits. */
void guess_begin(struct guess *guess, sfid_form from);

/* Returns false if no named layout can read the text. */
bool guess_add(struct guess *guess, const char *text, size_t len);

/* Reads ID=TIME, and adds the ID. Returns false after a message. */
bool guess_know(struct guess *guess, const char *text);

#endif
