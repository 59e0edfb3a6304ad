/* SPDX-License-Identifier: MIT */
#include "support/leases.h"

const struct sfid__lease_terms usual = {.window = WINDOW,
                                        .first_window = WINDOW,
                                        .end = 10000,
                                        .unit_ms = UNIT,
                                        .reach = REACH,
                                        .pid_min = 2,
                                        .pid_max = 9,
                                        .heartbeat_ms = HEARTBEAT,
                                        .first_heartbeat_ms = HEARTBEAT,
                                        .retry_first_ms = FIRST,
                                        .retry_longest_ms = LONGEST,
                                        .poll_least_ms = FIRST,
                                        .poll_most_ms = POLL_MOST,
                                        .testifies = true};
const struct sfid__lease_terms two_windows = {.window = WINDOW,
                                              .first_window = FIRST_WINDOW,
                                              .short_every = 4,
                                              .end = 10000,
                                              .unit_ms = UNIT,
                                              .reach = REACH,
                                              .pid_min = 2,
                                              .pid_max = 9,
                                              .heartbeat_ms = HEARTBEAT,
                                              .first_heartbeat_ms = FIRST_HEARTBEAT,
                                              .retry_first_ms = FIRST,
                                              .retry_longest_ms = LONGEST,
                                              .poll_least_ms = POLL,
                                              .poll_most_ms = POLL_MOST,
                                              .testifies = true};
struct sfid__lease l;
struct sfid__lease_actions out;
int64_t now;
uint64_t tick, fresh, jitter, position;
bool idle;

/* ---- steps ----------------------------------------------------------------- */

/* Each action has a letter. */
static const char letters[] = {
    [SFID__DO_NOTE] = 'N',        [SFID__DO_ADOPT] = 'A',        [SFID__DO_EXTEND] = 'E',
    [SFID__DO_TELL_LEASED] = 'L', [SFID__DO_TELL_RENEWED] = 'W', [SFID__DO_TELL_LEASED_AGAIN] = 'M',
    [SFID__DO_TELL_LOST] = 'X',   [SFID__DO_TELL_FAILED] = 'F',  [SFID__DO_CLAIM] = 'C',
    [SFID__DO_RENEW] = 'R',       [SFID__DO_RELEASE] = 'V',      [SFID__DO_GIVE_UP] = 'G',
    [SFID__DO_SLEEP] = 'S',       [SFID__DO_SHUT] = 'Z'};

const char *actions_said(void) {
    static char text[SFID__LEASE_ACTIONS + 3];
    snprintf(text, sizeof text, "%c ", "whe"[l.state]);
    for (unsigned i = 0; i < out.count && i < SFID__LEASE_ACTIONS; i++)
        text[2 + i] = letters[out.list[i].kind], text[3 + i] = '\0';
    return text;
}

/* Checks every step: there is an action, all fit, and one that waits for an outcome is the last. */
static bool well_formed(void) {
    for (unsigned i = 0; i + 1 < out.count; i++)
        if (strchr("ACRVGS", letters[out.list[i].kind]))
            return false;
    return out.count >= 1 && out.count <= SFID__LEASE_ACTIONS &&
           strchr("ACRVGS", letters[out.list[out.count - 1].kind]);
}

const char *step(struct sfid__lease_event e) {
    e.now_ms = now;
    e.tick = tick;
    e.idle = idle;
    if (e.kind == SFID__LEASE_WAKE)
        e.position = position;
    e.random[0] = ++fresh * EVEN + jitter;
    e.random[1] = ++fresh * EVEN;
    sfid__lease_step(&l, &e, &out);
    if (!well_formed())
        ok(false, "event %d: what asks comes last, and there is room: %s", (int)e.kind,
           actions_said());
    return actions_said();
}

const struct sfid__lease_action *last(void) { return &out.list[out.count - 1]; }

const char *open_lease(void) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_OPEN, .start = 5});
}

const char *wake(bool poked) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_WAKE, .poked = poked});
}

const char *grant(uint64_t pid, uint64_t floor, uint64_t limit) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_ANSWER,
                                           .answer = SFID__GRANTED,
                                           .pid = pid,
                                           .floor = floor,
                                           .limit = limit});
}

const char *switched(uint64_t pid, uint64_t floor, uint64_t limit) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_ANSWER,
                                           .answer = SFID__SWITCHED,
                                           .pid = pid,
                                           .floor = floor,
                                           .limit = limit});
}

const char *later(int64_t after_ms, uint64_t start) {
    return step((struct sfid__lease_event){
        .kind = SFID__LEASE_ANSWER, .answer = SFID__LATER, .start = start, .after_ms = after_ms});
}

const char *answer(enum sfid__lease_answer what) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_ANSWER, .answer = what});
}

const char *adopted(uint64_t limit, bool sure) {
    return step(
        (struct sfid__lease_event){.kind = SFID__LEASE_ADOPTED, .limit = limit, .sure = sure});
}

const char *unfit(void) { return step((struct sfid__lease_event){.kind = SFID__LEASE_UNFIT}); }

const char *resume(uint64_t limit, uint64_t next_nonce) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_RESUME,
                                           .pid = 3,
                                           .limit = limit,
                                           .token = 71,
                                           .nonce = 72,
                                           .next_nonce = next_nonce,
                                           .start = 6});
}

const char *resume_cold(uint64_t limit) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_RESUME,
                                           .pid = 3,
                                           .limit = limit,
                                           .token = 71,
                                           .nonce = 72,
                                           .next_nonce = 73,
                                           .cold = true});
}

const char *resume_warm(uint64_t limit) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_RESUME,
                                           .pid = 3,
                                           .limit = limit,
                                           .token = 71,
                                           .nonce = 72,
                                           .next_nonce = 73,
                                           .cold = true,
                                           .warm = true});
}

const char *close_lease(void) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_CLOSE, .position = 543});
}

const char *wake_when_due(void) {
    now = l.due_ms;
    return wake(false);
}

const char *fail_and_wake(void) {
    answer(SFID__FAILED);
    return wake_when_due();
}

void begin(const struct sfid__lease_terms *terms) {
    sfid__lease_init(&l, terms);
    now = NOW;
    tick = TICK;
    jitter = 0;
    position = 1;
    idle = false;
}

void begin_open(const struct sfid__lease_terms *terms) {
    begin(terms);
    open_lease();
}

void begin_held(const struct sfid__lease_terms *terms) {
    begin_open(terms);
    grant(4, TICK, TICK + WINDOW);
    adopted(TICK + WINDOW, true);
}

void begin_first(uint64_t pid) {
    begin_open(&two_windows);
    grant(pid, TICK, TICK + FIRST_WINDOW);
    adopted(TICK + FIRST_WINDOW, true);
}
