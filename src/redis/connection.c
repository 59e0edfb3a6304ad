/* SPDX-License-Identifier: MIT */
#include "redis/connection.h"

#include "base/process.h"
#include "redis/password.h"
#include "redis/resp.h"
#include "redis/wire.h"

#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sfid__connection {
    struct sfid__uri *uri; /* one server */
    enum sfid__peer peer;
    char name[SFID__URI_TEXT]; /* CLIENT SETNAME */
    /* the process that owns this descriptor and this lookup; 0 before the first exchange: */
    uint64_t process;
    struct sfid__wire wire;
    struct sfid__resolver resolver;
    unsigned first_try;               /* the first of the name's addresses to try */
    enum sfid__address_class reached; /* where the last connection led */
    bool suspected;                   /* of speaking TLS; it was asked once */
    /* the greeting is without CLIENT: the server closed the connection at one that had it, without
     * a word */
    bool plain;
};

/* One exchange, from connecting to the reply. Its reader ends with it: nothing is left over between
 * two exchanges. */
struct exchange {
    struct sfid__connection *c;
    struct sfid__deadline deadline;
    /* until_ms: the deadline in force, the whole one or that of connecting */
    int64_t began_ns, until_ms;
    struct sfid__resp resp;
    struct sfid__redis_reply *reply;
    bool heard; /* the server has sent something */
    struct sfid__error *err;
};

/* ---- failing ------------------------------------------------------------- */

static int fail(struct exchange *x, enum sfid__reply_class class, int code, const char *what,
                const char *why) {
    char server[SFID__URI_SHOWN];
    sfid__uri_describe(x->c->uri, server, sizeof server);
    x->reply->class = class;
    return sfid__fail(x->err, code, "%s: %s: %s", server, what, why);
}

/* Below 10 ms with one decimal, behind a point in any locale. */
static void show_ms(int64_t ns, char out[24]) {
    const int64_t tenths = ns / 100000;
    if (tenths < 100)
        snprintf(out, 24, "%" PRId64 ".%" PRId64, tenths / 10, tenths % 10);
    else
        snprintf(out, 24, "%" PRId64, tenths / 10);
}

/* Says what stopped the wire and how long that took; if the deadline did, also how long it had. */
static int fail_wire(struct exchange *x, enum sfid__reply_class class,
                     const struct sfid__error *why, const char *what) {
    char text[SFID__ERROR_TEXT], took[24], had[24], of[48] = "";
    const int64_t now = sfid__deadline_now_ns(),
                  given = SFID__MIN(x->until_ms, INT64_MAX / 1000000) * 1000000 - x->began_ns;
    sfid__reply_empty(x->reply);
    show_ms(now - x->began_ns, took);
    show_ms(given, had);
    if (now / 1000000 >= x->until_ms)
        snprintf(of, sizeof of, "; it had %s ms", had);
    snprintf(text, sizeof text,
             given > 0 ? "%.400s (after %s ms%s)" : "%.400s (no time was left for it)", why->text,
             took, of);
    return fail(x, class, why->code, what, text);
}

#define UNASKED "the reply came before the command was sent"
/* the rest would be taken for the answer to the next command */
#define LEFT_OVER "more than one reply"

static int fail_protocol(struct exchange *x, const char *what, const char *why) {
    char text[160];
    sfid__reply_empty(x->reply);
    snprintf(text, sizeof text, "the reply does not follow the Redis protocol: %.100s", why);
    return fail(x, SFID__REPLY_CONFIG, SFID_EREDIS, what, text);
}

/* Says how AUTH failed in our own words: a server that does not know the command repeats part of
 * what it was sent. */
static int fail_auth(struct exchange *x) {
    const struct sfid__reply_meaning *m = &x->resp.meaning;
    const char *file = x->c->uri->password_file;
    char text[SFID__URI_TEXT + 160];
    if (m->class != SFID__REPLY_CONFIG)
        return fail(x, m->class, m->code, "AUTH", m->known);
    const char *given = x->c->peer == SFID__PEER_SENTINEL ? "sentinel_user or sentinel_password"
                                                          : "user or password of the URL";
    snprintf(text, sizeof text, "%s%s was refused%s%s",
             file[0] ? "the user, or the password in " : given, file, m->known[0] ? ": " : "",
             m->known);
    return fail(x, m->class, SFID_EAUTH, "AUTH", text);
}

