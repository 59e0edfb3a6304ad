/* SPDX-License-Identifier: MIT */
#include "lease/machine.h"

typedef struct sfid__lease lease;
typedef struct sfid__lease_event event;
typedef struct sfid__lease_actions actions;

/* ---- actions --------------------------------------------------------------- */

static struct sfid__lease_action *push(actions *out, enum sfid__lease_action_kind kind) {
    struct sfid__lease_action *a = &out->list[out->count++];
    *a = (struct sfid__lease_action){.kind = kind};
    return a;
}

static void sleep_until(actions *out, int64_t due) { push(out, SFID__DO_SLEEP)->due_ms = due; }

static void give_up(lease *l, actions *out) {
    l->gave_up = true;
    push(out, SFID__DO_GIVE_UP);
}

/* An action with all that the pid is held under. */
static struct sfid__lease_action *push_lease(actions *out, enum sfid__lease_action_kind kind,
                                             const lease *l) {
    struct sfid__lease_action *a = push(out, kind);
    a->pid = l->pid;
    a->token = l->token;
    a->nonce = l->nonce;
    a->next_nonce = l->next_nonce;
    a->limit = l->limit;
    a->start = l->start;
    return a;
}

/* ---- time ------------------------------------------------------------------ */

static bool is_short(const lease *l, uint64_t pid) {
    return sfid__lease_is_short(l->terms.short_every, pid);
}

bool sfid__lease_is_brief(const lease *l) { return l->fresh || is_short(l, l->pid); }

static uint64_t window(const lease *l) {
    return sfid__lease_is_brief(l) ? l->terms.first_window : l->terms.window;
}

static int64_t heartbeat_ms(const lease *l) {
    return sfid__lease_is_brief(l) ? l->terms.first_heartbeat_ms : l->terms.heartbeat_ms;
}

/* Up to a tenth earlier, so that processes that began together drift apart. */
static int64_t jitter(int64_t ms, uint64_t random) {
    return ms - (int64_t)(random % (uint64_t)(ms / 10 + 1));
}

/* Lets the window run out until the generator asks. */
static void rest(lease *l, actions *out) {
    l->retry_ms = 0;
    l->due_ms = SFID__FOREVER;
    sleep_until(out, l->due_ms);
}

#define NEAR_END_MS 500

/*
 * While a window has something left, a pause is a heartbeat's share of that, but at least
 * NEAR_END_MS. So a store that comes back in time is asked in time. The tick that has begun does
 * not count. Without a window the terms decide.
 */
static int64_t longest_pause(const lease *l, const event *e) {
    const int64_t longest = SFID__MIN(l->terms.retry_longest_ms, heartbeat_ms(l));
    if (l->limit <= e->tick || l->limit - e->tick >= window(l))
        return longest;
    const int64_t in_time =
        (int64_t)((uint64_t)heartbeat_ms(l) * (l->limit - e->tick - 1) / window(l));
    return SFID__MIN(longest, SFID__MAX(in_time, NEAR_END_MS));
}

static void back_off(lease *l, const event *e, actions *out) {
    const int64_t longest = longest_pause(l, e);
    l->retry_ms = SFID__MIN(l->retry_ms ? l->retry_ms * 2 : l->terms.retry_first_ms, longest);
    l->due_ms = e->now_ms + jitter(l->retry_ms, e->random[0]);
    push(out, SFID__DO_TELL_FAILED);
    sleep_until(out, l->due_ms);
}

/*
 * The store's clock counts a window, and ours uses it up. If ours is ahead, less is left than was
 * granted: then the next renewal comes that much sooner, whether anybody calls or not, but not
 * within an eighth of the heartbeat (R10).
 */
static int64_t till_heartbeat_ms(const lease *l, const event *e) {
    const int64_t heartbeat = heartbeat_ms(l);
    const uint64_t left = l->limit - SFID__MIN(l->limit, e->tick),
                   missing = window(l) - SFID__MIN(window(l), left);
    const uint64_t missing_ms = missing * l->terms.unit_ms;
    return missing_ms < (uint64_t)heartbeat ? heartbeat - (int64_t)missing_ms : 0;
}

static void rest_till_heartbeat(lease *l, const event *e, actions *out) {
    l->retry_ms = 0;
    l->due_ms = SFID__MAX(e->now_ms + jitter(till_heartbeat_ms(l, e), e->random[0]), l->soonest_ms);
    sleep_until(out, l->due_ms);
}

/* ---- claiming -------------------------------------------------------------- */

#define NONCE_RANDOM_BITS 40

