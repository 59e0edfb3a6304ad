/* SPDX-License-Identifier: MIT */
/*
 * Ticks below a second come from the processor's counter for most IDs. They are those of the clock:
 * an ID's tick is never before that of a reading made before the call, nor past that of one made
 * after it; after a step forward from the next tick on, after a step back no further ahead than the
 * clock had been, going on from there.
 *
 * Sizes: a million IDs (long: 100 million; sanitizer: 300,000), every 100th held against the clock,
 * without steps and with a step of up to 50 ms either way about each 10 ms, 12 at least.
 */
#include "support/own_clock.h"
#include "support/proc.h"

#define LAYOUT "41:2:20/1ms"

enum { EVERY = 100, STEP_MS = 50, STEP_EVERY_MS = 10, STEPS = 12 };

static _Atomic int64_t offset_ns; /* of own_clock; one thread draws, and steps it */
static uint64_t rng;

struct watch {
    const sfid_layout *layout;
    int64_t stepped_ns; /* monotonic; of the last step */
    /* how far ahead IDs may be: the clock as it was before a step back, and when; 0: no step */
    int64_t ceiling_ns, raised_ns;
    /* judged: of the samples those that may not be late */
    uint64_t samples, judged, early, late, steps;
};

static int64_t ceiling_now(const struct watch *w, int64_t mono) {
    return w->ceiling_ns ? w->ceiling_ns + mono - w->raised_ns : 0;
}

static void step(struct watch *w) {
    const int64_t by = ((int64_t)(draw_random(&rng) % (2 * STEP_MS)) - STEP_MS) * NS_PER_MS,
                  mono = mono_ns();
    const int64_t before = wall_ns(), ceiling = ceiling_now(w, mono);
    if (by < 0) {
        w->ceiling_ns = before > ceiling ? before : ceiling;
        w->raised_ns = mono;
    }
    atomic_fetch_add(&offset_ns, by);
    w->stepped_ns = mono_ns();
    w->steps++;
}

/* A call, and the readings around it, in the order in which they are made. */
struct sample {
    int64_t mono, before, id, after;
};

static void judge_one(struct watch *w, const struct sample *s) {
    const int64_t ceiling = ceiling_now(w, mono_ns()), begins = id_ns(w->layout, s->id);
    const int64_t unit = (int64_t)w->layout->unit_ms * NS_PER_MS;
    w->samples++;
    w->early += begins > (s->after > ceiling ? s->after : ceiling);
    /* What was read before a step is good for the rest of its tick, by the counter. The age of the
     * step is that before the call: a thread that is preempted behind the call has drawn its ID
     * when the step was young. */
    if (w->steps == 0 || s->mono - w->stepped_ns > 2 * unit) {
        w->judged++;
        w->late += begins + unit <= s->before;
    }
}

static void draw(sfid *g, struct watch *w, uint64_t n, bool steps) {
    int64_t error = 0, last = -1, next_step = mono_ns();
    uint64_t disorders = 0;
    for (uint64_t i = 0; (i < n || (steps && w->steps < STEPS)) && error == 0; i++) {
        const bool sample = i % EVERY == 0;
        struct sample s = {.mono = sample ? mono_ns() : 0};
        s.before = sample ? wall_ns() : 0;
        s.id = sfid_next(g);
        s.after = sample ? wall_ns() : 0;
        error = s.id < 0 ? s.id : 0;
        disorders += s.id <= last;
        last = s.id;
        if (!sample || s.id < 0)
            continue;
        judge_one(w, &s);
        if (steps && mono_ns() >= next_step) {
            step(w);
            next_step = mono_ns() + STEP_EVERY_MS * NS_PER_MS;
        }
    }
    is_i64(error, 0, "no call fails");
    is_u64(disorders, 0, "IDs increase");
}

static void run(const char *app, const sfid_layout *l, uint64_t n, bool steps, const char *what) {
    sfid_options opt = options_of(app, 1, l);
    struct watch w = {.layout = l};
    sfid *g = open_or_die(&opt);
    const int64_t begin = mono_ns();
    draw(g, &w, n, steps);
    diag("figure: %s: %" PRIu64 " IDs in %.1f s, %" PRIu64 " held against the clock, %" PRIu64
         " steps",
         what, n, (double)(mono_ns() - begin) / 1e9, w.samples, w.steps);
    is_u64(w.early, 0, "%s: none is of a tick that had not begun", what);
    ok(w.judged > 0, "%s: some are drawn when the last step is old enough to judge them", what);
    is_u64(w.late, 0, "%s: none is of a tick that was over before the call", what);
    sfid_close(g);
}

int main(void) {
    const sfid_layout l = layout_of(LAYOUT);
    const uint64_t n = sized(1000000, 100000000, 300000);
    own_clock = &offset_ns;
    dirs_make();
    rng = seed();
    run("exact", &l, n, false, "no steps");
    run("exact-steps", &l, n, true, "steps");
    return done_testing();
}
