/* SPDX-License-Identifier: MIT */
#include "support/tls.h"

char certificates[96];

static void certificates_make(void) {
    char command[4500];
    const char *source = getenv("srcdir");
    snprintf(certificates, sizeof certificates, "%s/tls", socket_dir()); /* they are named in URLs */
    snprintf(command, sizeof command, "'%s/tests/tls/certificates' '%s'", source ? source : "..", certificates);
    need(system(command) == 0, "no certificates: %s", command);
}

void tls_show(struct tls_server *s, const char *certificate) {
    char cert[140], key[140];
    snprintf(cert, sizeof cert, "%s/%s.pem", certificates, certificate);
    snprintf(key, sizeof key, "%s/%s.key", certificates, certificate);
    redis_do(&s->r, "CONFIG", "SET", "tls-cert-file", cert, "tls-key-file", key, NULL);
}

void tls_set(struct tls_server *s, const char *name, const char *value) { redis_do(&s->r, "CONFIG", "SET", name, value, NULL); }

bool tls_listen(struct tls_server *s, const char *certificate) {
    char path[140], port[12];
    snprintf(path, sizeof path, "%s/ca.pem", certificates);
    if (strcmp(redis_text(&s->r, "CONFIG", "SET", "tls-auth-clients", "no", "tls-ca-cert-file", path, NULL), "OK") != 0)
        return false;
    tls_show(s, certificate);
    for (int tries = 0;; tries++) {
        const int at = s->port ? s->port : redis_free_port();
        snprintf(port, sizeof port, "%d", at);
        const bool good = strcmp(redis_text(&s->r, "CONFIG", "SET", "tls-port", port, NULL), "OK") == 0;
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
    int n = snprintf(url, URL, "rediss://%s?timeout=20s&connect_timeout=20s&ca=%s/ca.pem", s->name, certificates);
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

/* Runs the test for each installed server with TLS; in the short form of tls_first(), only for one. */
static void tls_run(void (*test)(struct tls_server *s), bool all) {
    fleet_begin(LAYOUT);
    certificates_make();
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
