/* SPDX-License-Identifier: MIT */
/* sfid_app_look() and sfid_app_init(): who holds what, what is refused, what is changed. */
#include "support/app.h"

#include <sfid.h>

#define EPOCH INT64_C(1766361600000)
#define BUSY_PIDS 40
#define PATIENT "timeout=20s&connect_timeout=20s" /* none of its servers is away */

static char url[200], why[SFID_WHY_LEN];
static sfid_app_info info;
static int64_t server_now; /* whenever it is looked at */

/* An app with the library's defaults at a server whose clock stands at the beginning of a second,
 * now. Returns its tick. */
static int64_t begin(struct app *a, struct redis *r, sfid_options *opt) {
    *a = app_today(r);
    server_now = a->now;
    *opt = (sfid_options)SFID_OPTIONS_INIT;
    snprintf(url, sizeof url, "unix://%s?" PATIENT, r->socket);
    opt->open_timeout_ms = TAP_WAIT_MS;
    opt->app = "{app}";
    opt->store = url;
    memset(&info, 0x55, sizeof info);
    return (a->now - EPOCH) / 1000;
}

/* ---- looking ------------------------------------------------------------- */

struct seen {
    char text[2000];
    int most;
};

/* "PID kind left holder; " for each. */
static int list(void *user, const sfid_lease_info *lease) {
    static const char *const kinds[] = {"?",       "held",   "run-out", "released",
                                        "foreign", "ending", "unshown"};
    struct seen *seen = user;
    const size_t used = strlen(seen->text);
    const bool fits = lease->until_unix_ms < 0
                          ? lease->left_ms == 0
                          : lease->until_unix_ms == server_now + lease->left_ms;
    snprintf(seen->text + used, sizeof seen->text - used, "%" PRIu64 " %s %" PRId64 "%s%s %s; ",
             lease->pid, kinds[lease->kind], lease->left_ms, lease->until_unix_ms < 0 ? "?" : "",
             fits ? "" : " (which does not fit its end)", lease->holder);
    return --seen->most == 0;
}

/* Looks, in one check; *want is what list() makes of it, up to `most` pids (0: all). */
static void sees(const sfid_options *opt, int most, const char *want, const char *name) {
    struct seen seen = {"", most};
    const int rc = sfid_app_look(opt, &info, list, &seen, why, sizeof why);
    if (rc < 0)
        diag("%d: %s", rc, why);
    is_str(rc < 0 ? "failed" : seen.text, want, "%s", name);
}

/* The counts, "held foreign run-out released". */
static void counted(const char *want, const char *name) {
    char got[100];
    snprintf(got, sizeof got, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, info.held,
             info.foreign, info.run_out, info.released);
    is_str(got, want, "%s", name);
}

static int64_t unix_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void looks_at_nothing(struct redis *r) {
    struct app a;
    sfid_options opt;
    begin(&a, r, &opt);
    const int64_t before = unix_ms();
    sees(&opt, 0, "", "an app that nobody knows: no pids");
    const int64_t after = unix_ms();
    is_i64(info.state, SFID_APP_UNKNOWN, "its state");
    is_i64(info.open_unix_ms, -1, "when pids are handed out is not known");
    is_i64(info.wait_ms, 45000, "how long that would take is");
    is_i64(info.server_unix_ms, a.now, "the server's clock");
    ok(info.skew_ms >= before - a.now && info.skew_ms <= after - a.now,
       "how far this host's is ahead");
    ok(info.pid_min == 0 && info.pid_max == 2047, "all pids of the layout");
    is_i64(info.held_until_unix_ms, 0, "nobody holds one");
    ok(strncmp(info.server, "unix://", 7) == 0 && strstr(info.server, r->socket),
       "the server's URL");
    is_str(why, "", "no sentence");
    has(&a, a.key, "lay", "nil", "nothing was written");
    ok(sfid_app_look(&opt, NULL, NULL, NULL, NULL, 0) == 0,
       "nothing is wanted but that it answers");
}

