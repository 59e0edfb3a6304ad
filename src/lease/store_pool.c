/* SPDX-License-Identifier: MIT */
/*
 * store_pool.c - the store "pool:1-1023=redis://a:…@host/0 1024-2047=redis://b:…@host/0".
 *
 * Each server lends a range of pids, and knows nothing of the others. What
 * keeps a server from lending another's range, after a list was reordered or
 * an address was given to another machine: each range has a user of its own,
 * which exists on the one server that lends it.
 *
 * Each member is a Redis store of its own (store_redis.c), for its own range of
 * pids. A pid stays with its server: only that one renews and releases it. A
 * claim asks the server that answered last, and goes on to the next if that is
 * away, refuses, or has no pid now. So the proof for one server is enough, as
 * long as ranges are disjoint, also between processes that read different lists:
 * see doc/pool.md.
 *
 * A claim that was granted by a server whose answer was lost blocks that pid
 * until its first window ends.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "lease/redis_options.h"
#include "lease/store.h"
#include "redis/uri_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "pool:"
#define SERVERS_MOST 16

struct member {
    struct sfid__store *store;
    uint64_t pid_min, pid_max;
};

struct pool_store {
    struct sfid__store store; /* first */
    struct sfid__said said;
    unsigned count, first_try; /* first_try: whom a claim asks first */
    uint64_t window;           /* ticks that the last answer granted */
    /* ticks from one failed renewal to the end of the next one, at most */
    uint64_t pause;
    struct member members[SERVERS_MOST];
    char shown[SFID__URI_SHOWN];
};

static struct pool_store *pool_self(struct sfid__store *store) {
    return (struct pool_store *)(void *)store;
}

/* ---- the text -------------------------------------------------------------- */

struct range {
    struct sfid__part url;
    uint64_t min, max;
};

/* Cuts the next range off. False at the end, or with an error. */
static bool next_range(struct sfid__part *rest, struct range *r, struct sfid__error *err) {
    while (rest->len > 0 && *rest->at == ' ')
        *rest = sfid__part_behind(*rest, 1);
    if (rest->len == 0)
        return false;
    struct sfid__part word = sfid__part_cut(rest, " "), numbers = sfid__part_cut(&word, "="),
                      low = sfid__part_cut(&numbers, "-");
    if (word.len > 1 && numbers.len > 1 && sfid__part_number(low, SFID__REDIS_PID_MAX, &r->min) &&
        sfid__part_number(sfid__part_behind(numbers, 1), SFID__REDIS_PID_MAX, &r->max) &&
        r->min <= r->max) {
        r->url = sfid__part_behind(word, 1);
        return true;
    }
    sfid__fail(
        err, SFID_EINVAL,
        "store \"pool:\": a range has to be MIN-MAX=URL, with pids up to %d, such as 1-1023=redis://user:password@host/0; "
        "ranges are separated by spaces",
        SFID__REDIS_PID_MAX);
    return false;
}

/* Lists the ranges. Returns how many, or a negative code. */
static int list_ranges(const char *text, struct range ranges[SERVERS_MOST],
                       struct sfid__error *err) {
    struct sfid__part rest = {text + strlen(PREFIX), strlen(text) - strlen(PREFIX)};
    struct range r;
    int n = 0;
    err->code = 0;
    while (next_range(&rest, &r, err)) {
        if (n == SERVERS_MOST)
            return sfid__fail(err, SFID_EINVAL, "store \"pool:\": more than %d ranges are given",
                              SERVERS_MOST);
        for (int i = 0; i < n; i++)
            if (r.min <= ranges[i].max && ranges[i].min <= r.max)
                return sfid__fail(err, SFID_EINVAL,
                                  "store \"pool:\": ranges %" PRIu64 "-%" PRIu64 " and %" PRIu64
                                  "-%" PRIu64 " overlap; each pid belongs to one server",
                                  ranges[i].min, ranges[i].max, r.min, r.max);
        ranges[n++] = r;
    }
    if (err->code == 0 && n < 2)
        return sfid__fail(err, SFID_EINVAL,
                          "store \"pool:\": %d range%s given; a pool has at least two", n,
                          n == 1 ? " is" : "s are");
    return err->code ? err->code : n;
}

/* ---- members --------------------------------------------------------------- */

static struct member *member_of(struct pool_store *s, uint64_t pid) {
    for (unsigned i = 0; i < s->count; i++)
        if (pid >= s->members[i].pid_min && pid <= s->members[i].pid_max)
            return &s->members[i];
    return NULL;
}

