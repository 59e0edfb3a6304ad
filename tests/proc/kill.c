/* SPDX-License-Identifier: MIT */
/*
 * Four processes with a fixed pid each and four threads each, killed with SIGKILL at random and
 * started again at once: no duplicate, and the IDs of a pid go on increasing over all its lives.
 * Every other life is killed at any moment since its start, in sfid_open() too; the rest some time
 * after its first ID. How long a restart takes to the first ID is measured, on an idle machine
 * first and then under the load of the others, and printed.
 *
 * Sizes: 50 rounds with room in the sequence (long: 200; sanitizer: 20), 20 (long: 200; sanitizer:
 * 10) with a small sequence and borrowing, 100 idle restarts (sanitizer: 20). A round is one life
 * of each process.
 */
#include "ahead.h"

enum { PROCESSES = 4, THREADS = 4, MOST_ROUNDS = 200, LOG_ROOM = 1 << 20, BURST = 256 };
enum {
    FIRST_MS =
        250 /* it takes less than 5, under load 50; the rest of a mark would take up to 30 s */
};

static const struct phase {
    const char *app, *layout;
    sfid_exhaustion exhaustion;
    uint32_t max_ahead_ms;
    int64_t may_lead_ms; /* of an ID */
} phases[] = {
    {"idle", "41:2:20/1ms", SFID_WAIT, 10000, 0},
    {"roomy", "41:2:20/1ms", SFID_WAIT, 10000, 0},
    {"tight", "41:2:8/1ms", SFID_BORROW, 200, 200},
};

/* What the lives of one pid report; the file outlives them. */
struct report {
    _Atomic int64_t first_ns;    /* of this life: main() to its first ID; 0 until then */
    int64_t from_ms, to_ms;      /* the same, as tap_now_ms() tells it, once that is told */
    _Atomic int64_t first_error; /* any life */
    _Atomic int64_t ahead_ms;    /* the most that sfid_status() told, any life */
    _Atomic int64_t lead_ns;     /* the furthest that an ID lay above the clock, any life */
    _Atomic int64_t ids;
};

static struct report *reports;

/* ---- a life ------------------------------------------------------------- */

struct drawer {
    sfid *g;
    const sfid_layout *layout;
    struct report *report;
    struct idlog log;
    uint64_t rng;
};

static void note(struct drawer *d, int64_t id) {
    if (id < 0) {
        int64_t none = 0;
        atomic_compare_exchange_strong(&d->report->first_error, &none, id);
        return;
    }
    idlog_put(&d->log, id);
}

static void burst(struct drawer *d, uint64_t kind) {
    int64_t ids[BURST];
    if (kind == 0) {
        const int64_t n = sfid_next_n(d->g, ids, COUNT_OF(ids));
        for (int64_t i = 0; i < n; i++)
            note(d, ids[i]);
        if (n <= 0)
            note(d, n);
        return;
    }
    for (int i = 0; i < BURST; i++) {
        const int64_t id = kind == 1 ? sfid_try_next(d->g) : sfid_next(d->g);
        if (kind == 1 && id == SFID_EAGAIN)
            break;
        note(d, id);
    }
}

/* Bursts of IDs, and about twenty times as much work of the caller's own, or the logs would not fit
 * into memory. */
static void *drawer_main(void *arg) {
    struct drawer *d = arg;
    while (!idlog_full(&d->log)) {
        burst(d, draw_random(&d->rng) % 8);
        if (d->log.count > 0)
            raise_to(&d->report->lead_ns,
                     id_ns(d->layout, d->log.ids[d->log.count - 1]) - wall_ns());
        atomic_fetch_add(&d->report->ids, BURST);
        for (const int64_t end = mono_ns() + (int64_t)(draw_random(&d->rng) % 400000);
             mono_ns() < end;)
            ;
    }
    return NULL;
}

