/* SPDX-License-Identifier: MIT */
/*
 * sfid_app_look() and sfid_app_init() before a server that says what the test tells it to: what
 * changes between looking and doing is looked at again, nonsense is not believed, and every call is
 * back in time. sfid_pid_look() tells from when on a pid is free. tests/redis/admin.c has the real
 * ones.
 */
#include "support/asker.h"

#include <time.h>

enum { LINE = 256, LINES = 16, LOG = 1 << 15, LATE_MS = 150 };

static char why[SFID_WHY_LEN];
static struct peer server;
static char store[300]; /* its URL, for exchanges that are answered */

/* ---- the server ---------------------------------------------------------- */

/* A line of words as an array: NOW is the clock, LATE the clock after a while, and ~ a space. One
 * that begins with - is an error. */
static void answer(int fd, const char *line) {
    char words[LINE], body[2 * LINE] = "", text[2 * LINE + 16];
    int count = 0;
    size_t used = 0;
    snprintf(words, sizeof words, "%.*s", LINE - 1, line);
    if (words[0] == '-') {
        snprintf(text, sizeof text, "%s\r\n", words);
        say_text(fd, text);
        return;
    }
    for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL; count++) {
        char now[24];
        for (char *at = word; (at = strchr(at, '~')) != NULL;)
            *at = ' ';
        snprintf(now, sizeof now, "%lld000", (long long)time(NULL));
        if (strcmp(word, "LATE") == 0) {
            struct timespec t;
            usleep(LATE_MS * 1000);
            clock_gettime(CLOCK_REALTIME, &t);
            snprintf(now, sizeof now, "%lld", (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000);
        }
        if (strcmp(word, "NOW") == 0 || strcmp(word, "LATE") == 0)
            word = now;
        used +=
            (size_t)snprintf(body + used, sizeof body - used, "$%zu\r\n%s\r\n", strlen(word), word);
    }
    snprintf(text, sizeof text, "*%d\r\n%s", count, body);
    say_text(fd, text);
}

/* One line of s->send for each command, the last one again and again; what was asked is noted
 * behind them. */
static void serve_lines(int fd, struct resp *in, struct peer_shared *s) {
    char asked[1024];
    while (next_command(in, fd, s, asked, sizeof asked)) {
        const int step = atomic_fetch_add(&s->step, 1);
        const char *line = s->send, *op = strstr(asked, " sfid:orders ");
        for (int i = 0; i < step && line[strlen(line) + 1] != '\0'; i++)
            line += strlen(line) + 1;
        char *log = s->send + LOG;
        /* not by the script's SHA-1 */
        const char *whole = strncmp(asked, "EVAL ", 5) == 0 ? "EVAL:" : "";
        snprintf(log + strlen(log), LOG - strlen(log), "%s%.4s%s ", whole, op ? op + 13 : "?",
                 strrchr(asked, ' '));
        if (strcmp(line, "SILENCE") != 0)
            answer(fd, line);
    }
}

/* The server will say this, one line for each question; NULL behind. */
static void will_say(const char *const *lines) {
    char *at = server.s->send;
    memset(at, 0, sizeof server.s->send);
    for (; *lines; lines++)
        at += sprintf(at, "%s", *lines) + 1;
    atomic_store(&server.s->step, 0);
}

#define WILL_SAY(...) will_say((const char *const[]){__VA_ARGS__, NULL})

/* "OPERATION LAST-ARGUMENT " of each question since; before it EVAL: if the whole script was
 * sent. */
static const char *asked(void) { return server.s->send + LOG; }

/* ---- asking -------------------------------------------------------------- */

static sfid_options options(int64_t pid_max) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.app = "orders";
    opt.store = store;
    opt.pid_max = pid_max;
    opt.open_timeout_ms = LONG_MS;
    return opt;
}

static int init(const sfid_options *opt, int force) {
    return sfid_app_init(opt, force, NULL, why, sizeof why);
}

static bool failed(int rc, int code, const char *words) {
    if (rc == code && strstr(why, words))
        return true;
    diag("code %d, \"%s\"\nwant %d, \"...%s...\"", rc, why, code, words);
    return false;
}

/* ---- what changes meanwhile ---------------------------------------------- */

#define LOOK(known, state, ...) "OK NOW " known " - 0 5 " state __VA_ARGS__
#define HELD " 1~held~9999999999~host:0:T"