/*
 * A nonce that no copy of this process makes, and that is above the one before. Of two claims that
 * a store serves, the later nonce stands, in whatever order they arrive. After 2^24 nonces of one
 * lease they are only random, and that rule, which avoids a false loss, no longer applies. The
 * lowest bit tells any process that finds a nonce what it was made for.
 */
static uint64_t nonce_after(uint64_t nonce, uint64_t random, bool renews) {
    const uint64_t most = UINT64_MAX >> NONCE_RANDOM_BITS,
                   count = SFID__MIN((nonce >> NONCE_RANDOM_BITS) + 1, most);
    return count << NONCE_RANDOM_BITS | (random >> (64 - NONCE_RANDOM_BITS) & ~UINT64_C(1)) |
           renews;
}

/*
 * R6: each attempt has its own nonce. The store may have answered another attempt, and the pid may
 * have had another holder since. An attempt that arrives only then must not bring back the nonce
 * under which the answered one is renewed.
 */
static void claim(lease *l, const event *e, actions *out) {
    l->nonce = nonce_after(l->nonce, e->random[1], false);
    push_lease(out, SFID__DO_CLAIM, l);
}

/* R5: the token was never shown before. R6: attempts that fail keep it. */
static void want(lease *l, uint64_t token, uint64_t nonce, uint64_t start) {
    l->state = SFID__LEASE_WANTED;
    l->token = token;
    l->nonce = nonce;
    l->next_nonce = 0;
    l->move_token = 0;
    l->gave_up = false;
    l->start = start;
    l->retry_ms = 0;
}

/* R8: no store grants more than its window from its own now. */
static bool is_within_reach(const lease *l, const event *e) {
    return l->terms.reach == 0 || e->limit <= e->tick || e->limit - e->tick <= l->terms.reach;
}

/* R8 */
static bool claim_is_possible(const lease *l, const event *e) {
    return e->pid >= l->terms.pid_min && e->pid <= l->terms.pid_max && e->floor <= e->limit &&
           e->limit - e->floor <= l->terms.first_window && is_within_reach(l, e);
}

static void take(lease *l, const event *e, actions *out) {
    l->pid = e->pid;
    l->limit = e->limit;
    l->fresh = true;
    push_lease(out, SFID__DO_ADOPT, l)->floor = e->floor;
}

static void claim_answered(lease *l, const event *e, actions *out) {
    if (e->answer == SFID__GRANTED && claim_is_possible(l, e)) {
        take(l, e, out);
    } else if (e->answer == SFID__LATER) {
        l->start = e->start;
        l->retry_ms = 0;
        /* R8: neither at once nor never. A pid may be released before its time. */
        l->due_ms = e->now_ms + SFID__MIN(SFID__MAX(e->after_ms, l->terms.poll_least_ms),
                                          l->terms.poll_most_ms);
        sleep_until(out, l->due_ms);
    } else if (e->answer == SFID__REFUSED && !l->opened) {
        give_up(l, out);
    } else {
        back_off(l, e, out);
    }
}

/* ---- holding --------------------------------------------------------------- */

/* R2: an unanswered nonce stays the one to show. R3: it is noted before it is sent. */
static void renew(lease *l, const event *e, actions *out) {
    l->soonest_ms = e->now_ms;
    if (l->next_nonce == 0)
        l->next_nonce = nonce_after(l->nonce, e->random[1], true);
    push_lease(out, SFID__DO_NOTE, l);
    struct sfid__lease_action *a = push_lease(out, SFID__DO_RENEW, l);
    if (!is_short(l, l->pid) || !l->opened || l->state == SFID__LEASE_ENDED)
        return;
    /* As a claim: one token until an answer comes, and a nonce for each attempt. */
    if (l->move_token == 0) {
        l->move_token = e->random[0];
        l->move_nonce = 0;
    }
    a->move_token = l->move_token;
    a->move_nonce = l->move_nonce = nonce_after(l->move_nonce, e->random[1], false);
}

static void usable(lease *l, actions *out) {
    l->opened = true;
    if (!l->told)
        push(out, l->lost ? SFID__DO_TELL_LEASED_AGAIN : SFID__DO_TELL_LEASED);
    l->told = true;
    l->lost = false;
}

/* R6: the token is the same, so a new claim is granted the same pid. */
static void unfit(lease *l, const event *e, actions *out) {
    if (l->opened)
        back_off(l, e, out);
    else
        give_up(l, out);
}

/*
 * True if no ID can be generated yet, and the store need not know more. A bound below the next
 * position is raised all the same: if the page is lost, nothing else is left.
 */
static bool may_wait(const lease *l, const event *e) {
    return l->terms.rests && e->idle && !l->bare;
}

