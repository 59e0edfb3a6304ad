/* SPDX-License-Identifier: MIT */
/* walk_world.h - what lies between owners and store in the walk, and all that goes wrong with any
 * of them. */
#ifndef SFID_TESTS_WALK_WORLD_H
#define SFID_TESTS_WALK_WORLD_H

#include "walk_owner.h"

/* ---- the network ----------------------------------------------------------- */

static void spoil_grant(struct message *m, uint64_t far) {
    static const enum sfid__lease_answer no_claims[] = {SFID__LOST, SFID__SWITCHED, SFID__FOREIGN};
    struct reply *r = &m->reply;
    const bool moves = m->request.kind == SFID__DO_RENEW;
    switch (below(w.terms.reach ? 6 : 5)) {
    case 0:
        r->pid = w.terms.pid_max + 1 + below(3);
        break;
    case 1:
        r->pid = w.terms.pid_min - 1; /* or the highest there is */
        break;
    case 2:
        r->floor = r->limit + 1 + below(3);
        break;
    case 3:
        r->limit = r->floor + w.terms.first_window + 1 + below(3);
        break;
    case 4:
        if (moves)
            r->pid = m->request.pid; /* which is short */
        else
            r->answer = no_claims[below(3)];
        break;
    default:
        r->floor = far - w.terms.first_window;
        r->limit = far;
    }
}

/* Makes of an answer one that cannot be. */
static void spoil(struct message *m) {
    struct reply *r = &m->reply;
    const uint64_t far = tick_of(w.now) + w.terms.reach + 10 * w.terms.window + below(100);
    r->spoilt = true;
    figures.spoilt++;
    if (r->answer == SFID__LATER) {
        static const int64_t never[] = {INT64_MAX, INT64_MIN, -1, INT64_MAX / 2};
        r->after_ms = never[below(4)];
        r->start = draw_random();
    } else if (r->answer == SFID__SWITCHED) {
        spoil_grant(m, far);
    } else if (r->answer != SFID__GRANTED || m->request.kind == SFID__DO_RELEASE) {
        r->pid = draw_random();
    } else if (m->request.kind == SFID__DO_RENEW) {
        r->limit =
            w.terms.reach && chance(500) ? far : m->request.limit - 1 - below(w.terms.window);
        if (chance(200)) {
            r->answer = SFID__LATER;
        } else if (m->request.move_token == 0 && chance(500)) { /* a move that nobody asked for */
            r->answer = SFID__SWITCHED;
            r->floor = tick_of(w.now);
            r->limit = r->floor + w.terms.first_window;
        }
    } else {
        spoil_grant(m, far);
    }
}

static void take_out(unsigned i) {
    w.messages--;
    memmove(&w.message[i], &w.message[i + 1], sizeof w.message[0] * (w.messages - i));
}

static void answer(const struct message *m) {
    struct message back = *m;
    back.is_reply = true;
    back.reply = serve(m);
    note(&w.owner[m->owner], is_late(m) ? "is served, too late" : "is served", back.reply.answer,
         back.reply.pid, back.reply.floor, back.reply.limit);
    back.held_till = hold(60, w.patience_ms * 4);
    if (w.calm || !chance(w.loss_rate))
        put_message(&back);
    else
        figures.lost_messages++;
}

static void deliver(unsigned i) {
    struct message m = w.message[i];
    struct owner *o = &w.owner[m.owner];
    if (w.now < m.held_till && !w.calm)
        return;
    if (!m.is_reply) {
        take_out(i);
        answer(&m);
        return;
    }
    if (is_late(&m)) {
        take_out(i);
        figures.stale_answers++;
        return;
    }
    if (is_stopped(o))
        return;
    take_out(i);
    if (!w.calm && (w.faults & 1u << SPOILT) && chance(60))
        spoil(&m);
    hear(o, &m.reply);
}

/* ---- faults of owners ------------------------------------------------------ */

static struct owner *any_owner(enum phase phase) {
    const uint64_t first = below(OWNERS);
    for (uint64_t i = 0; i < OWNERS; i++)
        if (w.owner[(first + i) % OWNERS].phase == phase)
            return &w.owner[(first + i) % OWNERS];
    return NULL;
}

static void die(struct owner *o) {
    crash(o);
    if ((w.faults & 1u << TAKEN_OVER) && o->has_child && chance(700)) {
        figures.takeovers++;
        start(o, true);
    } else if ((w.faults & 1u << PAGE_LOST) && chance(300)) {
        o->page = (struct page){.there = false};
        figures.pages_lost++;
    }
}

