/* SPDX-License-Identifier: MIT */
/* host_faults.c - what befalls hosts, their disks and their processes. The numbers come from the
 * faults' stream (faults.c). */
#include "host_faults.h"
#include "sim.h"

static struct stream *const dice = &streams.faults;

static int64_t any_ns(int64_t ns) { return up_to(dice, ns); }

struct host *any_host(void) {
    argument_is_called("host");
    return &host[below(dice, hosts)];
}

static int number_of(const struct host *h) { return (int)(h - host); }

struct process *any_process(const struct host *h) {
    struct process *there[PROCESSES];
    uint64_t n = 0, chosen = 0;
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].host == number_of(h)) {
            there[n++] = &process[i];
            if (draw64(dice) % n == 0)
                chosen = n - 1;
        }
    argument_is_called("process");
    return n == 0
               ? NULL
               : there[acting
                           ? (uint64_t)event_argument(ARGUMENT_COUNT, (int64_t)chosen, (int64_t)n)
                           : chosen];
}

/* What a process without a page leaves is lost with it. */
void cause_killed(const struct process *p) {
    cause_begins(p->pageless ? CAUSE_POWER : CAUSE_KILL, p->host, now_ns);
}

void kill_all(const struct host *h) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].host == number_of(h)) {
            if (process[i].pageless)
                cause_killed(&process[i]);
            process_kill(&process[i]);
        }
}

static int64_t killed_ns[HOSTS]; /* the last one of a host; its successor comes within SUCCESSOR */
#define SUCCESSOR (10 * SECOND)

void kill_one(void) {
    const struct host *h = any_host();
    struct process *p = any_process(h);
    if (p == NULL)
        return;
    cause_killed(p);
    killed_ns[number_of(h)] = now_ns;
    note("process %d is killed", p->pid);
    process_kill(p);
    kills++;
}

/* What is told to end and has not ended when its time is over is killed, as service managers do;
 * here or there it starts again. */
struct term {
    int place;
    unsigned born;
};

static void start_again(const struct process *p) {
    if (p->parent == 1)
        fleet_start(p->host, now_ns + any_ns(100 * MS));
}

static void time_is_over(void *arg) {
    struct term *t = arg;
    struct process *p = &process[t->place];
    if (p->used && p->born == t->born) {
        note("process %d has not ended in time and is killed", p->pid);
        start_again(p);
        process_kill(p);
        kills++;
    }
    free(t);
}

static void end_on(const struct host *h, int64_t grace) {
    struct process *p = any_process(h);
    if (p == NULL || p->told_at)
        return;
    struct term *t = memory(sizeof *t);
    *t = (struct term){(int)(p - process), p->born};
    note("process %d is told to end", p->pid);
    cause_begins(CAUSE_END, number_of(h), now_ns);
    process_tell(p);
    at_time(now_ns + grace, time_is_over, t);
}

void end_one(void) { end_on(any_host(), 10 * SECOND); }

/* Killed inside the close, or before. */
void end_briefly(void) {
    const int64_t grace = any_ns(50 * MS);
    end_on(any_host(), grace);
}

/* The next one starts before it has ended. */
void end_beside(void) {
    const struct host *h = any_host();
    end_on(h, 10 * SECOND);
    fleet_start(number_of(h), now_ns + any_ns(20 * MS));
}

void kill_and_start(void) {
    const struct host *h = any_host();
    struct process *p = any_process(h);
    if (p == NULL)
        return;
    cause_killed(p);
    note("process %d is killed, and starts again", p->pid);
    start_again(p);
    process_kill(p);
    kills++;
}

static void stop_for(int64_t ns) {
    const struct host *h = any_host();
    struct process *p = any_process(h);
    if (p == NULL)
        return;
    process_stop(p, now_ns + any_ns(ns));
    note("process %d is stopped", p->pid);
    cause_begins(CAUSE_STOPPED, number_of(h), p->stopped_till);
}

void stop_one(void) { stop_for(250 * SECOND); }

/*
 * With the drift of an hour and the step of a server it stays below max_skew_ms, so that the server
 * takes it. Without a server the clocks of two hosts may differ by the skew budget.
 */
void step_clock(void) {
    struct host *h = any_host();
    const int64_t before = h->offset_ns,
                  most = has_kind("ordinal") ? terms.skew - 800 * MS : 2400 * MS;
    h->offset_ns = any_ns(most) - most / 2;
    cause_begins(CAUSE_CLOCK, number_of(h),
                 now_ns + (before > h->offset_ns ? before - h->offset_ns : 0));
}

static void cut_for(int64_t ns) {
    struct host *h = any_host();
    if (wire_is_stated())
        return;
    h->cut_till = now_ns + any_ns(ns);
    cause_begins(CAUSE_AWAY, number_of(h), h->cut_till + 2 * SECOND);
}

void cut_long(void) { cut_for(400 * SECOND); }