static void test_stale(void) {
    const sfid_options opt = options(2), wide = options(100);
    WILL_SAY(LOOK("none", "a", " 3"), "OK NOW era");
    ok(init(&opt, 0) == 0, "nothing came in between");
    is_str(asked(), "look 0 init a ", "what was looked at is what is changed");
    WILL_SAY(LOOK("none", "a", " 3"), "CHANGED NOW", LOOK("current", "b", " 3"), "OK NOW era");
    ok(init(&opt, 0) == 0, "a restart came in between");
    is_str(asked(), "look 0 init a look 0 init b ", "it is looked at again");
    WILL_SAY(LOOK("none", "a", " 3"), "CHANGED NOW", LOOK("current", "b", " 3" HELD), "OK NOW era");
    ok(failed(init(&opt, 0), SFID_EBUSY, "pid 1 is held by host:0 until "),
       "and somebody who holds a pid since");
    is_str(asked(), "look 0 init a look 0 ", "that is seen");
    WILL_SAY(LOOK("none", "a", " 3"), "CHANGED NOW", LOOK("current", "b", " 3" HELD), "OK NOW era");
    ok(init(&opt, 1) == 0, "forced it is done");
    is_str(asked(), "look 0 init a look 0 init b ", "with what was seen last");
    WILL_SAY(LOOK("none", "a", " 64"), LOOK("none", "b", " 101"), LOOK("old", "b", " 64"),
             LOOK("old", "b", " 101"), "OK NOW era");
    ok(init(&wide, 0) == 0, "a restart while looking");
    is_str(asked(), "look 0 look 64 look 0 look 64 init b ", "nothing is done by halves of two");
    WILL_SAY(LOOK("none", "a", " 3"), "CHANGED NOW", LOOK("none", "a", " 3"), "CHANGED NOW",
             LOOK("none", "a", " 3"), "CHANGED NOW", LOOK("none", "a", " 3"), "CHANGED NOW",
             LOOK("none", "a", " 3"), "CHANGED NOW");
    ok(failed(init(&opt, 0), SFID_EAGAIN, "on each of 5 attempts"),
       "one that never stays the same is left alone at last");
}

/* ---- the script's name ---------------------------------------------------- */

#define NOSCRIPT "-NOSCRIPT No matching script. Please use EVAL."
#define NOPERM "-NOPERM this user has no permissions to run the 'evalsha' command"

static void test_script(void) {
    const sfid_options opt = options(2);
    WILL_SAY(NOSCRIPT, LOOK("none", "a", " 3"), "OK NOW era");
    ok(init(&opt, 0) == 0, "a server without the script");
    is_str(asked(), "look 0 EVAL:look 0 init a ", "is sent it once, and then its name again");
    WILL_SAY(LOOK("none", "a", " 3"), NOSCRIPT, "OK NOW era");
    ok(init(&opt, 0) == 0, "a server that loses it");
    is_str(asked(), "look 0 init a EVAL:init a ", "is sent the same question with it");
    WILL_SAY(NOPERM, LOOK("none", "a", " 3"), "OK NOW era");
    ok(init(&opt, 0) == 0, "a user who may not name scripts");
    is_str(asked(), "look 0 EVAL:look 0 EVAL:init a ", "sends the whole each time");
    WILL_SAY("-NOPERM this user has no permissions to run the 'eval' command");
    ok(failed(init(&opt, 0), SFID_EAUTH, "'eval'"), "one who may not use scripts");
    is_str(asked(), "look 0 ", "does not try again");
    WILL_SAY(NOSCRIPT, "-LOADING Redis is loading the dataset in memory");
    ok(failed(sfid_app_look(&opt, NULL, NULL, NULL, why, sizeof why), SFID_EREDIS, "LOADING"),
       "and an error is one");
}

/* ---- nonsense ------------------------------------------------------------ */

static const char *const nonsense[] = {
    "OK",
    "OK NOW",
    "OK never none - 0 5 a 3",
    "OK NOW some - 0 5 a 3",
    "OK NOW none - 0 5 a",
    "OK NOW none - 0 5 a x",
    "OK NOW none - x 5 a 3",
    "OK NOW none - 0 5 a 0",
    "OK NOW current - 0 5 a 3 1",
    "OK NOW current - 0 5 a 3 1~held~5",
    "OK NOW current - 0 5 a 3 1~held~5~",
    "OK NOW current - 0 5 a 3 x~held~5~h:0:T",
    "OK NOW current - 0 5 a 3 1~had~5~h:0:T",
    "RETRY NOW 1 2 3 4",
    "SKEWED NOW",
};

