/* SPDX-License-Identifier: MIT */
/* sfid.c - opening and closing: where the parts are put together. */
#include "handle.h"

#include "fixed_store.h"
#include "layout.h"
#include "options.h"
#include "random.h"
#include "record.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define END_OF_LIFE_MS (INT64_C(5) * 365 * 86400000)

/* Handles that were open once and are closed: kept for late threads, reachable for leak checkers. */
static _Atomic(struct sfid *) closed_handles;

/* ---- open ---------------------------------------------------------------- */

/* A call that may sleep found half of the window gone: see keeper.h. */
static void keeper_wanted(struct sfid__generator *generator) {
    struct sfid *g = (struct sfid *)(void *)generator;
    struct sfid__rest *rest = sfid__rest_enter(g);
    if (rest == NULL)
        return;
    if (!sfid__keeper_runs(&rest->keeper))
        sfid__keeper_start(&rest->keeper); /* failing is fine: the next call tries again */
    sfid__rest_leave(g);
}

static int configure(struct sfid__generator *g, const sfid_options *opt, struct sfid__error *err) {
    const sfid_layout *l = opt->layout;
    g->layout = *l;
    g->clock = &sfid__system_clock;
    if (sfid__layout_in_seconds(l))
        g->source = SFID__TICK_SECONDS;
    else
        g->source = l->unit_ms <= 1000 && sfid__counter_is_good() ? SFID__TICK_COUNTER : SFID__TICK_PRECISE;
    sfid__ticks_init(&g->ticks, l->epoch_ms, l->unit_ms);
    g->exhaustion = opt->exhaustion;
    g->max_wait_ms = opt->max_wait_ms;
    g->max_ahead = sfid__ms_to_ticks(l, opt->max_ahead_ms);
    g->end = sfid__layout_end(l);
    g->random_start = opt->random_start;
    uint64_t seed;
    sfid__random(&seed, sizeof seed);
    atomic_init(&g->random, seed);

    const struct sfid__time now = sfid__now(g->clock);
    if (now.ms < l->epoch_ms)
        return sfid__fail(err, SFID_ECLOCK, "the clock (%" PRId64 " ms) is before the layout's epoch (%" PRId64 " ms)", now.ms,
                          l->epoch_ms);
    if (now.ms >= sfid__tick_begin_ms(l, g->end))
        return sfid__fail(err, SFID_EOVERFLOW, "the layout ended at %" PRId64 " ms, and the clock is at %" PRId64 " ms",
                          sfid__tick_begin_ms(l, g->end), now.ms);
    return 0;
}

static uint64_t clock_tick(const struct sfid__generator *g) {
    const int64_t ms = sfid__now(g->clock).ms - g->layout.epoch_ms;
    return ms < 0 ? 0 : (uint64_t)ms / g->layout.unit_ms; /* configure() saw it past the epoch, but it may be set at any time */
}

/* Where the next number of the pid stands, as far as page and mark know. */
static uint64_t position_of(const struct sfid__grant *grant, const struct sfid__record *r, uint64_t first) {
    /* The page knows it best; where the pid was given back, the mark knows it as well. */
    if (r && !grant->exact)
        return sfid__record_position(r);
    const uint64_t position = SFID__MAX(r ? sfid__record_position(r) : 0, grant->position);
    return position ? position : first;
}

/* A new record on the slot's page, on a new page where that is full. Its window is empty. */
static struct sfid__record *append_record(struct sfid__generator *g, struct sfid__rest *rest, const struct sfid__start *start) {
    struct sfid__slot *slot = &rest->slot;
    if (slot->records == SFID__PAGE_RECORDS && sfid__slot_renew(slot, sfid__layout_fingerprint(&g->layout), &rest->error) < 0)
        return NULL;
    if (sfid__slot_reserve(slot, slot->records, &rest->error) < 0)
        return NULL;
    return sfid__record_append(slot->page, slot->records++, start);
}

/*
 * A record to draw from, on a page that nobody else has: the one where a
 * process died, else a new one at the position where it stopped. The record
 * comes first and its window after, so that whoever dies in between leaves a
 * position that the next one finds.
 */
