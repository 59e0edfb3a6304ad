/* SPDX-License-Identifier: MIT */
/* candidates.h - what each layout makes of the same IDs. */
#ifndef CMD_DECODE_CANDIDATES_H
#define CMD_DECODE_CANDIDATES_H

#include "text/reader.h"
#include "text/view.h"

#include <sfid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUESS_PIDS 64 /* more different ones are just many */
#define GUESS_LAYOUTS 32
#define GUESS_SAMPLE 1024 /* IDs that are kept */
#define GUESS_SOME 8      /* IDs are enough to tell what is usual among them */

struct candidate {
    struct reader reader;
    struct view view;
    uint64_t fits, future, early; /* IDs of it; of a time that is still to come, and of one before anybody drew any */
    int64_t first, last;          /* Unix milliseconds */
    uint64_t max_pid, max_seq, first_pid;
    double seq_sum;
    uint64_t pids[GUESS_PIDS];
    unsigned pid_count; /* GUESS_PIDS: or more */
    bool low_pid;       /* one below those that its makers use */
    int score;
    char why[320];
};

struct guess {
    uint64_t count; /* of texts */
    size_t layouts;
    struct candidate candidate[GUESS_LAYOUTS];
    uint64_t sample[GUESS_SAMPLE]; /* IDs of 64 bits, each as likely as the others to be among them */
    uint64_t seen, random;         /* so many of them */
    size_t sampled;
};

/* from: of IDs of 64 bits that are not digits alone. */
void guess_begin(struct guess *guess, sfid_form from);

/* False where the text is an ID of no layout that has a name. */
bool guess_add(struct guess *guess, const char *text, size_t len);

/* Is an ID of a time before anybody drew such? */
bool guess_is_early(const struct candidate *c, const struct taken *taken);

#endif
