/* SPDX-License-Identifier: MIT */
/*
 * named.c - hosts that a sentinel or a node names: which of them get a connection, and with it the
 * password. The program has a getaddrinfo(), socket() and connect() of its own: all addresses lead
 * to the loopback, and are noted.
 */
#include "redis/route.h"
#include "redis/wire.h"

#include "support/asker.h"

#include "redis/keyslot.h"

#include <netdb.h>
#include <stdarg.h>
#include <sys/syscall.h>

#define APP "orders"
#define SECRET "s3same"

/* ---- a network of the test's own -------------------------------------------- */

static struct {
    const char *name, *address[3];
} names[] = {
    {"seed.test", {"10.0.0.1"}},
    {"near.test", {"10.0.0.2"}},
    {"far.test", {"203.0.113.9"}},
    {"both.test", {"203.0.113.9", "::1", "10.0.0.2"}},
};

static struct addrinfo *entry(const char *address, const char *port, struct addrinfo *next) {
    struct addrinfo *a = calloc(1, sizeof *a + sizeof(struct sockaddr_in6));
    struct sockaddr_in *v4 = (struct sockaddr_in *)(a + 1);
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(a + 1);
    if (inet_aton(address, &v4->sin_addr)) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)atoi(port));
        a->ai_addrlen = sizeof *v4;
    } else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)atoi(port));
        a->ai_addrlen = sizeof *v6;
    } else {
        free(a);
        return NULL;
    }
    a->ai_addr = (struct sockaddr *)(a + 1);
    a->ai_next = next;
    return a;
}

/* The system's takes 127.1 and 0x7f.1 for addresses, too. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **out) {
    *out = hints->ai_flags & AI_NUMERICHOST ? entry(host, port, NULL) : NULL;
    for (size_t i = 0; i < COUNT(names) && !(hints->ai_flags & AI_NUMERICHOST); i++)
        for (size_t k = COUNT(names[0].address); k-- > 0 && strcasecmp(names[i].name, host) == 0;)
            if (names[i].address[k])
                *out = entry(names[i].address[k], port, *out);
    return *out ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *a) {
    while (a) {
        struct addrinfo *next = a->ai_next;
        free(a);
        a = next;
    }
}

int socket(int family, int type, int protocol) {
    return (int)syscall(SYS_socket, family == AF_INET6 ? AF_INET : family, type, protocol);
}

static char noted[400]; /* the addresses that were connected to, one behind the other */

/* Under the name connect(): glibc declares that with a union. */
int lead(int fd, const struct sockaddr *at, socklen_t len) __asm__("connect");