__attribute__((noreturn)) static void live(const struct phase *phase, unsigned number,
                                           uint64_t life) {
    const int64_t begin = mono_ns(), from_ms = tap_now_ms();
    struct drawer drawers[THREADS + 1];
    pthread_t thread;
    dirs_make();
    struct report *report =
        (struct report *)shared_file("reports", PROCESSES * sizeof *report) + number;
    const sfid_layout layout = layout_of(phase->layout);
    sfid_options opt = options_of(phase->app, number, &layout);
    opt.exhaustion = phase->exhaustion;
    opt.max_ahead_ms = phase->max_ahead_ms;
    opt.max_wait_ms = TAP_WAIT_MS;
    sfid *g = open_or_die(&opt);
    const int64_t first = next_within(g, TAP_WAIT_MS), first_ns = mono_ns() - begin;
    report->from_ms = from_ms;
    report->to_ms = tap_now_ms();
    for (unsigned i = 0; i <= THREADS; i++) {
        drawers[i] = (struct drawer){
            .g = g, .layout = &layout, .report = report, .rng = life * 100 + number * 10 + i};
        log_start(&drawers[i].log, i < THREADS ? LOG_ROOM : 1, life, number, "%u-%" PRIu64 "-%u",
                  number, life, i);
    }
    note(&drawers[THREADS], first);
    atomic_store(&report->first_ns, first_ns); /* behind the log: it may be killed from here on */
    for (unsigned i = 0; i < THREADS && strcmp(phase->app, "idle") != 0; i++)
        start_thread(&thread, drawer_main, &drawers[i]);
    for (;; nap_us(2000))
        raise_to(&report->ahead_ms, ahead_seen(g));
}

/* ---- the killer --------------------------------------------------------- */

struct process {
    pid_t pid;
    uint64_t life;
    bool spare;      /* until its first ID */
    int64_t kill_at; /* monotonic; 0: not known before the first ID */
    int64_t length_ns;
    struct patience patience;
};

struct tally {
    int64_t firsts[PROCESSES * MOST_ROUNDS];
    struct took tooks[PROCESSES * MOST_ROUNDS]; /* the same */
    size_t firsts_n;
    unsigned killed_early, ended_alone, never_first;
};

static void start_life(struct process *p, const struct phase *phase, unsigned number,
                       uint64_t *rng) {
    char index[12], which[8], life[24];
    snprintf(index, sizeof index, "%d", (int)(phase - phases));
    snprintf(which, sizeof which, "%u", number);
    snprintf(life, sizeof life, "%" PRIu64, ++p->life);
    atomic_store(&reports[number].first_ns, 0);
    p->length_ns = (int64_t)(draw_random(rng) % (SANITIZED ? 500 : 120)) * NS_PER_MS +
                   (int64_t)(draw_random(rng) % NS_PER_MS);
    /* in its first open: killsteps.c */
    p->spare = p->life % 2 == 0 || p->life == 1 || strcmp(phase->app, "idle") == 0;
    p->kill_at = p->spare ? 0 : mono_ns() + p->length_ns;
    if (p->spare && strcmp(phase->app, "idle") == 0)
        p->length_ns = 0;
    p->pid = self_start("live", index, which, life, NULL);
}

/* True when the life was ended. */
static bool end_life(struct process *p, struct report *report, struct tally *tally) {
    const int64_t now = mono_ns(), first = atomic_load(&report->first_ns);
    if (p->kill_at == 0 && first > 0)
        p->kill_at = now + p->length_ns;
    const bool never = p->kill_at == 0 && !patient(&p->patience, TAP_WAIT_MS);
    if (!never && (p->kill_at == 0 || now < p->kill_at))
        return false;
    int status = 0;
    kill(p->pid, SIGKILL);
    waitpid(p->pid, &status, 0);
    tally->ended_alone += !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
    tally->never_first += never;
    tally->killed_early += first == 0;
    if (p->spare && first > 0 && p->life > 1) {
        tally->tooks[tally->firsts_n] = took_between(report->from_ms, report->to_ms);
        tally->firsts[tally->firsts_n++] = first;
    }
    return true;
}

