/* SPDX-License-Identifier: MIT */
/*
 * steps.c - processes that are stopped or killed inside a step of the library, or between two: the
 * worlds steps and successors.
 *
 * Chance alone hits a process between two steps, where it is nearly all the time. Here a number of
 * its calls is drawn, and it is stopped, or killed, in the last one of these: while it opens,
 * draws, renews, is told to end, or closes. Each call counts, of whatever thread.
 *
 * Whoever shares a page with a process that is stopped goes on: that is no cause for anybody but
 * the stopped one itself (causes.c). If two of them are, each may hold an answer to one nonce. The
 * first to go on notes that nonce beside its own limit, which is over; the server has the limit of
 * the second, and takes the lease for another one.
 */
#include "sim.h"
#include "steps.h"

/* calls; of a thousand */
enum { AT_WORK = 60, TO_OPEN = 250, TO_CLOSE = 150, OF_EXCHANGE = 6, KILLED = 500, AGAIN = 500 };

static struct stream *const dice = &streams.faults;

struct victim {
    int place;
    unsigned born;
};

static void die(void *arg) {
    struct victim *v = arg;
    struct process *p = &process[v->place];
    if (p->used && p->born == v->born) {
        note("process %d is killed in a step", p->pid);
        cause_killed(p);
        if (p->parent == 1 && chance(dice, AGAIN))
            fleet_start(p->host, now_ns + up_to(dice, 100 * MS));
        process_kill(p);
        kills++;
    }
    free(v);
}

/* Another one that can keep the page, or that is stopped as well; or NULL. */
static const struct process *sharer(const struct process *p, bool stopped) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && &process[i] != p && process[i].host == p->host && process[i].keeps &&
            (process[i].stopped_till > now_ns) == stopped && pages_met(&process[i], p))
            return &process[i];
    return NULL;
}

/* The keeper is stopped, and who could have kept the page since has ended. A newcomer's first call
 * finds that out. */
void meets_stopped(void) {
    if (sharer(me->process, true) && sharer(me->process, false) == NULL)
        cause_begins(CAUSE_STOPPED, me->process->host, now_ns);
}

void step_ends(void) {
    struct process *p = me->process;
    const bool was = me->busy;
    acting = p->ends_by;
    if (chance(dice, KILLED)) {
        struct victim *v = memory(sizeof *v);
        *v = (struct victim){(int)(p - process), p->born};
        at_time(now_ns, die, v);
    } else {
        process_stop(p, now_ns + up_to(dice, 3 * terms.window));
        note("process %d is stopped in a step", p->pid);
        if (sharer(p, false) == NULL)
            cause_begins(CAUSE_STOPPED, p->host, p->stopped_till);
        const struct process *other = sharer(p, true);
        if (other)
            cause_begins(CAUSE_LATE_KEEPERS, p->host,
                         p->stopped_till > other->stopped_till ? p->stopped_till
                                                               : other->stopped_till);
    }
    acting = NULL;
    me->busy = true;
    give_turn();
    me->busy = was;
}

static void ends_after(struct process *p, uint64_t calls) {
    if (p && p->stopped_till <= now_ns) {
        p->calls_left = 1 + (unsigned)below(dice, calls);
        p->ends_by = acting;
    }
}

void end_in_step(void) {
    struct process *p = any_process(any_host());
    ends_after(p, AT_WORK);
}

void end_in_close(void) {
    struct process *p = any_process(any_host());
    if (p == NULL || p->told_at || p->stopped_till > now_ns)
        return;
    note("process %d is told to end", p->pid);
    cause_begins(CAUSE_END, p->host, now_ns);
    process_tell(p);
    ends_after(p, TO_CLOSE);
}

/* The next question that it asks a server, or the answer, is its last for a while. */
void end_in_exchange(void) {
    struct process *p = any_process(any_host());
    if (p) {
        p->ends_asking = true;
        p->ends_by = acting;
    }
}

void step_asks(void) {
    if (me->process->ends_asking) {
        acting = me->process->ends_by;
        ends_after(me->process, OF_EXCHANGE);
        acting = NULL;
    }
    me->process->ends_asking = false;
}

/* The youngest process of a host, which has hardly begun. */
void end_in_open(void) {
    const struct host *h = any_host();
    struct process *p = NULL;
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].host == (int)(h - host) &&
            (p == NULL || process[i].born > p->born))
            p = &process[i];
    ends_after(p, TO_OPEN);
}

/* ---- directed at what a kill leaves: its successor goes on with it, also while the server is away
 * or refuses --------------------------- */

/* so old is a lease that is long enough for all that follows */
#define SETTLED (2 * terms.heartbeat)
/* ANSWER_MS of src/lease/store_redis.c: so long who follows a lease asks for it first */
#define ASKED_FOR (300 * MS)
#define AT_ONCE (ASKED_FOR + 700 * MS) /* what files and turns take */

static struct {
    int64_t pid, since;
    bool expected;
} successor[HOSTS];

/* With one process a host its slot is the first that the next one finds. */
void kill_for_successor(void) {
    struct host *h = any_host();
    const int where = (int)(h - host);
    struct process *p = any_process(h);
    if (!has_kind("even") || settings.per_host != 1)
        broken(
            "the world successors wants one process a host, and the kind even: the pid of a brief window changes");
    if (p == NULL || p->parent != 1 || p->opened_at == 0 || now_ns < p->opened_at + SETTLED ||
        now_ns < h->cut_till + SETTLED)
        return;
    successor[where].pid = p->holds;
    successor[where].since = now_ns;
    successor[where].expected = true;
    cause_begins(CAUSE_KILL, where, now_ns);
    if (chance(dice, 300)) {
        h->cut_till = now_ns + up_to(dice, terms.window / 4);
        note("host %d is cut off for a while", where);
        /* all hosts feel it, and no window may end */
    } else if (now_ns > server[0].refuses_till + terms.window) {
        const int64_t till = now_ns + up_to(dice, terms.window / 4);
        server_refuses(0, (unsigned)below(dice, REFUSALS_PASS), till);
    }
    note("process %d is killed, and has a successor", p->pid);
    fleet_start(where, now_ns);
    process_kill(p);
    kills++;
}

void steps_bounds(void) { bound_print("asked-for", ASKED_FOR); }

void check_successor(int64_t pid) {
    const int where = me->process->host;
    const int64_t took = now_ns - successor[where].since;
    if (successor[where].expected && (pid != successor[where].pid || took > AT_ONCE))
        blame("SUCCESSOR of pid %" PRId64 ": has pid %" PRId64 " after %.1f s",
              successor[where].pid, pid, (double)took / 1e9);
    successor[where].expected = false;
}
