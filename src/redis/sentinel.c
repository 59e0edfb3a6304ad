/* SPDX-License-Identifier: MIT */
#include "redis/sentinel.h"

#include "base/clock.h"

#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_LEAST_MS 20 /* a sentinel on the same network answers within it */

struct sfid__sentinel {
    struct sfid__uri *uri;
    struct sfid__connection *sentinel, *master;
    unsigned first_try; /* the sentinel to ask first: the last one that was right */
    bool known;         /* a sentinel named this master, and was right */
    bool found;         /* the master is known, and nothing has failed since */
};

/* One exchange, with what every sentinel said in case none is right. */
struct search {
    struct sfid__sentinel *s;
    const struct sfid__question *q;
    struct sfid__redis_reply *reply;
    struct sfid__error *err;
    char said[SFID__ERROR_TEXT - 100];
    bool answered;                                 /* a sentinel answered, whatever it said */
    bool hopeless;                                 /* a person has to look at what each one said */
    int code;                                      /* of the last one noted */
    struct sfid__endpoint failed[SFID__URI_NODES]; /* named, but not the master */
    unsigned fails;
};

/* ---- connections ----------------------------------------------------------- */

static void uri_of_sentinel(const struct sfid__uri *uri, unsigned i, struct sfid__uri *out) {
    sfid__uri_of_node(uri, &uri->node[i], out);
    memcpy(out->user, uri->sentinel_user, sizeof out->user);
    memcpy(out->password, uri->sentinel_password, sizeof out->password);
    memcpy(out->password_file, uri->sentinel_password_file, sizeof out->password_file);
    out->db = 0;
}

int sfid__sentinel_new(struct sfid__sentinel **out, const struct sfid__uri *uri, const char *app,
                       struct sfid__error *err) {
    struct sfid__uri one;
    struct sfid__sentinel *s = calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL || (s->uri = sfid__uri_share(uri)) == NULL) {
        free(s);
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    }
    uri_of_sentinel(uri, 0, &one);
    if (sfid__connection_new(&s->sentinel, &one, SFID__PEER_SENTINEL, app, err) < 0 ||
        sfid__connection_new(&s->master, uri, SFID__PEER_MASTER, app, err) < 0) {
        sfid__sentinel_drop(s);
        return err->code;
    }
    *out = s;
    return 0;
}

void sfid__sentinel_drop(struct sfid__sentinel *s) {
    if (s == NULL)
        return;
    sfid__connection_drop(s->sentinel);
    sfid__connection_drop(s->master);
    sfid__uri_drop(s->uri);
    free(s);
}

bool sfid__sentinel_is_up(struct sfid__sentinel *s) {
    return s->found && sfid__connection_is_up(s->master);
}

void sfid__sentinel_hang_up(struct sfid__sentinel *s) {
    if (s->found)
        sfid__connection_hang_up(s->master);
}

/* ---- asking one sentinel --------------------------------------------------- */

static int64_t left_ms(const struct search *x) {
    return x->q->deadline_ms - sfid__deadline_now_ms();
}

/* A thread that closes the handle waits for one exchange, not for several. */
static bool is_stopped(const struct search *x) {
    /* Acquire, as in deadline.h. */
    return x->q->stop && atomic_load_explicit(x->q->stop, memory_order_acquire) != 0;
}

/* Notes the outcome for the sentinel at `node`. */
static void search_note(struct search *x, const struct sfid__endpoint *node, const char *what,
                        int code, enum sfid__reply_class class) {
    char name[SFID__ENDPOINT_SHOWN];
    const size_t n = strlen(x->said);
    sfid__endpoint_describe(node, name);
    snprintf(x->said + n, sizeof x->said - n, "%ssentinel %.60s: %.240s", n ? "; " : "", name,
             what);
    if (class != SFID__REPLY_CONFIG)
        x->hopeless = false;
    x->code = code;
}

/* Asks sentinel i for the master's address, by deadline_ms. If it names none, notes that and
 * returns false. */
