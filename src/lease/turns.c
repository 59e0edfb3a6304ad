/* SPDX-License-Identifier: MIT */
#include "lease/turns.h"

#include <stdlib.h>

/* ---- heaps: those of a group that wait, none due before the one above it ------ */

static struct sfid__berth *meld(struct sfid__berth *a, struct sfid__berth *b) {
    if (a == NULL || b == NULL)
        return a ? a : b;
    struct sfid__berth *top = b->due_ms < a->due_ms ? b : a, *under = top == a ? b : a;
    under->before = top;
    under->next = top->child;
    if (under->next)
        under->next->before = under;
    top->child = under;
    return top;
}

/* One heap of a row of them: two by two from left to right, then all from right to left. */
static struct sfid__berth *meld_row(struct sfid__berth *row) {
    struct sfid__berth *pairs = NULL, *all = NULL;
    while (row) {
        struct sfid__berth *a = row, *b = a->next;
        row = b ? b->next : NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct sfid__berth *next = pairs->next;
        all = meld(all, pairs);
        pairs = next;
    }
    return all;
}

static void take_out(struct sfid__group *g, struct sfid__berth *b) {
    struct sfid__berth *under = meld_row(b->child);
    b->child = NULL;
    b->waits = false;
    if (g->first == b) {
        g->first = under;
        return;
    }
    *(b->before->child == b ? &b->before->child : &b->before->next) = b->next;
    if (b->next)
        b->next->before = b->before;
    g->first = meld(g->first, under);
}

/* ---- groups ------------------------------------------------------------------- */

static struct sfid__group *group_of(const struct sfid__turns *t, const struct sfid__berth *b) {
    return &t->group[b->at];
}

/* There are as many as berths, so one is free. */
static void join_group(struct sfid__turns *t, struct sfid__berth *b, uint64_t number) {
    size_t at = t->groups;
    for (size_t i = 0; i < t->groups; i++) {
        const struct sfid__group *g = &t->group[i];
        if (g->members == 0) {
            at = i;
        } else if (g->number == number && g->remote == b->remote) {
            at = i;
            break;
        }
    }
    if (at == t->groups)
        t->group[t->groups++].members = 0;
    if (t->group[at].members == 0)
        t->group[at] = (struct sfid__group){.number = number, .remote = b->remote};
    t->group[at].members++;
    b->at = (uint32_t)at;
}

/* ---- whose turn is next --------------------------------------------------------- */

static bool may_begin(const struct sfid__turns *t, const struct sfid__group *g) {
    if (!g->remote)
        return g->number == 0 || g->under_way == 0;
    if (t->under_way >= SFID__TURNS_REMOTE)
        return false;
    return g->number == 0 || g->under_way < (g->doubtful ? 1 : SFID__TURNS_OF_SERVER);
}

enum rank { OWED, FREE, BUSY, DOUBTFUL, NOT_DUE };

static enum rank rank_of(const struct sfid__turns *t, const struct sfid__group *g, int64_t now_ms) {
    if (g->first->due_ms > now_ms)
        return NOT_DUE;
    if (!g->doubtful)
        return g->number == 0 || g->under_way == 0 ? FREE : BUSY;
    return now_ms - SFID__MAX(t->doubtful_began_ms, g->first->due_ms) >= SFID__TURNS_OWED_MS
               ? OWED
               : DOUBTFUL;
}

static int64_t time_in_rank(const struct sfid__group *g, enum rank rank) {
    return rank == OWED || rank == DOUBTFUL ? g->began_ms : g->first->due_ms;
}

struct sfid__berth *sfid__turns_next(const struct sfid__turns *t, int64_t now_ms) {
    struct sfid__berth *next = NULL;
    enum rank least = NOT_DUE;
    int64_t earliest_ms = INT64_MAX;
    for (size_t i = 0; i < t->groups; i++) {
        const struct sfid__group *g = &t->group[i];
        if (g->first == NULL || !may_begin(t, g))
            continue;
        const enum rank rank = rank_of(t, g, now_ms);
        const int64_t time_ms = time_in_rank(g, rank);
        if (next && (rank > least || (rank == least && time_ms >= earliest_ms)))
            continue;
        next = g->first;
        least = rank;
        earliest_ms = time_ms;
    }
    return next;
}

void sfid__turns_wait(struct sfid__turns *t, struct sfid__berth *b, int64_t due_ms) {
    struct sfid__group *g = group_of(t, b);
    if (b->waits)
        take_out(g, b);
    b->due_ms = due_ms;
    b->waits = true;
    g->first = meld(g->first, b);
}

void sfid__turns_begin(struct sfid__turns *t, struct sfid__berth *b, int64_t now_ms) {
    struct sfid__group *g = group_of(t, b);
    take_out(g, b);
    g->under_way++;
    g->began_ms = now_ms;
    t->under_way += g->remote;
    if (g->doubtful)
        t->doubtful_began_ms = now_ms;
}

void sfid__turns_end(struct sfid__turns *t, struct sfid__berth *b, bool failed, uint64_t group) {
    struct sfid__group *g = group_of(t, b);
    g->under_way--;
    t->under_way -= g->remote;
    if (g->number != group) {
        g->members--;
        join_group(t, b, group);
        g = group_of(t, b);
    }
    g->doubtful = g->remote && failed; /* a disk that says no does not hang */
}

/* ---- all of them ------------------------------------------------------------- */

bool sfid__turns_grow(struct sfid__turns *t) {
    const size_t room = t->room ? 2 * t->room : 16;
    if (t->count < t->room)
        return true;
    struct sfid__berth **berth = realloc(t->berth, room * sizeof *berth);
    t->berth = berth ? berth : t->berth;
    uint32_t *spare = realloc(t->spare, room * sizeof *spare);
    t->spare = spare ? spare : t->spare;
    struct sfid__group *group = realloc(t->group, room * sizeof *group);
    t->group = group ? group : t->group;
    if (berth == NULL || spare == NULL || group == NULL || room >= UINT32_MAX)
        return false;
    for (size_t i = room; i > t->room; i--) {
        t->berth[i - 1] = NULL;
        t->spare[room - i] = (uint32_t)i;
    }
    t->room = room;
    return true;
}

void sfid__turns_enter(struct sfid__turns *t, struct sfid__berth *b, uint64_t group,
                       int64_t due_ms) {
    b->number = t->spare[t->room - ++t->count];
    t->berth[b->number - 1] = b;
    b->child = NULL;
    b->waits = false;
    join_group(t, b, group);
    sfid__turns_wait(t, b, due_ms);
}

void sfid__turns_leave(struct sfid__turns *t, struct sfid__berth *b) {
    struct sfid__group *g = group_of(t, b);
    if (b->waits)
        take_out(g, b);
    g->members--;
    t->berth[b->number - 1] = NULL;
    t->spare[t->room - t->count--] = b->number;
}
