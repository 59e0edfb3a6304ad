/* SPDX-License-Identifier: MIT */
#include "redis/uri.h"

#include "redis/credentials.h"
#include "redis/named.h"
#include "redis/uri_hint.h"

#include <sfid.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 4096 /* of a URL: more than all its parts together may have */
#define DB_MAX 2147483647

struct scheme {
    const char *name;
    enum sfid__uri_kind kind;
    bool tls, is_unix;
};

struct parameter;

struct reader {
    const struct scheme *scheme;
    struct sfid__uri_place place;
    struct sfid__uri uri;
    bool db_given;
    bool user_alone;  /* a user before @ without a colon: the password has to be in a file */
    unsigned given;   /* bits: the parameters seen */
    uint64_t pids[2]; /* with uri.lends_range */
};

#define BAD(r, ...) SFID__URI_BAD(&(r)->place, __VA_ARGS__)

/* ---- who, where ---------------------------------------------------------- */

static int read_userinfo(struct reader *r, struct sfid__part p) {
    const struct sfid__part user = sfid__part_cut(&p, ":");
    r->user_alone = p.len == 0;
    if (p.len == 1)
        return BAD(r, "the password before @ is empty: give one, or leave user, : and @ out");
    if (sfid__part_decode(&r->place, user, "the user", r->uri.user, sizeof r->uri.user) < 0)
        return r->place.err->code;
    if (r->user_alone)
        return 0;
    return sfid__part_decode(&r->place, sfid__part_behind(p, 1), "the password", r->uri.password,
                             sizeof r->uri.password);
}

/* One host, or several between commas if the scheme allows it. */
static int read_nodes(struct reader *r, struct sfid__part p) {
    const bool several = r->scheme->kind != SFID__URI_SERVER;
    for (;;) {
        struct sfid__endpoint *node = &r->uri.node[r->uri.nodes];
        const struct sfid__part one = several ? sfid__part_cut(&p, ",") : p;
        node->port = r->scheme->kind == SFID__URI_SENTINEL ? 26379 : 6379;
        if (!several && memchr(p.at, ',', p.len))
            return BAD(
                r,
                "only one host is allowed (redis+sentinel:// and redis+cluster:// take several, separated by commas)");
        if (sfid__endpoint_read(&r->place, one, node) < 0)
            return r->place.err->code;
        r->uri.nodes++;
        if (!several || p.len == 0)
            return 0;
        if (r->uri.nodes == SFID__URI_NODES)
            return BAD(r, "there are more than %d hosts", SFID__URI_NODES);
        p = sfid__part_behind(p, 1);
    }
}

static int read_db(struct reader *r, const struct parameter *none, struct sfid__part value) {
    uint64_t db;
    (void)none; /* it may be the path */
    if (!sfid__part_number(value, DB_MAX, &db))
        return BAD(r, "the database has to be a number, 0 to 2147483647");
    if (r->db_given)
        return BAD(r, "the database is given twice: as path and as db");
    if (db > 0 && r->scheme->kind == SFID__URI_CLUSTER)
        return BAD(r, "a cluster has only database 0");
    r->db_given = true;
    r->uri.db = (uint32_t)db;
    return 0;
}

/* /master-name[/db]. */
static int read_master(struct reader *r, struct sfid__part path) {
    if (path.len < 2)
        return BAD(
            r,
            "the master's name is missing; give the sentinels' name for it after the hosts, as in "
            "redis+sentinel://a:26379,b:26379/mymaster");
    path = sfid__part_behind(path, 1);
    const struct sfid__part name = sfid__part_cut(&path, "/");
    if (sfid__part_decode(&r->place, name, "the master's name", r->uri.master,
                          sizeof r->uri.master) < 0)
        return r->place.err->code;
    if (r->uri.master[0] == '\0' || r->uri.master[strspn(r->uri.master, SFID__ALNUM "._-")] != '\0')
        return BAD(r, "the master's name has to consist of A-Z a-z 0-9 . - _");
    return path.len > 1 ? read_db(r, NULL, sfid__part_behind(path, 1)) : 0;
}

/* ---- parameters ---------------------------------------------------------- */

enum only { FOR_ALL, FOR_TLS, FOR_SEVERAL, FOR_SENTINEL };

struct parameter {
    const char *name;
    enum only schemes;
    int (*read)(struct reader *r, const struct parameter *p, struct sfid__part value);
    size_t at; /* in struct sfid__uri */
    uint32_t least, most;
    const char *right;    /* what the value has to be */
    const char *words[3]; /* the values by their numbers */
};