/* The reply is an error line: shows the server's words. */
static int fail_reply(struct exchange *x, const char *what) {
    const struct sfid__reply_meaning *m = &x->resp.meaning;
    char text[SFID__REPLY_STRING + 80];
    if (strcmp(what, "AUTH") == 0)
        return fail_auth(x);
    const char *hint =
        x->c->peer == SFID__PEER_SENTINEL
            ? " (the URL has neither sentinel_password= nor sentinel_password_file=)"
            : " (the URL has neither user:password@ before the host nor password_file=)";
    const bool asks = strcmp(m->known, "NOAUTH") == 0 && x->c->uri->password[0] == '\0';
    snprintf(text, sizeof text, "%s%s", x->reply->strings[0], asks ? hint : "");
    return fail(x, m->class, m->code, what, text);
}

/* ---- sending and receiving ----------------------------------------------- */

/* False with the error filled in on failure: the server closed the connection, and may have said
 * why. */
static bool send_bytes(struct exchange *x, const char *name, const char *bytes, size_t n) {
    struct sfid__error why;
    const enum sfid__reply_class class = sfid__wire_send(&x->c->wire, bytes, n, &x->deadline, &why);
    if (class != SFID__REPLY_OK)
        fail_wire(x, class, &why, name);
    return class == SFID__REPLY_OK;
}

/* Takes in one reply. 0 for error replies, too. */
static int take_reply(struct exchange *x, const char *what) {
    char chunk[4096];
    struct sfid__error why;
    size_t n = 0;
    for (;;) {
        switch (n > 0 || x->resp.rest > 0 ? sfid__resp_take(&x->resp, chunk, n) : SFID__RESP_MORE) {
        case SFID__RESP_WHOLE:
            return 0;
        case SFID__RESP_WRONG:
            return fail_protocol(x, what, x->resp.why);
        case SFID__RESP_NO_MEMORY:
            return fail(x, SFID__REPLY_RETRY, SFID_ENOMEM, what, "out of memory");
        case SFID__RESP_MORE:
            break;
        }
        const enum sfid__reply_class class =
            sfid__wire_receive(&x->c->wire, chunk, sizeof chunk, &n, &x->deadline, &why);
        if (class != SFID__REPLY_OK)
            return fail_wire(x, class, &why, what);
        x->heard = true;
    }
}

/* ---- connecting ---------------------------------------------------------- */

struct step {
    const char *name;
    int argc;
    const char *argv[4];
    const char *wanted; /* the first string of the reply; NULL: any */
};

/* Room for each step's words, of which the user, the password and the name are at most
 * SFID__URI_TEXT long. */
enum { STEPS = 6, GREETING_BYTES = 3 * SFID__URI_TEXT + 512 };

static unsigned list_steps(const struct sfid__connection *c, const char *db,
                           struct step steps[STEPS]) {
    const struct sfid__uri *uri = c->uri;
    const bool sentinel = c->peer == SFID__PEER_SENTINEL;
    unsigned n = 0;
    if (uri->user[0])
        steps[n++] = (struct step){"AUTH", 3, {"AUTH", uri->user, uri->password}, "OK"};
    else if (uri->password[0])
        steps[n++] = (struct step){"AUTH", 2, {"AUTH", uri->password}, "OK"};
    if (!c->plain) { /* for people who look at the server. Redis 7.2 and later know SETINFO */
        steps[n++] = (struct step){
            "CLIENT SETNAME", 3, {"CLIENT", "SETNAME", c->name}, sentinel ? NULL : "OK"};
        steps[n++] =
            (struct step){"CLIENT SETINFO", 4, {"CLIENT", "SETINFO", "LIB-NAME", "libsfid"}, NULL};
        steps[n++] = (struct step){
            "CLIENT SETINFO", 4, {"CLIENT", "SETINFO", "LIB-VER", SFID_VERSION_STRING}, NULL};
    }
    if (uri->db > 0 && !sentinel)
        steps[n++] = (struct step){"SELECT", 2, {"SELECT", db}, "OK"};
    if (c->peer == SFID__PEER_MASTER)
        steps[n++] = (struct step){"ROLE", 1, {"ROLE"}, "master"};
    return n;
}

