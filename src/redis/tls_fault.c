/* SPDX-License-Identifier: MIT */
#include "redis/tls_fault.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sfid.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *sfid__tls_name(const struct sfid__uri *uri) {
    return uri->sni[0] ? uri->sni : uri->node[0].host;
}

/* ---- what a certificate says ------------------------------------------------ */

/* Appends n foreign bytes, made printable, while there is room. */
static void append(char *out, size_t size, const char *text, size_t n) {
    size_t used = strlen(out);
    sfid__printable(out + used, size - used, text, n);
    for (; out[used]; used++)
        if (out[used] == '"')
            out[used] = '?';
}

static void append_name(const GENERAL_NAME *name, char *out, size_t size) {
    int kind;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &kind);
    char address[48] = "";
    const char *text = address;
    size_t n;
    if (kind == GEN_DNS) {
        text = (const char *)ASN1_STRING_get0_data(value);
        n = (size_t)ASN1_STRING_length(value);
    } else if (kind == GEN_IPADD) {
        const int family = ASN1_STRING_length(value) == 4 ? AF_INET : AF_INET6;
        if (family == AF_INET || ASN1_STRING_length(value) == 16)
            inet_ntop(family, ASN1_STRING_get0_data(value), address, sizeof address);
        n = strlen(address);
    } else {
        return;
    }
    if (out[0])
        append(out, size, ", ", 2);
    append(out, size, text, n);
}

/* The common name, or else the organisation. */
static void append_subject(const X509_NAME *name, char *out, size_t size) {
    int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (at < 0)
        at = X509_NAME_get_index_by_NID(name, NID_organizationName, -1);
    const ASN1_STRING *value =
        at < 0 ? NULL : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
    if (value)
        append(out, size, (const char *)ASN1_STRING_get0_data(value),
               (size_t)ASN1_STRING_length(value));
    else
        append(out, size, "nobody", 6);
}

/* Appends the names that a certificate is for. False if it has only a common name, which is shown
 * but does not count. */
static bool append_names(const X509 *cert, char *out, size_t size) {
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
        append_name(sk_GENERAL_NAME_value(names, i), out, size);
    GENERAL_NAMES_free(names);
    if (out[0])
        return true;
    append_subject(X509_get_subject_name(cert), out, size);
    return false;
}

static void append_date(const ASN1_TIME *date, char *out, size_t size) {
    struct tm tm;
    char text[40] = "an invalid date";
    if (ASN1_TIME_to_tm(date, &tm) == 1)
        snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                 tm.tm_sec); /* strftime() takes a lock: base/clock.h */
    append(out, size, text, strlen(text));
}

/* ---- certificates that are not trusted --------------------------------------- */

enum doubt { NAME, EXPIRED, TOO_EARLY, UNKNOWN, PURPOSE, REVOKED, NO_LIST, OLD_LIST, OTHER };

static enum doubt doubt_of(int verify) {
    switch (verify) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return NAME;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return TOO_EARLY;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: /* another authority of the same name */
        return UNKNOWN;
    case X509_V_ERR_INVALID_PURPOSE:
        return PURPOSE;
    case X509_V_ERR_CERT_REVOKED:
        return REVOKED;
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
        return NO_LIST;
    case X509_V_ERR_CRL_HAS_EXPIRED:
        return OLD_LIST;
    default:
        return OTHER;
    }
}

void sfid__tls_fault_note(struct sfid__tls_fault *f, X509_STORE_CTX *at) {
    const X509 *cert = X509_STORE_CTX_get_current_cert(at);
    if (f->verify != 0)
        return;
    f->verify = X509_STORE_CTX_get_error(at);
    f->authority = X509_STORE_CTX_get_error_depth(at) > 0;
    f->detail[0] = '\0';
    if (cert == NULL)
        return;
    switch (doubt_of(f->verify)) {
    case NAME:
        f->nameless = !append_names(cert, f->detail, sizeof f->detail);
        break;
    case EXPIRED:
        append_date(X509_get0_notAfter(cert), f->detail, sizeof f->detail);
        break;
    case TOO_EARLY:
        append_date(X509_get0_notBefore(cert), f->detail, sizeof f->detail);
        break;
    default:
        append_subject(X509_get_issuer_name(cert), f->detail, sizeof f->detail);
        break;
    }
}