static int bad_value(struct reader *r, const struct parameter *p, const char *right) {
    return BAD(r, "parameter %s has to be %s", p->name, right);
}

static int put(struct reader *r, const struct parameter *p, uint64_t n, bool good) {
    uint32_t *number = (uint32_t *)(void *)((char *)&r->uri + p->at);
    if (!good || n < p->least)
        return bad_value(r, p, p->right);
    *number = (uint32_t)n;
    return 0;
}

static int read_count(struct reader *r, const struct parameter *p, struct sfid__part value) {
    uint64_t n = 0;
    const bool good = sfid__part_number(value, p->most, &n);
    return put(r, p, n, good);
}

static int read_timeout(struct reader *r, const struct parameter *p, struct sfid__part value) {
    uint64_t n = 0, unit = 1;
    if (value.len > 2 && memcmp(value.at + value.len - 2, "ms", 2) == 0) {
        value.len -= 2;
    } else if (value.len > 1 && value.at[value.len - 1] == 's') {
        value.len -= 1;
        unit = 1000;
    }
    const bool good = sfid__part_number(value, p->most / unit, &n);
    return put(r, p, n * unit, good);
}

static int read_word(struct reader *r, const struct parameter *p, struct sfid__part value) {
    uint32_t i = 0;
    while (i < 3 && !(p->words[i] && sfid__part_is(value, p->words[i])))
        i++;
    return put(r, p, i, i < 3);
}

/* Both ends are set once it is clear that no other parameter gives one. */
static int read_pids(struct reader *r, const struct parameter *p, struct sfid__part value) {
    const struct sfid__part low = sfid__part_cut(&value, "-");
    const bool two = value.len > 0 && sfid__part_number(low, p->most, &r->pids[0]) &&
                     sfid__part_number(sfid__part_behind(value, 1), p->most, &r->pids[1]);
    r->uri.lends_range = true;
    return two && r->pids[0] <= r->pids[1] ? 0 : bad_value(r, p, p->right);
}

static char *text_of(struct reader *r, const struct parameter *p) {
    return (char *)&r->uri + p->at;
}

static int decode(struct reader *r, const struct parameter *p, struct sfid__part value) {
    char what[40];
    snprintf(what, sizeof what, "parameter %s", p->name);
    return sfid__part_decode(&r->place, value, what, text_of(r, p), SFID__URI_TEXT);
}

static int read_text(struct reader *r, const struct parameter *p, struct sfid__part value) {
    if (decode(r, p, value) < 0)
        return r->place.err->code;
    return *text_of(r, p) ? 0 : bad_value(r, p, "followed by = and a value");
}

static int read_client_name(struct reader *r, const struct parameter *p, struct sfid__part value) {
    const char *name = text_of(r, p);
    if (decode(r, p, value) < 0)
        return r->place.err->code;
    bool good = *name != '\0' && strlen(name) <= p->most;
    for (const char *c = name; *c; c++)
        good = good && *c >= '!' && *c <= '~'; /* CLIENT SETNAME allows these */
    return good ? 0 : bad_value(r, p, p->right);
}

/* Reads the name of a password's file. */
static int read_file_name(struct reader *r, const struct parameter *p, struct sfid__part value) {
    char given[SFID__URI_TEXT];
    if (read_text(r, p, value) < 0)
        return r->place.err->code;
    memcpy(given, text_of(r, p), sizeof given);
    return sfid__credential_path(&r->place, p->name, given, text_of(r, p), SFID__URI_TEXT);
}

/* OpenSSL takes an empty name for any, and one that begins with a dot for all below it. */
static int read_host_name(struct reader *r, const struct parameter *p, struct sfid__part value) {
    if (read_text(r, p, value) < 0)
        return r->place.err->code;
    return sfid__endpoint_is_host(text_of(r, p)) ? 0 : bad_value(r, p, p->right);
}

static int read_named_hosts(struct reader *r, const struct parameter *p, struct sfid__part value) {
    return read_text(r, p, value) < 0 ? r->place.err->code
                                      : sfid__named_hosts_check(&r->place, text_of(r, p));
}

#define AT(member) offsetof(struct sfid__uri, member)
#define TEXT \
    0, 0, NULL, { 0 }
#define NAME \
    0, 128, "1 to 128 printable ASCII characters without spaces", { 0 }
#define HOST \
    0, 0, "a host's name or an address, such as redis.example", { 0 }
