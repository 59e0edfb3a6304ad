/* SPDX-License-Identifier: MIT */
/*
 * lease_walk.c - random walks of lease machines: many owners, one store, and a
 * network and a world that are against them. walk.h says what has to hold.
 *
 * A run is a few thousand steps of a kind of its own: other sizes, another
 * choice of faults. It ends in calm, when everyone has to get a pid.
 * $SFID_TEST_SEED runs one, with a report of its last steps when it fails;
 * $SFID_TEST_LONG takes 100 million steps.
 */
#include "walk_world.h"

enum { STEPS_OF_RUN = 15000 };

/* ---- a run ----------------------------------------------------------------- */

static void clear_paper(void) {
    for (uint64_t pid = 0; pid < PIDS; pid++)
        memset((void *)paper.drawn[pid], 0, sizeof paper.drawn[pid][0] * (paper.last_tick + 1));
    memset(paper.lease_of, 0, sizeof paper.lease_of[0] * (w.fresh + 1));
    paper.leases = 0;
    paper.last_tick = paper.traces = 0;
}

/* Every run is of a kind of its own: sizes, faults there are, how often. */
static void choose_terms(void) {
    const uint64_t window = 6 + below(30), pid_min = below(3);
    const uint64_t first_window = chance(250) ? window : 3 + below(window / 2 - 2);
    w.spread_ms = (int64_t)below(window / 2 * UNIT_MS);
    w.skew_ms = 2 * w.spread_ms;
    w.max_skew_ms = chance(500) ? 0 : (int64_t)(window * UNIT_MS * (1 + below(2)));
    w.patience_ms = 100 + (int64_t)below(400);
    w.terms =
        (struct sfid__lease_terms){.window = window,
                                   .first_window = first_window,
                                   .short_every = chance(250) ? 0 : 2 + 2 * below(2),
                                   .end = TICKS * 2,
                                   .unit_ms = UNIT_MS,
                                   .reach = w.max_skew_ms ? window + tick_of(w.max_skew_ms) + 1 : 0,
                                   .pid_min = pid_min,
                                   .pid_max = pid_min + 2 + below(PIDS - 2 - pid_min),
                                   .heartbeat_ms = (int64_t)window * UNIT_MS / 3,
                                   .first_heartbeat_ms = (int64_t)first_window * UNIT_MS / 3,
                                   .poll_least_ms = 10 + (int64_t)below(200),
                                   .poll_most_ms = (int64_t)window * UNIT_MS / 3,
                                   .retry_first_ms = 20 + (int64_t)below(200),
                                   .retry_longest_ms = 300 + (int64_t)below(1000),
                                   .rests = chance(150),
                                   .testifies = !chance(150)};
}

static void choose_faults(void) {
    const unsigned all = (1u << FAULTS) - 1;
    w.faults = (unsigned)draw_random() & (unsigned)draw_random() & all;
    if (chance(500))
        w.faults |= (unsigned)draw_random() & all;
    w.fault_rate = 2 + (unsigned)below(80);
    w.loss_rate = chance(300) ? 0 : (unsigned)below(300);
    w.hold_rate = chance(300) ? 0 : (unsigned)below(250);
    w.hold_ms = window_ms() * (1 + (int64_t)below(5));
    w.unsure_rate = chance(300) ? 300 : 0;
    w.vague = chance(150);
}

static void set_out(uint64_t seed) {
    clear_paper();
    w = (struct walk){.seed = seed, .random = seed};
    choose_terms();
    choose_faults();
    w.now = 10 * window_ms();
    for (unsigned i = 0; i < 2; i++)
        w.server[i].incarnation = ++w.incarnations;
    w.owners = 3 + (unsigned)below(3);
    for (unsigned i = 0; i < w.owners; i++)
        w.owner[i].phase = DOWN;
    if (chance(700)) { /* the operator has said that nobody is there */
        begin_epoch(&w.server[0], clock_of(0));
        w.server[0].books.wait_for[0] = w.server[0].books.wait_for[1] = 0;
    }
    figures.runs++;
}

/* An owner that is down comes back some time; a copy that has lost its page never does. */
static void come_back(struct owner *o) {
    if (o->is_copy && (!o->page.there || !o->page.open || chance(200)))
        *o = (struct owner){.phase = NOBODY};
    else
        start(o, false);
}