static int begin_record(struct sfid__generator *g, struct sfid__rest *rest, struct sfid__grant *grant, struct sfid__record **out) {
    struct sfid__slot *slot = &rest->slot;
    const uint64_t now = clock_tick(g);
    struct sfid__record *r = slot->records ? &slot->page->records[slot->records - 1] : NULL;
    const uint64_t position = position_of(grant, r, now << g->layout.seq_bits);
    const uint64_t tick = position >> g->layout.seq_bits;
    /* Relaxed: alone with the page. */
    if (r == NULL || (atomic_load_explicit(&r->word, memory_order_relaxed) & SFID__CLOSED)) {
        const struct sfid__start start = {&g->layout, grant->pid, position, tick, now, g->max_ahead};
        if ((r = append_record(g, rest, &start)) == NULL)
            return rest->error.code;
    } else if (atomic_load_explicit(&r->hi, memory_order_relaxed) > atomic_load_explicit(&r->limit, memory_order_relaxed)) {
        /* No clock tick past a limit is noted: this one is damaged, and would let IDs run up to it. */
        atomic_store_explicit(&r->hi, atomic_load_explicit(&r->limit, memory_order_relaxed), memory_order_relaxed);
    }

    /* Where a process died inside its window, that is still good, and the keeper extends it: no waiting for a disk here. */
    const uint64_t limit = atomic_load_explicit(&r->limit, memory_order_relaxed);
    const bool marked = grant->page == slot->page->id.nonce;
    grant->page = slot->page->id.nonce;
    if (!marked || limit <= SFID__MAX(now, tick)) {
        grant->limit = SFID__MAX(grant->limit, limit);
        if (rest->store->ops->renew(rest->store, now, grant, &rest->error) < 0)
            return rest->error.code;
        sfid__record_raise_limit(r, grant->limit);
    }
    *out = r;
    return 0;
}

/* The pid's right and mark, and its page. Directories stay open only for the length of this. */
static int take_pid(struct sfid__generator *g, struct sfid__rest *rest, const sfid_options *opt, struct sfid__grant *grant) {
    struct sfid__error *err = &rest->error;
    struct sfid__dir state = SFID__DIR_NONE, state_app = SFID__DIR_NONE, run = SFID__DIR_NONE, run_app = SFID__DIR_NONE;
    char machine[SFID__MACHINE_ID], name[32];
    int rc = sfid__dir_open_run(&run, opt->run_dir, err);
    if (rc == 0)
        rc = sfid__dir_open_state(&state, opt->state_dir, err);
    if (rc == 0)
        rc = sfid__machine_id(&state, machine, err);
    if (rc == 0)
        rc = sfid__dir_open_sub(&state_app, &state, opt->app, err);
    if (rc == 0)
        rc = sfid__app_layout(&state_app, &g->layout, err);
    if (rc == 0)
        rc = sfid__fixed_store_new(&rest->store, state_app.path, &g->layout, (uint64_t)opt->pid, g->max_ahead, err);
    if (rc == 0)
        rc = rest->store->ops->acquire(rest->store, clock_tick(g), grant, err);
    if (rc == 0)
        rc = sfid__dir_open_sub(&run_app, &run, opt->app, err);
    if (rc == 0) {
        snprintf(name, sizeof name, "pid-%" PRIu64, grant->pid);
        snprintf(rest->identity, sizeof rest->identity, "%s:%s", machine, name);
        /* A mark that was never written, or was lost, bounds nothing: then the page, if there is one, knows best. */
        const struct sfid__slot_want want = {sfid__layout_fingerprint(&g->layout), grant->pid, grant->page,
                                             grant->position ? grant->limit : UINT64_MAX};
        rc = sfid__slot_take(&rest->slot, &run_app, name, &want, err);
    }
    if (rc == 0) {
        rest->keeper.pending |= sfid__dir_is_tmpfs(&run) ? 0 : 1u << SFID_EVENT_NOT_TMPFS;
        rest->keeper.pending |= rest->slot.put_aside[0] ? 1u << SFID_EVENT_SLOT_REPLACED : 0;
    }
    sfid__dir_close(&run_app);
    sfid__dir_close(&run);
    sfid__dir_close(&state_app);
    sfid__dir_close(&state);
    return rc;
}

