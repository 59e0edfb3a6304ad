/* SPDX-License-Identifier: MIT */
/*
 * A process that comes to a known app with another layout, unit, epoch, window or skew budget is
 * refused with SFID_ELAYOUT, and nothing of the app changes: neither its hash nor a registration,
 * to the byte. Who holds a pid goes on. The same holds for a process whose clock is far from the
 * server's. And who gets no pid of a new app is told what is unknown, until when, and why.
 */
#include "support/fleet.h"

#define APP "settings"
#define LAYOUT "36:11:17/1s"

enum { AT_ONCE_MS = 10000 }; /* far less than the minute that a clock is behind */

static sfid_layout finer, wider, slower, later;

/* ---- what the server has ----------------------------------------------------- */

struct contents {
    struct reply *hash, *registration;
};

static int by_field(const void *a, const void *b) {
    return strcmp(((const struct reply *)a)->text, ((const struct reply *)b)->text);
}

/* The hash field by field, sorted: DUMP tells their order in memory as well, which changes with
 * looking. */
static struct contents contents_of(struct redis *r, int64_t pid) {
    char key[100];
    const char *const dump[] = {"DUMP", key};
    const size_t sizes[] = {strlen("DUMP"), registration_of(APP, pid, key)};
    struct contents c = {redis_ask(r, "HGETALL", "sfid:" APP, NULL),
                         redis_ask_n(r, 2, dump, sizes)};
    if (c.hash->type == '*')
        qsort(c.hash->list, c.hash->count / 2, 2 * sizeof *c.hash->list, by_field);
    return c;
}

static bool same_text(const struct reply *a, const struct reply *b) {
    return a->type == '$' && b->type == '$' && a->size == b->size &&
           memcmp(a->text, b->text, a->size) == 0;
}

static bool same_hash(const struct reply *a, const struct reply *b) {
    /* lay, inc, q, g and a record */
    bool same = a->type == '*' && b->type == '*' && a->count == b->count && a->count >= 10;
    for (size_t i = 0; same && i < a->count; i++)
        same = same_text(&a->list[i], &b->list[i]);
    return same;
}

static bool same_contents(struct contents before, struct contents after) {
    const bool same =
        same_hash(before.hash, after.hash) && same_text(before.registration, after.registration);
    reply_free(before.hash);
    reply_free(before.registration);
    reply_free(after.hash);
    reply_free(after.registration);
    return same;
}

/* ---- one who differs ------------------------------------------------------- */

static void refused(struct redis *r, const sfid_options *opt, int64_t pid, int code,
                    const char *word, const char *what) {
    struct member *m = members_new(1, opt);
    const struct contents before = contents_of(r, pid);
    is_i64(member_open_one(m), code, "%s: refused with %s", what, sfid_strerror(code));
    ok(same_contents(before, contents_of(r, pid)),
       "%s: hash and registration are the same, to the byte", what);
    if (!ok(strstr(m->text, APP) || strstr(m->text, word), "%s: the text says what differs", what))
        diag("%s", m->text);
    ok(strstr(m->text, word) != NULL, "%s: and what would be right", what);
    diag("%s", m->text);
    is_i64(member_end(m), 0, "%s: ends well", what);
}

