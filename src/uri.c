/* SPDX-License-Identifier: MIT */
#include "uri.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 4096 /* of a URL: more than all of its parts together may be */
#define DB_MAX 2147483647
#define TIMEOUT_MIN_MS 10 /* a timeout given in seconds by mistake is an error, not one that never succeeds */
#define TIMEOUT_MAX_MS 600000
#define CLIENT_NAME_MAX 128

/* A stretch of the URL, not ended by NUL. */
struct part {
    const char *at;
    size_t len;
};

struct reader {
    const char *scheme; /* for errors, which begin "store redis://...: " */
    struct sfid__uri uri;
    bool db_given;
    unsigned given; /* bits: parameters seen */
    struct sfid__error *err;
};

static int bad(struct reader *r, const char *what) {
    return sfid__fail(r->err, SFID_EINVAL, "store %s://...: %s", r->scheme, what);
}

static bool is(struct part p, const char *text) { return p.len == strlen(text) && memcmp(p.at, text, p.len) == 0; }

/* Cuts off what lies before the first of the characters `at`; *rest begins with it, or is empty. */
static struct part cut(struct part *rest, const char *at) {
    struct part head = {rest->at, 0};
    while (head.len < rest->len && strchr(at, rest->at[head.len]) == NULL)
        head.len++;
    rest->at += head.len;
    rest->len -= head.len;
    return head;
}

static struct part behind(struct part p, size_t n) { return (struct part){p.at + n, p.len - n}; }