int lead(int fd, const struct sockaddr *at, socklen_t len) {
    char text[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (at->sa_family == AF_UNIX)
        return (int)syscall(SYS_connect, fd, at, len);
    const bool v6 = at->sa_family == AF_INET6;
    const struct sockaddr_in *v4_at = (const struct sockaddr_in *)at;
    const struct sockaddr_in6 *v6_at = (const struct sockaddr_in6 *)at;
    there.sin_port = v6 ? v6_at->sin6_port : v4_at->sin_port;
    inet_ntop(at->sa_family, v6 ? (const void *)&v6_at->sin6_addr : &v4_at->sin_addr, text,
              sizeof text);
    snprintf(noted + strlen(noted), sizeof noted - strlen(noted), "%s%s", noted[0] ? " " : "",
             text);
    return (int)syscall(SYS_connect, fd, &there, sizeof there);
}

/* ---- servers ------------------------------------------------------------------ */

/* Any server: s->send is what it answers behind the greeting, or PONG. s->step counts AUTH. */
static void serve(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    while (read_command(in, name, sizeof name)) {
        atomic_fetch_add(&s->step, strncmp(name, "AUTH", 4) == 0);
        if (strncmp(name, "AUTH", 4) == 0 || strncmp(name, "CLIENT", 6) == 0)
            say_text(fd, "+OK\r\n");
        else if (strcmp(name, "ROLE") == 0)
            say_text(fd, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
        else
            say_text(fd, s->send[0] ? s->send : "+PONG\r\n");
    }
}

/* One that names others, another one, one that is named, and one that is no Redis. */
static struct peer namer, other, named, stranger;

/* What a sentinel or a node says to name a host. */
static void set_named(struct peer *p, bool cluster, const char *host, int at) {
    char port[12];
    snprintf(port, sizeof port, "%d", at);
    if (cluster)
        snprintf(p->s->send, sizeof p->s->send, "-MOVED %u %s:%s\r\n", sfid__keyslot("sfid:" APP),
                 host, port);
    else
        snprintf(p->s->send, sizeof p->s->send, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(host),
                 host, strlen(port), port);
}

static struct sfid__route route;

/* Begins a route to a store: host:port of three servers, each with its own host. */
static void begin(bool cluster, const char *a, const char *b, const char *parameters) {
    char url[600];
    struct sfid__uri uri;
    snprintf(url, sizeof url, "redis+%s://app:" SECRET "@%s:%d", cluster ? "cluster" : "sentinel",
             a, namer.port);
    if (b)
        snprintf(url + strlen(url), sizeof url - strlen(url), ",%s:%d", b, other.port);
    snprintf(url + strlen(url), sizeof url - strlen(url), "%s%s%s", cluster ? "" : "/mm",
             parameters[0] ? "?" : "", parameters);
    need(sfid__uri_parse(url, &uri, &err) >= 0, "%s: %s", url, err.text);
    need(sfid__route_begin(&route, &uri, APP, &err) >= 0, "%s: %s", url, err.text);
}

static int ask_route(void) {
    const struct sfid__question q = {1, (const char *const[]){"PING"}, NULL, tap_now_ms() + LONG_MS,
                                     NULL};
    noted[0] = '\0';
    atomic_store(&named.s->step, 0);
    err = (struct sfid__error){.code = 0};
    return sfid__route_exchange(&route, &q, &reply, &err);
}

/* Asks a sentinel or a node at `from`, which names `host`. */
static int ask_naming(bool cluster, const char *from, const char *host, const char *parameters) {
    set_named(&namer, cluster, host, named.port);
    begin(cluster, from, NULL, parameters);
    const int rc = ask_route();
    sfid__route_end(&route);
    return rc;
}

/* ---- without a parameter: addresses of the same class ---------------------------- */

static const struct {
    const char *from, *host, *reached; /* the address that is connected to; NULL: none */
    const char *classes;               /* what the error tells of both */
} pairs[] = {
    {"127.0.0.1", "127.0.0.1", "127.0.0.1", ""},
    {"127.0.0.1", "127.9.9.9", "127.9.9.9", ""},
    {"127.0.0.1", "203.0.113.9", NULL,
     "203.0.113.9 is public, and the address of who names it is loopback"},
    {"127.0.0.1", "10.0.0.2", NULL,
     "10.0.0.2 is private, and the address of who names it is loopback"},
    {"127.0.0.1", "far.test", NULL,
     "203.0.113.9 is public, and the address of who names it is loopback"},
    {"10.0.0.1", "10.0.0.2", "10.0.0.2", ""},
    {"10.0.0.1", "192.168.0.1", "192.168.0.1", ""},
    {"10.0.0.1", "127.0.0.1", NULL,
     "127.0.0.1 is loopback, and the address of who names it is private"},
    {"10.0.0.1", "127.1", NULL,
     "127.0.0.1 is loopback, and the address of who names it is private"},
    {"10.0.0.1", "0.0.0.0", NULL,
     "0.0.0.0 is loopback, and the address of who names it is private"},
    {"10.0.0.1", "::1", NULL, "::1 is loopback, and the address of who names it is private"},
    {"10.0.0.1", "::ffff:127.0.0.1", NULL,
     "::ffff:127.0.0.1 is loopback, and the address of who names it is private"},
    {"10.0.0.1", "169.254.169.254", NULL,
     "169.254.169.254 is link-local, and the address of who names it is private"},
    {"10.0.0.1", "near.test", "10.0.0.2", ""},
    {"10.0.0.1", "far.test", NULL,
     "203.0.113.9 is public, and the address of who names it is private"},
    {"10.0.0.1", "both.test", "10.0.0.2", ""}, /* of its addresses those of the class alone */
    {"seed.test", "near.test", "10.0.0.2", ""},
    {"seed.test", "127.0.0.1", NULL,
     "127.0.0.1 is loopback, and the address of who names it is private"},
    {"198.51.100.1", "203.0.113.9", "203.0.113.9", ""},
    {"198.51.100.1", "10.0.0.2", NULL,
     "10.0.0.2 is private, and the address of who names it is public"},
    {"198.51.100.1", "both.test", "203.0.113.9", ""},
};

static void check(bool cluster, const char *from, const char *host, const char *parameters,
                  const char *reached, const char *says) {
    const char *what = cluster ? "a node" : "a sentinel";
    char want[140];
    const int rc = ask_naming(cluster, from, host, parameters);
    snprintf(want, sizeof want, "%s%s%s", strcmp(from, "seed.test") == 0 ? "10.0.0.1" : from,
             reached ? " " : "", reached ? reached : "");
    is_str(noted, want, "%s at %s names %s (%s): whom we connect to", what, from, host, parameters);
    is_i64(atomic_load(&named.s->step), reached != NULL, "and whether it gets the password");
    if (reached)
        ok(said(rc, "PONG"), "it answers");
    else
        ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, says) && strstr(err.text, from) &&
               strstr(err.text, host) && strstr(err.text, "named_hosts=") &&
               !strstr(err.text, SECRET),
           "the error tells that, who names whom, and the cure");
}

