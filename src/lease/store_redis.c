/* SPDX-License-Identifier: MIT */
/*
 * store_redis.c - the Redis store: the store port (store.h) over the lease
 * script. doc/protocol.md says why no two holders are ever granted the same
 * tick of a pid.
 */
#include "lease/store.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "host/slot.h"
#include "id/layout.h"
#include "lease/explain.h"
#include "lease/redis_options.h"
#include "lease/redis_tell.h"
#include "lease/script_look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_FIRST_MS 100
#define RETRY_LONGEST_MS 10000
#define POLL_LEAST_MS 10 /* as in the script */
#define POLL_MOST_MS 62010
#define EXPLAIN_MS 1000 /* polls may follow one another closely */
/* of a close: for its release, and before that for the answer to another question */
#define RELEASE_MS 1000
#define ANSWER_MS 300
#define CONNECT_MS 500 /* for both, where there is no connection */
#define MIXED_CURE \
    "set registration=mixed in the store URL of every process that shares its pids with such programs"

enum { HEX = 17, BASE = 256, NUMBER = 24 };

struct redis_store {
    struct sfid__store store; /* first */
    struct sfid__said said;
    struct sfid__redis_app app;
    char identity[BASE - HEX];
    char era[SFID__REDIS_ERA];     /* of the last answer; "": none yet */
    char witness[SFID__REDIS_ERA]; /* of the last that granted something, or had it wait */
    uint64_t witness_of;           /* the token of the lease that it granted; 0: of none */
    bool trusts;                   /* SFID_TRUST, and no claim has been answered yet */
    bool keeps;                    /* keep_pid */
    int64_t explained_ms;          /* monotonic: when it was last explained why no pid can be had */
};

static struct redis_store *redis_self(struct sfid__store *store) {
    return (struct redis_store *)(void *)store;
}

static void hex(uint64_t n, char out[HEX]) { snprintf(out, HEX, "%016" PRIx64, n); }

static void decimal(uint64_t n, char out[NUMBER]) { snprintf(out, NUMBER, "%" PRIu64, n); }

static void name_base(const struct redis_store *s, uint64_t token, char out[BASE]) {
    snprintf(out, BASE, "%s:%016" PRIx64, s->identity, token);
}

/* ---- events ---------------------------------------------------------------- */

/* registration=mixed is for apps that share their pids with programs that go by registrations
 * alone. */
static void tell_stranger(struct redis_store *s, uint64_t pid) {
    struct sfid__error *met = &s->said.stranger; /* kept: nobody listens during an open */
    if (s->app.uri->registration == SFID__REGISTRATION_MIXED || met->text[0])
        return;
    s->said.stranger_pid = pid;
    sfid__fail(met, 0,
               "%s: pid %" PRIu64 " is registered for a program that keeps no record; " MIXED_CURE,
               s->app.shown, pid);
    sfid__redis_tell(&s->store, SFID_EVENT_FOREIGN, 0, (int64_t)pid, met->text);
}

/* A claim's answer may name a pid that was passed over. */
static void note_stranger(struct redis_store *s, unsigned i) {
    uint64_t pid;
    if (i < s->app.reply.count && sfid__redis_app_numbers(&s->app, i, 1, &pid))
        tell_stranger(s, pid);
}

/*
 * The era is WHO-B-N. N, how far it has come, is no other era; a word behind it says why the server
 * began it just now.
 */
static void note_era(struct redis_store *s, unsigned i) {
    char text[SFID__URI_SHOWN + 160];
    const char *era = i < s->app.reply.count ? s->app.reply.strings[i] : s->era;
    const size_t whole = strcspn(era, " ");
    size_t name = whole;
    while (name > 0 && era[name - 1] != '-')
        name--;
    if (s->era[0] && strncmp(era, s->era, name) != 0) {
        snprintf(
            text, sizeof text, "%s %s; holders show their leases again", s->app.shown,
            era[whole]
                ? "has lost or taken back a part of what it answered: an old copy was put back, or a record deleted"
                : "is another server than before, or has forgotten the leases");
        sfid__redis_tell(&s->store, SFID_EVENT_FAILOVER, 0, 0, text);
    }
    if (era != s->era)
        snprintf(s->era, sizeof s->era, "%.*s", (int)whole, era);
}

