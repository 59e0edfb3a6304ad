/* SPDX-License-Identifier: MIT */
/* weak_graph.c - what keeps an execution consistent, by RC11: weak.c names the paper. */
#include "weak_graph.h"

#define EACH(e, in) (int e = 0; e < count; e++) if ((in)&BIT(e))

struct event event[EVENTS];
int count;
uint8_t mo[LOCATIONS][EVENTS], mo_count[LOCATIONS];

static bool acquires(int order) { return order == ACQ || order == AR || order == SC; }
static bool releases(int order) { return order == REL || order == AR || order == SC; }

static int place_of(int e) { /* of a write in mo */
    const int l = event[e].location;
    int i = 0;
    while (mo[l][i] != e)
        i++;
    return i;
}

/* The place of the write that an event has read or written. */
static int seen_by(int e) { return place_of(event[e].kind & WRITE ? e : event[e].from); }

/* The releases that an acquire of the value of write w synchronizes with. */
static set releases_of(int w) {
    set s = 0;
    for (;; w = event[w].from) {
        if (releases(event[w].order))
            s |= BIT(w);
        for (int e = event[w].before; e >= 0; e = event[e].before)
            if ((event[e].kind & FENCE) && releases(event[e].order))
                s |= BIT(e);
        if ((event[w].kind & UPDATE) != UPDATE)
            return s;
    }
}

static set and_before(set s) {
    set all = s;
    for
        EACH(e, s)
    all |= event[e].hb;
    return all;
}

set happens_before(const struct event *e) {
    set s = 0;
    if (e->before >= 0)
        s |= BIT(e->before);
    for (int l = 0; l < LOCATIONS; l++)
        s |= BIT(l); /* the first writes */
    if ((e->kind & READ) && !(e->kind & PLAIN) && acquires(e->order))
        s |= releases_of(e->from);
    if ((e->kind & FENCE) && acquires(e->order))
        for (int r = e->before; r >= 0; r = event[r].before)
            if ((event[r].kind & (READ | PLAIN)) == READ)
                s |= releases_of(event[r].from);
    return and_before(s);
}

int floor_of(set hb, int l) {
    int floor = 0;
    for
        EACH(e, hb)
    if (!(event[e].kind & FENCE) && event[e].location == l) {
        const int at = seen_by(e);
        if (at > floor)
            floor = at;
    }
    return floor;
}

bool parted(int l) {
    for (int i = 1; i < mo_count[l]; i++)
        if ((event[mo[l][i]].kind & UPDATE) == UPDATE && event[mo[l][i]].from != mo[l][i - 1])
            return true;
    return false;
}

static void close_over(set *r) {
    for (int k = 0; k < count; k++)
        for (int i = 0; i < count; i++)
            if (r[i] & BIT(k))
                r[i] |= r[k];
}

static set after(const set *r, set from) {
    set to = 0;
    for
        EACH(e, from)
    to |= r[e];
    return to;
}

/* Names as in the paper; rows are sets of successors. */
bool sc_cycle(void) {
    static set hb[EVENTS], sb[EVENTS], scb[EVENTS], eco[EVENTS], psc[EVENTS];
    set sc = 0, fences = 0, at[LOCATIONS] = {0};
    for (int e = LOCATIONS; e < count; e++) {
        if (event[e].order == SC)
            sc |= BIT(e), fences |= event[e].kind & FENCE ? BIT(e) : 0;
    }
    if ((sc & (sc - 1)) == 0)
        return false;
    for (int e = 0; e < count; e++) {
        hb[e] = sb[e] = scb[e] = eco[e] = psc[e] = 0;
        if (!(event[e].kind & FENCE))
            at[event[e].location] |= BIT(e);
    }
    for (int e = 0; e < count; e++) {
        for
            EACH(b, event[e].hb)
        hb[b] |= BIT(e);
        for (int b = event[e].before; b >= 0; b = event[b].before)
            sb[b] |= BIT(e);
        if (event[e].kind & FENCE)
            continue;
        if (event[e].kind & READ)
            eco[event[e].from] |= BIT(e);
        const int l = event[e].location;
        for (int i = seen_by(e) + 1; i < mo_count[l]; i++) /* mo of a write, rb of a read */
            eco[e] |= BIT(mo[l][i]), scb[e] |= BIT(mo[l][i]);
    }
    close_over(eco);
    for (int e = LOCATIONS; e < count; e++) {
        const set same = event[e].kind & FENCE ? 0 : at[event[e].location];
        scb[e] |= sb[e] | (hb[e] & same);
        for
            /* the last step of sb goes to another location, too */
            EACH(b, after(hb, sb[e] & ~same))
            for
                EACH(c, sb[b])
            if ((event[b].kind | event[c].kind) & FENCE || event[b].location != event[c].location)
                scb[e] |= BIT(c);
    }
    for
        EACH(e, sc) {
            const set from = BIT(e) | (fences & BIT(e) ? hb[e] : 0), to = after(scb, from);
            psc[e] = (to & sc) | (after(hb, to) & fences);
            if (fences & BIT(e))
                psc[e] |= (hb[e] | after(hb, after(eco, hb[e]))) & fences;
        }
    close_over(psc);
    for
        EACH(e, sc)
    if (psc[e] & BIT(e))
        return true;
    return false;
}
