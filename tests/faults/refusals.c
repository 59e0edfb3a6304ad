/* SPDX-License-Identifier: MIT */
/*
 * Real servers that refuse: user, password, each single permission, a replica, one that is loading,
 * busy, out of memory, of disk, of clients. sfid_open() is back in time, says what is missing, and
 * leaves nothing written; to a holder the same is told by an event while IDs flow, and passes.
 */
#include "support/opens.h"

static const char *program; /* the server's */

static const char url_form[] = "unix://" USER ":" PASSWORD "@%s?timeout=20s";

static void url_of(const struct redis *r, char *url, size_t size) {
    snprintf(url, size, url_form, r->socket);
}

/* A command of words, whatever its answer. */
static void command(struct redis *r, const char *words) {
    char copy[300], *args[24], *rest = copy;
    size_t n = 0;
    snprintf(copy, sizeof copy, "%s", words);
    while (n < COUNT_OF(args) && (args[n] = strsep(&rest, " ")) != NULL)
        n++;
    reply_free(redis_ask_n(r, n, (const char *const *)args, NULL));
}

#define LEAST \
    "ACL SETUSER " USER " reset on >" PASSWORD \
    " ~sfid:* +@connection +eval +info +time +hmget +hget +hset +del +get +set"

/* A server that the user has the least rights on which leases want. */
static void start(struct redis *r, unsigned flags) {
    redis_start(r, program, "refusing", flags, "--lua-time-limit", "50", NULL);
    command(r, LEAST);
}

/* Of the app there is at most what the server first saw of it: no field is a pid. */
static bool none_is_held(struct redis *r, const char *app) {
    char key[100];
    bool held = false;
    snprintf(key, sizeof key, "sfid:%s", app);
    struct reply *fields = redis_ask(r, "HKEYS", key, NULL);
    for (size_t i = 0; fields->type == '*' && i < fields->count; i++)
        held |= strspn(fields->list[i].text, "0123456789") > 0;
    reply_free(fields);
    return !held;
}

/* ---- rights -------------------------------------------------------------- */

static void test_password(void) {
    struct redis r;
    char url[300];
    start(&r, 0);
    snprintf(url, sizeof url, "unix://%s:not-%s@%s", USER, "this", r.socket);
    fails_with(url, "orders", SFID_EAUTH, r.socket, "user or password of the URL was refused",
               "a wrong password");
    snprintf(url, sizeof url, "unix://someone:%s@%s", PASSWORD, r.socket);
    fails_with(url, "orders", SFID_EAUTH, r.socket, "user or password of the URL was refused",
               "a wrong user");
    command(&r, "CONFIG SET requirepass " PASSWORD);
    snprintf(url, sizeof url, "unix://%s", r.socket);
    fails_with(url, "orders", SFID_EAUTH, r.socket,
               "the URL has neither user:password@ before the host", "no password");
    command(&r, "AUTH " PASSWORD);
    is_i64(redis_do(&r, "DBSIZE", NULL), 0, "%s: nothing was written", program);
    redis_kill(&r);
}

/* Each opens in a process of its own: one of them may succeed, and then tells by an event. */
static void one_missing(struct redis *r, const char *permission, struct member *m) {
    char words[100], hint[40];
    const bool is_key = permission[0] == '~';
    command(r, "FLUSHALL");
    command(r, LEAST);
    snprintf(words, sizeof words,
             is_key ? "ACL SETUSER " USER " resetkeys ~other:*" : "ACL SETUSER " USER " -%s",
             permission);
    command(r, words);
    snprintf(hint, sizeof hint, is_key ? "~sfid:*" : "%s", permission);
    if (strcmp(permission, "hget") == 0) { /* renewals alone want it */
        member_start(m);
        const struct seen *e =
            member_opens(m, TAP_WAIT_MS) ? member_told(m, 0, SFID_EAUTH, "hget", r->socket) : NULL;
        ok(e && !strstr(e->text, USER), "%s: without +hget renewals tell", program);
        command(r, LEAST); /* so that it can give its pid back */
        member_end(m);
        return;
    }
    if (!fails_with(m->store, m->app, SFID_EAUTH, r->socket, hint, permission))
        diag("without %s%s", is_key ? "" : "+", permission);
    ok(none_is_held(r, m->app), "%s: no pid is taken without %s", program, permission);
    command(r, LEAST);
    const struct attempt a = attempt_open(m->store, m->app, true, TAP_WAIT_MS);
    if (!ok(a.code == 0, "%s: with %s it opens", program, permission))
        diag("%s", a.text);
}

static void test_permissions(void) {
    static const char *const permissions[] = {"eval", "info", "time", "hmget", "hget",
                                              "hset", "del",  "get",  "set",   "~sfid:*"};
    struct redis r;
    start(&r, 0);
    struct member *m = member_at("orders", -1, url_form, r.socket);
    m->opt.on_unknown = SFID_TRUST;
    for (size_t i = 0; i < COUNT_OF(permissions); i++)
        one_missing(&r, permissions[i], m);
    redis_kill(&r);
}