/* pid 0 held, 1 run out, 2 released, 3 and 300 foreign. Returns the server's tick. */
static int64_t fill(struct app *a, struct redis *r, sfid_options *opt) {
    static const char three[] = "sfid:{app}:\3", without_end[] = "sfid:{app}:\54\1";
    const int64_t tick = begin(a, r, opt);
    app_at(a, tick - 700, 0);
    app_say(a, "init", "", NULL);
    app_say(a, "claim", "1", "n", "old-host-1:0:0123456789abcdef", NULL);
    app_at(a, tick, 0);
    app_say(a, "claim", "0", "n", "host-a1:12:0123456789abcdef", NULL);
    app_say(a, "claim", "2", "n", "host-b2:0:0123456789abcdef", NULL);
    char position[24], limit[24];
    snprintf(position, sizeof position, "%" PRId64, tick + 1);
    snprintf(limit, sizeof limit, "%" PRId64, tick + 30);
    app_say(a, "release", "2", "n", "host-b2:0:0123456789abcdef", "", position, limit, NULL);
    const char *const foreign[] = {"SET", three, "else:0:x", "PX", "60000"};
    reply_free(redis_ask_n(r, 5, foreign, (const size_t[]){3, sizeof three, 8, 2, 5}));
    const char *const endless[] = {"SET", without_end, "a\033[2J\200"};
    reply_free(redis_ask_n(r, 3, endless, (const size_t[]){3, sizeof without_end - 1, 6}));
    return tick;
}

#define ALL \
    "0 held 30000 host-a1:12; 1 run-out -670000 old-host-1:0; 2 released 1000 ; 3 foreign 60000 else:0:x; " \
    "300 foreign 0? a?[2J?; "

static void looks(struct redis *r) {
    struct app a;
    sfid_options opt;
    const int64_t tick = fill(&a, r, &opt);
    char *before = app_contents(&a);
    sees(&opt, 0, ALL, "all kinds of pids");
    counted("1 2 1 1", "they are counted");
    is_i64(info.state, SFID_APP_KNOWN, "the app is known");
    is_i64(info.open_unix_ms, 0, "pids without a record are handed out");
    is_i64(info.held_until_unix_ms, -1, "one of them has no end");
    sees(&opt, 2, "0 held 30000 host-a1:12; 1 run-out -670000 old-host-1:0; ", "two are enough");
    counted("1 2 1 1", "all are counted all the same");
    opt.pid_min = 1, opt.pid_max = 3;
    sees(&opt, 0, "1 run-out -670000 old-host-1:0; 2 released 1000 ; 3 foreign 60000 else:0:x; ",
         "a part of the pids");
    ok(info.pid_min == 1 && info.pid_max == 3, "which");
    is_i64(info.held_until_unix_ms, EPOCH + (tick + 60) * 1000, "until when the last is held");
    opt.pid_min = 0, opt.pid_max = 2;
    snprintf(url, sizeof url, "unix://%s?registration=off&" PATIENT, r->socket);
    sees(&opt, 0, "0 held 30000 host-a1:12; 1 run-out -670000 old-host-1:0; 2 released 1000 ; ",
         "without registrations");
    app_is_as(&a, before, "looking changes nothing");
}

/* ---- init ---------------------------------------------------------------- */

static void inits(struct redis *r) {
    struct app a;
    sfid_options opt;
    const int64_t tick = begin(&a, r, &opt);
    char now[24];
    snprintf(now, sizeof now, "%" PRId64, tick);
    ok(sfid_app_init(&opt, 0, &info, why, sizeof why) == 0, "init of a new app");
    is_str(why, "", "no sentence");
    is_i64(info.state, SFID_APP_UNKNOWN, "what was found before");
    has(&a, a.key, "q", now, "pids are handed out at once");
    ok(sfid_app_init(&opt, 0, NULL, NULL, 0) == 0, "twice does no harm");
    redis_do(r, "FLUSHALL", NULL);
    app_at(&a, tick - 700, 0);
    app_say(&a, "init", "", NULL);
    app_say(&a, "claim", "1", "n", "host-a1:0:0123456789abcdef", NULL);
    app_at(&a, tick, 0);
    ok(sfid_app_init(&opt, 0, &info, why, sizeof why) == 0, "a lease that has run out is none");
    counted("0 0 1 0", "it is counted");
    redis_do(r, "FLUSHALL", NULL);
    app_say(&a, "claim", "1", "n", "host-a1:0:0123456789abcdef", NULL);
    sees(&opt, 0, "", "an app that was forgotten, and asked for since");
    is_i64(info.state, SFID_APP_KNOWN, "is known");
    is_i64(info.open_unix_ms, EPOCH + (tick + 46) * 1000, "pids have to wait");
    ok(sfid_app_init(&opt, 0, &info, why, sizeof why) == 0,
       "unless somebody says that they need not");
    has(&a, a.key, "q", now, "so they are handed out at once");
}

