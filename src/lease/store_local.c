/* SPDX-License-Identifier: MIT */
/*
 * store_local.c - the local store: pids of this host. The lock of its mark is
 * the right to a pid, and the window is what the mark covers. A pid that the
 * caller has fixed is a range of one.
 *
 * The mark is durable before the window that it allows is used. So after a
 * power loss everything below it counts as used. A process that held a pid
 * takes no other: its page bears the pid's name. The page's lock keeps out
 * a process that came to the same pid through a mark made anew.
 */
#include "lease/store.h"

#include "base/clock.h"
#include "base/hash.h"
#include "host/hints.h"
#include "host/identity.h"
#include "host/mark.h"
#include "host/slot.h"
#include "id/layout.h"
#include "lease/far.h"
#include "lease/local_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct local_store {
    struct sfid__store store; /* first */
    sfid_layout layout;
    uint64_t fingerprint; /* of layout */
    char *state_dir, *app;
    bool fixed, synced, strict, shared;
    bool elsewhere; /* another host may have used the pid */
    struct sfid__far far;
    uint64_t furthest; /* how many ticks ahead of our clock an unknown process may have come */
    bool had;          /* a pid was held: only that one is claimed again */
    bool by_fd;        /* shared: a mapping does not keep the mark's lock */
    bool let_in;       /* shared: others may take part: a mark that is made anew is for them, too */
    uint64_t pid;      /* that one */
    uint64_t page_nonce; /* nonce of the page in use; for release() */
    /* tick to which it saw the mark synced: what it read may be in memory only */
    uint64_t durable;
    struct sfid__mark mark;
};

static struct local_store *self(struct sfid__store *store) {
    return (struct local_store *)(void *)store;
}

/* ---- claim ----------------------------------------------------------------- */

/* Opens the app's directory, and makes it if it is gone. A keeper that lost it comes here only
 * after go_on() allowed it. */
static int open_app(struct local_store *s, struct sfid__dir *app, struct sfid__error *err) {
    struct sfid__dir state = SFID__DIR_NONE;
    /* later: another one may have the name */
    int rc = sfid__dir_go_on_state(&state, &s->store.state, s->state_dir, err);
    if (rc == 0)
        rc = sfid__dir_refuse_doubt(&state, err);
    if (rc == 0)
        rc = sfid__dir_open_sub(app, &state, s->app, err);
    if (rc == 0)
        rc = sfid__app_layout(app, &s->layout, err);
    if (rc == SFID_ELAYOUT && s->strict) /* the app stands for a host: there is no other name */
        rc = sfid__fail(
            err, rc,
            "%s is used with another epoch on this host (%s/layout); all processes have to use the same",
            s->app, app->path);
    sfid__dir_close(&state);
    return rc;
}

static struct sfid__lease_event grant_of(const struct local_store *s, uint64_t pid,
                                         const struct sfid__position *at) {
    struct sfid__lease_event grant = {
        .pid = pid, .bound = at->word, .exact = at->exact, .page_nonce = at->page_nonce};
    grant.floor = grant.limit = at->word >> s->layout.seq_bits;
    return grant;
}

/* A claim that looks at one pid after another. */
struct quest {
    const struct sfid__dir *app;
    const struct sfid__lease_action *ask;
    struct sfid__lease_event *grant;
    struct sfid__error *err;
    bool picky;
    bool only;      /* the only pid that will do */
    uint64_t spare; /* the first pid that would do if there is nothing better */
    struct sfid__passed_over *passed_over;
};

/*
 * What a mark says may be too little: a newer entry of a damaged one may be lost, and where the
 * mark is missing, another host may have used the pid. But no window that was granted goes beyond
 * this. A pid that this process had was used nowhere else.
 */
static bool guess(const struct local_store *s, uint64_t now, struct sfid__position *at) {
    if (!at->damaged && !(s->elsewhere && at->word == 0 && !s->had))
        return false;
    at->word =
        SFID__MAX(at->word, SFID__MIN(now + s->furthest, s->store.terms.end) << s->layout.seq_bits);
    at->exact = false;
    return true;
}

/* When a claim gives up: sfid_open() at the end of its own time, since no server is waited for;
 * later as for any question. */
static int64_t end_of(const struct sfid__lease_action *ask) {
    return ask->give_up_ms != SFID__FOREVER ? ask->give_up_ms : ask->deadline_ms;
}

