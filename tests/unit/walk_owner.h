/* SPDX-License-Identifier: MIT */
/*
 * walk_owner.h - an owner of the walk: drives one lease machine as a process
 * would, and keeps its page.
 */
#ifndef SFID_TESTS_WALK_OWNER_H
#define SFID_TESTS_WALK_OWNER_H

#include "walk_page.h"

/* ---- coverage -------------------------------------------------------------- */

enum { EVENTS = 15, STATES = 3 };
static uint64_t covered[STATES][EVENTS];

static void cover(const struct owner *o, const struct sfid__lease_event *e) {
    unsigned event;
    switch (e->kind) {
    case SFID__LEASE_ANSWER:
        event = 3 + (unsigned)e->answer;
        break;
    case SFID__LEASE_ADOPTED:
        event = e->sure ? 10 : 11;
        break;
    case SFID__LEASE_UNFIT:
        event = 12;
        break;
    case SFID__LEASE_COPIED:
        event = 14;
        break;
    case SFID__LEASE_CLOSE:
        event = 13;
        break;
    default:
        event = (unsigned)e->kind;
    }
    covered[o->machine.state][event]++;
}

/* ---- what the machine wants ------------------------------------------------ */

/* Till when the network keeps a message; mostly not at all. */
static int64_t hold(unsigned rate, int64_t longest_ms) {
    return w.calm || !chance(rate) ? 0 : w.now + (int64_t)below((uint64_t)longest_ms);
}

static void put_message(const struct message *m) {
    if (w.messages == MESSAGES) { /* the oldest goes */
        memmove(&w.message[0], &w.message[1], sizeof w.message[0] * (MESSAGES - 1));
        w.messages--;
        figures.lost_messages++;
    }
    w.message[w.messages++] = *m;
}

/* Questions are paid for with time: one each shortest pause in the long run, a dozen at once. */
static void check_pace(struct owner *o) {
    const int64_t pause = SFID__MIN(w.terms.retry_first_ms, w.terms.poll_least_ms);
    const int64_t price = SFID__MIN(pause, w.terms.first_heartbeat_ms / 8) * 9 / 10;
    o->sends_allowed_ms =
        SFID__MIN(o->sends_allowed_ms + w.now - o->last_step_ms, 12 * price) - price;
    o->last_step_ms = w.now;
    if (o->sends_allowed_ms < 0)
        broken(TOO_OFTEN, "owner %u asks more often than each %" PRId64 " ms", place_of(o), price);
}

static void check_send(struct owner *o, const struct sfid__lease_action *a) {
    const bool releases = a->kind == SFID__DO_RELEASE;
    if (o->phase == LEAVING && a->move_token)
        broken(SENT_AFTER_RELEASE, "owner %u wants another pid when it ends", place_of(o));
    if (o->released)
        broken(releases ? RELEASED_TWICE : SENT_AFTER_RELEASE,
               "owner %u asks after it gave its pid back", place_of(o));
    if (releases && (o->page.token != a->token || o->page.pid != a->pid || o->page.open ||
                     lease_info(a->token)->released))
        broken(RELEASED_TWICE, "owner %u releases what it does not hold", place_of(o));
    if (a->token == o->lost_token)
        broken(LOST_TOKEN, "owner %u shows the token of a pid that it was told is lost",
               place_of(o));
    if (o->gave_up && a->kind == SFID__DO_CLAIM)
        broken(GIVEN_UP, "owner %u claims after giving up", place_of(o));
    if (o->found_token && (a->kind == SFID__DO_CLAIM || a->token != o->found_token))
        broken(RESTART, "owner %u found a lease and asks for something else first", place_of(o));
    if (o->page.open && o->page.token == o->foreign_token)
        broken(STRANGER, "owner %u asks on and has not closed its record", place_of(o));
    o->found_token = 0;
    for (unsigned i = 0; i < 2; i++)
        if (o->both_have[i] && (a->token == o->both_have[i] || a->move_token == o->both_have[i] ||
                                (o->gated && o->page.open)))
            broken(RESUMED, "owner %u shows what the other copy has, or has not closed its record",
                   place_of(o));
    check_pace(o);
}

