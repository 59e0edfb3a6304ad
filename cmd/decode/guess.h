/* SPDX-License-Identifier: MIT */
/* guess.h - which layouts IDs may have been drawn with. */
#ifndef CLI_GUESS_H
#define CLI_GUESS_H

#include "text/reader.h"
#include "text/view.h"

#define GUESS_PIDS 64 /* more different ones are just many */
#define GUESS_LAYOUTS 32
#define GUESS_SAMPLE 1024 /* IDs that are kept */
#define GUESS_SOME 8      /* IDs are enough to tell what is usual among them */
#define GUESS_PARTS 4     /* of a mixture */

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

/* Is an ID of a time before anybody drew such? */
bool guess_is_early(const struct candidate *c, const struct taken *taken);

/* ---- guess_mix.c ------------------------------------------------------------- */

/* Layouts, which share the IDs among them so that all are of one time. */
struct mixture {
    size_t parts;
    size_t layout[GUESS_PARTS]; /* places among the candidates */
    unsigned percent[GUESS_PARTS];
    int64_t last; /* of these times, about: Unix milliseconds */
};

/* False where there is no sign of one. */
bool guess_find_mixture(const struct guess *guess, struct mixture *out);

/* ---- guess.c ------------------------------------------------------------------ */

/* from: of IDs of 64 bits that are not digits alone. */
void guess_begin(struct guess *guess, sfid_form from);

/* False where the text is an ID of no layout that has a name. */
bool guess_add(struct guess *guess, const char *text, size_t len);

/* Ranks and shows the layouts that fit. */
void guess_report(struct guess *guess, enum view_format format, bool header);

#endif
