/* SPDX-License-Identifier: MIT */
/*
 * A process generates, something happens to its run directory or its state directory, its windows
 * are renewed all the same or not, and it ends by SIGKILL or by sfid_close. Whoever opens next, by
 * the paths that all others use, begins in the same tick: no ID comes twice, and the IDs of the pid
 * go on increasing. While the first one lives nobody else has its pid. It goes on, or its window
 * ends with SFID_ELEASE and an event that says why. The table at the end has a line for each cause.
 *
 * Sizes: 1 round of each (long: 10), one after the other, but many causes side by side; in every
 * second round somebody else tries to open in the middle. Ticks are seconds, so that what is issued
 * again is issued again in the same tick.
 *
 *     roots [PART-OF-A-NAME [ROUNDS]]    e.g. roots 'chroot, local, kill' 3
 */
#include "roots_causes.h"

#include "support/user.h"

enum {
    SIDE_BY_SIDE = 64,
    MOMENT_MS = 6000, /* a moment that does not come in this time is done without */
    END_MS =
        /* the kernel ends processes with mounts of their own one by one, each for a second on a
         * loaded machine */
    4 * TAP_WAIT_MS,
};

/* ---- a round ------------------------------------------------------------ */

/* What the rounds of one cause, store and end came to. */
struct cell {
    const struct cause *cause;
    struct way way;
    char name[120];
    pid_t child;
    int cannot, broken; /* rounds */
    int rounds, same_tick, went_on, ended, silent, owners, not_served;
    uint64_t ids, duplicates, breaks;
    int64_t error;
    char text[400];
};

__attribute__((format(printf, 2, 3))) static void remember(struct cell *c, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->text, sizeof c->text, fmt, args);
    va_end(args);
}

/* For good, not for the moment that a renewal takes. */
static bool has_ended(const struct first *f) {
    const int64_t since = atomic_load(&f->refused_since);
    return since != 0 && mono_ns() - since > REFUSED_MS * (int64_t)NS_PER_MS;
}

static bool is_past(void *arg) {
    const struct first *f = arg;
    return atomic_load(&f->tick) > atomic_load(&f->limit) || has_ended(f);
}

static bool is_aged(void *arg) {
    const struct first *f = arg;
    return atomic_load(&f->tick) > atomic_load(&f->limit);
}

/* Early in a tick of which it has had a good part, so that the next one's first number is of that
 * tick, too. */
static bool is_moment(void *arg) {
    const struct first *f = arg;
    const int64_t in_tick_ms = (wall_ns() / NS_PER_MS - layout.epoch_ms) % (int64_t)layout.unit_ms;
    const bool had =
        atomic_load(&f->tick) == tick_now(&layout) && atomic_load(&f->in_tick) >= 5 * BURST;
    return in_tick_ms < (int64_t)layout.unit_ms / 2 && (had || has_ended(f));
}

static void check_ids(struct cell *c, const struct round *r) {
    char logs[4300], line[300];
    uint64_t n[6] = {0};
    snprintf(logs, sizeof logs, "%s/%s", dirs.logs, r->logs);
    FILE *out = checker_start("--layout '%s' --order pid '%s'", LAYOUT, logs);
    while (fgets(line, sizeof line, out))
        if (sscanf(line,
                   "%" SCNu64 " IDs in %*d files, %" SCNu64 " duplicates, %" SCNu64
                   " order breaks, %" SCNu64 " foreign IDs, %" SCNu64 " life breaks, %" SCNu64
                   " lost",
                   &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) == 6)
            break;
    const int status = pclose(out);
    const uint64_t breaks = n[2] + n[3] + n[4] + n[5];
    if (n[0] == 0 || (status == 0) != (n[1] + breaks == 0)) {
        c->broken++;
        remember(c, "the checker ends with %d after %" PRIu64 " IDs", status, n[0]);
    }
    c->ids += n[0];
    c->duplicates += n[1];
    c->breaks += breaks;
    remove_tree(logs);
}

