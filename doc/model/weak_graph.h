/* SPDX-License-Identifier: MIT */
/* weak_graph.h - an execution as a graph, for weak.c alone, and what keeps it consistent. */
#ifndef SFID_MODEL_WEAK_GRAPH_H
#define SFID_MODEL_WEAK_GRAPH_H

#include "weak.h"

#include <stdint.h>

typedef uint64_t set; /* of events */
enum { EVENTS = 64, NOBODY = 255 };
#define BIT(e) ((set)1 << (e))

enum kind { READ = 1, WRITE = 2, UPDATE = READ | WRITE, FENCE = 4, PLAIN = 8 };

struct event {
    uint8_t kind, order, location, thread, from; /* from: the write that is read */
    long read, wrote;
    int before; /* the event of the same thread before this one; -1: none */
    set hb;     /* what happens before it */
};

extern struct event event[EVENTS];
extern int count;
/* for each location the order of its writes */
extern uint8_t mo[LOCATIONS][EVENTS], mo_count[LOCATIONS];

/* The hb of an event whose thread, order and source are set. */
set happens_before(const struct event *e);

/* Coherence: the lowest place in mo that an event with this hb may read, or stand behind. */
int floor_of(set hb, int location);

/* True if a read-modify-write was parted from the write it reads. */
bool parted(int location);

/* Sequential consistency: RC11's psc has a cycle. */
bool sc_cycle(void);

#endif
