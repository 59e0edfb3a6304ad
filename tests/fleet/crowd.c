/* SPDX-License-Identifier: MIT */
/*
 * An app with next to no pid left: with 2000 of 2048 taken an open gets one within so many
 * questions as a search of 128 pids each takes, wherever the free ones lie; with all of them taken
 * it says so in time, names machines that have them, and the time of day when the first comes free.
 * One that waits long enough gets that, and not before.
 *
 * Sizes: 6 opens for each of 3 ways to lie (long: 16), 12 opens in vain at once (long: 40;
 * sanitizer: 6).
 */
#include "support/fleet.h"

#define LAYOUT "36:11:17/1s"
#define APP "crowd"

enum {
    PIDS = 2048,
    STEP = 128,
    FREE = 48,
    MOST_VAIN = 40,
    ALPHA = 1500,
    TTL = 600000,
    LONG_TICKS = 590,
    SOON_TICKS = 500,
    TRIES = 4
};
/* What an open does once its time is over; and most of them do. */
enum { OVER_MS = 1000, MOST_OVER_MS = 250, IN_VAIN_MS = 4000, FREE_MS = 7000 };
enum way { TOGETHER, SCATTERED, LAST };

static uint64_t rng;

static sfid_options any_pid(struct redis *r) {
    sfid_options opt = fleet_options(r, APP, &layout);
    opt.pid_min = opt.pid_max = 0;
    opt.ttl_ms = TTL; /* all that others hold ends after the test */
    return opt;
}

/* ---- filling -------------------------------------------------------------- */

/* The app is made by the library; then its hash gets records as src/lease/lease.lua writes them.
 * Its index knows none of them. */
static void forget_index(struct redis *r) { redis_do(r, "HDEL", "sfid:" APP, "i0", NULL); }

static void make_app(struct redis *r) {
    const sfid_options opt = any_pid(r);
    struct member *m = members_new(1, &opt);
    member_open_or_die(m);
    member_end(m);
}

/*
 * All pids but those that are free, until so many ticks from now; the first 1500 by machine alpha,
 * the rest by beta. A record that a process left when it closed may be deleted once its last tick
 * has passed.
 */
static uint64_t take_pids(struct redis *r, const bool is_free[PIDS], uint64_t ticks) {
    tick_passes(&layout, tick_now(&layout), TAP_WAIT_MS);
    const uint64_t now = tick_now(&layout), limit = now + ticks;
    static char fields[PIDS][8], records[PIDS][80];
    const char *args[2 + 2 * PIDS] = {"HSET", "sfid:" APP};
    size_t n = 2;
    for (int pid = 0; pid < PIDS; pid++) {
        snprintf(fields[pid], sizeof fields[pid], "%d", pid);
        snprintf(records[pid], sizeof records[pid], "%011" PRIu64 " %016x %s:%d:%016x", limit,
                 pid + 1u, pid < ALPHA ? "alpha-8kq2" : "beta-77xy", pid, pid + 7u);
        if (is_free && is_free[pid]) {
            redis_do(r, "HDEL", "sfid:" APP, fields[pid], NULL);
            continue;
        }
        args[n++] = fields[pid];
        args[n++] = records[pid];
    }
    reply_free(redis_ask_n(r, n, args, NULL));
    forget_index(r);
    return now;
}

static void set_limit(struct redis *r, int pid, uint64_t limit) {
    char field[8], record[80];
    snprintf(field, sizeof field, "%d", pid);
    snprintf(record, sizeof record, "%011" PRIu64 " 0000000000000001 gamma-03pw:0:00000000000000aa",
             limit);
    redis_do(r, "HSET", "sfid:" APP, field, record, NULL);
    forget_index(r);
}

static void choose_free(bool is_free[PIDS], enum way way) {
    memset(is_free, 0, PIDS * sizeof *is_free);
    const uint64_t first = way == LAST ? PIDS - FREE : draw_random(&rng) % (PIDS - FREE);
    for (uint64_t n = 0; n < FREE;) {
        const uint64_t pid = way == SCATTERED ? draw_random(&rng) % PIDS : first + n;
        n += !is_free[pid];
        is_free[pid] = true;
    }
}

/* ---- few left --------------------------------------------------------------- */

