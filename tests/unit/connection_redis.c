/* SPDX-License-Identifier: MIT */
/* connection.c against real servers: who we are, which database, what is let through, and every
 * error that can be provoked. */
#include "support/asker.h"
#include "support/redis.h"

static const char *program; /* the server's */

static struct redis start(unsigned flags, const char *option, const char *value) {
    struct redis r;
    redis_start(&r, program, "server", REDIS_PORT | flags, option, value, NULL);
    return r;
}

/* The server's URLs, good until the next call. */
static const char *by_path(const struct redis *r) {
    static char url[200];
    snprintf(url, sizeof url, "unix://%s", r->socket);
    return url;
}

static const char *by_port(const struct redis *r) {
    static char url[64];
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", r->port);
    return url;
}

/* Runs a command of words, on a connection of its own: the server has limits on those. The answer,
 * good until the next call. */
static const char *run(struct redis *r, const char *command) {
    static char line[1 << 16];
    char words[300], *args[16], *rest = words;
    size_t n = 0;
    snprintf(words, sizeof words, "%s", command);
    while (n < COUNT(args) && (args[n] = strsep(&rest, " ")) != NULL)
        n++;
    struct reply *answer = redis_ask_n(r, n, (const char *const *)args, NULL);
    reply_line(answer, line, sizeof line);
    reply_free(answer);
    resp_close(r->conn);
    r->conn = NULL;
    return line;
}

static void set_config(struct redis *r, const char *name, const char *value) {
    char command[200];
    snprintf(command, sizeof command, "CONFIG SET %s %s", name, value);
    const char *answer = run(r, command);
    need(strcmp(answer, "OK") == 0, "%s: %s", command, answer);
}

static int eval(struct sfid__connection *c, const char *script) {
    return ask(c, LONG_MS, "EVAL", script, "0", NULL, NULL, NULL);
}

static int set_key(struct sfid__connection *c) {
    return ask(c, LONG_MS, "SET", "key", "value", NULL, NULL, NULL);
}

/* ---- all well ------------------------------------------------------------ */

static void test_ways_in(void) {
    struct redis r = start(0, NULL, NULL);
    char url[400];
    struct sfid__connection *c = new_connection(by_path(&r)), *t = new_connection(by_port(&r));
    ok(said(ping(c, LONG_MS), "PONG"), "%s answers over a Unix socket", program);
    ok(said(ping(t, LONG_MS), "PONG"), "and over TCP");
    sfid__connection_drop(t);
    snprintf(url, sizeof url, "valkey://localhost:%d", r.port);
    t = new_connection(url);
    ok(said(ping(t, LONG_MS), "PONG"), "and at a name");
    const char *clients = run(&r, "CLIENT LIST");
    ok(strstr(clients, " name=sfid-orders "), "the server has our name");
    if (strstr(clients, " lib-name="))
        ok(strstr(clients, " lib-name=libsfid lib-ver=" SFID_VERSION_STRING " "),
           "and that of the library");
    sfid__connection_drop(t);
    snprintf(url, sizeof url, "%s?client_name=%%7Bone%%7D.of-ours&db=3", by_path(&r));
    t = new_connection(url);
    ok(said(set_key(t), "OK"), "a database is chosen");
    ok(strstr(run(&r, "CLIENT LIST"), " name={one}.of-ours "), "and a name");
    ok(said(ask(c, LONG_MS, "EXISTS", "key", NULL, NULL, NULL, NULL), "0"),
       "the key is not in database 0");
    ok(said(ask(t, LONG_MS, "EXISTS", "key", NULL, NULL, NULL, NULL), "1"),
       "but in the one chosen");
    sfid__connection_drop(t);
    snprintf(url, sizeof url, "%s/99", by_port(&r));
    t = new_connection(url);
    const int rc = ping(t, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_CONFIG, "SELECT: ERR DB index is out of range"),
       "one that is not there is told");
    sfid__connection_drop(t);
    sfid__connection_drop(c);
    redis_kill(&r);
}

