/* SPDX-License-Identifier: MIT */
/*
 * resolve.c and wire.c - names: looked up within a deadline by a resolver that answers when the
 * test lets it, and every address of a name tried. The program has a getaddrinfo() and a socket()
 * of its own, which the library calls instead of the system's.
 */
#include "support/asker.h"

#include "redis/resolve.h"
#include "redis/wire.h"

#include <netdb.h>
#include <pthread.h>
#include <sys/syscall.h>

/* ---- the system's resolver, as the test wants it -------------------------- */

static _Atomic int calls;      /* with names, not with numbers */
static _Atomic int inside;     /* of these, still at it */
static _Atomic int hold;       /* names wait while it is set */
static _Atomic int name_error; /* what a name yields; 0: the addresses */
static _Atomic int bad_signals;

enum { MOST = 24 };
static struct sockaddr_storage list[MOST];
static unsigned listed;

static struct addrinfo *entry(const void *at, struct addrinfo *next) {
    struct addrinfo *a = calloc(1, sizeof *a + sizeof(struct sockaddr_storage));
    if (a == NULL)
        abort();
    memcpy(a + 1, at, sizeof(struct sockaddr_storage));
    a->ai_addr = (struct sockaddr *)(a + 1);
    a->ai_family = a->ai_addr->sa_family;
    a->ai_addrlen =
        a->ai_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    a->ai_next = next;
    return a;
}

static int numeric(const char *host, const char *port, struct addrinfo **out) {
    struct sockaddr_storage at = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&at;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)atoi(port));
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)atoi(port));
    } else {
        return EAI_NONAME;
    }
    *out = entry(&at, NULL);
    return 0;
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **out) {
    if (hints->ai_flags & AI_NUMERICHOST)
        return numeric(host, port, out);
    atomic_fetch_add(&calls, 1);
    atomic_fetch_add(&inside, 1);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    atomic_fetch_add(&bad_signals,
                     !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGALRM));
    while (atomic_load(&hold))
        poll(NULL, 0, 2);
    const int rc = atomic_load(&name_error);
    *out = NULL;
    for (unsigned i = listed; rc == 0 && i > 0; i--)
        *out = entry(&list[i - 1], *out);
    errno = EIO;
    atomic_fetch_sub(&inside, 1);
    return rc;
}

void freeaddrinfo(struct addrinfo *a) {
    while (a) {
        struct addrinfo *next = a->ai_next;
        free(a);
        a = next;
    }
}

static bool nobody_inside(void *arg) {
    (void)arg;
    return atomic_load(&inside) == 0;
}

static void add_address(const char *host, int port) {
    char text[16];
    struct addrinfo *a;
    snprintf(text, sizeof text, "%d", port);
    need(listed != MOST && numeric(host, text, &a) == 0, "no address: %s", host);
    memcpy(&list[listed++], a->ai_addr, sizeof list[0]);
    freeaddrinfo(a);
}

static bool none_resolving(void *arg) {
    (void)arg;
    return threads_named("sfid-resolve") == 0;
}

/* A thread that asks may not have come so far yet when its caller gives up waiting: deadlines here
 * are short. */
static bool asked(void *arg) {
    return atomic_load(&calls) >= *(const int *)arg && atomic_load(&inside) > 0;
}

static bool is_being_asked(int times) { return tap_wait_until(asked, &times, LONG_MS); }

static void reset(void) {
    need(tap_wait_until(nobody_inside, NULL, LONG_MS), "a question that does not end");
    listed = 0;
    atomic_store(&calls, 0);
    atomic_store(&name_error, 0);
}

/* ---- the resolver --------------------------------------------------------- */

static struct sfid__addresses found;

static enum sfid__reply_class resolve(struct sfid__resolver *r, const char *host,
                                      int64_t within_ms) {
    const int64_t began = tap_now_ms();
    struct sfid__deadline deadline = {.at_ms = began + within_ms};
    err = (struct sfid__error){.code = 0};
    const enum sfid__reply_class class = sfid__resolve(r, host, 7000, &deadline, &found, &err);
    last_took = took_since(began);
    return class;
}