static void test_nonsense(void) {
    const sfid_options opt = options(2);
    for (size_t i = 0; i < COUNT(nonsense); i++) {
        WILL_SAY(nonsense[i]);
        const int rc = sfid_app_look(&opt, NULL, NULL, NULL, why, sizeof why);
        ok(failed(rc, SFID_EREDIS, "not the lease script's"), "not believed: %s", nonsense[i]);
        WILL_SAY(nonsense[i], "OK NOW era");
        ok(init(&opt, 1) == SFID_EREDIS && strncmp(asked(), "look 0 ", 7) == 0 &&
               !strstr(asked(), "init"),
           "and nothing is done by it");
    }
    WILL_SAY(LOOK("none", "a", " 3"), "LOST NOW era");
    ok(failed(init(&opt, 0), SFID_EREDIS, "init of app \"orders\""), "nor such an answer to init");
}

/* A question that was longer under way than clocks may differ is old, which says nothing about the
 * clocks. */
static void test_skew(void) {
    sfid_options opt = options(2);
    opt.max_skew_ms = LATE_MS - 50;
    WILL_SAY("SKEW LATE");
    ok(failed(sfid_app_look(&opt, NULL, NULL, NULL, why, sizeof why), SFID_EREDIS,
              "too long to compare the clocks"),
       "late: %s", why);
    WILL_SAY("SKEW 1000");
    ok(failed(sfid_app_look(&opt, NULL, NULL, NULL, why, sizeof why), SFID_ECLOCK,
              "ms ahead is more than the 100 allowed"),
       "another clock: %s", why);
}

/* ---- when a pid is free -------------------------------------------------- */

enum { NOW_S = 5000, NEVER_S = -1 };

static const sfid_layout seconds = SFID_LAYOUT(36, 11, 16, 1000, SFID_EPOCH_MS);

/* In ticks, of which this layout has one a second. The server's clock says NOW_S. */
static void free_from(uint64_t pid, const char *known, unsigned open, const char *record,
                      int64_t want, const char *what) {
    char line[LINE];
    sfid_options opt = options(100);
    sfid_pid_info info;
    opt.layout = &seconds;
    snprintf(line, sizeof line, "OK %lld %s - %u 5 a 101%s",
             (long long)SFID_EPOCH_MS + NOW_S * 1000LL, known, open, record);
    WILL_SAY(line, "-ERR no");
    need(sfid_pid_look(&opt, pid, &info, why, sizeof why) == 0, "%s", why);
    is_i64(info.free_unix_ms, want > 0 ? SFID_EPOCH_MS + want * 1000 : want, "free from: %s", what);
}

/* While the server waits for what it has forgotten, a pid is granted once both are over: its own
 * window and that wait. */
static void test_free(void) {
    free_from(3, "current", 0, " 3~held~5600~host:0:T", 5600, "the end of its window");
    free_from(3, "current", 5900, " 3~held~5600~host:0:T", 5900,
              "or of the wait, if that is later");
    free_from(3, "current", 5300, " 3~held~5600~host:0:T", 5600, "but not if it is earlier");
    free_from(3, "current", 5300, " 3~held~4900~host:0:T", 5300,
              "the end of the wait, if it has run out");
    free_from(3, "current", 4990, " 3~held~4900~host:0:T", 0, "at once, when both are over");
    free_from(3, "current", 0, " 3~held~5000~host:0:T", 0, "and in that tick");
    free_from(3, "current", 5900, " 3~released~5600~-", 5600,
              "a released one: from its first unused tick on, without a wait");
    free_from(3, "current", 5900, "", NEVER_S, "not known without a record");
    free_from(3, "old", 0, " 3~held~5600~host:0:T", NEVER_S, "nor by records that will be dropped");
    free_from(7, "current", 5900, " 7~held~5100~host:0:T", 5330,
              "a short one waits for a short window");
    free_from(7, "current", 5900, " 7~held~5400~host:0:T", 5400, "and for the end of its own");
}

/* ---- options, time ------------------------------------------------------- */