/* The server is a replica, or no longer a master, and a master is wanted. */
static int fail_role(struct exchange *x) {
    char text[120];
    snprintf(text, sizeof text, "the server's role is \"%.40s\"; it has to be \"master\"",
             x->reply->strings[0]);
    sfid__reply_empty(x->reply);
    return fail(x, SFID__REPLY_RESOLVE, SFID_EREDIS, "ROLE", text);
}

/* CLIENT is for people: the server, a proxy or an ACL need not offer it. Other errors would come to
 * every command. */
static bool is_done_without(const struct exchange *x, const struct step *s) {
    return strcmp(s->argv[0], "CLIENT") == 0 && (strcmp(x->resp.meaning.known, "NOPERM") == 0 ||
                                                 sfid__reply_is_unknown(x->reply->strings[0]));
}

static int take_greeting(struct exchange *x, const struct step *s) {
    x->resp.leaves_out_deeper = s->argc == 1; /* ROLE, which lists replicas */
    x->resp.leaves_out_errors = s->wanted == NULL;
    if (take_reply(x, s->name) < 0)
        return x->err->code;
    if (s->wanted == NULL)
        return 0;
    if (x->resp.is_error)
        return is_done_without(x, s) ? 0 : fail_reply(x, s->name);
    if (x->reply->count >= 1 && strcmp(x->reply->strings[0], s->wanted) == 0)
        return 0;
    return s->argc == 1 ? fail_role(x) : fail_protocol(x, s->name, "something other than OK");
}

/* Writes all steps one behind the other, as arrays of strings ("RESP protocol description").
 * Returns the length. */
static size_t write_steps(const struct step *steps, unsigned count, char bytes[GREETING_BYTES]) {
    size_t n = 0;
    for (unsigned i = 0; i < count; i++) {
        n += (size_t)snprintf(bytes + n, GREETING_BYTES - n, "*%d\r\n", steps[i].argc);
        for (int k = 0; k < steps[i].argc; k++)
            n += (size_t)snprintf(bytes + n, GREETING_BYTES - n, "$%zu\r\n%s\r\n",
                                  strlen(steps[i].argv[k]), steps[i].argv[k]);
    }
    return n;
}

/* Sends who we are and the database, all steps at once, then takes all answers. The command goes
 * out only if all succeeded. */
static int greet(struct exchange *x) {
    struct step steps[STEPS];
    char db[12], bytes[GREETING_BYTES];
    snprintf(db, sizeof db, "%" PRIu32, x->c->uri->db);
    const unsigned count = list_steps(x->c, db, steps);
    if (count == 0)
        return 0; /* the command is the first that the server hears */
    const bool sent = send_bytes(x, "connecting", bytes, write_steps(steps, count, bytes));
    for (unsigned i = 0; i < count; i++)
        if (take_greeting(x, &steps[i]) < 0)
            return x->err->code;
    x->resp.leaves_out_deeper = x->resp.leaves_out_errors = false;
    return sent && x->resp.rest == 0 ? 0
                                     : fail_protocol(x, "connecting", sent ? LEFT_OVER : UNASKED);
}

/* Shortens the deadline to what lookup and connecting may take from a moment on. Returns the one to
 * put back. */
static int64_t shorten_to_connect(struct exchange *x, int64_t from_ns) {
    const int64_t whole = x->deadline.at_ms;
    x->deadline.at_ms = x->until_ms =
        SFID__MIN(whole, from_ns / 1000000 + (int64_t)x->c->uri->connect_timeout_ms);
    return whole;
}

/* A server that speaks TLS closes a connection without a word if it does not begin with a
 * handshake. */
