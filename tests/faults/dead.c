/* SPDX-License-Identifier: MIT */
/*
 * Servers that stop answering do not hold up a sound one: a process has generators of both, and the
 * one of the sound server is renewed in time, whether the others are of many databases of one dead
 * server, or of a few servers. tests/unit/turns has more of them, by events.
 */
#include "support/fleet.h"

#define LAYOUT "39:7:10/10ms"

enum { SERVERS = 3, DATABASES = 140, EACH = 50, RENEWALS = 3, LOOK_US = 5000 };
/* DEAD_MS: how long a turn with a dead server takes */
enum { WINDOW_MS = 60000, HEARTBEAT_MS = 500, DEAD_MS = 200 };

static struct redis server[SERVERS];
static sfid *dead[SERVERS * EACH > DATABASES ? SERVERS *EACH : DATABASES];
static size_t opened;

static void open_one(const struct redis *r, int database) {
    char app[24], store[200];
    snprintf(app, sizeof app, "dead-%zu", opened);
    snprintf(store, sizeof store, "unix://%s?db=%d&timeout=%dms&connect_timeout=%dms", r->socket,
             database, DEAD_MS, DEAD_MS);
    sfid_options opt = options_of(app, -1, &layout);
    opt.store = store;
    opt.ttl_ms = WINDOW_MS;
    opt.heartbeat_ms = HEARTBEAT_MS;
    opt.short_ms = 0;
    opt.on_unknown = SFID_TRUST;
    opt.open_timeout_ms = TAP_WAIT_MS;
    dead[opened++] = open_or_die(&opt);
}

static uint64_t renewals(const sfid *g) {
    sfid_status_info status;
    must(sfid_status(g, &status) == 0, "no status");
    return status.renewals;
}

/* The longest time between two renewals, of so many. */
static struct took longest(const sfid *g) {
    struct took most = {0, 0};
    int64_t last_ms = tap_now_ms();
    uint64_t seen = renewals(g);
    for (int n = 0; n < RENEWALS;) {
        const struct took took = took_since(last_ms);
        const uint64_t now = renewals(g);
        if (now == seen && took.ms < TAP_WAIT_MS) {
            nap_us(LOOK_US);
            continue;
        }
        most = took_longer(most, took);
        last_ms = tap_now_ms();
        seen = now;
        n++;
    }
    return most;
}

static void renews_beside(const struct redis *sound, size_t dead_servers, const char *what) {
    const sfid_options opt = fleet_lease(sound, what, WINDOW_MS, HEARTBEAT_MS);
    sfid *g = open_or_die(&opt);
    const uint64_t before = renewals(g);
    while (renewals(g) == before) /* a heartbeat begins */
        nap_us(LOOK_US);
    for (size_t i = 0; i < dead_servers; i++)
        redis_pause(&server[i]);
    const struct took took = longest(g);
    diag("figure: beside %s of %zu generators: renewed within %" PRId64 " ms", what, opened,
         took.ms);
    in_time(took, 4 * HEARTBEAT_MS, "beside %s: renewed each heartbeat", what);
    ok(sfid_try_next(g) >= 0, "beside %s: IDs go on", what);
    for (size_t i = 0; i < dead_servers; i++)
        redis_resume(&server[i]);
    while (opened > 0)
        sfid_close(dead[--opened]);
    sfid_close(g);
}

static void test_dead(struct redis *sound) {
    for (int i = 0; i < SERVERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "dead-%d", i);
        redis_start(&server[i], sound->program, name, 0, "--databases", "140", NULL);
    }
    for (int i = 0; i < DATABASES; i++)
        open_one(&server[0], i);
    renews_beside(sound, 1, "140-databases");
    for (int i = 0; i < SERVERS * EACH; i++)
        open_one(&server[i % SERVERS], 0);
    renews_beside(sound, SERVERS, "three-servers");
    for (int i = 0; i < SERVERS; i++)
        redis_kill(&server[i]);
}

int main(void) { return fleet_main(LAYOUT, 0, 0, test_dead); }
