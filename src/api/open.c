/* SPDX-License-Identifier: MIT */
/* open.c - opens and closes a handle: here the parts are put together. */
#include "api/handle.h"

#include "base/guest.h"
#include "base/keyed.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/trust.h"
#include "draw/record.h"
#include "id/layout.h"
#include "lease/options.h"
#include "lease/share.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define END_OF_LIFE_MS (INT64_C(5) * 365 * 86400000)

/* Closed handles that were open once: kept for late threads, reachable for leak checkers. */
static _Atomic(struct sfid__generator *) closed_handles;

static int open_page(struct sfid **out, struct sfid__settings *settings, unsigned page_number,
                     int64_t timeout_ms, struct sfid__error *err);
static void close_handle(struct sfid *g);

/* ---- on to the next page -------------------------------------------------- */

#define MOVE_TIMEOUT_MS 2000 /* a close waits for the thread */
#define MOVE_AGAIN_MS 10000

/*
 * False if paths lead elsewhere by now, for example after chroot(2): processes there do not know
 * the pids of these. Looked at before and after the next page is opened.
 */
static bool may_move(const struct sfid *g, const struct sfid__cold *cold) {
    return !sfid__is_closed(&g->generator) && sfid__slot_in_place(&cold->holder.slot);
}

/* The thread. It is inside the cold part, which a close may have taken out of the handle by now. */
static void *move_on(void *arg) {
    struct sfid__cold *cold = arg;
    struct sfid *g = (struct sfid *)(void *)cold->keeper.generator, *next = NULL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0});
    pthread_detach(pthread_self());
    struct sfid__error ignored = {.code = 0};
    const int64_t timeout_ms = SFID__MIN(cold->settings->opt.open_timeout_ms, MOVE_TIMEOUT_MS);
    if (may_move(g, cold) &&
        open_page(&next, cold->settings, cold->holder.page_number + 1, timeout_ms, &ignored) == 0 &&
        may_move(g, cold)) {
        sfid__draw_move(&g->generator, &next->generator);
    } else {
        if (next)
            close_handle(next);
        /* Relaxed: the release below orders it. A call that reads an older one tries sooner. */
        atomic_store_explicit(&cold->move_ms,
                              sfid__monotonic_ms(g->generator.clock) + MOVE_AGAIN_MS,
                              memory_order_relaxed);
        /* with the acquire in page_wanted(): move_ms */
        atomic_store_explicit(&cold->mover, 0, memory_order_release);
    }
    sfid__cold_leave(g);
    return NULL;
}

/* A call that may sleep found its page used up by other processes: see draw/crowd.h. */
static void page_wanted(struct sfid__generator *generator) {
    struct sfid *g = (struct sfid *)(void *)generator;
    struct sfid__cold *cold = sfid__cold_enter(g);
    if (cold == NULL)
        return;
    uint64_t mover = atomic_load_explicit(&cold->mover, memory_order_acquire);
    const uint64_t us = sfid__process(); /* a child has no copy of its parent's thread */
    bool started = false;
    /* as in move_on() */
    const int64_t from_ms = atomic_load_explicit(&cold->move_ms, memory_order_relaxed);
    if (mover != us && cold->settings && sfid__monotonic_ms(generator->clock) >= from_ms &&
        atomic_compare_exchange_strong_explicit(&cold->mover, &mover, us, memory_order_acquire,
                                                memory_order_relaxed)) {
        struct sfid__guest guest;
        pthread_t thread;
        sfid__guest_enter(&guest);
        started = sfid__thread_start(&thread, move_on, cold) == 0;
        sfid__guest_leave(&guest);
        if (!started)
            atomic_store_explicit(&cold->mover, 0, memory_order_release);
    }
    if (!started)
        sfid__cold_leave(g);
}

/* ---- open ---------------------------------------------------------------- */

/* A call that may sleep found half of the window gone: see keeper.h. */
static void keeper_wanted(struct sfid__generator *generator) {
    struct sfid *g = (struct sfid *)(void *)generator;
    struct sfid__cold *cold = sfid__cold_enter(g);
    if (cold == NULL)
        return;
    const bool runs = sfid__keeper_runs(&cold->keeper);
    if (!runs || sfid__keeper_is_missed(&cold->keeper)) {
        struct sfid__guest guest;
        sfid__guest_enter(&guest);
        if (runs)
            sfid__keeper_look(&cold->keeper);
        else
            sfid__keeper_start(&cold->keeper); /* a failure is fine: the next call tries again */
        sfid__guest_leave(&guest);
    }
    sfid__cold_leave(g);
}

