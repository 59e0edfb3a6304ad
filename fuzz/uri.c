/* SPDX-License-Identifier: MIT */
/* uri.c - any bytes as a store's URL. An accepted one is within bounds. An error's text does not
 * depend on user and password. */
#include "redis/uri.h"

#include "fuzz.h"
#include "redis/named.h"

#include <sys/socket.h>

static bool ended(const char *text, size_t size) { return memchr(text, '\0', size) != NULL; }

static void check_accepted(const struct sfid__uri *u) {
    char shown[SFID__URI_SHOWN];
    HOLDS(ended(u->user, sizeof u->user) && ended(u->password, sizeof u->password) &&
          ended(u->master, sizeof u->master) && ended(u->path, sizeof u->path) &&
          ended(u->client_name, sizeof u->client_name) &&
          ended(u->named_hosts, sizeof u->named_hosts));
    HOLDS((u->nodes == 0) != (u->path[0] == '\0') && u->nodes <= SFID__URI_NODES);
    HOLDS(u->kind != SFID__URI_SERVER || u->nodes <= 1);
    HOLDS((u->kind == SFID__URI_SENTINEL) == (u->master[0] != '\0'));
    for (unsigned i = 0; i < u->nodes; i++)
        HOLDS(ended(u->node[i].host, sizeof u->node[i].host) && u->node[i].host[0] &&
              u->node[i].port > 0);
    HOLDS((u->cert[0] == '\0') == (u->key[0] == '\0'));
    HOLDS(u->sentinel_user[0] == '\0' || u->sentinel_password[0] != '\0' ||
          u->sentinel_password_file[0] != '\0');
    HOLDS(u->user[0] == '\0' || u->password[0] != '\0' || u->password_file[0] != '\0');
    HOLDS(u->password[0] == '\0' || u->password_file[0] == '\0');
    /* OpenSSL would take them for many names, or any */
    HOLDS(u->sni[0] != '.' && u->sni[0] != '%');
    HOLDS(u->named_hosts[0] == '\0' || u->kind != SFID__URI_SERVER);
    sfid__named_hosts_have(u->named_hosts, u->node[0].host,
                           &(struct sockaddr){.sa_family = AF_UNIX});
    HOLDS(u->password_file[0] == '\0' || u->password_file[0] == '/');
    HOLDS(u->path[0] == '\0' || u->path[0] == '/');
    HOLDS(u->db <= INT32_MAX);
    HOLDS(u->timeout_ms >= 10 && u->timeout_ms <= 600000);
    HOLDS(u->connect_timeout_ms >= 10 && u->connect_timeout_ms <= 600000);
    memset(shown, 'x', sizeof shown);
    sfid__uri_describe(u, shown, sizeof shown);
    HOLDS(ended(shown, sizeof shown) && strlen(shown) < sizeof shown - 1);
}

/* Replaces letters and digits of a possible user and password by x, except in escapes. Returns
 * false if there are none. */
static bool mask(char *url) {
    char *from = strstr(url, "://"), *to = strrchr(url, '@');
    if (from == NULL || to == NULL || to < from)
        return false;
    for (char *c = from + 3; c < to; c++)
        if (sfid__is_ascii_alnum(*c) && c[-1] != '%' && c[-2] != '%')
            *c = 'x';
    return true;
}

int fuzz_uri(const uint8_t *data, size_t size) {
    struct sfid__error err = {.code = 0}, masked_err = {.code = 0};
    struct sfid__uri uri, other;
    char *url = fuzz_copy(data, size, 1);
    const int rc = sfid__uri_parse(url, &uri, &err);
    HOLDS(rc == 0 || rc == SFID_EINVAL || rc == SFID_EUNSUPPORTED);
    if (rc == 0)
        check_accepted(&uri);
    else
        HOLDS(err.code == rc && err.text[0] != '\0' && ended(err.text, sizeof err.text));
    if (mask(url)) {
        HOLDS(sfid__uri_parse(url, &other, &masked_err) == rc);
        HOLDS(strcmp(err.text, masked_err.text) == 0);
    }
    free(url);
    return 0;
}

FUZZ_TARGET(uri)
