/* SPDX-License-Identifier: MIT */
/*
 * All faults at once, at random, for as long as wanted: 32 processes of nine apps (leased from one
 * server and another, shared, from a pool of both, from the local store, shared there, fixed pids,
 * uuid7, awsflake) on hosts of their own. Processes are killed, closed, stopped, continued, and
 * forked, with children that outlive them. Clocks of hosts are stepped both ways. Run directories,
 * slots, state directories or marks are removed, on each host of one of the two sides. Servers are
 * flushed, stopped, killed, and come back empty or with an old save, and their clocks move within
 * the skew budget.
 *
 * It goes on in rounds. At the end of a round all faults are taken back, each member has to draw
 * again, all end, and the checker judges the IDs (soak_judge.h). A round with findings is the last
 * one.
 *
 * Sizes: 15 s (long: 120 s); SFID_TEST_SOAK_S sets the seconds, SFID_TEST_SEED the
 * seed, SFID_SOAK_KEEP names a directory for the logs of a round with findings. For an hour, in the
 * build directory:
 *
 *     make check-programs && SFID_TEST_SOAK_S=3600 tests/fleet/soak
 */
#include "soak_world.h"

enum { ROUND_S = 60, LIFE_MS = 16000, BRIEF_MS = 300, SPARED_MS = 6000, AGAIN_MS = 50 };

static struct stay {
    enum { NOBODY, ALIVE, LEAVING } is;
    bool killed;
    int64_t ends_at, spared_till, goes_on_at, begins_at; /* goes_on_at 0: it is not stopped */
    struct patience patience;                            /* with one that is leaving */
    int64_t ids_before;                                  /* when all was healed */
} stays[SEATS];

static struct verdict verdicts[APPS];
static uint64_t lives, crashed, hung, late_rounds;
static bool calm; /* nobody ends, nothing happens */

/* ---- lives -------------------------------------------------------------- */

static bool is_child(unsigned i) { return i >= MEMBERS; }

static pid_t process_of(unsigned i) {
    return is_child(i) ? atomic_load(&members[i].ready) : members[i].child;
}

static void feel(unsigned i, enum fault f) {
    raise_to(&board->seats[i].own[f], ms_from_now(FELT_MS));
    counts[f]++;
}

static void start_stay(unsigned i) {
    struct stay *s = &stays[i];
    *s = (struct stay){.is = ALIVE};
    s->ends_at = ms_from_now((int64_t)up_to(up_to(4) ? LIFE_MS : BRIEF_MS));
    s->spared_till = ms_from_now(up_to(4) ? SPARED_MS : 0);
    atomic_store(&board->seats[i].stopped_till, 0);
    lives++;
}

static void start_life(unsigned i) {
    atomic_store(&board->seats[i].fork_wanted, 0);
    if (atomic_exchange(&board->seats[i + MEMBERS].unborn, 0))
        /* the parent ended before it saw the wish, or before the child began */
        stays[i + MEMBERS].is = NOBODY;
    start_stay(i);
    member_start(&members[i]);
}

/* The child's seat is cleared as member_start() does it. */
static void want_fork(unsigned i) {
    struct member *child = &members[i + MEMBERS];
    if (is_child(i) || stays[i + MEMBERS].is != NOBODY)
        return;
    memset((char *)child + offsetof(struct member, may_end), 0,
           sizeof *child - offsetof(struct member, may_end));
    start_stay(i + MEMBERS);
    atomic_store(&board->seats[i + MEMBERS].unborn, 1);
    atomic_store(&board->seats[i].fork_wanted, 1);
    feel(i, FORKED);
    feel(i + MEMBERS, FORKED);
    counts[FORKED]--;
}

static void go_on(unsigned i) {
    if (stays[i].goes_on_at == 0)
        return;
    kill(process_of(i), SIGCONT);
    atomic_store(&board->seats[i].stopped_till, mono_ns());
    stays[i].goes_on_at = 0;
}