/* One owner and the network in a hurry, hardly any time passing: what goes round in circles
 * shows. */
static void hurry(struct owner *o) {
    for (unsigned i = 0; i < 60 && !w.broken; i++) {
        w.now += (int64_t)below(2);
        for (unsigned n = w.messages; n-- > 0 && !w.broken && n < w.messages;)
            deliver(n);
        live(o);
        draw(o, chance(15));
        w.step++;
    }
}

static void one_step(void) {
    const uint64_t what = below(100);
    struct owner *o = &w.owner[below(w.owners + 2 < OWNERS ? w.owners + 2 : OWNERS)];
    if (what < 25)
        w.now += (int64_t)below(chance(100) ? UNIT_MS * 4 : UNIT_MS);
    else if (what < 50 && w.messages)
        deliver((unsigned)below(w.messages));
    else if (what < 75)
        live(o);
    else if (what < 95 || o->phase != DOWN)
        draw(o, chance(15));
    else
        come_back(o);
    if (chance(w.fault_rate))
        fault();
    if (chance(1))
        hurry(o);
}

static unsigned holding(bool drawable) {
    unsigned n = 0;
    for (unsigned i = 0; i < OWNERS; i++) {
        const struct owner *o = &w.owner[i];
        const bool holds = o->phase == UP && o->machine.state == SFID__LEASE_HELD;
        n +=
            drawable ? holds && o->told && !o->gated && o->page.limit > tick_of(host_ms(o)) : holds;
    }
    return n;
}

/* No fault any more, clocks right, every message delivered: soon all have a pid, or all pids are
 * had. */
static void calm_down(void) {
    const int64_t began = w.now, bound = 4 * (window_ms() + w.skew_ms) + 2 * w.terms.heartbeat_ms;
    unsigned wanting = 0;
    const unsigned width = (unsigned)(w.terms.pid_max - w.terms.pid_min + 1);
    w.calm = true;
    w.old_serves = false;
    w.out_till = 0;
    w.server[0].offset_ms = w.server[1].offset_ms = 0;
    memset(w.stranger_till, 0, sizeof w.stranger_till);
    for (unsigned i = 0; i < OWNERS; i++) {
        struct owner *o = &w.owner[i];
        o->ahead_ms = 0;
        o->stopped_till = 0;
        o->server = w.master;
    }
    while (!w.broken && w.now < began + bound) {
        w.now += 20;
        while (w.messages && !w.broken)
            deliver(0);
        wanting = 0;
        for (unsigned i = 0; i < OWNERS && !w.broken; i++) {
            struct owner *o = &w.owner[i];
            if (o->phase == DOWN)
                come_back(o);
            live(o);
            draw(o, false);
            w.step++;
            wanting += o->phase != NOBODY;
        }
        if (holding(true) == SFID__MIN(wanting, width) && !w.broken) {
            figures.longest_calm_ms = SFID__MAX(figures.longest_calm_ms, (uint64_t)(w.now - began));
            return;
        }
    }
    for (unsigned i = 0; i < OWNERS; i++) {
        const struct owner *o = &w.owner[i];
        if (o->phase != NOBODY)
            note(o, "at the end: state, wake, limit", (uint64_t)o->machine.state,
                 (uint64_t)o->asleep_till, o->machine.limit, o->question);
    }
    broken(LIVENESS, "after %" PRId64 " ms of calm %u of %u that want one of %u pids have one",
           w.now - began, holding(true), wanting, width);
}

static void run(uint64_t seed) {
    set_out(seed);
    while (!w.broken && w.step < STEPS_OF_RUN && tick_of(w.now) + 20 * w.terms.window < TICKS &&
           paper.leases < LEASES / 2) {
        one_step();
        w.step++;
    }
    if (!w.broken)
        calm_down();
    figures.steps += w.step;
}

/* ---- the report ------------------------------------------------------------ */

/* x: reached; r: too rare to be demanded; .: by no caller that keeps to machine.h. */
static const char *const reachable[STATES] = {
    /* OPEN RESUME WAKE | granted later switched lost foreign failed refused | adopted sure, not;
     * unfit; close; copied */
    [SFID__LEASE_WANTED] = "xxxxxxxxxxxxxxx",
    [SFID__LEASE_HELD] = "xxxxxxxxxx...xx",
    [SFID__LEASE_ENDED] = "xxxxrrxrxxxxxxx",
};

