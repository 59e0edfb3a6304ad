/* SPDX-License-Identifier: MIT */
#include "redis/uri_hint.h"

#include "redis/uri_text.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 100 /* of what is repeated */

enum shape { SERVER, SOCKET, SENTINELS, NODES };

static const char *const forms[] = {"host:port", "/path", "host:port,host:port/master",
                                    "host:port,host:port"};

/* Our schemes, in letters of either case, and what other programs call them. */
static const struct scheme {
    const char *name, *ours;
    enum shape shape;
} schemes[] = {
    {"redis", "redis", SERVER},
    {"rediss", "rediss", SERVER},
    {"valkey", "valkey", SERVER},
    {"valkeys", "valkeys", SERVER},
    {"tcp", "redis", SERVER},
    {"redis+tcp", "redis", SERVER},
    {"tls", "rediss", SERVER},
    {"ssl", "rediss", SERVER},
    {"redis+tls", "rediss", SERVER},
    {"redis+ssl", "rediss", SERVER},
    {"unix", "unix", SOCKET},
    {"redis+unix", "unix", SOCKET},
    {"redis+socket", "unix", SOCKET},
    {"redis-socket", "unix", SOCKET},
    {"redis+sentinel", "redis+sentinel", SENTINELS},
    {"redis-sentinel", "redis+sentinel", SENTINELS},
    {"sentinel", "redis+sentinel", SENTINELS},
    {"rediss+sentinel", "rediss+sentinel", SENTINELS},
    {"rediss-sentinel", "rediss+sentinel", SENTINELS},
    {"valkey+sentinel", "valkey+sentinel", SENTINELS},
    {"valkeys+sentinel", "valkeys+sentinel", SENTINELS},
    {"redis+cluster", "redis+cluster", NODES},
    {"redis-cluster", "redis+cluster", NODES},
    {"cluster", "redis+cluster", NODES},
    {"rediss+cluster", "rediss+cluster", NODES},
    {"rediss-cluster", "rediss+cluster", NODES},
    {"valkey+cluster", "valkey+cluster", NODES},
    {"valkeys+cluster", "valkeys+cluster", NODES},
};

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

static const struct scheme *find_scheme(struct sfid__part p) {
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t n = 0;
        while (n < p.len && small(p.at[n]) == schemes[i].name[n])
            n++;
        if (n == p.len && schemes[i].name[n] == '\0')
            return &schemes[i];
    }
    return NULL;
}

/* Is it made of these characters alone? An empty text is not. */
static bool has_only(struct sfid__part p, const char *characters) {
    for (size_t i = 0; i < p.len; i++)
        if (p.at[i] == '\0' || strchr(characters, p.at[i]) == NULL)
            return false;
    return p.len > 0;
}

/* Is it empty, or the mark and a number? */
static bool is_number_after(char mark, struct sfid__part p, uint64_t min, uint64_t max) {
    uint64_t number;
    return p.len == 0 ||
           (*p.at == mark && sfid__part_number(sfid__part_behind(p, 1), max, &number) &&
            number >= min);
}

/* HOST[:PORT][/DB]. If it is to be `certain`, the host is an address, localhost, or a name with a
 * dot or before a port. */
static bool is_server(struct sfid__part p, bool certain) {
    const bool v6 = p.len > 0 && *p.at == '[';
    struct sfid__part db = p, port = sfid__part_cut(&db, "/");
    const struct sfid__part host = sfid__part_cut(&port, v6 ? "]" : ":");
    if (v6 && (port.len == 0 || !has_only(sfid__part_behind(host, 1), "0123456789abcdefABCDEF:.")))
        return false;
    if (!v6 && !has_only(host, SFID__ALNUM "._-"))
        return false;
    if (v6)
        port = sfid__part_behind(port, 1);
    if (p.len > LONGEST || !is_number_after(':', port, 1, UINT16_MAX) ||
        !is_number_after('/', db, 0, INT32_MAX))
        return false;
    return !certain || v6 || port.len > 0 || memchr(host.at, '.', host.len) ||
           sfid__part_is(host, "localhost");
}

static bool ends_in(struct sfid__part p, const char *end) {
    const size_t n = strlen(end);
    return p.len > n && memcmp(p.at + p.len - n, end, n) == 0;
}

static bool is_path(struct sfid__part p) {
    return p.len > 1 && p.len <= LONGEST && *p.at == '/' && p.at[1] != '/' &&
           has_only(p, SFID__ALNUM "/._-");
}

/* A path with the usual name of a socket, or at least below a directory. */
static bool is_socket(struct sfid__part p) {
    return is_path(p) &&
           (ends_in(p, ".sock") || ends_in(p, ".socket") || memchr(p.at + 1, '/', p.len - 1));
}

static void suggest(char out[SFID__URI_HINT], const char *scheme, const char *host,
                    struct sfid__part p) {
    snprintf(out, SFID__URI_HINT, "; did you mean \"%s://%s%.*s\"?", scheme, host, (int)p.len,
             p.at);
}

/* p follows the scheme and its two slashes. */
static void hint_place(const struct scheme *scheme, struct sfid__part p, char out[SFID__URI_HINT]) {
    struct sfid__part behind = p;
    while (behind.len > 0 && *behind.at == '/')
        behind = sfid__part_behind(behind, 1);
    const bool slash = behind.len < p.len;
    if (scheme->shape == SOCKET && is_path(p))
        suggest(out, scheme->ours, "", p);
    else if (scheme->shape == SERVER && slash && has_only(behind, "0123456789") &&
             is_server(behind, false))
        suggest(out, scheme->ours, "localhost:6379/", behind); /* a database alone */
    else if (scheme->shape == SERVER && is_server(behind, false) &&
             !(slash && ends_in(behind, ".sock")))
        suggest(out, scheme->ours, "", behind);
    else if (scheme->shape == SERVER && is_socket(p))
        suggest(out, "unix", "", p);
    else
        snprintf(out, SFID__URI_HINT, "; write %s://%s", scheme->ours, forms[scheme->shape]);
}

void sfid__uri_hint(const char *text, char out[SFID__URI_HINT]) {
    struct sfid__part rest = {text, strlen(text)}, all = rest;
    const struct scheme *scheme = find_scheme(sfid__part_cut(&rest, ":"));
    out[0] = '\0';
    if (scheme && rest.len > 2 && memcmp(rest.at, "://", 3) == 0)
        hint_place(scheme, sfid__part_behind(rest, 3), out);
    else if (is_server(all, true))
        suggest(out, "redis", "", all);
    else if (is_socket(all))
        suggest(out, "unix", "", all);
    else if (scheme && rest.len > 2 &&
             (is_path(sfid__part_behind(rest, 1)) || is_server(sfid__part_behind(rest, 1), true)))
        hint_place(scheme, sfid__part_behind(rest, 1), out);
}