#define REPLICAS \
    0, 100, "a number of replicas, 0 to 100", { 0 }
#define PID \
    0, SFID__REDIS_PID_MAX, "a pid, 0 to 65535", { 0 }
#define PIDS \
    0, SFID__REDIS_PID_MAX, "a range of pids up to 65535, such as 0-1023", { 0 }
/* Seconds given by mistake are an error, not a timeout that never succeeds. */
#define TIMEOUT \
    10, 600000, "a number of milliseconds, 10 to 600000 (2000, 2000ms and 2s are the same)", { 0 }

/* All parameters, in the order of messages. */
/* clang-format off */
static const struct parameter parameters[] = {
    {"connect_timeout", FOR_ALL, read_timeout, AT(connect_timeout_ms), TIMEOUT},
    {"timeout", FOR_ALL, read_timeout, AT(timeout_ms), TIMEOUT},
    {"client_name", FOR_ALL, read_client_name, AT(client_name), NAME},
    {"db", FOR_ALL, read_db, AT(db), TEXT},
    {"registration", FOR_ALL, read_word, AT(registration), 0, 2, "on, off or mixed", {"on", "off", "mixed"}},
    {"replicas", FOR_ALL, read_count, AT(replicas), REPLICAS},
    {"min_good", FOR_ALL, read_count, AT(min_good), REPLICAS},
    {"idle", FOR_ALL, read_word, AT(idle_close), 0, 1, "keep or close", {"keep", "close"}},
    {"share", FOR_ALL, read_word, AT(shared), 1, 1, "1", {NULL, "1"}},
    {"pids", FOR_ALL, read_pids, AT(pid_min), PIDS},
    {"pid_min", FOR_ALL, read_count, AT(pid_min), PID},
    {"pid_max", FOR_ALL, read_count, AT(pid_max), PID},
    {"password_file", FOR_ALL, read_file_name, AT(password_file), TEXT},
    {"ca", FOR_TLS, read_text, AT(ca), TEXT},
    {"cert", FOR_TLS, read_text, AT(cert), TEXT},
    {"key", FOR_TLS, read_text, AT(key), TEXT},
    {"sni", FOR_TLS, read_host_name, AT(sni), HOST},
    {"named_hosts", FOR_SEVERAL, read_named_hosts, AT(named_hosts), TEXT},
    {"sentinel_user", FOR_SENTINEL, read_text, AT(sentinel_user), TEXT},
    {"sentinel_password", FOR_SENTINEL, read_text, AT(sentinel_password), TEXT},
    {"sentinel_password_file", FOR_SENTINEL, read_file_name, AT(sentinel_password_file), TEXT},
};
/* clang-format on */
enum { PARAMETERS = sizeof parameters / sizeof parameters[0] };

static bool fits(const struct scheme *scheme, enum only schemes) {
    return schemes == FOR_TLS       ? scheme->tls
           : schemes == FOR_SEVERAL ? scheme->kind != SFID__URI_SERVER
                                    : schemes == FOR_ALL || scheme->kind == SFID__URI_SENTINEL;
}

static int unknown(struct reader *r, struct sfid__part name) {
    char shown[40], list[320] = "";
    size_t n = 0; /* only what looks like a name: people try `password:secret`, for example */
    for (; n < name.len && n + 1 < sizeof shown &&
           (sfid__is_ascii_alnum(name.at[n]) || strchr("_-", name.at[n]));
         n++)
        shown[n] = name.at[n];
    shown[n] = '\0';
    for (unsigned i = 0; i < PARAMETERS; i++) {
        const size_t len = strlen(list);
        if (fits(r->scheme, parameters[i].schemes))
            snprintf(list + len, sizeof list - len, "%s%s", len ? ", " : "", parameters[i].name);
    }
    const bool who = sfid__part_is(name, "user") || sfid__part_is(name, "username") ||
                     sfid__part_is(name, "password");
    return BAD(r, "unknown parameter \"%s\"%s; expected one of %s", shown,
               who ? " (put user:password@ before the host)" : "", list);
}

