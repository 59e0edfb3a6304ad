/* SPDX-License-Identifier: MIT */
/*
 * Power loss, simulated, again and again under processes that draw, open and close with the "local" store: all are killed,
 * the run directory is empty, the clock comes back a little behind, and the state directory holds what was synced, and of
 * anything later some blocks and names. No duplicate, and the IDs of a pid go on increasing. Where there are just as many pids as processes, the first ID comes
 * when the mark has passed; where there are others, at once. "mark=none" syncs no mark and says so; killed processes repeat
 * nothing all the same.
 *
 * Sizes: 16 losses in a range, 3 with room, 16 kills (long: 200, 10, 200; sanitizer: 6, 2, 6), three processes each.
 */
#include "support/disk.h"
#include "worst.h"

#define LAYOUT "41:10:12/1ms"

enum { PROCESSES = 3, BURST = 50, LOG_ROOM = 1 << 17, LEAD_MOST_MS = 400, BACK_MOST_MS = 300 };

enum { OPEN_MS = 500 }; /* an open beside the wait for a mark, whose syncs take 2 ms each */
enum variant { IN_RANGE, WITH_ROOM, NOT_SYNCED };

static const char *const names[] = {"in a range", "with room", "not synced"};
static const char *const apps[] = {"range", "room", "unsynced"};

static sfid_layout layout;

static struct report {
    _Atomic uint64_t life;            /* lives that got a pid, in the order they got it */
    atomic_int first[PROCESSES];      /* the present one has its first ID */
    _Atomic int64_t waits;            /* for first IDs */
    struct worst wait;                /* the longest of them */
    _Atomic int64_t errors, an_error; /* of calls */
    atomic_int not_durable, untold;   /* lives that were told so; that had IDs and were not, in time */
    char text[300];
} * report;

/* ---- a life ------------------------------------------------------------- */

static void failed(int64_t code, const char *text) {
    if (atomic_fetch_add(&report->errors, 1) == 0)
        snprintf(report->text, sizeof report->text, "%s", text);
    atomic_store(&report->an_error, code);
}

static void on_event(void *user, const sfid_event *e) {
    if (e->kind == SFID_EVENT_NOT_DURABLE && e->text && *e->text)
        atomic_fetch_add((atomic_int *)user, 1);
}

/* Every opening has a lead of its own: what the one before promised counts, whatever this one would. */
static sfid *open_one(enum variant v, uint64_t *rng, atomic_int *told) {
    static const int leads[] = {100, 150, LEAD_MOST_MS};
    char store[60] = "local";
    if (v != WITH_ROOM)
        snprintf(store, sizeof store, "local?lead_ms=%d%s", leads[draw_random(rng) % 3], v == NOT_SYNCED ? "&mark=none" : "");
    sfid_options opt = local_options(apps[v], store, &layout);
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = TAP_WAIT_MS; /* a keeper may be late */
    opt.on_event = on_event;
    opt.user = told;
    if (v != WITH_ROOM) {
        opt.pid_min = 1;
        opt.pid_max = PROCESSES;
    }
    sfid *g = NULL;
    const int rc = sfid_open(&g, &opt);
    if (rc == 0)
        return g;
    failed(rc, sfid_last_error(g));
    sfid_close(g);
    return NULL;
}

static void draw_some(sfid *g, struct idlog *log, uint64_t *rng) {
    for (uint64_t bursts = 1 + draw_random(rng) % 60; bursts > 0 && idlog_room(log, BURST) == BURST; bursts--) {
        for (int i = 0; i < BURST; i++) {
            const int64_t id = sfid_next(g);
            if (id >= 0)
                idlog_put(log, id);
            else
                failed(id, sfid_last_error(g));
        }
        nap_us((long)(draw_random(rng) % 3000));
    }
}

static bool is_told(void *arg) { return atomic_load((atomic_int *)arg) > 0; }

/* Opens, draws and closes until the end of power. */
__attribute__((noreturn)) static void live(enum variant v, unsigned number, uint64_t rng) {
    witness_begin();
    const int64_t begin = tap_now_ms();
    dirs_make();
    report = shared_file("report", sizeof *report);
    layout = layout_of(LAYOUT);
    for (bool first = true;; first = false) {
        static atomic_int told;
        struct idlog log;
        atomic_store(&told, 0);
        sfid *g = open_one(v, &rng, &told);
        must(g != NULL, "no generator");
        const uint64_t life = atomic_fetch_add(&report->life, 1) + 1;
        log_start(&log, LOG_ROOM, life, (uint64_t)sfid_pid(g), "%" PRIu64, life);
        const int64_t id = next_within(g, TAP_WAIT_MS);
        if (id >= 0)
            idlog_put(&log, id);
        else
            failed(id, sfid_last_error(g));
        if (first) {
            worst_since(&report->wait, begin);
            atomic_fetch_add(&report->waits, 1);
            atomic_store(&report->first[number], 1);
        }
        if (v == NOT_SYNCED && !tap_wait_until(is_told, &told, TAP_WAIT_MS))
            atomic_fetch_add(&report->untold, 1);
        atomic_fetch_add(&report->not_durable, atomic_load(&told));
        draw_some(g, &log, &rng);
        sfid_close(g);
        idlog_close(&log);
    }
}