static void send(struct owner *o, const struct sfid__lease_action *a) {
    check_send(o, a);
    struct lease_info *lease = lease_info(a->token);
    if (a->kind == SFID__DO_CLAIM)
        lease->want = o->want;
    if (a->move_token != 0) {
        o->move_want = o->move_want ? o->move_want : ++w.wants;
        lease_info(a->move_token)->want = o->move_want;
    }
    bool unheard = false;
    if (a->kind == SFID__DO_RELEASE) {
        /* whether the store is there at all it asks first */
        unheard = !w.calm && !o->machine.shown && chance(200);
        o->released = true;
        lease->released = !lease->cloned && !unheard;
        o->page.left = o->page.left && unheard;
    }
    figures.shown_again += a->kind == SFID__DO_RENEW && o->phase == LEAVING;
    o->question = ++w.questions;
    o->sent_ms = w.now;
    o->asked = (struct request){.kind = a->kind,
                                .server = o->server,
                                .pid = a->pid,
                                .token = a->token,
                                .nonce = a->nonce,
                                .next_nonce = a->next_nonce,
                                .limit = a->limit,
                                .position = a->floor,
                                .start = a->start,
                                .move_token = a->move_token,
                                .move_nonce = a->move_nonce,
                                .host_ms = host_ms(o)};
    static const char *const does[] = {
        [SFID__DO_CLAIM] = "claims", [SFID__DO_RENEW] = "renews", [SFID__DO_RELEASE] = "releases"};
    note(o, does[a->kind], a->pid, a->token, a->nonce, a->next_nonce);
    if (unheard || (!w.calm && (w.now < o->cut_off_till || chance(w.loss_rate)))) {
        figures.lost_messages++;
        return;
    }
    put_message(&(struct message){
        .owner = place_of(o),
        .life = o->life,
        .question = o->question,
        .held_till = hold(a->kind == SFID__DO_CLAIM ? 2 * w.hold_rate : w.hold_rate, w.hold_ms),
        .request = o->asked});
}

/* Nothing that it sends arrives for a while; and what it had sent arrives rather towards the end of
 * that. */
static void cut_off(struct owner *o) {
    const uint64_t window = (uint64_t)window_ms();
    o->cut_off_till = w.now + (int64_t)below(window * 5);
    note(o, "is cut off", (uint64_t)o->cut_off_till, 0, 0, 0);
    for (unsigned i = 0; i < w.messages; i++)
        if (w.message[i].owner == place_of(o) && !w.message[i].is_reply)
            w.message[i].held_till = o->cut_off_till - (int64_t)below(window);
}

/* From now on the short lease is as good as lost, but that nobody is told. */
static void leave_short(struct owner *o) {
    o->lost_told = o->lost_told || o->told;
    o->told = false;
    o->lost_token = o->page.token;
    o->want = o->move_want;
    o->move_want = 0;
    figures.moves_heard++;
}

/* A new record on the page: the old one is closed, and the word goes on above it. */
static void adopt(struct owner *o, const struct sfid__lease_action *a) {
    struct page *p = &o->page;
    const struct lease_info *lease = lease_info(a->token);
    if (a->pid < w.terms.pid_min || a->pid > w.terms.pid_max || a->limit > lease->granted[a->pid] ||
        a->floor < lease->floor[a->pid] || a->floor > a->limit) {
        broken(NOT_GRANTED, "owner %u adopts pid %" PRIu64 ", ticks %" PRIu64 " to %" PRIu64,
               place_of(o), a->pid, a->floor, a->limit);
        return;
    }
    uint64_t word = a->floor * SEQUENCE;
    if (p->there)
        word = SFID__MAX(word, p->pid == a->pid ? p->word : (p->word / SEQUENCE + 1) * SEQUENCE);
    *p = (struct page){true,     true,          false,    a->pid,   a->token,
                       a->nonce, a->next_nonce, a->floor, a->limit, word};
    if (o->is_copy && !lease->cloned)
        o->gated = false; /* a pid of its own */
    if (!w.calm && (w.faults & 1u << CUT_OFF) && chance(100))
        cut_off(o);
    check_window(o);
}

