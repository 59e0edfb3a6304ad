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

static void sleep_until(actions *out, int64_t due_ms) { push(out, SFID__DO_SLEEP)->due_ms = due_ms; }

static void give_up(lease *l, actions *out) {
    l->gave_up = true;
    push(out, SFID__DO_GIVE_UP);
}

/* An action that shows or keeps what the pid is held under. */
static struct sfid__lease_action *push_lease(actions *out, enum sfid__lease_action_kind kind, const lease *l) {
    struct sfid__lease_action *a = push(out, kind);
    a->exchange = l->exchange;
    a->pid = l->pid;
    a->token = l->token;
    a->nonce = l->nonce;
    a->next_nonce = l->next_nonce;
    a->limit = l->limit;
    a->start = l->start;
    return a;
}

static void begin_exchange(lease *l) { l->exchange = ++l->exchanges; }

/* ---- time ------------------------------------------------------------------ */

/* A tenth earlier at most: what many processes began together falls apart. */
static int64_t jitter(int64_t ms, uint64_t random) { return ms - (int64_t)(random % (uint64_t)(ms / 10 + 1)); }

/* The window is left to run out until the generator asks. */
static void rest(lease *l, actions *out) {
    l->retry_ms = 0;
    l->due_ms = SFID__FOREVER;
    sleep_until(out, l->due_ms);
}

static void back_off(lease *l, const event *e, actions *out) {
    l->retry_ms = l->retry_ms ? SFID__MIN(l->retry_ms * 2, l->terms.retry_longest_ms) : l->terms.retry_first_ms;
    l->due_ms = e->now_ms + jitter(l->retry_ms, e->random[0]);
    push(out, SFID__DO_TELL_FAILED);
    sleep_until(out, l->due_ms);
}

static void rest_till_heartbeat(lease *l, const event *e, actions *out) {
    l->retry_ms = 0;
    l->due_ms = e->now_ms + jitter(l->terms.heartbeat_ms, e->random[0]);
    sleep_until(out, l->due_ms);
}

/* ---- nonces ---------------------------------------------------------------- */

#define NONCE_RANDOM_BITS 40

/*
 * One that no copy of us comes by, and above the one before: of two attempts
 * to claim that a store serves, it lets the later stand, in whatever order they
 * arrive. After 2^24 of one lease they are random alone, and that rule, which
 * spares a false loss, is off.
 */
static uint64_t nonce_after(uint64_t nonce, uint64_t random) {
    const uint64_t most = UINT64_MAX >> NONCE_RANDOM_BITS, count = SFID__MIN((nonce >> NONCE_RANDOM_BITS) + 1, most);
    return count << NONCE_RANDOM_BITS | random >> (64 - NONCE_RANDOM_BITS);
}

/* ---- claiming -------------------------------------------------------------- */

/*
 * Under a nonce of its own (R6): an attempt that reaches the store when another
 * one was answered, and the pid has had another holder since, must not bring
 * back to life what the answered one is renewed under.
 */
static void claim(lease *l, const event *e, actions *out) {
    l->nonce = nonce_after(l->nonce, e->random[1]);
    begin_exchange(l);
    push_lease(out, SFID__DO_CLAIM, l);
}

/* A pid is wanted, under a token never shown before (R5); attempts that fail keep it (R6). */
static void want(lease *l, const event *e, uint64_t start) {
    l->state = SFID__LEASE_WANTED;
    l->token = e->random[0];
    l->nonce = 0;
    l->next_nonce = 0;
    l->gave_up = false;
    l->start = start;
    l->retry_ms = 0;
}

/* R8: no store grants more than its window from its now. */
static bool is_within_reach(const lease *l, const event *e) {
    return l->terms.reach == 0 || e->limit <= e->tick || e->limit - e->tick <= l->terms.reach;
}

/* R8 */
static bool claim_is_possible(const lease *l, const event *e) {
    return e->pid >= l->terms.pid_min && e->pid <= l->terms.pid_max && e->floor <= e->limit &&
           e->limit - e->floor <= l->terms.window && is_within_reach(l, e);
}

