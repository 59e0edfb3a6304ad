/* SPDX-License-Identifier: MIT */
/* sfid_pid_look() and sfid_pid_finish(): what is told of a pid, what may be ended, and what each
 * refusal is. */
#include "support/app.h"

#include <sfid.h>

#define EPOCH INT64_C(1766361600000)

static char url[200], why[SFID_WHY_LEN];
static sfid_pid_info info;

/* An app with the library's defaults at a server whose clock stands at the beginning of a second,
 * now. Returns its tick. */
static int64_t begin(struct app *a, struct redis *r, sfid_options *opt) {
    *a = app_today(r);
    *opt = (sfid_options)SFID_OPTIONS_INIT;
    snprintf(url, sizeof url, "unix://%s?timeout=20s&connect_timeout=20s", r->socket);
    opt->open_timeout_ms = TAP_WAIT_MS;
    opt->app = "{app}";
    opt->store = url;
    memset(&info, 0x55, sizeof info);
    return (a->now - EPOCH) / 1000;
}

static int look(const sfid_options *opt, uint64_t pid) {
    return sfid_pid_look(opt, pid, &info, why, sizeof why);
}

static int finish(const sfid_options *opt, uint64_t pid, const char *holder) {
    return sfid_pid_finish(opt, pid, holder, &info, why, sizeof why);
}

static void looks(struct redis *r) {
    struct app a;
    sfid_options opt;
    char limit[24];
    const int64_t tick = begin(&a, r, &opt);
    is_i64(look(&opt, 3), 0, "a pid of an app that nobody knows");
    is_i64(info.there, 0, "is not there");
    app_say(&a, "init", "", NULL);
    snprintf(limit, sizeof limit, "%" PRId64, tick + 30);
    app_say(&a, "claim", "3", "n16", "host-a:4:00000000000000aa", NULL);
    app_say(&a, "renew", "3", "n16", "host-a:4:00000000000000aa", "n17", limit, NULL);
    is_i64(look(&opt, 3), 0, "a pid that is held");
    ok(info.there == 1 && info.kind == SFID_LEASE_HELD && info.pid == 3, "is there");
    is_str(info.holder, "host-a:4", "its holder, without the token");
    is_str(info.nonce, "n17", "the nonce");
    is_str(info.registered, "host-a:4", "what is registered, without the token");
    is_i64(info.server_unix_ms, a.now, "the server's clock");
    is_i64(info.renewed_unix_ms, EPOCH + tick * 1000, "when it was granted");
    is_i64(info.until_unix_ms, EPOCH + (tick + 600) * 1000, "until when");
    is_i64(info.left_ms, 600000, "how long that is");
    is_i64(info.free_unix_ms, info.until_unix_ms, "from when on it is free");
    ok(info.registered_until > info.until_unix_ms &&
           info.registered_until <= info.until_unix_ms + 15000,
       "until when it is registered");
    ok(strstr(info.server, r->socket) != NULL, "the server");
    snprintf(limit, sizeof limit, "%" PRId64, tick + 600);
    app_say(&a, "release", "3", "n17", "host-a:4:00000000000000aa", "", "7", limit, NULL);
    is_i64(look(&opt, 3), 0, "one that was given back");
    ok(info.kind == SFID_LEASE_RELEASED && info.holder[0] == '\0' && info.registered[0] == '\0' &&
           info.nonce[0] == '\0',
       "has no holder");
    is_i64(info.free_unix_ms, 0, "and is free");
}

static void finishes(struct redis *r) {
    struct app a;
    sfid_options opt;
    const int64_t tick = begin(&a, r, &opt);
    is_i64(finish(&opt, 3, NULL), SFID_ELEASE, "of an app that nobody knows");
    char *before = app_contents(&a);
    ok(strstr(before, "lay") == NULL, "nothing is written");
    free(before);
    app_say(&a, "init", "", NULL);
    app_say(&a, "claim", "3", "n", "host-a:4:00000000000000aa", NULL);
    is_i64(finish(&opt, 4, NULL), SFID_ELEASE, "one that nobody has");
    is_i64(finish(&opt, 3, "host-b:4"), SFID_EAGAIN, "one that another has");
    ok(strstr(why, "host-a:4") && strstr(why, "host-b:4"), "both are named");
    is_i64(finish(&opt, 2048, NULL), SFID_EINVAL, "one that is none");
    is_i64(look(&opt, 3), 0, "until now");
    is_i64(info.kind, SFID_LEASE_HELD, "it is held");
    is_i64(finish(&opt, 3, "host-a:4"), 0, "it is ended");
    is_i64(info.kind, SFID_LEASE_ENDING, "its state then");
    is_i64(info.until_unix_ms, EPOCH + (tick + 30) * 1000, "its window is as it was");
    is_str(info.nonce, "", "no nonce counts any more");
    says(&a, "LOST", "its holder hears of it", "renew", "3", "n", "host-a:4:00000000000000aa", "n1",
         "99999999999", NULL);
    is_i64(finish(&opt, 3, NULL), 0, "again");
    reply_free(redis_ask(r, "EVAL", "return redis.call('SET', 'sfid:{app}:\\1\\0', 'other:0:x')",
                         "0", NULL));
    is_i64(finish(&opt, 1, NULL), SFID_EBUSY, "one that is registered by somebody else");
    ok(strstr(why, "other:0:x") != NULL, "who is named");
    app_say(&a, "claim", "8", "n", "host-a:5:00000000000000bb", NULL);
    redis_do(r, "REPLICAOF", "127.0.0.1", "1", NULL);
    redis_promote(r);
    is_i64(finish(&opt, 8, NULL), SFID_EAGAIN, "what is to be forgotten is not ended");
    opt.store = "local";
    is_i64(finish(&opt, 7, NULL), SFID_EUNSUPPORTED, "the local store has none to end");
    is_i64(look(&opt, 7), SFID_EUNSUPPORTED, "nor to show");
    is_i64(sfid_pid_look(&opt, 7, NULL, NULL, 0), SFID_EINVAL, "nowhere to show it");
    is_i64(sfid_pid_look(NULL, 7, &info, why, sizeof why), SFID_EINVAL, "no options");
    is_i64(sfid_app_check(&opt, NULL, NULL, why, sizeof why), SFID_EINVAL, "findings for nobody");
}

static void hear(void *user, const sfid_finding *finding) {
    (void)finding;
    ++*(int *)user;
}

static void checks_options(struct redis *r) {
    struct app a;
    sfid_options opt;
    int heard = 0;
    begin(&a, r, &opt);
    opt.app = NULL;
    is_i64(sfid_app_check(&opt, hear, &heard, why, sizeof why), SFID_EINVAL, "check: no app");
    ok(why[0] != '\0', "with a sentence");
    opt.app = "{app}";
    opt.ttl_ms = 10;
    is_i64(sfid_app_check(&opt, hear, &heard, why, sizeof why), SFID_EINVAL,
           "check: no time for a lease");
    opt.ttl_ms = 600000;
    heard = 0;
    is_i64(sfid_app_check(&opt, hear, &heard, why, sizeof why), 0, "check");
    ok(heard >= 8 && why[0] == '\0', "%d findings", heard);
}

static void test(struct redis *r) {
    looks(r);
    finishes(r);
    checks_options(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