static int fail_greeting(struct exchange *x) {
    struct sfid__connection *c = x->c;
    if (x->heard || c->suspected || c->uri->tls || x->reply->class != SFID__REPLY_RETRY ||
        x->err->code != SFID_EREDIS)
        return x->err->code;
    c->suspected = true; /* once only: a server that does not answer this either costs time */
    const int64_t whole = shorten_to_connect(x, sfid__deadline_now_ns());
    const bool tls = sfid__wire_speaks_tls(c->uri, &c->resolver, c->first_try, &x->deadline);
    x->deadline.at_ms = whole;
    return tls ? fail(
                     x, SFID__REPLY_CONFIG, SFID_EREDIS, "connecting",
                     "the server speaks TLS at this port; give rediss:// instead of redis:// (valkeys:// instead of valkey://)")
               : x->err->code;
}

/* Reads the password file again for each connection: the password may have changed. */
static enum sfid__reply_class take_password(struct sfid__connection *c, struct sfid__error *why) {
    if (c->uri->password_file[0] == '\0')
        return SFID__REPLY_OK;
    const char *parameter =
        c->peer == SFID__PEER_SENTINEL ? "sentinel_password_file" : "password_file";
    return sfid__password_read(parameter, c->uri->password_file, c->uri->password, why);
}

static int connect_and_greet(struct exchange *x) {
    struct sfid__connection *c = x->c;
    struct sfid__error why;
    const enum sfid__reply_class known = take_password(c, &why);
    if (known != SFID__REPLY_OK)
        return fail_wire(x, known, &why, "connecting");
    const int64_t whole = shorten_to_connect(x, x->began_ns);
    const enum sfid__reply_class class =
        sfid__wire_open(&c->wire, c->uri, &c->resolver, c->first_try, &x->deadline, &why);
    x->deadline.at_ms = whole;
    if (class != SFID__REPLY_OK)
        return fail_wire(x, class, &why, "connecting");
    x->until_ms = whole;
    c->reached = c->wire.class;
    if (greet(x) == 0)
        return 0;
    const int rc = fail_greeting(x);
    sfid__reply_empty(x->reply); /* the command has no answer */
    return rc;
}

/*
 * Some proxies close the connection at a command that they do not know, without a word (twemproxy
 * at CLIENT). So a greeting that was not answered is tried once more without what only people look
 * at.
 */
static int connect_plainly(struct exchange *x) {
    struct sfid__connection *c = x->c;
    const bool silent =
        !x->heard && x->reply->class == SFID__REPLY_RETRY && x->err->code == SFID_EREDIS;
    if (!silent || c->plain || c->wire.fd < 0 || x->deadline.stop_at_ms ||
        sfid__deadline_now_ms() >= x->deadline.at_ms)
        return x->err->code;
    sfid__wire_close(&c->wire);
    c->plain = true;
    x->reply->class = SFID__REPLY_OK;
    return connect_and_greet(x);
}

/* ---- the whole ----------------------------------------------------------- */

int sfid__connection_new(struct sfid__connection **out, const struct sfid__uri *uri,
                         enum sfid__peer peer, const char *app, struct sfid__error *err) {
    struct sfid__connection *c = calloc(1, sizeof *c);
    const bool changes =
        /* another node, password */
        uri->kind != SFID__URI_SERVER || peer != SFID__PEER_SERVER || uri->password_file[0];
    *out = c;
    if (c == NULL || (c->uri = changes ? sfid__uri_copy(uri) : sfid__uri_share(uri)) == NULL) {
        free(c);
        *out = NULL;
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    }
    c->peer = peer;
    if (uri->tls)
        sfid__tls_prepare();
    if (uri->client_name[0])
        snprintf(c->name, sizeof c->name, "%s", uri->client_name);
    else
        snprintf(c->name, sizeof c->name, "sfid-%.64s", app);
    c->wire = SFID__WIRE_NONE;
    return 0;
}

/* In a forked child: leaves the parent's things to the parent. */
static void disown(struct sfid__connection *c) {
    const uint64_t process = sfid__process();
    if (c->process == process)
        return;
    if (c->process != 0) {
        sfid__wire_leave(&c->wire);
        sfid__resolver_forget(&c->resolver);
    }
    c->process = process;
}