static void test_scripts(void) {
    struct redis r = start(0, NULL, NULL);
    struct sfid__connection *c = new_connection(by_path(&r));
    ok(eval(c, "return {'OK', '12345', '', tostring(redis.call('TIME')[1])}") == 0 &&
           reply.count == 4 && strcmp(reply.strings[1], "12345") == 0 &&
           reply.strings[2][0] == '\0' && strlen(reply.strings[3]) == 10,
       "a script's strings arrive");
    ok(said(eval(c, "return redis.status_reply('FINE')"), "FINE"), "its status does");
    ok(said(eval(c, "return 42"), "42"), "its number does");
    ok(eval(c, "return false") == 0 && reply.count == 0, "its nil is nothing");
    const char *const argv[] = {
        "EVAL",
        "redis.call('SET', KEYS[1], ARGV[1]); return {redis.call('STRLEN', KEYS[1]), #KEYS[1]}",
        "1", "sfid:orders:\0\1", "\0\r\n\xff"};
    const size_t lengths[] = {4, strlen(argv[1]), 1, 14, 4};
    const int rc = sfid__connection_exchange(
        c, &(struct sfid__question){5, argv, lengths, sfid__deadline_now_ms() + LONG_MS, NULL},
        &reply, &err);
    ok(rc == 0 && reply.count == 2 && strcmp(reply.strings[0], "4") == 0 &&
           strcmp(reply.strings[1], "14") == 0,
       "keys and values may have any bytes");
    ok(said(ping(c, LONG_MS), "PONG"), "and the connection goes on");
    ok(failed_with(eval(c, "return {{1}}"), SFID_EREDIS, SFID__REPLY_CONFIG,
                   "an array inside an array"),
       "nested arrays are refused");
    ok(failed_with(eval(c, "return string.rep('x', 256)"), SFID_EREDIS, SFID__REPLY_CONFIG,
                   "too long"),
       "and long strings");
    ok(failed_with(eval(c, "return redis.error_reply('MINE own')"), SFID_EREDIS, SFID__REPLY_CONFIG,
                   "EVAL: MINE own"),
       "a script's error is told");
    ok(failed_with(eval(c, "local x = nil; return x.y"), SFID_EREDIS, SFID__REPLY_CONFIG,
                   "nil value"),
       "so is a fault in it");
    ok(failed_with(ask(c, LONG_MS, "NOSUCH", "x", NULL, NULL, NULL, NULL), SFID_EREDIS,
                   SFID__REPLY_CONFIG, "unknown command"),
       "and a command that is not known");
    ok(said(set_key(c), "OK") && failed_with(ask(c, LONG_MS, "LPUSH", "key", "x", NULL, NULL, NULL),
                                             SFID_EREDIS, SFID__REPLY_CONFIG, "LPUSH: WRONGTYPE"),
       "and one for another type");
    sfid__connection_drop(c);
    redis_kill(&r);
}

/* ---- rights -------------------------------------------------------------- */

static void test_password(void) {
    struct redis r = start(0, NULL, NULL);
    char url[400];
    struct sfid__connection *before = new_connection(by_port(&r));
    ok(said(ping(before, LONG_MS), "PONG"), "a server without a password");
    snprintf(url, sizeof url, "redis://:se%%40same@127.0.0.1:%d", r.port);
    struct sfid__connection *with = new_connection(url);
    int rc = ping(with, LONG_MS);
    ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, "without any password"),
       "tells who brings one");
    set_config(&r, "requirepass", "se@same");
    ok(said(ping(before, LONG_MS), "PONG"), "given one, it lets go on who was there");
    ok(said(ping(with, LONG_MS), "PONG"), "lets in who knows it");
    sfid__connection_drop(before);
    before = new_connection(by_port(&r));
    rc = ping(before, LONG_MS);
    ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, "NOAUTH") &&
           strstr(err.text, "user:password@"),
       "and nobody else");
    sfid__connection_drop(before);
    static const char *const wrong[] = {"redis://:other@127.0.0.1:%d",
                                        "redis://default:other@127.0.0.1:%d",
                                        "redis://alice:se%%40same@127.0.0.1:%d"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        snprintf(url, sizeof url, wrong[i], r.port);
        struct sfid__connection *c = new_connection(url);
        rc = ping(c, LONG_MS);
        ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG,
                       "AUTH: user or password of the URL was refused: WRONGPASS") &&
               !strstr(err.text, "other") && !strstr(err.text, "same") &&
               !strstr(err.text, "alice"),
           "not who is wrong, and the error shows neither (%zu)", i);
        sfid__connection_drop(c);
    }
    snprintf(url, sizeof url, "unix://default:se%%40same@%s/sock?db=1", r.dir);
    struct sfid__connection *named = new_connection(url);
    ok(said(ping(named, LONG_MS), "PONG"), "user and password do");
    sfid__connection_drop(named);
    sfid__connection_drop(with);
    redis_kill(&r);
}

