/* SPDX-License-Identifier: MIT */
/*
 * A server's clock that is set while processes lease from it: 1000 s on and back again, for less than a window and for longer;
 * and a second back every little while. No ID is issued twice; who holds a pid goes on as long as its window lasts, which does
 * not end earlier because a clock is set; who comes and goes never waits much longer than a second.
 */
#include "support/faults.h"

enum { HOLDER, SECOND, GUEST, MEMBERS, JUMP_MS = 1000000, STEP_MS = 1000 };

/* A pid given back by a host that is a second ahead is the future's for a second: guests come a dozen times in that. */
enum { PIDS = 60, VISITS = 4 };

struct scene {
    const char *program;
    struct redis r;
    struct member *m;
    int renewed[MEMBERS], from[MEMBERS]; /* from: number of the next event */
    struct took slowest_open;
    int visits;
};

static void begin(struct scene *s, const char *program, size_t number, uint32_t ttl_ms) {
    static const char *const names[MEMBERS] = {"holder", "second", "guest"};
    *s = (struct scene){.program = program};
    redis_start(&s->r, program, "jumps", REDIS_CLOCK, NULL);
    s->m = members_at(s->r.socket, "jumps", number, MEMBERS, PIDS, names);
    for (size_t i = 0; i < MEMBERS; i++) {
        s->m[i].opt.ttl_ms = ttl_ms;
        s->m[i].opt.heartbeat_ms = 300;
    }
    s->m[HOLDER].opt.on_unknown = SFID_TRUST;
    member_open_or_die(&s->m[HOLDER]);
    member_open_or_die(&s->m[SECOND]);
}

static void note_events(struct scene *s) {
    for (int i = HOLDER; i <= SECOND; i++) {
        s->renewed[i] = events_of(&s->m[i], SFID_EVENT_RENEWED);
        s->from[i] = atomic_load(&s->m[i].events);
    }
}

static void are_refused(struct scene *s, const char *what) {
    for (int i = HOLDER; i <= SECOND; i++)
        ok(member_told(&s->m[i], s->from[i], SFID_ECLOCK, "", ""), "%s, %s: %s is told that the clocks differ", s->program, what,
           s->m[i].name);
}

static void are_renewed(struct scene *s, const char *what) {
    for (int i = HOLDER; i <= SECOND; i++) {
        ok(member_had(&s->m[i], SFID_EVENT_RENEWED, s->renewed[i] + 1, TAP_WAIT_MS) && member_draws(&s->m[i], 10, TAP_WAIT_MS),
           "%s, %s: %s goes on when the clock is right", s->program, what, s->m[i].name);
        is_i64(events_of(&s->m[i], SFID_EVENT_LOST), 0, "%s, %s: and has lost nothing", s->program, what);
    }
}

/* Who opens meanwhile is refused, and the app is as it was. */
static void guest_is_refused(struct scene *s, const char *what) {
    struct member *guest = &s->m[GUEST];
    is_i64(member_open_one(guest), SFID_ECLOCK, "%s, %s: who comes new is refused", s->program, what);
    in_time(guest->open, AT_ONCE_MS, "%s, %s: at once", s->program, what);
    member_end(guest);
}

/* ---- 1000 s on, and back --------------------------------------------------- */

/* Not so long that a window ends. */
static void test_short_jump(struct scene *s, int64_t by_ms, const char *what) {
    for (int i = HOLDER; i <= SECOND; i++)
        member_forget(&s->m[i]);
    note_events(s);
    redis_clock_offset(&s->r, by_ms);
    are_refused(s, what);
    guest_is_refused(s, what);
    note_events(s);
    redis_clock_offset(&s->r, 0);
    are_renewed(s, what);
    for (int i = HOLDER; i <= SECOND; i++) {
        is_i64(atomic_load(&s->m[i].errors), 0, "%s, %s: %s sees no error", s->program, what, s->m[i].name);
        in_time(member_gap(&s->m[i]), AT_ONCE_MS, "%s, %s: %s never stalled", s->program, what, s->m[i].name);
    }
    diag("figure: %-14s %-26s longest gap %" PRId64 " ms", s->program, what, atomic_load(&s->m[HOLDER].gap_ms));
}

static bool is_out(void *arg) { return atomic_load(&((struct member *)arg)->error) == SFID_ELEASE; }

