/* SPDX-License-Identifier: MIT */
#include "redis/cluster.h"

#include "base/clock.h"
#include "redis/keyslot.h"

#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEARNED 8 /* addresses kept beside those of the URL */
#define NODES (SFID__URI_NODES + LEARNED)
/* per exchange: a moving slot takes two or three; nodes that name each other take all */
#define REDIRECTS 8
#define SHARE_LEAST_MS 20 /* a node on the same network answers within it */

struct sfid__cluster {
    struct sfid__uri *uri;
    struct sfid__connection *connection;
    struct sfid__endpoint nodes[NODES]; /* the URL's, then learned ones */
    unsigned count, learned;            /* all nodes; how many were ever learned */
    struct sfid__endpoint at;           /* where the connection leads */
    unsigned first_try;                 /* the node to try next */
    unsigned hash_slot;
};

/* ---- making one ------------------------------------------------------------ */

/* Aims the connection at a node, with connect_ms to connect at most. */
static void aim(struct sfid__cluster *c, const struct sfid__endpoint *node, int64_t connect_ms) {
    struct sfid__uri one;
    c->at = *node;
    sfid__uri_of_node(c->uri, node, &one);
    one.connect_timeout_ms =
        (uint32_t)SFID__MIN((int64_t)one.connect_timeout_ms, SFID__MAX(connect_ms, SHARE_LEAST_MS));
    sfid__connection_aim(c->connection, &one);
}

unsigned sfid__cluster_slot(const char *app) {
    char key[80];
    snprintf(key, sizeof key, "sfid:%.64s", app);
    return sfid__keyslot(key);
}

int sfid__cluster_new(struct sfid__cluster **out, const struct sfid__uri *uri, const char *app,
                      struct sfid__error *err) {
    struct sfid__cluster *c = calloc(1, sizeof *c);
    *out = NULL;
    if (c == NULL || (c->uri = sfid__uri_share(uri)) == NULL) {
        free(c);
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    }
    if (sfid__connection_new(&c->connection, uri, SFID__PEER_SERVER, app, err) < 0) {
        sfid__cluster_drop(c);
        return err->code;
    }
    c->count = uri->nodes;
    memcpy(c->nodes, uri->node, c->count * sizeof uri->node[0]);
    aim(c, &c->nodes[0], uri->connect_timeout_ms);
    c->first_try = c->count > 1 ? 1 : 0;
    c->hash_slot = sfid__cluster_slot(app);
    *out = c;
    return 0;
}

void sfid__cluster_drop(struct sfid__cluster *c) {
    if (c == NULL)
        return;
    sfid__connection_drop(c->connection);
    sfid__uri_drop(c->uri);
    free(c);
}

bool sfid__cluster_is_up(struct sfid__cluster *c) { return sfid__connection_is_up(c->connection); }

void sfid__cluster_hang_up(struct sfid__cluster *c) { sfid__connection_hang_up(c->connection); }

/* ---- from node to node ----------------------------------------------------- */

/* Returns the node's place; c->count: it is unknown. */
static unsigned find_node(const struct sfid__cluster *c, const struct sfid__endpoint *node) {
    unsigned i = 0;
    while (i < c->count && !sfid__endpoint_equals(&c->nodes[i], node))
        i++;
    return i;
}

/* Keeps a node that another one named, to ask it when that one is gone. */
static void learn(struct sfid__cluster *c, const struct sfid__endpoint *node) {
    if (find_node(c, node) < c->count)
        return;
    if (c->count < c->uri->nodes + LEARNED)
        c->nodes[c->count++] = *node;
    else
        c->nodes[c->uri->nodes + c->learned % LEARNED] = *node;
    c->learned++;
}

/* The nodes still to be tried share the time that is left. */
struct hunt {
    struct sfid__cluster *c;
    const struct sfid__question *q;
    struct sfid__redis_reply *reply;
    struct sfid__error *err;
    unsigned redirects, tried;
    struct sfid__endpoint
        from; /* who named the current node; host "": nobody, as far as this exchange knows */
    /* a named node failed so that a person has to look at it; code 0: none */
    struct sfid__error wrong;
    unsigned useless; /* bits: such nodes, and who named them */
};

static int64_t left_ms(const struct hunt *h) { return h->q->deadline_ms - sfid__deadline_now_ms(); }

/* May one more node be asked? A thread that closes the handle waits for one exchange, not for
 * several. */
