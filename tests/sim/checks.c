/* SPDX-License-Identifier: MIT */
/*
 * checks.c - what has to be true of each ID, each refusal and each answer.
 *
 * 1. No ID comes twice. One set has the last four million; of a local store they are those of a host.
 * 2. The IDs of a handle rise.
 * 3. No ID has a tick at or above what a server has granted for its pid. The servers' answers are read, not the library's.
 * 4. No lease is lost whose window is open and whose client listens, unless there is a cause (causes.c).
 * 5. A call that gets no ID, or no pid, has a cause.
 * 6. A close takes no longer than sfid.h says, unless its process or its disk stands still.
 */
#include "sim.h"

#include <sfid.h>

#define TICK SECOND            /* so long may a call without a wait find a tick used up */
#define CLOSE_MOST (1500 * MS) /* of each page; one that is being opened is waited for */
enum { ROOM = 1 << 22, PID_BITS = 11, SEQ_BITS = 17, PIDS = 1 << PID_BITS }; /* of the default layout */

/* Where a world breaks an assumption, what follows from that is told and no fault: IDs that repeat, leases that are lost, and
   the wait for another pid. */
#define accuse (world_breaks ? excuse : blame)

struct counts counts;
static uint64_t *set[2]; /* full sets change places, and the older one is forgotten */
static size_t in_set;
static uint64_t limit[PIDS], last_tick[PIDS], left_out[PIDS];
static char granted_to[PIDS][128];

void checks_begin(void) {
    for (int i = 0; i < 2; i++)
        set[i] = memory(ROOM * sizeof *set[i]);
}

static bool find(uint64_t *table, uint64_t key, bool add) {
    size_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 42;
    for (; table[i]; i = (i + 1) % ROOM)
        if (table[i] == key)
            return true;
    if (add)
        table[i] = key;
    return false;
}

static bool came_before(uint64_t key) {
    if (find(set[1], key, false) || find(set[0], key, true))
        return true;
    if (++in_set > ROOM / 2) {
        uint64_t *older = set[1];
        set[1] = set[0];
        set[0] = memset(older, 0, ROOM * sizeof *older);
        in_set = 0;
    }
    return false;
}

/* An ID of a local store, and where it came from: two hosts may have the same one. An odd factor loses no bit of it. */
static uint64_t key_of_id(int64_t id) {
    return has_kind("local") ? ((uint64_t)id * 2 + 1) * (UINT64_C(0x9e3779b97f4a7c15) + 2 * (uint64_t)me->process->host)
                             : (uint64_t)id;
}

void check_id(struct seen *s, int64_t id) {
    const uint64_t tick = (uint64_t)id >> (PID_BITS + SEQ_BITS), pid = (uint64_t)id >> SEQ_BITS & (PIDS - 1);
    counts.ids++;
    digest((uint64_t)id);
    s->got_at = now_ns;
    s->waits_since = 0;
    s->is_newcomer = false;
    if (id <= s->last) {
        counts.out_of_order++;
        blame("OUT OF ORDER: %" PRId64 " after %" PRId64, id, s->last);
    }
    s->last = id;
    if (!has_kind("local") && tick >= limit[pid]) {
        counts.outside++;
        blame("OUTSIDE: pid %" PRIu64 ", tick %" PRIu64 ", granted below %" PRIu64, pid, tick, limit[pid]);
    }
    if (tick > last_tick[pid])
        last_tick[pid] = tick;
    if (tick == left_out[pid] || !came_before(key_of_id(id)))
        return;
    counts.duplicates++;
    accuse("DUPLICATE: %" PRId64 ", pid %" PRIu64, id, pid);
}

void check_refusal(struct seen *s, int code, const char *why) {
    s->is_newcomer |= forgot_soon_after(s->opened_at);
    if (s->is_newcomer && newcomer_is_excused(me->process->host))
        return;
    if (code != SFID_EAGAIN)
        s->waits_since = 0;
    else if (s->waits_since == 0)
        s->waits_since = now_ns;
    if (holder_is_excused(me->process->host) || (code == SFID_EAGAIN && now_ns < s->waits_since + TICK))
        return;
    counts.refused++;
    accuse("REFUSED without a cause, no ID for %.1f s: %d %s", (double)(now_ns - s->got_at) / 1e9, code, why);
}

void check_open_failed(int64_t began, int code, const char *why) {
    note("open: %d %s", code, why);
    if (newcomer_is_excused(me->process->host))
        return;
    counts.refused++;
    accuse("NOT OPENED without a cause, in %.1f s: %d %s", (double)(now_ns - began) / 1e9, code, why);
}

void check_grant(unsigned which, uint64_t pid, uint64_t lo, uint64_t to, const char *base, bool fresh) {
    (void)which;
    if (pid >= PIDS)
        return;
    snprintf(granted_to[pid], sizeof granted_to[pid], "%s", base);
    if (limit[pid] < to)
        limit[pid] = to;
    if (fresh && last_tick[pid] < lo) /* a copy of the holder may generate in it first */
        last_tick[pid] = lo;
}

/* The same token under another name. No two leases have one token. */
static bool is_renamed(const char *base, const char *granted) {
    const char *token = strrchr(base, ':'), *of_grant = strrchr(granted, ':');
    return token && of_grant && strcmp(token, of_grant) == 0 && strcmp(base, granted) != 0;
}

void check_lost(unsigned which, int where, uint64_t pid, const char *base) {
    if (loss_is_excused(where, pid < PIDS && is_renamed(base, granted_to[pid])))
        return;
    counts.lost++;
    accuse("LOST without a cause: pid %" PRIu64 " of host %d, by server %u", pid, where, which);
}

void check_closed(int64_t began) {
    const int64_t most = has_kind("share") ? 4 * CLOSE_MOST + 2 * SECOND : CLOSE_MOST;
    if (now_ns - began <= most + 100 * MS || here()->disk_hangs_till > began || me->process->stopped_till > began)
        return;
    counts.late_ends++;
    blame("CLOSED late, after %.1f s", (double)(now_ns - began) / 1e9);
}

void check_copied(void) { memcpy(left_out, last_tick, sizeof left_out); }