static void extend(struct owner *o, const struct sfid__lease_action *a) {
    struct page *p = &o->page;
    if (a->limit < p->limit)
        broken(LIMIT_DOWN, "owner %u: from %" PRIu64 " to %" PRIu64, place_of(o), p->limit,
               a->limit);
    if (a->token != p->token || a->limit > lease_info(p->token)->granted[p->pid])
        broken(NOT_GRANTED, "owner %u raises the limit of pid %" PRIu64 " to %" PRIu64, place_of(o),
               p->pid, a->limit);
    p->limit = a->limit;
    o->gated = false;
    o->answered_nonce = o->asked.next_nonce;
    check_window(o);
}

static void tell(struct owner *o, enum sfid__lease_action_kind kind) {
    bool good = true;
    switch (kind) {
    case SFID__DO_TELL_LEASED:
    case SFID__DO_TELL_LEASED_AGAIN:
        good = !o->told && o->lost_told == (kind == SFID__DO_TELL_LEASED_AGAIN);
        o->told = o->may_not_give_up = true;
        o->lost_told = false;
        break;
    case SFID__DO_TELL_LOST:
        if (!o->hears_lost && !o->notices)
            broken(LOST_UNHEARD, "owner %u was told by nobody", place_of(o));
        if (o->page.open && o->page.token == o->foreign_token)
            broken(STRANGER, "owner %u tells of a loss and has not closed its record", place_of(o));
        o->lost_told = o->lost_told || o->told;
        o->told = false;
        o->lost_token = o->page.token;
        o->want = ++w.wants;
        o->move_want = 0;
        figures.losses++;
        figures.copies_found += !o->notices && lease_info(o->page.token)->cloned;
        break;
    case SFID__DO_TELL_RENEWED:
        good = o->told;
        break;
    default:
        break;
    }
    if (!good)
        broken(TOLD, "owner %u tells %d when it has told the like already", place_of(o), (int)kind);
}

static void carry_out(struct owner *o, const struct sfid__lease_action *a) {
    switch (a->kind) {
    case SFID__DO_NOTE:
        if ((o->page.open || o->page.left) && o->page.token == a->token) {
            o->page.nonce = a->nonce;
            o->page.next_nonce = a->next_nonce;
        }
        break;
    case SFID__DO_ADOPT:
        adopt(o, a);
        break;
    case SFID__DO_EXTEND:
        extend(o, a);
        break;
    case SFID__DO_CLAIM:
    case SFID__DO_RENEW:
    case SFID__DO_RELEASE:
        send(o, a);
        break;
    case SFID__DO_SHUT:
        o->page.open = false;
        break;
    case SFID__DO_GIVE_UP:
        if (o->may_not_give_up)
            broken(GIVEN_UP, "owner %u gives up, having had a pid", place_of(o));
        o->gave_up = true;
        figures.gave_up++;
        break;
    case SFID__DO_SLEEP:
        o->asleep_till = a->due_ms;
        break;
    default:
        tell(o, a->kind);
    }
}

/* ---- steps of the machine -------------------------------------------------- */

static void crash(struct owner *o) {
    note(o, "dies", o->page.pid, o->page.token, o->page.limit, 0);
    o->phase = DOWN;
    o->question = 0;
    figures.crashes++;
}

static void step(struct owner *o, struct sfid__lease_event e) {
    struct sfid__lease_actions out;
    bool adopts = false;
    e.now_ms = w.now;
    e.tick = SFID__MAX(tick_of(host_ms(o)), o->page.there ? o->page.word / SEQUENCE : 0);
    e.random[0] = fresh();
    e.random[1] = fresh();
    if (e.kind == SFID__LEASE_WAKE)
        e.position = o->page.word;
    cover(o, &e);
    sfid__lease_step(&o->machine, &e, &out);
    for (unsigned i = 0; i < out.count && !w.broken; i++) {
        if (!w.calm && (w.faults & 1u << DIES_BETWEEN) && chance(1)) {
            crash(o);
            return;
        }
        if (out.list[i].kind == SFID__DO_ADOPT && o->asked.kind == SFID__DO_RENEW)
            leave_short(o);
        if (out.list[i].kind == SFID__DO_ADOPT && !w.calm && (w.faults & 1u << NO_RECORD) &&
            chance(100)) {
            figures.unfit++;
            figures.moves_unfit += o->asked.kind == SFID__DO_RENEW;
            step(o, (struct sfid__lease_event){.kind = SFID__LEASE_UNFIT});
            return;
        }
        carry_out(o, &out.list[i]);
        adopts |= out.list[i].kind == SFID__DO_ADOPT;
    }
    if (adopts && !w.broken)
        step(o, (struct sfid__lease_event){.kind = SFID__LEASE_ADOPTED,
                                           .limit = o->page.limit,
                                           .sure = !chance(w.unsure_rate)});
}

