/* SPDX-License-Identifier: MIT */
#include "lease/nonces.h"

/*
 * Acquire, with the release halves below: a keeper that finds a nonce answered also finds the limit
 * raised that came with it, and the first word is read before the second.
 */
static uint64_t seen(const _Atomic uint64_t *p) {
    return atomic_load_explicit(p, memory_order_acquire);
}

/* Acq_rel, with seen(). */
static bool swap(_Atomic uint64_t *p, uint64_t from, uint64_t to) {
    return atomic_compare_exchange_strong_explicit(p, &from, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

struct sfid__nonces sfid__nonces_of(const struct sfid__record *r) {
    for (;;) {
        const uint64_t n = seen(&r->nonce), x = seen(&r->next_nonce);
        if (seen(&r->nonce) == n) /* so x stood beside it: no nonce comes back */
            return (struct sfid__nonces){n, x == n ? 0 : x};
    }
}

struct sfid__nonces sfid__nonces_show(struct sfid__record *r, uint64_t fresh) {
    for (;;) {
        const struct sfid__nonces now = sfid__nonces_of(r);
        if (now.next != 0)
            return now;
        /* From the moment that fresh stands there, the first word changes to fresh alone. */
        if (swap(&r->next_nonce, 0, fresh) || swap(&r->next_nonce, now.answered, fresh))
            return (struct sfid__nonces){seen(&r->nonce), fresh};
    }
}

void sfid__nonces_answered(struct sfid__record *r, uint64_t next) {
    for (uint64_t n; (n = seen(&r->nonce)) != next;)
        if (seen(&r->next_nonce) != next) /* it was noted as answered, and others came since */
            return;
        else if (swap(&r->nonce, n, next))
            break;
    swap(&r->next_nonce, next, 0);
}