static void refuses(struct redis *r) {
    struct app a;
    sfid_options opt;
    char now[24];
    snprintf(now, sizeof now, "%" PRId64, fill(&a, r, &opt));
    redis_do(r, "HSET", a.key, "q", "99999999999", NULL);
    char *before = app_contents(&a);
    is_i64(sfid_app_init(&opt, 0, &info, why, sizeof why), SFID_EBUSY, "init while pids are held");
    counted("1 2 1 1", "what was found");
    ok(strstr(why, "app \"{app}\" is in use: pid 0 is held by host-a1:12 until ") &&
           strstr(why, ", pid 3 is registered by else:0:x until ") &&
           strstr(why, ", pid 300 is registered by a?[2J? without end. Nothing was changed"),
       "the sentence names them");
    app_is_as(&a, before, "nothing was written");
    opt.pid_min = 2, opt.pid_max = 2;
    is_i64(sfid_app_init(&opt, 0, NULL, NULL, 0), 0,
           "where none of one's own part is held, it is done");
    redis_do(r, "HSET", a.key, "q", "99999999999", NULL);
    opt.pid_min = opt.pid_max = 3;
    is_i64(sfid_app_init(&opt, 0, NULL, NULL, 0), SFID_EBUSY,
           "a foreign one alone is enough to refuse");
    opt.pid_min = opt.pid_max = 0;
    is_i64(sfid_app_init(&opt, 1, &info, why, sizeof why), 0, "forced it is done");
    has(&a, a.key, "q", now, "pids are handed out at once");
    sees(&opt, 0, ALL, "those that are held stay so");
}

static void refuses_shortly(struct redis *r) {
    struct app a;
    sfid_options opt;
    begin(&a, r, &opt);
    app_say(&a, "init", "", NULL);
    a.registration = 0;
    for (int i = 0; i < BUSY_PIDS; i++) {
        char base[200];
        snprintf(base, sizeof base, "%0100d-%d:0:0123456789abcdef", 0, i);
        app_say(&a, "claim", "0", "n", base, NULL);
    }
    is_i64(sfid_app_init(&opt, 0, NULL, why, sizeof why), SFID_EBUSY, "many are held");
    ok(strstr(why, ", and 37 more, the last until ") && strstr(why, "running anywhere"),
       "three are named, and the end is told");
    char tiny[10];
    is_i64(sfid_app_init(&opt, 0, NULL, tiny, sizeof tiny), SFID_EBUSY,
           "little room for the sentence");
    is_u64(strlen(tiny), 9, "is not overrun");
}

/* What a server still knows from before it was superseded. */
static void forgets(struct redis *r) {
    struct app a;
    sfid_options opt;
    fill(&a, r, &opt);
    redis_do(r, "REPLICAOF", "127.0.0.1", "1", NULL);
    redis_promote(r);
    sees(&opt, 0, ALL, "after a failover what is to be forgotten can be seen");
    is_i64(info.state, SFID_APP_FORGOTTEN, "and that it will be");
    is_i64(info.open_unix_ms, -1, "from when on pids are handed out is not known");
    is_i64(sfid_app_init(&opt, 0, NULL, NULL, 0), SFID_EBUSY, "its holders may be running");
    is_i64(sfid_app_init(&opt, 1, &info, NULL, 0), 0, "forced");
    is_i64(info.state, SFID_APP_FORGOTTEN, "what was found");
    sees(
        &opt, 0,
        "0 unshown 30000 host-a1:12; 2 unshown 1000 host-b2:0; 3 foreign 60000 else:0:x; 300 foreign 0? a?[2J?; ",
        "it is forgotten; the registrations are left");
    is_i64(info.state, SFID_APP_KNOWN, "the app is known anew");
}