static void claim_answered(lease *l, const event *e, actions *out) {
    if (e->answer == SFID__GRANTED && claim_is_possible(l, e)) {
        l->pid = e->pid;
        l->limit = e->limit;
        push_lease(out, SFID__DO_ADOPT, l)->floor = e->floor;
    } else if (e->answer == SFID__LATER) {
        l->start = e->start;
        l->retry_ms = 0;
        /* R8. Not at once, nor never: what is taken may be given back before its time. */
        l->due_ms = e->now_ms + SFID__MIN(SFID__MAX(e->after_ms, l->terms.retry_first_ms), l->terms.heartbeat_ms);
        sleep_until(out, l->due_ms);
    } else if (e->answer == SFID__REFUSED && !l->opened) {
        give_up(l, out);
    } else {
        back_off(l, e, out);
    }
}

/* ---- holding --------------------------------------------------------------- */

/* R2: the nonce that is not answered yet stays the one to show. R3: noted before it is sent. */
static void renew(lease *l, const event *e, actions *out) {
    if (l->next_nonce == 0)
        l->next_nonce = nonce_after(l->nonce, e->random[1]);
    push_lease(out, SFID__DO_NOTE, l);
    begin_exchange(l);
    push_lease(out, SFID__DO_RENEW, l);
}

static void usable(lease *l, actions *out) {
    l->opened = true;
    if (!l->told)
        push(out, l->lost ? SFID__DO_TELL_LEASED_AGAIN : SFID__DO_TELL_LEASED);
    l->told = true;
    l->lost = false;
}

/* Asked again it is granted again: the token is the same (R6). */
static void unfit(lease *l, const event *e, actions *out) {
    if (l->opened)
        back_off(l, e, out);
    else
        give_up(l, out);
}

/*
 * True when nothing can be drawn so far, and the store need not know more than it does. A bound below the next number is
 * raised all the same: it is all that is left when the page is lost.
 */
static bool may_wait(const lease *l, const event *e) { return l->terms.rests && e->idle && !l->bare; }

static void adopted(lease *l, const event *e, actions *out) {
    l->state = SFID__LEASE_HELD;
    l->limit = e->limit;
    l->position = UINT64_MAX;
    l->soonest_ms = e->now_ms;
    l->bare = e->bare;
    if (e->sure && e->limit > e->tick) {
        usable(l, out);
        rest_till_heartbeat(l, e, out);
    } else if (may_wait(l, e) && e->limit <= e->tick) { /* and nothing to be issued later, unrenewed */
        usable(l, out);
        rest(l, out);
    } else {
        renew(l, e, out);
    }
}

static void renewed(lease *l, const event *e, actions *out) {
    l->limit = e->limit;
    l->bare = false;
    l->nonce = l->next_nonce;
    l->next_nonce = 0;
    push_lease(out, SFID__DO_EXTEND, l);
    push_lease(out, SFID__DO_NOTE, l);
    if (l->told)
        push(out, SFID__DO_TELL_RENEWED);
    usable(l, out);
    l->soonest_ms = e->now_ms + l->terms.heartbeat_ms / 8;
    rest_till_heartbeat(l, e, out);
}

static void lost(lease *l, const event *e, actions *out) {
    l->lost = l->lost || l->told;
    l->told = false;
    push(out, SFID__DO_TELL_LOST);
    want(l, e, l->pid);
    claim(l, e, out);
}

/* R4, R8. A limit that stays where it is was possible once, wherever the clock has been set since. */
static bool renewal_is_possible(const lease *l, const event *e) {
    return e->limit == l->limit || (e->limit > l->limit && is_within_reach(l, e));
}

static void renewal_answered(lease *l, const event *e, actions *out) {
    if (e->answer == SFID__GRANTED && renewal_is_possible(l, e))
        renewed(l, e, out);
    else if (e->answer == SFID__LOST)
        lost(l, e, out);
    else if (e->answer == SFID__REFUSED && !l->opened)
        give_up(l, out);
    else
        back_off(l, e, out);
}

