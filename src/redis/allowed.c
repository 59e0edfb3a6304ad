/* SPDX-License-Identifier: MIT */
#include "redis/allowed.h"

#include "redis/named.h"

#include <sfid.h>

static bool is_allowed(const struct sfid__uri *uri, const struct sfid__addresses *a,
                       const struct sockaddr *at) {
    const struct sfid__endpoint *node = &uri->node[0];
    if (uri->named_hosts[0])
        return sfid__named_hosts_have(uri->named_hosts, a->literal ? NULL : node->host, at);
    return uri->tls || sfid__address_class(at) == node->named_by;
}

enum sfid__reply_class sfid__addresses_keep_allowed(const struct sfid__uri *uri,
                                                    struct sfid__addresses *a,
                                                    struct sfid__error *why) {
    const struct sfid__endpoint *node = &uri->node[0];
    const struct sfid__address first = a->list[0];
    const struct sockaddr *at = (const struct sockaddr *)&first.at;
    char shown[SFID__ADDRESS_SHOWN];
    unsigned kept = 0;
    if (node->named_by == SFID__UNNAMED)
        return SFID__REPLY_OK;
    for (unsigned i = 0; i < a->count; i++)
        if (is_allowed(uri, a, (const struct sockaddr *)&a->list[i].at))
            a->list[kept++] = a->list[i];
    a->count = kept;
    if (kept > 0)
        return SFID__REPLY_OK;
    sfid__address_describe(at, shown);
    if (uri->named_hosts[0])
        sfid__fail(why, SFID_EAUTH,
                   "%s is not in named_hosts= of the URL; if it is right, add it there", shown);
    else
        sfid__fail(
            why, SFID_EAUTH,
            "%s is %s, and the address of who names it is %s; if it is right, add named_hosts=%s to the URL",
            shown, sfid__address_class_name(sfid__address_class(at)),
            sfid__address_class_name(node->named_by), a->literal ? shown : node->host);
    return SFID__REPLY_CONFIG;
}