static void adopted(lease *l, const event *e, actions *out) {
    l->state = SFID__LEASE_HELD;
    l->limit = e->limit;
    l->position = UINT64_MAX;
    l->soonest_ms = e->now_ms;
    l->bare = e->bare;
    if (e->sure && e->limit > e->tick) {
        usable(l, out);
        rest_till_heartbeat(l, e, out);
    } else if (may_wait(l, e) && e->limit <= e->tick) { /* no ID comes without a renewal */
        usable(l, out);
        rest(l, out);
    } else {
        renew(l, e, out);
    }
}

static void answered_renewal(lease *l) {
    l->nonce = l->next_nonce;
    l->next_nonce = 0;
}

static void renewed(lease *l, const event *e, actions *out) {
    l->limit = e->limit;
    l->bare = l->fresh = false;
    answered_renewal(l);
    push_lease(out, SFID__DO_EXTEND, l);
    push_lease(out, SFID__DO_NOTE, l);
    if (l->told)
        push(out, SFID__DO_TELL_RENEWED);
    usable(l, out);
    l->soonest_ms += heartbeat_ms(l) / 8; /* since it was asked: the answer may be old */
    rest_till_heartbeat(l, e, out);
}

static void lost(lease *l, const event *e, actions *out) {
    l->lost = l->lost || l->told;
    l->told = false;
    push(out, SFID__DO_TELL_LOST);
    want(l, e->random[0], 0, l->pid);
    claim(l, e, out);
}

/* R11 */
static bool move_is_possible(const lease *l, const event *e) {
    return l->move_token != 0 && !is_short(l, e->pid) && claim_is_possible(l, e);
}

/* R11: as after a loss and an answered claim, but that nobody else can be granted the window. */
static void moved(lease *l, const event *e, actions *out) {
    want(l, l->move_token, l->move_nonce, l->start);
    l->lost = l->lost || l->told;
    l->told = false;
    take(l, e, out);
}

/* R12: what the window has left might repeat the stranger's IDs. */
static void shut_out(lease *l, const event *e, actions *out) {
    push(out, SFID__DO_SHUT);
    lost(l, e, out);
}

/*
 * R13. The other copy has the same memory: token, nonces, and what a claim under way will be
 * granted. One that renewed first would share its pid with the other till that one renews. So
 * nothing of before is used, not even what is left of a lost lease's window.
 */
static void copied(lease *l, const event *e, actions *out) {
    if (l->gave_up) {
        sleep_until(out, SFID__FOREVER);
        return;
    }
    push(out, SFID__DO_SHUT);
    if (l->state == SFID__LEASE_HELD) {
        lost(l, e, out);
        return;
    }
    want(l, e->random[0], 0, l->start);
    claim(l, e, out);
}

/* R4, R8. A limit that stays was possible once, even if the clock has been set since. */
static bool renewal_is_possible(const lease *l, const event *e) {
    return e->limit == l->limit || (e->limit > l->limit && is_within_reach(l, e));
}

/* R9 */
static void no_answer(lease *l, const event *e, actions *out) {
    if (l->warm && !l->opened)
        l->opened = l->told = true; /* the process that opened it reported it */
    back_off(l, e, out);
}

static void renewal_answered(lease *l, const event *e, actions *out) {
    if (e->answer == SFID__GRANTED && renewal_is_possible(l, e))
        renewed(l, e, out);
    else if (e->answer == SFID__SWITCHED && move_is_possible(l, e))
        moved(l, e, out);
    else if (e->answer == SFID__LOST)
        lost(l, e, out);
    else if (e->answer == SFID__FOREIGN)
        shut_out(l, e, out);
    else if (e->answer == SFID__REFUSED && !l->opened)
        give_up(l, out);
    else
        no_answer(l, e, out);
}

/*
 * Renews if a renewal is due, or if half of the window has gone, possibly because the word runs
 * ahead of the clock. But not again at once: if our clock is ahead of the store's, another renewal
 * gains nothing.
 *
 * A store that rests grants nothing before an ID can be generated. Each renewal moves its bound on,
 * so a program that is restarted again and again, and ends before its first ID each time, would
 * wait for that bound for ever.
 */
static void attend(lease *l, const event *e, actions *out) {
    const bool due = e->now_ms >= l->due_ms;
    const bool low = e->now_ms >= l->soonest_ms && e->tick + window(l) / 2 >= l->limit;
    if (may_wait(l, e)) {
        rest(l, out);
        return;
    }
    if (l->limit >= l->terms.end) {
        l->due_ms = SFID__FOREVER;
    } else if (l->retry_ms != 0 ? due : due || low) {
        if (!l->terms.rests || e->position != l->position || e->poked || l->retry_ms != 0) {
            l->position = e->position;
            renew(l, e, out);
            return;
        }
        if (due) { /* no ID was generated */
            rest(l, out);
            return;
        }
    }
    sleep_until(out, l->due_ms);
}