/* A process that stays in the door of one pid costs little time if another pid will do. */
static int64_t door_until(const struct quest *q) {
    const int64_t end_ms = end_of(q->ask);
    return q->only ? end_ms : SFID__MIN(end_ms, sfid__deadline_now_ms() + SFID__DOOR_MS);
}

/* Takes one pid if it is free and the caller accepts it. 0 with the mark held, or a code. */
static int take_pid(struct local_store *s, const struct quest *q, uint64_t pid) {
    const struct sfid__lease_action *ask = q->ask;
    struct sfid__lease_event *grant = q->grant;
    struct sfid__position at;
    const struct sfid__mark_want want = {pid, s->fingerprint, s->synced, s->shared, door_until(q)};
    int rc = sfid__mark_take(&s->mark, q->app, &want, &at, q->err);
    if (rc < 0)
        return rc;
    const bool guessed = guess(s, ask->now, &at);
    *grant = grant_of(s, pid, &at);
    grant->guessed = guessed;
    if (s->far.only && sfid__mark_is_far(&s->far, grant->limit, ask->now))
        rc = sfid__mark_refuse_far(&s->far, "mark", q->app->path, pid, grant->limit, ask->now,
                                   q->err);
    else
        rc = s->store.accept ? s->store.accept(s->store.accepter, grant, q->picky, q->err) : 0;
    if (rc < 0)
        sfid__mark_drop(&s->mark);
    return rc;
}

/* A pid whose file cannot be used is passed over if there are others. */
static bool is_unusable(int rc, const struct sfid__error *err) {
    return rc == SFID_ESTATE && err->one_file;
}

/* One pid after another, as `search` says, until one is had. SFID_EBUSY if some are held,
 * SFID_ENOPID if time is over. */
static int try_all(struct local_store *s, struct quest *q, struct sfid__search *search,
                   uint64_t *tries) {
    int held = 0;
    for (uint64_t pid; sfid__search_next(search, &pid);) {
        if (++*tries > 1 && sfid__deadline_now_ms() >= end_of(q->ask))
            return SFID_ENOPID;
        const int rc = take_pid(s, q, pid);
        if (rc == 0 || rc == SFID_EBUSY)
            sfid__search_taken(search, pid);
        if (rc == 0)
            return 0;
        if (is_unusable(rc, q->err))
            sfid__pass_over(q->passed_over, q->err);
        else if (rc != SFID_EBUSY && rc != SFID_EAGAIN)
            return rc;
        else
            held = SFID_EBUSY;
        if (rc == SFID_EAGAIN && q->spare > pid)
            q->spare = pid;
    }
    if (!held)
        *q->err = q->passed_over->first;
    return held ? held : q->err->code;
}

/* Takes a free pid of a range. SFID_EBUSY if some are held; if none can be used, the error of the
 * first. */
static int scan(struct local_store *s, struct quest *q, uint64_t from, uint64_t to) {
    struct sfid__search search;
    uint64_t tries = 0;
    q->passed_over->count = 0;
    sfid__search_begin(&search, q->app, from, to);
    const int rc = try_all(s, q, &search, &tries);
    sfid__search_end(&search);
    if (rc != SFID_ENOPID)
        return rc;
    return sfid__fail(q->err, SFID_ENOPID,
                      "no pid of app \"%s\" could be claimed in time: %" PRIu64 " of %" PRIu64
                      " were tried; `sfid doctor --app %s` lists their holders",
                      s->app, tries - 1, to - from + 1, s->app);
}

#define LOOK_AGAIN_MS 256
#define LONGEST_NAP_MS 64

static int all_taken(const struct local_store *s, const struct sfid__dir *app, uint64_t from,
                     uint64_t to, struct sfid__error *err) {
    char lockers[160];
    sfid__file_list_lockers(app, SFID__MARK_PREFIX, from, to, lockers, sizeof lockers);
    return sfid__fail(err, SFID_ENOPID,
                      "all %" PRIu64 " pids (%" PRIu64 " to %" PRIu64
                      ") of app \"%s\" are held by processes of this host (%s%s); "
                      "`sfid doctor --app %s` lists them",
                      to - from + 1, from, to, s->app,
                      lockers[0] ? "" : "the kernel does not show which", lockers, s->app);
}