static void test_few_left(struct redis *r, enum way way, const char *what) {
    static bool is_free[PIDS];
    const sfid_options opt = any_pid(r);
    const unsigned n = (unsigned)sized(6, 16, 3);
    struct member *all = members_new(n, &opt);
    unsigned failed = 0, taken = 0;
    uint64_t most = 0;
    int64_t longest = 0; /* only told */
    choose_free(is_free, way);
    take_pids(r, is_free, LONG_TICKS);
    for (unsigned i = 0; i < n; i++) {
        on_host(&all[i].opt, i); /* each begins to look at another pid */
        all[i].opt.on_unknown = SFID_WAIT_OUT;
        all[i].opt.heartbeat_ms = all[i].opt.ttl_ms / 3;
        redis_do(r, "CONFIG", "RESETSTAT", NULL);
        failed += member_open_one(&all[i]) != 0;
        const uint64_t calls = evals(r);
        const int64_t pid = atomic_load(&all[i].pid);
        taken += pid < 0 || pid >= PIDS || !is_free[pid];
        if (pid >= 0 && pid < PIDS)
            is_free[pid] = false;
        most = calls > most ? calls : most;
        longest = all[i].open.ms > longest ? all[i].open.ms : longest;
    }
    is_u64(failed, 0, "%s: with 2000 of 2048 taken each open gets a pid", what);
    is_u64(taken, 0, "%s: one that is free", what);
    ok(most >= 1 && most <= PIDS / STEP + 1, "%s: after %d questions at most", what,
       PIDS / STEP + 1);
    diag("figure: %s: at most %" PRIu64 " scripts for an open, the longest took %" PRId64 " ms",
         what, most, longest);
    for (unsigned i = 0; i < n; i++)
        failed += member_end(&all[i]) != 0;
    is_u64(failed, 0, "%s: all end well", what);
}

/* ---- none left -------------------------------------------------------------- */

static void time_of_day(uint64_t tick, char out[16]) {
    const time_t at = (time_t)((layout.epoch_ms + (int64_t)(tick * layout.unit_ms)) / 1000);
    struct tm then;
    gmtime_r(&at, &then);
    strftime(out, 16, "%H:%M:%SZ", &then);
}

static bool says_who_and_when(const char *text, const char *when) {
    /* it asks for 256 of them */
    return strstr(text, "alpha-8kq2 (256) and others") && strstr(text, when);
}

static void test_none_left(struct redis *r) {
    const sfid_options opt = any_pid(r);
    const uint64_t now = take_pids(r, NULL, LONG_TICKS);
    struct member *m = members_new(1, &opt);
    char when[16];
    set_limit(r, 1999, now + SOON_TICKS);
    time_of_day(now + SOON_TICKS, when);
    m->opt.open_timeout_ms = IN_VAIN_MS;
    for (int tries = 1;
         member_open_one(m) == SFID_ENOPID && !says_who_and_when(m->text, when) && tries < TRIES;
         tries++)
        member_end(m); /* its last question came too late */
    is_i64(m->rc, SFID_ENOPID, "with all taken: SFID_ENOPID");
    diag("%s", m->text);
    diag("figure: with all taken: given up after %" PRId64 " ms of %d", m->open.ms, IN_VAIN_MS);
    lasted(m->open, IN_VAIN_MS - 100, "after open_timeout_ms");
    in_time(m->open, IN_VAIN_MS + OVER_MS, "and no more than a second later");
    if (!ok(says_who_and_when(m->text, when),
            "its text names a machine and when the first pid comes free"))
        diag("not \"%s\" or not alpha-8kq2 (256) and others", when);
    is_i64(member_end(m), 0, "and the process ends well");
}

/* Questions of this kind that the server has answered since SLOWLOG RESET: entries are number,
 * time, duration, words, … */
static unsigned asked(struct redis *r, const char *kind) {
    struct reply *log = redis_ask(r, "SLOWLOG", "GET", "1000", NULL);
    unsigned n = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct reply *words = &log->list[i].list[3];
        for (size_t k = 0; k < words->count; k++)
            n += strcmp(words->list[k].text, kind) == 0;
    }
    reply_free(log);
    return n;
}

/* Whether the server stands still from the moment on that the member has looked; its open is over
 * then. */
static bool cut_short(struct redis *r, struct member *m) {
    redis_do(r, "SLOWLOG", "RESET", NULL);
    member_start(m);
    while (asked(r, "look") == 0 && !atomic_load(&m->opened))
        nap_us(20000); /* the looks at the log are in it, too */
    const bool has_looked = asked(r, "look") > 0;
    redis_pause(r);
    const bool early = !atomic_load(&m->opened);
    must(flag_wait(&m->opened, 1, TAP_WAIT_MS), "a member does not open");
    redis_resume(r);
    return has_looked && early;
}

/* The server stands still before the last question, for which there is less time than it may take:
 * that says nothing new. */