/* Checks parameters that depend on one another. */
static int check_together(struct reader *r) {
    const struct sfid__uri *uri = &r->uri;
    if ((uri->cert[0] == '\0') != (uri->key[0] == '\0'))
        return BAD(r, "parameters cert and key go together: give both or neither");
    if (uri->sentinel_password[0] && uri->sentinel_password_file[0])
        return BAD(
            r,
            "the password for sentinels is given twice: as sentinel_password and as sentinel_password_file");
    if (uri->sentinel_user[0] && uri->sentinel_password[0] == '\0' &&
        uri->sentinel_password_file[0] == '\0')
        return BAD(r, "parameter sentinel_user needs sentinel_password or sentinel_password_file");
    if (uri->password[0] && uri->password_file[0])
        return BAD(r, "the password is given twice: before @ and as password_file");
    if (r->user_alone && (uri->user[0] == '\0' || uri->password_file[0] == '\0'))
        return BAD(
            r,
            "the text before @ has to be user:password or :password (or a user, with password_file=)");
    if (uri->lends_range && (uri->pid_min >= 0 || uri->pid_max >= 0))
        return BAD(r, "the range of pids is given twice: as pids, and as pid_min or pid_max");
    return 0;
}

static int read_parameter(struct reader *r, struct sfid__part value) {
    static const char *const only_for[] = {[FOR_TLS] = "TLS (rediss://, valkeys://)",
                                           [FOR_SEVERAL] = "redis+sentinel:// and redis+cluster://",
                                           [FOR_SENTINEL] = "redis+sentinel://"};
    const struct sfid__part name = sfid__part_cut(&value, "=");
    unsigned i = 0;
    while (i < PARAMETERS && !sfid__part_is(name, parameters[i].name))
        i++;
    if (i == PARAMETERS)
        return unknown(r, name);
    const struct parameter *p = &parameters[i];
    if (value.len == 0)
        return bad_value(r, p, "followed by = and a value");
    if (r->given & 1u << i)
        return BAD(r, "parameter %s is given twice", p->name);
    if (!fits(r->scheme, p->schemes))
        return BAD(r, "parameter %s is only for %s; leave it out", p->name, only_for[p->schemes]);
    r->given |= 1u << i;
    r->uri.bare = r->uri.bare && p->read == read_db;
    return p->read(r, p, sfid__part_behind(value, 1));
}

/* p begins with '?' or is empty. */
static int read_query(struct reader *r, struct sfid__part p) {
    while (p.len > 0) {
        p = sfid__part_behind(p, 1);
        const struct sfid__part one = sfid__part_cut(&p, "&");
        if (one.len == 0)
            return BAD(
                r, "a parameter is empty; write name=value, the first after ?, the others after &");
        if (read_parameter(r, one) < 0)
            return r->place.err->code;
    }
    return check_together(r);
}

/* ---- the whole ----------------------------------------------------------- */

/* Cuts user and password off. Before this any part of the text may be secret; after it only values
 * of parameters may: see uri.h. */
static int split(struct reader *r, struct sfid__part *rest, struct sfid__part *authority) {
    unsigned ats = 0;
    for (size_t i = 0; i < rest->len; i++) {
        const unsigned char c = (unsigned char)rest->at[i];
        if (c <= ' ' || c == 0x7f)
            return BAD(r, "the URL contains a space or a control character; write a space as %%20");
        ats += c == '@';
    }
    *authority = sfid__part_cut(rest, "/?#");
    struct sfid__part host = *authority;
    const struct sfid__part userinfo = sfid__part_cut(&host, "@");
    if (ats > 1 || (ats == 1 && host.len == 0))
        return BAD(
            r,
            "@ is allowed once, right before the host; in a user, password, path or value write @ / ? # as %%40 %%2F %%3F %%23");
    if (memchr(rest->at, '#', rest->len))
        return BAD(r, "the URL contains #; write it as %%23");
    if (ats == 0)
        return 0;
    *authority = sfid__part_behind(host, 1);
    return read_userinfo(r, userinfo);
}

static int read_tcp(struct reader *r, struct sfid__part rest, struct sfid__part authority) {
    if (read_nodes(r, authority) < 0)
        return r->place.err->code;
    const struct sfid__part path = sfid__part_cut(&rest, "?");
    if (r->scheme->kind == SFID__URI_SENTINEL) {
        if (read_master(r, path) < 0)
            return r->place.err->code;
    } else if (path.len > 1 && read_db(r, NULL, sfid__part_behind(path, 1)) < 0) {
        return r->place.err->code;
    }
    return read_query(r, rest);
}

static int read_unix(struct reader *r, struct sfid__part rest, struct sfid__part authority) {
    if (authority.len > 0 || rest.len == 0 || *rest.at != '/')
        return BAD(r, "the path of the socket has to begin with /, as in unix:///run/redis.sock");
    if (sfid__part_decode(&r->place, sfid__part_cut(&rest, "?"), "the path", r->uri.path,
                          sizeof r->uri.path) < 0)
        return r->place.err->code;
    return read_query(r, rest);
}