/* Until windows have ended: then nothing is issued until the clock is right. */
static void test_long_jump(struct scene *s, size_t n, int64_t by_ms, const char *what) {
    for (size_t k = 0; k < n; k++) {
        for (int i = HOLDER; i <= SECOND; i++)
            member_forget(&s[k].m[i]);
        redis_clock_offset(&s[k].r, by_ms);
    }
    for (size_t k = 0; k < n; k++)
        for (int i = HOLDER; i <= SECOND; i++)
            ok(tap_wait_until(is_out, &s[k].m[i], TAP_WAIT_MS), "%s, %s: a window ends", s[k].program, what);
    for (size_t k = 0; k < n; k++) {
        note_events(&s[k]);
        redis_clock_offset(&s[k].r, 0);
    }
    for (size_t k = 0; k < n; k++)
        are_renewed(&s[k], what);
}

/* ---- a second back, and another -------------------------------------------- */

/* Opens, draws, closes: again and again, while the clock is set. What it waited for a pid, at most. */
static void visit(struct scene *s) {
    struct member *guest = &s->m[GUEST];
    need(guest->child == 0 || !atomic_load(&guest->opened) || guest->rc == 0, "%s: a guest does not open: %s", s->program,
         guest->text);
    if (guest->child && atomic_load(&guest->opened) && atomic_load(&guest->ids) > 0) {
        s->slowest_open = took_longer(s->slowest_open, guest->open);
        s->visits += member_end(guest) == 0;
    }
    if (guest->child == 0)
        member_start(guest);
}

static bool have_visited(const struct scene *s, size_t n) {
    bool enough = true;
    for (size_t k = 0; k < n; k++)
        enough &= s[k].visits >= VISITS;
    return enough;
}

/* From a second ahead to a second behind, and on again. */
static void test_steps(struct scene *scenes, size_t n) {
    const int64_t end = tap_now_ms() + (int64_t)sized(4000, 120000, 4000);
    struct patience p = {0};
    const int64_t every = (int64_t)sized(500, 5000, 500);
    int64_t next = tap_now_ms(), offset = 0;
    int steps = 0;
    for (size_t k = 0; k < n; k++) {
        for (int i = HOLDER; i <= SECOND; i++)
            member_forget(&scenes[k].m[i]);
        note_events(&scenes[k]);
    }
    while (tap_now_ms() < end || (!have_visited(scenes, n) && patient(&p, TAP_WAIT_MS))) {
        if (tap_now_ms() >= next) {
            next = tap_now_ms() + every;
            offset = offset <= -STEP_MS ? STEP_MS : offset - STEP_MS;
            steps++;
            for (size_t k = 0; k < n; k++)
                redis_clock_offset(&scenes[k].r, offset);
        }
        for (size_t k = 0; k < n; k++)
            visit(&scenes[k]);
        nap_us(5000);
    }
    for (size_t k = 0; k < n; k++) {
        struct scene *s = &scenes[k];
        redis_clock_offset(&s->r, 0);
        note_events(s);
        member_end(&s->m[GUEST]);
        are_renewed(s, "a second back");
        for (int i = HOLDER; i <= SECOND; i++) {
            is_i64(atomic_load(&s->m[i].errors), 0, "%s: a holder sees no error of %d steps", s->program, steps);
            in_time(member_gap(&s->m[i]), STEP_MS + AT_ONCE_MS, "%s: and stalls no longer than one", s->program);
        }
        ok(s->visits >= VISITS, "%s: %d come and go", s->program, s->visits);
        in_time(s->slowest_open, STEP_MS + AT_ONCE_MS, "%s: none of them stalls longer either", s->program);
        diag("figure: %-14s %d steps back or on: longest gap %" PRId64 " ms, of %d opens the slowest %" PRId64 " ms", s->program,
             steps, atomic_load(&s->m[HOLDER].gap_ms), s->visits, s->slowest_open.ms);
    }
}

static void end(struct scene *s) {
    is_i64(members_end(s->m, MEMBERS), 0, "%s: all end well", s->program);
    redis_kill(&s->r);
}

int main(void) {
    static struct scene scenes[2];
    faults_begin();
    const size_t n = servers.n;
    for (size_t i = 0; i < n; i++)
        begin(&scenes[i], servers.installed[i], i, LONG_WINDOW_MS);
    for (size_t i = 0; i < n; i++) {
        test_short_jump(&scenes[i], JUMP_MS, "1000 s on and back");
        test_short_jump(&scenes[i], -JUMP_MS, "1000 s back and on");
    }
    test_steps(scenes, n);
    for (size_t i = 0; i < n; i++) {
        end(&scenes[i]);
        begin(&scenes[i], servers.installed[i], n + i, WINDOW_MS);
    }
    test_long_jump(scenes, n, JUMP_MS, "1000 s on, for longer");
    for (size_t i = 0; i < n; i++)
        end(&scenes[i]);
    return faults_end("clocks that are set");
}
