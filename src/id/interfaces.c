/* SPDX-License-Identifier: MIT */
/* interfaces.c - addresses of this host's network interfaces. */
#include "base/compiler.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sfid.h>
#include <string.h>

enum { MAC = 6 };

/* Reads an address of its kind. Returns false for an address of another kind. */
typedef bool reader(const struct sockaddr *addr, uint64_t *value);

static bool read_mac(const struct sockaddr *addr, uint64_t *value) {
    struct sockaddr_ll link;
    if (addr->sa_family != AF_PACKET)
        return false;
    memcpy(&link, addr, sizeof link);
    if (link.sll_halen != MAC)
        return false;
    *value = 0;
    for (int i = 0; i < MAC; i++)
        *value = *value << 8 | link.sll_addr[i];
    return *value != 0;
}

static bool read_ipv4(const struct sockaddr *addr, uint64_t *value) {
    struct sockaddr_in in;
    if (addr->sa_family != AF_INET)
        return false;
    memcpy(&in, addr, sizeof in);
    *value = ntohl(in.sin_addr.s_addr);
    return true;
}

/* The list has all hardware addresses first, by interface number, and then the IPv4 addresses. */
static const struct ifaddrs *find_interface(const struct ifaddrs *all, const char *interface,
                                            bool up, reader *read, uint64_t *value) {
    for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
        const bool wanted =
            interface ? strcmp(a->ifa_name, interface) == 0 : (a->ifa_flags & IFF_LOOPBACK) == 0;
        if (wanted && a->ifa_addr && (!up || (a->ifa_flags & IFF_UP)) && read(a->ifa_addr, value))
            return a;
    }
    return NULL;
}

static int address(const char *interface, reader *read, uint64_t *value) {
    struct ifaddrs *all;
    if (getifaddrs(&all) < 0)
        return errno == ENOMEM ? SFID_ENOMEM : SFID_EUNSUPPORTED;
    const bool found = find_interface(all, interface, interface == NULL, read, value) ||
                       find_interface(all, interface, false, read, value);
    freeifaddrs(all);
    return found ? 0 : interface ? SFID_EINVAL : SFID_EUNSUPPORTED;
}

int sfid_mac_address(const char *interface, uint64_t *mac) {
    uint64_t value;
    const int rc = mac ? address(interface, read_mac, &value) : SFID_EINVAL;
    if (rc == 0)
        *mac = value;
    return rc;
}

int sfid_ipv4_address(const char *interface, uint32_t *ip) {
    uint64_t value;
    const int rc = ip ? address(interface, read_ipv4, &value) : SFID_EINVAL;
    if (rc == 0)
        *ip = (uint32_t)value;
    return rc;
}
