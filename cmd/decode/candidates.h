/* SPDX-License-Identifier: MIT */
/* candidates.h - reads the same IDs with every layout. */
#ifndef CMD_DECODE_CANDIDATES_H
#define CMD_DECODE_CANDIDATES_H

#include "text/reader.h"
#include "text/view.h"

#include <sfid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUESS_PIDS 64 /* beyond this, pids are just many */
#define GUESS_LAYOUTS 32
#define GUESS_SAMPLE 1024 /* IDs in the sample */
#define GUESS_SOME 8      /* IDs are enough to see what is usual */

struct candidate {
    struct reader reader;
    struct view view;
    uint64_t fits, future, early; /* IDs of this layout; those in the future, and those before anybody generated such IDs */
    int64_t first, last;          /* Unix milliseconds */
    uint64_t max_pid, max_seq, first_pid;
    double seq_sum;
    uint64_t pids[GUESS_PIDS];
    unsigned pid_count; /* GUESS_PIDS: or more */
    bool low_pid;       /* a pid below the first one that its makers use */
    int score;
    char why[320];
};

struct guess {
    uint64_t count; /* texts */
    size_t layouts;
    struct candidate candidate[GUESS_LAYOUTS];
    uint64_t sample[GUESS_SAMPLE]; /* 64-bit IDs, each with the same chance to be here */
    uint64_t seen, random;         /* seen: IDs that the sample stands for */
    size_t sampled;
};

/* from: the form of 64-bit IDs that are not plain digits. */
void guess_begin(struct guess *guess, sfid_form from);

/* Returns false if no named layout can read the text. */
bool guess_add(struct guess *guess, const char *text, size_t len);

/* Returns whether the ID dates from before anybody generated such IDs. */
bool guess_is_early(const struct candidate *c, const struct taken *taken);

#endif