static void stop(unsigned i) {
    const int64_t for_ms = (int64_t)up_to(MOST_STOP_MS);
    if (kill(process_of(i), SIGSTOP) < 0)
        return;
    atomic_store(&board->seats[i].stopped_till, INT64_MAX);
    stays[i].goes_on_at = ms_from_now(for_ms);
    turn_on(board->seats[i].app, STOPPED, for_ms);
}

/* A process that opens, or is stopped, is killed, not waited for. */
static void leave(unsigned i, bool killing) {
    struct stay *s = &stays[i];
    killing = killing || s->goes_on_at != 0 || !atomic_load(&members[i].opened);
    s->is = LEAVING;
    s->killed = killing;
    s->patience = (struct patience){0};
    feel(i, killing ? KILLED_OFF : CLOSED);
    if (killing)
        kill(process_of(i), SIGKILL);
    else
        atomic_store(&members[i].may_end, 1);
}

/* A child of a member that lives is reaped by the kernel, an orphan is this process's own. */
static bool is_gone(unsigned i) {
    const struct stay *s = &stays[i];
    const pid_t pid = process_of(i);
    int status = 0;
    const pid_t got = pid > 0 ? waitpid(pid, &status, WNOHANG) : 0;
    if (got == 0 || (got < 0 && kill(pid, 0) == 0))
        return false;
    const bool well =
        got > 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 0 : atomic_load(&members[i].closed);
    if (!s->killed && !well) {
        crashed++;
        diag("%s: process %d ended with status %#x", members[i].name, (int)pid, (unsigned)status);
    }
    return true;
}

static void attend_living(unsigned i) {
    struct stay *s = &stays[i];
    const bool opened = atomic_load(&members[i].opened);
    const int64_t now = mono_ns();
    if (s->goes_on_at && now >= s->goes_on_at)
        go_on(i);
    if (calm || process_of(i) == 0 || (!opened && now < s->spared_till))
        return;
    if (now >= s->ends_at)
        leave(i, up_to(2));
    else if (opened && s->goes_on_at == 0 && comes(12000))
        stop(i);
    else if (opened && s->goes_on_at == 0 && comes(6000))
        want_fork(i);
}

/* Who could not open tries again a little later, as a supervisor would start it. */
static void attend(unsigned i, bool again) {
    struct stay *s = &stays[i];
    if (s->is != NOBODY && is_gone(i))
        *s =
            (struct stay){.is = NOBODY, .begins_at = ms_from_now(members[i].rc < 0 ? AGAIN_MS : 0)};
    if (s->is == NOBODY && again && !is_child(i) && mono_ns() >= s->begins_at)
        start_life(i);
    else if (s->is == ALIVE)
        attend_living(i);
    else if (s->is == LEAVING && !s->killed && !patient(&s->patience, TAP_WAIT_MS)) {
        hung++;
        leave(i, true);
    }
}

static void attend_all(bool again) {
    for (unsigned i = 0; i < SEATS; i++)
        attend(i, again);
}

/* ---- a round ------------------------------------------------------------ */

static void rage(int64_t till) {
    calm = false;
    for (; mono_ns() < till; nap_us(2000)) {
        attend_all(true);
        attend_hosts();
        for (unsigned k = 0; k < SERVERS; k++)
            attend_server(k);
    }
}

static bool draws_again(unsigned i) {
    return atomic_load(&members[i].ids) >= stays[i].ids_before + BURST;
}

static bool all_draw(void *arg) {
    unsigned *drawing = arg;
    *drawing = 0;
    attend_all(true);
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (atomic_load(&members[i].ids) < stays[i].ids_before) /* another life */
            stays[i].ids_before = 0;
        *drawing += draws_again(i);
    }
    return *drawing == MEMBERS;
}

/* What a member that does not draw was told last. */
static void explain(unsigned i) {
    const struct member *m = &members[i];
    const int n = atomic_load(&m->events);
    diag(
        "%s on host %u does not draw: process %d, state %c, opened %d with %d, %s; last error %" PRIi64,
        m->name, board->seats[i].host, (int)process_of(i), task_state(process_of(i), process_of(i)),
        atomic_load(&m->opened), m->rc, m->text, atomic_load(&m->error));
    for (int e = n > 4 ? n - 4 : 0; e < n; e++)
        diag("  %.1f s ago: %s", (double)(mono_ns() - m->seen[e % EVENTS_KEPT].at_ns) / 1e9,
             m->seen[e % EVENTS_KEPT].text);
}