static void test_numbers(void) {
    struct sfid__resolver r = {NULL};
    reset();
    ok(resolve(&r, "127.0.0.1", 0) == SFID__REPLY_OK && found.count == 1 &&
           found.list[0].at.ss_family == AF_INET &&
           ((struct sockaddr_in *)&found.list[0].at)->sin_port == htons(7000),
       "an IPv4 address is read");
    ok(resolve(&r, "::1", 0) == SFID__REPLY_OK && found.count == 1 &&
           found.list[0].at.ss_family == AF_INET6,
       "and an IPv6 address");
    is_i64(atomic_load(&calls), 0, "without asking anybody");
}

static void test_names(void) {
    struct sfid__resolver r = {NULL};
    reset();
    for (int i = 0; i < MOST; i++)
        add_address("127.0.0.1", 7000 + i);
    ok(resolve(&r, "cache.test", LONG_MS) == SFID__REPLY_OK && found.count == SFID__ADDRESSES &&
           ((struct sockaddr_in *)&found.list[SFID__ADDRESSES - 1].at)->sin_port ==
               htons(7000 + SFID__ADDRESSES - 1),
       "a name has addresses, in their order, up to a bound");
    is_i64(atomic_load(&bad_signals), 0, "no signal can reach the thread that asks");
    atomic_store(&name_error, EAI_NONAME);
    ok(resolve(&r, "cache.test", LONG_MS) == SFID__REPLY_RESOLVE &&
           strstr(err.text, "cannot look up cache.test: ") && err.code == SFID_EREDIS,
       "a name that is unknown is told");
    atomic_store(&name_error, EAI_AGAIN);
    ok(resolve(&r, "cache.test", LONG_MS) == SFID__REPLY_RETRY,
       "an error that passes is another thing");
    atomic_store(&name_error, EAI_SYSTEM);
    ok(resolve(&r, "cache.test", LONG_MS) == SFID__REPLY_RETRY &&
           strstr(err.text, "cache.test: Input/output error"),
       "and so is one of the system");
    reset();
    ok(resolve(&r, "cache.test", LONG_MS) == SFID__REPLY_RESOLVE && strstr(err.text, "no address"),
       "a name without an address is told");
    ok(tap_wait_until(none_resolving, NULL, LONG_MS), "no thread is left");
}

static void test_slow_names(void) {
    struct sfid__resolver r = {NULL};
    reset();
    add_address("127.0.0.1", 7000);
    atomic_store(&hold, 1);
    int bad = 0;
    for (int i = 0; i < 20; i++) {
        bad += resolve(&r, "slow.test", 20) != SFID__REPLY_RETRY ||
               !strstr(err.text, "has not answered yet");
        ends_after(20, "a resolver that does not answer");
    }
    is_i64(bad, 0, "which is told, 20 times");
    ok(is_being_asked(1) && atomic_load(&calls) == 1, "it was asked once");
    is_i64(threads_named("sfid-resolve"), 1, "by one thread");
    atomic_store(&hold, 0);
    ok(resolve(&r, "slow.test", LONG_MS) == SFID__REPLY_OK && found.count == 1,
       "its answer is of use to the next call");
    is_i64(atomic_load(&calls), 1, "which did not ask again");
    ok(resolve(&r, "slow.test", LONG_MS) == SFID__REPLY_OK, "the one after that does");
    is_i64(atomic_load(&calls), 2, "for itself");

    /* the threads of those two are on their way out */
    if (!tap_wait_until(none_resolving, NULL, LONG_MS))
        bail("a thread that does not end");
    atomic_store(&hold, 1);
    ok(resolve(&r, "slow.test", 20) == SFID__REPLY_RETRY && is_being_asked(3),
       "a question is open");
    sfid__resolver_drop(&r);
    ok(r.open == NULL && threads_named("sfid-resolve") == 1, "who asked may go");
    atomic_store(&hold, 0);
    ok(tap_wait_until(none_resolving, NULL, LONG_MS), "and the thread ends by itself");
}

static struct sfid__resolver shared;

