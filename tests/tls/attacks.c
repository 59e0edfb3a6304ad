/* SPDX-License-Identifier: MIT */
/*
 * Servers that lie: about who they are, about which TLS they have, about where a reply ends. Each
 * open is back in time with a sentence that names the server and the reason, and leaves no
 * descriptor, no thread and no memory. tests/tls/refusals has what a real server can be told to do
 * wrong, tests/tls/slow the handshakes that do not end.
 */
#include "redis/connection.h"
#include "redis/wire.h"
#include "support/tls.h"
#include "support/tls_peer.h"

#include <poll.h>
#include <sys/ioctl.h>

#define PONG "+PONG\r\n"

static void url_at(const struct peer *p, const char *ca, const char *more, char url[URL]) {
    snprintf(url, URL, "rediss://127.0.0.1:%d?connect_timeout=60s&ca=%s/%s.pem%s", p->port,
             certificates, ca ? ca : "ca", more ? more : "");
}

/* ---- names -------------------------------------------------------------------- */

static void test_names(void) {
    static const struct {
        const char *name;
        bool good;
    } names[] = {
        {"a.wild.example", true},
        {"A.WILD.example", true},
        {"a.b.wild.example", false},
        {"wild.example", false},
        {".wild.example", false},
        {"*.wild.example", false},
        {"a.example", false},
        {"part.part.example", false},
        {"a.b.deep.example", false},
        {"localhost", false},
        {"server", false},
        {"127.0.0.1", false},
        {"a.wild.example.evil", false},
        {"%25", false},
        {"a.wild.example%00", false},
    };
    char url[URL], more[80];
    tls_face((struct tls_face){.certificate = "stars"});
    struct peer p = start_peer(true, serve_behind_tls);
    set_words(&p, PONG, strlen(PONG));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct sfid__error err = {.text = ""};
        struct sfid__uri uri;
        snprintf(more, sizeof more, "&sni=%s", names[i].name);
        url_at(&p, NULL, more, url);
        const int rc = sfid__uri_parse(url, &uri, &err) < 0 ? err.code : tls_ping(url, &err);
        if (!ok((rc == 0) == names[i].good && (rc == 0 || rc == SFID_EAUTH || rc == SFID_EINVAL),
                "%s is %s", names[i].name,
                names[i].good ? "one of its names" : "none of its names"))
            diag("%d: %s", rc, err.text);
    }
    stop_peer(&p);
}

/* ---- what is refused ---------------------------------------------------------- */

struct attack {
    const char *what;
    struct tls_face face;
    const char *ca; /* NULL: ca */
    int code;
    const char *words;
};

#define UNTRUSTED(by) "the server's certificate is signed by \"" by "\", which"

