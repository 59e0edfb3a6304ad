/* SPDX-License-Identifier: MIT */
/*
 * leases.h - one lease machine under the hands of a test: events in, actions
 * out, time as the test sets it.
 *
 * Each step returns the state after it and its actions as letters, such as
 * "h ENWS": w wanted, h held, e ended; the letters are at letters[].
 */
#ifndef SFID_TESTS_LEASES_H
#define SFID_TESTS_LEASES_H

#include "lease/machine.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW = 100, REACH = 300, HEARTBEAT = 32000, FIRST = 50, LONGEST = 5000, TICK = 500, NOW = 100000 };

#define EVEN UINT64_C(20388694359726) /* a multiple of the range of each jitter here: no jitter */

static const struct sfid__lease_terms usual = {.window = WINDOW,
                                               .end = 10000,
                                               .reach = REACH,
                                               .pid_min = 2,
                                               .pid_max = 9,
                                               .heartbeat_ms = HEARTBEAT,
                                               .retry_first_ms = FIRST,
                                               .retry_longest_ms = LONGEST,
                                               .testifies = true};

static struct sfid__lease l;
static struct sfid__lease_actions out; /* of the last step */
static int64_t now;
static uint64_t tick, fresh, jitter, position;
static bool idle; /* the next number is not due */

/* ---- steps ----------------------------------------------------------------- */

/* Actions as letters, in their order. */
static const char letters[] = {[SFID__DO_NOTE] = 'N',        [SFID__DO_ADOPT] = 'A',        [SFID__DO_EXTEND] = 'E',
                               [SFID__DO_TELL_LEASED] = 'L', [SFID__DO_TELL_RENEWED] = 'W', [SFID__DO_TELL_LEASED_AGAIN] = 'M',
                               [SFID__DO_TELL_LOST] = 'X',   [SFID__DO_TELL_FAILED] = 'F',  [SFID__DO_CLAIM] = 'C',
                               [SFID__DO_RENEW] = 'R',       [SFID__DO_RELEASE] = 'V',      [SFID__DO_GIVE_UP] = 'G',
                               [SFID__DO_SLEEP] = 'S'};

/* The state after the step and its actions: "h ENWS". */
static inline const char *said(void) {
    static char text[SFID__LEASE_ACTIONS + 3];
    snprintf(text, sizeof text, "%c ", "whe"[l.state]);
    for (unsigned i = 0; i < out.count && i < SFID__LEASE_ACTIONS; i++)
        text[2 + i] = letters[out.list[i].kind], text[3 + i] = '\0';
    return text;
}

/* What holds for every step: some action, room for all, and what waits for an outcome last. */
static inline bool well_formed(void) {
    for (unsigned i = 0; i + 1 < out.count; i++)
        if (strchr("ACRVGS", letters[out.list[i].kind]))
            return false;
    return out.count >= 1 && out.count <= SFID__LEASE_ACTIONS && strchr("ACRVGS", letters[out.list[out.count - 1].kind]);
}

static inline const char *step(struct sfid__lease_event e) {
    e.now_ms = now;
    e.tick = tick;
    e.idle = idle;
    if (e.kind == SFID__LEASE_WAKE)
        e.position = position;
    e.random[0] = ++fresh * EVEN + jitter;
    e.random[1] = ++fresh * EVEN;
    sfid__lease_step(&l, &e, &out);
    if (!well_formed())
        ok(false, "event %d: what asks comes last, and there is room: %s", (int)e.kind, said());
    return said();
}

static inline const struct sfid__lease_action *last(void) { return &out.list[out.count - 1]; }

static inline const char *open_lease(void) { return step((struct sfid__lease_event){.kind = SFID__LEASE_OPEN, .start = 5}); }

static inline const char *wake(bool poked) { return step((struct sfid__lease_event){.kind = SFID__LEASE_WAKE, .poked = poked}); }

static inline const char *grant(uint64_t pid, uint64_t floor, uint64_t limit) {
    return step((struct sfid__lease_event){
        .kind = SFID__LEASE_ANSWER, .exchange = l.exchange, .answer = SFID__GRANTED, .pid = pid, .floor = floor, .limit = limit});
}

static inline const char *answer(enum sfid__lease_answer what) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_ANSWER, .exchange = l.exchange, .answer = what});
}

static inline const char *adopted(uint64_t limit, bool sure) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_ADOPTED, .limit = limit, .sure = sure});
}

static inline const char *resume(uint64_t limit, uint64_t next_nonce) {
    return step((struct sfid__lease_event){
        .kind = SFID__LEASE_RESUME, .pid = 3, .limit = limit, .token = 71, .nonce = 72, .next_nonce = next_nonce});
}

/* As resume(), where nobody draws from what was found. */
static inline const char *resume_cold(uint64_t limit) {
    return step((struct sfid__lease_event){
        .kind = SFID__LEASE_RESUME, .pid = 3, .limit = limit, .token = 71, .nonce = 72, .next_nonce = 73, .cold = true});
}

static inline const char *close_lease(void) { return step((struct sfid__lease_event){.kind = SFID__LEASE_CLOSE, .position = 543}); }

/* Time passes until the machine wants to look again. */
static inline const char *wake_when_due(void) {
    now = l.due_ms;
    return wake(false);
}

static inline void begin(const struct sfid__lease_terms *terms) {
    sfid__lease_init(&l, terms);
    now = NOW;
    tick = TICK;
    jitter = 0;
    position = 1;
    idle = false;
}

static inline void begin_held(const struct sfid__lease_terms *terms) {
    begin(terms);
    open_lease();
    grant(4, TICK, TICK + WINDOW);
    adopted(TICK + WINDOW, true);
}

#endif
