/* SPDX-License-Identifier: MIT */
/*
 * All ways to draw at once from one generator whose pid is leased from a real server: single IDs, tries, batches, lanes, forked
 * children that do the same and outlive nothing but their burst, while the lease is taken away again and again. No duplicate,
 * and each thread's IDs increase.
 *
 * Sizes: 5 s (long: 600 s; sanitizer: 5 s, without forks), some 100,000 IDs a second.
 */
#include "support/fleet.h"

#define LAYOUT "41:10:12/1ms"
#define APP "mixed"

enum { THREADS = 8, BURST = 150, NAP_US = 10000, BATCH = 700, FORK_EVERY_MS = 40, TAKE_EVERY_MS = 700, CHILD_IDS = 400 };
enum way { NEXT, TRY, MANY, LANE };

static const enum way ways[THREADS] = {NEXT, NEXT, TRY, MANY, MANY, LANE, LANE, LANE};

struct drawer {
    sfid *g;
    sfid_lane *lane;
    enum way way;
    uint64_t rng;
    pthread_t thread;
    struct idlog log;
    atomic_bool *stop;
    int64_t first_error;
};

/* Nothing is wrong with a window that is being replaced, nor with a full tick. */
static void note(struct drawer *d, int64_t id) {
    if (id >= 0)
        idlog_put(&d->log, id);
    else if (id != SFID_EAGAIN && id != SFID_ELEASE && d->first_error == 0)
        d->first_error = id;
}

static void draw_some(struct drawer *d) {
    int64_t ids[BATCH];
    if (d->way == MANY) {
        const int64_t n = sfid_next_n(d->g, ids, 1 + draw_random(&d->rng) % BATCH);
        for (int64_t i = 0; i < n; i++)
            note(d, ids[i]);
        if (n < 0)
            note(d, n);
        return;
    }
    for (int i = 0; i < BURST; i++)
        note(d, d->way == NEXT ? sfid_next(d->g) : d->way == TRY ? sfid_try_next(d->g) : sfid_lane_next(d->lane));
}

static void *work(void *arg) {
    struct drawer *d = arg;
    while (!atomic_load(d->stop)) {
        draw_some(d);
        nap_us(NAP_US);
    }
    return NULL;
}

/* ---- children -------------------------------------------------------------- */

static int child_life(void *arg) {
    struct drawer d = *(struct drawer *)arg;
    log_start(&d.log, CHILD_IDS + BATCH, 1, IDLOG_ANY_PID, "child-%d", (int)getpid());
    while (d.log.count < CHILD_IDS && d.first_error == 0)
        draw_some(&d);
    idlog_close(&d.log);
    sfid_close(d.g);
    return d.first_error == 0 ? 0 : 1;
}

/* ---- the lease ------------------------------------------------------------- */

/* The record becomes another's, as if the pid had run out and been claimed: the holder's next renewal is told so. */
static void take_lease(struct redis *r, const sfid_options *opt, int64_t pid) {
    char key[100], field[24], line[RECORD];
    record_of(r, opt->app, pid, line);
    char *base = strrchr(line, ' ');
    if (base == NULL)
        return;
    snprintf(base, (size_t)(line + sizeof line - base), " somebody:0:ELSE");
    snprintf(key, sizeof key, "sfid:%s", opt->app);
    snprintf(field, sizeof field, "%" PRId64, pid);
    reply_free(redis_ask(r, "HSET", key, field, line, NULL));
}

struct family {
    sfid *g;
    struct drawer drawers[THREADS];
    atomic_bool stop;
    unsigned forks, failed, taken;
};

static void live(struct family *f, struct redis *r, const sfid_options *opt, int64_t ms) {
    const int64_t end = mono_ns() + ms * NS_PER_MS;
    int64_t take_at = mono_ns() + TAKE_EVERY_MS * NS_PER_MS;
    while (mono_ns() < end) {
        if (!SANITIZED) {
            struct drawer d = {.g = f->g, .way = f->forks % 2 ? NEXT : MANY, .rng = f->forks + 1};
            const pid_t child = child_start(child_life, &d);
            f->forks++;
            f->failed += child_wait(child, TAP_WAIT_MS) != 0;
        }
        nap_us(FORK_EVERY_MS * 1000);
        if (mono_ns() < take_at)
            continue;
        take_at = mono_ns() + TAKE_EVERY_MS * NS_PER_MS;
        take_lease(r, opt, sfid_pid(f->g));
        f->taken++;
    }
}

static uint64_t end_drawers(struct family *f) {
    uint64_t ids = 0;
    int64_t first_error = 0;
    atomic_store(&f->stop, true);
    for (int i = 0; i < THREADS; i++) {
        struct drawer *d = &f->drawers[i];
        pthread_join(d->thread, NULL);
        sfid_lane_close(d->lane);
        ids += d->log.count;
        first_error = first_error ? first_error : d->first_error;
        idlog_close(&d->log);
    }
    is_i64(first_error, 0, "no call fails but for want of a window or a number");
    return ids;
}

static bool has_lost(void *g) {
    sfid_status_info st;
    return sfid_status(g, &st) == 0 && st.losses > 0;
}

static void mixed(struct redis *r) {
    static struct family f;
    const int64_t ms = (int64_t)sized(5000, 600000, getenv("SFID_TEST_LONG") ? 600000 : 5000);
    sfid_options opt = fleet_lease(r, APP, 3000, 300);
    opt.max_wait_ms = CALL_MS; /* it goes on with the next number, or tries again */
    sfid_status_info st;
    memset((void *)&f, 0, sizeof f);
    f.g = open_or_die(&opt);
    for (int i = 0; i < THREADS; i++) {
        struct drawer *d = &f.drawers[i];
        *d = (struct drawer){.g = f.g, .way = ways[i], .rng = (uint64_t)i + 1, .stop = &f.stop};
        must(d->way != LANE || sfid_lane_open(&d->lane, f.g) == 0, "no lane");
        log_start(&d->log, (uint64_t)ms * 100 + 100000, 1, IDLOG_ANY_PID, "thread-%d", i);
        start_thread(&d->thread, work, d);
    }
    live(&f, r, &opt, ms);
    ok(tap_wait_until(has_lost, f.g, TAP_WAIT_MS), "leases were lost");
    const uint64_t ids = end_drawers(&f);
    sfid_status(f.g, &st);
    diag("figure: %" PRIu64 " IDs of threads in %" PRId64 " s, %u forks, the lease taken away %u times, %" PRIu64
         " times found lost",
         ids, ms / 1000, f.forks, f.taken, st.losses);
    is_u64(f.failed, 0, "children draw and end well");
    sfid_close(f.g);
    judge(LAYOUT, "per-file", UINT64_MAX, "mixed");
}

int main(void) { return fleet_main(LAYOUT, 0, 0, mixed); }