static void all_recover(unsigned round) {
    unsigned drawing = 0;
    calm = true;
    heal();
    for (unsigned i = 0; i < SEATS; i++)
        go_on(i);
    /* an orphan keeps a fixed pid from the next member */
    for (unsigned i = MEMBERS; i < SEATS; i++)
        if (stays[i].is == ALIVE && process_of(i) > 0)
            leave(i, false);
    for (unsigned i = 0; i < MEMBERS; i++)
        stays[i].ids_before = atomic_load(&members[i].ids);
    const int64_t begin = mono_ns();
    const bool all = tap_wait_until(all_draw, &drawing, 2 * TAP_WAIT_MS);
    if (all)
        diag("round %u: all draw again after %" PRIi64 " ms", round,
             (mono_ns() - begin) / NS_PER_MS);
    for (unsigned i = 0; !all && i < MEMBERS; i++)
        if (!draws_again(i))
            explain(i);
    late_rounds += !all;
}

/* A child may be on its way still: it is born, and has to leave, or its parent has gone before it
 * saw the wish. */
static void send_off(unsigned i) {
    if (stays[i].is != ALIVE)
        return;
    if (process_of(i) > 0)
        leave(i, up_to(2));
    else if (is_child(i) && stays[i - MEMBERS].is == NOBODY &&
             atomic_exchange(&board->seats[i].unborn, 0))
        stays[i].is = NOBODY;
}

static bool all_gone(void *arg) {
    (void)arg;
    unsigned there = 0;
    attend_all(false);
    for (unsigned i = 0; i < SEATS; i++) {
        send_off(i);
        there += stays[i].is != NOBODY;
    }
    return there == 0;
}

static void end_all(void) {
    if (!tap_wait_until(all_gone, NULL, 2 * TAP_WAIT_MS))
        bail("a process stays");
}

/*
 * The windows of a server's pid do not overlap. Where the kernel's locks say who has a pid, a
 * process that begins a new window goes on at its page's position, which may lie before the end of
 * the old one.
 */
static uint64_t overlaps_of(unsigned a) { return apps[a].servers ? verdicts[a].overlaps : 0; }

static bool judge_all(unsigned round) {
    bool good = true;
    for (unsigned a = 0; a < APPS; a++) {
        struct verdict *v = &verdicts[a];
        const bool is_uuid = apps[a].wide && strcmp(apps[a].wide, "uuid7") == 0;
        judge_round(apps[a].name, apps[a].layout_text, is_uuid ? "none" : "per-file", log_dirs[a],
                    round, apps[a].servers != 0, v);
        good = good && v->duplicates + v->order_breaks + v->outside + overlaps_of(a) + v->foreign +
                               v->lost + v->unjudged ==
                           0;
    }
    return good && atomic_load(&board->order_breaks) == 0;
}

/* Files must not grow with lives: a host has a slot a process, and a mark a pid. */
static unsigned most_files(void) {
    unsigned most = 0;
    for (unsigned i = 0; i < hosts_n; i++) {
        const int run = count_entries(hosts[i].run), state = count_entries(hosts[i].state);
        if (run > SEATS || state > apps[hosts[i].app].pids + SEATS)
            diag("%s has %d files, %s has %d", hosts[i].run, run, hosts[i].state, state);
        most = run > (int)most ? (unsigned)run : most;
        most = state > (int)most ? (unsigned)state : most;
    }
    return most;
}

/* ---- the summary -------------------------------------------------------- */

static uint64_t sum_of(size_t offset) {
    uint64_t sum = 0;
    for (unsigned a = 0; a < APPS; a++)
        sum += *(const uint64_t *)(const void *)((const char *)&verdicts[a] + offset);
    return sum;
}

#define SUM(field) sum_of(offsetof(struct verdict, field))