static void test_cut_short(struct redis *r) {
    const sfid_options opt = any_pid(r);
    struct member *m = members_new(1, &opt);
    /* after its first question it waits for 2 s, and a question may take 300 ms */
    m->opt.open_timeout_ms = 2250;
    fleet_timeout(&m->opt, r, 300);
    redis_do(r, "CONFIG", "SET", "slowlog-log-slower-than", "0", NULL);
    redis_do(r, "CONFIG", "SET", "slowlog-max-len", "1000", NULL);
    bool cut = false;
    for (int tries = 0; !cut && tries < TRIES; tries++) {
        if (m->child)
            /* the server stood still too late for this one, or the time was over before it
             * looked */
            member_end(m);
        cut = cut_short(r, m);
    }
    ok(cut, "a last question, cut short: it has searched, looked at who has the pids, and asks");
    is_i64(m->rc, SFID_ENOPID, "a last question, cut short: there still is no pid");
    if (!ok(strstr(m->text, "alpha-8kq2 (256)") && strstr(m->text, "becomes free"),
            "a last question, cut short: the text stays"))
        diag("%s", m->text);
    is_i64(member_end(m), 0, "a last question, cut short: ends well");
}

static bool has_words(const struct member *m) {
    const bool has =
        m->rc == SFID_ENOPID && strstr(m->text, "alpha-8kq2") && strstr(m->text, "becomes free");
    if (!has)
        diag("%u ms: %d: %s", m->opt.open_timeout_ms, m->rc, m->text);
    return has;
}

static int64_t over_ms(const struct member *m) {
    return m->open.ms - m->open.stood_ms - m->opt.open_timeout_ms;
}

static int latest_last(const void *a, const void *b) {
    const int64_t x = over_ms(*(const struct member *const *)a),
                  y = over_ms(*(const struct member *const *)b);
    return (x > y) - (x < y);
}

/* Whenever the last question comes before the end of its time: the answer is the same. A thread
 * that is late for it tries again. */
static void test_in_vain(struct redis *r) {
    const sfid_options opt = any_pid(r);
    const unsigned n = (unsigned)sized(12, MOST_VAIN, 6);
    struct member *all = members_new(n, &opt);
    unsigned wrong = 0, wordless = 0, bad = 0;
    const struct member *by_lateness[MOST_VAIN];
    for (unsigned i = 0; i < n; i++) {
        all[i].opt.open_timeout_ms = 2000 + 1500 * i / n;
        member_start(&all[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        bad += !flag_wait(&all[i].opened, 1, TAP_WAIT_MS);
        wrong += all[i].rc != SFID_ENOPID;
        by_lateness[i] = &all[i];
        bad += member_end(&all[i]) != 0;
    }
    qsort(by_lateness, n, sizeof *by_lateness, latest_last);
    const struct member *middle = by_lateness[n / 2], *latest = by_lateness[n - 1];
    diag("figure: in vain: the latest %" PRId64 " ms after its time, half of them %" PRId64,
         over_ms(latest), over_ms(middle));
    in_time(middle->open, middle->opt.open_timeout_ms + MOST_OVER_MS,
            "half of them a quarter of a second after their time at most");
    in_time(latest->open, latest->opt.open_timeout_ms + OVER_MS, "all of them within a second");
    for (unsigned i = 0; i < n; i++) {
        for (int again = 0; !has_words(&all[i]) && again < 2; again++)
            bad += member_open_one(&all[i]) == 0 || member_end(&all[i]) != 0;
        wordless += !has_words(&all[i]);
    }
    is_u64(bad, 0, "%u opens in vain at once: all end well", n);
    is_u64(wrong, 0, "each says that there is no pid");
    is_u64(wordless, 0, "and who has them, and until when");
}

static void test_comes_free(struct redis *r) {
    const sfid_options opt = any_pid(r);
    struct member *m = members_new(1, &opt);
    const uint64_t limit = tick_now(&layout) + 3;
    set_limit(r, 1234, limit);
    is_i64(member_open_one(m), 0, "a pid comes free before the time is over: it is had");
    is_i64(atomic_load(&m->pid), 1234, "that one");
    ok(member_draws(m, 1, TAP_WAIT_MS), "it draws");
    ok(id_tick(&layout, m->first_id) >= limit, "no ID of a tick before the limit of who had it");
    in_time(m->open, FREE_MS, "within 3 s of waiting and 3 s of pauses between looks");
    diag("figure: a pid that comes free: had after %" PRId64 " ms", m->open.ms);
    is_i64(member_end(m), 0, "ends well");
}

static void test_crowd(struct redis *r) {
    make_app(r);
    test_few_left(r, TOGETHER, "together");
    test_few_left(r, SCATTERED, "scattered");
    test_few_left(r, LAST, "the last ones");
    test_none_left(r);
    test_cut_short(r);
    test_in_vain(r);
    test_comes_free(r);
    judge(LAYOUT, "per-file", UINT64_MAX, "crowd");
}

int main(void) {
    rng = fleet_begin(LAYOUT);
    on_servers(0, 0, test_crowd);
    return done_testing();
}