/* A mark is of this host, and looks at no server. */
static void test_marks(void) {
    sfid_mark_info info;
    sfid_options opt = options(100);
    ok(failed(sfid_mark_look(&opt, 3, &info, why, sizeof why), SFID_EUNSUPPORTED,
              "a pid that a server leases has no mark"),
       "a server's pid has no mark");
    ok(failed(sfid_mark_lower(&opt, 3, &info, why, sizeof why), SFID_EUNSUPPORTED,
              "a pid that a server leases has no mark"),
       "and none to lower");
    ok(failed(sfid_mark_look(NULL, 3, &info, why, sizeof why), SFID_EINVAL, "no options are given"),
       "no options");
    ok(failed(sfid_mark_look(&opt, 3, NULL, why, sizeof why), SFID_EINVAL, ""),
       "nowhere to write to");
    opt.store = NULL;
    opt.pid = 3;
    opt.app = NULL;
    ok(failed(sfid_mark_lower(&opt, 3, &info, why, sizeof why), SFID_EINVAL, "a mark is an app's"),
       "no app");
    opt.app = "a/b";
    ok(failed(sfid_mark_look(&opt, 3, &info, why, sizeof why), SFID_EINVAL, "invalid character"),
       "no name of one");
}

static void test_options(void) {
    sfid_options opt = options(2);
    ok(failed(sfid_app_look(NULL, NULL, NULL, NULL, why, sizeof why), SFID_EINVAL, "no options"),
       "no options");
    opt.app = NULL;
    ok(failed(init(&opt, 0), SFID_EINVAL, "app is not given"), "no app");
    opt = options(2), opt.store = NULL;
    ok(failed(init(&opt, 0), SFID_EINVAL, "neither store nor pid"), "no store");
    opt = options(2), opt.store = "local";
    ok(failed(init(&opt, 0), SFID_EUNSUPPORTED, "`sfid doctor --app orders`"),
       "the local store has no leases of this kind");
    opt = options(2), opt.store = NULL, opt.pid = 1;
    ok(failed(init(&opt, 0), SFID_EUNSUPPORTED, "a fixed pid is not leased"),
       "a fixed pid has not");
#ifndef HAVE_TLS
    opt = options(2), opt.store = "rediss://:sesame@localhost";
    ok(failed(init(&opt, 0), SFID_EUNSUPPORTED, "rediss://...") && !strstr(why, "sesame"),
       "a store that is not known here");
#endif
    opt = options(2), opt.ttl_ms = 999;
    ok(failed(init(&opt, 0), SFID_EINVAL, "ttl_ms 999"), "an option out of range");
    opt = options(2), opt.open_timeout_ms = 0;
    ok(failed(init(&opt, 0), SFID_EINVAL, "open_timeout_ms"), "no time");
    is_i64(sfid_app_look(NULL, NULL, NULL, NULL, NULL, 100), SFID_EINVAL,
           "nowhere to put the sentence");
    is_i64(sfid_app_look(NULL, NULL, NULL, NULL, why, 0), SFID_EINVAL, "no room for it");
}

/* ---- findings ------------------------------------------------------------ */

static char found[4000];

static void find(void *user, const sfid_finding *f) {
    (void)user;
    const size_t used = strlen(found);
    if (f->grade != SFID_CHECK_FINE)
        snprintf(found + used, sizeof found - used, "%s|%s\n", f->text, f->cure ? f->cure : "");
}

/* What is wrong with a server that says this version of itself, has two replicas, and shows no
 * setting. */
static const char *findings(const char *version, const char *parameters) {
    char url[400], facts[200];
    sfid_options opt = options(100);
    snprintf(url, sizeof url, "%s%s", store, parameters);
    opt.store = url;
    found[0] = '\0';
    snprintf(facts, sizeof facts, "role master connected_slaves 2 redis_version %s", version);
    WILL_SAY(facts, "-ERR no");
    if (sfid_app_check(&opt, find, NULL, why, sizeof why) != 0)
        diag("%s", why);
    return found;
}

static void test_versions(void) {
    static const char *const old[] = {"6.0.16", "6.2.6", "5.0.14"}, *const good[] = {
                                                                        "6.2.7", "7.0.15", "10.0.0",
                                                                        "unknown"};
    for (size_t i = 0; i < COUNT(old); i++) {
        ok(strstr(
               findings(old[i], ""),
               "does not apply min-replicas-to-write to scripts (6.2.7 does), and min_good is not set") &&
               strstr(found, "|add min_good=1 to the store URL"),
           "%s with replicas needs min_good", old[i]);
        ok(!strstr(findings(old[i], "&min_good=1"), "min_good is not set"),
           "%s with min_good does not", old[i]);
    }
    for (size_t i = 0; i < COUNT(good); i++)
        ok(!strstr(findings(good[i], ""), "min_good is not set"), "nor does version %s", good[i]);
}