static int converse(struct exchange *x, const char *command) {
    const bool connects = x->c->wire.fd < 0;
    struct sfid__error why;
    if (connects && connect_and_greet(x) < 0 && connect_plainly(x) < 0)
        return x->err->code;
    /* No command goes out after its deadline. Without connecting nothing has waited yet. */
    const int64_t left =
        x->deadline.at_ms - (connects ? sfid__deadline_now_ns() : x->began_ns) / 1000000;
    if (left <= 0) {
        sfid__fail(&why, SFID_EREDIS, "no answer in time");
        return fail_wire(x, SFID__REPLY_RETRY, &why, command);
    }
    x->deadline.sure_ms = x->deadline.stop_at_ms ? 0 : (int)SFID__MIN(left, SFID__STOP_LOOK_MS);
    x->reply->unanswered++;
    const bool sent = send_bytes(x, command, x->resp.command, x->resp.length);
    if (take_reply(x, command) < 0)
        return x->err->code;
    x->reply->unanswered -= x->resp.rest == 0;
    if (x->resp.rest > 0)
        return fail_protocol(x, command, LEFT_OVER);
    if (x->resp.is_error && strcmp(command, "EVALSHA") == 0 &&
        strcmp(x->resp.meaning.known, "NOSCRIPT") == 0) {
        x->reply->class = x->resp.meaning.class; /* EVAL comes next: no failure to report */
        return x->resp.meaning.code;
    }
    if (x->resp.is_error)
        return fail_reply(x, command);
    return sent ? 0 : fail_protocol(x, command, UNASKED);
}

int sfid__connection_exchange(struct sfid__connection *c, const struct sfid__question *q,
                              struct sfid__redis_reply *reply, struct sfid__error *err) {
    struct exchange x = {.c = c,
                         .deadline = {.at_ms = q->deadline_ms, .stop = q->stop},
                         .until_ms = q->deadline_ms,
                         .reply = reply,
                         .err = err};
    reply->class = SFID__REPLY_OK;
    if (q->argc < 1 || q->argc > SFID__COMMAND_ARGS) {
        sfid__reply_empty(reply);
        return fail(&x, SFID__REPLY_CONFIG, SFID_EINVAL, q->argv[0], "no arguments, or too many");
    }
    sfid__connection_is_up(c); /* closes a connection that cannot be used any more */
    x.began_ns = sfid__deadline_now_ns();
    const bool begun = sfid__resp_begin(&x.resp, reply, c->uri, q->argc, q->argv, q->lengths);
    const int rc = begun ? converse(&x, q->argv[0])
                         : fail(&x, SFID__REPLY_RETRY, SFID_ENOMEM, q->argv[0], "out of memory");
    sfid__resp_end(&x.resp);
    c->plain = c->plain && (rc == 0 || x.heard); /* it was not CLIENT */
    /* After an error that passes by itself, such as BUSY, the connection is still good. */
    if (rc < 0 && !(x.resp.is_error && reply->count > 0 && reply->class == SFID__REPLY_RETRY)) {
        sfid__wire_close(&c->wire);
        c->first_try++;
    }
    return rc;
}

bool sfid__connection_is_up(struct sfid__connection *c) {
    disown(c);
    if (c->wire.fd >= 0 && !sfid__wire_is_quiet(&c->wire))
        sfid__wire_close(&c->wire);
    return c->wire.fd >= 0;
}

enum sfid__address_class sfid__connection_reached(const struct sfid__connection *c) {
    return c->reached;
}

void sfid__connection_hang_up(struct sfid__connection *c) {
    disown(c);
    sfid__wire_close(&c->wire);
}

void sfid__connection_aim(struct sfid__connection *c, const struct sfid__uri *uri) {
    sfid__connection_hang_up(c);
    sfid__resolver_drop(&c->resolver); /* one resolver always has the same host */
    sfid__uri_aim(c->uri, uri);
    c->first_try = 0;
    c->suspected = c->plain = false;
}

void sfid__connection_drop(struct sfid__connection *c) {
    if (c == NULL)
        return;
    disown(c);
    sfid__wire_close(&c->wire);
    sfid__resolver_drop(&c->resolver);
    sfid__uri_drop(c->uri);
    free(c);
}
