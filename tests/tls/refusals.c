/* SPDX-License-Identifier: MIT */
/*
 * Servers that are not believed, or do not believe us; the wrong port; files of the URL that are no
 * good. sfid_open() is back in time, with a sentence of its own for each, which names the server
 * and what to do, and nothing is held.
 */
#include "redis/connection.h"
#include "support/tls.h"

#include "support/tls_peer.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

/* The open of this URL fails like that. With a user and a password, which must not be told. */
static void refused(const struct tls_server *s, const char *more, int code, const char *words,
                    const char *what) {
    char url[URL], with_user[URL + 40];
    tls_url(s, more, url);
    snprintf(with_user, sizeof with_user, "rediss://%s:%s@%s", USER, PASSWORD,
             url + strlen("rediss://"));
    fails_with(with_user, "orders", code, s->name, words, what);
}

static void shows(struct tls_server *s, const char *certificate, const char *more,
                  const char *words, const char *what) {
    tls_show(s, certificate);
    refused(s, more, SFID_EAUTH, words, what);
}

static void test_servers(struct tls_server *s) {
    char url[URL];
    shows(
        s, "other-name", "",
        "the server's certificate is for other.example, *.wild.example, not for localhost; give one of its names",
        "another name");
    shows(s, "server", "&sni=redis.example",
          "is for localhost, 127.0.0.1, ::1, not for redis.example", "a name that was asked for");
    shows(s, "server", "&sni=127.0.0.9", "not for 127.0.0.9", "another address");
    shows(
        s, "common-name", "",
        "has only a common name (localhost), which is not accepted; it needs subjectAltName=DNS:localhost",
        "the host as common name alone");
    shows(s, "common-name", "&sni=127.0.0.1", "it needs subjectAltName=IP:127.0.0.1",
          "an address, where there is a common name alone");
    shows(s, "both-names", "", "is for other.example, not for localhost",
          "the host as common name beside another name");
    shows(s, "other-name", "&sni=a.b.wild.example", "not for a.b.wild.example",
          "two levels below a wildcard");
    shows(s, "unknown", "", "is signed by \"another authority\", which",
          "an authority that is not known");
    shows(s, "end", "", "is signed by \"authority in between\", which", "a chain with a gap");
    shows(s, "expired", "",
          "the server's certificate expired at 2020-02-01T00:00:00Z and has to be renewed",
          "an expired certificate");
    shows(s, "early", "",
          "is not valid before 2099-01-01T00:00:00Z; wait until then, or correct this host's clock",
          "one that is not valid yet");
    shows(s, "no-server", "", "is not for servers; it needs extendedKeyUsage serverAuth",
          "one for clients");
    tls_show(s, "server");
    snprintf(url, sizeof url, "rediss://%s", s->name);
    fails_with(url, "orders", SFID_EAUTH, s->name,
               "which this system does not trust; give that authority's certificate as ca=",
               "no authority given");
    snprintf(url, sizeof url, "rediss://%s?ca=%s/empty", s->name, certificates);
    fails_with(url, "orders", SFID_EAUTH, s->name,
               "does not vouch for; add that authority's certificate to ca=",
               "a directory without authorities");
}

/* A server that is asked aside has to have the time to answer: this one is found in the middle of
 * connect_timeout. */
static void no_tls_at(const char *name, const char *what) {
    char url[300], text[600] = "in time";
    int64_t pid;
    int rc = 0;
    for (unsigned ms = 1000; ms <= 32000 && strstr(text, "in time"); ms *= 2) {
        snprintf(url, sizeof url, "rediss://%s?connect_timeout=%u", name, ms);
        rc = tls_open(url, "orders", &pid, text);
    }
    if (!ok(rc == SFID_EREDIS && strstr(text, name) &&
                strstr(text, "the server does not speak TLS at this port"),
            "%s", what))
        diag("%d: %s", rc, text);
}

static void test_ports(struct tls_server *s) {
    char url[300], name[40];
    snprintf(url, sizeof url, "redis://%s:%s@%s", USER, PASSWORD, s->name);
    fails_with(url, "orders", SFID_EREDIS, s->name,
               "the server speaks TLS at this port; give rediss://",
               "a URL without TLS, a port with");
    snprintf(name, sizeof name, "localhost:%d", s->r.port);
    no_tls_at(name, "a URL with TLS, a port without");
    tls_set(s, "requirepass", PASSWORD);
    no_tls_at(name, "the same, and the server has a password");
    reply_free(redis_ask(&s->r, "AUTH", PASSWORD, NULL));
    tls_set(s, "requirepass", "");
}

static void test_versions(struct tls_server *s) {
    tls_set(s, "tls-protocols", "TLSv1.1");
    refused(s, "", SFID_EREDIS, "the server offers neither TLS 1.2 nor 1.3",
            "an old version of TLS");
    tls_set(s, "tls-protocols", "TLSv1.2 TLSv1.3");
}

