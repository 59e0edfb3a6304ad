/* SPDX-License-Identifier: MIT */
/* events.h - what befalls the fleet, as a list that can be played again; part of sim.h. */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum argument { ARGUMENT_COUNT, ARGUMENT_SPAN, ARGUMENT_COIN };
enum { ARGUMENTS = 64, WORD = 24, TOLD = 600 };

struct event {
    int64_t at;
    char kind[2 * WORD];
    struct {
        char name[WORD];
        enum argument is;
        int64_t value;
    } argument[ARGUMENTS];
    unsigned arguments, taken;
    bool happened;
    char told[TOLD]; /* what the run said about it */
};
struct events {
    struct event *event;
    unsigned n, room;
};
struct event *list_add(struct events *l);
bool is_of_network(const char *kind);
void event_print(FILE *to, const struct event *e);
/* The events and settings of a file. */
void list_read(struct events *l, const char *path);

/* what happens now, or what follows from it; NULL: nothing of the list */
extern struct event *acting;
/* An argument of it below n, which has been drawn; or the one that stands in the list. */
int64_t event_argument(enum argument is, int64_t drawn, int64_t n);
/* The name of the next one. */
void argument_is_called(const char *name);
/* What the run says while it happens. */
void event_says(const char *format, va_list ap);
/* A fault of that name (faults.c) happens. */
void event_now(const char *kind);
/* The network does this to a segment of a host: by how much, or -1. */
int64_t event_at_segment(int where, const char *kind, enum argument is, int64_t drawn);
bool events_are_played(void);
void events_read(const char *path);
void events_begin(bool recorded_too);
void events_write(const char *path, const char *why);
/* shrink.c: a run of these settings that fails becomes a short list in that file; the status of the
 * command. */
int shrink(const char *path);

#endif