/* Any number below half of the replicas lets two masters have as many. */
static void test_half(void) {
    static const struct {
        const char *replicas, *write, *least;
    } rows[] = {{"2", "1", NULL}, {"3", "1", "2"},  {"3", "2", NULL},
                {"4", "1", "2"},  {"4", "2", NULL}, {"7", "3", "4"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char facts[100], write[60], cure[60];
        sfid_options opt = options(100);
        snprintf(facts, sizeof facts, "role master connected_slaves %s redis_version 7.0.15",
                 rows[i].replicas);
        snprintf(write, sizeof write, "min-replicas-to-write %s", rows[i].write);
        snprintf(cure, sizeof cure, "|CONFIG SET min-replicas-to-write %s on each server",
                 rows[i].least ? rows[i].least : "");
        found[0] = '\0';
        WILL_SAY(facts, "-NOSCRIPT no", write, "min-replicas-max-lag 10", "-ERR no");
        is_i64(sfid_app_check(&opt, find, NULL, why, sizeof why), 0, "%s replicas, and %s to write",
               rows[i].replicas, rows[i].write);
        ok((strstr(found, "less than half") != NULL) == (rows[i].least != NULL) &&
               (!rows[i].least || strstr(found, cure)),
           "%s", rows[i].least ? "is too few" : "is enough");
    }
}

/* What a sentinel that names a host of another class can do with the password, and that it is
 * refused. */
static void test_named(void) {
    static const struct {
        const char *url, *parameters;
        bool warns;
    } rows[] = {
        {"redis+sentinel://app:s3same@127.0.0.1:%d/m", "", true},
        {"redis+sentinel://app@127.0.0.1:%d/m", "?password_file=/dev/null", true},
        {"redis+sentinel://app:s3same@127.0.0.1:%d/m", "?named_hosts=10.0.0.0/8", false},
        {"redis+sentinel://127.0.0.1:%d/m", "?sentinel_password=s3same", false},
        {"redis+cluster://:s3same@127.0.0.1:%d", "?registration=off", true},
        {"redis://:s3same@127.0.0.1:%d", "", false},
        {"rediss+sentinel://:s3same@127.0.0.1:%d/m", "", false},
    };
    static const char words[] = "*2\r\n$11\r\n203.0.113.9\r\n$4\r\n6379\r\n";
    struct peer sentinel = start_peer(true, serve_words);
    sfid_options opt = options(100);
    set_words(&sentinel, words, sizeof words - 1);
    for (size_t i = 0; i < COUNT(rows) - !SFID__TLS; i++) {
        char url[200];
        snprintf(url, sizeof url, rows[i].url, sentinel.port);
        snprintf(url + strlen(url), sizeof url - strlen(url), "%s", rows[i].parameters);
        opt.store = url;
        found[0] = '\0';
        is_i64(sfid_app_check(&opt, find, NULL, why, sizeof why), 0, "%s is looked at", url);
        ok((strstr(found, "has the password sent to any host") != NULL) == rows[i].warns &&
               (strstr(found, "named_hosts=10.0.0.0/8") != NULL) == rows[i].warns,
           "%s",
           rows[i].warns ? "whom its sentinels and nodes may name is open"
                         : "whom its password goes to is known");
        if (strstr(url, "//app:") && !ok(strstr(found, "203.0.113.9 is ") &&
                                             strstr(found, "|if that host is right, list it"),
                                         "the host that is named is refused, with the cure"))
            diag("%s", found);
    }
    stop_peer(&sentinel);
}

static void test_time(void) {
    sfid_options opt = options(100);
    opt.open_timeout_ms = 400;
    WILL_SAY("SILENCE");
    int64_t began = tap_now_ms();
    ok(failed(sfid_app_look(&opt, NULL, NULL, NULL, why, sizeof why), SFID_EREDIS, ""),
       "a server that says nothing");
    last_took = took_since(began);
    ends_after(400, "as the options say");
    WILL_SAY(LOOK("none", "a", " 64"), "SILENCE");
    began = tap_now_ms();
    ok(failed(init(&opt, 0), SFID_EREDIS, ""), "one that stops in the middle");
    last_took = took_since(began);
    ends_after(400, "that as well");
}

int main(void) {
    witness_begin();
    server = start_peer(false, serve_lines);
    snprintf(store, sizeof store, "%s?timeout=20s", server.url);
    test_stale();
    test_script();
    test_nonsense();
    test_skew();
    test_free();
    test_options();
    test_marks();
    test_versions();
    test_half();
    test_named();
    test_time();
    stop_peer(&server);
    return done_testing();
}