/* Returns the scheme as text of our own: the text before :// may be anything. */
static const struct scheme *find_scheme(const char *text, size_t len) {
    static const struct scheme schemes[] = {
        {"redis", SFID__URI_SERVER, false, false},
        {"valkey", SFID__URI_SERVER, false, false},
        {"unix", SFID__URI_SERVER, false, true},
        {"redis+sentinel", SFID__URI_SENTINEL, false, false},
        {"valkey+sentinel", SFID__URI_SENTINEL, false, false},
        {"redis+cluster", SFID__URI_CLUSTER, false, false},
        {"valkey+cluster", SFID__URI_CLUSTER, false, false},
        {"rediss", SFID__URI_SERVER, true, false},
        {"valkeys", SFID__URI_SERVER, true, false},
        {"rediss+sentinel", SFID__URI_SENTINEL, true, false},
        {"valkeys+sentinel", SFID__URI_SENTINEL, true, false},
        {"rediss+cluster", SFID__URI_CLUSTER, true, false},
        {"valkeys+cluster", SFID__URI_CLUSTER, true, false},
    };
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strlen(schemes[i].name) == len && memcmp(schemes[i].name, text, len) == 0)
            return &schemes[i];
    return NULL;
}

static int fail_scheme(const char *text, const char *mark, struct sfid__error *err) {
    char hint[SFID__URI_HINT];
    sfid__uri_hint(text, hint);
    if (hint[0])
        return sfid__fail(err, SFID_EINVAL, "the store's URL has %s scheme%s",
                          mark ? "an unknown" : "no", hint);
    return sfid__fail(
        err, SFID_EINVAL,
        "the store's URL has an unknown scheme; expected redis://host:port, rediss:// (TLS), unix:///path, "
        "redis+sentinel://host:port,host:port/master or redis+cluster://host:port,host:port");
}

static void quote(struct sfid__uri *uri, const char *text, size_t len) {
    const bool secret = uri->password[0] || uri->sentinel_password[0];
    if (!secret && len + 3 <= sizeof uri->quoted &&
        strspn(text, SFID__ALNUM "-._~:/?[]@&=%,+*{}") == len)
        snprintf(uri->quoted, sizeof uri->quoted, "'%s'", text);
}

int sfid__uri_parse(const char *text, struct sfid__uri *out, struct sfid__error *err) {
    char hint[SFID__URI_HINT];
    const size_t len = strnlen(text, LONGEST + 1);
    if (len > LONGEST)
        return sfid__fail(err, SFID_EINVAL, "the store's URL is longer than %d bytes", LONGEST);
    const char *end = strstr(text, "://");
    const struct scheme *scheme = find_scheme(text, end ? (size_t)(end - text) : 0);
    if (scheme == NULL)
        return fail_scheme(text, end, err);
    struct reader r = {.scheme = scheme,
                       .place = {scheme->name, err},
                       .uri = {.kind = scheme->kind, .tls = scheme->tls, .bare = true}};
    if (scheme->tls && !SFID__TLS)
        return sfid__uri_fail(
            &r.place, SFID_EUNSUPPORTED,
            "this libsfid was built without TLS; build it with OpenSSL 3, or use %.*s",
            (int)(strcspn(scheme->name, "+") - 1), scheme->name);
    r.uri.connect_timeout_ms = 1000;
    r.uri.timeout_ms = 2000;
    r.uri.pid_min = r.uri.pid_max = -1;
    struct sfid__part rest = {end + 3, len - (size_t)(end + 3 - text)}, authority;
    if (split(&r, &rest, &authority) < 0)
        return err->code;
    if (!scheme->is_unix && authority.at == end + 3 && authority.len == 0 && rest.len > 0 &&
        *rest.at == '/') {
        sfid__uri_hint(text, hint);
        return BAD(&r, "a third slash follows ://, where the host is missing%s", hint);
    }
    if ((scheme->is_unix ? read_unix : read_tcp)(&r, rest, authority) < 0)
        return err->code;
    if (r.uri.lends_range) {
        r.uri.pid_min = (int32_t)r.pids[0];
        r.uri.pid_max = (int32_t)r.pids[1];
    }
    r.uri.bare = r.uri.bare && r.uri.user[0] == '\0' && r.uri.password[0] == '\0';
    quote(&r.uri, text, len);
    *out = r.uri;
    return 0;
}