/* Tokens that both copies know from now on. */
static void share(const struct owner *o, uint64_t token, uint64_t nonce) {
    struct lease_info *lease = lease_info(token);
    lease->cloned = true;
    lease->shared_nonce = nonce;
    for (uint64_t pid = 0; pid < PIDS; pid++)
        lease->holder[pid] = place_of(o);
}

/*
 * A second process with the same memory, or with the same page. Its connection
 * is not the first one's. Not of one that claims: the store cannot tell a claim
 * that two make under one token from one that is made twice; unless it notices
 * what it is. Then the first one goes on as if there were no second.
 */
static void copy(struct owner *o) {
    struct owner *second = any_owner(NOBODY);
    const bool notices = chance(500);
    if (second == NULL || o->notices || o->gave_up)
        return;
    if (!notices && (o->machine.state != SFID__LEASE_HELD || lease_info(o->page.token)->cloned))
        return;
    /* it claims an ordinary pid */
    if (!notices && o->machine.move_token != 0 && o->machine.next_nonce != 0)
        return;
    if (!notices)
        share(o, o->page.token,
              o->machine.next_nonce == o->answered_nonce ? 0 : o->machine.next_nonce);
    *second = *o;
    second->notices = notices;
    second->both_have[0] = second->both_have[1] = 0;
    second->is_copy = second->gated = true;
    second->has_child = false;
    second->life = ++w.lives;
    if (chance(500))
        second->phase = DOWN;
    figures.copies++;
    note(second, "is a copy", place_of(o), o->machine.token, o->machine.nonce,
         o->machine.next_nonce);
}

static void fault_of_owner(enum fault kind) {
    struct owner *o = any_owner(UP);
    if (o == NULL)
        return;
    switch (kind) {
    case DIES:
        die(o);
        break;
    case TAKEN_OVER:
        o->forked = o->machine;
        o->has_child = true;
        if (chance(300))
            die(o);
        break;
    case STOPPED:
        o->stopped_till = w.now + (int64_t)below((uint64_t)window_ms() * (chance(200) ? 4 : 1));
        figures.stops++;
        note(o, "is stopped", (uint64_t)o->stopped_till, 0, 0, 0);
        break;
    case CUT_OFF:
        cut_off(o);
        break;
    case CLOCK_SET:
        o->ahead_ms = (int64_t)below((uint64_t)window_ms() * 4 + 1) - 2 * window_ms();
        if (chance(500))
            o->ahead_ms /= 16;
        break;
    case COPIED:
        copy(o);
        break;
    case LEAVES:
        for (unsigned i = (unsigned)below(3); i > 0 && !w.broken; i--)
            draw(o, true);
        if (!is_stopped(o) && !o->notices && !w.broken)
            leave(o);
        break;
    default:
        break;
    }
}

/* ---- faults of the store --------------------------------------------------- */

static void fail_over(void) {
    w.old_serves = chance(500);
    w.master = 1 - w.master;
    w.first_contact = 0;
    w.server[w.master].incarnation = ++w.incarnations;
    figures.failovers++;
    trace(-1, "failover: master, old serves", w.master, w.old_serves, 0, 0);
}

static void fault_of_store(enum fault kind) {
    struct server *master = &w.server[w.master], *other = &w.server[1 - w.master];
    switch (kind) {
    case FLUSHED:
        master->books.there = false;
        trace(-1, "flush", w.master, 0, 0, 0);
        break;
    case FAILED_OVER:
        if (chance(700)) { /* mostly there is replication only */
            if (!w.old_serves)
                other->books = master->books;
        } else {
            fail_over();
        }
        break;
    case RESTARTED:
        master->incarnation = ++w.incarnations;
        if (chance(500))
            master->books = other->books;
        trace(-1, "restart", w.master, 0, 0, 0);
        break;
    case OUT:
        w.out_till = w.now + (int64_t)below((uint64_t)window_ms());
        w.refuses = chance(300);
        break;
    case STORE_CLOCK_SET:
        w.server[below(2)].offset_ms = (int64_t)below((uint64_t)w.spread_ms + 1);
        break;
    case STRANGER_COMES:
        w.stranger_till[chance(800) ? w.owner[below(w.owners)].page.pid : below(PIDS)] =
            w.now + (int64_t)below((uint64_t)window_ms() * 3);
        break;
    case TIME_LEAPS:
        w.now += (int64_t)below((uint64_t)(window_ms() * (chance(200) ? 4 : 1)));
        break;
    default:
        break;
    }
}

static void fault(void) {
    const enum fault kind = (enum fault)below(FAULTS);
    if ((w.faults & 1u << kind) == 0)
        return;
    if (kind < FLUSHED)
        fault_of_owner(kind);
    else
        fault_of_store(kind);
}

#endif