static int claim_in(struct local_store *s, const struct sfid__dir *app,
                    const struct sfid__lease_action *ask, struct sfid__lease_event *grant,
                    struct sfid__error *err) {
    const uint64_t from = s->had ? s->pid : s->store.terms.pid_min,
                   to = s->had ? s->pid : s->store.terms.pid_max;
    struct sfid__passed_over unseen;
    struct quest q = {
        app,       ask,        grant,      err,
        from < to, from == to, UINT64_MAX, s->store.passed_over ? s->store.passed_over : &unseen};
    const uint64_t prefer = s->store.prefer;
    if (!s->had && prefer >= from && prefer <= to) { /* without a look at those that are held */
        const int rc = take_pid(s, &q, prefer);
        if (rc != SFID_EBUSY && rc != SFID_EAGAIN && !is_unusable(rc, err))
            return rc;
    }
    int rc = scan(s, &q, from, to);
    q.picky = false;
    if (rc < 0 && q.spare <= to)
        rc = scan(s, &q, q.spare, to);
    if (s->fixed || s->had)
        return rc;
    /* A process that looks at a pid and passes it over has its lock for a moment: if all seem
     * taken, look again. */
    const int64_t end_ms = SFID__MIN(end_of(ask), sfid__deadline_now_ms() + LOOK_AGAIN_MS);
    for (int64_t nap_ms = 1; rc == SFID_EBUSY && sfid__deadline_now_ms() < end_ms;
         nap_ms = SFID__MIN(nap_ms * 2, LONGEST_NAP_MS)) {
        sfid__system_clock.sleep_ns(&sfid__system_clock, nap_ms * 1000000);
        rc = scan(s, &q, from, to);
    }
    if (rc == SFID_EBUSY)
        rc = all_taken(s, app, from, to, err);
    return rc == SFID_ENOPID ? sfid__tell_passed_over(err, q.passed_over) : rc;
}

/*
 * Goes on with the pid that was held before. 0 or a code. SFID_EAGAIN: its mark has to be taken
 * anew, and made if it is gone.
 *
 * That is right only while the page in use lies at its path: its lock keeps every other process off
 * the new mark. If page and mark are both gone, for example because other directories were mounted
 * over ours, nothing is left that another process would meet. The old mark stays locked then: its
 * file may still exist and come back.
 */
static int go_on(struct local_store *s, struct sfid__lease_event *grant, struct sfid__error *err) {
    struct sfid__position at;
    if (sfid__mark_in_place(&s->mark, &at)) {
        *grant = grant_of(s, s->pid, &at);
        return s->let_in && sfid__held_alone(&s->mark.held)
                   ? sfid__mark_share(&s->mark, &s->by_fd, err)
                   : 0;
    }
    if (s->store.slot && !sfid__slot_in_place(s->store.slot))
        return sfid__fail(
            err, SFID_ELEASE,
            "pid %" PRIu64
            ": its mark below %s and its slot file are gone, so no ID is generated after this window; "
            "put the directories back, or close the generator and open it again",
            s->pid, s->state_dir);
    return SFID_EAGAIN;
}

/* A pid whose mark was lost, on a page that others use as well: one of them may have made the mark
 * anew. */
static int claim_shared(struct local_store *s, const struct sfid__dir *app,
                        const struct sfid__lease_action *ask, struct sfid__lease_event *grant,
                        struct sfid__error *err) {
    const struct sfid__mark_want want = {s->pid, s->fingerprint, s->synced, true, end_of(ask)};
    struct sfid__position at;
    if (sfid__mark_join(&s->mark, app, &want, ask->page_nonce, s->by_fd, err) == 0 &&
        sfid__mark_in_place(&s->mark, &at)) {
        *grant = grant_of(s, s->pid, &at);
        return 0;
    }
    sfid__mark_drop(&s->mark);
    const int rc = claim_in(s, app, ask, grant, err);
    return rc < 0 ? rc : sfid__mark_share(&s->mark, &s->by_fd, err);
}

