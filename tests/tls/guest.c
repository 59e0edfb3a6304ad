/* SPDX-License-Identifier: MIT */
/*
 * A guest beside a host that uses OpenSSL itself: its queue of errors and its signals stay as they
 * are, no descriptor passes an exec, memory is as before after a thousand handshakes that failed,
 * exit() in the middle of a handshake ends the process as it should, and a child forked in the
 * middle of one can shake hands, too.
 */
#include "redis/connection.h"
#include "redis/wire.h"
#include "support/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

/* ---- what is the host's ------------------------------------------------------------ */

static void make_errors(void) {
    ERR_clear_error();
    ERR_new();
    ERR_set_debug("host.c", 17, "of_the_host");
    ERR_set_error(ERR_LIB_USER, 42, "with data %d", 7);
    ERR_raise(ERR_LIB_SYS, ENOENT);
}

static bool errors_are_there(void) {
    const char *file, *function, *data;
    int line, flags;
    const unsigned long first = ERR_get_error_all(&file, &line, &function, &data, &flags);
    const bool good = ERR_GET_LIB(first) == ERR_LIB_USER && ERR_GET_REASON(first) == 42 &&
                      strcmp(file, "host.c") == 0 && line == 17 &&
                      strcmp(function, "of_the_host") == 0 && (flags & ERR_TXT_STRING) &&
                      strcmp(data, "with data 7") == 0;
    const unsigned long second = ERR_get_error();
    return good && ERR_GET_LIB(second) == ERR_LIB_SYS && ERR_GET_REASON(second) == ENOENT &&
           ERR_get_error() == 0;
}

static void test_errors(const char *good, const char *bad) {
    struct sfid__error err;
    make_errors();
    ok(tls_ping(good, &err) == 0 && errors_are_there(),
       "a good connection: the host's OpenSSL errors are as they were, and mislead nobody");
    make_errors();
    ok(tls_ping(bad, &err) == SFID_EAUTH && errors_are_there(), "one that fails: they are, too");
    is_i64(tls_ping(bad, &err), SFID_EAUTH, "without errors of the host");
    is_u64(ERR_peek_error(), 0, "none is left behind");
}

static bool pipe_is_pending(void) {
    sigset_t pending;
    sigemptyset(&pending);
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

static bool has_hung_up(void *wire) {
    struct pollfd polled = {.fd = ((struct sfid__wire *)wire)->fd, .events = POLLRDHUP};
    return poll(&polled, 1, 0) == 1;
}

/* Sends to a server that has hung up, until the kernel has no more patience: then it raises
 * SIGPIPE. */
static bool write_to_nobody(struct tls_server *s, const struct sfid__uri *uri) {
    struct sfid__deadline deadline = {.at_ms = tap_now_ms() + TAP_WAIT_MS};
    struct sfid__wire w = SFID__WIRE_NONE;
    struct sfid__resolver resolver = {0};
    struct sfid__error why = {0};
    must(sfid__wire_open(&w, uri, &resolver, 0, &deadline, &why) == SFID__REPLY_OK, "%s", why.text);
    cut_clients(&s->r);
    if (!tap_wait_until(has_hung_up, &w, TAP_WAIT_MS))
        return false;
    while (sfid__wire_send(&w, "PING\r\n", 6, &deadline, &why) == SFID__REPLY_OK)
        nap_us(1000);
    sfid__wire_close(&w);
    sfid__resolver_drop(&resolver);
    return strstr(why.text, "Broken pipe") != NULL;
}

static int stand_it(void *arg) {
    struct tls_server *s = arg;
    char url[URL];
    struct sfid__uri uri;
    struct sfid__error err;
    sigset_t pipe, now;
    signal(SIGPIPE, SIG_DFL);
    if (sfid__uri_parse(tls_url(s, "", url), &uri, &err) < 0 || !write_to_nobody(s, &uri))
        return 1;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    raise(SIGPIPE);
    if (!write_to_nobody(s, &uri) || !pipe_is_pending())
        return 2; /* the host's own was taken */
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGPIPE) == 1 && sigismember(&now, SIGTERM) == 0 ? 0 : 3;
}

static void count_pipe(int sig) { (void)sig; }

static void test_signals(struct tls_server *s) {
    struct sigaction mine = {.sa_handler = count_pipe}, now;
    sigaction(SIGPIPE, &mine, NULL);
    is_i64(child_wait(child_start(stand_it, s), 2 * TAP_WAIT_MS), 0,
           "no SIGPIPE, and one of the host's stays pending");
    sigaction(SIGPIPE, NULL, &now);
    ok(now.sa_handler == count_pipe, "its handler stays");
    signal(SIGPIPE, SIG_DFL);
}

/* ---- descriptors ---------------------------------------------------------- */

static unsigned descriptors_over_exec(void) {
    unsigned n = 0;
    for (int fd = 3; fd < 200; fd++) {
        const int flags = fcntl(fd, F_GETFD);
        n += flags >= 0 && (flags & FD_CLOEXEC) == 0;
    }
    return n;
}

