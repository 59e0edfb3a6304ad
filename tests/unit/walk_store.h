/* SPDX-License-Identifier: MIT */
/*
 * walk_store.h - the store of the walk: what a server does with a request.
 *
 * All is counted in ticks of the server's clock, read once a request:
 *
 *   - books that are not there, or were written by a server in another role,
 *     are begun anew: a new epoch. In it, unknown pids are handed out from
 *     wait_for on, when every window granted before has ended; and a holder
 *     that shows a limit at or past witness_from, before which nobody else
 *     can have begun, is believed;
 *   - a window granted ends at now + window, or where it ended before. A
 *     claim's is a first window, and a short pid is never granted another;
 *     so wait_for of the short pids comes sooner;
 *   - who holds a short pid may ask for an ordinary one with a renewal. It is
 *     granted as to a claim, and the short one keeps its limit; only the new
 *     nonce is written, so that a copy is found out here as well;
 *   - a pid that a stranger has is granted to nobody and not renewed;
 *   - a pid that was given back is free from the tick that its holder named.
 *
 * A superseded master goes on granting for a while: as long as its clock is no
 * further than spread_ms past the first contact of its successor. That and
 * what the clocks of the servers differ make up the skew that is allowed for.
 */
#ifndef SFID_TESTS_WALK_STORE_H
#define SFID_TESTS_WALK_STORE_H

#include "walk.h"

static int64_t window_ms(void) { return (int64_t)w.terms.window * UNIT_MS; }

static int64_t first_window_ms(void) { return (int64_t)w.terms.first_window * UNIT_MS; }

static bool is_short(uint64_t pid) {
    return w.terms.short_every != 0 && pid % w.terms.short_every == w.terms.short_every - 1;
}

static int64_t window_ms_of(uint64_t pid) {
    return is_short(pid) ? first_window_ms() : window_ms();
}

static int64_t clock_of(unsigned server) { return w.now + w.server[server].offset_ms; }

static void begin_epoch(struct server *s, int64_t now) {
    s->books = (struct books){.there = true,
                              .incarnation = s->incarnation,
                              .wait_for = {tick_of(now + window_ms() + w.skew_ms) + 1,
                                           tick_of(now + first_window_ms() + w.skew_ms) + 1},
                              .witness_from = tick_of(now + w.skew_ms) + 1};
    figures.epochs++;
    trace(-1, "new epoch: q, g", s->books.wait_for[0], s->books.witness_from, figures.epochs,
          (uint64_t)(s - w.server));
}

/* A request is late when its sender does not wait for it any more. */
static bool is_late(const struct message *m) {
    const struct owner *o = &w.owner[m->owner];
    return o->life != m->life || o->question != m->question;
}

static void write_entry(struct books *b, const struct message *m, uint64_t pid, uint64_t limit,
                        uint64_t nonce) {
    b->entry[pid] =
        (struct entry){HELD_ENTRY, limit, m->request.token, nonce, 0, is_late(m), false};
    struct lease_info *lease = lease_info(m->request.token);
    lease->granted[pid] = SFID__MAX(lease->granted[pid], limit);
}

/* ---- claim ----------------------------------------------------------------- */

static uint64_t width_of_range(void) { return w.terms.pid_max - w.terms.pid_min + 1; }

/* How many pids a claim looks at before this one; the ordinary ones come first. */
static uint64_t turn_of(const struct request *r, uint64_t pid) {
    const uint64_t width = width_of_range();
    return (pid - w.terms.pid_min + width - r->start % width) % width + (is_short(pid) ? width : 0);
}

static bool is_strangers(uint64_t pid) { return w.now < w.stranger_till[pid]; }

/* R6: whatever attempts it took, one pid. Where one before it became free in between, the store
 * itself takes a second. */
static void check_taken(const struct books *b, const struct request *r, uint64_t pid) {
    const uint64_t want = lease_info(r->token)->want;
    for (uint64_t other = 0; other < PIDS; other++) {
        const struct entry *e = &b->entry[other];
        if (other == pid || e->state != HELD_ENTRY || lease_info(e->token)->want != want)
            continue;
        if (e->token == r->token &&
            (turn_of(r, pid) < turn_of(r, other) || is_strangers(other) || is_short(other)))
            figures.second_pids++;
        else
            broken(TWO_TAKEN, "pid %" PRIu64 " was granted to who has pid %" PRIu64 " already", pid,
                   other);
    }
}