/* ---- losses ------------------------------------------------------------- */

static void start_lives(enum variant v, pid_t lives[PROCESSES], uint64_t *rng) {
    for (unsigned i = 0; i < PROCESSES; i++) {
        char which[8], number[8], random[24];
        snprintf(which, sizeof which, "%d", (int)v);
        snprintf(number, sizeof number, "%u", i);
        snprintf(random, sizeof random, "%" PRIu64, draw_random(rng));
        atomic_store(&report->first[i], 0);
        lives[i] = self_start("live", which, number, random, NULL);
    }
}

/* Every third time all get as far as an ID; else they are cut off wherever they are. */
static bool is_patient(uint64_t round) { return round % 3 == 0; }

static unsigned let_live(uint64_t round, uint64_t *rng) {
    unsigned without = 0;
    for (int i = 0; i < PROCESSES && is_patient(round); i++)
        without += !flag_wait(&report->first[i], 1, TAP_WAIT_MS);
    nap_us((long)(draw_random(rng) % (SANITIZED ? 600000 : 300000)));
    return without;
}

static void test_losses(enum variant v, uint64_t rounds, int64_t bound_ms, uint64_t *rng) {
    pid_t lives[PROCESSES];
    unsigned without = 0;
    memset(report, 0, sizeof *report);
    atomic_store(&disk.control->syncs, 0);
    atomic_store(&disk.control->mark_syncs, 0);
    for (uint64_t round = 0; round < rounds; round++) {
        start_lives(v, lives, rng);
        without += let_live(round, rng);
        for (int i = 0; i < PROCESSES; i++)
            kill(lives[i], SIGKILL);
        for (int i = 0; i < PROCESSES; i++)
            waitpid(lives[i], NULL, 0);
        if (is_patient(round)) /* when the clock has passed the marks; so the steps do not add up */
            atomic_fetch_sub(&disk.control->clock_offset_ns, (int64_t)(draw_random(rng) % BACK_MOST_MS) * NS_PER_MS);
        if (v == NOT_SYNCED)
            continue;
        remove_tree(dirs.run);
        disk_lose_power();
    }
    const struct took wait = worst_of(&report->wait);
    diag("figure: %s: %" PRIu64 " rounds, %" PRIu64 " lives; %" PRIi64 " first IDs, the longest wait %" PRIi64 " ms; %" PRIu64
         " syncs, %" PRIu64 " of marks",
         names[v], rounds, report->life, report->waits, wait.ms, disk.control->syncs, disk.control->mark_syncs);
    is_u64(without, 0, "%s: each process that is left alone has an ID", names[v]);
    ok(report->waits > 0, "%s: there are such", names[v]);
    in_time(wait, bound_ms + OPEN_MS, "%s: within %" PRIi64 " ms, and an open", names[v], bound_ms);
    if (!is_i64(report->errors, 0, "%s: no call fails", names[v]))
        diag("one got %" PRIi64 ": %s", report->an_error, report->text);
    judge(LAYOUT, "pid", UINT64_MAX, names[v]);
}

static void test_not_synced(uint64_t *rng) {
    test_losses(NOT_SYNCED, sized(16, 200, 6), BACK_MOST_MS, rng);
    is_u64(disk.control->mark_syncs, 0, "not synced: no mark is");
    is_i64(report->untold, 0, "not synced: SFID_EVENT_NOT_DURABLE says so");
    ok(report->not_durable > 0, "not synced: it is said in so many words");
}

int main(int argc, char **argv) {
    if (argc > 4 && strcmp(argv[1], "live") == 0)
        live((enum variant)atoi(argv[2]), (unsigned)atoi(argv[3]), strtoull(argv[4], NULL, 10));
    uint64_t rng = seed();
    dirs_make();
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm); /* the shim makes its syncs slow enough */
    setenv("SFID_TEST_STATE", dirs.state, 1);
    report = shared_file("report", sizeof *report);
    layout = layout_of(LAYOUT);
    disk_begin(&rng);
    disk_settle();
    atomic_store(&disk.control->sync_ns, 2 * NS_PER_MS);
    test_losses(IN_RANGE, sized(16, 200, 6), LEAD_MOST_MS + BACK_MOST_MS, &rng);
    ok(disk.control->mark_syncs > 0, "marks are synced");
    test_losses(WITH_ROOM, sized(3, 10, 2), 0, &rng);
    is_i64(report->not_durable, 0, "nobody is told that a mark that is synced were not");
    test_not_synced(&rng);
    is_u64(disk.control->not_simulated, 0, "nothing is synced in a way that is not simulated");
    return done_testing();
}