static int open_app(struct sfid__generator *g, struct sfid__rest *rest, const sfid_options *opt, struct sfid__record **r) {
    struct sfid__grant *grant = &rest->keeper.grant;
    int rc = take_pid(g, rest, opt, grant);
    if (rc == 0)
        rc = begin_record(g, rest, grant, r);
    if (rc < 0)
        return rc;
    g->page = rest->slot.page;
    g->half_window = rest->store->window / 2;
    g->keeper_wanted = keeper_wanted;
    rest->keeper.store = rest->store;
    rest->issued_before = atomic_load_explicit(&g->page->earlier_issued, memory_order_relaxed) + sfid__record_issued(*r);
    return 0;
}

static int open_memory(struct sfid__generator *g, struct sfid__rest *rest, const sfid_options *opt, struct sfid__record **r) {
    const int rc = sfid__memory_take(&rest->memory, sfid__layout_fingerprint(&g->layout), (uint64_t)opt->pid, &rest->error);
    if (rc < 0)
        return rc;
    g->page = sfid__memory_page(rest->memory);
    *r = &g->page->records[0];
    if ((*r)->checksum == 0) {
        const uint64_t now = clock_tick(g);
        const struct sfid__start start = {&g->layout, (uint64_t)opt->pid, now << g->layout.seq_bits, g->end, now, g->max_ahead};
        sfid__record_append(g->page, 0, &start);
    }
    rest->issued_before = sfid__record_issued(*r);
    return 0;
}

/* Lets draws begin, and the keeper: to renew where there is a store, to tell events where they are wanted. */
static int start(struct sfid__generator *g, struct sfid__rest *rest, const sfid_options *opt, struct sfid__record *r) {
    struct sfid__keeper *k = &rest->keeper;
    const int64_t left = sfid__tick_begin_ms(&g->layout, g->end) - sfid__now(g->clock).ms;
    k->generator = g;
    k->on_event = opt->on_event;
    k->user = opt->user;
    k->slot_replaced = rest->slot.put_aside;
    k->pending |= 1u << SFID_EVENT_LEASED;
    k->pending |= left < END_OF_LIFE_MS ? 1u << SFID_EVENT_END_OF_LIFE : 0;
    k->told_regressions = atomic_load_explicit(&g->page->regressions, memory_order_relaxed); /* of lives before this */
    rest->error.code = 0;
    sfid__generator_start(g, r); /* first: a callback may draw */
    if ((k->store || k->on_event) && sfid__keeper_start(k) < 0) {
        sfid__generator_stop(g);
        return sfid__fail(&rest->error, SFID_ENOMEM, "cannot start the background thread");
    }
    return 0;
}

/* Lets go of everything but the text that says what went wrong. */
static void let_go(struct sfid__rest *rest) {
    if (rest->store)
        rest->store->ops->drop(rest->store);
    rest->store = NULL;
    sfid__slot_drop(&rest->slot);
    if (rest->memory)
        sfid__memory_leave(rest->memory);
    rest->memory = NULL;
}

static int open_handle(struct sfid *g, struct sfid__rest *rest, const sfid_options *given) {
    struct sfid__settings settings;
    struct sfid__record *r = NULL;
    int rc = sfid__options_read(given, &settings, &rest->error);
    const sfid_options opt = settings.opt;
    if (rc == 0 && settings.store == SFID__STORE_LOCAL)
        rc = sfid__fail(&rest->error, SFID_EUNSUPPORTED, "local: soon");
    if (rc == 0)
        rc = configure(&g->generator, &opt, &rest->error);
    if (rc == 0)
        rc = opt.app ? open_app(&g->generator, rest, &opt, &r) : open_memory(&g->generator, rest, &opt, &r);
    if (rc == 0)
        rc = start(&g->generator, rest, &opt, r);
    if (rc < 0)
        let_go(rest);
    return rc;
}

