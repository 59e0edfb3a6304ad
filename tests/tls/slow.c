/* SPDX-License-Identifier: MIT */
/*
 * Handshakes that do not end: a server that is silent, one that is stopped, one whose bytes come
 * drop by drop, one that goes away in the middle. Each call is back at its deadline, and says what
 * it waited for.
 */
#include "support/tls.h"

#include "support/peer.h"

#include <poll.h>

static int server_port; /* for a relay, in its process */

static const char *url_of(const struct peer *p, char url[URL]) {
    snprintf(url, URL, "rediss://127.0.0.1:%d?ca=%s/ca.pem", p->port, certificates);
    return url;
}

/* ---- fakes -------------------------------------------------------------------- */

static int connect_to_server(void) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)server_port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        _exit(1);
    return fd;
}

/* Hands over what comes from one to the other, at most so many bytes. False at its end. */
static bool hand_over(int from, int to, size_t most) {
    char bytes[4096];
    const ssize_t n = read(from, bytes, most < sizeof bytes ? most : sizeof bytes);
    return n > 0 && say(to, bytes, (size_t)n);
}

/* Between the client and the real server. One byte of the server's at a time, with so many
 * microseconds before each. */
static void relay(int fd, size_t most, long pause_us, size_t limit) {
    const int server = connect_to_server();
    struct pollfd both[2] = {{.fd = fd, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    for (size_t passed = 0; passed < limit && poll(both, 2, -1) > 0;) {
        if (both[0].revents && !hand_over(fd, server, SIZE_MAX))
            return;
        if (both[1].revents) {
            nap_us(pause_us);
            if (!hand_over(server, fd, most))
                return;
            passed += most;
        }
    }
}

static void drip(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    relay(fd, 1, 30000, SIZE_MAX);
}

static void run_dry(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    relay(fd, 1, 0, 100);
    wait_for_end(fd);
}

static void go_away(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    relay(fd, 1, 0, 100);
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now); /* a reset */
}

static void pieces(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    relay(fd, 7, 0, SIZE_MAX);
}

/* ---- tests ---------------------------------------------------------------------- */

static void slow(serve_function *serve, const char *words, const char *what) {
    struct peer p = start_peer(true, serve);
    char url[URL], name[32];
    snprintf(name, sizeof name, "127.0.0.1:%d", p.port);
    fails_with(url_of(&p, url), "orders", SFID_EREDIS, name, words, what);
    stop_peer(&p);
}

static void test_all(struct tls_server *s) {
    char url[URL], text[600];
    server_port = s->port;
    slow(serve_nothing, "no answer to the TLS handshake in time", "a server that is silent");
    slow(drip, "no answer to the TLS handshake in time", "one whose bytes come one by one");
    slow(run_dry, "no answer to the TLS handshake in time", "one that stops in the middle");
    slow(go_away, "the connection failed: Connection reset by peer",
         "one that goes away in the middle");
    redis_pause(&s->r);
    fails_with(tls_url(s, "", url), "orders", SFID_EREDIS, s->name,
               "no answer to the TLS handshake in time", "one that is stopped");
    redis_resume(&s->r);
    struct peer p = start_peer(true, pieces);
    int64_t pid;
    if (!ok(tls_open(url_of(&p, url), "pieces", &pid, text) == 0,
            "everything in pieces of a few bytes: a lease is had"))
        diag("%s", text);
    stop_peer(&p);
}

int main(void) {
    tls_first(test_all);
    diag("the slowest open took %" PRId64 " ms of %d", worst_open_ms, OPEN_MS);
    return done_testing();
}
