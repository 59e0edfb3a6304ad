/* SPDX-License-Identifier: MIT */
/* idle=close: between heartbeats there is no connection, IDs go on, renewals are made, and a close
 * releases the pid. */
#include "support/fleet.h"

#define LAYOUT "39:7:10/10ms"

enum { HEARTBEAT = 700, LOOKS = 60, LOOK_MS = 50 };

static unsigned connections(struct redis *r) {
    char value[40];
    /* ours */
    return (unsigned)strtoul(redis_info(r, "clients", "connected_clients", value, sizeof value),
                             NULL, 10) -
           1;
}

static bool has_none(void *r) { return connections(r) == 0; }

static bool has_renewed(void *m) { return events_of(m, SFID_EVENT_RENEWED) > 0; }

/* Returns in how many of all looks there was a connection. */
static unsigned looks_with_one(struct redis *r) {
    unsigned seen = 0;
    for (int i = 0; i < LOOKS; i++, nap_us(LOOK_MS * 1000))
        seen += connections(r) > 0;
    return seen;
}

static void test_idle(struct redis *r) {
    char line[RECORD], store[200];
    for (int closing = 0; closing < 2; closing++) {
        const char *what = closing ? "close" : "keep";
        sfid_options opt = fleet_lease(r, what, FLEET_TTL_MS, HEARTBEAT);
        snprintf(store, sizeof store, "%s&idle=%s", opt.store, what);
        opt.store = store;
        opt.pid_min = opt.pid_max = 1 + closing; /* the checker knows no apps */
        struct member *m = member_drawing(&opt);
        const int64_t begin = tap_now_ms();
        const unsigned seen = looks_with_one(r);
        const struct took connected = {(int64_t)seen * LOOK_MS, took_since(begin).stood_ms};
        diag("figure: idle=%s: a connection in %u of %d looks", what, seen, LOOKS);
        if (closing)
            in_time(connected, LOOKS * LOOK_MS / 2, "idle=close: no connection between heartbeats");
        else
            is_u64(seen, LOOKS, "idle=keep: a connection between heartbeats");
        ok(tap_wait_until(has_renewed, m, TAP_WAIT_MS) && member_draws(m, 10, TAP_WAIT_MS),
           "idle=%s: IDs go on, the lease is renewed", what);
        member_is_well(m, what);
        is_i64(events_of(m, SFID_EVENT_DISCONNECTED), 0, "idle=%s: nothing is told of it", what);
        is_i64(member_end(m), 0, "idle=%s: it ends well", what);
        const int64_t pid = atomic_load(&m->pid);
        ok(is_released(record_of(r, what, pid, line)), "idle=%s: its pid is released (%s)", what,
           line);
        ok(tap_wait_until(has_none, r, TAP_WAIT_MS), "idle=%s: no connection is left", what);
    }
    judge(LAYOUT, "per-file", UINT64_MAX, "idle");
}

int main(void) { return fleet_main(LAYOUT, 0, 0, test_idle); }
