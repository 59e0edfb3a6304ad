/* SPDX-License-Identifier: MIT */
#include "support/fake.h"

#include "draw/slow.h"

#include "support/tap.h"

struct fake *fake_of(const struct sfid__clock *clock) {
    return (struct fake *)(uintptr_t)clock;
}

struct sfid__time fake_now(const struct sfid__clock *clock) {
    int64_t ns = fake_of(clock)->wall_ns, ms = ns / 1000000, rest = ns % 1000000;
    if (rest < 0) {
        ms--;
        rest += 1000000;
    }
    return (struct sfid__time){FAKE_EPOCH + ms, (int32_t)rest};
}

static int64_t fake_monotonic(const struct sfid__clock *clock) { return fake_of(clock)->monotonic; }

static void fake_sleep(const struct sfid__clock *clock, int64_t ns) {
    struct fake *f = fake_of(clock);
    f->sleeps++;
    f->slept_ns += ns;
    f->wall_ns += ns;
    f->monotonic += ns;
    if (f->on_sleep)
        f->on_sleep(f, ns);
}

static void fake_wait(const struct sfid__clock *clock, _Atomic uint32_t *word, uint32_t value,
                      int64_t ns) {
    struct fake *f = fake_of(clock);
    f->waits_for = word;
    if (atomic_load(word) != value)
        return;
    if (f->on_wait)
        f->on_wait(f);
    if (atomic_load(word) == value)
        fake_sleep(clock, ns);
}

void fake_pass_ms(struct fake *f, int64_t ms) {
    f->wall_ns += ms * 1000000;
    f->monotonic += ms * 1000000;
}

void fake_step_ms(struct fake *f, int64_t ms) { f->wall_ns += ms * 1000000; }

uint64_t fake_tick(const struct fake *f) {
    return (uint64_t)(f->wall_ns / 1000000 / f->g.layout.unit_ms);
}

struct sfid__record *fake_record(const struct fake *f) {
    return &f->page->records[f->records - 1];
}

struct sfid__record *fake_switch(struct fake *f, uint64_t pid, uint64_t position, uint64_t limit) {
    const struct sfid__start start = {
        &f->g.layout, pid, position, limit, fake_tick(f), f->g.max_ahead, 0, 0, NULL, false, 0};
    return sfid__record_append(f->page, f->records++, &start);
}

void fake_open(struct fake *f, const char *layout, sfid_exhaustion policy, uint32_t max_wait_ms,
               uint32_t max_ahead_ms) {
    char text[96];
    memset((void *)f, 0, sizeof *f);
    f->clock = (struct sfid__clock){fake_now, fake_monotonic, fake_sleep, fake_wait};
    f->monotonic = 77;
    f->page = aligned_alloc(SFID__LINE, 1 << 16);
    memset((void *)f->page, 0, 1 << 16);
    sfid__page_reset_keeper(f->page);
    struct sfid__generator *g = &f->g;
    sfid__generator_init(g);
    snprintf(text, sizeof text, "%s@%lld", layout ? layout : "41:10:12/1ms", (long long)FAKE_EPOCH);
    if (sfid_layout_parse(text, &g->layout) < 0)
        abort();
    f->wall_ns = INT64_C(100000000) * g->layout.unit_ms * 1000000;
    g->page = f->page;
    g->clock = &f->clock;
    g->source = SFID__TICK_CLOCK;
    g->exhaustion = policy;
    g->max_wait_ms = max_wait_ms;
    g->max_ahead = sfid__ms_to_ticks(&g->layout, max_ahead_ms);
    g->end = sfid__layout_end(&g->layout);
    fake_switch(f, 7, fake_tick(f) << g->layout.seq_bits, g->end);
    sfid__generator_start(g, fake_record(f));
}

void fake_close(struct fake *f) { free(f->page); }

sfid *fake_handle(struct fake *f) { return (sfid *)(void *)&f->g; }

int64_t fake_next(struct fake *f) { return sfid_next(fake_handle(f)); }

int64_t fake_try(struct fake *f) {
    const int ready = sfid_ready(fake_handle(f));
    const int64_t id = sfid_try_next(fake_handle(f));
    /* some tests close it in the middle of the call */
    if (ready != (id >= 0 || id == SFID_EAGAIN) && id != SFID_ECLOSED)
        ok(false, "sfid_ready() says %d, and a call returns %" PRIi64, ready, id);
    return id;
}

uint64_t fake_tick_of(const struct fake *f, int64_t id) {
    sfid_parts p;
    return sfid_parse(&f->g.layout, id, &p) < 0 ? UINT64_MAX : p.tick;
}

void fake_set_word(struct fake *f, uint64_t tick, uint64_t seq) {
    atomic_store(&fake_record(f)->word, tick << f->g.layout.seq_bits | seq);
}

int64_t fake_settle(struct fake *f, struct sfid__record *r, uint64_t n, bool may_sleep) {
    struct sfid__call call = {
        .may_sleep = may_sleep, .want = 1, .from = r, .n = n, .in_hand = true};
    const int rc = sfid__draw(&f->g, &call);
    return rc < 0 ? rc : sfid__compose(call.from, call.n);
}