static const struct attack attacks[] = {
    {"another address", .face = {.certificate = "far"}, .code = SFID_EAUTH,
     .words = "is for 127.0.0.9, not for 127.0.0.1; give one of its names"},
    {"the address as a name", .face = {.certificate = "as-name"}, .code = SFID_EAUTH,
     .words = "(an address counts as IP: alone, not as DNS:)"},
    {"the address as common name", .face = {.certificate = "common-address"}, .code = SFID_EAUTH,
     .words =
         "has only a common name (127.0.0.1), which is not accepted; it needs subjectAltName=IP:127.0.0.1"},
    {"signed by itself", .face = {.certificate = "self"}, .code = SFID_EAUTH,
     .words = UNTRUSTED("self")},
    {"an authority of the same name", .face = {.certificate = "twin"}, .code = SFID_EAUTH,
     .words = UNTRUSTED("sfid test authority")},
    {"signed by a server", .face = {.certificate = "below-chain"}, .code = SFID_EAUTH,
     .words = "cannot be trusted: invalid CA certificate"},
    {"signed by a server that is trusted", .face = {.certificate = "below"}, .ca = "no-authority",
     .code = SFID_EAUTH, .words = "cannot be trusted: invalid CA certificate"},
    {"a key of 512 bits",
     .face = {.certificate = "short-key", .most = TLS1_2_VERSION, .ciphers = "kRSA:@SECLEVEL=0"},
     .code = SFID_EAUTH,
     .words = "the server's certificate cannot be trusted: EE certificate key too weak"},
    {"more certificates than fit", .face = {.certificate = "server", .padding = 400},
     .code = SFID_EAUTH, .words = "more certificates than fit in 100 KB"},
    {"a chain of 120", .face = {.certificate = "deep"}, .code = SFID_EAUTH,
     .words = "cannot be trusted: certificate chain too long"},
    {"revoked", .face = {.certificate = "revoked"}, .ca = "revoking", .code = SFID_EAUTH,
     .words = "was revoked by \"sfid test authority\"; the server needs another"},
    {"a list that is too old", .face = {.certificate = "server"}, .ca = "revoking-old",
     .code = SFID_EAUTH, .words = "the revocation list of \"sfid test authority\" in "},
    {"no list of its authority", .face = {.certificate = "server"}, .ca = "revoking-other",
     .code = SFID_EAUTH, .words = "but none of \"sfid test authority\"; add it there"},
    {"no list of the authority in between", .face = {.certificate = "chain"}, .ca = "revoking",
     .code = SFID_EAUTH, .words = "but none of \"authority in between\""},
    {"an authority in between that was revoked", .face = {.certificate = "under-chain"},
     .ca = "revoking-all", .code = SFID_EAUTH,
     .words =
         "an authority's certificate in the server's chain was revoked by \"sfid test authority\""},
    {"a list that is damaged", .face = {.certificate = "server"}, .ca = "revoking-damaged",
     .code = SFID_EINVAL, .words = "or something damaged beside it"},
    {"TLS 1.1", .face = {.certificate = "server", .most = TLS1_1_VERSION}, .code = SFID_EREDIS,
     .words = "neither TLS 1.2 nor 1.3"},
    {"TLS 1.0", .face = {.certificate = "server", .most = TLS1_VERSION}, .code = SFID_EREDIS,
     .words = "neither TLS 1.2 nor 1.3"},
    {"no encryption",
     .face = {.certificate = "server", .most = TLS1_2_VERSION, .ciphers = "eNULL:@SECLEVEL=0"},
     .code = SFID_EREDIS, .words = "have no cipher or curve in common"},
    {"no certificate", .face = {.most = TLS1_2_VERSION, .ciphers = "aNULL:@SECLEVEL=0"},
     .code = SFID_EREDIS, .words = "have no cipher or curve in common"},
};

static struct peer attack_start(const struct attack *a, char url[URL]) {
    tls_face(a->face);
    struct peer p = start_peer(true, serve_behind_tls);
    set_words(&p, PONG, strlen(PONG));
    url_at(&p, a->ca, NULL, url);
    return p;
}

static void test_refusals(void) {
    struct peer peers[COUNT_OF(attacks)];
    static char urls[COUNT_OF(attacks) * (URL + 2)];
    int threads = threads_before();
    for (size_t i = 0; i < COUNT_OF(attacks); i++) {
        char url[URL], name[32];
        peers[i] = attack_start(&attacks[i], url);
        snprintf(name, sizeof name, "127.0.0.1:%d", peers[i].port);
        fails_with(url, "orders", attacks[i].code, name, attacks[i].words, attacks[i].what);
        snprintf(urls + strlen(urls), sizeof urls - strlen(urls), "-%s ", url);
    }
    ok(tap_wait_until(threads_are, &threads, TAP_WAIT_MS), "no thread is left");
    tls_memory(urls);
    for (size_t i = 0; i < COUNT_OF(attacks); i++)
        stop_peer(&peers[i]);
}

/* What is not refused: otherwise the above would say nothing. */
static void test_accepted(void) {
    static const struct attack good[] = {
        {"a list that does not name it", .face = {.certificate = "server"}, .ca = "revoking"},
        {"a revoked one, without the list", .face = {.certificate = "revoked"}},
        {"signed by itself, and trusted", .face = {.certificate = "self"}, .ca = "self"},
        {"an authority in between, with a list of its own", .face = {.certificate = "chain"},
         .ca = "revoking-all"},
        {"a chain of 20", .face = {.certificate = "long"}},
        {"certificates that are of no use", .face = {.certificate = "server", .padding = 20}},
        {"a wish for a client certificate", .face = {.certificate = "server", .asks = true}},
        {"the same by TLS 1.2",
         .face = {.certificate = "server", .most = TLS1_2_VERSION, .asks = true}},
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char url[URL];
        struct sfid__error err = {.text = ""};
        struct peer p = attack_start(&good[i], url);
        if (!ok(tls_ping(url, &err) == 0, "%s: accepted", good[i].what))
            diag("%s", err.text);
        stop_peer(&p);
    }
}

/* ---- settings of the system ----------------------------------------------------- */

/* In a program of its own: OpenSSL reads its settings once. */
static int strict(const char *url) {
    struct sfid__error err = {.text = ""};
    const int rc = tls_ping(url, &err);
    if (rc == SFID_EREDIS && strstr(err.text, "this system's OpenSSL settings want the newer one"))
        return 0;
    fprintf(stderr, "# %d: %s\n", rc, err.text);
    return 1;
}