static bool hunt_may_go_on(const struct hunt *h) {
    /* Acquire, as in deadline.h. */
    return left_ms(h) > 0 &&
           !(h->q->stop && atomic_load_explicit(h->q->stop, memory_order_acquire) != 0);
}

/* Goes to the node that the current one names. False if that makes no sense, or too many were
 * followed. */
static bool follow(struct hunt *h) {
    struct sfid__redirect to = h->reply->redirect;
    if (to.hash_slot != h->c->hash_slot || h->redirects++ == REDIRECTS || !hunt_may_go_on(h))
        return false;
    if (to.node.host[0] == '\0')
        memcpy(to.node.host, h->c->at.host, sizeof to.node.host);
    to.node.named_by = sfid__connection_reached(h->c->connection);
    h->from = h->c->at;
    learn(h->c, &to.node);
    aim(h->c, &to.node, h->c->uri->connect_timeout_ms);
    return true;
}

/* What the error says, without the server's name. */
static const char *behind_name(const struct sfid__error *err) {
    const char *why = strstr(err->text, ": ");
    return why ? why + 2 : err->text;
}

/* Notes if the current node, which another one named, failed in a way that a person has to look
 * at. */
static bool is_wrong(struct hunt *h) {
    struct sfid__cluster *c = h->c;
    char from[SFID__ENDPOINT_SHOWN] = "", at[SFID__ENDPOINT_SHOWN];
    const char *names = "";
    if (c->at.named_by == SFID__UNNAMED || h->reply->class != SFID__REPLY_CONFIG ||
        h->err->code == SFID_EINVAL) /* a file of the URL, which no other node would mend */
        return false;
    h->useless |= 1U << find_node(c, &c->at);
    sfid__endpoint_describe(&c->at, at);
    if (h->from.host[0]) {
        h->useless |= 1U << find_node(c, &h->from);
        sfid__endpoint_describe(&h->from, from);
        names = " names ";
    }
    sfid__fail(&h->wrong, h->err->code, "node %.60s%s%.60s: %.240s", from, names, at,
               behind_name(h->err));
    return true;
}

/* Is the current node wrong, gone, or cut off from its cluster, so that another may know more? */
static bool is_of_no_use(struct hunt *h) {
    if (h->reply->count == 0)
        return h->reply->class != SFID__REPLY_CONFIG || is_wrong(h);
    return strncmp(h->reply->strings[0], "CLUSTERDOWN", 11) == 0 ||
           h->reply->class == SFID__REPLY_RESOLVE;
}

/* Goes on to the next known node. False if all were tried. */
static bool go_round(struct hunt *h) {
    struct sfid__cluster *c = h->c;
    if (h->tried++ == c->count || !hunt_may_go_on(h))
        return false;
    for (unsigned k = 0; k < c->count; k++) {
        const unsigned i = c->first_try % c->count;
        const struct sfid__endpoint next = c->nodes[i];
        c->first_try = (i + 1) % c->count;
        if (h->useless & 1U << i)
            continue;
        h->from.host[0] = '\0';
        aim(c, &next, left_ms(h) / (c->count - h->tried + 2));
        return true;
    }
    return false;
}

static int fail_hunt(struct hunt *h) {
    char name[SFID__URI_SHOWN], node[SFID__ENDPOINT_SHOWN];
    const struct sfid__error last = *h->err;
    sfid__uri_describe(h->c->uri, name, sizeof name);
    sfid__endpoint_describe(&h->c->at, node);
    if (h->reply->redirect.to != SFID__STAY)
        h->reply->class = SFID__REPLY_RETRY;
    if (h->wrong.code)
        return sfid__fail(h->err, h->wrong.code, "%.160s: hash slot %u of the app: %s", name,
                          h->c->hash_slot, h->wrong.text);
    return sfid__fail(h->err, last.code, "%.160s: hash slot %u of the app: node %.60s: %s", name,
                      h->c->hash_slot, node, behind_name(&last));
}

int sfid__cluster_exchange(struct sfid__cluster *c, const struct sfid__question *q,
                           struct sfid__redis_reply *reply, struct sfid__error *err) {
    struct hunt h = {.c = c, .q = q, .reply = reply, .err = err};
    for (;;) {
        const int rc = sfid__connection_exchange(c->connection, q, reply, err);
        if (rc == 0)
            return 0;
        const bool redirected = reply->redirect.to == SFID__MOVED;
        const bool useless = !redirected && is_of_no_use(&h);
        if (redirected ? !follow(&h) : !useless || !go_round(&h))
            return redirected || useless ? fail_hunt(&h) : rc;
    }
}