/* Takes over what the last exchange showed. Relaxed: as in store_redis.c. */
static void note_member(struct pool_store *s, struct member *m) {
    const struct sfid__store *from = m->store;
    s->store.group = from->group;
    s->store.answer_ms = from->answer_ms;
    s->said.unreplicated = from->said->unreplicated;
    s->said.skew = from->said->skew;
    atomic_store_explicit(&s->store.connected,
                          atomic_load_explicit(&from->connected, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&s->store.skew_ms,
                          atomic_load_explicit(&from->skew_ms, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&s->store.replicas,
                          atomic_load_explicit(&from->replicas, memory_order_relaxed),
                          memory_order_relaxed);
}

/* The member's store, for a question: its events go to the listener of the pool. */
static struct sfid__store *told(const struct pool_store *s, const struct member *m) {
    m->store->tell = s->store.tell;
    m->store->listener = s->store.listener;
    return m->store;
}

/* ---- operations ------------------------------------------------------------ */

static enum sfid__lease_answer granted(struct pool_store *s, const struct sfid__lease_action *ask,
                                       const struct sfid__lease_event *grant,
                                       enum sfid__lease_answer answer) {
    s->window = grant->limit - SFID__MIN(ask->now, grant->limit);
    return answer;
}

static enum sfid__lease_answer ask_member(struct pool_store *s, struct member *m,
                                          const struct sfid__lease_action *ask,
                                          struct sfid__lease_event *grant,
                                          struct sfid__error *err) {
    struct sfid__lease_action part = *ask;
    part.start = m->pid_min + part.start % (m->pid_max - m->pid_min + 1);
    part.deadline_ms = SFID__MIN(ask->deadline_ms, sfid__deadline_now_ms() + m->store->exchange_ms);
    const enum sfid__lease_answer answer = m->store->ops->claim(told(s, m), &part, grant, err);
    note_member(s, m);
    grant->start = ask->start;
    if (answer == SFID__GRANTED && (grant->pid < m->pid_min || grant->pid > m->pid_max)) {
        sfid__fail(err, SFID_EREDIS,
                   "%s: pid %" PRIu64 " was granted, which is not in this server's range",
                   m->store->server, grant->pid);
        return SFID__REFUSED;
    }
    return answer;
}

/* Is there time, and does nobody wait for the handle to close? */
static bool pool_may_go_on(const struct sfid__lease_action *ask) {
    /* Acquire, as in clock.h. */
    return sfid__deadline_now_ms() < ask->deadline_ms &&
           !(ask->stop && atomic_load_explicit(ask->stop, memory_order_acquire) != 0);
}

/*
 * The first server that grants a pid. A server that has none now says when to come again; that
 * outranks a failure of another one, and only a refusal by all of them is a refusal.
 */
static enum sfid__lease_answer pool_claim(struct sfid__store *store,
                                          const struct sfid__lease_action *ask,
                                          struct sfid__lease_event *grant,
                                          struct sfid__error *err) {
    struct pool_store *s = pool_self(store);
    enum sfid__lease_answer worst = SFID__REFUSED;
    int64_t after_ms = INT64_MAX;
    const unsigned first_try = s->first_try;
    for (unsigned i = 0; i < s->count && (i == 0 || pool_may_go_on(ask)); i++) {
        struct sfid__error why = {.code = 0};
        const unsigned at = (first_try + i) % s->count;
        const enum sfid__lease_answer answer = ask_member(s, &s->members[at], ask, grant, &why);
        if (answer == SFID__GRANTED) {
            s->first_try = at;
            return granted(s, ask, grant, answer);
        }
        if (answer == SFID__LATER)
            after_ms = SFID__MIN(after_ms, grant->after_ms);
        if (answer == SFID__LATER && worst != SFID__LATER)
            s->first_try = at;
        if (why.code && (worst != SFID__LATER || answer == SFID__LATER))
            *err = why;
        worst = answer == SFID__LATER || worst == SFID__LATER ? SFID__LATER
                : answer == SFID__FAILED                      ? answer
                                                              : worst;
    }
    grant->after_ms = after_ms;
    return worst;
}

/* An eighth of the window; of a short one more, where the next renewal may come after that. */
static uint64_t reserve(const struct pool_store *s) {
    return SFID__MAX(s->window / 8, SFID__MIN(s->pause, s->window / 3));
}

/*
 * A holder whose server stays away looks for a pid of another one before its window is over. It
 * uses up that window meanwhile, and never shows the old lease again.
 */
static enum sfid__lease_answer pool_renew(struct sfid__store *store,
                                          const struct sfid__lease_action *ask,
                                          struct sfid__lease_event *grant,
                                          struct sfid__error *err) {
    struct pool_store *s = pool_self(store);
    struct member *m = member_of(s, ask->pid);
    if (m == NULL) {
        sfid__fail(err, SFID_ELEASE, "%s: pid %" PRIu64 " is in no range of the pool any more",
                   s->shown, ask->pid);
        return SFID__LOST;
    }
    const enum sfid__lease_answer answer = m->store->ops->renew(told(s, m), ask, grant, err);
    note_member(s, m);
    if (answer == SFID__GRANTED || answer == SFID__SWITCHED)
        return granted(s, ask, grant, answer);
    const bool failed = answer == SFID__FAILED || answer == SFID__REFUSED;
    if (!failed || ask->now + reserve(s) < ask->limit)
        return answer;
    s->first_try = (unsigned)(m - s->members + 1) % s->count;
    return SFID__LOST;
}

static enum sfid__lease_answer pool_release(struct sfid__store *store,
                                            const struct sfid__lease_action *ask,
                                            struct sfid__error *err) {
    struct member *m = member_of(pool_self(store), ask->pid);
    return m ? m->store->ops->release(m->store, ask, err) : SFID__GRANTED;
}

static bool answers(struct sfid__store *store, uint64_t pid, int64_t deadline_ms,
                    struct sfid__error *err) {
    struct member *m = member_of(pool_self(store), pid);
    return m && m->store->ops->answers(m->store, pid, deadline_ms, err);
}

static void name(struct sfid__store *store, const char *identity) {
    struct pool_store *s = pool_self(store);
    const uint64_t hash = sfid__hash(SFID__HASH_SEED, identity, strlen(identity));
    for (unsigned i = 0; i < s->count; i++)
        s->members[i].store->ops->name(s->members[i].store, identity);
    store->start = store->terms.pid_min + hash % (store->terms.pid_max - store->terms.pid_min + 1);
    s->first_try = (unsigned)(hash >> 32) % s->count;
}

/* One server that answers is enough. */
static int pool_probe(struct sfid__store *store, int64_t deadline_ms, struct sfid__error *err) {
    struct pool_store *s = pool_self(store);
    int rc = 0;
    for (unsigned i = 0; i < s->count; i++) {
        struct sfid__store *member = s->members[i].store;
        rc = member->ops->probe(member, deadline_ms, err);
        if (rc == 0)
            break;
    }
    return rc;
}

static void pool_drop(struct sfid__store *store) {
    struct pool_store *s = pool_self(store);
    for (unsigned i = 0; i < s->count; i++)
        if (s->members[i].store)
            s->members[i].store->ops->drop(s->members[i].store);
    free(s);
}

/* ---- making one ------------------------------------------------------------ */

static const struct sfid__store_ops ops = {.claim = pool_claim,
                                           .renew = pool_renew,
                                           .release = pool_release,
                                           .answers = answers,
                                           .name = name,
                                           .probe = pool_probe,
                                           .drop = pool_drop};

static int make_members(struct pool_store *s, const struct sfid__settings *settings,
                        const char *identity, struct sfid__error *err) {
    for (; s->count < settings->count; s->count++) {
        const struct sfid__settings *one = &settings->servers[s->count];
        struct member *m = &s->members[s->count];
        if (sfid__store_redis.make(&m->store, one, identity, err) < 0)
            return err->code;
        m->pid_min = (uint64_t)one->opt.pid_min;
        m->pid_max = (uint64_t)one->opt.pid_max;
        s->store.exchange_ms += m->store->exchange_ms;
        s->store.settings =
            sfid__hash(s->store.settings, &m->store->settings, sizeof m->store->settings);
    }
    return 0;
}

static int pool_make(struct sfid__store **out, const struct sfid__settings *settings,
                     const char *identity, struct sfid__error *err) {
    struct pool_store *s = calloc(1, sizeof *s);
    if (s == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    if (make_members(s, settings, identity, err) < 0) {
        pool_drop(&s->store);
        return err->code;
    }
    s->store.ops = &ops;
    s->store.said = &s->said;
    s->store.terms = s->members[0].store->terms;
    s->store.terms.pid_min = (uint64_t)settings->opt.pid_min;
    s->store.terms.pid_max = (uint64_t)settings->opt.pid_max;
    name(&s->store, identity);
    s->pause = (uint64_t)(s->store.terms.retry_longest_ms + s->members[0].store->exchange_ms) /
                   settings->opt.layout->unit_ms +
               1;
    /* of a lease that is resumed it is not known: the shorter one */
    s->window = s->store.terms.first_window;
    snprintf(s->shown, sizeof s->shown, "pool of %u servers", s->count);
    s->store.server = s->shown;
    *out = &s->store;
    return 0;
}

/* ---- options --------------------------------------------------------------- */

static int bad_pool(struct sfid__error *err, const char *what) {
    return sfid__fail(err, SFID_EINVAL, "store \"pool:\": %s", what);
}

/* Reads the URL of a range. */
static int read_server(const struct range *r, struct sfid__settings *out, struct sfid__error *err) {
    char url[4096];
    struct sfid__error why;
    if (r->url.len >= sizeof url)
        return sfid__fail(err, SFID_EINVAL,
                          "store \"pool:\": range %" PRIu64 "-%" PRIu64 ": the URL is too long",
                          r->min, r->max);
    memcpy(url, r->url.at, r->url.len);
    url[r->url.len] = '\0';
    int rc = sfid__redis_options_read(url, out, &why);
    if (rc == 0 && (out->store_min >= 0 || out->store_max >= 0))
        rc = sfid__fail(&why, SFID_EINVAL,
                        "pids, pid_min and pid_max belong before the URL, as MIN-MAX=");
    if (rc == 0 && out->uri->user[0] == '\0')
        rc = sfid__fail(
            &why, SFID_EINVAL,
            "the URL has no user; each range needs a user of its own, which exists only on the server that lends it");
    if (rc == 0)
        out->uri->quoted[0] = '\0'; /* the range is missing in it */
    out->store_min = (int64_t)r->min;
    out->store_max = (int64_t)r->max;
    return rc < 0 ? sfid__fail(err, rc, "store \"pool:\": range %" PRIu64 "-%" PRIu64 ": %s",
                               r->min, r->max, why.text)
                  : 0;
}

/* Checks what the URLs of a pool have to have in common, and what not. */
static int check_with_first(const struct sfid__settings *pool, unsigned i,
                            struct sfid__error *err) {
    const struct sfid__uri *first = pool->servers[0].uri, *uri = pool->servers[i].uri;
    /* two ranges with one user could be lent by one server after the list was changed */
    for (unsigned k = 0; k < i; k++)
        if (strcmp(pool->servers[k].uri->user, uri->user) == 0)
            return sfid__fail(
                err, SFID_EINVAL,
                "store \"pool:\": two ranges have the user %.60s; each needs a user of its own, which exists only on "
                "the server that lends it",
                uri->user);
    if (uri->registration != first->registration)
        return bad_pool(err, "registration differs between the servers; set one value for all");
    return uri->shared == first->shared
               ? 0
               : bad_pool(err, "only some of the servers have share=1; set it for all or for none");
}

static int pool_read_option(const char *text, struct sfid__settings *out, struct sfid__error *err) {
    struct range ranges[SERVERS_MOST];
    const int n = list_ranges(text, ranges, err);
    if (n < 0)
        return n;
    if ((out->servers = calloc((size_t)n, sizeof *out->servers)) == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    out->count = (unsigned)n;
    out->store_min = INT64_MAX;
    for (unsigned i = 0; i < out->count; i++) {
        if (read_server(&ranges[i], &out->servers[i], err) < 0 || check_with_first(out, i, err) < 0)
            return err->code;
        out->store_min = SFID__MIN(out->store_min, out->servers[i].store_min);
        out->store_max = SFID__MAX(out->store_max, out->servers[i].store_max);
    }
    out->shared = out->shared || out->servers[0].shared;
    return 0;
}

/* The settings of each server, the rules of all, and a fingerprint of the list: a slot of another
 * list is not continued. */
static int pool_finish(struct sfid__settings *out, struct sfid__error *err) {
    char server[SFID__URI_WHOLE];
    uint64_t of_pages = out->fingerprint;
    for (unsigned i = 0; i < out->count; i++) {
        struct sfid__settings *one = &out->servers[i];
        const struct sfid__settings read = *one;
        *one = *out;
        one->store = &sfid__store_redis;
        one->uri = read.uri;
        one->servers = NULL;
        one->count = 0;
        one->lends_range = true;
        one->opt.store = one->opt.run_dir = one->opt.state_dir = NULL; /* the pool's */
        one->opt.pid_min = read.store_min;
        one->opt.pid_max = read.store_max;
        if (sfid__redis_options_finish(one, err) < 0)
            return err->code;
        sfid__uri_describe(one->uri, server, sizeof server);
        const int64_t range[] = {read.store_min, read.store_max};
        of_pages = sfid__hash(sfid__hash(of_pages, server, strlen(server)), range, sizeof range);
    }
    out->window_ms = out->servers[0].window_ms;
    out->short_ms = out->servers[0].short_ms;
    out->short_every = out->servers[0].short_every;
    out->of_pages = of_pages;
    return 0;
}

const struct sfid__store_kind sfid__store_pool = {
    .title = "the pool",
    .pid_most = SFID__REDIS_PID_MAX,
    .slot_first = true,
    .word = PREFIX,
    .read = pool_read_option,
    .finish = pool_finish,
    .make = pool_make,
};