static void test_settings(void) {
    char path[140], url[URL];
    snprintf(path, sizeof path, "%s/strict", certificates);
    FILE *f = fopen(path, "w");
    need(
        f &&
            fputs(
                "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = own\n[own]\nMinProtocol = TLSv1.3\n",
                f) >= 0 &&
            fclose(f) == 0,
        "%s: %s", path, strerror(errno));
    struct peer p = attack_start(
        &(struct attack){.face = {.certificate = "server", .most = TLS1_2_VERSION}}, url);
    setenv("OPENSSL_CONF", path, 1);
    is_i64(child_wait(self_start("strict", url, NULL, NULL, NULL), TAP_WAIT_MS), 0,
           "a system that wants TLS 1.3 gets nothing less");
    unsetenv("OPENSSL_CONF");
    stop_peer(&p);
}

/* ---- no TLS, broken TLS ----------------------------------------------------------- */

/* Behind the handshake it sends bytes that no TLS has made, and waits. */
static void serve_raw(int fd, struct resp *in, struct peer_shared *s) {
    char bytes[256];
    (void)in;
    SSL *ssl = tls_accept(fd);
    if (SSL_read(ssl, bytes, sizeof bytes) > 0)
        serve_words_at_once(fd, NULL, s);
}

static void serve_raw_end(int fd, struct resp *in, struct peer_shared *s) {
    char bytes[256];
    (void)in;
    SSL *ssl = tls_accept(fd);
    if (SSL_read(ssl, bytes, sizeof bytes) > 0)
        say(fd, s->send, s->send_len);
}

#define HELLO_OF(version) \
    "\x16\x03" version "\0\x2a\x02\0\0\x26\x03" version "32 bytes that are all but random" \
    "\0\xc0\x14\0"
#define ALERT(kind) "\x15\x03\x03\0\x02\x02" kind
#define BYTES(text) text, sizeof text - 1

static void test_bytes(void) {
    static const struct {
        const char *what;
        serve_function *serve;
        const char *bytes;
        size_t n;
        int code;
        const char *words;
    } answers[] = {
        {"HTTP", serve_words_at_once, BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), SFID_EREDIS,
         "does not speak TLS at this port"},
        {"SSH", serve_words_at_once, BYTES("SSH-2.0-OpenSSH_9.2\r\n"), SFID_EREDIS,
         "does not speak TLS at this port"},
        {"Redis", serve_words_at_once, BYTES("-ERR unknown command\r\n"), SFID_EREDIS,
         "does not speak TLS at this port"},
        {"noise", serve_words_at_once, BYTES("\x9c\x31\xfe\x07\x55\xaa\0\0\x13\x37\xee"),
         SFID_EREDIS, "does not speak TLS"},
        {"a hello of TLS 1.1", serve_words_at_once, BYTES(HELLO_OF("\x02")), SFID_EREDIS,
         "neither TLS 1.2 nor 1.3"},
        {"a hello of SSL 3", serve_words_at_once, BYTES(HELLO_OF("\0")), SFID_EREDIS,
         "neither TLS 1.2 nor 1.3"},
        {"an alert: internal error", serve_words_at_once, BYTES(ALERT("\x50")), SFID_EREDIS,
         "internal error; see the server's log"},
        {"an alert: unknown name", serve_words_at_once, BYTES(ALERT("\x70")), SFID_EAUTH,
         "give a name it knows, in the URL or as sni="},
        {"an alert that nobody knows", serve_words_at_once, BYTES(ALERT("\xc8")), SFID_EREDIS,
         "the server closed the connection"},
        {"half a record", serve_raw, BYTES("\x17\x03\x03\x10\0abc"), SFID_EREDIS, "in time"},
        {"half a record and the end", serve_raw_end, BYTES("\x17\x03\x03\x10\0abc"), SFID_EREDIS,
         "closed the connection"},
        {"a record of somebody else", serve_raw,
         BYTES("\x17\x03\x03\0\x20"
               "32 bytes that are all but random"),
         SFID_EREDIS, "TLS failed: "},
    };
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        char url[URL], name[32];
        tls_face((struct tls_face){.certificate = "server"});
        struct peer p = start_peer(true, answers[i].serve);
        set_words(&p, answers[i].bytes, answers[i].n);
        snprintf(name, sizeof name, "127.0.0.1:%d", p.port);
        url_at(&p, NULL, NULL, url);
        fails_with(url, "orders", answers[i].code, name, answers[i].words, answers[i].what);
        stop_peer(&p);
    }
}