static void explain_name(const struct sfid__tls_fault *f, const char *name,
                         struct sfid__error *why) {
    if (f->nameless)
        sfid__fail(
            why, SFID_EAUTH,
            "the server's certificate has only a common name (%s), which is not accepted; it needs subjectAltName=%s:%.100s",
            f->detail, f->verify == X509_V_ERR_IP_ADDRESS_MISMATCH ? "IP" : "DNS", name);
    else
        sfid__fail(
            why, SFID_EAUTH,
            "the server's certificate is for %s, not for %.100s; give one of its names in the URL or as sni=%s",
            f->detail, name,
            f->verify == X509_V_ERR_IP_ADDRESS_MISMATCH
                ? " (an address counts as IP: alone, not as DNS:)"
                : "");
}

static void explain_certificate(const struct sfid__tls_fault *f, const struct sfid__uri *uri,
                                struct sfid__error *why) {
    const char *whose = f->authority ? "an authority's certificate in the server's chain"
                                     : "the server's certificate";
    switch (doubt_of(f->verify)) {
    case NAME:
        explain_name(f, sfid__tls_name(uri), why);
        return;
    case EXPIRED:
        sfid__fail(why, SFID_EAUTH, "%s expired at %s and has to be renewed", whose, f->detail);
        return;
    case TOO_EARLY:
        sfid__fail(why, SFID_EAUTH,
                   "%s is not valid before %s; wait until then, or correct this host's clock",
                   whose, f->detail);
        return;
    case UNKNOWN:
        if (uri->ca[0])
            sfid__fail(
                why, SFID_EAUTH,
                "the server's certificate is signed by \"%s\", which %.100s does not vouch for; add that authority's "
                "certificate to ca=",
                f->detail, uri->ca);
        else
            sfid__fail(
                why, SFID_EAUTH,
                "the server's certificate is signed by \"%s\", which this system does not trust; give that authority's "
                "certificate as ca=",
                f->detail);
        return;
    case PURPOSE:
        sfid__fail(
            why, SFID_EAUTH,
            "%s is not for servers; it needs extendedKeyUsage serverAuth, or no extendedKeyUsage",
            whose);
        return;
    case REVOKED:
        sfid__fail(why, SFID_EAUTH, "%s was revoked by \"%s\"; the server needs another", whose,
                   f->detail);
        return;
    case NO_LIST:
        sfid__fail(why, SFID_EAUTH, "%.100s has revocation lists, but none of \"%s\"; add it there",
                   uri->ca, f->detail);
        return;
    case OLD_LIST:
        sfid__fail(why, SFID_EAUTH,
                   "the revocation list of \"%s\" in %.100s is out of date; put its new one there",
                   f->detail, uri->ca);
        return;
    default:
        sfid__fail(why, SFID_EAUTH, "%s cannot be trusted: %s", whose,
                   X509_verify_cert_error_string(f->verify));
        return;
    }
}

/* ---- what OpenSSL says --------------------------------------------------------- */

#define NO_TLS_THERE \
    "the server does not speak TLS at this port; give its TLS port, or a URL without TLS"
#define OLD_TLS \
    "the server offers neither TLS 1.2 nor 1.3, or this system's OpenSSL settings want the newer one; enable it there " \
    "(tls-protocols)"
#define CERT_WANTED \
    "the server requires a client certificate; give it as cert=, and its key as key="

struct meaning {
    int reason;
    enum sfid__reply_class class;
    int code;
    const char *text;
};

