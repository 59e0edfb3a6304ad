/* SPDX-License-Identifier: MIT */
#include "redis/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

enum { V4_BEGINS = 96 }; /* bits before an IPv4 address */

static const unsigned char before_v4[V4_BEGINS / 8] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const struct sfid__network *n) {
    return n->bits >= V4_BEGINS && memcmp(n->bytes, before_v4, sizeof before_v4) == 0;
}

/* Has b the first bits of a? */
static bool begins_alike(const unsigned char *a, const unsigned char *b, unsigned bits) {
    const unsigned char last = (unsigned char)(0xff00 >> bits % 8);
    return memcmp(a, b, bits / 8) == 0 &&
           (bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) & last) == 0);
}

static bool ends_in_zeros(const struct sfid__network *n) {
    for (unsigned i = n->bits; i < 8 * sizeof n->bytes; i++)
        if (n->bytes[i / 8] & 0x80 >> i % 8)
            return false;
    return true;
}

bool sfid__network_read(struct sfid__part p, struct sfid__network *out) {
    char text[INET6_ADDRSTRLEN];
    const struct sfid__part address = sfid__part_cut(&p, "/");
    uint64_t bits;
    if (address.len >= sizeof text)
        return false;
    memcpy(text, address.at, address.len);
    text[address.len] = '\0';
    *out = (struct sfid__network){.bits = 0};
    memcpy(out->bytes, before_v4, sizeof before_v4);
    const bool v4 = inet_pton(AF_INET, text, out->bytes + sizeof before_v4) == 1;
    if (!v4 && inet_pton(AF_INET6, text, out->bytes) != 1)
        return false;
    bits = v4 ? 32 : 128;
    if (p.len > 0 && !sfid__part_number(sfid__part_behind(p, 1), bits, &bits))
        return false;
    out->bits = (unsigned)bits + (v4 ? V4_BEGINS : 0);
    return ends_in_zeros(out);
}

/* The network of this address alone. */
static bool take_address(const struct sockaddr *at, struct sfid__network *out) {
    out->bits = 128;
    if (at->sa_family == AF_INET) {
        memcpy(out->bytes, before_v4, sizeof before_v4);
        memcpy(out->bytes + sizeof before_v4, &((const struct sockaddr_in *)at)->sin_addr, 4);
    } else if (at->sa_family == AF_INET6) {
        memcpy(out->bytes, &((const struct sockaddr_in6 *)at)->sin6_addr, 16);
    }
    return at->sa_family == AF_INET || at->sa_family == AF_INET6;
}

bool sfid__network_has(const struct sfid__network *network, const struct sockaddr *at) {
    struct sfid__network address;
    return take_address(at, &address) && is_v4(network) == is_v4(&address) &&
           begins_alike(network->bytes, address.bytes, network->bits);
}

enum sfid__address_class sfid__address_class(const struct sockaddr *at) {
    static const struct {
        const char *network;
        enum sfid__address_class class;
    } rows[] = {
        {"127.0.0.0/8", SFID__LOOPBACK},
        {"0.0.0.0", SFID__LOOPBACK}, /* connecting there leads to this host */
        {"::1", SFID__LOOPBACK},
        {"::", SFID__LOOPBACK},
        {"169.254.0.0/16", SFID__LINK_LOCAL}, /* what a cloud tells its machines is here */
        {"fe80::/10", SFID__LINK_LOCAL},
        {"10.0.0.0/8", SFID__PRIVATE},
        {"172.16.0.0/12", SFID__PRIVATE},
        {"192.168.0.0/16", SFID__PRIVATE},
        {"100.64.0.0/10", SFID__PRIVATE}, /* behind a provider's NAT, and pods of some clouds */
        {"fc00::/7", SFID__PRIVATE},
    };
    if (at->sa_family == AF_UNIX) /* on this host */
        return SFID__LOOPBACK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sfid__network network;
        const struct sfid__part text = {rows[i].network, strlen(rows[i].network)};
        if (sfid__network_read(text, &network) && sfid__network_has(&network, at))
            return rows[i].class;
    }
    return SFID__PUBLIC;
}

const char *sfid__address_class_name(enum sfid__address_class class) {
    static const char *const names[] = {"unnamed", "loopback", "link-local", "private", "public"};
    return names[class];
}

void sfid__address_describe(const struct sockaddr *at, char out[SFID__ADDRESS_SHOWN]) {
    struct sfid__network address;
    const bool known = take_address(at, &address), v4 = at->sa_family == AF_INET;
    if (!known || !inet_ntop(at->sa_family, address.bytes + (v4 ? V4_BEGINS / 8 : 0), out,
                             SFID__ADDRESS_SHOWN))
        strcpy(out, "?");
}
