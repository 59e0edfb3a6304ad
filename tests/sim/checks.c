/* SPDX-License-Identifier: MIT */
/*
 * checks.c - what has to be true of each ID, each refusal and each answer.
 *
 * 1. No ID comes twice. One set has the last four million; of a local store they are those of a
 *    host.
 * 2. The IDs of a handle rise. Those of its lanes do, too, and are in order with others by tick, up
 *    to the clock's.
 * 3. No ID has a tick at or above what a server has granted for its pid. The servers' answers are
 *    read, not the library's. No pid is granted by two servers of a pool. One that is held is
 *    registered, unless the servers forgot.
 * 4. No lease is lost whose window is open and whose client listens, unless there is a cause
 *    (causes.c). No two processes of a host have a pid at once that is fixed by the caller. A guest
 *    (share 2) begins no page and starts no thread.
 * 5. A call that gets no ID, or no pid, has a cause.
 * 6. A server says that its hash is older, or damaged, only after an old copy was put back.
 * 7. A close takes no longer than sfid.h says, unless its process or its disk stands still.
 * 8. No process asks servers over and over, or makes calls over and over. After a close no
 *    descriptor is left, and no more memory than doc/design.md says. No host in peace has more pids
 *    than processes, no generator two (remains.c).
 * 9. Where other servers fall silent, a lease is renewed in time (silent.c).
 */
#include "sim.h"

#include <sfid.h>

#define TICK SECOND            /* so long may a call without a wait find a tick used up */
#define CLOSE_MOST (1500 * MS) /* of each page; one that is being opened is waited for */
#define MINUTE (60 * SECOND)
enum { BUSY = 400 }; /* questions in a minute: twice of the most that any world has */
/* grants to one and to the other, while they show what was under way */
enum { TURNS_OF_TWINS = 3 };
enum { ROOM = 1 << 22, PID_BITS = 11, PIDS = 1 << PID_BITS }; /* of all layouts here */

/* Where a world breaks an assumption, what follows from that is told and no fault: IDs that repeat,
 * leases that are lost, and the wait for another pid. */
#define accuse (world_breaks ? excuse : blame)

struct counts counts;
static uint64_t *set[2]; /* full sets change places, and the older one is forgotten */
static size_t in_set;
static uint64_t limit[PIDS], last_tick[PIDS], left_out[PIDS];
static uint64_t held_till[PIDS], disputed_till[PIDS];
static unsigned granted_by[PIDS]; /* the server's number and 1 */
static char granted_to[PIDS][128];
static int granted_at[PIDS];
static unsigned turns_left[PIDS];

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

/* An ID of a local store, and where it came from: two hosts may have the same one. An odd factor
 * loses no bit of it. */
static uint64_t key_of_id(uint64_t id) {
    return !kind_has_servers() && !has_kind("ordinal")
               ? (id * 2 + 1) * (UINT64_C(0x9e3779b97f4a7c15) + 2 * (uint64_t)me->process->host)
               : id;
}

struct made_of {
    uint64_t high, low, key, tick, pid;
};

static void check(struct seen *s, const struct made_of *id) {
    counts.ids++;
    digest(id->low);
    s->got_at = now_ns;
    s->waits_since = 0;
    s->is_newcomer = false;
    s->pid = id->pid;
    if (id->high < s->high || (id->high == s->high && id->low <= s->low)) {
        counts.out_of_order++;
        blame("OUT OF ORDER: %" PRIu64 ".%" PRIu64 " after %" PRIu64 ".%" PRIu64, id->high, id->low,
              s->high, s->low);
    }
    s->high = id->high;
    s->low = id->low;
    if (kind_has_servers() && id->tick >= limit[id->pid]) {
        counts.outside++;
        blame("OUTSIDE: pid %" PRIu64 ", tick %" PRIu64 ", granted below %" PRIu64, id->pid,
              id->tick, limit[id->pid]);
    }
    if (id->tick > last_tick[id->pid])
        last_tick[id->pid] = id->tick;
    if (id->tick == left_out[id->pid] || id->tick < disputed_till[id->pid] ||
        !came_before(key_of_id(id->key)))
        return;
    counts.duplicates++;
    (world_breaks && !world_notices ? excuse : blame)("DUPLICATE: %" PRIu64 ".%" PRIu64
                                                      ", tick %" PRIu64 ", pid %" PRIu64,
                                                      id->high, id->low, id->tick, id->pid);
}

void check_id(struct seen *s, int64_t id) {
    const uint64_t n = (uint64_t)id;
    check(s, &(struct made_of){0, n, n, n >> (PID_BITS + kind_seq_bits()),
                               n >> kind_seq_bits() & (PIDS - 1)});
}

/* Two with other random bits are the same. The worker of a flake is the host's number. */
void check_wide(struct seen *s, const sfid_wide *id, const sfid_wide_parts *p) {
    const uint64_t pid = p->pid & (PIDS - 1), ms = (uint64_t)p->unix_ms - UINT64_C(1794000000000);
    if (ms >> 37 || p->seq >> 16)
        broken("an ID of another time, or of another layout");
    check(s, &(struct made_of){id->high, id->low, ms << 27 | pid << 16 | p->seq, p->tick, pid});
}

