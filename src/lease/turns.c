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

/* ---- doubt ------------------------------------------------------------------ */

static bool is_doubtful(const struct sfid__turns *t, const struct sfid__berth *b) {
    return b->failed || (b->group != 0 && t->doubtful[b->group % SFID__GROUPS] == b->group);
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

/* A server or disk answers again: its berths do not wait behind those of one that does not. */
static void move_sound(struct sfid__turns *t, int remote) {
    const struct sfid__order *o = &t->order[remote][DOUBTFUL];
    bool moved = true;
    while (moved) { /* what takes the place of one that moves may come to lie before it */
        moved = false;
        for (size_t i = 0; i < o->n; i++) {
            struct sfid__berth *b = o->at[i];
            if (is_doubtful(t, b))
                continue;
            sfid__turns_wait(t, b, b->due_ms);
            moved = true;
        }
    }
}

void sfid__turns_doubt(struct sfid__turns *t, const struct sfid__berth *b, bool doubtful) {
    uint64_t *place = &t->doubtful[b->group % SFID__GROUPS];
    const bool known = b->group != 0 && *place == b->group;
    if (b->group != 0 && (doubtful || known))
        *place = doubtful ? b->group : 0;
    if (known && !doubtful)
        move_sound(t, b->remote);
}

static struct sfid__berth *top(const struct sfid__turns *t, int remote, int doubtful) {
    const struct sfid__order *o = &t->order[remote][doubtful];
    return o->n ? o->at[0] : NULL;
}

/* A berth is found to be doubtful, or not to be so any more, when it comes first. After this the first ones are where they belong. */
static void settle(struct sfid__turns *t, int remote) {
    for (int doubtful = SOUND; doubtful <= DOUBTFUL; doubtful++)
        for (struct sfid__berth *b; (b = top(t, remote, doubtful)) != NULL && b->doubtful != is_doubtful(t, b);)
            sfid__turns_wait(t, b, b->due_ms);
}

static struct sfid__berth *earlier(struct sfid__berth *a, struct sfid__berth *b) {
    return a == NULL || (b && b->due_ms < a->due_ms) ? b : a;
}

struct sfid__berth *sfid__turns_next(struct sfid__turns *t, int64_t now_ms) {
    settle(t, LOCAL);
    settle(t, REMOTE);
    struct sfid__berth *sound = top(t, LOCAL, SOUND), *doubtful = NULL;
    if (t->risky[LOCAL] < SFID__RISKY_LOCAL)
        doubtful = top(t, LOCAL, DOUBTFUL);
    if (t->risky[REMOTE] < SFID__RISKY_REMOTE) {
        sound = earlier(sound, top(t, REMOTE, SOUND));
        doubtful = earlier(doubtful, top(t, REMOTE, DOUBTFUL));
    }
    return sound && sound->due_ms <= now_ms ? sound : earlier(sound, doubtful);
}

/* ---- all of them ------------------------------------------------------------- */

static bool grow_order(struct sfid__order *o, size_t room) {
    struct sfid__berth **at = realloc(o->at, room * sizeof *at);
    o->at = at ? at : o->at;
    return at != NULL;
}

bool sfid__turns_grow(struct sfid__turns *t) {
    const size_t room = t->room ? 2 * t->room : 16;
    if (t->count < t->room)
        return true;
    struct sfid__berth **berth = realloc(t->berth, room * sizeof *berth);
    t->berth = berth ? berth : t->berth;
    uint32_t *spare = realloc(t->spare, room * sizeof *spare);
    t->spare = spare ? spare : t->spare;
    bool good = berth && spare && room < UINT32_MAX;
    for (int i = 0; i < 4 && good; i++)
        good = grow_order(&t->order[i / 2][i % 2], room);
    if (!good)
        return false;
    for (size_t i = room; i > t->room; i--) {
        t->berth[i - 1] = NULL;
        t->spare[room - i] = (uint32_t)i;
    }
    t->room = room;
    return true;
}

void sfid__turns_enter(struct sfid__turns *t, struct sfid__berth *b, int64_t due_ms) {
    b->number = t->spare[t->room - ++t->count];
    t->berth[b->number - 1] = b;
    b->place = 0;
    sfid__turns_wait(t, b, due_ms);
}

void sfid__turns_leave(struct sfid__turns *t, struct sfid__berth *b) {
    if (b->place)
        sfid__turns_pick(t, b);
    t->berth[b->number - 1] = NULL;
    t->spare[t->room - t->count--] = b->number;
}
