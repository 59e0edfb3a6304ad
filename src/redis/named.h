/* SPDX-License-Identifier: MIT */
/* named.h - the hosts that a sentinel or a node may name: the list that parameter named_hosts of a
 * URL has. */
#ifndef SFID_REDIS_NAMED_H
#define SFID_REDIS_NAMED_H

#include "redis/network.h"

/*
 * Checks a list: items between commas, each of them an address, a network, or a name, in which *
 * stands for any characters but dots. 0, or SFID_EINVAL with the item at fault.
 */
int sfid__named_hosts_check(const struct sfid__uri_place *place, const char *list);

/* Does an item of a list fit the name, in letters of either case (NULL: there is none), or the
 * address? */
bool sfid__named_hosts_have(const char *list, const char *name, const struct sockaddr *at);

#endif
