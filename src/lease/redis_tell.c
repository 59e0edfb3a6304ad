/* SPDX-License-Identifier: MIT */
#include "lease/redis_tell.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define SKEW_TOLD_MS 1000

void sfid__redis_tell(const struct sfid__store *store, sfid_event_kind kind, int code,
                      int64_t value, const char *text) {
    if (store->tell)
        store->tell(store->listener, kind, code, value, text);
}

void sfid__redis_tell_connected(struct sfid__store *store, const struct sfid__redis_app *app,
                                int rc, const struct sfid__error *err) {
    char text[SFID__URI_SHOWN + 40];
    const int is = rc == 0 || app->reply.count > 0;
    /* Relaxed, here and below: only this thread writes them, and readers need no other data with
     * them. */
    const int was = atomic_exchange_explicit(&store->connected, is, memory_order_relaxed);
    if (is && !was) {
        snprintf(text, sizeof text, "%s answers", app->shown);
        store->answer_ms = app->round_ms;
        sfid__redis_tell(store, SFID_EVENT_CONNECTED, 0, store->answer_ms, text);
    } else if (was && !is) {
        sfid__redis_tell(store, SFID_EVENT_DISCONNECTED, rc, 0, err->text);
    }
}

void sfid__redis_tell_skew(struct sfid__store *store, const struct sfid__redis_app *app) {
    char text[160];
    const int64_t skew = app->skew_ms, size = skew < 0 ? -skew : skew;
    atomic_store_explicit(&store->skew_ms, skew, memory_order_relaxed);
    const bool is = size > SKEW_TOLD_MS + app->round_ms;
    if (is == (store->said->skew.text[0] != '\0'))
        return;
    snprintf(text, sizeof text, "this host's clock is %" PRId64 " ms %s that of the Redis server%s",
             size, skew < 0 ? "behind" : "ahead of", is ? "" : ", which is within a second");
    /* kept: nobody listens during an open */
    snprintf(store->said->skew.text, sizeof store->said->skew.text, "%s", is ? text : "");
    sfid__redis_tell(store, SFID_EVENT_SKEW, 0, skew, text);
}

void sfid__redis_tell_replicas(struct sfid__store *store, struct sfid__redis_app *app,
                               const struct sfid__lease_action *ask, uint64_t pid) {
    uint64_t have = 0;
    struct sfid__error why, *too_few = &store->said->unreplicated;
    const uint32_t replicas = app->uri->replicas;
    if (replicas == 0)
        return;
    const int64_t now = sfid__deadline_now_ms(), wait_ms = store->exchange_ms / 2;
    const int64_t deadline = SFID__MIN(ask->deadline_ms, now + store->exchange_ms);
    const struct sfid__deadline until = {.at_ms = deadline, .stop = ask->stop};
    const int rc = sfid__redis_app_wait(
        app, replicas, SFID__MAX(1, SFID__MIN(wait_ms, deadline - now)), until, &have, &why);
    atomic_store_explicit(&store->replicas, rc < 0 ? -1 : (int64_t)have, memory_order_relaxed);
    too_few->text[0] = '\0';
    if (rc == 0 && have >= replicas)
        return;
    if (rc < 0)
        sfid__fail(too_few, rc,
                   "it is unknown how many of %" PRIu32 " replicas have the claim of pid %" PRIu64
                   ": %s",
                   replicas, pid, why.text);
    else
        sfid__fail(too_few, 0,
                   "%s: %" PRIu64 " of %" PRIu32 " replicas have the claim of pid %" PRIu64,
                   app->shown, have, replicas, pid);
    sfid__redis_tell(store, SFID_EVENT_UNREPLICATED, rc, (int64_t)have, too_few->text);
}
