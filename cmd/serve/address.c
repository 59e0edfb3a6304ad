/* SPDX-License-Identifier: MIT */
/* address.c - addresses to listen on: HOST:PORT, [V6]:PORT, unix:/PATH. */
#include "serve/address.h"

#include "io/digits.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define FORMS "use an address such as 127.0.0.1:3525, [::1]:3525 or unix:/run/sfid.sock"

static const char *read_unix(const char *path, struct listen_address *address) {
    if (path[0] != '/')
        return "does not name a Unix socket; " FORMS;
    if (strlen(path) >= sizeof address->un.sun_path)
        return "is too long; the path of a Unix socket has at most 107 bytes";
    address->un = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->un.sun_path, path, strlen(path) + 1);
    address->len = sizeof address->un;
    return NULL;
}

/* Copies the host before the port, without brackets. */
static bool cut_host(const char *text, const char *end, char *host, size_t size) {
    const size_t len = (size_t)(end - text);
    if (len >= size)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    return true;
}

const char *listen_address_read(const char *text, struct listen_address *address) {
    char host[INET6_ADDRSTRLEN];
    uint64_t port;
    const char *colon = strrchr(text, ':');
    *address = (struct listen_address){.len = 0};
    if (strncmp(text, "unix:", 5) == 0)
        return read_unix(text + 5, address);
    if (colon == NULL || !read_u64(colon + 1, UINT16_MAX, &port))
        return "has no port from 0 to 65535; " FORMS;
    if (text[0] == '[') {
        address->in6 =
            (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        address->len = sizeof address->in6;
        if (colon[-1] != ']' || !cut_host(text + 1, colon - 1, host, sizeof host) ||
            inet_pton(AF_INET6, host, &address->in6.sin6_addr) != 1)
            return "has no numeric IPv6 address in its brackets; " FORMS;
        return NULL;
    }
    address->in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address->len = sizeof address->in;
    if (!cut_host(text, colon, host, sizeof host) ||
        inet_pton(AF_INET, host, &address->in.sin_addr) != 1)
        return "has no numeric IPv4 address; " FORMS;
    return NULL;
}

bool listen_address_is_local(const struct listen_address *address) {
    return address->any.sa_family == AF_UNIX ||
           (address->any.sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr)
                                               : ntohl(address->in.sin_addr.s_addr) >> 24 == 127);
}

void listen_address_show(const struct listen_address *address, char text[ADDRESS_ROOM]) {
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->any.sa_family == AF_UNIX) {
        snprintf(text, ADDRESS_ROOM, "unix:%s",
                 address->un.sun_path[0] ? address->un.sun_path : "(abstract)");
    } else if (address->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof host);
        snprintf(text, ADDRESS_ROOM, "[%s]:%u", host, ntohs(address->in6.sin6_port));
    } else {
        inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof host);
        snprintf(text, ADDRESS_ROOM, "%s:%u", host, ntohs(address->in.sin_port));
    }
}