/* ---- states -------------------------------------------------------------- */

struct state {
    const char *name, *words;
    void (*begins)(struct redis *r);
    void (*ends)(struct redis *r);
};

static void replica_begins(struct redis *r) { command(r, "REPLICAOF 127.0.0.1 1"); }

static void replica_ends(struct redis *r) { command(r, "REPLICAOF NO ONE"); }

static void memory_begins(struct redis *r) { command(r, "CONFIG SET maxmemory 1"); }

static void memory_ends(struct redis *r) { command(r, "CONFIG SET maxmemory 0"); }

static void lonely_begins(struct redis *r) { command(r, "CONFIG SET min-replicas-to-write 1"); }

static void lonely_ends(struct redis *r) { command(r, "CONFIG SET min-replicas-to-write 0"); }

static void clients_begin(struct redis *r) {
    command(r, "CONFIG SET maxclients 1");
    command(r, "CLIENT KILL TYPE normal SKIPME yes");
}

static void clients_end(struct redis *r) { command(r, "CONFIG SET maxclients 100"); }

static void pause_begins(struct redis *r) { redis_pause(r); }

static void pause_ends(struct redis *r) { redis_resume(r); }

static void death_begins(struct redis *r) {
    redis_kill(r);
    unlink(r->socket);
}

static void death_ends(struct redis *r) {
    redis_restart(r, true);
    command(r, LEAST);
}

/* A script that does not end is left to itself by who sent it. */
static bool answers_busy(void *arg) {
    return strncmp(redis_text(arg, "PING", NULL), "-BUSY ", 6) == 0;
}

static void busy_begins(struct redis *r) {
    struct resp *c = resp_unix(r->socket);
    need(c && resp_send(c, 3, (const char *const[]){"EVAL", "while true do end", "0"}, NULL),
         "%s: cannot be kept busy", program);
    need(tap_wait_until(answers_busy, r, TAP_WAIT_MS), "%s: is not busy", program);
    resp_close(c);
}

static bool answers(void *arg) {
    command(arg, "SCRIPT KILL");
    return strcmp(redis_text(arg, "PING", NULL), "PONG") == 0;
}

static void busy_ends(struct redis *r) {
    need(tap_wait_until(answers, r, TAP_WAIT_MS), "%s: goes on being busy", program);
}

/* New connections want a password that they lack; those there are ended. */
static void password_begins(struct redis *r) {
    command(r, "ACL SETUSER " USER " resetpass >another");
    command(r, "CLIENT KILL USER " USER);
}

static void password_ends(struct redis *r) { command(r, LEAST); }

static void permission_begins(struct redis *r) { command(r, "ACL SETUSER " USER " -hget -hset"); }

static const struct state states[] = {
    {"a replica", "READONLY", replica_begins, replica_ends},
    {"no memory", "OOM", memory_begins, memory_ends},
    {"no replicas", "NOREPLICAS", lonely_begins, lonely_ends},
    {"too many clients", "max number of clients", clients_begin, clients_end},
    {"busy with a script", "BUSY", busy_begins, busy_ends},
    {"stopped", "no answer in time", pause_begins, pause_ends},
    {"password changed", "WRONGPASS", password_begins, password_ends},
    {"permissions taken", "permission", permission_begins, password_ends},
    {"dead", "No such file", death_begins, death_ends}};

static int code_of(const struct state *s) {
    return s->begins == password_begins || s->begins == permission_begins ? SFID_EAUTH
                                                                          : SFID_EREDIS;
}

/* To who opens. The same server in state after state: each ends. */
static void test_opens(void) {
    struct redis r;
    char url[300], what[100];
    start(&r, 0);
    url_of(&r, url, sizeof url);
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        const struct state *s = &states[i];
        s->begins(&r);
        snprintf(what, sizeof what, "%s: %s", program, s->name);
        fails_with(url, "orders", code_of(s), r.socket, s->words, what);
        s->ends(&r);
        ok(none_is_held(&r, "orders"), "%s: no pid was taken", what);
    }
    const struct attempt a = attempt_open(url, "orders", true, TAP_WAIT_MS);
    if (!ok(a.code == 0, "%s: when all of it is over it opens", program))
        diag("%s", a.text);
    redis_kill(&r);
}

/* To who holds: all servers in the same state at a time. */
struct held {
    const char *program;
    struct redis r;
    struct member *m;
    int from, renewed; /* events and renewals so far */
};