static void test_classes(void) {
    for (size_t i = 0; i < COUNT(pairs); i++)
        for (int cluster = 0; cluster < 2; cluster++)
            check(cluster, pairs[i].from, pairs[i].host, "", pairs[i].reached, pairs[i].classes);
}

/* ---- with named_hosts: what it has ---------------------------------------------- */

static const struct {
    const char *from, *host, *list, *reached; /* the address that is connected to; NULL: none */
} lists[] = {
    {"127.0.0.1", "203.0.113.9", "203.0.113.9", "203.0.113.9"},
    {"127.0.0.1", "203.0.113.9", "10.0.0.0/8,203.0.113.0/24", "203.0.113.9"},
    {"127.0.0.1", "127.0.0.1", "10.0.0.0/8", NULL}, /* the class does not matter then */
    {"10.0.0.1", "10.0.0.2", "10.0.0.1", NULL},
    {"10.0.0.1", "far.test", "*.test", "203.0.113.9"},
    {"10.0.0.1", "FAR.test", "far.TEST", "203.0.113.9"},
    {"10.0.0.1", "far.test", "near.test", NULL},
    {"10.0.0.1", "far.test", "203.0.113.9", "203.0.113.9"},
    {"10.0.0.1", "both.test", "near.test,10.0.0.0/8", "10.0.0.2"},
    {"10.0.0.1", "both.test", "*.test", "203.0.113.9"},
    {"10.0.0.1", "::1", "::1", "::1"},
    {"10.0.0.1", "0x7f.1", "0x*.1", NULL}, /* an address is no name */
    {"10.0.0.1", "0x7f.1", "127.0.0.0/8", "127.0.0.1"},
    {"10.0.0.1", "127.0.0.1", "::/0", NULL},
    {"10.0.0.1", "127.0.0.1", "0.0.0.0/0", "127.0.0.1"},
};

static void test_lists(void) {
    for (size_t i = 0; i < COUNT(lists); i++)
        for (int cluster = 0; cluster < 2; cluster++) {
            char parameter[80];
            snprintf(parameter, sizeof parameter, "named_hosts=%s", lists[i].list);
            check(cluster, lists[i].from, lists[i].host, parameter, lists[i].reached,
                  "is not in named_hosts= of the URL");
        }
}

/* Whom a connection leads to, with TLS or without, if a server at a private address has named
 * far.test. */
static void check_tls(bool tls, const char *parameters, const char *reached, const char *what) {
    char url[200];
    struct sfid__uri uri, one;
    struct sfid__wire w = SFID__WIRE_NONE;
    struct sfid__resolver resolver = {NULL};
    struct sfid__deadline deadline = {.at_ms = tap_now_ms() + LONG_MS};
    const struct sfid__endpoint far = {"far.test", (uint16_t)stranger.port, SFID__PRIVATE};
    snprintf(url, sizeof url, "redis%s+cluster://10.0.0.1%s", tls ? "s" : "", parameters);
    need(sfid__uri_parse(url, &uri, &err) >= 0, "%s: %s", url, err.text);
    sfid__uri_of_node(&uri, &far, &one);
    noted[0] = '\0';
    const enum sfid__reply_class class = sfid__wire_open(&w, &one, &resolver, 0, &deadline, &err);
    is_str(noted, reached, "%s%s", tls ? "with TLS, " : "", what);
    ok(class != SFID__REPLY_OK, "and a server without a certificate gets nothing more");
    sfid__wire_close(&w);
}

static void test_tls(void) {
    check_tls(false, "", "", "another class: not tried");
    if (!SFID__TLS) {
        skip(6, "no TLS in this build");
        return;
    }
    check_tls(true, "", "203.0.113.9", "another class is left to the certificate");
    check_tls(true, "?named_hosts=10.0.0.0/8", "", "a list counts all the same");
    check_tls(true, "?named_hosts=far.test", "203.0.113.9", "for what it has, too");
}

/* ---- among several ---------------------------------------------------------------- */