static void test_clients(struct tls_server *s, const char *versions) {
    diag("%s", versions);
    tls_set(s, "tls-protocols", versions);
    tls_set(s, "tls-auth-clients", "yes");
    refused(s, "", SFID_EAUTH,
            "the server requires a client certificate; give it as cert=, and its key as key=",
            "no certificate of ours");
    refused(
        s, "&cert=%c/stranger.pem&key=%c/stranger.key", SFID_EAUTH,
        "the server does not trust the signer of the certificate in cert=", "one of a stranger");
    refused(s, "&cert=%c/old-client.pem&key=%c/old-client.key", SFID_EAUTH,
            "the server says that the certificate in cert= has expired", "one that has expired");
    tls_set(s, "tls-auth-clients", "no");
}

static void test_files(struct tls_server *s) {
    char url[URL];
    static const struct {
        const char *more, *words;
    } bad[] = {
        {"&cert=%c/none.pem&key=%c/client.key", "none.pem cannot be read: No such file"},
        {"&cert=%c/client.pem&key=%c/none.key", "none.key cannot be read: No such file"},
        {"&cert=%c/nonsense.pem&key=%c/client.key",
         "nonsense.pem has no certificate that can be used: it has to be in PEM"},
        {"&cert=%c/client.key&key=%c/client.key", "client.key has no certificate that can be used"},
        {"&cert=%c/client.pem&key=%c/server.key",
         "server.key is not the key of the certificate in cert="},
        {"&cert=%c/client.pem&key=%c/nonsense.pem",
         "nonsense.pem is not the key of the certificate"},
        {"&cert=%c/client.pem&key=%c/locked.key",
         "locked.key is protected by a passphrase; give a key without"},
        {"&cert=%c/directory&key=%c/client.key", "directory is not a file"},
        {"&cert=/dev/zero&key=%c/client.key", "/dev/zero is not a file"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        refused(s, bad[i].more, SFID_EINVAL, bad[i].words, bad[i].words);
    snprintf(url, sizeof url, "rediss://%s?ca=%s/none.pem", s->name, certificates);
    fails_with(url, "orders", SFID_EINVAL, s->name, "none.pem cannot be read: No such file",
               "no file of authorities");
    snprintf(url, sizeof url, "rediss://%s?ca=%s/nonsense.pem", s->name, certificates);
    fails_with(url, "orders", SFID_EINVAL, s->name,
               "nonsense.pem has no certificate that can be read", "a file without authorities");
}

/* ---- renegotiation ---------------------------------------------------------- */

enum { ASKED = 1, AGREED, REFUSED }; /* steps of the peer */

static int handshakes;

static void count_handshakes(const SSL *ssl, int where, int rc) {
    (void)ssl, (void)rc;
    handshakes += (where & SSL_CB_HANDSHAKE_DONE) != 0;
}

/* Answers nothing: as soon as it is spoken to it asks for another handshake, and notes what comes
 * of that. */
static void renegotiate(int fd, struct resp *in, struct peer_shared *s) {
    char bytes[4096];
    (void)in;
    SSL *ssl = tls_accept(fd);
    SSL_set_info_callback(ssl, count_handshakes);
    if (SSL_read(ssl, bytes, sizeof bytes) <= 0 || SSL_renegotiate(ssl) != 1 ||
        SSL_do_handshake(ssl) != 1)
        return;
    atomic_store(&s->step, ASKED);
    const int before = handshakes; /* what asks may count as one */
    while (SSL_read(ssl, bytes, sizeof bytes) > 0 && handshakes == before)
        ;
    const bool refused = ERR_GET_REASON(ERR_peek_error()) == SSL_R_NO_RENEGOTIATION;
    atomic_store(&s->step, handshakes > before ? AGREED : refused ? REFUSED : ASKED);
}

static void test_renegotiation(void) {
    char url[URL];
    tls_face((struct tls_face){.certificate = "server", .most = TLS1_2_VERSION});
    struct peer p = start_peer(true, renegotiate);
    snprintf(url, sizeof url, "rediss://127.0.0.1:%d?ca=%s/ca.pem", p.port, certificates);
    bool refused = true;
    /* it may be late */
    for (unsigned ms = OPEN_MS; ms <= OPEN_LONGEST_MS && atomic_load(&p.s->step) < REFUSED; ms *= 2)
        refused &= attempt_open(url, "orders", true, ms).code == SFID_EREDIS;
    ok(refused, "a server that asks for another handshake gets no lease out");
    flag_wait(&p.s->step, REFUSED, TAP_WAIT_MS);
    is_i64(atomic_load(&p.s->step), REFUSED, "it is refused");
    stop_peer(&p);
}

static void test_all(struct tls_server *s) {
    test_servers(s);
    test_ports(s);
    test_versions(s);
    test_clients(s, "TLSv1.2");
    test_clients(s, "TLSv1.2 TLSv1.3");
    test_files(s);
    is_i64(redis_do(&s->r, "EXISTS", "sfid:orders", NULL), 0, "%s: nothing was asked of it",
           s->r.program);
}

int main(void) {
    tls_each(test_all);
    if (certificates[0])
        test_renegotiation();
    diag("the slowest open took %" PRId64 " ms of %d", worst_open_ms, OPEN_MS);
    return done_testing();
}