static void test_settings(struct redis *r) {
    sfid_options opt = fleet_options(r, APP, &layout);
    opt.pid_max = 1000;  /* of all of these layouts */
    opt.ttl_ms = 300000; /* no renewal comes between two looks */
    opt.heartbeat_ms = 100000;
    opt.short_ms = 0;
    struct member *m = member_drawing(&opt);
    const int64_t pid = atomic_load(&m->pid);
    sfid_options other = opt;
    other.layout = &wider;
    refused(r, &other, pid, SFID_ELAYOUT, "36:11:17", "other widths");
    other.layout = &finer;
    refused(r, &other, pid, SFID_ELAYOUT, "/1000@", "another unit");
    other.layout = &slower;
    refused(r, &other, pid, SFID_ELAYOUT, "/1000@", "a longer unit");
    other.layout = &later;
    refused(r, &other, pid, SFID_ELAYOUT, "@1766361600000", "another epoch");
    other = opt;
    other.ttl_ms = 301000;
    refused(r, &other, pid, SFID_ELAYOUT, " 300000 ", "another window");
    other = opt;
    other.skew_budget_ms = 51;
    refused(r, &other, pid, SFID_ELAYOUT, " 300000 50 ", "another skew budget");
    other = opt;
    other.short_ms = 30000;
    refused(r, &other, pid, SFID_ELAYOUT, "30000/8;", "a short window");
    redis_clock_offset(r, 200 * 1000); /* further, and the registration has its end */
    refused(r, &opt, pid, SFID_ECLOCK, "behind", "a server 200 s ahead");
    redis_clock_offset(r, -3600 * 1000);
    refused(r, &opt, pid, SFID_ECLOCK, "ahead", "a server an hour behind");
    redis_clock_offset(r, -20 * 365 * INT64_C(86400000));
    refused(r, &opt, pid, SFID_ECLOCK, "epoch", "a server before the epoch");
    redis_clock_offset(r, 0);
    other = opt;
    other.heartbeat_ms = 90000;
    other.open_timeout_ms += 1;
    struct member *fits = members_new(1, &other);
    is_i64(member_open_one(fits), 0, "one that differs in its own settings only is let in");
    is_i64(member_end(fits), 0, "and ends well");
    ok(member_draws(m, 10, TAP_WAIT_MS), "who held a pid all along goes on");
    member_is_well(m, "it");
    is_i64(member_end(m), 0, "it ends well");
    judge(LAYOUT, "per-file", UINT64_MAX, "settings");
}

/* ---- a new app ------------------------------------------------------------- */

static void gets_none(const sfid_options *opt, const char *const *words, const char *what) {
    struct member *m = members_new(1, opt);
    is_i64(member_open_one(m), SFID_ENOPID, "%s: no pid", what);
    for (; *words; words++)
        ok(strstr(m->text, *words) != NULL, "%s: \"%s\"", what, *words);
    ok(strstr(m->text, "every pid") == NULL, "%s: it does not say that all are taken", what);
    diag("%s", m->text);
    is_i64(member_end(m), 0, "%s: ends well", what);
}

#define GETS_NONE(opt, what, ...) gets_none(opt, (const char *const[]){__VA_ARGS__, NULL}, what)

static void test_unknown(struct redis *r) {
    sfid_options opt = fleet_options(r, "unknown", &layout);
    opt.pid_max = 7;
    opt.ttl_ms = 600000;
    opt.heartbeat_ms = 100000;
    opt.short_ms = 30000;
    opt.on_unknown = SFID_WAIT_OUT;
    opt.open_timeout_ms = 500;
    GETS_NONE(&opt, "a new app", "does not know app \"unknown\"",
              "holders of its pids may go on until ", "the first comes free at ",
              "sfid init --app unknown --skew-budget-ms 50 --store ");
    redis_do(r, "HSET", "sfid:unknown", "3", "99999999999 n host-a:0:00000000000000ab", NULL);
    GETS_NONE(&opt, "one pid is taken",
              "some pids are taken, by host-a (1); holders of its other pids may go on until ");
    redis_clock_offset(r, -60000);
    GETS_NONE(&opt, "this host is ahead",
              "the short pids that come earlier are not for this host: its clock is ",
              " s ahead of the server's, more than half of short_ms; correct the clock");
    redis_clock_offset(r, 60000);
    struct member *m = members_new(1, &opt);
    is_i64(member_open_one(m), 0, "this host is behind: a short pid, once their time has come");
    ok(member_draws(m, 10, TAP_WAIT_MS), "this host is behind: it draws");
    in_time(m->first, AT_ONCE_MS, "this host is behind: at once, a minute ahead of its clock");
    is_i64(atomic_load(&m->pid), 7, "this host is behind: the short one");
    is_i64(member_end(m), 0, "this host is behind: ends well");
    redis_clock_offset(r, 0);
    redis_do(r, "DEL", "sfid:unknown", NULL);
}

static void test(struct redis *r) {
    test_settings(r);
    test_unknown(r);
}

int main(void) {
    fleet_begin(LAYOUT);
    wider = layout_of("36:10:18/1s");
    finer = layout_of("39:11:13/100ms");
    slower = layout_of("36:11:17/2s");
    later = layout_of("36:11:17/1s@1766361601000");
    on_servers(0, REDIS_CLOCK, test);
    return done_testing();
}
