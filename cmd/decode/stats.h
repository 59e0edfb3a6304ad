/* SPDX-License-Identifier: MIT */
/* stats.h - statistics of many IDs. */
#ifndef CMD_DECODE_STATS_H
#define CMD_DECODE_STATS_H

#include "decode/order.h"
#include "io/out.h"
#include "text/reader.h"

struct stats {
    struct numbers ids; /* in input order; later sort keys, see stats.c */
    bool no_memory;
    struct view *view;
    unsigned pid_bits, seq_bits, random_bits; /* of the keys */
    uint64_t max_seq;
};

void stats_begin(struct stats *stats, struct view *view);
void stats_add(struct stats *stats, sfid_wide id);

/* Writes the statistics as text or JSON. Returns the exit status. */
int stats_report(struct stats *stats, enum view_format format);

#endif
