/* SPDX-License-Identifier: MIT */
/*
 * orders.h - the places in src and include whose memory order is stronger than
 * relaxed: a name for the programs beside this file, the file, which one of the
 * same text there, and the text. orders.c reads the order in it, and compares
 * this list with the sources.
 */
#ifndef SFID_MODEL_ORDERS_H
#define SFID_MODEL_ORDERS_H

#include "weak.h"

/* clang-format off */
#define PLACES(X) \
    X(inline_record, "include/sfid/inline.h", 1, "__atomic_load_n(&head->record, __ATOMIC_ACQUIRE)") \
    X(inline_limit, "include/sfid/inline.h", 1, "__atomic_load_n(&r->limit, __ATOMIC_ACQUIRE)") \
    X(inline_lane_record, "include/sfid/inline.h", 1, "__atomic_load_n(head->record, __ATOMIC_ACQUIRE)") \
    X(inline_lane_limit, "include/sfid/inline.h", 2, "__atomic_load_n(&r->limit, __ATOMIC_ACQUIRE)") \
    X(users_leave, "src/api/handle.h", 1, "atomic_fetch_sub_explicit(&g->generator.users, 1, memory_order_release)") \
    X(users_enter, "src/api/handle.h", 1, \
      "atomic_compare_exchange_weak_explicit(&g->generator.users, &users, next, memory_order_seq_cst, memory_order_relaxed)") \
    X(cold_enter, "src/api/handle.h", 1, "atomic_load_explicit(&g->generator.cold, memory_order_seq_cst)") \
    X(mover_fails, "src/api/open.c", 1, "atomic_store_explicit(&cold->mover, 0, memory_order_release)") \
    X(mover_seen, "src/api/open.c", 1, "atomic_load_explicit(&cold->mover, memory_order_acquire)") \
    X(mover_take, "src/api/open.c", 1, \
      "atomic_compare_exchange_strong_explicit(&cold->mover, &mover, us, memory_order_acquire, memory_order_relaxed)") \
    X(mover_none, "src/api/open.c", 2, "atomic_store_explicit(&cold->mover, 0, memory_order_release)") \
    X(users_alone, "src/api/open.c", 1, "atomic_load_explicit(&g->generator.users, memory_order_seq_cst)") \
    X(closed_bury, "src/api/open.c", 1, \
      "atomic_compare_exchange_weak_explicit(&closed_handles, &g->next_closed, g, memory_order_release, memory_order_relaxed)") \
    X(next_walk, "src/api/handle.h", 1, "atomic_load_explicit(&at->crowd.next, memory_order_acquire)") \
    X(cold_callback, "src/api/open.c", 1, "atomic_load_explicit(&g->generator.cold, memory_order_acquire)") \
    X(cold_close, "src/api/open.c", 2, "atomic_load_explicit(&g->generator.cold, memory_order_acquire)") \
    X(cold_take, "src/api/open.c", 1, \
      "atomic_compare_exchange_strong_explicit(&g->generator.cold, &cold, NULL, memory_order_seq_cst, memory_order_relaxed)") \
    X(record_status, "src/api/status.c", 1, "atomic_load_explicit(sfid__record_at(&g->generator), memory_order_acquire)") \
    X(failure_get, "src/api/status.c", 1, "atomic_load_explicit(&cold->keeper.failure_code, memory_order_acquire)") \
    X(alive_note_after, "src/base/alive.c", 1, "atomic_signal_fence(memory_order_seq_cst)") \
    X(alive_note_before, "src/base/alive.c", 2, "atomic_signal_fence(memory_order_seq_cst)") \
    X(alive_take, "src/base/alive.c", 1, \
      "atomic_compare_exchange_strong_explicit(word, &seen, us, memory_order_acquire, memory_order_relaxed)") \
    X(alive_leave, "src/base/alive.c", 1, \
      "atomic_compare_exchange_strong_explicit(word, &us, 0, memory_order_release, memory_order_relaxed)") \
    X(alive_look, "src/base/alive.h", 1, "atomic_load_explicit(word, memory_order_acquire)") \
    X(stop_clock, "src/base/clock.c", 1, "atomic_load_explicit(d->stop, memory_order_acquire)") \
    X(kind_set, "src/base/keyed.c", 1, "atomic_store_explicit(&key->kind, kind, memory_order_release)") \
    X(kind_get, "src/base/keyed.c", 1, "atomic_load_explicit(&key->kind, memory_order_acquire)") \
    X(key_get, "src/base/keyed.c", 1, "atomic_load_explicit(&own_key, memory_order_acquire)") \
    X(key_set, "src/base/keyed.c", 1, "atomic_store_explicit(&own_key, key, memory_order_release)") \
    X(own_get, "src/base/process.c", 1, "atomic_load_explicit(&page, memory_order_acquire)") \
    X(own_set, "src/base/process.c", 1, \
      "atomic_compare_exchange_strong_explicit(&page, &p, fresh, memory_order_acq_rel, memory_order_acquire)") \
    X(family_get, "src/base/watch.c", 1, "atomic_load_explicit(&family, memory_order_acquire)") \
    X(family_set, "src/base/watch.c", 1, \
      "atomic_compare_exchange_strong_explicit(&family, &none, fresh, memory_order_acq_rel, memory_order_relaxed)") \
    X(number_get, "src/base/watch.c", 1, "atomic_load_explicit(&w->number, memory_order_acquire)") \
    X(number_next, "src/base/watch.c", 1, "atomic_fetch_add_explicit(&w->number, 1, memory_order_release)") \
    X(bell_ring, "src/base/watch.c", 1, \
      "atomic_compare_exchange_weak_explicit(&w->bell, &rung, next, memory_order_release, memory_order_relaxed)") \
    X(bell_ring_all, "src/base/watch.c", 1, "atomic_exchange_explicit(&w->bell, SFID__WATCH_ALL, memory_order_release)") \
    X(bell_hear, "src/base/watch.c", 1, "atomic_exchange_explicit(&w->bell, 0, memory_order_acquire)") \
    X(record_full, "src/draw/crowd.c", 1, "atomic_load_explicit(sfid__record_at(g), memory_order_acquire)") \
    X(last_get, "src/draw/crowd.c", 1, "atomic_load_explicit(&c->last, memory_order_seq_cst)") \
    X(last_raise, "src/draw/crowd.c", 1, \
      "atomic_compare_exchange_weak_explicit(&c->last, &last, tick, memory_order_seq_cst, memory_order_seq_cst)") \
    X(next_look, "src/draw/crowd.c", 1, "atomic_load_explicit(&c->next, memory_order_seq_cst)") \
    X(move_from, "src/draw/crowd.c", 1, "atomic_thread_fence(memory_order_seq_cst)") \
    X(from_set, "src/draw/crowd.c", 1, \
      "atomic_compare_exchange_strong_explicit(&next->crowd.from, &open, from, memory_order_release, memory_order_relaxed)") \
    X(next_front, "src/draw/crowd.c", 1, "atomic_load_explicit(&g->crowd.next, memory_order_acquire)") \
    X(next_set, "src/draw/crowd.c", 1, "atomic_store_explicit(&g->crowd.next, next, memory_order_release)") \
    X(next_skip, "src/draw/generator.h", 1, "atomic_load_explicit(&g->crowd.next, memory_order_acquire)") \
    X(record_hot, "src/draw/hot.c", 1, "atomic_load_explicit(out ? &g->wide_record : &g->record, memory_order_acquire)") \
    X(record_tick, "src/draw/hot.c", 1, "atomic_load_explicit(&c->record, memory_order_acquire)") \
    X(last_tick, "src/draw/hot.c", 1, "atomic_load_explicit(&c->last, memory_order_seq_cst)") \
    X(limit_tick, "src/draw/hot.c", 1, "atomic_load_explicit(&r->limit, memory_order_acquire)") \
    X(next_tick, "src/draw/hot.c", 1, "atomic_load_explicit(&c->next, memory_order_seq_cst)") \
    X(limit_hot, "src/draw/hot.c", 2, "atomic_load_explicit(&r->limit, memory_order_acquire)") \
    X(record_many, "src/draw/hot.c", 1, "atomic_load_explicit(wide ? &g->wide_record : &g->record, memory_order_acquire)") \
    X(limit_many, "src/draw/hot.c", 3, "atomic_load_explicit(&r->limit, memory_order_acquire)") \
    X(record_batch, "src/draw/hot.c", 1, "atomic_load_explicit(&g->record, memory_order_acquire)") \
    X(limit_batch, "src/draw/hot.c", 4, "atomic_load_explicit(&r->limit, memory_order_acquire)") \
    X(record_start, "src/draw/hot.c", 1, "atomic_store_explicit(sfid__record_at(g), r, memory_order_release)") \
    X(record_stop, "src/draw/hot.c", 1, "atomic_exchange_explicit(sfid__record_at(g), &sfid__no_record, memory_order_acquire)") \
    X(record_lane, "src/draw/lane.c", 1, "atomic_load_explicit(lane->record, memory_order_acquire)") \
    X(limit_lane, "src/draw/lane.c", 1, "atomic_load_explicit(&r->limit, memory_order_acquire)") \
    X(pages_get, "src/draw/memory.c", 1, "atomic_load_explicit(&pages, memory_order_acquire)") \
    X(pages_add, "src/draw/memory.c", 1, \
      "atomic_compare_exchange_weak_explicit(&pages, &head, fresh, memory_order_acq_rel, memory_order_acquire)") \
    X(memory_take, "src/draw/memory.c", 1, \
      "atomic_compare_exchange_strong_explicit(&found->in_use, &idle, 1, memory_order_acq_rel, memory_order_relaxed)") \
    X(memory_leave, "src/draw/memory.c", 1, "atomic_store_explicit(&memory->in_use, 0, memory_order_release)") \
    X(current_live, "src/draw/page.c", 1, "atomic_load_explicit(&page->current, memory_order_acquire)") \
    X(poke_set, "src/draw/page.c", 1, "atomic_exchange_explicit(&page->poke, 1, memory_order_acq_rel)") \
    X(news_raise, "src/draw/page.c", 1, "atomic_fetch_add_explicit(&page->news, 1, memory_order_release)") \
    X(current_get, "src/draw/page.h", 1, "atomic_load_explicit(&page->current, memory_order_acquire)") \
    X(word_close, "src/draw/record.c", 1, "atomic_fetch_or_explicit(&r->word, SFID__CLOSED, memory_order_acq_rel)") \
    X(limit_raise, "src/draw/record.c", 1, \
      "atomic_compare_exchange_weak_explicit(&r->limit, &seen, limit, memory_order_release, memory_order_relaxed)") \
    X(nonce_note, "src/draw/record.c", 1, "atomic_store_explicit(&r->nonce, nonce, memory_order_release)") \
    X(next_note, "src/draw/record.c", 1, "atomic_store_explicit(&r->next_nonce, next_nonce, memory_order_release)") \
    X(current_append, "src/draw/record.c", 1, "atomic_store_explicit(&page->current, count, memory_order_release)") \
    X(current_replace, "src/draw/record.c", 1, \
      "atomic_compare_exchange_strong_explicit(&page->current, &current, i, memory_order_release, memory_order_relaxed)") \
    X(resting_get, "src/draw/wait.c", 1, "atomic_load_explicit(&g->page->resting, memory_order_acquire)") \
    X(closed_fence, "src/draw/slow.c", 1, "atomic_thread_fence(memory_order_acquire)") \
    X(record_newest, "src/draw/slow.c", 1, \
      "atomic_compare_exchange_strong_explicit(sfid__record_at(g), &seen, current, memory_order_acq_rel, memory_order_relaxed)") \
    X(hi_get, "src/draw/slow.c", 1, "atomic_load_explicit(&v->r->hi, memory_order_acquire)") \
    X(limit_look, "src/draw/slow.c", 1, "atomic_load_explicit(&v->r->limit, memory_order_acquire)") \
    X(news_look, "src/draw/slow.c", 1, "atomic_load_explicit(&g->page->news, memory_order_acquire)") \
    X(record_look, "src/draw/slow.c", 1, "atomic_load_explicit(sfid__record_at(g), memory_order_acquire)") \
    X(hi_raise, "src/draw/slow.c", 1, "raise(&v->r->hi, v->clock, memory_order_release)") \
    X(word_settle, "src/draw/slow.c", 1, "atomic_load_explicit(&v->r->word, memory_order_acquire)") \
    X(from_get, "src/draw/slow.c", 1, "atomic_load_explicit(&g->crowd.from, memory_order_acquire)") \
    X(record_glance, "src/draw/slow.c", 2, "atomic_load_explicit(sfid__record_at(g), memory_order_acquire)") \
    X(ticks_lock, "src/draw/ticks.c", 1, \
      "atomic_compare_exchange_strong_explicit(&t->lock, &owner, self, memory_order_acquire, memory_order_relaxed)") \
    X(ticks_unlock_late, "src/draw/ticks.c", 1, "atomic_store_explicit(&t->lock, 0, memory_order_release)") \
    X(end_set, "src/draw/ticks.c", 1, \
      "atomic_store_explicit(&t->end, count + left - left / MARGIN_DIVISOR - MARGIN_COUNTS, memory_order_release)") \
    X(ticks_unlock, "src/draw/ticks.c", 2, "atomic_store_explicit(&t->lock, 0, memory_order_release)") \
    X(end_get, "src/draw/ticks.h", 1, "atomic_load_explicit(&t->end, memory_order_acquire)") \
    X(mappings_get, "src/host/mapping.c", 1, "atomic_load_explicit(&mappings[nonce % BUCKETS], memory_order_acquire)") \
    X(mapping_take, "src/host/mapping.c", 1, \
      "atomic_compare_exchange_strong_explicit(&m->in_use, &idle, 1, memory_order_acq_rel, memory_order_relaxed)") \
    X(mappings_add, "src/host/mapping.c", 1, \
      "atomic_compare_exchange_weak_explicit(bucket, &m->next, m, memory_order_release, memory_order_relaxed)") \
    X(mapping_leave, "src/host/mapping.c", 1, "atomic_store_explicit(&m->in_use, 0, memory_order_release)") \
    X(crew_get, "src/lease/crew.c", 1, "atomic_load_explicit(&latest, memory_order_acquire)") \
    X(crew_add, "src/lease/crew.c", 1, \
      "atomic_compare_exchange_weak_explicit(&latest, &fresh->older, fresh, memory_order_acq_rel, memory_order_acquire)") \
    X(reign_late, "src/lease/holder_parts.h", 1, "atomic_load_explicit(&h->slot.page->reign, memory_order_acquire)") \
    X(stop_rest, "src/lease/keeper.c", 1, "atomic_load_explicit(&k->stop, memory_order_acquire)") \
    X(reign_get, "src/lease/keeper.c", 1, "atomic_load_explicit(&page->reign, memory_order_acquire)") \
    X(stop_run, "src/lease/keeper.c", 2, "atomic_load_explicit(&k->stop, memory_order_acquire)") \
    X(poke_thread, "src/lease/keeper.c", 1, "atomic_exchange_explicit(&page->poke, 0, memory_order_acq_rel)") \
    X(reign_set, "src/lease/keeper.c", 1, \
      "atomic_compare_exchange_strong_explicit(&page->reign, &reign, mine, memory_order_acq_rel, memory_order_relaxed)") \
    X(stop_attend, "src/lease/keeper.c", 3, "atomic_load_explicit(&k->stop, memory_order_acquire)") \
    X(owner_ended, "src/lease/keeper.c", 1, \
      "atomic_store_explicit(&k->owner, sfid__keeper_own() | SFID__KEEPER_ENDED, memory_order_release)") \
    X(owner_made, "src/lease/keeper.c", 1, "atomic_load_explicit(&k->owner, memory_order_acquire)") \
    X(owner_start, "src/lease/keeper.c", 1, \
      "atomic_compare_exchange_strong_explicit(&k->owner, &owner, us | SFID__KEEPER_STARTING, memory_order_acq_rel, memory_order_relaxed)") \
    X(owner_idle, "src/lease/keeper.c", 1, "atomic_store_explicit(&k->owner, us | SFID__KEEPER_IDLE, memory_order_release)") \
    X(owner_runs, "src/lease/keeper.c", 1, \
      "atomic_compare_exchange_strong_explicit(&k->owner, &starting, us | SFID__KEEPER_RUNNING, memory_order_acq_rel, memory_order_relaxed)") \
    X(owner_stop, "src/lease/keeper.c", 2, "atomic_load_explicit(&k->owner, memory_order_acquire)") \
    X(stop_set, "src/lease/keeper.c", 1, "atomic_store_explicit(&k->stop, 1, memory_order_release)") \
    X(watch_get, "src/lease/keeper_berth.c", 1, "atomic_load_explicit(&page->watch, memory_order_acquire)") \
    X(watch_take, "src/lease/keeper_berth.c", 1, \
      "atomic_compare_exchange_strong_explicit(&page->watch, &seen, watch | SFID__IN_TURN, memory_order_acq_rel, memory_order_relaxed)") \
    X(watch_pass, "src/lease/keeper_berth.c", 1, \
      "atomic_compare_exchange_strong_explicit(&k->generator->page->watch, &from, to, memory_order_acq_rel, memory_order_relaxed)") \
    X(poke_berth, "src/lease/keeper_berth.c", 1, "atomic_exchange_explicit(&page->poke, 0, memory_order_acq_rel)") \
    X(stop_turn, "src/lease/keeper_berth.c", 1, "atomic_load_explicit(&k->stop, memory_order_acquire)") \
    X(owner_left, "src/lease/keeper_berth.c", 1, \
      "atomic_store_explicit(&k->owner, sfid__keeper_own() | SFID__KEEPER_ENDED, memory_order_release)") \
    X(failure_set, "src/lease/keeper_tell.c", 1, "atomic_store_explicit(&k->failure_code, code, memory_order_release)") \
    X(resting_set, "src/lease/keeper_tell.c", 1, "atomic_store_explicit(&page->resting, resting, memory_order_release)") \
    X(nonce_get, "src/lease/nonces.c", 1, "atomic_load_explicit(p, memory_order_acquire)") \
    X(nonce_swap, "src/lease/nonces.c", 1, \
      "atomic_compare_exchange_strong_explicit(p, &from, to, memory_order_acq_rel, memory_order_acquire)") \
    X(text_fence, "src/lease/shared_text.c", 1, "atomic_thread_fence(memory_order_release)") \
    X(text_even, "src/lease/shared_text.c", 1, "atomic_store_explicit(&text->version, version + 1, memory_order_release)") \
    X(text_before, "src/lease/shared_text.c", 1, "atomic_load_explicit(&text->version, memory_order_acquire)") \
    X(text_look, "src/lease/shared_text.c", 1, "atomic_thread_fence(memory_order_acquire)") \
    X(stop_pool, "src/lease/store_pool.c", 1, "atomic_load_explicit(ask->stop, memory_order_acquire)") \
    X(stop_cluster, "src/redis/cluster.c", 1, "atomic_load_explicit(h->q->stop, memory_order_acquire)") \
    X(holders_drop, "src/redis/resolve.c", 1, "atomic_fetch_sub_explicit(&l->holders, 1, memory_order_acq_rel)") \
    X(done_set, "src/redis/resolve.c", 1, "atomic_store_explicit(&l->done, 1, memory_order_release)") \
    X(done_get, "src/redis/resolve.c", 1, "atomic_load_explicit(&l->done, memory_order_acquire)") \
    X(stop_sentinel, "src/redis/sentinel.c", 1, "atomic_load_explicit(x->q->stop, memory_order_acquire)")
/* clang-format on */

enum {
    LAST_ORDER = FIRST_SITE - 1,
#define NAME(name, file, nth, text) name,
    PLACES(NAME)
#undef NAME
        END_OF_SITES
};

enum { SITES = END_OF_SITES - FIRST_SITE };

/* Why a place keeps its order, although every program holds with the weaker one. */
struct why {
    int site;
    int weaker; /* FAILING + the order: of an exchange that fails */
    const char *text;
};

#define FAILING 16

/* orders_draw.c, orders_api.c, orders_lease.c, orders_why.c; each ends with an empty row. */
extern const struct program draw_programs[], api_programs[], lease_programs[];
extern const struct why whys[];

#endif
