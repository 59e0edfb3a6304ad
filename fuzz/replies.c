/* SPDX-License-Identifier: MIT */
/*
 * replies.c - any bytes as a server's answers, to questions of the store and to
 * others. Each result is a code with a printable sentence, or within the
 * requested bounds.
 *
 * The wire is simulated, without a socket. It first sends a good greeting,
 * unless the second byte has its second bit set. With its top bit set, the
 * bytes are lines: each becomes a string of the array that a server would send,
 * so that fuzzing need not find the protocol first. An empty line ends a reply.
 */
#include "base/clock.h"
#include "lease/options.h"
#include "lease/script_look.h"
#include "lease/store.h"
#include "redis/route.h"
#include "redis/wire.h"

#include "fuzz.h"

#define USER "wolpertinger"
#define PASSWORD "hunter2hunter2"
#define GREETING "+OK\r\n+OK\r\n-ERR no such thing\r\n+OK\r\n+OK\r\n"

const char sfid__lease_lua[] = "short", sfid__lease_sha[] = "short"; /* never used here */

/* ---- the wire ------------------------------------------------------------------ */

static struct {
    const uint8_t *data;
    size_t size, chunk, greeted;
    /* cuts: the connection is lost; late: only after the greeting */
    bool lines, greets, cuts, late;
} server;

enum sfid__reply_class sfid__wire_open(struct sfid__wire *w, const struct sfid__uri *uri,
                                       struct sfid__resolver *resolver, unsigned turn,
                                       struct sfid__deadline *deadline, struct sfid__error *why) {
    (void)uri, (void)resolver, (void)turn, (void)deadline;
    if (server.size == 0) {
        sfid__fail(why, SFID_EREDIS, "the server does not answer");
        return SFID__REPLY_RESOLVE;
    }
    w->fd = 1000;
    w->class = SFID__LOOPBACK;
    server.greeted = server.greets ? 0 : sizeof GREETING - 1;
    return SFID__REPLY_OK;
}

enum sfid__reply_class sfid__wire_send(const struct sfid__wire *w, const char *bytes, size_t n,
                                       struct sfid__deadline *deadline, struct sfid__error *why) {
    (void)deadline;
    HOLDS(w->fd == 1000 && bytes != NULL && n > 0);
    if (!server.cuts || (server.late && server.greeted < sizeof GREETING - 1))
        return SFID__REPLY_OK;
    sfid__fail(why, SFID_EREDIS, "the server closed the connection");
    return SFID__REPLY_RETRY;
}

/* Makes the next reply from lines. */
static size_t put_lines(char *out, size_t room) {
    const uint8_t *end = server.size ? memmem(server.data, server.size, "\n\n", 2) : NULL,
                  *p = server.data;
    const size_t len = end ? (size_t)(end - p) : server.size;
    size_t count = 1, n;
    for (size_t i = 0; i < len; i++)
        count += p[i] == '\n';
    n = (size_t)snprintf(out, room, "*%zu\r\n", count);
    for (size_t i = 0, line; i <= len; i += line + 1) {
        const uint8_t *stop = i < len ? memchr(p + i, '\n', len - i) : NULL;
        line = stop ? (size_t)(stop - p) - i : len - i;
        if (n + line + 16 > room)
            break;
        n += (size_t)snprintf(out + n, room - n, "$%zu\r\n", line);
        if (line > 0)
            memcpy(out + n, p + i, line);
        memcpy(out + n + line, "\r\n", 2);
        n += line + 2;
    }
    server.data += end ? len + 2 : server.size;
    server.size -= end ? len + 2 : server.size;
    return n;
}

enum sfid__reply_class sfid__wire_receive(const struct sfid__wire *w, char *bytes, size_t size,
                                          size_t *n, struct sfid__deadline *deadline,
                                          struct sfid__error *why) {
    (void)deadline;
    HOLDS(w->fd == 1000 && size > sizeof GREETING);
    if (server.greeted < sizeof GREETING - 1) {
        *n = sizeof GREETING - 1;
        memcpy(bytes, GREETING, *n);
        server.greeted = *n;
        return SFID__REPLY_OK;
    }
    if (server.size == 0) {
        sfid__fail(why, SFID_EREDIS, "the server closed the connection");
        return SFID__REPLY_RETRY;
    }
    if (server.lines) {
        *n = put_lines(bytes, size);
        return SFID__REPLY_OK;
    }
    *n = SFID__MIN(SFID__MIN(server.chunk, server.size), size);
    memcpy(bytes, server.data, *n);
    server.data += *n;
    server.size -= *n;
    return SFID__REPLY_OK;
}