static int configure(struct sfid__generator *g, struct sfid__keeper *k, const sfid_options *opt,
                     struct sfid__error *err) {
    const sfid_layout *l = opt->layout;
    g->layout = *l;
    g->clock = &sfid__system_clock;
    if (sfid__layout_in_seconds(l)) {
        sfid__generator_use_seconds(g); /* such a handle has no room for ticks */
    } else {
        g->source =
            l->unit_ms <= 1000 && sfid__counter_is_good() ? SFID__TICK_COUNTER : SFID__TICK_CLOCK;
        sfid__ticks_init(&g->ticks, l->epoch_ms, l->unit_ms);
    }
    g->exhaustion = opt->exhaustion;
    g->max_wait_ms = opt->max_wait_ms;
    g->max_ahead = sfid__ms_to_ticks(l, opt->max_ahead_ms);
    g->end = sfid__layout_end(l);
    g->random_start = opt->random_start;
    if (opt->random_start && !g->shared)
        sfid__generator_seed(g);
    const int64_t end_ms = sfid__tick_begin_ms(l, g->end);
    const struct sfid__time now = sfid__now(g->clock);
    k->ends_soon = end_ms - now.ms < END_OF_LIFE_MS;
    if (now.ms >= l->epoch_ms && now.ms < end_ms)
        return 0;
    char why[SFID__ERROR_TEXT / 2];
    sfid__layout_say_outside(l, g->end, now.ms, why, sizeof why);
    return sfid__fail(err, now.ms < l->epoch_ms ? SFID_ECLOCK : SFID_EOVERFLOW, "%s", why);
}

/* With an app: a lock or lease holds the pid, and the page outlives the process. */
static int open_app(struct sfid *g, struct sfid__cold *cold, const struct sfid__settings *settings,
                    int64_t deadline_ms, struct sfid__record **r, struct sfid__error *err) {
    struct sfid__holder *h = &cold->holder;
    /* as sfid__keeper_in_crew() says, once it is open */
    const bool by_crew = !settings->shared && settings->opt.on_event == NULL;
    /* before a fork: the family looks there for who keeps the page */
    if (by_crew && !sfid__watch_prepare())
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    if (sfid__holder_open(h, &g->generator, settings, deadline_ms) < 0) {
        *err = h->error;
        return err->code;
    }
    *r = sfid__page_current(g->generator.page);
    if (!settings->joins)
        g->generator.keeper_wanted = keeper_wanted;
    if (cold->settings && h->page_number + 1 < SFID__SHARED_PAGES)
        g->generator.page_wanted = page_wanted;
    cold->keeper.holder = h;
    cold->issued_before =
        /* alone so far */
        atomic_load_explicit(&g->generator.page->earlier_issued, memory_order_relaxed) +
        sfid__record_issued(*r);
    return 0;
}

static int open_memory(struct sfid__generator *g, struct sfid__cold *cold,
                       const struct sfid__settings *settings, struct sfid__record **r,
                       struct sfid__error *err) {
    const sfid_options *opt = &settings->opt;
    const int rc = sfid__memory_take(&cold->memory, settings->fingerprint, (uint64_t)opt->pid, err);
    if (rc < 0)
        return rc;
    g->page = sfid__memory_page(cold->memory);
    *r = &g->page->records[0];
    if ((*r)->checksum == 0) {
        const uint64_t now = sfid__tick_of_ms(&g->layout, sfid__now(g->clock).ms);
        const struct sfid__start start = {.layout = &g->layout,
                                          .pid = (uint64_t)opt->pid,
                                          .position = now << g->layout.seq_bits,
                                          .limit = g->end,
                                          .now = now,
                                          .max_ahead = g->max_ahead};
        sfid__record_append(g->page, 0, &start);
    }
    cold->issued_before = sfid__record_issued(*r);
    return 0;
}

/* Lets IDs be generated, and starts the keeper: to renew if there is a store, to report events if
 * the caller wants them. */
static int start(struct sfid__generator *g, struct sfid__cold *cold,
                 const struct sfid__settings *settings, struct sfid__record *r,
                 struct sfid__error *err) {
    struct sfid__keeper *k = &cold->keeper;
    const sfid_options *opt = &settings->opt;
    k->generator = g;
    k->on_event = opt->on_event;
    k->user = opt->user;
    if (opt->app && !settings->plan.by_host) /* by host, the app stands for the worker */
        snprintf(k->app, sizeof k->app, "%s", opt->app);
    /* those of earlier processes */
    k->told_regressions = atomic_load_explicit(&g->page->regressions, memory_order_relaxed);
    /* alone so far */
    k->followed = atomic_load_explicit(&g->page->reign, memory_order_relaxed);
    sfid__generator_start(g, r); /* first: a callback may generate IDs */
    /* SFID_EAGAIN: another process keeps this page. A call starts this one's keeper once that one
     * is gone, or is deaf. */
    const int why = (k->holder || k->on_event) && !settings->joins ? sfid__keeper_start(k) : 0;
    if (why > 0) {
        sfid__generator_stop(g);
        return sfid__fail_errno(err, SFID_ENOMEM, why, "cannot start the background thread");
    }
    return 0;
}

