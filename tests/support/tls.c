/* SPDX-License-Identifier: MIT */
#include "support/tls.h"

#include "redis/connection.h"

#include <malloc.h>

char certificates[96];

void certificates_make(const char *more) {
    char command[4500];
    const char *source = getenv("srcdir");
    /* they are named in URLs */
    snprintf(certificates, sizeof certificates, "%s/tls", socket_dir());
    snprintf(command, sizeof command, "'%s/tests/tls/certificates' '%s' %s", source ? source : "..",
             certificates, more ? more : "");
    need(system(command) == 0, "no certificates: %s", command);
}

void tls_show(struct tls_server *s, const char *certificate) {
    char cert[140], key[140];
    snprintf(cert, sizeof cert, "%s/%s.pem", certificates, certificate);
    snprintf(key, sizeof key, "%s/%s.key", certificates, certificate);
    redis_do(&s->r, "CONFIG", "SET", "tls-cert-file", cert, "tls-key-file", key, NULL);
}

void tls_set(struct tls_server *s, const char *name, const char *value) {
    redis_do(&s->r, "CONFIG", "SET", name, value, NULL);
}

bool tls_listen(struct tls_server *s, const char *certificate) {
    char path[140], port[12];
    snprintf(path, sizeof path, "%s/ca.pem", certificates);
    if (strcmp(redis_text(&s->r, "CONFIG", "SET", "tls-auth-clients", "no", "tls-ca-cert-file",
                          path, NULL),
               "OK") != 0)
        return false;
    tls_show(s, certificate);
    for (int tries = 0;; tries++) {
        const int at = s->port ? s->port : redis_free_port();
        snprintf(port, sizeof port, "%d", at);
        const bool good =
            strcmp(redis_text(&s->r, "CONFIG", "SET", "tls-port", port, NULL), "OK") == 0;
        if (!good && tries < 5) /* another process has taken the port */
            continue;
        need(good, "%s: no port for TLS", s->r.program);
        s->port = at;
        snprintf(s->name, sizeof s->name, "localhost:%d", at);
        return true;
    }
}

/* Returns false, and skips, if the program has no TLS. */
static bool tls_start(struct tls_server *s, const char *program, unsigned flags) {
    memset(s, 0, sizeof *s);
    redis_start(&s->r, program, "tls", flags, NULL);
    if (tls_listen(s, "server"))
        return true;
    skip(1, "no TLS in %s", program);
    redis_kill(&s->r);
    return false;
}

const char *tls_url(const struct tls_server *s, const char *more, char url[URL]) {
    int n = snprintf(url, URL, "rediss://%s?timeout=20s&connect_timeout=20s&ca=%s/ca.pem", s->name,
                     certificates);
    for (const char *at = more; *at && n < URL - 1; at++) {
        if (at[0] == '%' && at[1] == 'c') {
            n += snprintf(url + n, (size_t)(URL - n), "%s", certificates);
            at++;
        } else {
            url[n++] = *at;
            url[n] = '\0';
        }
    }
    need(n < URL - 1, "%s is too long a path", certificates);
    return url;
}

int64_t tls_connections(struct tls_server *s) {
    char value[32];
    return atoll(redis_info(&s->r, "stats", "total_connections_received", value, sizeof value));
}

int tls_open(const char *url, const char *app, int64_t *pid, char text[600]) {
    sfid *g = NULL;
    sfid_options opt = fault_options(app, url);
    opt.on_unknown = SFID_TRUST;
    int rc = sfid_open(&g, &opt);
    *pid = sfid_pid(g);
    if (rc == 0 && sfid_next(g) < 0)
        rc = -1;
    snprintf(text, 600, "%s", sfid_last_error(g));
    sfid_close(g);
    return rc;
}

/* ---- connections ---------------------------------------------------------------- */

struct sfid__connection *tls_connection(const char *url) {
    struct sfid__connection *c;
    struct sfid__uri uri;
    struct sfid__error err;
    need(sfid__uri_parse(url, &uri, &err) >= 0 &&
             sfid__connection_new(&c, &uri, SFID__PEER_SERVER, "guest", &err) >= 0,
         "%s", err.text);
    return c;
}

int tls_ask(struct sfid__connection *c, struct sfid__error *err) {
    static _Thread_local struct sfid__reply_many room;
    struct sfid__redis_reply reply;
    sfid__reply_of_many(&reply, &room);
    const char *const command[] = {"PING"};
    return sfid__connection_exchange(
        c, &(struct sfid__question){1, command, NULL, tap_now_ms() + TAP_WAIT_MS, NULL}, &reply,
        err);
}

int tls_ping(const char *url, struct sfid__error *err) {
    struct sfid__connection *c = tls_connection(url);
    const int rc = tls_ask(c, err);
    sfid__connection_drop(c);
    return rc;
}

/* By AddressSanitizer leaks are found in any case. */
static size_t memory_used(void) {
#if defined(__GLIBC__) && !SANITIZED
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static unsigned memory_rounds(void) { return (unsigned)sized(400, 10000, 100); }

int tls_count_memory(char *urls) {
    const char *url[64];
    size_t n = 0, before = 0;
    struct sfid__error err = {.text = ""};
    for (char *save, *at = strtok_r(urls, " ", &save); at && n < COUNT_OF(url);
         at = strtok_r(NULL, " ", &save))
        url[n++] = at;
    for (size_t i = 0; i < 2 * n + memory_rounds(); i++) {
        if (i == 2 * n) /* what OpenSSL makes once it has made by then */
            before = memory_used();
        if ((tls_ping(url[i % n] + 1, &err) == 0) != (url[i % n][0] == '+')) {
            fprintf(stderr, "# %s: %s\n", url[i % n], err.text);
            return 1;
        }
    }
    const size_t after = memory_used();
    if (after > before + 2000)
        fprintf(stderr, "# %zu bytes, then %zu\n", before, after);
    return after > before + 2000 ? 2 : 0;
}

/* In a program of its own, whose allocator keeps no free pieces back. */
void tls_memory(const char *urls) {
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0", 1);
    is_i64(child_wait(self_start("memory", urls, NULL, NULL, NULL), 4 * TAP_WAIT_MS), 0,
           "memory is as before after %u connections", memory_rounds());
    unsetenv("GLIBC_TUNABLES");
}

/* ---- servers -------------------------------------------------------------------- */

/* Runs the test for each installed server with TLS; in the short form of tls_first(), only for
 * one. */
static void tls_run(void (*test)(struct tls_server *s), bool all) {
    fleet_begin(LAYOUT);
    certificates_make(NULL);
    for (size_t i = 0; i < servers.n; i++) {
        struct tls_server s;
        if (!tls_start(&s, servers.installed[i], REDIS_PORT))
            continue;
        diag("%s", servers.installed[i]);
        test(&s);
        redis_kill(&s.r);
        if (!all && getenv("SFID_TEST_LONG") == NULL)
            break;
    }
}

void tls_each(void (*test)(struct tls_server *s)) { tls_run(test, true); }

void tls_first(void (*test)(struct tls_server *s)) { tls_run(test, false); }