void check_tick(int64_t id, int64_t least) {
    if (id >> (PID_BITS + kind_seq_bits()) >= least >> (PID_BITS + kind_seq_bits()))
        return;
    counts.out_of_order++;
    blame("OUT OF ORDER: %" PRId64 " of a lane, in a tick before that of %" PRId64, id, least);
}

static bool is_kept(const struct process *guest) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].keeps && process[i].host == guest->host &&
            now_ns > process[i].stopped_till + terms.deadline && pages_met(&process[i], guest))
            return true;
    return false;
}

/* To a guest whose page nobody kept the server was away. */
void guests_are_kept(void) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].guest && process[i].host == me->process->host &&
            !is_kept(&process[i])) {
            cause_begins(CAUSE_AWAY, me->process->host, now_ns);
            break;
        }
    me->process->keeps = true;
}

bool guest_is_alone(void) { return me->process->guest && !is_kept(me->process); }

bool guest_finds_none(void) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].keeps && process[i].host == me->process->host &&
            has_page(&process[i]))
            return false;
    return me->process->guest;
}

bool nobody_shares(void) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && &process[i] != me->process && process[i].host == me->process->host &&
            has_page(&process[i]))
            return false;
    return true;
}

void check_guest(bool first) {
    unsigned n = 0;
    for (unsigned i = 0; i < threads; i++)
        n += thread[i].used && !thread[i].ended && thread[i].process == me->process;
    if (n == 1 && !(first && nobody_shares()))
        return;
    counts.refused++;
    blame("NO GUEST: it %s", n > 1 ? "has started a thread" : "has begun a page");
}

/* In a child calls that may not sleep start no keeper (doc/design.md, "Fork"): none of the others
 * came in half of a short window. */
static bool has_no_keeper(void) {
    return me->process->parent != 1 && now_ns > me->process->may_sleep_at + terms.brief / 2;
}

void check_refusal(struct seen *s, int code, const char *why) {
    s->is_newcomer |= forgot_soon_after(s->opened_at) ||
                      (s->pid % 8 == 7 && short_window_is_outrun()); /* % 8: src/lease/windows.c */
    if (s->is_newcomer && newcomer_is_excused(me->process->host))
        return;
    if (code != SFID_EAGAIN)
        s->waits_since = 0;
    else if (s->waits_since == 0)
        s->waits_since = now_ns;
    if (spoilt_soon_after(me->process->host, s->opened_at) ||
        (code == SFID_ELEASE &&
         (has_no_keeper() || all_servers_are_full() ||
          (me->process->has_lost && all_pids_were_held(terms.deadline + 2 * SECOND)))))
        return;
    if (holder_is_excused(me->process->host) || guest_is_alone() ||
        (code == SFID_EAGAIN && now_ns < s->waits_since + TICK))
        return;
    counts.refused++;
    accuse("REFUSED without a cause, no ID for %.1f s: %d %s", (double)(now_ns - s->got_at) / 1e9,
           code, why);
}

void check_asks(void) {
    struct process *p = me->process;
    if (now_ns >= p->minute_till) {
        p->minute_till = now_ns + MINUTE;
        p->asks = 0;
    }
    if (++p->asks != BUSY)
        return;
    counts.refused++;
    blame("BUSY: process %d has asked %d times in %.1f s", p->pid, BUSY,
          (double)(now_ns + MINUTE - p->minute_till) / 1e9);
}

bool fixed_is_taken(bool held) {
    for (int i = 0; i < PROCESSES; i++) {
        const struct process *p = &process[i], *mine = me->process;
        if (p->used && p != mine && p->host == mine->host && p->fixed.pid == mine->fixed.pid &&
            p->fixed.is >= (held ? PID_HELD : PID_WANTED))
            return true;
    }
    return false;
}

void check_fixed(void) {
    me->process->fixed.is = PID_HELD;
    if (!fixed_is_taken(true))
        return;
    counts.duplicates++;
    blame("HELD TWICE: pid %" PRId64, me->process->fixed.pid);
}

void check_open_failed(int64_t began, int code, const char *why) {
    note("open: %d %s", code, why);
    if (newcomer_is_excused(me->process->host) || all_pids_are_held() || all_servers_are_full())
        return;
    counts.refused++;
    accuse("NOT OPENED without a cause, in %.1f s: %d %s", (double)(now_ns - began) / 1e9, code,
           why);
}

/* From when an old copy is put back until the server notices: what it grants then may be
 * another's. */
static uint64_t era_begun[SERVERS];
static bool old_copy[SERVERS];

void check_old_copy(unsigned which) { old_copy[which] = true; }

/* What is of another server is below all. */
static bool is_below(const char *era, const char *shown) {
    uint64_t b[2], n[2];
    if (sscanf(era + 8, "-%" SCNu64 "-%" SCNu64, &b[0], &n[0]) != 2 ||
        sscanf(shown + 8, "-%" SCNu64 "-%" SCNu64, &b[1], &n[1]) != 2)
        broken("an era is %s, and a witness %s", era, shown);
    return strncmp(era, shown, 8) == 0 && (b[0] < b[1] || (b[0] == b[1] && n[0] < n[1]));
}

