/* SPDX-License-Identifier: MIT */
/*
 * clock_steps.c - a caller under load while the clock is stepped, for every
 * scenario and policy: no ID twice, order kept, nothing issued further ahead
 * than allowed. The table of what was issued, borrowed, waited and refused is
 * printed for the reader.
 */
#include "support/fake.h"
#include "support/tap.h"

#define CALLS_MS 30000 /* how long a scenario lasts by the monotonic clock */
#define MAX_AHEAD_MS 10000

struct tally {
    uint64_t issued, ahead, refused_clock, refused_again, other;
    int64_t slept_ms, most_ahead_ms;
    bool order, bounded;
};

struct scenario {
    const char *name;
    /* sets the clock when its time has come */
    void (*step)(struct fake *f, int64_t at_ms, int64_t before_ms);
};

static void back_5s(struct fake *f, int64_t at, int64_t before) {
    if (before < 5000 && at >= 5000)
        fake_step_ms(f, -5000);
}

static void back_1h(struct fake *f, int64_t at, int64_t before) {
    if (before < 5000 && at >= 5000)
        fake_step_ms(f, -3600000);
}

static void forward_1h_and_back(struct fake *f, int64_t at, int64_t before) {
    if (before < 5000 && at >= 5000)
        fake_step_ms(f, 3600000);
    if (before < 10000 && at >= 10000)
        fake_step_ms(f, -3600000);
}

static void standing_still(struct fake *f, int64_t at, int64_t before) {
    if (at > 5000 && at < 10000)
        fake_step_ms(f, before - at);
}

static void jumping(struct fake *f, int64_t at, int64_t before) {
    static int64_t offset;
    static uint64_t seed;
    if (before == 0) {
        offset = 0;
        seed = 42;
    }
    if (at / 100 != before / 100) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const int64_t wanted = (int64_t)(seed >> 33) % 20001 - 10000;
        fake_step_ms(f, wanted - offset);
        offset = wanted;
    }
}

static const struct scenario scenarios[] = {
    {"back 5 s", back_5s},
    {"back 1 h", back_1h},
    {"forward 1 h and back", forward_1h_and_back},
    {"standing still 5 s", standing_still},
    {"jumping +-10 s each 100 ms", jumping},
};

static const char *const policies[] = {"wait", "borrow", "fail"};

/* The highest tick the clock ever showed: IDs up to it may be issued at once. */
static uint64_t highest;

static void look_at_clock(const struct fake *f) {
    const uint64_t tick = fake_tick(f);
    highest = tick > highest ? tick : highest;
}

static void note(struct fake *f, struct tally *t, int64_t id, int64_t *last) {
    if (id == SFID_ECLOCK) {
        t->refused_clock++;
    } else if (id == SFID_EAGAIN) {
        t->refused_again++;
    } else if (id < 0) {
        t->other++;
    } else {
        const uint64_t tick = fake_tick_of(f, id), now = fake_tick(f);
        const uint64_t allowed = now + f->g.max_ahead > highest ? now + f->g.max_ahead : highest;
        t->order &= id > *last;
        t->bounded &= tick <= allowed;
        *last = id;
        t->issued++;
        if (tick > now) {
            t->ahead++;
            const int64_t ms = (int64_t)(tick - now) * f->g.layout.unit_ms;
            t->most_ahead_ms = ms > t->most_ahead_ms ? ms : t->most_ahead_ms;
        }
    }
}

/* 64 IDs to a 10 ms tick, asked for at about the rate the layout has. */
static struct tally play(const struct scenario *s, sfid_exhaustion policy) {
    static struct fake f;
    struct tally t = {.order = true, .bounded = true};
    int64_t last = -1;
    fake_open(&f, "41:10:6/10ms", policy, 200, MAX_AHEAD_MS);
    highest = fake_tick(&f);
    const int64_t begin = f.monotonic;
    int64_t before = 0;
    for (int call = 0;; call++) {
        const int64_t at = (f.monotonic - begin) / 1000000;
        if (at >= CALLS_MS)
            break;
        s->step(&f, at, before);
        before = at;
        look_at_clock(&f);
        note(&f, &t, fake_next(&f), &last);
        if (call % 6 == 0)
            fake_pass_ms(&f, 1);
        look_at_clock(&f);
    }
    t.slept_ms = f.slept_ns / 1000000;
    fake_close(&f);
    return t;
}

static void expect(const struct scenario *s, sfid_exhaustion policy, const struct tally *t) {
    ok(t->order, "%s, %s: every ID above the one before", s->name, policies[policy]);
    ok(t->bounded, "%s, %s: none past max(clock + max_ahead, highest clock seen)", s->name,
       policies[policy]);
    is_u64(t->other, 0, "%s, %s: no other error", s->name, policies[policy]);
    ok(t->issued > 0, "%s, %s: IDs were issued", s->name, policies[policy]);
}

int main(void) {
    struct tally t[5][3];
    diag("%-28s %-7s %8s %8s %10s %9s %9s %9s", "scenario", "policy", "issued", "ahead",
         "most ahead", "slept", "ECLOCK", "EAGAIN");
    for (int s = 0; s < 5; s++)
        for (int p = 0; p < 3; p++) {
            t[s][p] = play(&scenarios[s], (sfid_exhaustion)p);
            const struct tally *x = &t[s][p];
            diag("%-28s %-7s %8llu %8llu %7lld ms %6lld ms %9llu %9llu", scenarios[s].name,
                 policies[p], (unsigned long long)x->issued, (unsigned long long)x->ahead,
                 (long long)x->most_ahead_ms, (long long)x->slept_ms,
                 (unsigned long long)x->refused_clock, (unsigned long long)x->refused_again);
            expect(&scenarios[s], (sfid_exhaustion)p, x);
        }
    const struct tally *back = t[0], *hour = t[1], *forth = t[2], *still = t[3];
    ok(back[SFID_WAIT].refused_clock == 0 && back[SFID_WAIT].issued >= 149000,
       "back 5 s, wait: IDs flow at the layout's rate all the while");
    ok(back[SFID_WAIT].most_ahead_ms <= 5000,
       "back 5 s, wait: never further ahead than the clock went back");
    ok(hour[SFID_WAIT].refused_clock > 0,
       "back 1 h, wait: beyond max_ahead it is the clock's fault");
    ok(hour[SFID_FAIL].slept_ms == 0 && back[SFID_FAIL].slept_ms == 0, "fail: never sleeps");
    ok(forth[SFID_WAIT].refused_clock > 0,
       "forward 1 h and back, wait: the highest tick is used up, then refused");
    ok(still[SFID_WAIT].refused_clock == 0, "standing still, wait: no regression");
    ok(still[SFID_BORROW].most_ahead_ms <= MAX_AHEAD_MS &&
           still[SFID_BORROW].ahead > still[SFID_WAIT].ahead,
       "standing still, borrow: goes on, at most max_ahead");
    return done_testing();
}