static void test_acl(void) {
    struct redis r = start(0, NULL, NULL);
    char url[400];
    int rc;
    snprintf(url, sizeof url, "unix://alice:sesame@%s/sock", r.dir);
    struct sfid__connection *c = new_connection(url);
    run(&r, "ACL SETUSER alice on >sesame ~sfid:* +@connection");
    rc = eval(c, "return 1");
    ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, "EVAL: NOPERM") &&
           strstr(err.text, "'eval'") && !strstr(err.text, "alice"),
       "a command not allowed is named, the user is not");
    run(&r, "ACL SETUSER alice +eval");
    ok(said(eval(c, "return 1"), "1"), "once it is allowed it works");
    rc = eval(c, "return redis.call('HSET', 'sfid:orders', 'a', 'b')");
    ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, "EVAL: ERR ") && !strstr(err.text, "alice"),
       "one inside a script");
    run(&r, "ACL SETUSER alice +get");
    rc = ask(c, LONG_MS, "GET", "other", NULL, NULL, NULL, NULL);
    ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, "GET: NOPERM"), "a key that is not allowed");
    run(&r, "ACL SETUSER alice -client|setname");
    sfid__connection_drop(c);
    c = new_connection(url);
    ok(said(ping(c, LONG_MS), "PONG"), "a name that may not be set is done without");
    run(&r, "ACL SETUSER alice -client|setinfo"); /* Redis 7.0 does not know it, which is as good */
    ok(said(ping(c, LONG_MS), "PONG"), "the library's own may be missing");
    run(&r, "ACL SETUSER alice off");
    sfid__connection_drop(c);
    c = new_connection(url);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, "WRONGPASS"), "a user who is switched off");
    sfid__connection_drop(c);
    redis_kill(&r);
}

/* ---- not now, not here --------------------------------------------------- */

/* Each on one connection, that is up before and goes on when it is over. */
static void test_refusals(void) {
    struct redis r = start(0, NULL, NULL);
    struct sfid__connection *c = new_connection(by_path(&r));
    ok(said(set_key(c), "OK"), "a key is set");
    static const char set[] = "return redis.call('SET', 'key', 'value')";
    set_config(&r, "maxmemory", "1");
    ok(failed_with(set_key(c), SFID_EREDIS, SFID__REPLY_RETRY, "SET: OOM"), "no memory");
    ok(failed_with(eval(c, set), SFID_EREDIS, SFID__REPLY_RETRY, "EVAL: OOM"), "nor for a script");
    set_config(&r, "maxmemory", "0");
    set_config(&r, "min-replicas-to-write", "1");
    ok(failed_with(set_key(c), SFID_EREDIS, SFID__REPLY_RETRY, "SET: NOREPLICAS"), "no replicas");
    ok(failed_with(eval(c, set), SFID_EREDIS, SFID__REPLY_RETRY, "EVAL: NOREPLICAS"),
       "nor for a script");
    set_config(&r, "min-replicas-to-write", "0");
    ok(said(set_key(c), "OK") && sfid__connection_is_up(c), "the connection goes on");
    run(&r, "REPLICAOF 127.0.0.1 1");
    ok(failed_with(eval(c, set), SFID_EREDIS, SFID__REPLY_RESOLVE, "EVAL: READONLY"),
       "a replica, to a script");
    ok(!sfid__connection_is_up(c), "which ends the connection");
    ok(failed_with(set_key(c), SFID_EREDIS, SFID__REPLY_RESOLVE, "SET: READONLY"), "a replica");
    set_config(&r, "replica-serve-stale-data", "no");
    ok(failed_with(eval(c, set), SFID_EREDIS, SFID__REPLY_RESOLVE, "EVAL: MASTERDOWN"),
       "one that has lost its master");
    run(&r, "REPLICAOF NO ONE");
    ok(said(set_key(c), "OK"), "a master again");
    sfid__connection_drop(c);
    redis_kill(&r);
}

static bool meets_misconf(void *c) {
    return set_key(c) == SFID_EREDIS && strstr(err.text, "MISCONF");
}

static void test_misconf(void) {
    struct redis r;
    redis_start(&r, program, "server", REDIS_PORT, "--logfile", "/dev/null", "--save", "3600 1000",
                NULL);
    struct sfid__connection *c = new_connection(by_port(&r));
    ok(said(set_key(c), "OK"), "a key is set");
    char path[300];
    snprintf(path, sizeof path, "%s/sock", r.dir);
    unlink(path);
    rmdir(r.dir); /* it cannot save there now */
    ok(said(ask(c, LONG_MS, "BGSAVE", NULL, NULL, NULL, NULL, NULL), "Background saving started"),
       "saving begins");
    ok(tap_wait_until(meets_misconf, c, LONG_MS), "and fails: MISCONF");
    ok(failed_with(set_key(c), SFID_EREDIS, SFID__REPLY_RETRY, "SET: MISCONF"), "which may pass");
    sfid__connection_drop(c);
    redis_kill(&r);
}

static bool is_busy(void *c) {
    return ping(c, LONG_MS) == SFID_EREDIS && strstr(err.text, "PING: BUSY");
}

static bool is_killed(void *c) {
    ask(c, LONG_MS, "SCRIPT", "KILL", NULL, NULL, NULL, NULL);
    return ping(c, LONG_MS) == 0;
}

