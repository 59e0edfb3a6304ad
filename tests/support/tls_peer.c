/* SPDX-License-Identifier: MIT */
#include "support/tls_peer.h"

#include "support/tls.h"

#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>

static struct {
    struct tls_face face;
    SSL_CTX *ctx;
    _Atomic int *offered; /* in a peer */
} shown;

/* ---- certificates ------------------------------------------------------------- */

static FILE *certificate_file(const char *name, const char *kind, const char *mode) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s.%s", certificates, name, kind);
    FILE *f = fopen(path, mode);
    need(f, "%s: %s", path, strerror(errno));
    return f;
}

static bool add_extension(X509 *cert, int nid, const char *value) {
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    const bool good = e && X509_add_ext(cert, e, -1) == 1;
    X509_EXTENSION_free(e);
    return good;
}

/* All links have one key. Number 0 is the server's. */
static X509 *make_link(unsigned number, EVP_PKEY *key, const X509_NAME *by, EVP_PKEY *by_key) {
    char name[24];
    X509 *cert = X509_new();
    X509_NAME *subject = X509_NAME_new();
    snprintf(name, sizeof name, "link %u", number);
    const bool good =
        cert && subject &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (unsigned char *)name, -1, -1, 0) ==
            1 &&
        X509_set_version(cert, X509_VERSION_3) == 1 &&
        ASN1_INTEGER_set(X509_get_serialNumber(cert), number + 1) == 1 &&
        X509_set_subject_name(cert, subject) == 1 && X509_set_issuer_name(cert, by) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(cert), -3600) &&
        X509_gmtime_adj(X509_getm_notAfter(cert), 86400) && X509_set_pubkey(cert, key) == 1 &&
        (number > 0 ? add_extension(cert, NID_basic_constraints, "critical,CA:TRUE")
                    : add_extension(cert, NID_subject_alt_name, "IP:127.0.0.1")) &&
        X509_sign(cert, by_key, EVP_sha256()) > 0;
    need(good, "no certificate: %s", ERR_reason_error_string(ERR_peek_error()));
    X509_NAME_free(subject);
    return cert;
}

void tls_chain(const char *name, unsigned authorities) {
    FILE *of_ca = certificate_file("ca", "pem", "r"),
         *key_of_ca = certificate_file("ca", "key", "r");
    FILE *certs = certificate_file(name, "pem", "w"), *keys = certificate_file(name, "key", "w");
    X509 *ca = PEM_read_X509(of_ca, NULL, NULL, NULL),
         **links = calloc(authorities + 1, sizeof *links);
    EVP_PKEY *ca_key = PEM_read_PrivateKey(key_of_ca, NULL, NULL, NULL), *key = EVP_EC_gen("P-256");
    need(ca && ca_key && key && links &&
             PEM_write_PrivateKey(keys, key, NULL, NULL, 0, NULL, NULL) == 1,
         "no keys");
    for (unsigned i = authorities + 1; i-- > 0;) {
        const bool top = i == authorities;
        links[i] =
            make_link(i, key, X509_get_subject_name(top ? ca : links[i + 1]), top ? ca_key : key);
    }
    for (unsigned i = 0; i <= authorities; i++) {
        need(PEM_write_X509(certs, links[i]) == 1, "%s cannot be written", name);
        X509_free(links[i]);
    }
    free(links);
    X509_free(ca);
    EVP_PKEY_free(ca_key);
    EVP_PKEY_free(key);
    need(fclose(certs) == 0 && fclose(keys) == 0 && fclose(of_ca) == 0 && fclose(key_of_ca) == 0,
         "%s cannot be written", name);
}

/* ---- servers ------------------------------------------------------------------ */

static int on_hello(SSL *ssl, int *alert, void *arg) {
    const unsigned char *at;
    size_t len = 0;
    (void)alert, (void)arg;
    const bool psk = SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &at, &len) == 1;
    const bool ticket =
        SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_session_ticket, &at, &len) == 1 && len > 0;
    if (shown.offered && (psk || ticket))
        atomic_fetch_add(shown.offered, 1);
    return SSL_CLIENT_HELLO_SUCCESS;
}

static int any_client(int good, X509_STORE_CTX *at) {
    (void)good, (void)at;
    return 1;
}

static bool use_certificate(SSL_CTX *ctx, const struct tls_face *face) {
    char cert[140], key[140];
    snprintf(cert, sizeof cert, "%s/%s.pem", certificates, face->certificate);
    snprintf(key, sizeof key, "%s/%s.key", certificates, face->certificate);
    bool good = SSL_CTX_use_certificate_chain_file(ctx, cert) == 1 &&
                SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) == 1;
    for (unsigned i = 0; good && i < face->padding; i++)
        good = SSL_CTX_add1_chain_cert(ctx, SSL_CTX_get0_certificate(ctx)) == 1;
    return good;
}

void tls_face(struct tls_face face) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    need(ctx, "no context of OpenSSL");
    SSL_CTX_set_security_level(ctx, 0);
    const bool good =
        SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION) == 1 &&
        SSL_CTX_set_max_proto_version(ctx, face.most) == 1 &&
        SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"test", 4) == 1 &&
        SSL_CTX_set_cipher_list(ctx, face.ciphers ? face.ciphers
                                                  : "ALL:COMPLEMENTOFALL:@SECLEVEL=0") == 1 &&
        (face.certificate == NULL || use_certificate(ctx, &face));
    need(good, "a server cannot be like that: %s", ERR_reason_error_string(ERR_peek_error()));
    SSL_CTX_set_client_hello_cb(ctx, on_hello, NULL);
    if (face.asks)
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, any_client);
    SSL_CTX_free(shown.ctx);
    shown.face = face;
    shown.ctx = ctx;
}

SSL *tls_accept(int fd) {
    SSL *ssl = SSL_new(shown.ctx);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 || SSL_accept(ssl) != 1)
        _exit(1);
    return ssl;
}

/* From the client to what is behind. False at the end. */
static bool inwards(SSL *ssl, int to) {
    char bytes[4096];
    do {
        const int n = SSL_read(ssl, bytes, sizeof bytes);
        if (n <= 0 || !say(to, bytes, (size_t)n))
            return false;
    } while (SSL_pending(ssl) > 0);
    return true;
}

/* What comes at once goes into one record. */
static bool outwards(SSL *ssl, int from) {
    char bytes[16384];
    const ssize_t n = recv(from, bytes, sizeof bytes, 0);
    return n > 0 && SSL_write(ssl, bytes, (int)n) == n;
}

void serve_behind_tls(int fd, struct resp *in, struct peer_shared *s) {
    int pair[2];
    (void)in;
    signal(SIGPIPE, SIG_IGN);
    shown.offered = &s->step;
    SSL *ssl = tls_accept(fd);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        _exit(1);
    const pid_t behind = fork();
    if (behind == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        close(fd);
        (shown.face.serve ? shown.face.serve : serve_words)(pair[1], resp_on(pair[1]), s);
        _exit(0);
    }
    close(pair[1]);
    struct pollfd both[2] = {{.fd = fd, .events = POLLIN}, {.fd = pair[0], .events = POLLIN}};
    while (poll(both, 2, -1) > 0 && (!both[0].revents || inwards(ssl, pair[0])) &&
           (!both[1].revents || outwards(ssl, pair[0])))
        ;
    if (!shown.face.rude)
        SSL_shutdown(ssl);
}
