/* SPDX-License-Identifier: MIT */
/*
 * silent.c - servers that fall silent beside the one of the fleet: the world of that name.
 *
 * Each process opens generators of some other servers before its own one. These servers fall silent
 * at one moment, which costs its own generator no renewal: it comes behind one turn with each of
 * them at most, three at a time (src/lease/turns.h). To the library a port is a server; here all of
 * them are one.
 */
#include "kinds.h"

/* generators of a process; the number of the one that all of them are */
enum { BESIDE = 60, IT = 1 };
#define LONGEST (700 * SECOND) /* so that windows end at times */

static bool is_world;
static int64_t renewed_ns[1 << 11], most_ns; /* by pid */

bool is_silent_one(unsigned which) { return is_world && which == IT; }

void silent_begins(void) {
    is_world = true;
    servers = IT + 1;
}

/* Those of a server have databases of their own. A server that is silent already is left out. */
void beside_open(void) {
    for (unsigned i = 0; is_world && i < BESIDE; i++) {
        sfid_options o = SFID_OPTIONS_INIT;
        char app[40], store[60];
        sfid *g = NULL;
        snprintf(app, sizeof app, "beside-%u", i);
        snprintf(store, sizeof store, "redis://server-%d:%u/%u", IT + 1, 7000 + i % settings.silent,
                 i / settings.silent);
        o.app = app;
        o.store = store;
        o.run_dir = RUN_DIR;
        o.state_dir = STATE_DIR;
        o.heartbeat_ms = (uint32_t)(terms.heartbeat / MS); /* as its own */
        o.short_ms = 0;
        o.on_unknown = SFID_TRUST;
        o.open_timeout_ms = 1000;
        if (lib.open(&g, &o) < 0) {
            note("%s: %s", app, lib.last_error(g));
            lib.close(g);
        }
    }
}

void fall_silent(void) {
    server[IT].silent_till = now_ns + terms.heartbeat + up_to(&streams.faults, LONGEST);
    note("%u servers are silent until %.3f", settings.silent, (double)server[IT].silent_till / 1e9);
}

/* Three at a time. */
static int64_t turns_of(unsigned n) { return (n + 2) / 3 * terms.deadline; }
static int64_t bound_ns(void) {
    return terms.heartbeat + turns_of(settings.silent) + terms.deadline + SECOND;
}

void silent_bounds(void) {
    const int64_t turn = turns_of(3) / 3, spare = terms.brief - terms.brief / 3;
    bound_print("a-turn", turn);
    bound_print("so-many-turns", spare / turn * SECOND);
}

/* A child looks each quarter of a window whether the crew that keeps its page still lives. */
void check_renewed(uint64_t pid, bool held) {
    if (!is_world || has_kind("fork") || pid >= sizeof renewed_ns / sizeof *renewed_ns)
        return;
    const int64_t gap_ns = renewed_ns[pid] ? now_ns - renewed_ns[pid] : 0;
    renewed_ns[pid] = held ? now_ns : 0;
    most_ns = gap_ns > most_ns ? gap_ns : most_ns;
    if (gap_ns > bound_ns())
        blame("RENEWED late: pid %" PRIu64 " after %.1f s", pid, (double)gap_ns / 1e9);
}

void silent_report(void) {
    if (is_world)
        printf(
            "longest time from one renewal to the next: %.1f s beside %u servers that fell silent, of %.1f\n",
            (double)most_ns / 1e9, settings.silent, (double)bound_ns() / 1e9);
}