/* The era just noted is shown from the next question on: it proves whether the server has gone back
 * since. */
static void note_witness(struct redis_store *s, uint64_t token) {
    memcpy(s->witness, s->era, sizeof s->witness);
    s->witness_of = token;
}

/*
 * A renewal shows the era that its own lease was last granted in, because it proves that there was
 * a record. Processes that share a page renew leases of one another, too, which may not have been
 * shown in this era.
 */
static void show_witness(struct redis_store *s, const struct sfid__lease_action *a) {
    const bool fits = a->kind == SFID__DO_CLAIM || s->witness_of == a->token;
    snprintf(s->app.witness, sizeof s->app.witness, "%s", fits ? s->witness : "");
}

/* ---- asking ---------------------------------------------------------------- */

/* Sets the question's deadline and stop, asks, and notes connection and skew. */
static int ask_app(struct redis_store *s, const struct sfid__lease_action *ask, const char *op,
                   struct sfid__question q, unsigned strings, struct sfid__error *err) {
    q.deadline_ms = ask->deadline_ms;
    q.stop = ask->stop;
    show_witness(s, ask);
    const int rc = sfid__redis_app_ask(&s->app, op, &q, strings, err);
    sfid__redis_tell_connected(&s->store, &s->app, rc, err);
    if (rc == 0)
        sfid__redis_tell_skew(&s->store, &s->app);
    return rc;
}

static enum sfid__lease_answer failed(const struct redis_store *s) {
    return s->app.reply.class == SFID__REPLY_CONFIG ? SFID__REFUSED : SFID__FAILED;
}

static enum sfid__lease_answer nonsense(struct redis_store *s, const char *op,
                                        struct sfid__error *err) {
    sfid__redis_app_nonsense(&s->app, op, err);
    return SFID__REFUSED;
}

/* ---- claim ----------------------------------------------------------------- */

static enum sfid__lease_answer wait_for_pid(struct redis_store *s,
                                            const struct sfid__lease_action *ask,
                                            struct sfid__lease_event *grant,
                                            struct sfid__error *err) {
    /* the tick, the poll's milliseconds, the tick from which all pids without a record are
     * granted */
    uint64_t n[3];
    if (s->app.reply.count < 6 || !sfid__redis_app_numbers(&s->app, 2, 3, n) || n[1] > POLL_MOST_MS)
        return nonsense(s, "claim", err);
    note_era(s, 5);
    note_witness(s, 0);
    note_stranger(s, 6);
    const uint64_t tick = SFID__MIN(n[0], s->store.terms.end),
                   open_tick = SFID__MIN(n[2], s->store.terms.end);
    grant->start = ask->start;
    grant->after_ms = (int64_t)n[1];
    /* This is the last question, or the next has less time than an answer may take. */
    const int64_t now = sfid__deadline_now_ms();
    if (ask->give_up_ms - now <= grant->after_ms + s->store.exchange_ms &&
        now - s->explained_ms > EXPLAIN_MS) {
        s->explained_ms = now;
        sfid__redis_explain(&s->app, tick, open_tick,
                            (struct sfid__deadline){.at_ms = ask->give_up_ms, .stop = ask->stop},
                            err);
    }
    return SFID__LATER;
}

/* Nothing is to be asked until the next heartbeat. */
static enum sfid__lease_answer settled(struct redis_store *s, enum sfid__lease_answer answer) {
    if (s->app.uri->idle_close)
        sfid__route_hang_up(&s->app.route);
    return answer;
}

static bool read_grant(const struct redis_store *s, struct sfid__lease_event *grant) {
    uint64_t n[3]; /* floor, limit, pid */
    if (!sfid__redis_app_numbers(&s->app, 2, 3, n) || n[0] >= n[1])
        return false;
    grant->limit = SFID__MIN(n[1], s->store.terms.end);
    grant->floor = SFID__MIN(n[0], grant->limit);
    grant->pid = n[2];
    return true;
}