/* ---- errors ---------------------------------------------------------------- */

/* Both calls fail so, with these words, and out is left alone. */
static void fails(const sfid_options *opt, int code, const char *words, const char *name) {
    memset(&info, 0x55, sizeof info);
    const sfid_app_info before = info;
    is_i64(sfid_app_look(opt, &info, NULL, NULL, why, sizeof why), code, "look: %s", name);
    if (!ok(strstr(why, words), "says why"))
        diag("\"%s\" has no \"%s\"", why, words);
    why[0] = '\0';
    is_i64(sfid_app_init(opt, 1, &info, why, sizeof why), code, "init: %s", name);
    ok(strstr(why, words) && memcmp(&info, &before, sizeof info) == 0,
       "says why; nothing else is told");
}

static void errors(struct redis *r) {
    static const sfid_layout other = SFID_LAYOUT(36, 10, 18, 1000, EPOCH);
    struct app a;
    sfid_options opt;
    const int64_t tick = fill(&a, r, &opt);
    opt.layout = &other;
    fails(&opt, SFID_ELAYOUT, "36:11:17/1000@1766361600000 600000 15000 30000/8", "another layout");
    opt.layout = NULL, opt.ttl_ms = 610000;
    fails(&opt, SFID_ELAYOUT, "610000 15000", "another window");
    opt.ttl_ms = 600000, opt.skew_budget_ms = 1;
    fails(&opt, SFID_ELAYOUT, "600000 1 30000/8;", "another budget");
    opt.skew_budget_ms = 15000;
    app_at(&a, tick + 400, 0);
    fails(&opt, SFID_ECLOCK, "behind is more than the 300000 allowed", "clocks too far apart");
    opt.max_skew_ms = 100;
    app_at(&a, tick - 10, 0);
    fails(&opt, SFID_ECLOCK, "ahead is more than the 100 allowed", "or further than wanted");
    opt.max_skew_ms = 300000;
    app_at(&a, tick, 0);
    redis_do(r, "CONFIG", "SET", "requirepass", "sesame", NULL);
    snprintf(url, sizeof url, "unix://:opensaysme@%s?" PATIENT, r->socket);
    fails(&opt, SFID_EAUTH, "WRONGPASS", "a wrong password");
    ok(!strstr(why, "opensaysme"), "which is not told");
    snprintf(url, sizeof url, "unix://:sesame@%s?" PATIENT, r->socket);
    sees(&opt, 1, "0 held 30000 host-a1:12; ", "the right one");
    ok(!strstr(info.server, "sesame"), "is not told either");
    redis_do(r, "CONFIG", "SET", "requirepass", "", NULL);
    snprintf(url, sizeof url, "unix://%s?" PATIENT, r->socket);
    redis_do(r, "CONFIG", "SET", "min-replicas-to-write", "1", NULL);
    is_i64(sfid_app_init(&opt, 1, NULL, why, sizeof why), SFID_EREDIS,
           "a server that accepts no writes");
    sees(&opt, 1, "0 held 30000 host-a1:12; ", "may be looked at");
    redis_do(r, "CONFIG", "SET", "min-replicas-to-write", "0", NULL);
    redis_do(r, "DEL", a.key, NULL);
    redis_do(r, "SET", a.key, "text", NULL);
    fails(&opt, SFID_EREDIS, "WRONGTYPE", "a key of another kind");
    snprintf(url, sizeof url, "unix://%s.none", r->socket);
    fails(&opt, SFID_EREDIS, "sock.none", "nobody there");
}

static void test(struct redis *r) {
    looks_at_nothing(r);
    looks(r);
    inits(r);
    refuses(r);
    refuses_shortly(r);
    forgets(r);
    errors(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