/* Decimal digits alone, up to max. */
static bool read_number(struct part p, uint64_t max, uint64_t *out) {
    uint64_t n = 0;
    if (p.len == 0 || p.len > 10)
        return false;
    for (size_t i = 0; i < p.len; i++) {
        if (p.at[i] < '0' || p.at[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(p.at[i] - '0');
    }
    *out = n;
    return n <= max;
}

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Percent-decodes p into out; what names it in errors. */
static int decode(struct reader *r, struct part p, const char *what, char *out, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < p.len; i++) {
        char c = p.at[i];
        if (c == '%') {
            const int high = i + 1 < p.len ? hex(p.at[i + 1]) : -1, low = i + 2 < p.len ? hex(p.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return sfid__fail(r->err, SFID_EINVAL, "store %s://...: %s has a %% without two hexadecimal digits: write it %%25",
                                  r->scheme, what);
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0')
            return sfid__fail(r->err, SFID_EINVAL, "store %s://...: %s has a NUL (%%00) in it", r->scheme, what);
        if (n + 1 >= size)
            return sfid__fail(r->err, SFID_EINVAL, "store %s://...: %s is longer than %zu bytes", r->scheme, what, size - 1);
        out[n++] = c;
    }
    out[n] = '\0';
    return 0;
}

/* ---- who, where ---------------------------------------------------------- */

static int read_userinfo(struct reader *r, struct part p) {
    const struct part user = cut(&p, ":");
    if (p.len == 0)
        return bad(r, "what stands before @ has to be user:password, or :password");
    if (p.len == 1)
        return bad(r, "the password before @ is empty: give one, or leave user, : and @ out");
    if (decode(r, user, "the user", r->uri.user, sizeof r->uri.user) < 0)
        return r->err->code;
    return decode(r, behind(p, 1), "the password", r->uri.password, sizeof r->uri.password);
}

static int read_port(struct reader *r, struct part p) {
    uint64_t port;
    if (!read_number(p, UINT16_MAX, &port) || port == 0)
        return bad(r, "what follows the host's colon has to be a port, 1 to 65535 (an IPv6 address stands in [ ]; a user and "
                      "password before the host end with @)");
    r->uri.port = (uint16_t)port;
    return 0;
}

/* p begins with '['. */
static int read_ipv6(struct reader *r, struct part p) {
    char *host = r->uri.host;
    const struct part inside = cut(&p, "]");
    if (p.len == 0)
        return bad(r, "an IPv6 address begins with [ and ends without ]");
    if (decode(r, behind(inside, 1), "the IPv6 address", host, sizeof r->uri.host) < 0)
        return r->err->code;
    char address[SFID__URI_TEXT];
    struct in6_addr binary;
    const size_t len = strcspn(host, "%");
    memcpy(address, host, len);
    address[len] = '\0';
    bool good = inet_pton(AF_INET6, address, &binary) == 1 && (host[len] == '\0' || host[len + 1] != '\0');
    for (const char *zone = host + len; good && *zone; zone++)
        good = sfid__is_ascii_alnum(*zone) || strchr("%._-", *zone) != NULL;
    if (!good)
        return bad(r, "what stands in [ ] is no IPv6 address (such as [::1], or [fe80::1%25eth0])");
    p = behind(p, 1);
    if (p.len == 0)
        return 0;
    return *p.at == ':' ? read_port(r, behind(p, 1)) : bad(r, "behind [ ] only :port may follow");
}

static int read_host(struct reader *r, struct part p) {
    if (p.len > 0 && *p.at == '[')
        return read_ipv6(r, p);
    const struct part host = cut(&p, ":");
    if (host.len == 0)
        return bad(r, "the host is missing: give host, host:port or user:password@host");
    if (host.len > 253)
        return bad(r, "the host is longer than 253 characters");
    for (size_t i = 0; i < host.len; i++)
        if (!sfid__is_ascii_alnum(host.at[i]) && strchr("._-", host.at[i]) == NULL)
            return bad(r, "the host has a character that is none of A-Z a-z 0-9 . - _ (one host; an IPv6 address stands in [ ])");
    memcpy(r->uri.host, host.at, host.len);
    return p.len > 0 ? read_port(r, behind(p, 1)) : 0;
}

static int read_db(struct reader *r, struct part p) {
    uint64_t db;
    if (!read_number(p, DB_MAX, &db))
        return bad(r, "the database has to be a number, 0 to 2147483647");
    if (r->db_given)
        return bad(r, "the database is given twice: as path and as db");
    r->db_given = true;
    r->uri.db = (uint32_t)db;
    return 0;
}

/* ---- parameters ---------------------------------------------------------- */

static int bad_value(struct reader *r, const char *name, const char *right) {
    return sfid__fail(r->err, SFID_EINVAL, "store %s://...: parameter %s has to be %s", r->scheme, name, right);
}

static int read_timeout(struct reader *r, const char *name, struct part p, uint32_t *out) {
    uint64_t n, unit = 1;
    struct part digits = p;
    if (p.len > 2 && memcmp(p.at + p.len - 2, "ms", 2) == 0) {
        digits.len -= 2;
    } else if (p.len > 1 && p.at[p.len - 1] == 's') {
        digits.len -= 1;
        unit = 1000;
    }
    if (!read_number(digits, TIMEOUT_MAX_MS / unit, &n) || n * unit < TIMEOUT_MIN_MS)
        return bad_value(r, name, "a number of milliseconds, 10 to 600000 (2000, 2000ms and 2s are the same)");
    *out = (uint32_t)(n * unit);
    return 0;
}

static int read_client_name(struct reader *r, struct part p) {
    char *name = r->uri.client_name;
    if (decode(r, p, "parameter client_name", name, sizeof r->uri.client_name) < 0)
        return r->err->code;
    bool good = *name != '\0' && strlen(name) <= CLIENT_NAME_MAX;
    for (const char *c = name; *c; c++)
        good = good && *c >= '!' && *c <= '~'; /* what CLIENT SETNAME takes */
    return good ? 0 : bad_value(r, "client_name", "1 to 128 printable ASCII characters without spaces");
}

static int read_registration(struct reader *r, struct part p) {
    if (!is(p, "on") && !is(p, "off"))
        return bad_value(r, "registration", "on or off");
    r->uri.registration = is(p, "on");
    return 0;
}

enum parameter { CONNECT_TIMEOUT, TIMEOUT, CLIENT_NAME, DB, REGISTRATION, CA, CERT, KEY, SNI, REPLICAS, PARAMETERS };

static const char *const names[PARAMETERS] = {
    "connect_timeout", "timeout", "client_name", "db", "registration", "ca", "cert", "key", "sni", "replicas"};

static int read_known(struct reader *r, enum parameter which, struct part value) {
    switch (which) {
    case CONNECT_TIMEOUT:
        return read_timeout(r, names[which], value, &r->uri.connect_timeout_ms);
    case TIMEOUT:
        return read_timeout(r, names[which], value, &r->uri.timeout_ms);
    case CLIENT_NAME:
        return read_client_name(r, value);
    case DB:
        return read_db(r, value);
    case REGISTRATION:
        return read_registration(r, value);
    default:
        return sfid__fail(r->err, SFID_EUNSUPPORTED,
                          "store %s://...: parameter %s: this version has no TLS, Sentinel or Cluster; leave it out", r->scheme,
                          names[which]);
    }
}

static int unknown(struct reader *r, struct part name) {
    char shown[40];
    size_t n = 0; /* as far as it looks like a name: `password:secret` is one of the things people try */
    for (; n < name.len && n + 1 < sizeof shown && (sfid__is_ascii_alnum(name.at[n]) || strchr("_-", name.at[n])); n++)
        shown[n] = name.at[n];
    shown[n] = '\0';
    const bool who = is(name, "user") || is(name, "username") || is(name, "password");
    return sfid__fail(r->err, SFID_EINVAL,
                      "store %s://...: there is no parameter \"%s\"%s; there are connect_timeout, timeout, client_name, db, "
                      "registration",
                      r->scheme, shown, who ? " (user:password@ stands before the host)" : "");
}

static int read_parameter(struct reader *r, struct part p) {
    const struct part name = cut(&p, "=");
    for (unsigned i = 0; i < PARAMETERS; i++) {
        if (!is(name, names[i]))
            continue;
        if (p.len == 0)
            return bad_value(r, names[i], "followed by = and a value");
        if (r->given & 1u << i)
            return sfid__fail(r->err, SFID_EINVAL, "store %s://...: parameter %s is given twice", r->scheme, names[i]);
        r->given |= 1u << i;
        return read_known(r, (enum parameter)i, behind(p, 1));
    }
    return unknown(r, name);
}

/* p begins with '?', or is empty. */
static int read_query(struct reader *r, struct part p) {
    while (p.len > 0) {
        p = behind(p, 1);
        const struct part one = cut(&p, "&");
        if (one.len == 0)
            return bad(r, "a parameter is empty: they are name=value, the first behind ?, the others behind &");
        if (read_parameter(r, one) < 0)
            return r->err->code;
    }
    return 0;
}

/* ---- the whole ----------------------------------------------------------- */

/*
 * Cuts user and password off. Until here it is not known what in the text is
 * secret, and from here on nothing is: see uri.h.
 */
static int split(struct reader *r, struct part *rest, struct part *authority) {
    unsigned ats = 0;
    for (size_t i = 0; i < rest->len; i++) {
        const unsigned char c = (unsigned char)rest->at[i];
        if (c <= ' ' || c == 0x7f)
            return bad(r, "there is a space or a control character in it: write it %20, and so on");
        ats += c == '@';
    }
    *authority = cut(rest, "/?#");
    struct part host = *authority;
    const struct part userinfo = cut(&host, "@");
    if (ats > 1 || (ats == 1 && host.len == 0))
        return bad(r, "@ stands once at most, right before the host: write other @ / ? # of a user, password, path or value as "
                      "%40 %2F %3F %23");
    if (memchr(rest->at, '#', rest->len))
        return bad(r, "# has no meaning in it: write it %23");
    if (ats == 0)
        return 0;
    *authority = behind(host, 1);
    return read_userinfo(r, userinfo);
}

static int read_tcp(struct reader *r, struct part rest, struct part authority) {
    if (read_host(r, authority) < 0)
        return r->err->code;
    const struct part path = cut(&rest, "?");
    if (path.len > 1 && read_db(r, behind(path, 1)) < 0)
        return r->err->code;
    return read_query(r, rest);
}

static int read_unix(struct reader *r, struct part rest, struct part authority) {
    r->uri.port = 0;
    if (authority.len > 0 || rest.len == 0 || *rest.at != '/')
        return bad(r, "the path of the socket has to begin with /, as in unix:///run/redis.sock");
    if (decode(r, cut(&rest, "?"), "the path", r->uri.path, sizeof r->uri.path) < 0)
        return r->err->code;
    return read_query(r, rest);
}

static int unsupported(struct sfid__error *err, const char *scheme) {
    return sfid__fail(err, SFID_EUNSUPPORTED, "store %s://...: this version knows no %s: give redis://, valkey:// or unix://",
                      scheme, strchr(scheme, '+') ? "Sentinel and no Cluster" : "TLS");
}

/* The scheme's name out of a list, as text of our own: what stands before :// may be anything. */
static const char *find_scheme(const char *const *list, struct part scheme) {
    while (*list && !is(scheme, *list))
        list++;
    return *list;
}

int sfid__uri_parse(const char *text, struct sfid__uri *out, struct sfid__error *err) {
    static const char *const known[] = {"redis", "valkey", "unix", NULL};
    static const char *const later[] = {"rediss",
                                        "valkeys",
                                        "redis+sentinel",
                                        "rediss+sentinel",
                                        "valkey+sentinel",
                                        "valkeys+sentinel",
                                        "redis+cluster",
                                        "rediss+cluster",
                                        "valkey+cluster",
                                        "valkeys+cluster",
                                        NULL};
    const size_t len = strnlen(text, LONGEST + 1);
    if (len > LONGEST)
        return sfid__fail(err, SFID_EINVAL, "the store's URL is longer than %d bytes", LONGEST);
    const char *end = strstr(text, "://");
    const struct part scheme = {text, end ? (size_t)(end - text) : 0};
    const char *no = find_scheme(later, scheme);
    if (no)
        return unsupported(err, no);
    struct reader r = {find_scheme(known, scheme), {.port = 6379, .registration = true}, false, 0, err};
    r.uri.connect_timeout_ms = 1000;
    r.uri.timeout_ms = 2000;
    if (r.scheme == NULL)
        return sfid__fail(err, SFID_EINVAL,
                          "the store is no URL that is known: give redis://host:port, valkey://host:port or "
                          "unix:///path");
    struct part rest = {end + 3, len - scheme.len - 3}, authority;
    if (split(&r, &rest, &authority) < 0)
        return err->code;
    const bool is_unix = strcmp(r.scheme, "unix") == 0;
    if ((is_unix ? read_unix : read_tcp)(&r, rest, authority) < 0)
        return err->code;
    *out = r.uri;
    return 0;
}

void sfid__uri_describe(const struct sfid__uri *uri, char *out, size_t size) {
    if (uri->path[0] == '\0') {
        const bool v6 = strchr(uri->host, ':') != NULL;
        snprintf(out, size, "redis://%s%s%s:%u/%" PRIu32, v6 ? "[" : "", uri->host, v6 ? "]" : "", (unsigned)uri->port, uri->db);
        return;
    }
    char path[sizeof uri->path];
    size_t n = 0;
    for (; uri->path[n]; n++)
        path[n] = uri->path[n] >= ' ' && uri->path[n] <= '~' ? uri->path[n] : '?';
    path[n] = '\0';
    snprintf(out, size, "unix://%s?db=%" PRIu32, path, uri->db);
}