/* Whether a pid can be had, and from when on; *soon gets the tick at which it can be. */
static bool fits(const struct books *b, const struct request *r, uint64_t pid, uint64_t now,
                 uint64_t *floor, uint64_t *limit, uint64_t *soon) {
    const struct entry *e = &b->entry[pid];
    uint64_t from = b->wait_for[is_short(pid)];
    *floor = now;
    if (e->state == FREE_ENTRY) {
        *floor = SFID__MAX(now, e->limit);
        from = e->limit > 0 ? e->limit - 1 : 0;
    } else if (e->state == HELD_ENTRY && e->token == r->token) {
        *limit = SFID__MAX(*limit, e->limit);
        *floor = e->limit + 1 > w.terms.first_window
                     ? SFID__MAX(now, e->limit - w.terms.first_window + 1)
                     : now;
        return *floor < *limit && !is_strangers(pid);
    } else if (e->state == HELD_ENTRY) {
        from = SFID__MAX(e->limit, from);
    }
    if (is_strangers(pid))
        from = SFID__MAX(from, now + w.terms.window / 3);
    if (now >= from && *floor < *limit)
        return true;
    *soon = SFID__MIN(*soon, SFID__MAX(from, now + 1));
    return false;
}

/* Of one part, the ordinary or the short pids. *reply is written if there is one; else *soon. */
static bool claim_of(struct books *b, const struct message *m, bool of_short, int64_t clock,
                     uint64_t *soon, struct reply *reply) {
    const struct request *r = &m->request;
    const uint64_t width = width_of_range();
    for (uint64_t i = 0; i < width; i++) {
        const uint64_t pid = w.terms.pid_min + (r->start + i) % width;
        uint64_t floor, limit = tick_of(clock + first_window_ms());
        if (is_short(pid) != of_short || !fits(b, r, pid, tick_of(clock), &floor, &limit, soon))
            continue;
        check_taken(b, r, pid);
        struct lease_info *lease = lease_info(r->token);
        lease->floor[pid] = lease->granted[pid] ? SFID__MIN(lease->floor[pid], floor) : floor;
        write_entry(b, m, pid, limit, r->nonce);
        *reply =
            (struct reply){.answer = SFID__GRANTED, .pid = pid, .floor = floor, .limit = limit};
        return true;
    }
    return false;
}

static struct reply claim(struct books *b, const struct message *m, int64_t clock) {
    const bool far_off = llabs(m->request.host_ms - clock) > first_window_ms() / 2;
    uint64_t soon = tick_of(clock) + w.terms.window;
    struct reply reply;
    if (claim_of(b, m, false, clock, &soon, &reply))
        return reply;
    if (!far_off && claim_of(b, m, true, clock, &soon, &reply)) {
        figures.short_claims++;
        return reply;
    }
    return (struct reply){
        .answer = SFID__LATER,
        .after_ms = w.vague ? 1 : (int64_t)((soon - tick_of(clock)) * UNIT_MS) - clock % UNIT_MS,
        .start = w.terms.pid_min + below(width_of_range())};
}

/* ---- renew, release -------------------------------------------------------- */

/* A lost answer is no loss: who has neither been copied nor forgotten nor succeeded is known by one
 * of its nonces. */
static void check_lost(const struct books *b, const struct message *m) {
    const struct entry *e = &b->entry[m->request.pid];
    const struct owner *o = &w.owner[m->owner];
    const struct lease_info *lease = lease_info(m->request.token);
    if (is_late(m) || lease->cloned || lease->strayed || m->request.server != w.master)
        return; /* two masters: neither knows what the other one granted */
    if (m->request.limit != o->page.limit)
        broken(FALSE_LOST, "owner %u testified for limit %" PRIu64 ", and has %" PRIu64, m->owner,
               m->request.limit, o->page.limit);
    if (e->ending) {
        figures.strangers_met++;
    } else if (e->state == NO_ENTRY) {
        figures.gone++;
    } else if (e->state == FREE_ENTRY || e->token != m->request.token) {
        figures.superseded++;
    } else if (e->late && e->nonce < m->request.nonce) {
        figures.set_back++; /* by a request that came after what it had been given up for */
    } else {
        broken(FALSE_LOST,
               "owner %u showed nonces %" PRIx64 " and %" PRIx64 ", the store has %" PRIx64,
               m->owner, m->request.nonce, m->request.next_nonce, e->nonce);
    }
}

static bool is_known(const struct entry *e, const struct request *r) {
    return e->state == HELD_ENTRY && !e->ending && e->token == r->token &&
           (e->nonce == r->nonce || e->nonce == r->next_nonce);
}

/* R2: copies made during a question show the same nonces once; from then on only one of them is
 * known. */
static unsigned check_copies(const struct books *b, const struct message *m) {
    const struct entry *e = &b->entry[m->request.pid];
    const struct lease_info *lease = lease_info(m->request.token);
    if (!lease->cloned || is_late(m) || m->request.next_nonce == lease->shared_nonce)
        return e->renewed;
    if (e->renewed && e->renewed != m->owner + 1)
        broken(BOTH_RENEWED, "owner %u and its copy %u were both renewed", e->renewed - 1,
               m->owner);
    return m->owner + 1;
}