/* ---- the end ----------------------------------------------------------------- */

static void release(lease *l, actions *out) {
    l->releases = true;
    push_lease(out, SFID__DO_RELEASE, l)->floor = l->position;
}

/*
 * R7: the caller has closed the record. A pid that is not held cannot be released, and a store that
 * did not answer is not asked again: a successor goes on with what is left. A mark is written in
 * any case.
 */
static void closed(lease *l, const event *e, actions *out) {
    const bool held = l->state == SFID__LEASE_HELD && !(l->terms.testifies && l->retry_ms != 0);
    l->state = SFID__LEASE_ENDED;
    l->due_ms = SFID__FOREVER;
    l->position = e->position;
    if (held)
        release(l, out);
    else
        sleep_until(out, SFID__FOREVER);
}

/* R7. A release makes no record where there is none. A renewal does; a release takes that back. */
static void ending_answered(lease *l, const event *e, actions *out) {
    if (l->releases && e->answer == SFID__LOST && !l->shown) {
        l->shown = true;
        l->releases = false;
        renew(l, e, out);
    } else if (!l->releases && e->answer == SFID__GRANTED && renewal_is_possible(l, e)) {
        l->limit = e->limit;
        answered_renewal(l);
        push_lease(out, SFID__DO_NOTE, l);
        release(l, out);
    } else {
        sleep_until(out, SFID__FOREVER);
    }
}

/* ---- events ---------------------------------------------------------------- */

static void woken(lease *l, const event *e, actions *out) {
    if (l->gave_up || l->state == SFID__LEASE_ENDED)
        sleep_until(out, SFID__FOREVER);
    else if (l->state == SFID__LEASE_HELD)
        attend(l, e, out);
    else if (e->now_ms >= l->due_ms)
        claim(l, e, out);
    else
        sleep_until(out, l->due_ms);
}

static void answered(lease *l, const event *e, actions *out) {
    if (l->state == SFID__LEASE_WANTED)
        claim_answered(l, e, out);
    else if (l->state == SFID__LEASE_HELD)
        renewal_answered(l, e, out);
    else
        ending_answered(l, e, out);
}

/* R9: takes up what was found. Nothing that was under way before counts. */
static void resume(lease *l, const event *e, actions *out) {
    l->state = SFID__LEASE_HELD;
    l->gave_up = false;
    l->opened = !e->cold;
    l->told = !e->cold; /* the process that opened it reported it */
    l->warm = e->warm;
    l->pid = e->pid;
    l->limit = e->limit;
    l->token = e->token;
    l->nonce = e->nonce;
    l->next_nonce = e->next_nonce;
    l->retry_ms = 0;
    l->position = UINT64_MAX;
    l->soonest_ms = e->now_ms;
    l->fresh = false;
    l->move_token = 0;
    l->start = e->start;
    if (!l->terms.testifies) {
        rest_till_heartbeat(l, e, out);
        return;
    }
    renew(l, e, out);
}

void sfid__lease_init(lease *l, const struct sfid__lease_terms *terms) {
    *l = (lease){.terms = *terms, .state = SFID__LEASE_WANTED, .due_ms = SFID__FOREVER};
}

void sfid__lease_follow(lease *l, uint64_t nonce, uint64_t next_nonce, uint64_t limit) {
    l->nonce = nonce;
    l->next_nonce = next_nonce;
    l->limit = SFID__MAX(l->limit, limit); /* R4 */
}

void sfid__lease_step(lease *l, const event *e, actions *out) {
    out->count = 0;
    switch (l->state == SFID__LEASE_ENDED && e->kind != SFID__LEASE_ANSWER ? SFID__LEASE_WAKE
                                                                           : e->kind) {
    case SFID__LEASE_OPEN:
        want(l, e->random[0], 0, e->start);
        claim(l, e, out);
        break;
    case SFID__LEASE_RESUME:
        resume(l, e, out);
        break;
    case SFID__LEASE_WAKE:
        woken(l, e, out);
        break;
    case SFID__LEASE_ANSWER:
        answered(l, e, out);
        break;
    case SFID__LEASE_ADOPTED:
        adopted(l, e, out);
        break;
    case SFID__LEASE_UNFIT:
        unfit(l, e, out);
        break;
    case SFID__LEASE_COPIED:
        copied(l, e, out);
        break;
    case SFID__LEASE_CLOSE:
        closed(l, e, out);
        break;
    }
}
