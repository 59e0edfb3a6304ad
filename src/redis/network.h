/* SPDX-License-Identifier: MIT */
/*
 * network.h - addresses by their first bits: networks, and classes of networks.
 *
 * An IPv4 address is the same as ::ffff: and that address, and lies in IPv4 networks alone.
 */
#ifndef SFID_REDIS_NETWORK_H
#define SFID_REDIS_NETWORK_H

#include "redis/uri_text.h"

struct sockaddr;

struct sfid__network {
    unsigned char bytes[16]; /* as an IPv6 address */
    unsigned bits;           /* how many of them count */
};

/* Reads an address, or a network such as 10.0.0.0/8, whose other bits have to be 0. */
bool sfid__network_read(struct sfid__part p, struct sfid__network *out);

/* Does the address lie in it? Only IPv4 and IPv6 addresses lie in any. */
bool sfid__network_has(const struct sfid__network *network, const struct sockaddr *at);

/* From where an address can be reached. 0 is for hosts that nobody names. */
enum sfid__address_class {
    SFID__UNNAMED,
    SFID__LOOPBACK,
    SFID__LINK_LOCAL,
    SFID__PRIVATE,
    SFID__PUBLIC
};

/* Never SFID__UNNAMED. */
enum sfid__address_class sfid__address_class(const struct sockaddr *at);

/* "loopback" and so on. */
const char *sfid__address_class_name(enum sfid__address_class class);

#define SFID__ADDRESS_SHOWN 48
void sfid__address_describe(const struct sockaddr *at, char out[SFID__ADDRESS_SHOWN]);

#endif