static const struct meaning *meaning_of(unsigned long error) {
    static const struct meaning meanings[] = {
        {SSL_R_WRONG_VERSION_NUMBER, SFID__REPLY_CONFIG, SFID_EREDIS, NO_TLS_THERE},
        {SSL_R_PACKET_LENGTH_TOO_LONG, SFID__REPLY_CONFIG, SFID_EREDIS, NO_TLS_THERE},
        {SSL_R_UNSUPPORTED_PROTOCOL, SFID__REPLY_CONFIG, SFID_EREDIS, OLD_TLS},
        {SSL_R_VERSION_TOO_LOW, SFID__REPLY_CONFIG, SFID_EREDIS, OLD_TLS},
        {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SFID__REPLY_CONFIG, SFID_EREDIS, OLD_TLS},
        {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, SFID__REPLY_CONFIG, SFID_EAUTH, CERT_WANTED},
        {SSL_R_TLSV1_ALERT_UNKNOWN_CA, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server does not trust the signer of the certificate in cert=; add that authority to its tls-ca-cert-file"},
        {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server says that the certificate in cert= has expired and has to be renewed"},
        {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server says that the certificate in cert= was revoked; give another"},
        {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server rejects the certificate in cert=; it has to be for clients and valid now"},
        {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server rejects the certificate in cert=; it has to be for clients (extendedKeyUsage clientAuth, or none)"},
        {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server rejects the certificate in cert= without a reason; see the server's log"},
        {SSL_R_TLSV1_ALERT_ACCESS_DENIED, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server denies access to the subject of the certificate in cert="},
        {SSL_R_TLSV1_UNRECOGNIZED_NAME, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server does not know the name it was called by; give a name it knows, in the URL or as sni="},
        {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, SFID__REPLY_CONFIG, SFID_EREDIS,
         "the server and this host have no cipher or curve in common; the server's (tls-ciphers) are too few or too old"},
        {SSL_R_NO_PROTOCOLS_AVAILABLE, SFID__REPLY_CONFIG, SFID_EREDIS,
         "this system's OpenSSL settings allow neither TLS 1.2 nor 1.3"},
        {SSL_R_EXCESSIVE_MESSAGE_SIZE, SFID__REPLY_CONFIG, SFID_EAUTH,
         "the server shows more certificates than fit in 100 KB; it has to show its own and those that lead to its authority"},
        {SSL_R_UNEXPECTED_EOF_WHILE_READING, SFID__REPLY_RETRY, SFID_EREDIS,
         "the server closed the connection"},
    };
    for (size_t i = 0;
         ERR_GET_LIB(error) == ERR_LIB_SSL && i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].reason == ERR_GET_REASON(error))
            return &meanings[i];
    return NULL;
}

static enum sfid__reply_class explain_other(unsigned long error, int errnum,
                                            struct sfid__error *why) {
    const char *reason = error ? ERR_reason_error_string(error) : NULL;
    const bool alert = ERR_GET_LIB(error) == ERR_LIB_SSL &&
                       ERR_GET_REASON(error) >= SSL_AD_REASON_OFFSET &&
                       ERR_GET_REASON(error) <= SSL_AD_REASON_OFFSET + UINT8_MAX;
    if (reason)
        sfid__fail(why, SFID_EREDIS, "TLS failed: %s%s", reason,
                   alert ? "; see the server's log" : "");
    else if (errnum != 0)
        sfid__fail_errno(why, SFID_EREDIS, errnum, "the connection failed");
    else
        sfid__fail(why, SFID_EREDIS, "the server closed the connection");
    return SFID__REPLY_RETRY;
}

enum sfid__reply_class sfid__tls_fault_explain(const struct sfid__tls_fault *f,
                                               const struct sfid__uri *uri, int errnum,
                                               struct sfid__error *why) {
    const unsigned long error = ERR_peek_error();
    const struct meaning *m = meaning_of(error);
    if (f->verify != 0) {
        explain_certificate(f, uri, why);
        return SFID__REPLY_CONFIG;
    }
    if (f->asked && !f->heard) {
        if (m && m->reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE) { /* TLS 1.2 says it this way */
            sfid__fail(why, SFID_EAUTH, "%s", CERT_WANTED);
            return SFID__REPLY_CONFIG;
        }
        /* its reason may have been lost with the connection */
        if (m == NULL || m->class == SFID__REPLY_RETRY) {
            sfid__fail(why, SFID_EREDIS, "the server closed the connection: %s", CERT_WANTED);
            return SFID__REPLY_RETRY;
        }
    }
    if (m == NULL)
        return explain_other(ERR_GET_LIB(error) == ERR_LIB_SYS ? 0 : error, errnum, why);
    sfid__fail(why, m->code, "%s", m->text);
    return m->class;
}