static int ask_in_child(void *arg) {
    (void)arg;
    atomic_store(&hold, 0);
    sfid__resolver_forget(&shared);
    const bool good = resolve(&shared, "slow.test", LONG_MS) == SFID__REPLY_OK && found.count == 1;
    /* Valgrind takes the memory of a thread that is on its way out for lost. */
    return good && atomic_load(&calls) == 2 && tap_wait_until(none_resolving, NULL, LONG_MS) ? 0
                                                                                             : 1;
}

static void test_fork(void) {
    reset();
    add_address("127.0.0.1", 7000);
    atomic_store(&hold, 1);
    ok(resolve(&shared, "slow.test", 20) == SFID__REPLY_RETRY && is_being_asked(1),
       "a question is open");
    is_i64(status_of(spawn(ask_in_child, NULL)), 0, "a forked child asks its own");
    atomic_store(&hold, 0);
    ok(resolve(&shared, "slow.test", LONG_MS) == SFID__REPLY_OK && found.count == 1,
       "the parent gets its answer");
}

enum { DROPS = 300 };

/* Until then there may be threads that have not got so far as to have their name. */
static bool all_asked(void *arg) {
    (void)arg;
    return atomic_load(&calls) == DROPS && atomic_load(&inside) == 0;
}

/* Dropped while the thread is at it, at every moment: nothing is freed twice or used after. */
static void test_drop_race(void) {
    reset();
    add_address("127.0.0.1", 7000);
    for (int i = 0; i < DROPS; i++) {
        struct sfid__resolver r = {NULL};
        resolve(&r, "fast.test", i % 2);
        sfid__resolver_drop(&r);
    }
    ok(tap_wait_until(all_asked, NULL, LONG_MS) && tap_wait_until(none_resolving, NULL, LONG_MS),
       "300 questions dropped while they are answered leave no thread");
}

/* ---- every address -------------------------------------------------------- */

static int closed_port(void) {
    struct peer p = {.listener = -1};
    close(listen_tcp(&p, 1));
    return p.port;
}

/* A port whose queue is full: connecting there takes forever. */
static int full_port(int fds[], int *n) {
    struct peer p = {.listener = -1};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    fds[(*n)++] = listen_tcp(&p, 0);
    at.sin_port = htons((uint16_t)p.port);
    for (int i = 0; i < 8; i++) {
        const int fd = fds[(*n)++] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        struct pollfd polled = {.fd = fd, .events = POLLOUT};
        if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0 && poll(&polled, 1, 200) == 0)
            return p.port;
    }
    bail("a backlog that does not fill");
}

/* The third of three ports has a server, the others are silent. */
static void test_silent(int full, int good) {
    reset();
    add_address("127.0.0.1", full);
    add_address("127.0.0.1", full);
    add_address("127.0.0.1", good);
    struct sfid__connection *c = new_connection("redis://cache.test?connect_timeout=10s");
    ok(said(ping(c, LONG_MS), "PONG"), "two that are silent: the third has its turn");
    ends_after(500, "the third address");
    sfid__connection_drop(c);
    const int open_before = entries("/proc/self/fd");
    /* It would come too late at half a second, each time. At 200 ms it may, on a busy machine:
     * another try then. */
    c = new_connection("redis://cache.test?connect_timeout=300");
    for (int tries = 1; tries < 20 && ping(c, LONG_MS) < 0; tries++) {
        sfid__connection_drop(c);
        c = new_connection("redis://cache.test?connect_timeout=300");
    }
    ok(said(ping(c, LONG_MS), "PONG"), "or sooner, where time is short");
    is_i64(entries("/proc/self/fd"), open_before + 1, "the two that lost are closed");
    sfid__connection_drop(c);
    is_i64(entries("/proc/self/fd"), open_before, "and with the connection the third");
}