/* Shorter than W - H - D - 0.5 s: this costs nothing, and is no cause but for who just went on with
 * a window that was nearly over. */
void cut_short(void) {
    struct host *h = any_host();
    h->cut_till = now_ns + any_ns(5 * SECOND);
    cause_short_cut(number_of(h), h->cut_till);
    note("host %d is cut off for a while", number_of(h));
}

#define LAST_PAUSE (500 * MS)   /* between the last tries of a window */
#define ARRIVES_BY (2 * SECOND) /* what was sent when a cut is over */

void host_faults_bounds(void) { bound_print("last-pause", LAST_PAUSE); }

/* For W - H - D - 0.5 s: this costs nothing, but for newcomers, who wait, and whose first window
 * may be a short one. */
void cut_to_the_brink(void) {
    struct host *h = any_host();
    if (settings.life_ns < (int64_t)(settings.hours * 3600) * SECOND)
        broken("the world brink wants processes that outlive it, and --life= so many seconds");
    if (now_ns < 3 * terms.window || now_ns < h->cut_till + terms.window ||
        !host_is_at_peace(number_of(h)))
        return;
    h->cut_till =
        now_ns + terms.window - terms.heartbeat - terms.deadline - LAST_PAUSE - ARRIVES_BY;
    note("host %d is cut off for as long as costs nothing", number_of(h));
}

static void end_there(void *arg) { end_on(arg, 10 * SECOND); }

/* Each renewal that is due meanwhile is under way for as long as an exchange may take, and then
 * tried again. */
void end_cut_off(void) {
    struct host *h = any_host();
    if (wire_is_stated())
        return;
    h->cut_till = now_ns + any_ns(60 * SECOND);
    cause_begins(CAUSE_AWAY, number_of(h), h->cut_till + 2 * SECOND);
    at_time(now_ns + any_ns(60 * SECOND), end_there, h);
}

void lose_power(void) {
    struct host *h = any_host();
    cause_begins(CAUSE_POWER, number_of(h), now_ns);
    kill_all(h);
    if (!kind_has_servers() && !has_kind("ordinal") && chance(dice, 600)) {
        const int64_t back = any_ns(40 * SECOND);
        h->offset_ns -= back;
        cause_begins(CAUSE_CLOCK, number_of(h), now_ns + back);
    }
    h->files_gone_till = 0;
    host_boot(h, true);
}

void lose_run(void) {
    struct host *h = any_host();
    const bool orphaned = killed_ns[number_of(h)] && now_ns < killed_ns[number_of(h)] + SUCCESSOR;
    cause_begins(orphaned ? CAUSE_POWER : CAUSE_RUN_GONE, number_of(h), now_ns);
    for (int i = 0; i < PROCESSES; i++)
        process[i].pageless |= process[i].host == number_of(h);
    host_lose_run(h);
}

/* Who waits for a disk that hangs already goes on when that is over. */
static void hang_for(struct host *h, int64_t ns) {
    const int64_t till = now_ns + any_ns(ns);
    if (till > h->disk_hangs_till)
        h->disk_hangs_till = till;
}

void disk_hangs(void) {
    struct host *h = any_host();
    hang_for(h, 20 * SECOND);
    cause_begins(CAUSE_DISK, number_of(h), h->disk_hangs_till);
}

void end_with_disk(void) {
    struct host *h = any_host();
    hang_for(h, 20 * SECOND);
    cause_begins(CAUSE_DISK, number_of(h), h->disk_hangs_till);
    at_time(now_ns + any_ns(20 * SECOND), end_there, h);
}

void disk_is_slow(void) {
    struct host *h = any_host();
    hang_for(h, SECOND);
    note("the disk of host %d is slow", number_of(h));
}

void disk_fails(void) {
    struct host *h = any_host();
    if (chance(dice, 500)) {
        h->disk_full_till = now_ns + any_ns(60 * SECOND);
        cause_begins(CAUSE_DISK, number_of(h), h->disk_full_till);
    } else {
        h->disk_bad_till = now_ns + any_ns(20 * SECOND);
        cause_begins(CAUSE_DISK, number_of(h), h->disk_bad_till);
    }
}

void open_no_files(void) {
    struct host *h = any_host();
    h->files_gone_till = now_ns + any_ns(60 * SECOND);
    cause_begins(CAUSE_DISK, number_of(h), h->files_gone_till);
}

void copy_machine(void) {
    struct host *from = any_host(), *to = any_host();
    if (from == to || !has_kind("copy"))
        return;
    kill_all(to);
    if (!machine_copy(number_of(from), number_of(to)))
        return;
    check_copied(has_kind("hidden"));
    causes_copied(number_of(from), number_of(to));
    if (!has_kind("hidden"))
        to->slept_ns += SECOND + any_ns(5 * SECOND);
    cause_begins(CAUSE_COPY, number_of(from), now_ns);
    cause_begins(CAUSE_COPY, number_of(to), now_ns);
}