static void drop_settings(struct sfid__settings *settings) {
    sfid__options_end(settings);
    free(settings);
}

static void cold_let_go(struct sfid__cold *cold) {
    sfid__holder_drop(&cold->holder);
    sfid__text_drop(&cold->keeper.failure);
    if (cold->memory)
        sfid__memory_leave(cold->memory);
    cold->memory = NULL;
    if (cold->owns)
        drop_settings(cold->settings);
    cold->settings = NULL;
}

/* Sets up wide IDs, which are put together around the generator's positions: see wide.c. */
static void widen(struct sfid *g, const struct sfid__settings *settings) {
    const struct sfid__wide_plan *plan = &settings->plan;
    g->wrap = (struct sfid__wrap){
        .frame = plan->frame, .by_host = plan->by_host, .worker = settings->worker};
    if (plan->by_host)
        g->wrap.frame.low |= settings->worker << plan->frame.worker_shift;
    if (plan->frame.random) {
        sfid__random(&g->wrap.nonce, sizeof g->wrap.nonce);
        sfid__keyed_prepare();
    }
    sfid__generator_widen(&g->generator);
}

static int open_handle(struct sfid *g, struct sfid__cold *cold,
                       const struct sfid__settings *settings, int64_t timeout_ms,
                       struct sfid__error *err) {
    struct sfid__record *r = NULL;
    const sfid_options *opt = &settings->opt;
    if (opt->wide)
        widen(g, settings);
    if (settings->shared)
        sfid__generator_share(&g->generator);
    int rc = configure(&g->generator, &cold->keeper, opt, err);
    if (rc == 0 && settings->store)
        rc = open_app(g, cold, settings, sfid__monotonic_ms(g->generator.clock) + timeout_ms, &r,
                      err);
    else if (rc == 0)
        rc = open_memory(&g->generator, cold, settings, &r, err);
    if (rc == 0)
        rc = start(&g->generator, cold, settings, r, err);
    if (rc < 0)
        cold_let_go(cold);
    return rc;
}

/* The size of a handle: it stays for good, and has no room for what only other kinds need (ticks,
 * wide IDs). */
static size_t handle_bytes(const struct sfid__settings *settings) {
    const sfid_options *opt = &settings->opt;
    if (opt->wide || settings->shared)
        return sizeof(struct sfid);
    const bool counts = opt->layout && !sfid__layout_in_seconds(opt->layout);
    const size_t last = offsetof(struct sfid__generator, next_closed);
    return counts ? offsetof(struct sfid__generator, wide_record)
                  : last + sizeof(struct sfid__generator *);
}

/* Makes a handle, and opens it unless err has a code. page_number: the first to try of those that
 * processes share. */
static int open_page(struct sfid **out, struct sfid__settings *settings, unsigned page_number,
                     int64_t timeout_ms, struct sfid__error *err) {
    void *memory = NULL;
    struct sfid__cold *cold = calloc(1, sizeof *cold);
    const size_t bytes = err->code ? sizeof(struct sfid) : handle_bytes(settings);
    /* aligned_alloc does not accept any size */
    if (cold == NULL || posix_memalign(&memory, _Alignof(struct sfid), bytes) != 0) {
        free(cold);
        return SFID_ENOMEM;
    }
    struct sfid *g = *out = memset(memory, 0, bytes);
    sfid__generator_init(&g->generator);
    atomic_init(&g->generator.cold, cold);
    if (err->code == 0) {
        cold->holder.page_number = page_number;
        cold->settings = settings->kept ? settings : NULL;
        cold->owns = settings->kept && page_number == 0;
        if (open_handle(g, cold, settings, timeout_ms, err) == 0)
            return 0; /* a callback may look at the cold part by now */
    }
    cold->holder.error = *err;
    return cold->failed = err->code;
}