/* R13. All that the other copy has is void; a restart finds the record void, too. */
static void notice(struct owner *o) {
    note(o, "notices that it is a copy", o->page.pid, o->machine.token, o->machine.move_token, 0);
    o->both_have[0] = o->machine.token;
    o->both_have[1] = o->machine.move_token;
    o->question = 0;
    o->found_token = 0; /* void as well */
    o->move_want = 0;
    if (o->machine.state != SFID__LEASE_HELD)
        o->want = ++w.wants;
    figures.noticed++;
    step(o, (struct sfid__lease_event){.kind = SFID__LEASE_COPIED});
    o->notices = o->phase != UP; /* it died meanwhile: the next one notices it as well */
}

/* What a process that ends leaves: what it had, if nothing was written of a release; nothing, once
 * its pid is another's. */
static void leave_again(struct owner *o, const struct reply *r) {
    struct page *p = &o->page;
    if (o->asked.kind == SFID__DO_RELEASE && r->unwritten) {
        p->left = o->may_leave;
        o->released = lease_info(p->token)->released = false;
        figures.left_again += p->left;
    } else if (o->asked.kind == SFID__DO_RENEW &&
               (r->answer == SFID__LOST || r->answer == SFID__FOREIGN)) {
        p->left = false;
    }
}

/* The question under way is over: with an answer, or because its time is. */
static void hear(struct owner *o, const struct reply *r) {
    o->question = 0;
    figures.answers++;
    if (r->answer == SFID__FAILED && (w.calm || chance(500)))
        o->server = w.master;
    note(o, "hears", r->answer, r->pid, r->floor, r->limit);
    if (o->phase == LEAVING)
        leave_again(o, r);
    o->hears_lost =
        (r->answer == SFID__LOST || r->answer == SFID__FOREIGN) && o->asked.kind == SFID__DO_RENEW;
    if (o->hears_lost && r->answer == SFID__FOREIGN) {
        o->foreign_token = o->page.token;
        figures.strangers_met++;
    }
    step(o, (struct sfid__lease_event){.kind = SFID__LEASE_ANSWER,
                                       .answer = r->answer,
                                       .pid = r->pid,
                                       .floor = r->floor,
                                       .limit = r->limit,
                                       .start = r->start,
                                       .after_ms = r->after_ms});
    o->hears_lost = false;
    if (o->asks_first && o->machine.opened) { /* with an answer, or without */
        figures.unasked += !o->told;
        o->told = o->may_not_give_up = true;
        o->asks_first = false;
    }
}

/* ---- a process begins, lives, leaves --------------------------------------- */

/* From its page where that is open; else anew. A child that takes over has the machine as it was at
 * the fork. */