void check_era(unsigned which, const char *era, const char *shown) {
    if (era == NULL)
        return;
    const uint64_t begun = strtoull(era + 9, NULL, 10);
    const bool alarm = strchr(era, ' ') != NULL;
    if ((alarm && !old_copy[which]) || (shown[0] && is_below(era, shown))) {
        counts.lost++;
        blame("%s: server %u was shown %s, and answers %s", alarm ? "FALSE ALARM" : "NOT NOTICED",
              which, shown, era);
    }
    if (begun > era_begun[which]) {
        era_begun[which] = begun;
        old_copy[which] = false;
        server_is_asked(which);
    }
}

/* What was under way when a machine was copied both may show, and are granted, before one shows
 * something new. */
static void check_twins(int where, uint64_t pid, uint64_t to, const char *base) {
    if (where != granted_at[pid] && strcmp(granted_to[pid], base) == 0 && turns_left[pid] > 0) {
        turns_left[pid]--;
        check_disputed(pid, to);
    }
    granted_at[pid] = where;
}

void check_grant(unsigned which, int where, uint64_t pid, uint64_t lo, uint64_t to,
                 const char *base, bool fresh) {
    if (pid >= PIDS)
        return;
    check_twins(where, pid, to, base);
    if (has_kind("pool") && granted_by[pid] && granted_by[pid] != which + 1) {
        counts.outside++;
        blame("GRANTED by two servers: pid %" PRIu64 ", by %u and %u", pid, granted_by[pid] - 1,
              which);
    }
    granted_by[pid] = which + 1;
    snprintf(granted_to[pid], sizeof granted_to[pid], "%s", base);
    if (limit[pid] < to)
        limit[pid] = to;
    if (held_till[pid] < to)
        held_till[pid] = to;
    if (old_copy[which])
        check_disputed(pid, limit[pid]);
    if (fresh && last_tick[pid] < lo) /* a copy of the holder may generate in it first */
        last_tick[pid] = lo;
}

void check_released(uint64_t pid, uint64_t tick) {
    if (pid < PIDS)
        held_till[pid] = tick;
}

void check_disputed(uint64_t pid, uint64_t till) {
    if (disputed_till[pid] < till)
        disputed_till[pid] = till;
}

bool check_taken(uint64_t pid) {
    const int64_t ms = (now_ns + server[0].offset_ns) / MS + INT64_C(1795000000000);
    if (held_till[pid] <= (uint64_t)(ms - SFID_EPOCH_MS) / 1000)
        return false;
    check_disputed(pid, limit[pid]);
    if (servers_forgot())
        return true;
    counts.outside++;
    blame("TAKEN: pid %" PRIu64 " is held until tick %" PRIu64 ", and was not registered", pid,
          held_till[pid]);
    return true;
}

void check_foreign(uint64_t pid, uint64_t tick, uint64_t seq) {
    const uint64_t id = tick << (PID_BITS + kind_seq_bits()) | pid << kind_seq_bits() | seq;
    counts.ids++;
    if (tick < disputed_till[pid] || !came_before(id))
        return;
    counts.duplicates++;
    accuse("DUPLICATE: %" PRIu64 ", pid %" PRIu64 ", of a program without a record", id, pid);
}

bool check_is_granted(uint64_t pid, const char *base) {
    return pid < PIDS && strcmp(base, granted_to[pid]) == 0;
}

/* The same token under another name. No two leases have one token. */
static bool is_renamed(const char *base, const char *granted) {
    const char *token = strrchr(base, ':'), *of_grant = strrchr(granted, ':');
    return token && of_grant && strcmp(token, of_grant) == 0 && strcmp(base, granted) != 0;
}

/* The server has granted it to a copy of this machine since, which nobody told. */
static bool is_twins(int where, uint64_t pid, const char *base) {
    return has_kind("hidden") && pid < PIDS && where != granted_at[pid] &&
           strcmp(base, granted_to[pid]) == 0;
}

void check_lost(unsigned which, int where, uint64_t pid, const char *base) {
    if (is_twins(where, pid, base) ||
        loss_is_excused(where, pid < PIDS && is_renamed(base, granted_to[pid])))
        return;
    counts.lost++;
    accuse("LOST without a cause: pid %" PRIu64 " of host %d, by server %u", pid, where, which);
}

void check_closed(int64_t began) {
    const int64_t most =
        has_kind("share") || has_kind("share2") ? 4 * CLOSE_MOST + 2 * SECOND : CLOSE_MOST;
    if (now_ns - began <= most + 100 * MS || here()->disk_hangs_till > began ||
        me->process->stopped_till > began)
        return;
    counts.late_ends++;
    blame("CLOSED late, after %.1f s", (double)(now_ns - began) / 1e9);
}

void check_copied(bool hidden) {
    memcpy(left_out, last_tick, sizeof left_out);
    for (uint64_t pid = 0; hidden && pid < PIDS; pid++) {
        check_disputed(pid, limit[pid]);
        turns_left[pid] = TURNS_OF_TWINS;
    }
}
