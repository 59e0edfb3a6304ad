/* SPDX-License-Identifier: MIT */
#include "redis/tls.h"

#include "redis/tls_context.h"
#include "redis/tls_fault.h"
#include "redis/tls_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sfid.h>
#include <stdlib.h>
#include <string.h>

struct sfid__tls {
    const struct sfid__uri *uri;
    SSL *ssl;
    bool failed;
    struct sfid__tls_fault fault;
    struct sfid__tls *next; /* the list of sessions left to the process */
};

const char *sfid__tls_version(void) { return OpenSSL_version(OPENSSL_VERSION_STRING); }

/* ---- who the server has to be ----------------------------------------------- */

/* The name without the parts that only this host or a resolver understands: an address's zone, a
 * dot at the end. */
static void bare_name(const struct sfid__uri *uri, char out[SFID__URI_TEXT]) {
    snprintf(out, SFID__URI_TEXT, "%s", sfid__tls_name(uri));
    out[strcspn(out, "%")] = '\0';
    const size_t n = strlen(out);
    if (n > 1 && out[n - 1] == '.')
        out[n - 1] = '\0';
}

static bool is_address(const char *name) {
    struct in6_addr binary;
    return inet_pton(AF_INET, name, &binary) == 1 || inet_pton(AF_INET6, name, &binary) == 1;
}

static bool expect(SSL *ssl, const struct sfid__uri *uri) {
    char name[SFID__URI_TEXT];
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    bare_name(uri, name);
    if (is_address(name))
        return X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, name) == 1;
}

