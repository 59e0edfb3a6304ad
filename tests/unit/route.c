/* SPDX-License-Identifier: MIT */
/*
 * route.c, sentinel.c, cluster.c, keyslot.c - to whom questions go, against servers of the test's
 * own that name each other, lie, are silent or gone. Real sentinels and clusters: tests/fleet.
 */
#include "redis/route.h"

#include "support/asker.h"
#include "redis/keyslot.h"

#include <netinet/tcp.h>
#include <stdarg.h>

#define APP "{orders}"

enum { DEADLINE_MS = 8000 }; /* where a server is silent for its share of it */

/* What a server is, in s->step. */
enum { MASTER, REPLICA = 1, CLOSES = 2, WRONGPASS = 4, SILENT = 8 };

/*
 * Any server: s->send is what it answers to what is no greeting, and PONG where that is empty; a
 * sentinel's answer, or an error. s->commands counts those.
 */
static void serve(int fd, struct resp *in, struct peer_shared *s) {
    static const char master[] =
        "*3\r\n$6\r\nmaster\r\n:0\r\n*1\r\n*3\r\n$9\r\n127.0.0.1\r\n$1\r\n1\r\n*-1\r\n";
    static const char replica[] =
        "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:0\r\n";
    char name[256];
    while (read_command(in, name, sizeof name)) {
        const int is = atomic_load(&s->step);
        if (is & SILENT)
            continue;
        if (strncmp(name, "AUTH", 4) == 0 && is & WRONGPASS) {
            say_text(fd, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
        } else if (strncmp(name, "AUTH", 4) == 0 || strncmp(name, "CLIENT", 6) == 0 ||
                   strncmp(name, "SELECT", 6) == 0) {
            say_text(fd, "+OK\r\n");
        } else if (strcmp(name, "ROLE") == 0) {
            say_text(fd, is & REPLICA ? replica : master);
        } else {
            atomic_fetch_add(&s->commands, 1);
            /* the end comes with the answer: the next question cannot come before it */
            if (is & CLOSES)
                setsockopt(fd, IPPROTO_TCP, TCP_CORK, &(int){1}, sizeof(int));
            say_text(fd, s->send[0] ? s->send : "+PONG\r\n");
            if (is & CLOSES)
                return;
        }
    }
}

static struct peer node(int is, const char *says) {
    struct peer p = start_peer(true, serve);
    atomic_store(&p.s->step, is);
    snprintf(p.s->send, sizeof p.s->send, "%s", says);
    return p;
}

static void say_address(struct peer *sentinel, const char *host, int port) {
    char digits[12];
    snprintf(digits, sizeof digits, "%d", port);
    snprintf(sentinel->s->send, sizeof sentinel->s->send, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
             strlen(host), host, strlen(digits), digits);
}

static struct peer sentinel_of(const struct peer *master) {
    struct peer p = node(MASTER, "");
    say_address(&p, "127.0.0.1", master->port);
    return p;
}

/* A port that nobody listens at, nor will: it is bound until the test ends. */
static int dead_port(void) {
    struct peer p = {.pid = -1};
    bind_tcp(&p);
    return p.port;
}

static int commands(const struct peer *p) { return atomic_load(&p->s->commands); }

static struct sfid__route route_of(const char *format, ...) {
    char url[400];
    va_list args;
    struct sfid__uri uri;
    struct sfid__route r;
    va_start(args, format);
    vsnprintf(url, sizeof url, format, args);
    va_end(args);
    need(sfid__uri_parse(url, &uri, &err) >= 0, "%s: %s", url, err.text);
    uri.connect_timeout_ms = LONG_MS;
    need(sfid__route_begin(&r, &uri, APP, &err) >= 0, "%s: %s", url, err.text);
    return r;
}

static int ask_route_until(struct sfid__route *r, int64_t within_ms, const _Atomic int *stop) {
    const int64_t began = tap_now_ms();
    const struct sfid__question q = {1, (const char *const[]){"PING"}, NULL, began + within_ms,
                                     stop};
    err = (struct sfid__error){.code = 0};
    const int rc = sfid__route_exchange(r, &q, &reply, &err);
    last_took = took_since(began);
    return rc;
}

static int ask_route(struct sfid__route *r) { return ask_route_until(r, LONG_MS, NULL); }

/* ---- slots ---------------------------------------------------------------- */

static void test_slots(void) {
    /* "Redis cluster specification": the CRC of 123456789 is 0x31C3. The others: CLUSTER KEYSLOT of
     * redis-server 7.0.15. */
    is_u64(sfid__keyslot("123456789"), 0x31c3, "the slot of 123456789");
    is_u64(sfid__keyslot("foo"), 12182, "of foo");
    is_u64(sfid__keyslot("bar"), 5061, "of bar");
    is_u64(sfid__keyslot("sfid:{a}"), 15495, "of a key with a tag");
    is_u64(sfid__keyslot("{foo}bar{baz}"), 12182, "the first tag counts");
    is_u64(sfid__keyslot("{{foo}}"), sfid__keyslot("{foo"), "up to the first closing brace");
    is_u64(sfid__keyslot(""), 0, "of nothing");
    ok(sfid__keyslot("{}foo") != sfid__keyslot("foo"), "an empty tag is none");
    ok(sfid__has_hash_tag("{a}") && sfid__has_hash_tag("x{a}y") && !sfid__has_hash_tag("a") &&
           !sfid__has_hash_tag("{}a") && !sfid__has_hash_tag("{a") && !sfid__has_hash_tag("a}{"),
       "tags are told from braces");
}

/* ---- sentinels ------------------------------------------------------------ */

static void test_found(void) {
    struct peer master = node(MASTER, ""), s = sentinel_of(&master);
    struct sfid__route r = route_of("redis+sentinel://127.0.0.1:%d/mm", s.port);
    ok(!sfid__route_is_up(&r), "nothing is asked before the first exchange");
    ok(said(ask_route(&r), "PONG"),
       "the master that a sentinel names answers, replicas in its ROLE or not");
    ok(sfid__route_is_up(&r), "and stays");
    ok(said(ask_route(&r), "PONG") && commands(&s) == 1 && commands(&master) == 2,
       "without asking the sentinel again");
    sfid__route_end(&r);
    stop_peer(&s);
    stop_peer(&master);
}

static void test_liars(void) {
    struct peer master = node(MASTER, ""), replica = node(REPLICA, ""),
                lies = sentinel_of(&replica), knows = sentinel_of(&master), mute = node(SILENT, ""),
                odd = node(MASTER, "*2\r\n$3\r\na b\r\n$1\r\n0\r\n"),
                none = node(MASTER, "*-1\r\n");
    struct sfid__route r = route_of(
        "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/mm",
        dead_port(), lies.port, odd.port, none.port, mute.port, knows.port);
    ok(said(ask_route_until(&r, DEADLINE_MS, NULL), "PONG"),
       "past sentinels that are gone, lie, are odd, know nothing, or are silent");
    in_time(last_took, DEADLINE_MS * 3 / 4,
            "the silent one had no more than its share, which is a third");
    is_i64(commands(&replica), 0, "what is no master is asked nothing");
    atomic_store(&master.s->step, CLOSES);
    ok(said(ask_route(&r), "PONG") && commands(&lies) == 1,
       "while the connection holds, none is asked");
    ok(said(ask_route(&r), "PONG") && commands(&knows) == 2 && commands(&lies) == 1,
       "when it is gone the one that was right is asked first");
    sfid__route_end(&r);
    struct peer *const all[] = {&master, &replica, &lies, &knows, &mute, &odd, &none};
    for (size_t i = 0; i < COUNT(all); i++)
        stop_peer(all[i]);
}

static void test_demoted(void) {
    struct peer old = node(MASTER, ""), now = node(MASTER, "+new\r\n"), s = sentinel_of(&old);
    struct sfid__route r = route_of("redis+sentinel://127.0.0.1:%d/mm", s.port);
    ok(said(ask_route(&r), "PONG"), "the master answers");
    snprintf(old.s->send, sizeof old.s->send,
             "-READONLY You can't write against a read only replica.\r\n");
    say_address(&s, "127.0.0.1", now.port);
    ok(said(ask_route(&r), "new"),
       "when it is one no longer, the new one does, within the same exchange");
    stop_peer(&now);
    say_address(&s, "127.0.0.1", old.port);
    ok(failed_with(ask_route(&r), SFID_EREDIS, SFID__REPLY_RETRY,
                   "no master found: sentinel 127.0.0.1"),
       "a sentinel that names the old one, which says so, does not help");
    ok(strstr(err.text, "READONLY"), "and the sentence tells that");
    sfid__route_end(&r);
    stop_peer(&s);
    stop_peer(&old);
}

static void test_lost_sentinels(void) {
    struct peer master = node(CLOSES, ""), s = sentinel_of(&master);
    struct sfid__route r = route_of("redis+sentinel://127.0.0.1:%d/mm", s.port);
    ok(said(ask_route(&r), "PONG"), "a master is found");
    stop_peer(&s);
    ok(said(ask_route(&r), "PONG"), "with no sentinel left it is asked all the same");
    atomic_store(&master.s->step, REPLICA);
    ok(failed_with(ask_route(&r), SFID_EREDIS, SFID__REPLY_RETRY, "no master found"),
       "but not when it is one no longer");
    sfid__route_end(&r);
    stop_peer(&master);
}

static void test_refused_sentinels(void) {
    struct peer wrong = node(WRONGPASS, ""), none = node(MASTER, "*-1\r\n"),
                denied = node(MASTER, "-NOAUTH Authentication required.\r\n");
    struct sfid__route r = route_of(
        "redis+sentinel://ann:sesame@127.0.0.1:%d/mm?sentinel_user=bob&sentinel_password=geheim",
        wrong.port);
    ok(failed_with(ask_route(&r), SFID_EAUTH, SFID__REPLY_CONFIG,
                   "sentinel_user or sentinel_password"),
       "a wrong password is told");
    ok(!strstr(err.text, "bob") && !strstr(err.text, "geheim") && !strstr(err.text, "sesame"),
       "and not shown");
    sfid__route_end(&r);
    r = route_of("redis+sentinel://127.0.0.1:%d/mm", denied.port);
    ok(failed_with(ask_route(&r), SFID_EAUTH, SFID__REPLY_CONFIG, "sentinel_password="),
       "so is one that is missing");
    sfid__route_end(&r);
    r = route_of("redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/mm", none.port, wrong.port);
    ok(failed_with(ask_route(&r), SFID_EREDIS, SFID__REPLY_CONFIG, "no master named \"mm\""),
       "and a name that none knows");
    sfid__route_end(&r);
    r = route_of("redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/mm", none.port, dead_port());
    ok(failed_with(ask_route(&r), SFID_EREDIS, SFID__REPLY_RETRY, "Connection refused"),
       "one that is gone might have known it");
    sfid__route_end(&r);
    stop_peer(&wrong);
    stop_peer(&none);
    stop_peer(&denied);
}

static void leaves_silent_ones(struct sfid__route *r, const _Atomic int *stop) {
    is_i64(ask_route_until(r, LONG_MS, stop), SFID_EREDIS, "nobody answers whoever closes");
    in_time(last_took, SFID__STOP_GRACE_MS + OVERRUN_MS, "who waits for one of them, not for all");
    is_i64(ask_route_until(r, 300, NULL), SFID_EREDIS, "nor others");
    in_time(last_took, 300 + OVERRUN_MS, "who do not wait past the deadline");
}

static void test_stopped(void) {
    struct peer mute[3] = {node(SILENT, ""), node(SILENT, ""), node(SILENT, "")};
    _Atomic int stop = 1;
    struct sfid__route r = route_of("redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/mm",
                                    mute[0].port, mute[1].port, mute[2].port);
    leaves_silent_ones(&r, &stop);
    sfid__route_end(&r);
    r = route_of("redis+cluster://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", mute[0].port,
                 mute[1].port, mute[2].port);
    leaves_silent_ones(&r, &stop); /* the nodes of a cluster */
    sfid__route_end(&r);
    for (int i = 0; i < 3; i++)
        stop_peer(&mute[i]);
}

/* ---- clusters -------------------------------------------------------------- */

static unsigned slot;

static void send_to(struct peer *p, const char *word, unsigned to, const char *host, int port) {
    snprintf(p->s->send, sizeof p->s->send, "-%s %u %s:%d\r\n", word, to, host, port);
}

static void test_moved(void) {
    struct peer seed = node(MASTER, ""), owner = node(MASTER, "");
    /* a user that is part of an address */
    struct sfid__route r = route_of("redis+cluster://127:x@127.0.0.1:%d", seed.port);
    static const char *const hosts[] = {"127.0.0.1", "", "?"};
    for (size_t i = 0; i < COUNT(hosts); i++) {
        send_to(&seed, "MOVED", slot, hosts[i], owner.port);
        ok(said(ask_route(&r), "PONG"), "the node that \"%s\" leads to answers", seed.s->send);
        const int before = commands(&seed);
        ok(said(ask_route(&r), "PONG") && commands(&seed) == before, "and is asked from then on");
        send_to(&owner, "MOVED", slot, "", seed.port);
        seed.s->send[0] = '\0';
        ok(said(ask_route(&r), "PONG") && commands(&seed) == before + 1,
           "until it leads elsewhere");
        owner.s->send[0] = '\0';
    }
    ok(sfid__route_is_up(&r), "with a connection that is up");
    sfid__route_end(&r);
    stop_peer(&seed);
    stop_peer(&owner);
}

static void test_asked(void) {
    struct peer from = node(MASTER, ""), to = node(MASTER, "+moved\r\n");
    struct sfid__route r = route_of("redis+cluster://127.0.0.1:%d", from.port);
    send_to(&from, "ASK", slot, "127.0.0.1", to.port);
    ok(failed_with(ask_route(&r), SFID_EREDIS, SFID__REPLY_RETRY, "ASK") && commands(&to) == 0 &&
           commands(&from) == 1,
       "while a slot moves nobody is asked, and it is tried again later");
    from.s->send[0] = '\0';
    ok(said(ask_route(&r), "PONG") && commands(&to) == 0,
       "when the move is called off, the old node answers");
    send_to(&from, "MOVED", slot, "127.0.0.1", to.port);
    ok(said(ask_route(&r), "moved") && commands(&to) == 1, "when it is over, the new one");
    sfid__route_end(&r);
    stop_peer(&from);
    stop_peer(&to);
}

static void test_lost_nodes(void) {
    struct peer a = node(MASTER, ""), b = node(MASTER, ""),
                down = node(MASTER, "-CLUSTERDOWN The cluster is down\r\n");
    struct sfid__route r = route_of("redis+cluster://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
                                    dead_port(), down.port, a.port);
    send_to(&a, "MOVED", slot, "127.0.0.1", b.port);
    ok(said(ask_route(&r), "PONG") && commands(&b) == 1, "past seeds that are gone or cut off");
    stop_peer(&a);
    atomic_store(&b.s->step, CLOSES);
    ok(said(ask_route(&r), "PONG"), "with all seeds gone the node at hand goes on");
    ok(said(ask_route(&r), "PONG"), "and is found again: its address was learned");
    stop_peer(&b);
    ok(ask_route(&r) == SFID_EREDIS && reply.class != SFID__REPLY_CONFIG && reply.count == 0,
       "when all are gone it is told");
    ok(strstr(err.text, "redis+cluster://") && strstr(err.text, "slot "),
       "of which cluster and slot");
    sfid__route_end(&r);
    stop_peer(&down);
}

static void test_round_and_round(void) {
    struct peer a = node(MASTER, ""), b = node(MASTER, "");
    struct sfid__route r = route_of("redis+cluster://127.0.0.1:%d", a.port);
    send_to(&a, "MOVED", slot, "127.0.0.1", b.port);
    send_to(&b, "MOVED", slot, "127.0.0.1", a.port);
    ok(failed_with(ask_route_until(&r, LONG_MS, NULL), SFID_EREDIS, SFID__REPLY_RETRY, "MOVED"),
       "nodes that send each other round are left");
    ok(commands(&a) + commands(&b) < 20, "soon");
    send_to(&a, "MOVED", slot ^ 1, "127.0.0.1", b.port);
    b.s->send[0] = '\0';
    const int before = commands(&b);
    sfid__route_end(&r);
    r = route_of("redis+cluster://127.0.0.1:%d", a.port);
    ok(failed_with(ask_route(&r), SFID_EREDIS, SFID__REPLY_RETRY, "MOVED") &&
           commands(&b) == before,
       "another slot's node is of no use");
    sfid__route_end(&r);
    stop_peer(&a);
    stop_peer(&b);
}

/* Lines that lead nowhere are errors like others. */
static void test_odd_redirects(void) {
    static const char *const lines[] = {"MOVED",
                                        "MOVED 1",
                                        "MOVED x 127.0.0.1:1",
                                        "MOVED 1 127.0.0.1",
                                        "MOVED 1 127.0.0.1:0",
                                        "MOVED 1 127.0.0.1:70000",
                                        "MOVED 1 a b:1",
                                        "MOVED 1 http://x:1",
                                        "MOVED 99999999999 127.0.0.1:1",
                                        "MOVED 1:1 127.0.0.1",
                                        "ASK 1 127.0.0.1:1",
                                        "ASK :1"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct peer p = node(MASTER, "");
        struct sfid__route r = route_of("redis+cluster://127.0.0.1:%d", p.port);
        snprintf(p.s->send, sizeof p.s->send, "-%s\r\n", lines[i]);
        const int rc = ask_route(&r);
        if (!ok(rc == SFID_EREDIS && reply.redirect.to == SFID__STAY && strstr(err.text, lines[i]),
                "\"%s\" leads nowhere", lines[i]))
            diag("%d, %d after %" PRId64 " ms: %s", rc, (int)reply.redirect.to, last_took.ms,
                 err.text);
        sfid__route_end(&r);
        stop_peer(&p);
    }
}

/* ---- what leads to one server --------------------------------------------- */

static uint64_t server_of(const char *url, const char *app) {
    struct sfid__uri uri;
    need(sfid__uri_parse(url, &uri, &err) >= 0, "%s: %s", url, err.text);
    return sfid__route_server(&uri, app);
}

static void test_servers(void) {
    static const struct {
        const char *url, *app, *url2, *app2;
        bool one;
    } rows[] = {
        {"redis://h", "a", "redis://ann:x@h:6379/5?timeout=10", "b", true},
        {"redis://h.example", "a", "redis://H.exAmple", "a", true},
        {"redis://[::a]", "a", "redis://[::A]:6379/1", "a", true},
        {"unix:///tmp/s", "a", "unix:///tmp/s?db=3", "b", true},
        {"redis+sentinel://x,y:1/m", "a", "redis+sentinel://y:1,x/m/3", "b", true},
        {"redis+cluster://x,y:1", "{t}a", "redis+cluster://y:1,x", "{t}b", true},
        {"redis://h", "a", "redis://h:6380", "a", false},
        {"redis://h", "a", "redis://i", "a", false},
        {"unix:///tmp/s", "a", "unix:///tmp/S", "a", false},
        {"redis+sentinel://x,y/m", "a", "redis+sentinel://x,z/m", "a", false},
        {"redis+sentinel://x,y/m", "a", "redis+sentinel://x,y/n", "a", false},
        {"redis+cluster://x,y", "{t}a", "redis+cluster://x,y", "{u}a", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        ok((server_of(rows[i].url, rows[i].app) == server_of(rows[i].url2, rows[i].app2)) ==
               rows[i].one,
           "%s, app %s, and %s, app %s, lead to %s", rows[i].url, rows[i].app, rows[i].url2,
           rows[i].app2, rows[i].one ? "one server" : "two servers");
}

int main(void) {
    witness_begin();
    slot = sfid__keyslot("sfid:" APP);
    test_slots();
    test_servers();
    test_found();
    test_liars();
    test_demoted();
    test_lost_sentinels();
    test_refused_sentinels();
    test_stopped();
    test_moved();
    test_asked();
    test_lost_nodes();
    test_round_and_round();
    test_odd_redirects();
    return done_testing();
}