/* ---- a reason that is seen late ------------------------------------------------------- */

enum { CONNECT_MS = 400 };
static pid_t stopped;

/* Stops the client until half of its time is over: it sees the alert when it would ask whether TLS
 * is spoken at all. */
static void serve_late(int fd, struct resp *in, struct peer_shared *s) {
    char hello[4096];
    (void)in;
    if (recv(fd, hello, sizeof hello, 0) > 0)
        kill(stopped, SIGSTOP);
    for (const int64_t until = tap_now_ms() + CONNECT_MS / 2 + 1; tap_now_ms() < until;)
        poll(NULL, 0, 1);
    say(fd, s->send, s->send_len);
    kill(stopped, SIGCONT);
    wait_for_end(fd);
}

static void test_late(void) {
    char url[URL];
    struct sfid__error err = {.text = ""};
    stopped = getpid();
    struct peer p = start_peer(true, serve_late);
    set_words(&p, BYTES(ALERT("\x50")));
    snprintf(url, URL, "rediss://127.0.0.1:%d?connect_timeout=%dms&ca=%s/ca.pem", p.port,
             CONNECT_MS, certificates);
    is_i64(tls_ping(url, &err) < 0 &&
               strstr(err.text, "internal error; see the server's log") != NULL,
           1, "an alert that is seen late is told");
    diag("%s", err.text);
    stop_peer(&p);
}

/* ---- where a reply ends --------------------------------------------------------------- */

static void serve_words_and_end(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    if (next_command(in, fd, s, name, sizeof name))
        say(fd, s->send, s->send_len);
}

/* The reply is cut behind each of its bytes. Only the whole one is taken. */
static void test_cuts(bool rude) {
    static const char reply[] = "*3\r\n$3\r\nabc\r\n:42\r\n$10\r\n0123456789\r\n";
    char url[URL];
    unsigned wrong = 0;
    tls_face(
        (struct tls_face){.certificate = "server", .serve = serve_words_and_end, .rude = rude});
    struct peer p = start_peer(true, serve_behind_tls);
    url_at(&p, NULL, NULL, url);
    for (size_t n = 0; n < sizeof reply; n++) {
        struct sfid__error err = {.text = ""};
        set_words(&p, reply, n);
        const int rc = tls_ping(url, &err);
        const bool good =
            n == sizeof reply - 1
                ? rc == 0
                : rc == SFID_EREDIS && strstr(err.text, "the server closed the connection");
        wrong += !good;
        if (!good)
            diag("%zu bytes: %d: %s", n, rc, err.text);
    }
    is_u64(wrong, 0, "a reply that is cut %s is none",
           rude ? "without a word of TLS" : "with TLS's goodbye");
    stop_peer(&p);
}

/* A reply that fills the reader's piece, and another behind it in one record: that is no answer to
 * the next question. */
static void test_left_over(void) {
    char url[URL], words[4200] = "*16\r\n";
    struct sfid__error err = {.text = ""};
    for (int i = 0; i < 16; i++)
        snprintf(words + strlen(words), 260, "$%d\r\n%0*d\r\n", i < 15 ? 248 : 243,
                 i < 15 ? 248 : 243, i);
    is_u64(strlen(words), 4096, "a reply of 4096 bytes");
    strcat(words, "+EVIL\r\n");
    tls_face((struct tls_face){.certificate = "server"});
    struct peer p = start_peer(true, serve_behind_tls);
    set_words(&p, words, strlen(words));
    url_at(&p, NULL, NULL, url);
    struct sfid__connection *c = tls_connection(url);
    const int first = tls_ask(c, &err);
    const bool up = sfid__connection_is_up(c);
    if (!ok((first == 0 && !up) || first == SFID_EREDIS,
            "bytes behind a reply: the connection is not used again"))
        diag("%d, then %s: %s", first, up ? "up" : "down", err.text);
    sfid__connection_drop(c);
    stop_peer(&p);
}

/* ---- records without end ----------------------------------------------------------------- */

static void send_tickets(SSL *ssl, unsigned n) {
    while (n-- > 0 && SSL_new_session_ticket(ssl) == 1 && SSL_do_handshake(ssl) == 1)
        ;
}

static void serve_tickets(int fd, struct resp *in, struct peer_shared *s) {
    char bytes[256];
    (void)in, (void)s;
    SSL *ssl = tls_accept(fd);
    if (SSL_read(ssl, bytes, sizeof bytes) > 0)
        send_tickets(ssl, 40);
    wait_for_end(fd);
}

static void serve_tickets_for_ever(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    signal(SIGPIPE, SIG_IGN);
    send_tickets(tls_accept(fd), UINT32_MAX);
}