static int claim_anew(struct local_store *s, const struct sfid__lease_action *ask,
                      struct sfid__lease_event *grant, struct sfid__error *err) {
    struct sfid__dir app = SFID__DIR_NONE;
    const unsigned seat = s->mark.seat;
    int rc = open_app(s, &app, err);
    sfid__mark_drop(&s->mark); /* a mark that was lost */
    if (rc == 0)
        rc = s->had && s->shared ? claim_shared(s, &app, ask, grant, err)
                                 : claim_in(s, &app, ask, grant, err);
    s->mark.seat = seat;
    sfid__dir_close(&app);
    return rc;
}

static enum sfid__lease_answer claim(struct sfid__store *store,
                                     const struct sfid__lease_action *ask,
                                     struct sfid__lease_event *grant, struct sfid__error *err) {
    struct local_store *s = self(store);
    int rc = s->had ? go_on(s, grant, err) : SFID_EAGAIN;
    if (rc == SFID_EAGAIN)
        rc = claim_anew(s, ask, grant, err);
    if (rc < 0)
        return SFID__REFUSED;
    s->had = true;
    s->pid = grant->pid;
    s->page_nonce = grant->page_nonce;
    s->durable = 0;
    s->store.group = s->synced ? sfid__hash(SFID__HASH_SEED, &s->mark.held.id.device,
                                            sizeof s->mark.held.id.device)
                               : 0;
    return SFID__GRANTED;
}

/* ---- renew, release -------------------------------------------------------- */

static enum sfid__lease_answer renew(struct sfid__store *store,
                                     const struct sfid__lease_action *ask,
                                     struct sfid__lease_event *grant, struct sfid__error *err) {
    struct local_store *s = self(store);
    const uint64_t end = s->store.terms.end;
    uint64_t limit = ask->now < end ? SFID__MIN(ask->now + s->store.terms.window, end) : end;
    limit = SFID__MAX(limit, ask->limit); /* a mark further ahead stays */
    *grant = (struct sfid__lease_event){.pid = s->pid, .limit = limit};
    if (limit <= s->durable && ask->page_nonce == s->page_nonce)
        return SFID__GRANTED;
    if (ask->pid != s->pid) { /* a parent's keeper changed it: our lock is another pid's */
        sfid__fail(err, SFID_ELEASE, "pid %" PRIu64 " is not held by this process", ask->pid);
        return SFID__LOST;
    }
    /* A window may end below the position in use. The mark never goes back below that position. */
    const uint64_t word = SFID__MAX(limit << s->layout.seq_bits, ask->position);
    const int rc = sfid__mark_write(
        &s->mark, (struct sfid__position){word, ask->page_nonce, false, false}, err);
    if (rc < 0)
        return rc == SFID_ELEASE ? SFID__LOST : SFID__REFUSED;
    s->durable = limit;
    s->page_nonce = ask->page_nonce;
    return SFID__GRANTED;
}

static bool is_last(struct sfid__store *store) { return sfid__mark_is_last(&self(store)->mark); }

/* On failure the mark stays ahead, and the page has the position. */
static enum sfid__lease_answer
release(struct sfid__store *store, const struct sfid__lease_action *ask, struct sfid__error *err) {
    struct local_store *s = self(store);
    sfid__mark_write(&s->mark, (struct sfid__position){ask->position, s->page_nonce, true, false},
                     err);
    if (s->pid != s->store.terms.pid_min && s->mark.dir_path)
        sfid__hint_free(s->mark.dir_path, s->pid);
    return SFID__GRANTED;
}

/* ---- processes that share a pid ---------------------------------------------- */

static int join(struct sfid__store *store, uint64_t pid, uint64_t page_nonce, bool by_fd,
                int64_t until_ms, struct sfid__error *err) {
    struct local_store *s = self(store);
    struct sfid__dir app = SFID__DIR_NONE;
    int rc = open_app(s, &app, err);
    if (rc == 0)
        rc = sfid__mark_join(
            &s->mark, &app,
            &(struct sfid__mark_want){pid, s->fingerprint, s->synced, true, until_ms}, page_nonce,
            by_fd, err);
    sfid__dir_close(&app);
    s->had = s->let_in = rc == 0;
    s->pid = pid;
    s->page_nonce = page_nonce;
    s->durable = 0;
    s->by_fd = by_fd;
    return rc;
}

