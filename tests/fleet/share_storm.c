/* SPDX-License-Identifier: MIT */
/*
 * A storm on one lease of a server that all share: 64 short lives a second, of which a quarter is
 * killed with SIGKILL at any moment, in sfid_open() and sfid_close() too. No duplicate; each ID is
 * above every one that any process had got before it was asked for; no call and no open of a life
 * that is left alone fails.
 *
 * First the server is left alone, and lives are often alone, too: they resume, claim and release.
 * Then a process that is stopped has the page all the time. The server forgets all, is killed and
 * comes back empty, or is stopped for a moment, again and again. All have one pid there.
 *
 * Sizes: 6 s and 14 s (long: 100 s and 200 s; with a sanitizer 16 lives a second for 3 s and 5 s).
 */
#include "support/fleet.h"
#include "support/lives.h"

#define LAYOUT "41:10:12/1ms"

enum { TTL = 30000, HEARTBEAT = 500, EVERY_MS = 1200, AWAY_MS = 250, EXTENSIONS = 20 };

static sfid_options options(const struct redis *r, const char *app) {
    sfid_options opt = fleet_lease(r, app, TTL, HEARTBEAT);
    opt.share = 1;
    return opt;
}

/* argument: the server's socket, and the app's name behind a comma. */
static int live(uint64_t random, const char *argument) {
    static struct redis r;
    const char *comma = strrchr(argument, ',');
    dirs_make();
    layout = layout_of(LAYOUT);
    snprintf(r.socket, sizeof r.socket, "%.*s", (int)(comma - argument), argument);
    const sfid_options opt = options(&r, comma + 1);
    return lives_live(lives_begin(), random, &opt);
}

/* ---- what happens to the server ------------------------------------------------- */

enum { LIVES_EACH_S = SANITIZED ? 16 : 64 };
enum harm { FORGETS, DIES, STOPS, HARMS };

struct trouble {
    struct redis *r;
    unsigned count[HARMS], n;
    int64_t next_ns, back_ns; /* back_ns: when it goes on; 0: it runs */
};

static void make_trouble(void *arg) {
    struct trouble *t = arg;
    const int64_t now = mono_ns();
    const enum harm harm = (enum harm)(t->n % HARMS);
    if (t->back_ns != 0 && now >= t->back_ns) {
        if (t->r->pid == 0)
            redis_restart(t->r, true);
        else
            redis_resume(t->r);
        t->back_ns = 0;
        t->n++;
    } else if (t->back_ns == 0 && now >= t->next_ns) {
        t->next_ns = now + EVERY_MS * (int64_t)NS_PER_MS;
        t->count[harm]++;
        if (harm == FORGETS) {
            redis_do(t->r, "FLUSHALL", NULL);
            t->n++;
            return;
        }
        (harm == DIES ? redis_kill : redis_pause)(t->r);
        t->back_ns = now + AWAY_MS * (int64_t)NS_PER_MS;
    }
}

/* ---- the storms -------------------------------------------------------------------- */

static uint64_t rng;

static void storm(struct redis *r, const char *app, uint64_t seconds, struct trouble *trouble) {
    struct lives_tally t = {.started = 0};
    struct lives_report *report = lives_begin();
    char argument[200];
    const sfid_options opt = options(r, app);
    snprintf(argument, sizeof argument, "%s,%s", r->socket, app);
    memset((void *)report, 0, sizeof *report);
    struct member *m = members_new(1, &opt);
    m->nap_us = 50000;
    m->burst = 1;
    member_open_or_die(m);
    atomic_store(&report->pid, atomic_load(&m->pid));
    if (trouble)
        member_stop(m); /* so that the others keep, and their keepers die */
    else
        member_end(m);
    lives_rage((int64_t)seconds * 1000 * NS_PER_MS, NS_PER_MS * INT64_C(1000) / LIVES_EACH_S, &rng,
               argument, trouble ? make_trouble : NULL, trouble, &t);
    /* the storm was too slow for all of it */
    for (int i = 0; trouble && trouble->count[STOPS] == 0 && i < EXTENSIONS; i++)
        lives_rage(EVERY_MS * (int64_t)NS_PER_MS, NS_PER_MS * INT64_C(1000) / LIVES_EACH_S, &rng,
                   argument, make_trouble, trouble, &t);
    lives_judge(report, &t);
    diag("figure: %" PRIi64 " lives had another pid than the one before", report->other_pids);
    if (trouble == NULL) {
        /* One that is killed between the end of its record and the release leaves a pid that nobody
         * can go on with. */
        ok(report->other_pids <= (int64_t)t.kills, "few, if any, have another pid");
    } else {
        while (trouble->back_ns != 0)
            make_trouble(trouble);
        member_go_on(m);
        ok(member_draws(m, 3, TAP_WAIT_MS), "the one that was stopped all the time goes on");
        is_i64(report->other_pids, 0, "all have one pid");
        is_i64(atomic_load(&m->errors), 0, "and no call of that one fails");
        is_i64(member_end(m), 0, "which ends");
        diag("figure: the server forgot %u times, died %u times, stopped %u times",
             trouble->count[FORGETS], trouble->count[DIES], trouble->count[STOPS]);
    }
    char run[200];
    snprintf(run, sizeof run, "%s/%s", dirs.run, app);
    is_i64(count_entries(run), 2, "the run directory has one page, and the doors");
    judge(LAYOUT, "per-file", UINT64_MAX, app);
}

static void test(struct redis *r) {
    struct trouble trouble = {.r = r};
    storm(r, "calm", sized(6, 100, 3), NULL);
    storm(r, "troubled", sized(14, 200, 5), &trouble);
    ok(trouble.count[STOPS] > 0, "each kind of trouble was made");
}

int main(int argc, char **argv) {
    if (argc > 3)
        return live(strtoull(argv[2], NULL, 10), argv[3]);
    rng = fleet_begin(LAYOUT);
    on_servers(0, 0, test);
    return done_testing();
}