static void test_sentinels(void) {
    set_named(&namer, false, "203.0.113.9", named.port);
    set_named(&other, false, "10.0.0.2", named.port);
    begin(false, "10.0.0.1", "10.0.0.3", "");
    ok(said(ask_route(), "PONG"), "a sentinel that names a host of another class is passed over");
    is_str(noted, "10.0.0.1 10.0.0.3 10.0.0.2", "for the next one");
    sfid__route_end(&route);

    set_named(&namer, false, "10.0.0.2", stranger.port);
    begin(false, "10.0.0.1", "10.0.0.3", "");
    ok(said(ask_route(), "PONG"), "and so is one that names a server of another kind");
    sfid__route_end(&route);

    set_named(&namer, false, "far.test", named.port);
    set_named(&other, false, "far.test", named.port);
    begin(false, "10.0.0.1", "10.0.0.3", "");
    ok(failed_with(ask_route(), SFID_EAUTH, SFID__REPLY_CONFIG,
                   "no master found: sentinel 10.0.0.1:") &&
           strstr(err.text, "sentinel 10.0.0.3:") && strstr(err.text, "also names far.test:"),
       "if all name it a person has to look");
    ok(strstr(err.text, "add named_hosts=far.test to the URL"), "at a cure with that name");
    sfid__route_end(&route);
    begin(false, "10.0.0.1", "192.0.2.1", "");
    set_named(&other, false, "10.0.0.2", named.port);
    is_i64(ask_route(), SFID_EAUTH,
           "the class is that of the sentinel that says it: neither may name the other's");
    sfid__route_end(&route);
}

static void test_nodes(void) {
    set_named(&namer, true, "203.0.113.9", named.port);
    other.s->send[0] = '\0';
    begin(true, "10.0.0.1", "10.0.0.3", "");
    ok(said(ask_route(), "PONG"), "a node that names a host of another class is passed over");
    is_str(noted, "10.0.0.1 10.0.0.3", "for the next one");
    sfid__route_end(&route);

    set_named(&namer, true, "10.0.0.2", stranger.port);
    begin(true, "10.0.0.1", "10.0.0.3", "");
    ok(said(ask_route(), "PONG"), "and so is one that names a server of another kind");
    sfid__route_end(&route);

    set_named(&namer, true, "203.0.113.9", named.port);
    set_named(&other, true, "203.0.113.9", named.port);
    begin(true, "10.0.0.1", "10.0.0.3", "");
    ok(failed_with(ask_route(), SFID_EAUTH, SFID__REPLY_CONFIG, " names 203.0.113.9:"),
       "if all name it a person has to look");
    is_str(noted, "10.0.0.1 10.0.0.3", "each was asked once");
    other.s->send[0] = '\0';
    ok(said(ask_route(), "PONG"), "the next question does not begin with what was wrong");
    sfid__route_end(&route);

    set_named(&namer, true, "192.0.2.1", other.port);
    begin(true, "10.0.0.1", "192.0.2.1", "named_hosts=10.0.0.0/8");
    ok(said(ask_route(), "PONG"),
       "a node of the URL may be named, whatever its class, and without being listed");
    is_str(noted, "10.0.0.1 192.0.2.1", "and is asked");
    sfid__route_end(&route);
    set_named(&namer, true, "192.0.2.1", named.port);
    begin(true, "10.0.0.1", "192.0.2.1", "named_hosts=10.0.0.0/8");
    ok(said(ask_route(), "PONG") && atomic_load(&named.s->step) == 0,
       "at another port it is another one");
    sfid__route_end(&route);
}

/* A node is checked at each connection, by the class of who named it once. */
static void test_learned(void) {
    const char *near = names[1].address[0];
    set_named(&namer, true, "near.test", named.port);
    begin(true, "10.0.0.1", NULL, "");
    ok(said(ask_route(), "PONG"), "a node that another one named answers");
    names[1].address[0] = "203.0.113.9";
    sfid__route_hang_up(&route);
    ok(failed_with(ask_route(), SFID_EAUTH, SFID__REPLY_CONFIG, "203.0.113.9 is public"),
       "when its name leads elsewhere");
    is_i64(atomic_load(&named.s->step), 0, "it gets no password");
    names[1].address[0] = near;
    ok(said(ask_route(), "PONG"), "when it is back it does");
    sfid__route_end(&route);
}

int main(void) {
    struct peer *const all[] = {&namer, &other, &named, &stranger};
    for (size_t i = 0; i < COUNT(all); i++)
        *all[i] = start_peer(true, all[i] == &stranger ? serve_words_at_once : serve);
    set_words(&stranger, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    test_classes();
    test_lists();
    test_tls();
    test_sentinels();
    test_nodes();
    test_learned();
    for (size_t i = 0; i < COUNT(all); i++)
        stop_peer(all[i]);
    return done_testing();
}
