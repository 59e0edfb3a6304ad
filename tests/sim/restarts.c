/* SPDX-License-Identifier: MIT */
/* restarts.c - what befalls a server that is the only one of its app: restarts, old data, lost
 * data, lost rights. */
#include "sim.h"

static struct stream *const dice = &streams.faults;

static int64_t any_ns(int64_t ns) { return up_to(dice, ns); }

unsigned struck; /* the server to which it happens */

static void all_away(unsigned which, int64_t ns) {
    server[which].down_till = now_ns + ns;
    cause_begins(CAUSE_AWAY, EVERYWHERE, server[which].down_till);
}

/* Its name is another one then, and nobody can tell whether the file was an old one. */
static void restart_after(int64_t ns) {
    if (wire_is_stated())
        return;
    all_away(struck, ns);
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, server[struck].down_till);
    server_change(struck, SERVER_RESTARTS);
}

/* Its operator has taken a right away, and gives it back. */
void deny(void) {
    server_refuses(struck, REFUSAL_RIGHTS, now_ns + any_ns(60 * SECOND));
    cause_begins(CAUSE_AWAY, EVERYWHERE, server[struck].refuses_till);
}

void restart_with_data(void) { restart_after(any_ns(30 * SECOND)); }

/* So that no window ends meanwhile, or some do, or all. */
void restart_soon(void) { restart_after(any_ns(3 * SECOND)); }
void restart_late(void) { restart_after(any_ns(150 * SECOND)); }

void restart_without(void) {
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, now_ns);
    server_change(struck, chance(dice, 500) ? SERVER_LOADS_SAVE : SERVER_FORGETS);
}

void save(void) { server_change(struck, SERVER_SAVES); }

void flush(void) {
    if (wire_is_stated())
        return;
    cause_begins(CAUSE_FORGOT, EVERYWHERE, now_ns);
    server_change(struck, SERVER_FLUSHES);
}

/* The clocks of two servers may differ by the skew budget, and two steps of one by as much. */
void fail_over(void) {
    const int64_t most = terms.skew / 2 - 100 * MS;
    if (wire_is_stated())
        return;
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, now_ns);
    if (chance(dice, 500))
        save();
    server[struck].offset_ns =
        chance(dice, 500) ? (chance(dice, 500) ? most : -most) : any_ns(2 * most) - most;
    server_change(struck, SERVER_FAILS_OVER);
}

void put_back(void) {
    cause_begins(CAUSE_FORGOT, EVERYWHERE, now_ns);
    server_change(struck, chance(dice, 500) ? SERVER_GETS_SAVE : SERVER_GETS_HASH);
}