static void test_descriptors(const char *good) {
    struct sfid__error err;
    const unsigned before = descriptors_over_exec();
    const int open_before = count_fds();
    struct sfid__connection *c = tls_connection(good);
    is_i64(tls_ask(c, &err), 0, "connected");
    is_u64(descriptors_over_exec(), before, "no descriptor passes an exec");
    is_i64(count_fds(), open_before + 1, "there is one more");
    sfid__connection_drop(c);
    is_i64(count_fds(), open_before, "and none when it is closed");
}

/* ---- exit and fork -------------------------------------------------------------------- */

struct shaking {
    const char *url;
    _Atomic int rounds, stop;
};

static void *shake(void *arg) {
    struct shaking *s = arg;
    struct sfid__error err;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (!atomic_load(&s->stop)) {
        tls_ping(s->url, &err);
        atomic_fetch_add(&s->rounds, 1);
    }
    return NULL;
}

static struct sfid__connection *kept;

/* Registered before everything, it runs after everything. */
static void close_late(void) {
    struct sfid__error err;
    _exit(tls_ask(kept, &err) == 0 ? 0 : 44);
}

struct exiting {
    const char *url;
    bool host_first; /* the host has begun OpenSSL, as it likes */
    long after_us;
};

/* The last that exit() does: OpenSSL has cleared up, and the other thread is still there. */
static void linger(void) { nap_us(50000); }

/* exit() while another thread shakes hands. */
static int exit_in_between(void *arg) {
    const struct exiting *e = arg;
    static struct shaking s;
    pthread_t thread;
    s.url = e->url;
    atexit(linger);
    if (e->host_first) {
        OPENSSL_init_ssl(0, NULL);
        SSL_CTX_free(SSL_CTX_new(TLS_method()));
    }
    pthread_create(&thread, NULL, shake, &s);
    if (!flag_wait(&s.rounds, 1, TAP_WAIT_MS))
        return 1;
    nap_us(e->after_us);
    exit(0);
}

/* A host that closes when exit() is all but done can still talk to the server, where it has left
 * OpenSSL to us. */
static int close_at_exit(void *arg) {
    struct sfid__error err;
    atexit(close_late);
    kept = tls_connection(arg);
    if (tls_ask(kept, &err) < 0)
        return 1;
    exit(45);
}

/* The program itself has used OpenSSL by now: each runs as a program of its own. */
static int run_self(const char *what, const char *url, const char *more) {
    return child_wait(self_start(what, url, more, NULL, NULL), TAP_WAIT_MS);
}

static void test_exit(const char *url) {
    const unsigned rounds = (unsigned)sized(20, 1000, 10);
    uint64_t rng = seed();
    int bad = 0;
    char more[24];
    for (unsigned i = 0; i < rounds && bad == 0; i++) {
        snprintf(more, sizeof more, "%" PRIu64, draw_random(&rng) % 4000);
        bad = run_self(i % 2 ? "exit-host" : "exit", url, more);
    }
    is_i64(bad, 0, "%u times exit() in the middle of handshakes", rounds);
    is_i64(run_self("late", url, NULL), 0,
           "the server is asked from a function registered with atexit()");
}

static int shake_in_child(void *url) {
    struct sfid__error err;
    if (tls_ping(url, &err) == 0)
        return 0;
    fprintf(stderr, "# %s\n", err.text);
    return 1;
}

static void test_fork(const char *url) {
    struct shaking s = {.url = url};
    pthread_t threads[2];
    const unsigned rounds = (unsigned)sized(60, 3000, 20);
    int bad = 0;
    if (SANITIZED) { /* its allocator stays locked in a child when another thread was inside */
        skip(1, "a sanitizer's allocator does not survive a fork amid threads");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_create(&threads[i], NULL, shake, &s);
    for (unsigned i = 0; i < rounds && bad == 0; i++)
        bad = child_wait(child_start(shake_in_child, (void *)(uintptr_t)url), TAP_WAIT_MS);
    atomic_store(&s.stop, 1);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    is_i64(bad, 0, "%u children forked in the middle of handshakes shake hands", rounds);
}

/* By its address: to look a name up takes a thread, whose memory would be counted. */
static const char *by_address(const struct tls_server *s, const char *more, char url[URL]) {
    char whole[URL];
    tls_url(s, more, whole);
    snprintf(url, URL, "rediss://127.0.0.1%s", strchr(whole + strlen("rediss://"), ':'));
    return url;
}

static void test_all(struct tls_server *s) {
    char good[URL], bad[URL], no_file[URL], urls[4 * URL + 8];
    by_address(s, "", good);
    by_address(s, "&sni=other", bad);
    by_address(s, "&cert=%c/nonsense.pem&key=%c/nonsense.pem", no_file);
    test_errors(good, bad);
    test_signals(s);
    test_descriptors(good);
    snprintf(urls, sizeof urls, "-%s +%s -%s -%s", bad, good, no_file, bad);
    tls_memory(urls);
    test_exit(good);
    test_fork(good);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "late") == 0)
        return close_at_exit(argv[2]);
    if (argc > 2 && strcmp(argv[1], "memory") == 0)
        return tls_count_memory(argv[2]);
    if (argc > 3)
        return exit_in_between(
            &(struct exiting){argv[2], strcmp(argv[1], "exit-host") == 0, atol(argv[3])});
    tls_first(test_all);
    return done_testing();
}
