/* SPDX-License-Identifier: MIT */
#include "redis/endpoint.h"

#include <arpa/inet.h>
#include <sfid.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 253

static int read_port(const struct sfid__uri_place *place, struct sfid__part p,
                     struct sfid__endpoint *out) {
    uint64_t port;
    if (!sfid__part_number(p, UINT16_MAX, &port) || port == 0)
        return SFID__URI_BAD(
            place,
            "the text after the host's colon has to be a port, 1 to 65535 (put an IPv6 address in [ ]; put "
            "@ between user:password and the host)");
    out->port = (uint16_t)port;
    return 0;
}

/* An IPv6 address, with %zone or without. */
static bool is_ipv6(const char *host) {
    char address[SFID__HOST_TEXT];
    struct in6_addr binary;
    const size_t len = strcspn(host, "%");
    memcpy(address, host, len);
    address[len] = '\0';
    const char *zone = host + len;
    return inet_pton(AF_INET6, address, &binary) == 1 && strcmp(zone, "%") != 0 &&
           zone[strspn(zone, SFID__ALNUM "%._-")] == '\0';
}

/* p begins with '['. */
static int read_ipv6(const struct sfid__uri_place *place, struct sfid__part p,
                     struct sfid__endpoint *out) {
    const struct sfid__part inside = sfid__part_cut(&p, "]");
    if (p.len == 0)
        return SFID__URI_BAD(place, "an IPv6 address begins with [ and has no ] at its end");
    if (sfid__part_decode(place, sfid__part_behind(inside, 1), "the IPv6 address", out->host,
                          sizeof out->host) < 0)
        return place->err->code;
    if (!is_ipv6(out->host))
        return SFID__URI_BAD(
            place, "the text in [ ] is not an IPv6 address (such as [::1], or [fe80::1%%25eth0])");
    p = sfid__part_behind(p, 1);
    if (p.len == 0)
        return 0;
    if (*p.at != ':')
        return SFID__URI_BAD(place, "only :port may follow [ ]");
    return read_port(place, sfid__part_behind(p, 1), out);
}

/* One that begins with a dot stands for all below it where certificates are checked. */
static bool is_name(const char *at, size_t len) {
    return len > 0 && len <= NAME_MAX_LEN && at[0] != '.' && strspn(at, SFID__ALNUM "._-") >= len;
}

bool sfid__endpoint_is_host(const char *host) {
    return strlen(host) < SFID__HOST_TEXT && (is_name(host, strlen(host)) || is_ipv6(host));
}

int sfid__endpoint_read(const struct sfid__uri_place *place, struct sfid__part p,
                        struct sfid__endpoint *out) {
    if (p.len > 0 && *p.at == '[')
        return read_ipv6(place, p, out);
    const struct sfid__part host = sfid__part_cut(&p, ":");
    if (host.len == 0)
        return SFID__URI_BAD(place,
                             "the host is missing: give host, host:port or user:password@host");
    if (host.len > NAME_MAX_LEN)
        return SFID__URI_BAD(place, "the host is longer than %d characters", NAME_MAX_LEN);
    if (!is_name(host.at, host.len))
        return SFID__URI_BAD(
            place,
            "the host has a character other than A-Z a-z 0-9 . - _ or begins with a dot (put an IPv6 address in [ ])");
    memcpy(out->host, host.at, host.len);
    out->host[host.len] = '\0';
    return p.len > 0 ? read_port(place, sfid__part_behind(p, 1), out) : 0;
}

bool sfid__endpoint_take(const char *host, const char *port, struct sfid__endpoint *out) {
    uint64_t number;
    if (!sfid__part_number((struct sfid__part){port, strlen(port)}, UINT16_MAX, &number) ||
        number == 0)
        return false;
    if (!sfid__endpoint_is_host(host))
        return false;
    snprintf(out->host, sizeof out->host, "%s", host);
    out->port = (uint16_t)number;
    return true;
}

void sfid__endpoint_describe(const struct sfid__endpoint *e, char out[SFID__ENDPOINT_SHOWN]) {
    const bool v6 = strchr(e->host, ':') != NULL;
    snprintf(out, SFID__ENDPOINT_SHOWN, "%s%s%s:%u", v6 ? "[" : "", e->host, v6 ? "]" : "",
             (unsigned)e->port);
}

bool sfid__endpoint_equals(const struct sfid__endpoint *a, const struct sfid__endpoint *b) {
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}