bool sfid__wire_speaks_tls(const struct sfid__uri *uri, struct sfid__resolver *resolver,
                           unsigned turn, struct sfid__deadline *deadline) {
    (void)uri, (void)resolver, (void)turn, (void)deadline;
    return server.late;
}

bool sfid__wire_is_quiet(const struct sfid__wire *w) { return w->fd >= 0; }
void sfid__wire_close(struct sfid__wire *w) { *w = SFID__WIRE_NONE; }
void sfid__wire_leave(struct sfid__wire *w) { *w = SFID__WIRE_NONE; }

/* ---- promises -------------------------------------------------------------------- */

static void check_failure(int rc, const struct sfid__error *err) {
    HOLDS(rc < 0 && err->code == rc && err->text[0] != '\0' &&
          memchr(err->text, '\0', sizeof err->text) != NULL);
    for (const char *c = err->text; *c; c++)
        HOLDS((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_reply(const struct sfid__redis_reply *reply) {
    HOLDS(reply->count <= reply->most);
    for (unsigned i = 0; i < reply->count; i++)
        HOLDS(reply->strings[i] >= reply->bytes &&
              memchr(reply->strings[i], '\0', SFID__REPLY_STRING) != NULL);
}

static void check_exchange(int rc, const struct sfid__redis_reply *reply,
                           const struct sfid__error *err) {
    check_reply(reply);
    HOLDS(rc < 0 ? reply->class != SFID__REPLY_OK : reply->class == SFID__REPLY_OK);
    if (rc == 0)
        return;
    check_failure(rc, err);
}

static void an_exchange(const struct sfid__uri *uri) {
    static struct sfid__reply_many room;
    struct sfid__redis_reply reply = {.count = 0};
    struct sfid__connection *c;
    struct sfid__error err = {.code = 0};
    const char *argv[SFID__COMMAND_ARGS + 1] = {"PING"};
    sfid__reply_of_many(&reply, &room);
    HOLDS(sfid__connection_new(&c, uri, SFID__PEER_SERVER, "app", &err) == 0);
    for (int i = 0; i < 3; i++) {
        const int rc = sfid__connection_exchange(
            c, &(struct sfid__question){1, argv, NULL, SFID__FOREVER, NULL}, &reply, &err);
        check_exchange(rc, &reply, &err);
        /* the server's line is shown, unless it repeats that */
        HOLDS(rc == 0 || strstr(err.text, PASSWORD) == NULL);
    }
    HOLDS(sfid__connection_exchange(c, &(struct sfid__question){0, argv, NULL, SFID__FOREVER, NULL},
                                    &reply, &err) < 0);
    HOLDS(sfid__connection_exchange(
              c, &(struct sfid__question){SFID__COMMAND_ARGS + 1, argv, NULL, SFID__FOREVER, NULL},
              &reply, &err) < 0);
    sfid__connection_drop(c);
}

/* The same through sentinels and through a cluster's nodes. Each answers with the next bytes. */
static void a_route(const struct sfid__uri *uri) {
    static struct sfid__reply_few room;
    struct sfid__redis_reply reply = {.count = 0};
    struct sfid__route route;
    struct sfid__error err = {.code = 0};
    const struct sfid__question q = {1, (const char *const[]){"PING"}, NULL,
                                     sfid__deadline_now_ms() + 60000, NULL};
    sfid__reply_of_few(&reply, &room);
    HOLDS(sfid__route_begin(&route, uri, "app", &err) == 0);
    for (int i = 0; i < 2; i++)
        check_exchange(sfid__route_exchange(&route, &q, &reply, &err), &reply, &err);
    sfid__route_is_up(&route);
    sfid__route_end(&route);
}

static bool see_pid(void *user, const struct sfid__redis_pid *pid) {
    unsigned *left = user;
    HOLDS(pid->who != NULL && pid->kind <= SFID__PID_FOREIGN);
    return --*left > 0;
}

static void a_look(const struct sfid__settings *settings) {
    static struct sfid__redis_app app;
    struct sfid__redis_view view;
    struct sfid__error err = {.code = 0};
    char holders[300];
    unsigned most = 300;
    HOLDS(sfid__redis_app_begin(&app, settings, &err) == 0);
    const int rc = sfid__redis_look(&app, &view, see_pid, &most,
                                    (struct sfid__deadline){.at_ms = SFID__FOREVER}, &err);
    if (rc < 0)
        check_failure(rc, &err);
    else
        HOLDS(view.known <= SFID__APP_CURRENT &&
              memchr(view.state, '\0', sizeof view.state) != NULL);
    sfid__redis_holders(&app, holders, sizeof holders,
                        (struct sfid__deadline){.at_ms = SFID__FOREVER});
    HOLDS(memchr(holders, '\0', sizeof holders) != NULL);
    sfid__redis_app_end(&app);
}

static void check_answer(const struct sfid__store *store, enum sfid__lease_answer answer,
                         const struct sfid__lease_event *grant, const struct sfid__error *err,
                         const struct sfid__lease_action *lease) {
    if (answer == SFID__GRANTED && lease->limit == 0)
        HOLDS(grant->floor <= grant->limit && grant->limit <= store->terms.end);
    else if (answer == SFID__GRANTED)
        HOLDS(grant->limit >= lease->limit && grant->pid == lease->pid);
    else if (answer == SFID__LATER)
        HOLDS(grant->after_ms >= 0 && grant->after_ms <= 3000);
    else
        check_failure(err->code, err);
}

static void a_lease(const struct sfid__settings *settings, bool renew) {
    struct sfid__store *store;
    struct sfid__error err = {.code = 0};
    struct sfid__lease_event grant = {0};
    const struct sfid__lease_action ask = {.pid = renew ? 5 : 0,
                                           .token = 1,
                                           .nonce = 2,
                                           .next_nonce = 3,
                                           .limit = renew ? 1000 : 0,
                                           .deadline_ms = SFID__FOREVER,
                                           .give_up_ms = renew ? SFID__FOREVER : 1};
    HOLDS(sfid__store_redis.make(&store, settings, "machine:0", &err) == 0);
    for (int i = 0; i < 2; i++) {
        err = (struct sfid__error){.code = 0};
        const enum sfid__lease_answer answer = renew ? store->ops->renew(store, &ask, &grant, &err)
                                                     : store->ops->claim(store, &ask, &grant, &err);
        check_answer(store, answer, &grant, &err, &ask);
    }
    if (renew)
        store->ops->release(store, &ask, &err);
    store->ops->drop(store);
}

/* Classifies the line of an error. */
static void a_line(const uint8_t *data, size_t size) {
    char *line = fuzz_copy(data, size, 1);
    const struct sfid__reply_meaning m = sfid__reply_classify(line);
    HOLDS(m.class > SFID__REPLY_OK && m.class <= SFID__REPLY_CONFIG &&
          (m.code == SFID_EREDIS || m.code == SFID_EAUTH));
    HOLDS(m.known != NULL && (m.known[0] != '\0' || m.class == SFID__REPLY_CONFIG));
    free(line);
}

/* Returns settings for a server, sentinels, or a cluster. */
static struct sfid__settings *settings_of(unsigned kind) {
    static const char *const stores[] = {
        "redis://" USER ":" PASSWORD "@localhost/3",
        "redis+sentinel://" USER ":" PASSWORD "@a:1,b:2/main?sentinel_user=" USER
        "&sentinel_password=" PASSWORD,
        "redis+cluster://" USER ":" PASSWORD "@a:1,b:2?registration=off"};
    static struct sfid__settings settings[3];
    static const sfid_layout layout = SFID_LAYOUT(41, 10, 12, 1, 1766361600000);
    struct sfid__error err;
    if (settings[kind].window_ms == 0) {
        sfid_options opt = SFID_OPTIONS_INIT;
        opt.app = "app";
        opt.store = stores[kind];
        opt.layout = &layout;
        HOLDS(sfid__options_read(&opt, &settings[kind], &err) == 0);
    }
    return &settings[kind];
}

int fuzz_replies(const uint8_t *data, size_t size) {
    const unsigned what = (unsigned)fuzz_take(&data, &size, 1),
                   how = (unsigned)fuzz_take(&data, &size, 1);
    struct sfid__settings *settings = settings_of(0);
    settings->opt.on_unknown = what & 64 ? SFID_TRUST : SFID_WAIT_OUT;
    server.data = data;
    server.size = size;
    server.chunk = 1 + (how & 31) * 128;
    server.cuts = (how & 32) != 0;
    server.late = (what & 32) != 0;
    server.lines = (how & 128) != 0;
    server.greets = (how & 64) == 0;
    switch (what % 7) {
    case 0:
        an_exchange(settings->uri);
        break;
    case 1:
        a_look(settings);
        break;
    case 2:
    case 3:
        a_lease(settings, what % 7 == 3);
        break;
    case 4:
        a_line(data, size);
        break;
    default:
        a_route(settings_of(what % 7 - 4)->uri);
        break;
    }
    return 0;
}

FUZZ_TARGET(replies)