static void report(int64_t ns, unsigned rounds) {
    diag("figure: %.0f s, %u rounds: %" PRIu64 " IDs, %" PRIu64 " duplicates, %" PRIu64
         " order breaks, %" PRIu64 " outside of windows; %" PRIu64 " windows",
         (double)ns / 1e9, rounds, SUM(ids), SUM(duplicates),
         SUM(order_breaks) + board->order_breaks, SUM(outside), SUM(windows));
    for (unsigned a = 0; a < APPS; a++)
        diag("figure: %s: %" PRIu64 " IDs, %" PRIu64 " windows, %" PRIu64 " overlaps", apps[a].name,
             verdicts[a].ids, verdicts[a].windows, verdicts[a].overlaps);
    diag("figure: %" PRIu64 " lives, %" PRIu64 " opened, %" PRIu64 " opens refused, %" PRIu64
         " calls refused, %" PRIu64 " pids lost",
         lives, board->opened, board->refused_opens, board->refusals, board->lost);
    for (int code = 0; code < CODES; code++)
        if (board->opens_by[code] > 0)
            diag("figure: %" PRIu64 " opens: %s", board->opens_by[code], sfid_strerror(-code));
    for (int f = 0; f <= FAULTS; f++) {
        const struct stall *s = &board->stalls[f];
        diag("figure: %s: %" PRIu64 " times; longest stall %" PRIi64 " ms, %" PRIi64
             " ms with no other fault on",
             fault_names[f], f < FAULTS ? counts[f] : 0, s->any_ms, s->alone_ms);
    }
}

static void check(unsigned files) {
    uint64_t overlaps = 0;
    for (unsigned a = 0; a < APPS; a++)
        overlaps += overlaps_of(a);
    ok(SUM(ids) > 0, "there are IDs");
    is_u64(SUM(duplicates), 0, "no ID comes twice");
    is_u64(SUM(order_breaks) + board->order_breaks, 0, "the IDs of a process increase");
    is_u64(SUM(outside), 0, "no ID lies outside the windows of its process");
    is_u64(overlaps, 0, "no two windows of a pid of a server overlap");
    is_u64(SUM(foreign) + SUM(lost), 0, "all IDs are of their layout, and none is missing");
    for (unsigned a = 0, unjudged = 0; a < APPS; a++)
        if ((unjudged += verdicts[a].unjudged) > 0 || a == APPS - 1)
            is_u64(unjudged, 0, "the checker judged every round, %s", apps[a].name);
    is_u64(late_rounds, 0, "in each round every member draws again when the faults are over");
    is_u64(crashed, 0, "no process ends but by itself or by SIGKILL");
    is_u64(hung, 0, "no close hangs");
    if (!is_u64(
            board->odd, 0,
            "no call and no open fails but for want of a window, a pid, a clock, a server or a directory"))
        diag("one got %" PRIi64, board->odd_code);
    ok(files <= SEATS, "files do not grow with lives: at most %u in a directory", files);
    while (waitpid(-1, NULL, WNOHANG) > 0) /* children that were not born any more */
        ;
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no process is left");
}

int main(void) {
    const char *given = getenv("SFID_TEST_SOAK_S");
    const int64_t s = given ? atoll(given) : (int64_t)sized(15, 120, 15);
    unsigned round = 0, files = 0;
    pace = s > 60 ? 4 : 1;
    rng = fleet_begin("39:7:17/10ms");
    if (servers.n == 0)
        skip_all("no redis-server");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    begin_world();
    const int64_t begin = mono_ns(), end = begin + s * 1000 * NS_PER_MS;
    for (bool good = true; good && mono_ns() < end; round++) {
        const int64_t round_end = ms_from_now(ROUND_S * INT64_C(1000));
        rage(round_end < end ? round_end : end);
        all_recover(round);
        end_all();
        const unsigned now = most_files();
        files = now > files ? now : files;
        good = judge_all(round);
    }
    report(mono_ns() - begin, round);
    for (unsigned k = 0; k < SERVERS; k++)
        redis_kill(&servers_of[k].r);
    check(files);
    return done_testing();
}
