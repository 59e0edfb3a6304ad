/* SPDX-License-Identifier: MIT */
/*
 * remains.c - what a process uses up, and what it leaves behind.
 *
 * After a close a process has no more descriptors than before the open. Mappings and memory it
 * keeps for calls that come late (doc/design.md): few mappings, and of memory so much for each
 * handle. No process makes calls over and over. Once nothing has befallen a host for as long as
 * windows last, it has no more pids than processes; one that has closed has none. At no time one
 * generator has two.
 */
#include "sim.h"

#include <sfid.h>

#define MINUTE (60 * SECOND)
/* Twice of the most that any world has in a minute. Who waits for another process of its host to be
 * let in looks often, some have sixty generators, and some draw hundreds of IDs at once. */
enum { CALLS = 50000, CALLS_MANY = 250000 };
/* bytes of memory, in blocks of powers of two */
enum { MAPS = 16, OF_PROCESS = 8192, OF_HANDLE = 2048 };
enum { PIDS = 1 << 11 };

static struct hold {
    int host;
    uint64_t till; /* a tick */
    uint64_t generator;
} hold[PIDS];
static char followed[PIDS][128]; /* what it was granted in place of was held under that base */

/* ---- calls ------------------------------------------------------------------------------ */

static bool is_shared(void) { return has_kind("share") || has_kind("share2"); }

void check_calls(void) {
    struct process *p = me->process;
    const bool many = is_shared() || has_kind("lanes") || has_kind("batch") ||
                      strcmp(settings.world, "silent") == 0;
    const unsigned most = many ? CALLS_MANY : CALLS;
    if (now_ns >= p->calls_till) {
        p->calls_till = now_ns + MINUTE;
        p->calls = 0;
    }
    if (++p->calls == most)
        blame("BUSY: process %d has made %u calls in %.1f s", p->pid, most,
              (double)(now_ns + MINUTE - p->calls_till) / 1e9);
}

/* ---- after a close ------------------------------------------------------------------------ */

static unsigned files_of(const struct process *p) {
    unsigned n = 0;
    for (int i = 0; i < DESCRIPTORS; i++)
        n += p->file[i] != NULL;
    return n;
}

static unsigned maps_of(const struct process *p) {
    unsigned n = 0;
    for (int i = 0; i < MAPPINGS; i++)
        n += p->map[i].len != 0;
    return n;
}

void remains_before(void) { me->process->files_before = files_of(me->process); }

/* Others that are open in the world silent have theirs. */
void check_remains(void) {
    struct process *p = me->process;
    const unsigned maps = maps_of(p), files = files_of(p);
    if (strcmp(settings.world, "silent") == 0)
        return;
    const size_t most = OF_PROCESS + (size_t)++p->handles * OF_HANDLE;
    if (files > p->files_before)
        blame("LEFT: %u descriptors after a close, %u before the open", files, p->files_before);
    else if (maps > MAPS)
        blame("LEFT: %u mappings after a close", maps);
    else if (p->heap_used > most)
        blame("LEFT: %zu bytes after %u closes", p->heap_used, p->handles);
}

/* ---- pids of a host ------------------------------------------------------------------------ */

static uint64_t tick_now(void) {
    return (uint64_t)((now_ns + server[0].offset_ns) / MS + INT64_C(1795000000000) -
                      SFID_EPOCH_MS) /
           1000;
}

/* All were held until then at the latest. */
static uint64_t all_till;

void pid_is_held(int where, uint64_t pid, uint64_t till) {
    if (pid >= PIDS)
        return;
    hold[pid] = (struct hold){where, till, 0};
    uint64_t first = UINT64_MAX;
    for (uint64_t other = 0; other < settings.pids; other++)
        first = hold[other].till < first ? hold[other].till : first;
    if (first > tick_now() && first > all_till)
        all_till = first;
}

void pid_is_left(int64_t pid) {
    if (pid >= 0 && pid < PIDS)
        hold[pid].host = -1;
}

void pid_is_registered(uint64_t pid, int64_t ms) {
    pid_is_held(-1, pid, tick_now() + (uint64_t)ms / 1000 + 1);
}

static struct process *process_of(uint64_t generator) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && (uint64_t)process[i].born == generator >> 32)
            return &process[i];
    return NULL;
}

void generator_has_lost(uint64_t generator, bool lost) {
    struct process *p = process_of(generator);
    if (p)
        p->has_lost = lost;
}

void generator_waits(uint64_t generator, unsigned which) {
    struct process *p = process_of(generator);
    if (p)
        p->full_at[which] = now_ns;
}

/* It asks one after another, and waits for 2 s after the last one (lease_claim.lua); two answers in
 * a row may be late. Where there is one server, what that has granted is counted. */
bool all_servers_are_full(void) {
    const int64_t lately = now_ns - 3 * ((int64_t)servers * terms.deadline + 2 * SECOND);
    for (unsigned i = 0; i < servers; i++)
        if (me->process->full_at[i] == 0 || me->process->full_at[i] < lately)
            return false;
    return has_kind("pool");
}

void pid_follows(uint64_t pid, const char *base) {
    if (pid < PIDS)
        snprintf(followed[pid], sizeof followed[pid], "%s", base);
}

/*
 * R6: whoever claims again does so under the same token, so that its server may find what it
 * granted. It looks at a part of the pids alone: then it grants another one under that token,
 * or renews what was to move, and the first one ends with its window. Several generators have
 * one page, and copies of a machine one number here. A grant that cannot be is given up.
 * Servers that are several do not know of one another. A claim that comes after the short pid
 * that it brought was moved, or is answered before that, is of a lease that is over. Ticks of
 * UUIDs are not those that are counted here.
 */
void check_two(uint64_t generator, uint64_t pid, const char *base, bool renewed) {
    if (pid >= PIDS || is_shared() || has_kind("copy") || has_kind("spoilt") || has_kind("wide") ||
        servers > 1)
        return;
    hold[pid].generator = generator;
    for (uint64_t other = 0; other < PIDS; other++)
        if (other == pid || hold[other].generator != generator || hold[other].till <= tick_now())
            continue;
        else if (check_is_granted(other, base) || renewed || servers_forgot() ||
                 strcmp(followed[other], base) == 0 || check_is_granted(other, followed[pid]))
            hold[other].generator = 0;
        else
            blame("TWO PIDS: %" PRIu64 " and %" PRIu64 " are granted to one generator of host %d",
                  other, pid, hold[pid].host);
}

bool all_pids_were_held(int64_t ago) {
    return tick_now() < all_till + (uint64_t)(ago / SECOND) + 1;
}

bool all_pids_are_held(void) {
    for (uint64_t pid = 0; pid < settings.pids; pid++)
        if (hold[pid].till <= tick_now())
            return false;
    return true;
}

void check_hoard(int where, bool closed) {
    unsigned held = 0, slots = 0;
    /* Ticks of UUIDs are shorter; a child may end without a close; a close may have a password of
     * before. In a pool a claim that was answered late is given back. Nobody knows who is the last
     * one with a page whose file is lost. */
    if (!host_is_at_peace(where) || has_kind("pool") || has_kind("wide") || has_kind("fork") ||
        (closed && has_kind("auth")) || (is_shared() && strcmp(settings.world, "none") != 0))
        return;
    for (uint64_t pid = 0; pid < PIDS; pid++)
        held += hold[pid].host == where && hold[pid].till > tick_now();
    for (int i = 0; i < PROCESSES; i++)
        slots +=
            process[i].used && process[i].host == where && !(closed && &process[i] == me->process);
    if (held > slots)
        blame("HOARDED: host %d has %u pids and %u processes", where, held, slots);
}