static void hold(struct held *h, const char *name, int number) {
    char app[40];
    *h = (struct held){.program = program = name};
    start(&h->r, 0);
    snprintf(app, sizeof app, "held-%d", number);
    /* the checker knows no servers */
    h->m = member_at(app, number, "unix://" USER ":" PASSWORD "@%s?timeout=300", h->r.socket);
    h->m->opt.heartbeat_ms = 300;
    h->m->opt.on_unknown = SFID_TRUST;
    member_open_or_die(h->m);
}

static void suffers(struct held *h, const struct state *s) {
    struct member *m = h->m;
    const struct seen *e = member_told(m, h->from, code_of(s), s->words, h->r.socket);
    ok(e && !strstr(e->text, USER) && !strstr(e->text, PASSWORD),
       "%s, %s: a holder is told what it is, where, and no secret", h->program, s->name);
    ok(member_draws(m, 20, TAP_WAIT_MS), "%s, %s: IDs flow meanwhile", h->program, s->name);
}

static void survive(struct held *held, size_t n, const struct state *s) {
    for (size_t i = 0; i < n; i++) {
        held[i].from = atomic_load(&held[i].m->events);
        s->begins(&held[i].r);
    }
    for (size_t i = 0; i < n; i++)
        suffers(&held[i], s);
    for (size_t i = 0; i < n; i++) {
        held[i].renewed = events_of(held[i].m, SFID_EVENT_RENEWED);
        s->ends(&held[i].r);
    }
    for (size_t i = 0; i < n; i++)
        ok(member_had(held[i].m, SFID_EVENT_RENEWED, held[i].renewed + 1, TAP_WAIT_MS),
           "%s, %s: it is renewed when that is over", held[i].program, s->name);
}

static void test_holders(void) {
    const size_t n = servers.n;
    static struct held held[2];
    for (size_t i = 0; i < n; i++)
        hold(&held[i], servers.installed[i], (int)i + 1);
    for (size_t i = 0; i < COUNT_OF(states); i++)
        survive(held, n, &states[i]);
    for (size_t i = 0; i < n; i++) {
        struct member *m = held[i].m;
        is_i64(atomic_load(&m->errors), 0, "%s: no call failed in all that time", held[i].program);
        is_i64(events_of(m, SFID_EVENT_LOST), 0, "%s: and no pid was lost", held[i].program);
        diag("figure: %s: longest gap of the holder %" PRId64 " ms", held[i].program,
             atomic_load(&m->gap_ms));
        is_i64(member_end(m), 0, "%s: it ends well", held[i].program);
        redis_kill(&held[i].r);
    }
}

/* ---- those that take a restart ------------------------------------------- */

static void test_loading(void) {
    static const char *const slowly[] = {"--key-load-delay", "300",
                                         "--loading-process-events-interval-bytes", "1024"};
    struct redis r;
    char url[300];
    redis_start(&r, program, "loading", REDIS_LOADING, NULL);
    reply_free(
        redis_ask(&r, "EVAL", "for i = 1, 20000 do redis.call('SET', i, 'value') end", "0", NULL));
    redis_do(&r, "SAVE", NULL);
    for (size_t i = 0; i < COUNT_OF(slowly); i++)
        snprintf(r.args[i], sizeof r.args[i], "%s", slowly[i]);
    redis_restart(&r, false);
    snprintf(url, sizeof url, "unix://%s", r.socket);
    char what[60];
    snprintf(what, sizeof what, "%s: loading", program);
    fails_with(url, "orders", SFID_EREDIS, r.socket, "LOADING", what);
    redis_kill(&r);
}

static bool meets_misconf(void *arg) {
    return strncmp(redis_text(arg, "SET", "a", "b", NULL), "-MISCONF ", 9) == 0;
}

/* It cannot save, and takes no more writes. */
static void test_misconf(void) {
    struct redis r;
    char url[300], moved[120], what[60];
    redis_start(&r, program, "misconf", REDIS_PORT, "--logfile", "/dev/null", "--save",
                "3600 100000", NULL);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", r.port);
    snprintf(moved, sizeof moved, "127.0.0.1:%d", r.port);
    redis_do(&r, "DBSIZE", NULL); /* the connection is there before its socket goes */
    unlink(r.socket);
    rmdir(r.dir);
    command(&r, "BGSAVE");
    need(tap_wait_until(meets_misconf, &r, TAP_WAIT_MS), "%s: saves all the same", program);
    snprintf(what, sizeof what, "%s: cannot save", program);
    fails_with(url, "orders", SFID_EREDIS, moved, "MISCONF", what);
    redis_kill(&r);
}

int main(void) {
    faults_begin();
    for (size_t i = 0; i < servers.n; i++) {
        program = servers.installed[i];
        test_password();
        test_permissions();
        test_opens();
        test_loading();
        test_misconf();
    }
    test_holders();
    diag("figure: the slowest open of %d ms took %" PRId64, OPEN_MS, worst_open_ms);
    return faults_end("holders");
}