int sfid_open(sfid **out, const sfid_options *opt) {
    if (out == NULL)
        return SFID_EINVAL;
    *out = NULL;
    struct sfid *g = aligned_alloc(_Alignof(struct sfid), sizeof *g);
    struct sfid__rest *rest = calloc(1, sizeof *rest);
    if (g == NULL || rest == NULL) {
        free(g);
        free(rest);
        return SFID_ENOMEM;
    }
    memset((void *)g, 0, sizeof *g);
    sfid__generator_init(&g->generator);
    atomic_init(&g->rest, rest);
    *out = g;
    return open_handle(g, rest, opt);
}

int sfid_open_app(sfid **out, const char *app, const char *store) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.app = app;
    opt.store = store;
    return sfid_open(out, &opt);
}

/* Puts a name into a buffer, where one is wanted. */
static int put_name(char *name, char *buf, size_t size) {
    const size_t len = name ? strlen(name) : 0;
    int rc = name == NULL ? SFID_ENOMEM : 0;
    if (rc == 0 && buf && len >= size)
        rc = SFID_EINVAL;
    if (rc == 0 && buf)
        memcpy(buf, name, len + 1);
    free(name);
    return rc;
}

int sfid_directories(const sfid_options *given, char *run, size_t run_size, char *state, size_t state_size) {
    struct sfid__error err = {0, ""};
    sfid_options opt = SFID_OPTIONS_INIT;
    if (given && sfid__options_copy(given, &opt, &err) < 0)
        return err.code;
    int rc = 0;
    if (run && (rc = put_name(sfid__dir_name_run(opt.run_dir, &err), run, run_size)) < 0)
        return err.code ? err.code : rc;
    if (state && (rc = put_name(sfid__dir_name_state(opt.state_dir, &err), state, state_size)) < 0)
        return err.code ? err.code : rc;
    return 0;
}

/* ---- close --------------------------------------------------------------- */

/* Waits until no thread of this process is inside the rest: looks at a handle are short. */
static void wait_until_alone(const struct sfid *g) {
    for (;;) {
        /* Sequentially consistent, with sfid__rest_enter; acquire, with sfid__rest_leave. */
        const uint64_t users = atomic_load_explicit(&g->users, memory_order_seq_cst);
        const uint64_t nobody = sfid__process() << SFID__USERS_BITS;
        if (users == nobody || users >> SFID__USERS_BITS != nobody >> SFID__USERS_BITS)
            return;
        sched_yield();
    }
}

/* Gives the pid back where no forked child goes on with it. Every step left out is made good by the next open. */
static void give_back(struct sfid__rest *rest) {
    struct sfid__error ignored;
    const bool last = rest->store->ops->leave(rest->store);
    const uint64_t position = last ? sfid__record_close(sfid__page_current(rest->slot.page)) : 0;
    sfid__slot_leave(&rest->slot); /* before the pid is free: who gets that next wants this lock, too */
    if (last)
        rest->store->ops->release(rest->store, position, &ignored);
    rest->store->ops->drop(rest->store);
    rest->store = NULL;
}

static void bury(struct sfid *g) {
    g->next_closed = atomic_load_explicit(&closed_handles, memory_order_relaxed); /* the exchange corrects it */
    while (!atomic_compare_exchange_weak_explicit(&closed_handles, &g->next_closed, g, memory_order_release, memory_order_relaxed))
        ;
}

void sfid_close(sfid *g) {
    if (g == NULL)
        return;
    struct sfid__rest *rest = atomic_load_explicit(&g->rest, memory_order_acquire); /* with the exchange of another close */
    if (rest == NULL)
        return;
    if (rest->error.code != 0) { /* it was never open: no thread can have it */
        free(rest);
        free(g);
        return;
    }
    if (sfid__keeper_is_self(&rest->keeper))
        return;
    sfid__generator_stop(&g->generator);
    if (!atomic_compare_exchange_strong_explicit(&g->rest, &rest, NULL, memory_order_seq_cst, memory_order_relaxed))
        return;          /* with sfid__rest_enter; another thread closes it as well */
    wait_until_alone(g); /* nobody starts a keeper from here on */
    sfid__keeper_stop(&rest->keeper);
    if (rest->store)
        give_back(rest);
    let_go(rest);
    free(rest);
    bury(g);
}
