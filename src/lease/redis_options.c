/* SPDX-License-Identifier: MIT */
#include "lease/redis_options.h"

#include "base/hash.h"
#include "lease/windows.h"
#include "redis/keyslot.h"

#include <inttypes.h>
#include <string.h>

int sfid__redis_options_read(const char *url, struct sfid__settings *out, struct sfid__error *err) {
    struct sfid__uri uri;
    if (sfid__uri_parse(url, &uri, err) < 0)
        return err->code;
    if ((out->uri = sfid__uri_copy(&uri)) == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    out->store_min = uri.pid_min;
    out->store_max = uri.pid_max;
    out->lends_range = uri.lends_range;
    out->shared = out->shared || uri.shared;
    return 0;
}

/* One script uses both kinds of an app's keys: in a cluster they have to lie in one slot. */
static int check_tag(const struct sfid__settings *s, struct sfid__error *err) {
    if (s->uri->registration == SFID__REGISTRATION_OFF || sfid__has_hash_tag(s->opt.app))
        return 0;
    return sfid__fail(
        err, SFID_EINVAL,
        "app \"%s\": in a cluster the keys of an app have to lie in one hash slot; put a part of its name in braces, "
        "such as \"{%s}\", or add registration=off to the URL",
        s->opt.app, s->opt.app);
}

int sfid__redis_options_finish(struct sfid__settings *out, struct sfid__error *err) {
    sfid_options *o = &out->opt;
    const uint64_t unit = o->layout->unit_ms;
    char server[SFID__URI_WHOLE];
    if (o->pid_max > SFID__REDIS_PID_MAX)
        return sfid__fail(err, SFID_EINVAL,
                          "pid_max %" PRId64 " is out of range: Redis leases pids up to %d",
                          o->pid_max, SFID__REDIS_PID_MAX);
    if (o->ttl_ms < 2 * unit)
        return sfid__fail(err, SFID_EINVAL,
                          "ttl_ms %" PRIu32 " is less than two ticks of the layout (%" PRIu64
                          " ms)",
                          o->ttl_ms, 2 * unit);
    if (sfid__windows_choose(out, err) < 0)
        return err->code;
    /* Another server has other holders: none of its leases may go on here. */
    sfid__uri_describe(out->uri, server, SFID__URI_SHOWN);
    if ((out->shown = strdup(server)) == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    if (out->uri->kind != SFID__URI_SERVER) /* several nodes need not fit in there */
        sfid__uri_describe(out->uri, server, sizeof server);
    out->of_pages = sfid__hash(out->fingerprint, server, strlen(server));
    return out->uri->kind == SFID__URI_CLUSTER ? check_tag(out, err) : 0;
}