static void test_busy(void) {
    struct redis r = start(0, "--lua-time-limit", "50");
    struct sfid__connection *c = new_connection(by_port(&r)), *busy = new_connection(by_port(&r)),
                            *late = new_connection(by_port(&r));
    ok(said(ping(c, LONG_MS), "PONG"), "a connection is up");
    ok(said(ping(busy, LONG_MS), "PONG"), "another, too");
    is_i64(ask(busy, 700, "EVAL", "while true do end", "0", NULL, NULL, NULL), SFID_EREDIS,
           "a script that does not end");
    ends_after(700, "such a script's exchange");
    ok(tap_wait_until(is_busy, c, LONG_MS), "others are told: BUSY");
    ok(failed_with(ping(c, LONG_MS), SFID_EREDIS, SFID__REPLY_RETRY, "PING: BUSY"),
       "which may pass");
    ok(failed_with(ping(late, LONG_MS), SFID_EREDIS, SFID__REPLY_RETRY, "BUSY"),
       "a new connection as well");
    ok(sfid__connection_is_up(c), "the connection stays");
    ok(tap_wait_until(is_killed, c, LONG_MS), "and can end the script");
    ok(said(ping(late, LONG_MS), "PONG"), "then all is well");
    sfid__connection_drop(c);
    sfid__connection_drop(busy);
    sfid__connection_drop(late);
    redis_kill(&r);
}

static void test_loading(void) {
    static const char *const slowly[] = {"--key-load-delay", "2000",
                                         "--loading-process-events-interval-bytes", "1024"};
    struct redis r = start(REDIS_LOADING, NULL, NULL);
    struct sfid__connection *c = new_connection(by_path(&r));
    eval(c, "for i = 1, 20000 do redis.call('SET', i, 'value') end; return 1");
    ok(said(ask(c, LONG_MS, "SAVE", NULL, NULL, NULL, NULL, NULL), "OK"), "20000 keys are saved");
    for (size_t i = 0; i < COUNT(slowly); i++)
        snprintf(r.args[i], sizeof r.args[i], "%s", slowly[i]);
    redis_restart(&r, false);
    sfid__connection_drop(c);
    c = new_connection(by_path(&r));
    const int rc = eval(c, "return 1");
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "LOADING"), "a server that is loading");
    sfid__connection_drop(c);
    redis_kill(&r);
}

static bool is_down(void *c) { return !sfid__connection_is_up(c); }

static void test_clients(void) {
    struct redis r = start(0, NULL, NULL);
    struct sfid__connection *c = new_connection(by_port(&r)), *d = new_connection(by_port(&r));
    ok(said(ping(c, LONG_MS), "PONG"), "a connection is up");
    ok(said(ask(c, LONG_MS, "CONFIG", "SET", "maxclients", "1", NULL, NULL), "OK"),
       "as the only one allowed");
    ok(failed_with(ping(d, LONG_MS), SFID_EREDIS, SFID__REPLY_RETRY,
                   "ERR max number of clients reached"),
       "another is refused");
    ok(said(ask(c, LONG_MS, "CONFIG", "SET", "maxclients", "100", NULL, NULL), "OK"),
       "until more are");
    ok(said(ping(d, LONG_MS), "PONG"), "then it is not");
    set_config(&r, "timeout", "1");
    ok(tap_wait_until(is_down, c, LONG_MS), "a server that closes idle connections");
    ok(said(ping(c, LONG_MS), "PONG"), "gets a new one");
    set_config(&r, "timeout", "0");
    int rc = 0;
    /* where this comes too late the pause is over */
    for (int tries = 0; tries < 10 && rc == 0; tries++) {
        need(said(ask(d, LONG_MS, "CLIENT", "PAUSE", "1500", "ALL", NULL, NULL), "OK"), "no pause");
        rc = ping(c, 200);
    }
    ok(rc == SFID_EREDIS && reply.class == SFID__REPLY_RETRY, "a server that pauses is left");
    ends_after(200, "an exchange with one that pauses");
    ok(said(ping(c, LONG_MS), "PONG"), "and answers when it goes on");
    redis_kill(&r);
    ok(tap_wait_until(is_down, c, LONG_MS), "one that dies is noticed");
    ok(failed_with(ping(c, LONG_MS), SFID_EREDIS, SFID__REPLY_RESOLVE, "Connection refused"),
       "and is not there");
    redis_restart(&r, false);
    sfid__connection_drop(d);
    d = new_connection(by_port(&r));
    ok(said(ping(d, LONG_MS), "PONG"), "until it is started again");
    sfid__connection_drop(c);
    sfid__connection_drop(d);
    redis_kill(&r);
}

int main(void) {
    witness_begin();
    for (const char *const *name = redis_programs(); *name; name++) {
        program = *name;
        if (!redis_installed(program)) {
            skip(1, "no %s", program);
            continue;
        }
        test_ways_in();
        test_scripts();
        test_password();
        test_acl();
        test_refusals();
        test_misconf();
        test_busy();
        test_loading();
        test_clients();
    }
    return done_testing();
}