static void report_coverage(bool demanded) {
    static const char *const states[] = {"wanted", "held", "ended"};
    unsigned missing = 0, never = 0;
    for (unsigned s = 0; s < STATES; s++) {
        char line[EVENTS * 9 + 1] = "";
        for (unsigned e = 0; e < EVENTS; e++) {
            snprintf(line + strlen(line), sizeof line - strlen(line), " %7" PRIu64, covered[s][e]);
            missing += covered[s][e] == 0 && reachable[s][e] == 'x';
            never += reachable[s][e] == '.' && covered[s][e] != 0;
        }
        diag("%-6s%s", states[s], line);
    }
    if (demanded)
        is_u64(missing, 0, "every state meets every event and answer that it can");
    if (demanded)
        ok(figures.left_again && figures.shown_again && figures.succeeded && figures.unasked,
           "closes leave leases, some after all, and successors go on with them, some without an answer");
    is_u64(never, 0, "and none that it cannot");
}

static void report_figures(void) {
    diag("%" PRIu64 " steps in %" PRIu64 " runs; %" PRIu64 " claims, %" PRIu64 " renewals, %" PRIu64
         " releases served, %" PRIu64 " of them late; %" PRIu64 " messages lost, %" PRIu64
         " answers spoilt, %" PRIu64 " heard, %" PRIu64 " too late for that",
         figures.steps, figures.runs, figures.claims, figures.renewals, figures.releases,
         figures.late_requests, figures.lost_messages, figures.spoilt, figures.answers,
         figures.stale_answers);
    diag("%" PRIu64 " epochs, %" PRIu64 " failovers; %" PRIu64 " deaths, %" PRIu64
         " restarts from a page, %" PRIu64 " by a child; %" PRIu64 " pages lost, %" PRIu64
         " stops, %" PRIu64 " closes, %" PRIu64 " given up, %" PRIu64 " grants without a record",
         figures.epochs, figures.failovers, figures.crashes, figures.restarts, figures.takeovers,
         figures.pages_lost, figures.stops, figures.closes, figures.gave_up, figures.unfit);
    diag("%" PRIu64 " pids lost: forgotten %" PRIu64 " times, succeeded %" PRIu64
         ", set back by a late request %" PRIu64 "; %" PRIu64 " copies, %" PRIu64
         " of them noticed it, a copied lease found out %" PRIu64
         " times; second pid taken by the store's own order %" PRIu64 " times",
         figures.losses, figures.gone, figures.superseded, figures.set_back, figures.copies,
         figures.noticed, figures.copies_found, figures.second_pids);
    diag("%" PRIu64 " claims of short pids, %" PRIu64 " moves granted, %" PRIu64
         " heard of, %" PRIu64 " of them without a record; %" PRIu64 " strangers met",
         figures.short_claims, figures.moves, figures.moves_heard, figures.moves_unfit,
         figures.strangers_met);
    diag("%" PRIu64 " closes left a lease, %" PRIu64 " after a question, %" PRIu64
         " shown again; %" PRIu64 " successors of them, %" PRIu64 " restarts without an answer",
         figures.left, figures.left_again, figures.shown_again, figures.succeeded, figures.unasked);
    diag("%" PRIu64 " numbers drawn; longest wait in calm %" PRIu64 " ms", figures.drawn,
         figures.longest_calm_ms);
}

int main(void) {
    const char *given = getenv("SFID_TEST_SEED");
    const uint64_t first = given && *given ? strtoull(given, NULL, 0) : 1;
    const uint64_t steps = getenv("SFID_TEST_LONG") ? 100000000 : 3000000;
    uint64_t seed = first;
    do
        run(seed);
    while (!w.broken && !(given && *given) && figures.steps < steps && ++seed);
    diag("seeds %" PRIu64 " to %" PRIu64 " (SFID_TEST_SEED runs one)", first, seed);
    if (w.broken) {
        show_trace();
        diag("%s: seed %" PRIu64 ", step %" PRIu64 ": %s", check_key[w.broken], w.seed, w.step,
             w.why);
    }
    for (int check = NOTHING_BROKEN + 1; check < CHECKS; check++)
        ok(w.broken != (enum check)check, "%s", check_text[check]);
    report_figures();
    if (!w.broken)
        report_coverage(!(given && *given));
    return done_testing();
}
