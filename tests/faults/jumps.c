/* SPDX-License-Identifier: MIT */
/*
 * A server's clock that is set while processes lease from it: 1000 s on and back again, for less than a window and for longer;
 * and a second back every little while. No ID is issued twice; who holds a pid goes on as long as its window lasts, which does
 * not end earlier because a clock is set; who comes and goes never waits much longer than a second.
 */
#include "support/clients.h"

enum { HOLDER, SECOND, GUEST, MEMBERS, JUMP_MS = 1000000, STEP_MS = 1000 };

/* A pid given back by a host that is a second ahead is the future's for a second: guests come a dozen times in that. */
enum { PIDS = 60 };

struct scene {
    const char *program;
    struct redis r;
    struct client *m;
    int renewed[MEMBERS], failed[MEMBERS];
    int64_t slowest_open_ms;
    int visits;
};

static void begin(struct scene *s, const char *program, size_t number) {
    static const char *const names[MEMBERS] = {"holder", "second", "guest"};
    *s = (struct scene){.program = program, .m = clients_make(MEMBERS)};
    redis_start(&s->r, program, "jumps", REDIS_CLOCK, NULL);
    for (size_t i = 0; i < MEMBERS; i++) {
        char log[40], app[40];
        snprintf(log, sizeof log, "%s-%zu", names[i], number);
        snprintf(app, sizeof app, "jumps-%zu", number);
        client_set(&s->m[i], s->r.socket, app, log);
        s->m[i].heartbeat_ms = 300;
        s->m[i].pid_min = PIDS * (int64_t)number;
        s->m[i].pid_max = s->m[i].pid_min + PIDS - 1;
    }
    s->m[HOLDER].trust = true;
    client_start_or_bail(&s->m[HOLDER]);
    client_start_or_bail(&s->m[SECOND]);
}

static void note_events(struct scene *s) {
    for (int i = HOLDER; i <= SECOND; i++) {
        s->renewed[i] = client_events(&s->m[i], SFID_EVENT_RENEWED);
        s->failed[i] = client_events(&s->m[i], SFID_EVENT_RENEW_FAILED);
    }
}

static void are_refused(struct scene *s, const char *what) {
    for (int i = HOLDER; i <= SECOND; i++)
        ok(client_event_after(&s->m[i], SFID_EVENT_RENEW_FAILED, s->failed[i], 1, 2 * WINDOW_MS) &&
               atomic_load(&s->m[i].failed_code) == SFID_ECLOCK,
           "%s, %s: %s is told that the clocks differ", s->program, what, s->m[i].log);
}

static void are_renewed(struct scene *s, const char *what) {
    for (int i = HOLDER; i <= SECOND; i++) {
        ok(client_event_after(&s->m[i], SFID_EVENT_RENEWED, s->renewed[i], 1, 4 * WINDOW_MS) &&
               client_draws(&s->m[i], 10, 2 * WINDOW_MS),
           "%s, %s: %s goes on when the clock is right", s->program, what, s->m[i].log);
        is_i64(client_events(&s->m[i], SFID_EVENT_LOST), 0, "%s, %s: and has lost nothing", s->program, what);
    }
}

/* Who opens meanwhile is refused, and the app is as it was. */
static void guest_is_refused(struct scene *s, const char *what) {
    struct client *guest = &s->m[GUEST];
    guest->open_timeout_ms = 1000;
    client_start(guest);
    ok(tap_wait_until(client_has_opened, guest, patience(5000)) && atomic_load(&guest->opened) == SFID_ECLOCK,
       "%s, %s: who comes new is refused", s->program, what);
    ok(atomic_load(&guest->open_ms) <= SLACK_MS, "%s, %s: at once", s->program, what);
    child_wait(guest->process, patience(5000));
    guest->process = 0;
    guest->open_timeout_ms = 3 * WAIT_MOST_MS;
}

/* ---- 1000 s on, and back --------------------------------------------------- */

/* Not so long that a window ends. */
static void test_short_jump(struct scene *s, int64_t by_ms, const char *what) {
    for (int i = HOLDER; i <= SECOND; i++)
        client_forget_gaps(&s->m[i]);
    note_events(s);
    redis_clock_offset(&s->r, by_ms);
    are_refused(s, what);
    guest_is_refused(s, what);
    note_events(s);
    redis_clock_offset(&s->r, 0);
    are_renewed(s, what);
    for (int i = HOLDER; i <= SECOND; i++)
        ok(atomic_load(&s->m[i].errors) == 0 && atomic_load(&s->m[i].gap_ms) <= SLACK_MS,
           "%s, %s: %s never stalled (%" PRId64 " ms)", s->program, what, s->m[i].log, atomic_load(&s->m[i].gap_ms));
    diag("figure: %-14s %-26s longest gap %" PRId64 " ms", s->program, what, atomic_load(&s->m[HOLDER].gap_ms));
}