/*
 * A store that is asked only while numbers are drawn grants nothing before one can be: each renewal moves its bound on,
 * and a program that is started again and again, and each time ends before its first ID, would wait for that bound for ever.
 *
 * Renews where it is time to, or where half of the window has gone, be it that
 * the word runs ahead of the clock: but not at once again, since where our
 * clock is ahead of the store's another renewal gains nothing.
 */
static void attend(lease *l, const event *e, actions *out) {
    const bool due = e->now_ms >= l->due_ms;
    const bool is_short = e->now_ms >= l->soonest_ms && e->tick + l->terms.window / 2 >= l->limit;
    if (may_wait(l, e)) {
        rest(l, out);
        return;
    }
    if (l->limit >= l->terms.end) {
        l->due_ms = SFID__FOREVER; /* the window ends with the layout */
    } else if (l->retry_ms != 0 ? due : due || is_short) {
        if (!l->terms.rests || e->position != l->position || e->poked || l->retry_ms != 0) {
            l->position = e->position;
            renew(l, e, out);
            return;
        }
        if (due) { /* nothing was drawn */
            rest(l, out);
            return;
        }
    }
    sleep_until(out, l->due_ms);
}

/* ---- events ---------------------------------------------------------------- */

static void woken(lease *l, const event *e, actions *out) {
    if (l->exchange != 0 || l->gave_up || l->state == SFID__LEASE_ENDED)
        sleep_until(out, SFID__FOREVER); /* until the answer, if there is one to come */
    else if (l->state == SFID__LEASE_HELD)
        attend(l, e, out);
    else if (e->now_ms >= l->due_ms)
        claim(l, e, out);
    else
        sleep_until(out, l->due_ms);
}

static void answered(lease *l, const event *e, actions *out) {
    if (e->exchange != l->exchange || l->exchange == 0) { /* R1 */
        sleep_until(out, l->exchange ? SFID__FOREVER : l->due_ms);
        return;
    }
    l->exchange = 0;
    if (l->state == SFID__LEASE_WANTED)
        claim_answered(l, e, out);
    else if (l->state == SFID__LEASE_HELD)
        renewal_answered(l, e, out);
    else
        sleep_until(out, SFID__FOREVER);
}

/* R9: as it was found, and whatever was under way before is not. */
static void resume(lease *l, const event *e, actions *out) {
    l->state = SFID__LEASE_HELD;
    l->gave_up = false;
    l->opened = !e->cold;
    l->told = !e->cold; /* by who opened it */
    l->pid = e->pid;
    l->limit = e->limit;
    l->token = e->token;
    l->nonce = e->nonce;
    l->next_nonce = e->next_nonce;
    l->exchange = 0;
    l->retry_ms = 0;
    l->position = UINT64_MAX;
    l->soonest_ms = e->now_ms;
    if (!l->terms.testifies) {
        rest_till_heartbeat(l, e, out);
        return;
    }
    renew(l, e, out);
}

/* R7: the caller has closed the record. Of a pid that is not held there is nothing to give back. */
static void closed(lease *l, const event *e, actions *out) {
    const bool held = l->state == SFID__LEASE_HELD;
    l->state = SFID__LEASE_ENDED;
    l->exchange = 0;
    l->due_ms = SFID__FOREVER;
    if (!held) {
        sleep_until(out, SFID__FOREVER);
        return;
    }
    begin_exchange(l);
    push_lease(out, SFID__DO_RELEASE, l)->floor = e->position;
}

void sfid__lease_init(struct sfid__lease *l, const struct sfid__lease_terms *terms) {
    *l = (struct sfid__lease){.terms = *terms, .state = SFID__LEASE_WANTED, .due_ms = SFID__FOREVER};
}

void sfid__lease_step(struct sfid__lease *l, const struct sfid__lease_event *e, struct sfid__lease_actions *out) {
    out->count = 0;
    switch (l->state == SFID__LEASE_ENDED && e->kind != SFID__LEASE_ANSWER ? SFID__LEASE_WAKE : e->kind) {
    case SFID__LEASE_OPEN:
        want(l, e, e->start);
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
    case SFID__LEASE_CLOSE:
        closed(l, e, out);
        break;
    }
}