static void test_none(int full, int closed) {
    reset();
    add_address("127.0.0.1", full);
    add_address("127.0.0.1", closed);
    struct sfid__connection *c = new_connection("redis://cache.test?connect_timeout=300");
    const int fds_before = entries("/proc/self/fd");
    bool told = false;
    /* a thread that is preempted may not come to the second address */
    for (int tries = 0; tries < 20 && !told; tries++)
        told = failed_with(ping(c, LONG_MS), SFID_EREDIS, SFID__REPLY_RETRY,
                           "some addresses fail, others do not answer");
    ok(told, "where none answers, both are told");
    ends_after(300, "where none answers");
    is_i64(entries("/proc/self/fd"), fds_before, "without a descriptor left");
    sfid__connection_drop(c);

    reset();
    add_address("127.0.0.1", closed);
    add_address("::1", closed);
    c = new_connection("redis://cache.test");
    const int rc = ping(c, LONG_MS);
    ok(rc == SFID_EREDIS && reply.class == SFID__REPLY_RESOLVE, "where all refuse, that is told");
    ends_at_once("where all refuse");
    sfid__connection_drop(c);
}

static void test_addresses(void) {
    int fds[64], n = 0;
    struct peer good = start_peer(true, serve_words), dead = start_peer(true, serve_nothing);
    set_words(&good, "+PONG\r\n", 7);
    struct peer none = {.listener = -1};
    fds[n++] = bind_tcp(&none);
    const int closed = none.port, full = full_port(fds, &n);

    reset();
    for (int i = 0; i < 15; i++)
        add_address("127.0.0.1", closed);
    add_address("127.0.0.1", good.port);
    struct sfid__connection *c = new_connection("redis://cache.test");
    ok(said(ping(c, LONG_MS), "PONG"), "15 addresses that refuse: the 16th is found");
    ends_at_once("the 16th address");
    sfid__connection_drop(c);

    test_silent(full, good.port);
    test_none(full, closed);

    reset();
    add_address("127.0.0.1", dead.port);
    add_address("127.0.0.1", good.port);
    c = new_connection("redis://cache.test");
    ok(ping(c, 700) == SFID_EREDIS,
       "an address where somebody accepts and is silent takes an exchange");
    ok(said(ping(c, LONG_MS), "PONG"), "and the next begins with another");
    sfid__connection_drop(c);
    while (n > 0)
        close(fds[--n]);
    stop_peer(&good);
    stop_peer(&dead);
}

/* What the system does now and then by itself: the port that is connected to is handed to the
 * socket that connects. */
static const struct sockaddr_storage *from_there;
static int bound; /* how often that was so */

int socket(int family, int type, int protocol) {
    const int fd = (int)syscall(SYS_socket, family, type, protocol);
    const socklen_t len =
        family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (fd >= 0 && from_there && from_there->ss_family == family)
        bound += bind(fd, (const struct sockaddr *)from_there, len) == 0;
    return fd;
}

static bool has_ipv6(void) {
    const struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

/* Connecting from a port to itself succeeds where nobody listens there. */
static void test_meets_itself(const char *host) {
    struct sfid__connection *c = new_connection("redis://cache.test");
    const int fds = entries("/proc/self/fd");
    int rc = 0;
    bound = 0;
    for (int tries = 0; tries < 20 && bound == 0; tries++) { /* another process may have the port */
        reset();
        add_address(host, closed_port());
        from_there = &list[0];
        rc = ping(c, LONG_MS);
        from_there = NULL;
    }
    need(bound > 0, "no port to connect from");
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RESOLVE, "Connection refused"),
       "%s: a connection that meets itself is refused, as nobody listens there", host);
    is_i64(entries("/proc/self/fd"), fds, "%s: and leaves no descriptor", host);
    sfid__connection_drop(c);
}

static void test_connection_drop(void) {
    reset();
    add_address("127.0.0.1", 7000);
    atomic_store(&hold, 1);
    struct sfid__connection *c = new_connection("redis://slow.test?connect_timeout=100");
    const int rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "connecting: cannot look up slow.test"),
       "a name takes no longer than connecting may");
    ends_after(100, "a name that is not found");
    sfid__connection_drop(c);
    atomic_store(&hold, 0);
    ok(tap_wait_until(none_resolving, NULL, LONG_MS),
       "a connection dropped meanwhile leaves nothing");
}

int main(void) {
    witness_begin();
    test_numbers();
    test_names();
    test_slow_names();
    test_fork();
    test_drop_race();
    test_addresses();
    test_meets_itself("127.0.0.1");
    if (has_ipv6())
        test_meets_itself("::1");
    else
        skip(2, "no IPv6 here");
    test_connection_drop();
    return done_testing();
}