static enum sfid__lease_answer redis_claim(struct sfid__store *store,
                                           const struct sfid__lease_action *ask,
                                           struct sfid__lease_event *grant,
                                           struct sfid__error *err) {
    struct redis_store *s = redis_self(store);
    char start[NUMBER], nonce[HEX], base[BASE];
    decimal(ask->start, start);
    hex(ask->nonce, nonce);
    name_base(s, ask->token, base);
    const char *const argv[] = {start, nonce, base,
                                s->trusts && ask->give_up_ms != SFID__FOREVER ? "1" : "0"};
    if (ask_app(s, ask, "claim", (struct sfid__question){.argc = 4, .argv = argv}, 6, err) < 0)
        return failed(s);
    s->trusts = false; /* the server knows the app now; should it forget, others may hold pids */
    if (s->app.word == SFID__REDIS_RETRY)
        return wait_for_pid(s, ask, grant, err);
    if (s->app.word != SFID__REDIS_OK || !read_grant(s, grant))
        return nonsense(s, "claim", err);
    note_era(s, 5);
    note_witness(s, ask->token);
    note_stranger(s, 6);
    sfid__redis_tell_replicas(&s->store, &s->app, ask, grant->pid);
    return settled(s, SFID__GRANTED);
}

/* ---- renew, release -------------------------------------------------------- */

/* What a holder shows: the arguments of renew and of release begin alike. */
struct shown {
    char pid[NUMBER], nonce[HEX], base[BASE], next_nonce[HEX];
    const char *is_renewals; /* nonce */
};

static void show(const struct redis_store *s, const struct sfid__lease_action *a,
                 struct shown *out) {
    decimal(a->pid, out->pid);
    hex(a->nonce, out->nonce);
    name_base(s, a->token, out->base);
    hex(a->next_nonce, out->next_nonce);
    out->is_renewals = sfid__nonce_renews(a->nonce) ? "1" : "";
}

static enum sfid__lease_answer
redis_lost(struct redis_store *s, const struct sfid__lease_action *ask, struct sfid__error *err) {
    const bool gone = s->app.word == SFID__REDIS_GONE;
    note_era(s, gone ? 3 : 2);
    if (s->app.word == SFID__REDIS_FOREIGN) {
        tell_stranger(s, ask->pid);
        sfid__fail(
            err, SFID_ELEASE,
            "%s: pid %" PRIu64
            " of app \"%s\" is registered for a program that keeps no record and may also have used it "
            "since the last renewal%s",
            s->app.shown, ask->pid, s->app.name,
            s->app.uri->registration == SFID__REGISTRATION_MIXED ? "" : "; " MIXED_CURE);
        return SFID__FOREIGN;
    }
    if (s->app.word == SFID__REDIS_TAKEN) {
        sfid__fail(
            err, SFID_ELEASE,
            "%s: pid %" PRIu64
            " of app \"%s\" was granted to another process inside our window, which is closed now",
            s->app.shown, ask->pid, s->app.name);
        return SFID__FOREIGN;
    }
    sfid__fail(
        err, SFID_ELEASE, "%s: pid %" PRIu64 " of app \"%s\" %s", s->app.shown, ask->pid,
        s->app.name,
        gone
            ? "was forgotten by the server, and its window is too old to prove that no other process was granted it"
            : "is held by another process, or two processes showed its lease (a copied machine, or a copied slot file)");
    return SFID__LOST;
}