static int run_other(struct round *r, struct other *o, uint64_t life, size_t ids,
                     unsigned patience_ms) {
    *o = (struct other){
        .r = r, .life = life, .ids = ids, .patience_ms = patience_ms, .first_id = -1};
    return child_run(be_other, o, END_MS + patience_ms);
}

/* Somebody who tries to open while the first one lives. It may have the pid when the first one's
 * window is over, and for good. */
static void try_meanwhile(struct cell *c, struct round *r, struct other *o) {
    const int64_t before = atomic_load(&r->first->ids);
    run_other(r, o, 2, VISITOR_IDS, 300);
    const int64_t then = atomic_load(&r->first->ids);
    if (atomic_load(&o->got) == 0)
        return;
    tap_wait_until(is_moment, r->first, MOMENT_MS);
    if (then != before || atomic_load(&r->first->ids) != then) {
        c->owners++;
        remember(c, "somebody else has the pid too");
    }
}

static void judge_first(struct cell *c, const struct first *f, bool past) {
    const bool ended = has_ended(f);
    c->went_on += past && !ended;
    c->ended += past && ended;
    if (atomic_load(&f->an_error) != 0)
        c->error = atomic_load(&f->an_error);
    if (!past || (ended && atomic_load(&f->reports) == 0)) {
        c->silent++;
        remember(c, "the first one %s",
                 past ? "is refused, and no event says so" : "neither goes on nor is refused");
    }
}

/* From the end of the first one on. */
static void finish_round(struct cell *c, struct round *r, struct other *o) {
    const struct cause *cause = r->cause;
    struct first *f = r->first;
    if (cause->after)
        cause->after(&r->place);
    const uint64_t last = atomic_load(&f->tick);
    const int status = run_other(r, o, 3, NEXT_IDS, 20000);
    c->same_tick += id_tick(&layout, atomic_load(&o->first_id)) == last;
    if (atomic_load(&o->got) < 1000) {
        c->not_served++;
        remember(c, "the next one: status %d, open %d, ID %" PRId64 ": %s", status,
                 atomic_load(&o->rc), atomic_load(&o->first_id), o->text);
    }
}

static bool reach(struct first *f, int phase) { return flag_wait(&f->phase, phase, TAP_WAIT_MS); }

static void play_round(struct cell *c, struct round *r, pid_t child) {
    const struct cause *cause = r->cause;
    struct first *f = r->first;
    struct other *o = shared_memory(sizeof *o);
    if (!reach(f, DRAWS)) {
        const int status = child_wait(child, TAP_WAIT_MS);
        c->cannot += status == CANNOT;
        c->broken += status != CANNOT;
        remember(c, "the first one does not begin: %d", status);
        return;
    }
    copy_tree(r->place.state, r->place.state_copy);
    copy_tree(r->place.run, r->place.run_copy);
    atomic_store(&f->limit, tick_now(&layout) + 2);
    if (cause->needs & AGED) {
        pass_time(r);
        tap_wait_until(is_aged, f, TAP_WAIT_MS);
    }
    if (cause->outside)
        cause->outside(&r->place);
    atomic_store(&f->phase, HAPPENED_OUTSIDE);
    if (!reach(f, HAPPENED)) {
        const int status = child_wait(child, TAP_WAIT_MS);
        c->cannot += status == CANNOT;
        c->broken += status != CANNOT;
        remember(c, "it does not happen: %d", status);
        return;
    }
    pass_time(r);
    const bool past = tap_wait_until(is_past, f, TAP_WAIT_MS);
    if ((r->number + r->way->kills) % 2)
        try_meanwhile(c, r, o);
    judge_first(c, f, past);
    tap_wait_until(is_moment, f, MOMENT_MS);
    if (r->way->kills)
        child_kill(child);
    else
        atomic_store(&f->phase, MAY_CLOSE);
    if (!r->way->kills && child_wait(child, END_MS) != 0) {
        c->broken++;
        remember(c, "the first one does not close");
    }
    finish_round(c, r, o);
    munmap(o, sizeof *o);
}