/* Who showed the pid is known by the new nonce from now on. */
static void write_renewal(struct books *b, const struct message *m, uint64_t limit) {
    const struct request *r = &m->request;
    const unsigned renewed = check_copies(b, m);
    write_entry(b, m, r->pid, limit, r->next_nonce);
    b->entry[r->pid].renewed = renewed;
    lease_info(r->token)->strayed = r->server != w.master;
    unsigned *holder = &lease_info(r->token)->holder[r->pid];
    *holder = *holder == OWNERS ? OWNERS : m->owner;
}

/* An ordinary pid in place of a short one, if there is one. The short one is neither renewed nor
 * given back. */
static bool move(struct books *b, const struct message *m, uint64_t kept, int64_t clock,
                 struct reply *reply) {
    struct message as_claim = *m;
    uint64_t soon = UINT64_MAX;
    as_claim.request.token = m->request.move_token;
    as_claim.request.nonce = m->request.move_nonce;
    if (m->request.move_token == 0 || !is_short(m->request.pid) ||
        !claim_of(b, &as_claim, false, clock, &soon, reply))
        return false;
    write_renewal(b, m, kept);
    reply->answer = SFID__SWITCHED;
    figures.moves++;
    return true;
}

static struct reply renew(struct books *b, const struct message *m, int64_t clock) {
    const struct request *r = &m->request;
    const struct entry *e = &b->entry[r->pid];
    struct reply reply;
    if (e->state == NO_ENTRY ? r->limit < b->witness_from : !is_known(e, r)) {
        check_lost(b, m);
        /* Another has the pid inside the holder's window, which must not be used up. */
        const bool others =
            e->state == FREE_ENTRY || (e->state != NO_ENTRY && e->token != r->token);
        return (struct reply){.answer =
                                  others && r->limit > tick_of(clock) ? SFID__FOREIGN : SFID__LOST};
    }
    const uint64_t kept = SFID__MAX(r->limit, e->state == HELD_ENTRY ? e->limit : 0);
    if (is_strangers(r->pid)) {
        write_entry(b, m, r->pid, kept, r->nonce);
        b->entry[r->pid].ending = true;
        return (struct reply){.answer = SFID__FOREIGN};
    }
    if (move(b, m, kept, clock, &reply))
        return reply;
    const uint64_t limit = SFID__MAX(tick_of(clock + window_ms_of(r->pid)), kept);
    write_renewal(b, m, limit);
    return (struct reply){
        .answer = SFID__GRANTED, .pid = r->pid, .floor = r->limit, .limit = limit};
}

static struct reply release(struct books *b, const struct message *m) {
    const struct request *r = &m->request;
    struct entry *e = &b->entry[r->pid];
    /* one that is not there is the only LOST of the port: the others may mean that somebody has the
     * pid */
    if (!is_known(e, r))
        return (struct reply){.answer = e->state == NO_ENTRY ? SFID__LOST : SFID__GRANTED,
                              .unwritten = e->state == NO_ENTRY};
    *e = (struct entry){.state = FREE_ENTRY, .limit = r->position};
    lease_info(r->token)->holder[r->pid] = OWNERS;
    return (struct reply){.answer = SFID__GRANTED};
}

/* ---- one request ----------------------------------------------------------- */

static bool serves(unsigned server) {
    if (server == w.master)
        return true;
    return w.old_serves &&
           (w.first_contact == 0 || clock_of(server) <= w.first_contact + w.spread_ms);
}

static struct reply serve(const struct message *m) {
    const struct request *r = &m->request;
    struct server *s = &w.server[r->server];
    const int64_t clock = clock_of(r->server);
    if (!serves(r->server) || w.now < w.out_till)
        return (struct reply){.answer =
                                  serves(r->server) && w.refuses ? SFID__REFUSED : SFID__FAILED,
                              .unwritten = !w.refuses};
    if (w.max_skew_ms && llabs(r->host_ms - clock) > w.max_skew_ms)
        return (struct reply){.answer = SFID__REFUSED, .unwritten = true};
    if (!s->books.there || s->books.incarnation != s->incarnation)
        begin_epoch(s, clock);
    if (r->server == w.master && w.first_contact == 0)
        w.first_contact = clock;
    figures.late_requests += is_late(m);
    switch (r->kind) {
    case SFID__DO_CLAIM:
        figures.claims++;
        return claim(&s->books, m, clock);
    case SFID__DO_RENEW:
        figures.renewals++;
        return renew(&s->books, m, clock);
    default:
        figures.releases++;
        return release(&s->books, m);
    }
}

#endif