static enum sfid__lease_answer redis_renew(struct sfid__store *store,
                                           const struct sfid__lease_action *ask,
                                           struct sfid__lease_event *grant,
                                           struct sfid__error *err) {
    struct redis_store *s = redis_self(store);
    struct shown shown;
    char limit[NUMBER], start[NUMBER], move_nonce[HEX], move_base[BASE];
    show(s, ask, &shown);
    decimal(ask->limit, limit);
    decimal(ask->start, start);
    hex(ask->move_nonce, move_nonce);
    name_base(s, ask->move_token, move_base);
    const bool moves = ask->move_token && !s->keeps;
    const char *const argv[] = {shown.pid,
                                shown.nonce,
                                shown.base,
                                shown.next_nonce,
                                limit,
                                moves ? start : "",
                                moves ? move_nonce : "",
                                moves ? move_base : "",
                                shown.is_renewals};
    const struct sfid__question q = {.argc = 9, .argv = argv};
    if (ask_app(s, ask, "renew", q, 6, err) < 0)
        return failed(s);
    const enum sfid__redis_word w = s->app.word;
    if (w == SFID__REDIS_LOST || w == SFID__REDIS_GONE || w == SFID__REDIS_FOREIGN ||
        w == SFID__REDIS_TAKEN)
        return redis_lost(s, ask, err);
    if (s->app.word == SFID__REDIS_MOVED && moves && read_grant(s, grant)) {
        note_era(s, 5);
        note_witness(s, ask->move_token);
        sfid__redis_tell_replicas(&s->store, &s->app, ask, grant->pid);
        return settled(s, SFID__SWITCHED);
    }
    uint64_t n[2]; /* limit, pid */
    if (s->app.word != SFID__REDIS_OK || !sfid__redis_app_numbers(&s->app, 3, 2, n) ||
        n[1] != ask->pid)
        return nonsense(s, "renew", err);
    grant->pid = n[1];
    grant->limit = SFID__MAX(SFID__MIN(n[0], store->terms.end), ask->limit);
    note_era(s, 5);
    note_witness(s, ask->token);
    return settled(s, SFID__GRANTED);
}

static int64_t patience_ms(struct redis_store *s, int64_t ms) {
    return sfid__route_is_up(&s->app.route) ? ms : CONNECT_MS;
}

/*
 * True if nothing was written, also where several servers were asked in turn: no command went out
 * that was not answered as a whole, and the last answer is an error that passes, or of the server's
 * role. Such a one comes from a script that did not run, or from its first write: once that is
 * done, no further one is refused. No answer at all: it was never sent.
 */
static bool wrote_nothing(const struct sfid__redis_reply *r) {
    return r->unanswered == 0 &&
           (r->count == 0 || r->class == SFID__REPLY_RETRY || r->class == SFID__REPLY_RESOLVE ||
            strcmp(r->strings[0], "SKEW") == 0);
}

static enum sfid__lease_answer redis_release(struct sfid__store *store,
                                             const struct sfid__lease_action *ask,
                                             struct sfid__error *err) {
    struct redis_store *s = redis_self(store);
    struct shown shown;
    char first_unused[NUMBER], limit[NUMBER];
    show(s, ask, &shown);
    decimal(ask->floor, first_unused);
    decimal(ask->limit, limit);
    const char *const argv[] = {shown.pid,    shown.nonce, shown.base,       shown.next_nonce,
                                first_unused, limit,       shown.is_renewals};
    const int64_t until_ms = sfid__deadline_now_ms() + patience_ms(s, RELEASE_MS);
    const struct sfid__question q = {7, argv, NULL, SFID__MIN(until_ms, ask->deadline_ms), NULL};
    s->app.reply.unanswered = 0;
    if (sfid__redis_app_ask(&s->app, "release", &q, 2, err) < 0)
        return wrote_nothing(&s->app.reply) ? SFID__FAILED : SFID__GRANTED;
    if (s->app.word != SFID__REDIS_GONE)
        return SFID__GRANTED;
    sfid__fail(err, SFID_ELEASE,
               "%s does not know pid %" PRIu64 " of app \"%s\": it has begun anew", s->app.shown,
               ask->pid, s->app.name);
    return SFID__LOST;
}

/* TIME: what every user of an app may run. An error that the server replies is an answer, too. */
static bool answers(struct sfid__store *store, uint64_t pid, int64_t deadline_ms,
                    struct sfid__error *err) {
    struct redis_store *s = redis_self(store);
    const int64_t until_ms =
        SFID__MIN(deadline_ms, sfid__deadline_now_ms() + patience_ms(s, ANSWER_MS));
    const struct sfid__question q = {1, (const char *const[]){"TIME"}, NULL, until_ms, NULL};
    (void)pid;
    sfid__route_exchange(&s->app.route, &q, &s->app.reply, err);
    return s->app.reply.count > 0;
}