static bool ask_one(struct search *x, unsigned i, int64_t deadline_ms,
                    struct sfid__endpoint *named) {
    const struct sfid__endpoint *node = &x->s->uri->node[i];
    const char *const argv[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", x->s->uri->master};
    const struct sfid__question q = {3, argv, NULL, deadline_ms, x->q->stop};
    struct sfid__uri one;
    struct sfid__error why;
    char what[SFID__URI_TEXT + 80];
    uri_of_sentinel(x->s->uri, i, &one);
    sfid__connection_aim(x->s->sentinel, &one);
    const int rc = sfid__connection_exchange(x->s->sentinel, &q, x->reply, &why);
    x->answered = x->answered || rc == 0 || x->reply->count > 0;
    if (rc < 0) {
        const char *text = strstr(why.text, ": "); /* skips the server's name */
        search_note(x, node, text ? text + 2 : why.text, rc, x->reply->class);
        return false;
    }
    sfid__connection_hang_up(x->s->sentinel); /* not needed until something fails */
    named->named_by = sfid__connection_reached(x->s->sentinel);
    if (x->reply->count == 2 &&
        sfid__endpoint_take(x->reply->strings[0], x->reply->strings[1], named))
        return true;
    snprintf(what, sizeof what,
             x->reply->count == 0 ? "it knows no master named \"%.60s\""
                                  : "it gave no address for \"%.60s\"",
             x->s->uri->master);
    search_note(x, node, what, SFID_EINVAL, SFID__REPLY_CONFIG);
    return false;
}

/* ---- asking the master ----------------------------------------------------- */

static int ask_master(struct search *x) {
    const int rc = sfid__connection_exchange(x->s->master, x->q, x->reply, x->err);
    /* A server that has said so is still the master, whatever else it says. */
    x->s->found = rc == 0 || (x->reply->count > 0 && x->reply->class != SFID__REPLY_RESOLVE);
    x->s->known = x->s->known || x->s->found;
    return rc;
}

/* May another one be asked after this failure? */
static bool search_may_go_on(const struct search *x) {
    return !x->s->found && !is_stopped(x) && left_ms(x) > 0;
}

/* Is it worth asking for the master again? */
static bool is_elsewhere(const struct search *x) {
    return x->reply->class != SFID__REPLY_CONFIG && search_may_go_on(x);
}

/* What no other server would mend: a file of the URL. */
static bool is_own_fault(const struct search *x) {
    return x->reply->class == SFID__REPLY_CONFIG && x->err->code == SFID_EINVAL;
}

static bool has_failed(const struct search *x, const struct sfid__endpoint *e) {
    for (unsigned i = 0; i < x->fails; i++)
        if (sfid__endpoint_equals(&x->failed[i], e))
            return true;
    return false;
}

/* Asks the server that sentinel i names. True if *rc is the result of the whole exchange. */
static bool ask_named(struct search *x, unsigned i, const struct sfid__endpoint *named, int *rc) {
    struct sfid__uri one;
    char name[SFID__ENDPOINT_SHOWN], what[SFID__ERROR_TEXT];
    sfid__endpoint_describe(named, name);
    if (has_failed(x, named)) {
        snprintf(what, sizeof what, "also names %.60s", name);
        search_note(x, &x->s->uri->node[i], what, x->code, SFID__REPLY_CONFIG); /* nothing new */
        return false;
    }
    x->s->known = false;
    sfid__uri_of_node(x->s->uri, named, &one);
    sfid__connection_aim(x->s->master, &one);
    *rc = ask_master(x);
    if (is_own_fault(x) || !search_may_go_on(x)) {
        x->s->first_try = x->s->found ? i : x->s->first_try;
        return true;
    }
    x->failed[x->fails++] = *named;
    const char *why = strstr(x->err->text, ": ");
    snprintf(what, sizeof what, "names %.60s: %.200s", name, why ? why + 2 : x->err->text);
    search_note(x, &x->s->uri->node[i], what, *rc, x->reply->class);
    return false;
}

/* ---- the whole ------------------------------------------------------------- */

static int fail_search(struct search *x) {
    char name[SFID__URI_SHOWN];
    sfid__uri_describe(x->s->uri, name, sizeof name);
    sfid__reply_empty(x->reply);
    const bool hopeless = x->hopeless && x->said[0];
    x->reply->class = hopeless ? SFID__REPLY_CONFIG : SFID__REPLY_RETRY;
    const int code = hopeless && x->code == SFID_EAUTH ? SFID_EAUTH : SFID_EREDIS;
    return sfid__fail(x->err, code, "%.160s: no master found: %s", name,
                      x->said[0] ? x->said : "there was no time to ask");
}

/* Asks all sentinels, first the last one that was right. Each gets its share of the time, and so
 * does the master. */
static int search(struct search *x) {
    struct sfid__sentinel *s = x->s;
    const unsigned n = s->uri->nodes, first = s->first_try;
    for (unsigned k = 0; k < n && left_ms(x) > 0; k++) {
        const unsigned i = (first + k) % n;
        const int64_t part_ms = SFID__MAX(PART_LEAST_MS, left_ms(x) / (n - k + 1));
        struct sfid__endpoint named;
        int rc;
        s->first_try = (i + 1) % n; /* if time is over now, the next exchange goes on from here */
        if (ask_one(x, i, SFID__MIN(x->q->deadline_ms, sfid__deadline_now_ms() + part_ms),
                    &named) &&
            ask_named(x, i, &named, &rc))
            return rc;
        if (is_stopped(x))
            break;
    }
    return fail_search(x);
}

int sfid__sentinel_exchange(struct sfid__sentinel *s, const struct sfid__question *q,
                            struct sfid__redis_reply *reply, struct sfid__error *err) {
    struct search x = {.s = s, .q = q, .reply = reply, .err = err, .hopeless = true};
    if (sfid__sentinel_is_up(s)) {
        const int rc = ask_master(&x);
        if (!is_elsewhere(&x))
            return rc;
    }
    const bool known = s->known;
    const int rc = search(&x);
    if (rc == 0 || x.answered || !known || is_stopped(&x) || left_ms(&x) <= 0)
        return rc;
    const struct sfid__error of_search = *err;
    const int again = ask_master(&x);
    if (again == 0 || s->found)
        return again;
    *err = of_search;
    reply->class = SFID__REPLY_RETRY;
    return err->code;
}