static void run_round(struct cell *c, unsigned cell_number, unsigned number) {
    struct round r = {.cause = c->cause,
                      .way = &c->way,
                      .number = number,
                      .first = shared_memory(sizeof *r.first)};
    char name[20], logs[4300];
    snprintf(name, sizeof name, "c%u-%u", cell_number, number);
    snprintf(r.logs, sizeof r.logs, "%s", name);
    snprintf(r.app, sizeof r.app, APP "-%s", name);
    place_name(&r.place, name);
    own_clock = &r.first->clock_ns;
    snprintf(logs, sizeof logs, "%s/%s", dirs.logs, name);
    const char *const made[] = {r.place.base, r.place.run, r.place.state, r.place.jail, logs};
    for (size_t i = 0; i < COUNT_OF(made); i++)
        make_dir(made[i]);
    const pid_t child = child_start(be_first, &r);
    play_round(c, &r, child);
    if (waitpid(child, NULL, WNOHANG) == 0)
        child_kill(child);
    if (c->cannot == 0 && c->broken == 0)
        check_ids(c, &r);
    c->rounds++;
    own_clock = NULL;
    munmap(r.first, sizeof *r.first);
    remove_all(r.place.base);
}

/* ---- all of them -------------------------------------------------------- */

static struct cell *cells;
static unsigned cells_n, rounds;

static int run_cell(void *arg) {
    struct cell *c = arg;
    for (unsigned i = 0; i < rounds && c->cannot == 0; i++)
        run_round(c, (unsigned)(c - cells), i);
    return 0;
}

static void make_cells(const char *part) {
    static const char *const stores[] = {"local", "fixed", "redis"};
    const size_t stores_n = server.pid ? 3 : 2;
    for (size_t i = 0; i < COUNT_OF(causes); i++)
        for (size_t j = 0; j < 2 * stores_n; j++) {
            struct cell *c = &cells[cells_n];
            *c = (struct cell){.cause = &causes[i], .way = {stores[j / 2], j % 2 == 0}};
            snprintf(c->name, sizeof c->name, "%s, %s, %s", c->cause->name, c->way.store,
                     c->way.kills ? "kill" : "close");
            const bool wanted =
                j < 4 || (c->cause->needs & WITH_REDIS) || getenv("SFID_TEST_LONG") || part;
            cells_n += wanted && (part == NULL || strstr(c->name, part) != NULL);
        }
}

static bool one_ended(void *arg) {
    unsigned *running = arg;
    for (unsigned i = 0; i < cells_n; i++)
        if (cells[i].child > 0 && waitpid(cells[i].child, NULL, WNOHANG) == cells[i].child) {
            cells[i].child = -1;
            --*running;
            return true;
        }
    return false;
}

static void run_cells(bool mounts, bool users) {
    unsigned running = 0;
    for (unsigned i = 0; i < cells_n; i++) {
        const unsigned needs = cells[i].cause->needs;
        if (((needs & NEEDS_MOUNTS) && !mounts) || ((needs & NEEDS_ROOT) && !users)) {
            cells[i].cannot = 1;
            continue;
        }
        while (running >= SIDE_BY_SIDE)
            tap_wait_until(one_ended, &running, 1000);
        cells[i].child = child_start(run_cell, &cells[i]);
        running++;
    }
    while (running > 0)
        tap_wait_until(one_ended, &running, 1000);
}

static void print_cell(const struct cell *c) {
    diag("figure: %-58s %6d %8" PRIu64 " %6" PRIu64 " %6" PRIu64 " %5d %5d %5d %5d %5d%s%s",
         c->name, c->rounds, c->ids, c->duplicates, c->breaks, c->same_tick, c->went_on, c->ended,
         c->owners, c->not_served, c->text[0] ? "  " : "", c->text);
}

static void judge_cell(const struct cell *c) {
    if (c->cannot) {
        skip(1, c->cause->needs & NEEDS_ROOT ? "takes root to be another user"
                                             : "cannot mount a file system here");
        return;
    }
    is_i64(c->broken, 0, "%s: all rounds are played", c->name);
    if (c->cause->needs & NOT_PROMISED)
        return;
    ok(c->ids > 0 && c->duplicates == 0 && (shares() || c->breaks == 0),
       "%s: no ID comes twice, and they increase", c->name);
    is_i64(c->owners, 0, "%s: never two owners", c->name);
    ok(c->silent == 0 && c->error == 0,
       "%s: it goes on, or its window ends with SFID_ELEASE and an event", c->name);
    is_i64(c->not_served, 0, "%s: the next one is served", c->name);
}