/* The identity chooses the pid to look at first, so that processes spread. */
static void name(struct sfid__store *store, const char *identity) {
    struct redis_store *s = redis_self(store);
    const uint64_t pids = s->app.pid_max - s->app.pid_min + 1;
    snprintf(s->identity, sizeof s->identity, "%s", identity);
    store->start = s->app.pid_min + sfid__hash(SFID__HASH_SEED, identity, strlen(identity)) % pids;
}

static int redis_probe(struct sfid__store *store, int64_t deadline_ms, struct sfid__error *err) {
    struct redis_store *s = redis_self(store);
    struct sfid__redis_view view;
    return sfid__redis_look(&s->app, &view, NULL, NULL,
                            (struct sfid__deadline){.at_ms = deadline_ms}, err);
}

static void redis_drop(struct sfid__store *store) {
    struct redis_store *s = redis_self(store);
    sfid__redis_app_end(&s->app);
    free(s);
}

/* ---- making one ------------------------------------------------------------ */

static const struct sfid__store_ops ops = {.claim = redis_claim,
                                           .renew = redis_renew,
                                           .release = redis_release,
                                           .answers = answers,
                                           .name = name,
                                           .probe = redis_probe,
                                           .drop = redis_drop};

static int redis_make(struct sfid__store **out, const struct sfid__settings *settings,
                      const char *identity, struct sfid__error *err) {
    const sfid_options *opt = &settings->opt;
    const sfid_layout *l = opt->layout;
    struct redis_store *s = calloc(1, sizeof *s);
    if (s == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    if (sfid__redis_app_begin(&s->app, settings, err) < 0) {
        redis_drop(&s->store);
        return err->code;
    }
    s->trusts = opt->on_unknown == SFID_TRUST;
    s->keeps = opt->keep_pid != 0;
    const uint64_t window = sfid__ms_to_ticks(l, settings->window_ms);
    s->store.ops = &ops;
    s->store.said = &s->said;
    const uint64_t brief_ms = settings->short_ms ? settings->short_ms : settings->window_ms;
    const int64_t first_heartbeat_ms = SFID__MIN((int64_t)opt->heartbeat_ms, (int64_t)brief_ms / 3);
    s->store.terms = (struct sfid__lease_terms){
        .window = window,
        .first_window = sfid__ms_to_ticks(l, brief_ms),
        .short_every = settings->short_every,
        .end = sfid__layout_end(l),
        .unit_ms = l->unit_ms,
        /* clocks further apart are refused */
        .reach = window + window / 2 + 2,
        .pid_min = s->app.pid_min,
        .pid_max = s->app.pid_max,
        .heartbeat_ms = opt->heartbeat_ms,
        .first_heartbeat_ms = first_heartbeat_ms,
        .poll_least_ms = POLL_LEAST_MS,
        .poll_most_ms = POLL_MOST_MS,
        .retry_first_ms = SFID__MIN(RETRY_FIRST_MS, opt->heartbeat_ms),
        .retry_longest_ms = SFID__MIN(RETRY_LONGEST_MS, opt->heartbeat_ms),
        .testifies = true};
    name(&s->store, identity);
    /* Processes that share a lease have to give the script the same of all this. App and layout are
     * compared elsewhere. */
    const struct sfid__redis_app *a = &s->app;
    const uint64_t same[] = {
        a->window_ms, a->short_ms, a->short_every, a->uri->min_good,
        a->budget_ms, a->pid_min,  a->pid_max,     settings->uri->registration};
    s->store.settings = sfid__hash(SFID__HASH_SEED, same, sizeof same) | 1;
    s->store.exchange_ms = settings->uri->timeout_ms;
    s->store.server = s->app.shown;
    s->store.group = sfid__route_server(settings->uri, s->app.name);
    *out = &s->store;
    return 0;
}

const struct sfid__store_kind sfid__store_redis = {
    .title = "the store's URL",
    .pid_most = SFID__REDIS_PID_MAX,
    .slot_first = true,
    .read = sfid__redis_options_read,
    .finish = sfid__redis_options_finish,
    .make = redis_make,
};
