/* SPDX-License-Identifier: MIT */
/* endpoint.h - where a server listens: host and port, and who says so. */
#ifndef SFID_REDIS_ENDPOINT_H
#define SFID_REDIS_ENDPOINT_H

#include "redis/network.h"

#define SFID__HOST_TEXT 256

struct sfid__endpoint {
    char host[SFID__HOST_TEXT]; /* a name or an address; IPv6 without brackets */
    uint16_t port;
    /* of the address of the server that named it; SFID__UNNAMED: the URL has it */
    enum sfid__address_class named_by;
};

/*
 * Reads host[:port] of a URL. A host in brackets is an IPv6 address, with its zone after %25.
 * Without a port out->port stays as it is. 0 or SFID_EINVAL.
 */
int sfid__endpoint_read(const struct sfid__uri_place *place, struct sfid__part p,
                        struct sfid__endpoint *out);

/* A host name or a numeric address, without brackets. */
bool sfid__endpoint_is_host(const char *host);

/*
 * Takes an address that a server named: a host name or a numeric address, without brackets, and a
 * port in digits. False if it is neither, and *out stays as it was. The caller says who named it.
 */
bool sfid__endpoint_take(const char *host, const char *port, struct sfid__endpoint *out);

/* The most that sfid__endpoint_describe writes: "host:port", "[::1]:port". */
#define SFID__ENDPOINT_SHOWN (SFID__HOST_TEXT + 8)
void sfid__endpoint_describe(const struct sfid__endpoint *e, char out[SFID__ENDPOINT_SHOWN]);

/* The same host and port, whoever named them. */
bool sfid__endpoint_equals(const struct sfid__endpoint *a, const struct sfid__endpoint *b);

#endif