static void kill_and_restart(const struct phase *phase, unsigned processes, uint64_t rounds,
                             uint64_t *rng, struct tally *tally) {
    struct process all[PROCESSES] = {0};
    for (unsigned left = processes, fresh = 1; left > 0; fresh = 0) {
        for (unsigned i = 0; i < processes; i++) {
            const bool ended = !fresh && all[i].pid > 0 && end_life(&all[i], &reports[i], tally);
            if (ended && all[i].life == rounds) {
                all[i].pid = 0;
                left--;
            } else if (ended || fresh) {
                start_life(&all[i], phase, i, rng);
                all[i].patience = (struct patience){0};
            }
        }
        nap_us(200);
    }
}

static int by_run(const void *a, const void *b) {
    const struct took *x = a, *y = b;
    const int64_t ran = x->ms - x->stood_ms, other = y->ms - y->stood_ms;
    return (ran > other) - (ran < other);
}

static void report_phase(const struct phase *phase, struct tally *tally, int64_t ns,
                         int64_t offset) {
    int64_t error = 0, ahead = 0, lead = 0, ids = 0;
    for (int i = 0; i < PROCESSES; i++) {
        error = error ? error : atomic_load(&reports[i].first_error);
        ahead =
            atomic_load(&reports[i].ahead_ms) > ahead ? atomic_load(&reports[i].ahead_ms) : ahead;
        lead = atomic_load(&reports[i].lead_ns) > lead ? atomic_load(&reports[i].lead_ns) : lead;
        ids += atomic_load(&reports[i].ids);
    }
    const int64_t middle = median(tally->firsts, tally->firsts_n);
    const int64_t worst = tally->firsts_n ? tally->firsts[tally->firsts_n - 1] : 0;
    diag(
        "figure: %s: main() to first ID: median %.2f ms, worst %.2f ms of %zu restarts; %u lives were killed before it",
        phase->app, (double)middle / 1e6, (double)worst / 1e6, tally->firsts_n,
        tally->killed_early);
    diag("figure: %s: %.1f s, about %" PRIi64 " IDs; the word at most %" PRIi64
         " ms ahead, an ID %.3f ms",
         phase->app, (double)ns / 1e9, ids, ahead, (double)lead / 1e6);
    is_u64(tally->ended_alone, 0, "%s: no life ends by itself", phase->app);
    is_u64(tally->never_first, 0, "%s: each life that is left alone draws an ID", phase->app);
    is_i64(error, 0, "%s: no call fails", phase->app);
    ok(ahead <= phase->may_lead_ms + 1,
       "%s: the word is never further ahead than an ID may be, and one tick", phase->app);
    qsort(tally->tooks, tally->firsts_n, sizeof *tally->tooks, by_run);
    in_time(tally->tooks[tally->firsts_n / 2], FIRST_MS, "%s: half of the restarts have an ID soon",
            phase->app);
    if (clock_stepped(offset))
        diag("the clock was stepped: nothing is said about IDs and clock");
    else
        ok(lead <= phase->may_lead_ms * NS_PER_MS,
           "%s: no ID lies further ahead of the clock than allowed", phase->app);
}

static void run_phase(const struct phase *phase, unsigned processes, uint64_t rounds,
                      uint64_t *rng) {
    struct tally tally = {.firsts_n = 0};
    memset(reports, 0, PROCESSES * sizeof *reports);
    const int64_t begin = mono_ns(), offset = clock_offset();
    kill_and_restart(phase, processes, rounds, rng, &tally);
    report_phase(phase, &tally, mono_ns() - begin, offset);
    judge(phase->layout, "pid", UINT64_MAX, phase->app);
}

int main(int argc, char **argv) {
    if (argc > 4 && strcmp(argv[1], "live") == 0)
        live(&phases[atoi(argv[2])], (unsigned)atoi(argv[3]), strtoull(argv[4], NULL, 10));
    uint64_t rng = seed();
    dirs_make();
    witness_begin();
    witness_system();
    reports = shared_file("reports", PROCESSES * sizeof *reports);
    run_phase(&phases[0], 1, sized(100, 100, 20), &rng);
    run_phase(&phases[1], PROCESSES, sized(50, 200, 20), &rng);
    run_phase(&phases[2], PROCESSES, sized(20, 200, 10), &rng);
    return done_testing();
}