static int on_certificate(int good, X509_STORE_CTX *at) {
    const SSL *ssl = X509_STORE_CTX_get_ex_data(at, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct sfid__tls *t = SSL_get_app_data(ssl);
    if (!good)
        sfid__tls_fault_note(&t->fault, at);
    return good;
}

static int on_asked_for_ours(SSL *ssl, X509 **cert, EVP_PKEY **key) {
    struct sfid__tls *t = SSL_get_app_data(ssl);
    (void)cert, (void)key;
    t->fault.asked = true;
    return 0;
}

/* ---- making and freeing ------------------------------------------------------- */

static bool make_session(struct sfid__tls *t, SSL_CTX *ctx, int fd) {
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, on_certificate);
    SSL_CTX_set_client_cert_cb(ctx, on_asked_for_ours);
    t->ssl = SSL_new(ctx);
    if (t->ssl == NULL || SSL_set_app_data(t->ssl, t) != 1 || SSL_set_fd(t->ssl, fd) != 1 ||
        !expect(t->ssl, t->uri))
        return false;
    SSL_set_mode(t->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    /* a server could keep one read busy for ever with records of TLS itself */
    SSL_clear_mode(t->ssl, SSL_MODE_AUTO_RETRY);
    SSL_set_connect_state(t->ssl);
    return true;
}

static enum sfid__reply_class make_tls(struct sfid__tls *t, const struct sfid__tls_files *files,
                                       int fd, struct sfid__error *why) {
    SSL_CTX *ctx;
    enum sfid__reply_class class = sfid__tls_context_new(&ctx, t->uri, files, why);
    if (class == SFID__REPLY_OK && !make_session(t, ctx, fd)) {
        sfid__fail(why, SFID_ENOMEM, "cannot create a TLS session: out of memory");
        class = SFID__REPLY_RETRY;
    }
    SSL_CTX_free(ctx); /* the session keeps its own reference */
    return class;
}

static enum sfid__reply_class no_entry(struct sfid__error *why) {
    sfid__fail(why, SFID_EREDIS, "TLS is no longer available: the process is ending");
    return SFID__REPLY_RETRY;
}

enum sfid__reply_class sfid__tls_new(struct sfid__tls **out, const struct sfid__uri *uri, int fd,
                                     struct sfid__error *why) {
    struct sfid__tls_files files;
    struct sfid__tls_guard guard;
    struct sfid__tls *t = calloc(1, sizeof *t);
    enum sfid__reply_class class = sfid__tls_files_read(uri, &files, why);
    *out = NULL;
    if (class == SFID__REPLY_OK && t == NULL) {
        sfid__fail(why, SFID_ENOMEM, "out of memory");
        class = SFID__REPLY_RETRY;
    } else if (class == SFID__REPLY_OK && !sfid__tls_enter(&guard)) {
        class = no_entry(why);
    } else if (class == SFID__REPLY_OK) {
        t->uri = uri;
        class = make_tls(t, &files, fd, why);
        if (class != SFID__REPLY_OK)
            SSL_free(t->ssl);
        sfid__tls_leave(&guard);
    }
    sfid__tls_files_free(&files);
    if (class == SFID__REPLY_OK)
        *out = t;
    else
        free(t);
    return class;
}

/* Keeps a session that OpenSSL can no longer free in a list, so that leak checkers can reach it. */
static void leave_to_the_process(struct sfid__tls *t) {
    static _Atomic(struct sfid__tls *) left;
    t->next = atomic_load_explicit(&left, memory_order_relaxed); /* nobody reads the list */
    while (!atomic_compare_exchange_weak_explicit(&left, &t->next, t, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

void sfid__tls_free(struct sfid__tls *t, bool polite) {
    struct sfid__tls_guard guard;
    if (t == NULL)
        return;
    if (!sfid__tls_enter(&guard)) {
        leave_to_the_process(t);
        return;
    }
    if (polite && !t->failed && SSL_is_init_finished(t->ssl))
        SSL_shutdown(t->ssl);
    SSL_free(t->ssl);
    sfid__tls_leave(&guard);
    free(t);
}

/* ---- steps ---------------------------------------------------------------------- */

/* What a call of OpenSSL came to that returned rc and left errno. */
static enum sfid__reply_class outcome(struct sfid__tls *t, int rc, short *waits,
                                      struct sfid__error *why) {
    const int errnum = errno, error = SSL_get_error(t->ssl, rc);
    *waits = error == SSL_ERROR_WANT_READ ? POLLIN : error == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
    if (error == SSL_ERROR_NONE || *waits)
        return SFID__REPLY_OK;
    t->failed = true;
    return sfid__tls_fault_explain(&t->fault, t->uri, errnum, why);
}

enum sfid__reply_class sfid__tls_shake_hands(struct sfid__tls *t, short *waits,
                                             struct sfid__error *why) {
    struct sfid__tls_guard guard;
    if (!sfid__tls_enter(&guard))
        return no_entry(why);
    errno = 0;
    enum sfid__reply_class class = outcome(t, SSL_do_handshake(t->ssl), waits, why);
    if (class == SFID__REPLY_OK && *waits == 0 &&
        (SSL_get0_peer_certificate(t->ssl) == NULL || SSL_get_verify_result(t->ssl) != X509_V_OK)) {
        /* OpenSSL does not let this happen; this check is what all the rest is for */
        t->failed = true;
        sfid__fail(why, SFID_EAUTH, "the server sent no certificate");
        class = SFID__REPLY_CONFIG;
    }
    sfid__tls_leave(&guard);
    return class;
}

/* How many bytes have come from the server; UINT64_MAX: nobody can tell. */
static uint64_t bytes_read(struct sfid__tls *t) {
    struct sfid__tls_guard guard;
    if (!sfid__tls_enter(&guard))
        return UINT64_MAX;
    const BIO *from = SSL_get_rbio(t->ssl);
    const uint64_t n = from ? BIO_number_read((BIO *)(uintptr_t)from) : UINT64_MAX;
    sfid__tls_leave(&guard);
    return n;
}

bool sfid__tls_is_unanswered(struct sfid__tls *t) { return bytes_read(t) == 0; }

bool sfid__tls_has_failed(const struct sfid__tls *t) { return t->failed; }

enum sfid__reply_class sfid__tls_send(struct sfid__tls *t, const char *bytes, size_t n,
                                      size_t *sent, short *waits, struct sfid__error *why) {
    struct sfid__tls_guard guard;
    *sent = 0;
    if (!sfid__tls_enter(&guard))
        return no_entry(why);
    errno = 0;
    const enum sfid__reply_class class =
        outcome(t, SSL_write_ex(t->ssl, bytes, n, sent), waits, why);
    sfid__tls_leave(&guard);
    return class;
}

enum sfid__reply_class sfid__tls_receive(struct sfid__tls *t, char *bytes, size_t size, size_t *n,
                                         short *waits, struct sfid__error *why) {
    struct sfid__tls_guard guard;
    *n = 0;
    if (!sfid__tls_enter(&guard))
        return no_entry(why);
    errno = 0;
    const enum sfid__reply_class class =
        outcome(t, SSL_read_ex(t->ssl, bytes, size, n), waits, why);
    t->fault.heard = t->fault.heard || *n > 0;
    sfid__tls_leave(&guard);
    return class;
}

bool sfid__tls_is_quiet(struct sfid__tls *t) {
    enum { RECORDS = 16 }; /* of TLS itself: two that resume a session are usual */
    struct sfid__error why;
    char byte;
    size_t n;
    short waits;
    for (unsigned i = 0; i < RECORDS && !t->failed; i++) {
        const uint64_t before = bytes_read(t);
        if (sfid__tls_receive(t, &byte, 1, &n, &waits, &why) != SFID__REPLY_OK || n > 0)
            return false;
        if (bytes_read(t) == before)
            return true;
    }
    return false;
}
