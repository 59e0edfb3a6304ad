/* SPDX-License-Identifier: MIT */
/*
 * An upgrade over a change of the lease rules. Processes with the lease script of before
 * (before.lua) have the app's hash; today's library refuses it, in words that say which is older,
 * and changes nothing. sfid_app_init() with SFID_INIT_UPGRADE refuses while a pid may be in use,
 * also if forced. Once none may be, it lets today's library begin, and then the older one is
 * refused.
 *
 * One size: as long as the window of one lease, 4 s.
 */
#include "support/fleet.h"

#include <sfid/admin.h>

#define LAYOUT "39:6:14/10ms"
#define APP "upgrade"

enum { PIDS = 8, TTL = 4000, BUDGET = 50, OWN_MOST = 8 };

static char *before;

/* ---- the older library -------------------------------------------------------------- */

/* Returns the word; number: what follows the server's clock, as far as it is numbers. */
static const char *ask(struct redis *r, uint64_t number[3], const char *const own[OWN_MOST]) {
    static char word[16], epoch[24], now[24];
    snprintf(epoch, sizeof epoch, "%" PRIi64, layout.epoch_ms);
    snprintf(now, sizeof now, "%" PRIi64, wall_ns() / NS_PER_MS);
    const char *args[32] = {"EVAL", before, "1", "sfid:" APP, own[0], "39:6:14", epoch, "10",
                            "4000", "50",   now, "0",         "1",    "8",       "1"};
    size_t n = 15;
    for (int i = 1; i < OWN_MOST && own[i]; i++)
        args[n++] = own[i];
    struct reply *reply = redis_ask_n(r, n, args, NULL);
    must(reply->type == '*' && reply->count >= 2, "%s: %s", own[0],
         reply->text ? reply->text : "no text");
    snprintf(word, sizeof word, "%.15s", reply->list[0].text);
    for (size_t i = 0; i < 3; i++)
        number[i] = i + 2 < reply->count ? strtoull(reply->list[i + 2].text, NULL, 10) : 0;
    reply_free(reply);
    return word;
}

#define ASK(...) ask(r, number, (const char *const[OWN_MOST]){__VA_ARGS__})

/* One lease that is held, and one that was given back. Returns the limit of the first. */
static uint64_t leave_leases(struct redis *r) {
    uint64_t number[3];
    char pid[24], position[24], limit[24];
    must(strcmp(ASK("init", ""), "OK") == 0, "init of before");
    must(strcmp(ASK("claim", "5", "n", "host:1:00000000000000ab"), "OK") == 0, "a claim of before");
    snprintf(pid, sizeof pid, "%" PRIu64, number[2]);
    snprintf(position, sizeof position, "%" PRIu64, tick_now(&layout) + 1);
    snprintf(limit, sizeof limit, "%" PRIu64, number[1]);
    must(strcmp(ASK("release", pid, "n", "host:1:00000000000000ab", "-", position, limit), "OK") ==
             0,
         "a release of before");
    must(strcmp(ASK("claim", "3", "n", "host:0:00000000000000aa"), "OK") == 0, "a claim of before");
    return number[1];
}

/* ---- today's ----------------------------------------------------------------------------- */

static char why[SFID_WHY_LEN];

static void says_older(const char *text, const char *name) {
    ok(strstr(text, "older version of libsfid (lease rules 1, here 2)") &&
           strstr(text, "sfid init --upgrade --app " APP),
       "%s: %s", name, text);
}

static void is_refused(const sfid_options *opt) {
    sfid *g = NULL;
    sfid_app_info info;
    is_i64(sfid_open(&g, opt), SFID_ELAYOUT, "today's library refuses");
    says_older(sfid_last_error(g), "and says which is older, and what to do");
    sfid_close(g);
    is_i64(sfid_app_look(opt, &info, NULL, NULL, why, sizeof why), 0, "who looks is told");
    is_i64(info.state, SFID_APP_BARRED, "that the hash is older");
    ok(info.held == 1 && info.released == 1, "and who has its pids");
    is_i64(sfid_app_init(opt, SFID_INIT_FORCE, NULL, why, sizeof why), SFID_ELAYOUT,
           "init alone does nothing");
    says_older(why, "and says so");
}

static void stays_while_held(const sfid_options *opt) {
    is_i64(sfid_app_init(opt, SFID_INIT_UPGRADE, NULL, why, sizeof why), SFID_EBUSY,
           "nor does an upgrade while a pid is held");
    ok(strstr(why, "pid 3 is held by host:0") != NULL, "it says by whom: %s", why);
    is_i64(sfid_app_init(opt, SFID_INIT_UPGRADE | SFID_INIT_FORCE, NULL, why, sizeof why),
           SFID_EBUSY, "nor one that is forced");
    ok(strstr(why, "pid 3 may be in use until") != NULL, "it says until when: %s", why);
}

static void test_upgrade(struct redis *r) {
    uint64_t number[3];
    char line[RECORD];
    sfid_options opt = fleet_lease(r, APP, TTL, 1000);
    opt.pid_max = PIDS;
    opt.skew_budget_ms = BUDGET;
    opt.on_unknown = SFID_WAIT_OUT;
    const uint64_t limit = leave_leases(r);
    is_refused(&opt);
    stays_while_held(&opt);
    ok(strcmp(record_of(r, APP, 5, line), "") != 0 && strcmp(record_of(r, APP, 3, line), "") != 0,
       "its records are as they were");
    ok(tick_passes(&layout, limit, TAP_WAIT_MS), "the window of before ends");
    is_i64(sfid_app_init(&opt, SFID_INIT_UPGRADE, NULL, why, sizeof why), 0, "an upgrade");
    is_i64(sfid_app_init(&opt, SFID_INIT_UPGRADE, NULL, why, sizeof why), 0, "twice does no harm");
    struct member *m = member_drawing(&opt);
    ok(true, "today's library has a pid at once");
    is_str(ASK("claim", "1", "n", "host:2:00000000000000ac"), "LAYOUT", "the older one gets none");
    is_str(ASK("renew", "3", "n", "host:0:00000000000000aa", "n1", "1"), "LAYOUT", "nor keeps one");
    member_is_well(m, "today's library");
    is_i64(member_end(m), 0, "it ends well");
    judge(LAYOUT, "per-file", UINT64_MAX, "upgrade");
}

int main(void) {
    fleet_begin(LAYOUT);
    before = files_text((const char *const[]){"tests/fleet/before.lua", NULL});
    on_servers(0, 0, test_upgrade);
    free(before);
    return done_testing();
}