static bool is_out(void *arg) { return atomic_load(&((struct client *)arg)->last_error) == SFID_ELEASE; }

/* Until windows have ended: then nothing is issued until the clock is right. */
static void test_long_jump(struct scene *s, size_t n, int64_t by_ms, const char *what) {
    for (size_t k = 0; k < n; k++) {
        for (int i = HOLDER; i <= SECOND; i++)
            client_forget_gaps(&s[k].m[i]);
        redis_clock_offset(&s[k].r, by_ms);
    }
    for (size_t k = 0; k < n; k++)
        for (int i = HOLDER; i <= SECOND; i++)
            ok(tap_wait_until(is_out, &s[k].m[i], patience(3 * WINDOW_MS)), "%s, %s: a window ends", s[k].program, what);
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
    struct client *guest = &s->m[GUEST];
    if (guest->process && atomic_load(&guest->opened) == 1 && atomic_load(&guest->ids) > 0) {
        const int64_t ms = atomic_load(&guest->open_ms);
        s->slowest_open_ms = ms > s->slowest_open_ms ? ms : s->slowest_open_ms;
        s->visits += client_end(guest) == 0;
    }
    if (guest->process == 0) {
        atomic_store(&guest->ids, 0);
        client_start(guest);
    }
}

/* From a second ahead to a second behind, and on again: further apart clocks are refused (half a window). */
static void test_steps(struct scene *scenes, size_t n) {
    const int64_t end = mono_ns() + (int64_t)sized(4000, 120000, 4000) * NS_PER_MS;
    const int64_t every = (int64_t)sized(500, 5000, 500) * NS_PER_MS;
    int64_t next = mono_ns(), offset = 0;
    int steps = 0;
    for (size_t k = 0; k < n; k++) {
        for (int i = HOLDER; i <= SECOND; i++)
            client_forget_gaps(&scenes[k].m[i]);
        note_events(&scenes[k]);
    }
    while (mono_ns() < end) {
        if (mono_ns() >= next) {
            next += every;
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
        client_end(&s->m[GUEST]);
        are_renewed(s, "a second back");
        for (int i = HOLDER; i <= SECOND; i++) {
            is_i64(atomic_load(&s->m[i].errors), 0, "%s: a holder sees no error of %d steps", s->program, steps);
            ok(atomic_load(&s->m[i].gap_ms) <= STEP_MS, "%s: and stalls no longer than one (%" PRId64 " ms)", s->program,
               atomic_load(&s->m[i].gap_ms));
        }
        ok(s->visits > 3 && s->slowest_open_ms <= STEP_MS + SLACK_MS, "%s: nor does any of %d who come (%" PRId64 " ms)",
           s->program, s->visits, s->slowest_open_ms);
        diag("figure: %-14s %d steps back or on: longest gap %" PRId64 " ms, of %d opens the slowest %" PRId64 " ms", s->program,
             steps, atomic_load(&s->m[HOLDER].gap_ms), s->visits, s->slowest_open_ms);
    }
}

static void end(struct scene *s) {
    int bad = 0;
    for (int i = 0; i < MEMBERS; i++)
        bad += client_end(&s->m[i]) != 0;
    is_i64(bad, 0, "%s: all end well", s->program);
    redis_kill(&s->r);
}

int main(void) {
    static struct scene scenes[2];
    const char *programs[2];
    dirs_make();
    const size_t n = redis_installed_ones(programs, COUNT_OF(programs));
    for (size_t i = 0; i < n; i++)
        begin(&scenes[i], programs[i], i);
    for (size_t i = 0; i < n; i++) {
        test_short_jump(&scenes[i], JUMP_MS, "1000 s on and back");
        test_short_jump(&scenes[i], -JUMP_MS, "1000 s back and on");
    }
    test_steps(scenes, n);
    test_long_jump(scenes, n, JUMP_MS, "1000 s on, for longer");
    for (size_t i = 0; i < n; i++)
        end(&scenes[i]);
    if (n > 0)
        judge(LAYOUT, "per-file", UINT64_MAX, "clocks that are set");
    return done_testing();
}