static void start(struct owner *o, bool takes_over) {
    o->phase = UP;
    o->life = ++w.lives;
    o->question = 0;
    o->stopped_till = 0;
    o->lost_token = o->found_token = o->answered_nonce = o->foreign_token = o->move_want = 0;
    o->both_have[0] = o->both_have[1] = 0;
    if (o->notices)
        o->page.open = o->notices = false;
    o->released = o->gave_up = o->poked = o->asks_first = o->may_leave = false;
    o->server = chance(800) ? w.master : 1 - w.master;
    if (takes_over)
        o->machine = o->forked;
    else
        sfid__lease_init(&o->machine, &w.terms);
    o->told = o->machine.told;
    o->lost_told = o->machine.lost;
    o->may_not_give_up = o->machine.opened;
    o->has_child = false;
    o->sends_allowed_ms = 12 * w.terms.retry_first_ms;
    o->last_step_ms = w.now;
    struct page *p = &o->page;
    if (p->there && p->left && chance(900)) {
        p->open = true; /* a record of its own */
        figures.succeeded++;
    }
    p->left = false;
    if (!p->there || !p->open || (p->limit <= tick_of(host_ms(o)) && chance(500))) {
        o->want = ++w.wants;
        note(o, "opens", 0, 0, 0, 0);
        step(o, (struct sfid__lease_event){.kind = SFID__LEASE_OPEN,
                                           .start = w.terms.pid_min + below(PIDS)});
        return;
    }
    /* otherwise a lock proves the right to the pid */
    const bool asks = !takes_over && w.terms.testifies;
    figures.restarts++;
    o->told = o->may_not_give_up = !asks;
    o->asks_first = asks;
    o->found_token = p->token;
    note(o, takes_over ? "takes over" : "goes on", p->pid, p->token, p->nonce, p->next_nonce);
    step(o, (struct sfid__lease_event){
                .kind = SFID__LEASE_RESUME,
                .pid = p->pid,
                .limit = p->limit,
                .token = p->token,
                .nonce = p->nonce,
                .next_nonce = p->next_nonce,
                .cold = asks,
                .warm = asks && p->limit > SFID__MAX(tick_of(host_ms(o)), p->word / SEQUENCE),
                .start = w.terms.pid_min + below(PIDS)});
    if (w.terms.testifies && o->phase == UP && o->question == 0)
        broken(RESTART, "owner %u found a lease and asks nobody", place_of(o));
    check_window(o);
}

/* Nobody closes during a question: it is given up first. */
static void leave(struct owner *o) {
    struct page *p = &o->page;
    if (o->question)
        hear(o, &(struct reply){.answer = SFID__FAILED});
    note(o, "leaves", p->pid, p->token, p->word, p->limit);
    p->left = o->may_leave = p->open && w.terms.testifies && o->machine.state == SFID__LEASE_HELD &&
                             p->token == o->machine.token &&
                             p->limit > SFID__MAX(tick_of(host_ms(o)), p->word / SEQUENCE);
    figures.left += p->left;
    p->open = false;
    o->phase = LEAVING;
    o->leaving_till = w.now + 1000;
    figures.closes++;
    step(o, (struct sfid__lease_event){.kind = SFID__LEASE_CLOSE,
                                       .position = (p->word + SEQUENCE - 1) / SEQUENCE});
}

/* What an ended machine is told by a careless caller changes nothing. */
static void disturb(struct owner *o) {
    static const enum sfid__lease_event_kind kinds[] = {
        SFID__LEASE_OPEN,  SFID__LEASE_RESUME, SFID__LEASE_WAKE, SFID__LEASE_ADOPTED,
        SFID__LEASE_UNFIT, SFID__LEASE_COPIED, SFID__LEASE_CLOSE};
    const struct page *p = &o->page;
    step(o, (struct sfid__lease_event){.kind = kinds[below(7)],
                                       .pid = p->pid,
                                       .limit = p->limit,
                                       .token = p->token,
                                       .nonce = p->nonce,
                                       .sure = chance(500),
                                       .position = p->word / SEQUENCE});
}

static void live(struct owner *o) {
    if (is_stopped(o) || o->phase == NOBODY || o->phase == DOWN)
        return;
    if (o->notices && o->phase == UP) {
        notice(o);
    } else if (o->phase == LEAVING && w.now > o->leaving_till) {
        o->phase = DOWN;
        o->question = 0;
    } else if (o->question) {
        if (w.now - o->sent_ms > w.patience_ms || (!w.calm && chance(5)))
            /* its time is over, or the connection broke */
            hear(o, &(struct reply){.answer = SFID__FAILED});
    } else if (o->phase == LEAVING) {
        if (!w.calm && chance(300))
            disturb(o);
        else
            o->phase = DOWN;
    } else if (o->gave_up && chance(200)) {
        leave(o);
    } else if (w.now >= o->asleep_till || o->poked || chance(20)) {
        const bool poked = o->poked;
        o->poked = false;
        step(o, (struct sfid__lease_event){.kind = SFID__LEASE_WAKE, .poked = poked});
    }
}

#endif
