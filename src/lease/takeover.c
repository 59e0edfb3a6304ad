/* SPDX-License-Identifier: MIT */
#include "lease/takeover.h"

#include "draw/record.h"
#include "lease/grant.h"
#include "lease/nonces.h"
#include "lease/share.h"

void sfid__takeover_show(struct sfid__holder *h, struct sfid__lease_action *a) {
    struct sfid__record *r = sfid__holder_last_record(h);
    const struct sfid__nonces shown = sfid__nonces_show(r, a->next_nonce);
    /* Behind the nonces: the limit that came with the answered one is there. */
    sfid__lease_follow(&h->lease, shown.answered, shown.next, sfid__grant_limit(r));
    a->nonce = shown.answered;
    a->next_nonce = shown.next;
    a->limit = h->lease.limit;
}

/* A pid that was granted, and is not to be used: nothing was issued from it, and its record, if
 * there is one, is closed. */
static void give_back(struct sfid__holder *h, struct sfid__lease_action lease) {
    struct sfid__error ignored;
    lease.deadline_ms = h->now_ms + h->store->exchange_ms;
    h->store->ops->release(h->store, &lease, &ignored);
}

/* True if the pair that was shown is not the record's any more: the server was shown a later
 * one. */
static bool is_outdated(const struct sfid__holder *h, const struct sfid__lease_action *a) {
    const struct sfid__nonces now = sfid__nonces_of(sfid__holder_last_record(h));
    return now.answered != a->nonce || now.next != a->next_nonce;
}

/* An answer to a keeper that does not count any more. */
static bool late_answer(struct sfid__holder *h, const struct sfid__lease_action *a,
                        const struct sfid__lease_event *e) {
    const bool claims = a->kind == SFID__DO_CLAIM;
    if (e->answer == SFID__GRANTED && !claims)
        return true;
    const struct sfid__lease_action granted = {.pid = e->pid,
                                               .token = claims ? a->token : a->move_token,
                                               .nonce = claims ? a->nonce : a->move_nonce,
                                               .floor = e->floor,
                                               .limit = e->limit};
    if (e->answer == SFID__GRANTED || e->answer == SFID__SWITCHED)
        give_back(h, granted);
    else if (e->answer == SFID__FOREIGN)
        /* R12; the other keeper is only told that the pid is lost */
        sfid__record_close(sfid__holder_last_record(h));
    return false;
}

bool sfid__takeover_counts(struct sfid__holder *h, const struct sfid__lease_action *a,
                           const struct sfid__lease_event *e) {
    bool counts = true;
    /* the last one is alone */
    if (!sfid__holder_shares_lease(h) || !h->lease.opened || h->lease.state == SFID__LEASE_ENDED)
        return true;
    if (e->kind == SFID__LEASE_UNFIT && sfid__share_is_replaced(h)) {
        give_back(h, *a);
        counts = false;
    } else if (e->kind == SFID__LEASE_COPIED) {
        counts = !sfid__holder_is_late(h); /* the one that counts notices it, too */
    } else if (e->kind == SFID__LEASE_ANSWER) {
        counts = !sfid__holder_is_late(h) || late_answer(h, a, e);
        if (e->answer == SFID__LOST && a->kind == SFID__DO_RENEW && is_outdated(h, a))
            counts = false;
    }
    if (!counts)
        sfid__holder_unfollow(h);
    return counts;
}
