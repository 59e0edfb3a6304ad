/* SPDX-License-Identifier: MIT */
#include "lease/holder_tell.h"

#include "id/layout.h"

#include <inttypes.h>
#include <stdio.h>

/* The pid of the IDs, while one is held. */
static uint64_t told_pid(const struct sfid__holder *h) {
    return h->by_host ? h->worker : h->lease.pid;
}

static void tell_stateless(const struct sfid__holder *h) {
    char text[SFID__ERROR_TEXT + 80];
    snprintf(text, sizeof text,
             "the identity of this host lives in the run directory until the next boot: %s",
             h->noticed->stateless.text);
    sfid__holder_tell(h, SFID_EVENT_NO_STATE_DIR, h->noticed->stateless.code, 0, text);
}

static void tell_passed_over(const struct sfid__holder *h) {
    const struct sfid__passed_over *over = &h->noticed->passed_over;
    char text[SFID__ERROR_TEXT + 60];
    snprintf(text, sizeof text, "passed over %u pid%s: %s", over->count,
             over->count == 1 ? "" : "s; the first", over->first.text);
    sfid__holder_tell(h, SFID_EVENT_UNUSABLE, over->first.code, over->count, text);
}

/* Relaxed: this thread drives the store by now. */
static void tell_server(const struct sfid__holder *h) {
    const struct sfid__store *store = h->store;
    const struct sfid__said *said = store->said;
    char text[SFID__ERROR_TEXT];
    snprintf(text, sizeof text, "%s answers", store->server);
    if (atomic_load_explicit(&store->connected, memory_order_relaxed))
        sfid__holder_tell(h, SFID_EVENT_CONNECTED, 0, store->answer_ms, text);
    if (said == NULL)
        return;
    if (said->skew.text[0])
        sfid__holder_tell(h, SFID_EVENT_SKEW, 0,
                          atomic_load_explicit(&store->skew_ms, memory_order_relaxed),
                          said->skew.text);
    if (said->stranger.text[0])
        sfid__holder_tell(h, SFID_EVENT_FOREIGN, 0, (int64_t)said->stranger_pid,
                          said->stranger.text);
    if (said->unreplicated.text[0])
        sfid__holder_tell(
            h, SFID_EVENT_UNREPLICATED, said->unreplicated.code,
            SFID__MAX(atomic_load_explicit(&store->replicas, memory_order_relaxed), 0),
            said->unreplicated.text);
}

void sfid__holder_tell_opened(const struct sfid__holder *h) {
    char text[160];
    if (h->slot.put_aside[0]) {
        snprintf(text, sizeof text, "the slot file of this pid was replaced: %s",
                 h->slot.put_aside);
        sfid__holder_tell(h, SFID_EVENT_SLOT_REPLACED, 0, 0, text);
    }
    if (h->noticed && h->noticed->passed_over.count)
        tell_passed_over(h);
    if (!h->run_is_tmpfs)
        sfid__holder_tell(
            h, SFID_EVENT_NOT_TMPFS, 0, 0,
            "the run directory is not on a tmpfs: a call may stall while its page is written back");
    if (h->noticed && h->noticed->stateless.code)
        tell_stateless(h);
    if (h->noticed && h->noticed->untrusted.code)
        sfid__holder_tell(h, SFID_EVENT_UNTRUSTED, h->noticed->untrusted.code, 0,
                          h->noticed->untrusted.text);
    if (!h->synced)
        sfid__holder_tell(h, SFID_EVENT_NOT_DURABLE, 0, 0,
                          "the mark is not synced (mark=none): after a power loss IDs may repeat");
    if (h->store->server)
        tell_server(h);
}

void sfid__holder_tell_pid(const struct sfid__holder *h, sfid_event_kind kind, const char *what) {
    char text[160];
    if (h->tell == NULL)
        return;
    snprintf(text, sizeof text, "pid %" PRIu64 " is %s", told_pid(h), what);
    sfid__holder_tell(h, kind, 0, 0, text);
}

void sfid__holder_tell_renewed(const struct sfid__holder *h) {
    const uint64_t now = h->tick, limit = h->lease.limit;
    sfid__holder_tell(h, SFID_EVENT_RENEWED, 0,
                      limit > now ? (int64_t)((limit - now) * h->generator->layout.unit_ms) : 0,
                      "the window was extended");
}

void sfid__holder_tell_lost(const struct sfid__holder *h) {
    char text[SFID__ERROR_TEXT + 40];
    snprintf(text, sizeof text, "pid %" PRIu64 " is no longer held: %s", told_pid(h),
             h->error.text);
    sfid__holder_tell(h, SFID_EVENT_LOST, h->error.code, 0, text);
}

void sfid__holder_tell_left(const struct sfid__holder *h) {
    char text[SFID__ERROR_TEXT + 160], until[SFID__TIME_TEXT];
    if (h->tell == NULL)
        return;
    sfid__time_text(sfid__tick_begin_ms(&h->generator->layout, h->left_till), h->wall_ms, until);
    snprintf(text, sizeof text, "pid %" PRIu64 " is left resumable until %s: %s", told_pid(h),
             until, h->error.text);
    h->tell(h->listener, SFID_EVENT_LEFT, h->error.code, 0, text);
}

/* Relaxed: the status need not be exact. */
void sfid__holder_status(const struct sfid__holder *h, sfid_status_info *out) {
    out->connected = atomic_load_explicit(&h->store->connected, memory_order_relaxed);
    out->replicas = atomic_load_explicit(&h->store->replicas, memory_order_relaxed);
    out->skew_ms = atomic_load_explicit(&h->store->skew_ms, memory_order_relaxed);
    snprintf(out->identity, sizeof out->identity, "%s", h->identity);
}