/* The mark has to name the page, or nobody can join. That moves it no further. */
static int share(struct sfid__store *store, uint64_t page_nonce, bool *by_fd,
                 struct sfid__error *err) {
    struct local_store *s = self(store);
    struct sfid__position at;
    int rc = 0;
    if (!sfid__mark_in_place(&s->mark, &at))
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot use %s, the mark of pid %" PRIu64,
                                s->mark.path, s->pid);
    if (at.page_nonce != page_nonce)
        rc = sfid__mark_write(&s->mark, (struct sfid__position){at.word, page_nonce, false, false},
                              err);
    s->page_nonce = page_nonce;
    if (rc == 0)
        rc = sfid__mark_share(&s->mark, by_fd, err);
    s->by_fd = *by_fd;
    s->let_in = rc == 0;
    return rc;
}

/* What the mark says may be another keeper's, and not synced: s->mark knows its own entry. */
static void sit(struct sfid__store *store, unsigned seat) {
    struct local_store *s = self(store);
    s->mark.seat = seat;
    s->durable = 0;
}

static void drop(struct sfid__store *store) {
    struct local_store *s = self(store);
    sfid__mark_drop(&s->mark);
    free(s->state_dir);
    free(s->app);
    free(s);
}

/* ---- making one ------------------------------------------------------------ */

#define RETRY_FIRST_MS 50
#define RETRY_LONGEST_MS 5000
#define EXCHANGE_MS 2000

static const struct sfid__store_ops ops = {.claim = claim,
                                           .renew = renew,
                                           .is_last = is_last,
                                           .release = release,
                                           .join = join,
                                           .share = share,
                                           .sit = sit,
                                           .drop = drop};

static int make(struct sfid__store **out, const struct sfid__settings *settings,
                const char *identity, struct sfid__error *err) {
    (void)identity; /* marks belong to this host */
    const sfid_options *opt = &settings->opt;
    struct local_store *s = calloc(1, sizeof *s);
    if (s == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    s->layout = *opt->layout;
    s->fingerprint = settings->fingerprint;
    s->fixed = opt->pid >= 0;
    s->synced = settings->synced;
    s->strict = settings->strict;
    s->shared = settings->shared;
    s->store.prefer = UINT64_MAX;
    s->state_dir = sfid__dir_name_state(opt->state_dir, err); /* the environment may change */
    s->app = strdup(opt->app);
    s->far = sfid__far_of(settings);
    s->far.layout = &s->layout;
    s->far.app = s->app;
    if (s->state_dir == NULL || s->app == NULL) {
        const int rc = s->state_dir ? sfid__fail(err, SFID_ENOMEM, "out of memory") : err->code;
        drop(&s->store);
        return rc;
    }
    /* may be borrowed, so the window covers it */
    const uint64_t max_ahead = sfid__ms_to_ticks(&s->layout, opt->max_ahead_ms);
    const uint64_t window =
        SFID__MAX(sfid__ms_to_ticks(&s->layout, settings->lead_ms) + max_ahead, 2) + 1;
    s->elsewhere = settings->elsewhere && opt->on_unknown == SFID_WAIT_OUT;
    s->furthest = window + (s->elsewhere ? sfid__ms_to_ticks(&s->layout, opt->skew_budget_ms) : 0);
    s->store.ops = &ops;
    s->store.terms =
        (struct sfid__lease_terms){.window = window,
                                   .first_window = window,
                                   .end = sfid__layout_end(&s->layout),
                                   .pid_min = (uint64_t)(s->fixed ? opt->pid : opt->pid_min),
                                   .pid_max = (uint64_t)(s->fixed ? opt->pid : opt->pid_max),
                                   .heartbeat_ms = (int64_t)(window * s->layout.unit_ms / 3),
                                   .first_heartbeat_ms = (int64_t)(window * s->layout.unit_ms / 3),
                                   .retry_first_ms = RETRY_FIRST_MS,
                                   .poll_least_ms = RETRY_FIRST_MS,
                                   .poll_most_ms = (int64_t)(window * s->layout.unit_ms / 3),
                                   .retry_longest_ms = RETRY_LONGEST_MS,
                                   .rests = true};
    s->store.start = s->store.terms.pid_min;
    s->store.exchange_ms = EXCHANGE_MS;
    *out = &s->store;
    return 0;
}

const struct sfid__store_kind sfid__store_local = {
    .title = "store \"local\"",
    .pid_most = INT64_MAX,
    .word = "local",
    .read = sfid__local_options_read,
    .make = make,
};
