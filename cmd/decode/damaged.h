/* SPDX-License-Identifier: MIT */
/* damaged.h - notices what rounding, a spreadsheet or a float has made of IDs before they came. */
#ifndef CMD_DECODE_DAMAGED_H
#define CMD_DECODE_DAMAGED_H

#include "text/reader.h"

/* In the order of the report: it names the first kind that fits all IDs. */
enum rounding { ROUNDED_15, ROUNDED_BINARY, ROUNDED_SHORTEST, ROUNDED_17, ROUNDED_KINDS };

struct rounded {
    /* a bit for each kind that fits all IDs so far; 0: they are sound */
    unsigned open;
    uint64_t count;             /* IDs, while one is open */
    double bits[ROUNDED_KINDS]; /* sound IDs look so with a chance of 2^-bits */
    unsigned low_bits;          /* of the lowest field; 64: unknown */
    bool low_pid;               /* it is a pid */
    bool even;                  /* the lowest bit that a double kept was 0 in some */
    uint64_t seen[16];          /* pids of the lowest field, a bit each */
};

/* layout: NULL if it is unknown. */
void rounded_begin(struct rounded *rounded, const sfid_layout *layout);
void rounded_look(struct rounded *rounded, uint64_t id);

static inline void rounded_add(struct rounded *rounded, uint64_t id) {
    if (rounded->open)
        rounded_look(rounded, id);
}

/* Says that all IDs were rounded, if they were. */
void rounded_tell(const struct rounded *rounded);

/* Explains what a spreadsheet or a float has made of an ID. Returns false if the text has none of
 * these forms. */
bool damaged_explain(const char *text, size_t len, char why[READER_WHY]);

#endif