static int readable(const struct sfid__wire *w) {
    int n = 0;
    return ioctl(w->fd, FIONREAD, &n) == 0 ? n : -1;
}

static bool tickets_are_here(void *wire) { return readable(wire) > 4000; }

/* One step takes in one record, whatever else is there. Between two steps the caller looks at its
 * deadline, and others may fork. */
static void test_steps(void) {
    char url[URL], bytes[64];
    size_t n;
    short waits = 0;
    struct sfid__uri uri;
    struct sfid__deadline deadline = {.at_ms = tap_now_ms() + TAP_WAIT_MS};
    struct sfid__wire w = SFID__WIRE_NONE;
    struct sfid__resolver resolver = {0};
    struct sfid__error why = {.text = ""};
    tls_face((struct tls_face){.certificate = "server"});
    struct peer p = start_peer(true, serve_tickets);
    url_at(&p, NULL, NULL, url);
    need(sfid__uri_parse(url, &uri, &why) >= 0 &&
             sfid__wire_open(&w, &uri, &resolver, 0, &deadline, &why) == SFID__REPLY_OK &&
             sfid__wire_send(&w, "PING\r\n", 6, &deadline, &why) == SFID__REPLY_OK,
         "%s", why.text);
    need(tap_wait_until(tickets_are_here, &w, TAP_WAIT_MS), "no tickets");
    ok(sfid__tls_receive(w.tls, bytes, sizeof bytes, &n, &waits, &why) == SFID__REPLY_OK &&
           n == 0 && waits == POLLIN && readable(&w) > 2000,
       "a step takes in one record of TLS");
    ok(!sfid__wire_is_quiet(&w), "so many of them make no good connection");
    sfid__wire_close(&w);
    sfid__resolver_drop(&resolver);
    stop_peer(&p);
}

static void test_flood(void) {
    char url[URL], name[32];
    tls_face((struct tls_face){.certificate = "server"});
    struct peer p = start_peer(true, serve_tickets_for_ever);
    snprintf(name, sizeof name, "127.0.0.1:%d", p.port);
    url_at(&p, NULL, NULL, url);
    fails_with(url, "orders", SFID_EREDIS, name, "in time", "records of TLS without end");
    stop_peer(&p);
    tls_face((struct tls_face){.certificate = "server", .serve = serve_drip});
    p = start_peer(true, serve_behind_tls);
    snprintf(name, sizeof name, "127.0.0.1:%d", p.port);
    url_at(&p, NULL, NULL, url);
    fails_with(url, "orders", SFID_EREDIS, name, "in time", "a reply that comes byte by byte");
    stop_peer(&p);
}

/* ---- sessions, figures --------------------------------------------------------------------- */

/* Each connection proves who the server is: none goes on with what an earlier one has proved. */
static void test_resumption(int most, const char *version) {
    enum { TIMES = 8 };
    char url[URL];
    int64_t ns[TIMES];
    int failed = 0;
    struct peer p =
        attack_start(&(struct attack){.face = {.certificate = "server", .most = most}}, url);
    struct sfid__connection *c = tls_connection(url);
    for (int i = 0; i < TIMES; i++) {
        struct sfid__error err = {.text = ""};
        const int64_t began = mono_ns();
        failed += tls_ask(c, &err) < 0;
        ns[i] = mono_ns() - began;
        sfid__connection_hang_up(c);
    }
    sfid__connection_drop(c);
    is_i64(failed, 0, "%s: %d connections", version, TIMES);
    is_i64(atomic_load(&p.s->step), 0, "%s: no session is resumed, nor offered for that", version);
    diag("%s: to connect, shake hands and ask takes %.2f ms (median of %d)", version,
         (double)median(ns, TIMES) / 1e6, TIMES);
    stop_peer(&p);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "memory") == 0)
        return tls_count_memory(argv[2]);
    if (argc > 2 && strcmp(argv[1], "strict") == 0)
        return strict(argv[2]);
    fleet_begin(LAYOUT);
    certificates_make("attacks");
    tls_chain("long", 20);
    tls_chain("deep", 120);
    test_names();
    test_refusals();
    test_accepted();
    test_settings();
    test_bytes();
    test_late();
    test_cuts(false);
    test_cuts(true);
    test_left_over();
    test_steps();
    test_flood();
    test_resumption(TLS1_2_VERSION, "TLS 1.2");
    test_resumption(TLS1_3_VERSION, "TLS 1.3");
    diag("the slowest open took %" PRId64 " ms of %d", worst_open_ms, OPEN_MS);
    return done_testing();
}