static int open_new(struct sfid **out, const sfid_options *opt) {
    struct sfid__error err = {.code = 0};
    struct sfid__settings *settings = malloc(sizeof *settings);
    if (settings == NULL)
        return SFID_ENOMEM;
    if (sfid__options_read(opt, settings, &err) == 0 && settings->shared && !settings->joins &&
        settings->opt.pid < 0)
        sfid__options_keep(settings);
    const bool kept = settings->kept;
    const int rc = open_page(out, settings, 0, settings->opt.open_timeout_ms, &err);
    if (!kept || *out == NULL)
        drop_settings(settings);
    return rc;
}

int sfid_open(sfid **out, const sfid_options *opt) {
    struct sfid__guest guest;
    if (out == NULL)
        return SFID_EINVAL;
    *out = NULL;
    sfid__process_prepare();
    sfid__guest_enter(&guest);
    sfid__signs_prepare();
    const int rc = open_new(out, opt);
    sfid__guest_leave(&guest);
    return rc;
}

int sfid_open_app(sfid **out, const char *app, const char *store) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.app = app;
    opt.store = store;
    return sfid_open(out, &opt);
}

/* Copies a name into a buffer, if the caller gave one, and frees it. */
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

int sfid_directories(const sfid_options *given, char *run, size_t run_size, char *state,
                     size_t state_size) {
    struct sfid__error err = {.code = 0};
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

int sfid_path_check(const char *path, char *why, size_t size) {
    struct sfid__error err = {.code = 0};
    const char *name;
    if (path == NULL || path[0] != '/') {
        sfid__fail(&err, SFID_EINVAL, "\"%.200s\" is not an absolute path", path ? path : "");
    } else {
        const int parent = sfid__trust_parent(path, false, &name, &err);
        if (parent < 0 && err.code == 0 && errno != ENOENT)
            sfid__fail_errno(&err, SFID_ESTATE, errno, "%.200s cannot be looked at", path);
        if (parent >= 0)
            close(parent);
    }
    if (err.code < 0 && why && size > 0)
        snprintf(why, size, "%s", err.text);
    return err.code;
}

/* ---- close --------------------------------------------------------------- */

#define BRIEFLY 1000 /* looks */

/* Waits until no thread of this process is inside the cold part. Each stays there only briefly,
 * but for one that opens the next page. */
static void wait_until_alone(const struct sfid *g) {
    static const struct timespec nap = {0, 1000000};
    for (unsigned round = 0;; round++) {
        /* Sequentially consistent, with sfid__cold_enter; acquire, with sfid__cold_leave. */
        const uint64_t users = atomic_load_explicit(&g->generator.users, memory_order_seq_cst);
        const uint64_t nobody = sfid__process() << SFID__USERS_BITS;
        if (users == nobody || users >> SFID__USERS_BITS != nobody >> SFID__USERS_BITS)
            return;
        if (round < BRIEFLY)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
}

static void bury(struct sfid__generator *g) {
    /* relaxed: the exchange corrects it */
    g->next_closed = atomic_load_explicit(&closed_handles, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&closed_handles, &g->next_closed, g,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

/* True in a keeper's thread of this handle. */
static bool is_callback(const struct sfid *g) {
    for (; g; g = sfid__next_handle(g)) {
        /* not freed: as below */
        const struct sfid__cold *cold =
            atomic_load_explicit(&g->generator.cold, memory_order_acquire);
        if (cold && sfid__keeper_is_self(&cold->keeper))
            return true;
    }
    return false;
}

static void close_handle(struct sfid *g) {
    struct sfid__cold *cold =
        /* with the exchange of another close */
        atomic_load_explicit(&g->generator.cold, memory_order_acquire);
    if (cold == NULL)
        return;
    if (cold->failed != 0) { /* it was never open, so no thread has it */
        free(cold);
        free(g);
        return;
    }
    if (is_callback(g))
        return;
    sfid__generator_stop(&g->generator);
    if (!atomic_compare_exchange_strong_explicit(&g->generator.cold, &cold, NULL,
                                                 memory_order_seq_cst, memory_order_relaxed))
        return;          /* seq_cst with sfid__cold_enter; another thread closes it */
    wait_until_alone(g); /* from here on nobody starts a keeper, or moves on */
    if (sfid__next_handle(g))
        close_handle(sfid__next_handle(g));
    sfid__keeper_stop(&cold->keeper);
    if (cold->keeper.holder)
        /* for sfid_status() */
        atomic_store_explicit(&g->generator.left, sfid__holder_close(&cold->holder),
                              memory_order_relaxed);
    cold_let_go(cold);
    free(cold);
    bury(&g->generator);
}

void sfid_close(sfid *g) {
    struct sfid__guest guest;
    if (g == NULL)
        return;
    sfid__guest_enter(&guest);
    close_handle(g);
    sfid__guest_leave(&guest);
}