/* ---- two at once -------------------------------------------------------- */

struct racer {
    struct place place;
    atomic_int *ready, *tried;
    atomic_int got;
};

static int race(void *arg) {
    struct racer *r = arg;
    sfid_options opt = options_of(APP, PID, &layout);
    sfid *g = NULL;
    opt.run_dir = r->place.run;
    opt.state_dir = r->place.state;
    atomic_fetch_add(r->ready, 1);
    while (atomic_load(r->ready) < 2)
        ;
    atomic_store(&r->got, sfid_open(&g, &opt) == 0);
    atomic_fetch_add(r->tried, 1);
    return flag_wait(r->tried, 2, TAP_WAIT_MS) ? 0 : 1;
}

/* As two containers do that share the run directory, and have no mark in common: neither has been
 * there before. */
static void test_two_at_once(unsigned times) {
    struct racer *both = shared_memory(2 * sizeof *both);
    atomic_int *flags = shared_memory(2 * sizeof *flags);
    unsigned two = 0, none = 0;
    for (unsigned i = 0; i < times; i++) {
        pid_t children[2];
        atomic_store(&flags[0], 0);
        atomic_store(&flags[1], 0);
        for (unsigned j = 0; j < 2; j++) {
            both[j] = (struct racer){.ready = &flags[0], .tried = &flags[1]};
            place_name(&both[j].place, "race");
            make_dir(both[j].place.base);
            if (j == 1)
                memcpy(both[j].place.state, both[j].place.state_too, WHERE);
            children[j] = child_start(race, &both[j]);
        }
        for (unsigned j = 0; j < 2; j++)
            child_wait(children[j], TAP_WAIT_MS);
        const int got = atomic_load(&both[0].got) + atomic_load(&both[1].got);
        two += got == 2;
        none += got == 0;
        remove_all(both[0].place.base);
    }
    diag(
        "figure: two at once, state directories of their own, one run directory: %u times, %u with two owners, %u without one",
        times, two, none);
    is_u64(two, 0, "two open at once, with state directories of their own: never two owners");
}

/* The first that is installed. */
static void start_server(void) {
    const char *const *programs = redis_programs();
    for (size_t i = 0; programs[i] && server.pid == 0; i++)
        if (redis_installed(programs[i]))
            redis_start(&server, programs[i], "roots", REDIS_PORT, NULL);
    if (server.pid == 0)
        skip(1, "no %s", programs[0]);
}

int main(int argc, char **argv) {
    layout = layout_of(LAYOUT);
    dirs_make();
    rounds = argc > 2 ? (unsigned)atoi(argv[2]) : (unsigned)sized(1, 10, 1);
    start_server();
    cells = shared_memory(COUNT_OF(causes) * 6 * sizeof *cells);
    make_cells(argc > 1 ? argv[1] : NULL);
    run_cells(can_be_apart(), may_be_another_user());
    diag("figure: %-58s %6s %8s %6s %6s %5s %5s %5s %5s %5s", "cause, store, end of the first one",
         "rounds", "IDs", "twice", "breaks", "same", "on", "ended", "two", "next");
    for (unsigned i = 0; i < cells_n; i++)
        print_cell(&cells[i]);
    diag(
        "same: rounds in which the next one began in the last one's tick; on, ended: the first one went on, or its window ended;");
    diag("two: rounds with two owners; next: rounds in which the next one got nothing");
    for (unsigned i = 0; i < cells_n; i++)
        judge_cell(&cells[i]);
    if (argc < 2 || strstr("two at once", argv[1]))
        test_two_at_once((unsigned)sized(200, 2000, 50));
    if (server.pid)
        redis_kill(&server);
    return done_testing();
}
