/* SPDX-License-Identifier: MIT */
/*
 * Leases over TLS: every way to be believed; a holder whose renewals go on through a restart of the
 * server and through certificates that run out; a pid that is given back at the close.
 */
#include "support/tls.h"

/* ---- ways in ---------------------------------------------------------------- */

static bool gave_back(struct tls_server *s, const char *app, int64_t pid) {
    char record[RECORD];
    return is_released(record_of(&s->r, app, pid, record));
}

/* A pid is leased, an ID drawn, and the close gives the pid back. */
static bool leases(struct tls_server *s, const char *url) {
    static bool told;
    char text[600];
    int64_t pid;
    const int64_t began = mono_ns();
    const int rc = tls_open(url, "ways", &pid, text);
    if (!told)
        diag("the first lease and ID, with the close, took %.1f ms",
             (double)(mono_ns() - began) / 1e6);
    told = true;
    if (rc < 0)
        diag("%s: %s", url, text);
    return rc == 0 && pid >= 0 && gave_back(s, "ways", pid);
}

static void way(struct tls_server *s, const char *certificate, const char *more, const char *what) {
    char url[URL];
    tls_show(s, certificate);
    ok(leases(s, tls_url(s, more, url)), "%s: a lease is had and given back", what);
}

static void test_names(struct tls_server *s) {
    char url[URL];
    way(s, "server", "", "the host's name");
    snprintf(url, sizeof url, "valkeys://127.0.0.1:%d?ca=%s/ca.pem", s->port, certificates);
    ok(leases(s, url), "an address: a lease is had and given back");
    way(s, "other-name", "&sni=other.example", "another name, asked for");
    way(s, "other-name", "&sni=a.wild.example.", "a name below a wildcard, with a dot at its end");
    way(s, "server", "&sni=::1", "another address, asked for");
    way(s, "chain", "", "an authority in between, shown by the server");
    tls_show(s, "server");
    snprintf(url, sizeof url, "rediss://%s?ca=%s/directory", s->name, certificates);
    ok(leases(s, url), "a directory of authorities: a lease is had and given back");
    snprintf(url, sizeof url, "rediss://%s?ca=%s/server.pem", s->name, certificates);
    ok(leases(s, url), "the server's own certificate as authority: a lease is had and given back");
    snprintf(url, sizeof url, "%s/ca.pem", certificates);
    setenv("SSL_CERT_FILE", url, 1);
    snprintf(url, sizeof url, "rediss://%s", s->name);
    ok(leases(s, url), "an authority that the system knows: a lease is had and given back");
    unsetenv("SSL_CERT_FILE");
}

static void test_clients(struct tls_server *s) {
    tls_set(s, "tls-auth-clients", "yes");
    way(s, "server", "&cert=%c/client.pem&key=%c/client.key", "a client's certificate");
    way(s, "server", "&cert=%c/both.pem&key=%c/both.pem", "certificate and key in one file");
    tls_set(s, "tls-protocols", "TLSv1.2");
    way(s, "server", "&cert=%c/client.pem&key=%c/client.key", "a client's certificate, TLS 1.2");
    tls_set(s, "tls-protocols", "TLSv1.2 TLSv1.3");
    tls_set(s, "tls-auth-clients", "no");
    tls_set(s, "requirepass", PASSWORD);
    char url[URL], with_password[URL + 40];
    snprintf(with_password, sizeof with_password, "rediss://:%s@%s", PASSWORD,
             tls_url(s, "", url) + strlen("rediss://"));
    reply_free(redis_ask(&s->r, "AUTH", PASSWORD, NULL));
    ok(leases(s, with_password), "a password: a lease is had and given back");
    tls_set(s, "requirepass", "");
}

/* ---- holders ------------------------------------------------------------------ */

/* One connection, however many renewals: what TLS has to say of itself between them is no reason to
 * make another. */
static void test_renewals(struct tls_server *s, struct member *m) {
    int64_t before;
    int failed;
    do { /* a renewal that fails closes its connection */
        failed = events_of(m, SFID_EVENT_RENEW_FAILED);
        before = tls_connections(s);
        ok(member_had(m, SFID_EVENT_RENEWED, events_of(m, SFID_EVENT_RENEWED) + 3, TAP_WAIT_MS),
           "renewals over TLS");
    } while (events_of(m, SFID_EVENT_RENEW_FAILED) > failed && failed < 10);
    is_i64(tls_connections(s), before, "over one connection");
}

static void test_restart(struct tls_server *s, struct member *m) {
    const int64_t pid = atomic_load(&m->pid);
    const int renewed = events_of(m, SFID_EVENT_RENEWED);
    redis_do(&s->r, "SAVE", NULL);
    redis_kill(&s->r);
    redis_restart(&s->r, false);
    need(tls_listen(s, "chain"), "no TLS any more");
    ok(member_had(m, SFID_EVENT_RENEWED, renewed + 1, TAP_WAIT_MS),
       "a restarted server, with another certificate: renewed");
    is_i64(atomic_load(&m->errors), 0, "nothing failed meanwhile");
    is_i64(atomic_load(&m->pid), pid, "the pid is the same");
}

/* Certificates run out under those who hold leases. They are told, draw on, and go on by
 * themselves. */
static void test_expiry(struct tls_server *s, struct member *m) {
    const int from = atomic_load(&m->events);
    tls_show(s, "expired");
    cut_clients(&s->r);
    ok(member_told(m, from, SFID_EAUTH, "expired at 2020-02-01", s->name),
       "a certificate that has expired: told by an event");
    const int renewed = events_of(m, SFID_EVENT_RENEWED);
    tls_show(s, "server");
    ok(member_had(m, SFID_EVENT_RENEWED, renewed + 1, TAP_WAIT_MS),
       "it was renewed: so are leases");
    is_i64(atomic_load(&m->errors), 0, "nothing failed meanwhile");
}

static void test_holder(struct tls_server *s) {
    char url[URL];
    struct member *m =
        member_at("orders", -1, "%s", tls_url(s, "&cert=%c/client.pem&key=%c/client.key", url));
    m->opt.on_unknown = SFID_TRUST;
    tls_set(s, "tls-auth-clients", "optional");
    member_open_or_die(m);
    test_renewals(s, m);
    test_restart(s, m);
    test_expiry(s, m);
    is_i64(member_end(m), 0, "the holder ends");
    ok(gave_back(s, "orders", atomic_load(&m->pid)), "and gives its pid back");
    judge(LAYOUT, "per-file", UINT64_MAX, s->r.program);
}

static void test_all(struct tls_server *s) {
    test_names(s);
    test_clients(s);
    test_holder(s);
}

int main(void) {
    tls_each(test_all);
    return done_testing();
}
