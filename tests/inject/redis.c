/* SPDX-License-Identifier: MIT */
/*
 * Each call of the library that can fail fails in turn, in opens, renewals, closes and forks, with
 * pids of a server: see support/trial.h.
 *
 * Sizes: as local.c.
 */
#include "support/redis.h"
#include "support/trial.h"

static void adjust(sfid_options *opt) { opt->on_unknown = SFID_TRUST; }

int main(void) {
    const bool is_long = getenv("SFID_TEST_LONG") != NULL;
    const char *found[4];
    struct redis r;
    char by_path[160], by_port[80];
    if (redis_installed_ones(found, COUNT(found)) == 0)
        return done_testing();
    dirs_make();
    trials_begin();
    redis_start(&r, found[0], "server", REDIS_PORT | REDIS_CLOCK, NULL);
    snprintf(by_path, sizeof by_path, "unix://%s?timeout=500", r.socket);
    snprintf(by_port, sizeof by_port, "redis://localhost:%d", r.port);
    const struct {
        struct scenario s;
        unsigned works; /* of the short form, a bit each */
    } all[] = {
        {{.name = "server", .store = by_path, .pid = -1}, 1 << TRIAL_OPEN | 1 << TRIAL_RENEW},
        {{.name = "server by name", .store = by_port, .pid = -1}, 0},
        {{.name = "shared lease", .store = by_path, .pid = -1, .share = 1}, 0},
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        struct scenario s = all[i].s;
        s.adjust = adjust;
        s.server_clock_ns = &r.clock->clock_offset_ns;
        s.renews_ms = 310000; /* more than half of a lease */
        for (unsigned work = TRIAL_OPEN; work <= TRIAL_FORK; work++)
            if (is_long || all[i].works & 1U << work)
                trials(&s, work);
    }
    trials_end();
    redis_kill(&r);
    return done_testing();
}
