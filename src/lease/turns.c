/* SPDX-License-Identifier: MIT */
#include "lease/turns.h"

#include <stdlib.h>

enum { LOCAL = 0, REMOTE = 1, SOUND = 0, DOUBTFUL = 1 };

/* ---- heaps ------------------------------------------------------------------ */

static void put_at(struct sfid__order *o, size_t place, struct sfid__berth *b) {
    o->at[place - 1] = b;
    b->place = place;
}

/* Finds the place of a berth that may be due earlier, or later, than those around it. */
static void sift(struct sfid__order *o, size_t place, struct sfid__berth *b) {
    for (; place > 1 && o->at[place / 2 - 1]->due_ms > b->due_ms; place /= 2)
        put_at(o, place, o->at[place / 2 - 1]);
    for (size_t next; (next = 2 * place) <= o->n; place = next) {
        next += next < o->n && o->at[next]->due_ms < o->at[next - 1]->due_ms;
        if (o->at[next - 1]->due_ms >= b->due_ms)
            break;
        put_at(o, place, o->at[next - 1]);
    }
    put_at(o, place, b);
}

bool sfid__turns_grow(struct sfid__turns *t, size_t room) {
    for (int i = 0; i < 4; i++) {
        struct sfid__order *o = &t->order[i / 2][i % 2];
        struct sfid__berth **at = realloc(o->at, room * sizeof *at);
        if (at == NULL)
            return false;
        o->at = at;
    }
    return true;
}

/* ---- doubt ------------------------------------------------------------------ */

static bool is_doubtful(const struct sfid__turns *t, const struct sfid__berth *b) {
    return b->failed || (b->group != 0 && t->doubtful[b->group % SFID__GROUPS] == b->group);
}

void sfid__turns_doubt(struct sfid__turns *t, const struct sfid__berth *b, bool doubtful) {
    uint64_t *place = &t->doubtful[b->group % SFID__GROUPS];
    if (b->group != 0 && (doubtful || *place == b->group))
        *place = doubtful ? b->group : 0;
}

/* ---- waiting ---------------------------------------------------------------- */

void sfid__turns_pick(struct sfid__turns *t, struct sfid__berth *b) {
    const size_t place = b->place;
    struct sfid__order *o = &t->order[b->remote][b->doubtful];
    struct sfid__berth *last = o->at[--o->n];
    b->place = 0;
    if (last != b)
        sift(o, place, last);
}

void sfid__turns_wait(struct sfid__turns *t, struct sfid__berth *b, int64_t due_ms) {
    if (b->place)
        sfid__turns_pick(t, b);
    b->due_ms = due_ms;
    b->doubtful = is_doubtful(t, b);
    struct sfid__order *o = &t->order[b->remote][b->doubtful];
    sift(o, ++o->n, b);
}

/* The first one of its kind. A berth is found to be doubtful, or so no more, when it comes first. */
static struct sfid__berth *first_of(struct sfid__turns *t, int remote, int doubtful) {
    for (;;) {
        const struct sfid__order *o = &t->order[remote][doubtful];
        struct sfid__berth *b = o->n ? o->at[0] : NULL;
        if (b == NULL || b->doubtful == is_doubtful(t, b))
            return b;
        sfid__turns_wait(t, b, b->due_ms);
    }
}

static struct sfid__berth *earlier(struct sfid__berth *a, struct sfid__berth *b) {
    return a == NULL || (b && b->due_ms < a->due_ms) ? b : a;
}

struct sfid__berth *sfid__turns_next(struct sfid__turns *t, int64_t now_ms) {
    struct sfid__berth *sound = first_of(t, LOCAL, SOUND), *doubtful = NULL;
    if (t->risky[LOCAL] < SFID__RISKY_MOST)
        doubtful = first_of(t, LOCAL, DOUBTFUL);
    if (t->risky[REMOTE] < SFID__RISKY_MOST) {
        sound = earlier(sound, first_of(t, REMOTE, SOUND));
        doubtful = earlier(doubtful, first_of(t, REMOTE, DOUBTFUL));
    }
    return sound && sound->due_ms <= now_ms ? sound : earlier(sound, doubtful);
}
