/* SPDX-License-Identifier: MIT */
/*
 * nonces.h - the nonces of a lease that several keepers renew, one after another.
 *
 * They form a chain in the record: each renewal shows two neighbours, the last
 * one answered and the next one. A keeper that was stopped may come late with a
 * store or a question at any time. So the chain grows by compare-and-swap alone,
 * and all keepers show what stands there:
 *
 *     (n, 0)  n was answered
 *     (n, x)  x is shown, or about to be; every keeper shows this pair
 *     (x, x)  x was answered, and the second word is not cleared yet
 *     (x, 0)
 *
 * The server has n or x at (n, x), and x at (x, 0). So it accepts what the
 * record shows, and a keeper that is late shows an older pair: it is LOST for
 * that one alone. No nonce is ever made twice, so no pair comes back.
 */
#ifndef SFID_LEASE_NONCES_H
#define SFID_LEASE_NONCES_H

#include "draw/page.h"

struct sfid__nonces {
    uint64_t answered, next;
};

/* What a renewal has to show. If none is under way, fresh becomes the next one. R3: it is noted
 * when this returns. */
struct sfid__nonces sfid__nonces_show(struct sfid__record *r, uint64_t fresh);

/* The nonce `next` was answered. The limit that was granted with it has been raised before. */
void sfid__nonces_answered(struct sfid__record *r, uint64_t next);

/* The pair that the record has. next is 0 if none is under way. */
struct sfid__nonces sfid__nonces_of(const struct sfid__record *r);

#endif
