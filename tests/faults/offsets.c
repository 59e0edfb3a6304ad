/* SPDX-License-Identifier: MIT */
/*
 * Hosts whose clock is not their server's. A second or a minute off, either way: sfid_open() is
 * quick, IDs flow at once, close gives the pid back, the next holder gets it. An hour off:
 * SFID_ECLOCK in time, both clocks in the text, nothing written.
 *
 * The server's clock is moved, by a shim; then, under the same shim, that of the processes, and the
 * server's stays.
 */
#include "support/opens.h"

static const char *program; /* the server's */
static const char *ticks;   /* the layout, as text */
static bool host_is_off;    /* else the server is */

#define SECONDS "36:11:17/1s" /* the default one */

struct off {
    int64_t host_ahead_ms;
    const char *what;
};

/* Either the server's clock is set, or that of all processes of this test; the latter have it in
 * their environment. */
static struct shim_control *host_clock;

static void set_clocks(struct redis *r, int64_t host_ahead_ms) {
    if (host_is_off)
        atomic_store(&host_clock->clock_offset_ns, host_ahead_ms * NS_PER_MS);
    else
        redis_clock_offset(r, -host_ahead_ms);
}

static int64_t server_ms(struct redis *r) {
    struct reply *t = redis_ask(r, "TIME", NULL);
    const int64_t ms =
        strtoll(t->list[0].text, NULL, 10) * 1000 + strtoll(t->list[1].text, NULL, 10) / 1000;
    reply_free(t);
    return ms;
}

/* Tick of the server's clock. */
static int64_t server_tick(struct redis *r) {
    return (server_ms(r) - layout.epoch_ms) / layout.unit_ms;
}

static struct member *new_member(const struct redis *r, const char *app, int64_t pid) {
    struct member *m = member_at(app, pid, "unix://%s", r->socket);
    m->opt.ttl_ms = 600000;
    m->opt.heartbeat_ms = 180000;
    m->opt.skew_budget_ms = 15000;
    m->opt.on_unknown = SFID_TRUST;
    return m;
}

/* ---- what works ------------------------------------------------------------ */

static void draws(struct member *m, const struct off *off, const char *what) {
    ok(member_draws(m, 40, TAP_WAIT_MS), "%s, %s: %s", program, off->what, what);
    in_time(member_gap(m), AT_ONCE_MS, "%s, %s: %s at once", program, off->what, what);
    is_i64(atomic_load(&m->errors), 0, "%s, %s: %s without an error", program, off->what, what);
}

static void test_small(struct redis *r, const struct off *off, int64_t pid) {
    char app[40];
    snprintf(app, sizeof app, "off%s%d-%" PRId64, host_is_off ? "-host" : "", (int)layout.unit_ms,
             pid);
    struct member *m = new_member(r, app, pid), *next = new_member(r, app, pid);
    /* where the host is ahead, one given back is the future's for a while */
    m->opt.pid_max = next->opt.pid_max = pid + 1;
    set_clocks(r, off->host_ahead_ms);
    const int64_t before = server_tick(r), unit = layout.unit_ms;
    member_open_or_die(m);
    in_time(m->open, AT_ONCE_MS, "%s, %s: opens at once", program, off->what);
    draws(m, off, "IDs flow");
    const int64_t after = server_tick(r),
                  lead = (off->host_ahead_ms > 0 ? off->host_ahead_ms : 0) / unit;
    const int64_t tick = (int64_t)id_tick(&layout, m->first_id);
    ok(tick >= before && tick >= before + lead - 1, "%s, %s: from the later of both clocks on",
       program, off->what);
    ok(tick <= after + lead + 1, "%s, %s: as they are now", program, off->what);
    member_kill(m);
    member_open_or_die(m);
    draws(m, off, "killed and started again it goes on");
    is_i64(member_end(m), 0, "%s, %s: closes", program, off->what);
    in_time(m->close, AT_ONCE_MS, "%s, %s: at once", program, off->what);
    member_open_or_die(next);
    in_time(next->open, AT_ONCE_MS, "%s, %s: the next one opens at once", program, off->what);
    ok(member_draws(next, 20, TAP_WAIT_MS), "%s, %s: and draws", program, off->what);
    is_i64(member_end(next), 0, "%s, %s: and closes", program, off->what);
    diag("figure: %-14s %-34s open %" PRId64 " ms, longest gap %" PRId64 " ms, next open %" PRId64
         " ms",
         program, off->what, m->open.ms, atomic_load(&m->gap_ms), next->open.ms);
}

/* The same pid, from a host ahead: the next one waits as long as the clock was ahead, no longer. */
static void test_next_of_one(struct redis *r) {
    struct member *m = new_member(r, "one", 200), *next = new_member(r, "one", 200);
    set_clocks(r, 1000);
    member_open_or_die(m);
    member_draws(m, 20, TAP_WAIT_MS);
    member_end(m);
    member_open_or_die(next);
    in_time(next->open, 1000 + JITTER_MS + AT_ONCE_MS,
            "%s: the very pid, a second ahead: had in time", program);
    member_draws(next, 20, TAP_WAIT_MS);
    member_end(next);
}

/* ---- what is refused ------------------------------------------------------- */

/* The text has the time of day of a moment between two, give or take a second. */
static bool tells_time(const char *text, int64_t from_ms, int64_t to_ms) {
    for (int64_t s = from_ms / 1000 - 1; s <= to_ms / 1000 + 1; s++) {
        const time_t at = (time_t)s;
        struct tm tm;
        char clock[16];
        gmtime_r(&at, &tm);
        strftime(clock, sizeof clock, "%H:%M:%SZ", &tm);
        if (strstr(text, clock))
            return true;
    }
    return false;
}

/* What DUMP has, as text. */
static char *contents(struct redis *r, const char *app) {
    char key[100];
    snprintf(key, sizeof key, "sfid:%s", app);
    struct reply *dump = redis_ask(r, "DUMP", key, NULL);
    const size_t size = dump->type == '$' ? dump->size : 0;
    char *text = calloc(1, 2 * size + 1);
    need(text != NULL, "out of memory");
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned char)dump->text[i]);
    reply_free(dump);
    return text;
}

static int hour_off(void *arg) {
    struct attempt *a = arg;
    char url[sizeof a->text];
    snprintf(url, sizeof url, "%s", a->text);
    *a = attempt_until(url, "hour", true, "clock");
    return 0;
}

static void test_large(struct redis *r, const struct off *off) {
    struct attempt *a = shared_memory(sizeof *a);
    set_clocks(r, 0);
    redis_do(r, "FLUSHALL", NULL);
    for (int known = 0; known < 2; known++) {
        if (known) { /* somebody with the right time has been there */
            set_clocks(r, 0);
            struct member *m = member_at("hour", 250, "unix://%s", r->socket);
            m->opt.on_unknown = SFID_TRUST;
            member_open_or_die(m);
            member_end(m);
        }
        char *before = contents(r, "hour");
        const int64_t keys = redis_do(r, "DBSIZE", NULL);
        set_clocks(r, off->host_ahead_ms);
        snprintf(a->text, sizeof a->text, "unix://%s", r->socket);
        const int64_t from = server_ms(r);
        child_run(hour_off, a, TAP_WAIT_MS);
        const int64_t to = server_ms(r);
        char *after = contents(r, "hour");
        is_i64(a->code, SFID_ECLOCK, "%s, %s: refused", program, off->what);
        attempt_in_time(a, off->what);
        if (!ok(tells_time(a->text, from, to) &&
                    tells_time(a->text, from + off->host_ahead_ms, to + off->host_ahead_ms) &&
                    strstr(a->text, r->socket),
                "%s, %s: with both clocks in the text", program, off->what))
            diag("%s", a->text);
        is_str(after, before, "%s, %s: the app is as it was", program, off->what);
        /* one may have expired */
        ok(redis_do(r, "DBSIZE", NULL) <= keys, "%s, %s: and no key was added", program, off->what);
        free(before);
        free(after);
    }
}

/* A holder whose clock goes wrong and comes right again: what it issues lies in its window all the
 * while, or is refused. */
static void test_holding(struct redis *r, int64_t pid) {
    struct member *m = member_at("holding", pid, "unix://%s", r->socket);
    m->opt.heartbeat_ms = 300;
    m->opt.on_unknown = SFID_TRUST;
    set_clocks(r, 0);
    member_open_or_die(m);
    for (int i = 0; i < 2; i++) {
        const int from = atomic_load(&m->events);
        set_clocks(r, i ? -3600000 : 3600000);
        ok(member_told(m, from, SFID_ECLOCK, "", ""),
           "%s: a holder whose clock jumps an hour is told", program);
        const int renewed = events_of(m, SFID_EVENT_RENEWED);
        set_clocks(r, 0);
        ok(member_had(m, SFID_EVENT_RENEWED, renewed + 1, TAP_WAIT_MS) &&
               member_draws(m, 100, TAP_WAIT_MS),
           "%s: and goes on when it is right again", program);
    }
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "%s: with the pid it had", program);
    member_end(m);
}

static void set_ticks(const char *text) {
    ticks = text;
    layout = layout_of(text);
}

static void test_server(int64_t pid) {
    static const struct off small[] = {{1000, "host 1 s ahead"},
                                       {-1000, "host 1 s behind"},
                                       {60000, "host 1 min ahead"},
                                       {-60000, "host 1 min behind"}};
    static const struct off large[] = {{3600000, "host 1 h ahead"}, {-3600000, "host 1 h behind"}};
    struct redis r;
    redis_start(&r, program, "offsets", REDIS_CLOCK, NULL);
    set_ticks(LAYOUT);
    for (size_t i = 0; i < COUNT_OF(small); i++)
        test_small(&r, &small[i], pid + 2 * (int64_t)i);
    if (!host_is_off)
        test_next_of_one(&r);
    for (size_t i = 0; i < COUNT_OF(large); i++)
        test_large(&r, &large[i]);
    if (host_is_off)
        test_holding(&r, pid + 20);
    judge(ticks, "per-file", UINT64_MAX, program);
    set_ticks(SECONDS);
    for (size_t i = 0; i < COUNT_OF(small); i++)
        test_small(&r, &small[i], pid + 2 * (int64_t)i);
    judge(ticks, "per-file", UINT64_MAX, program);
    set_clocks(&r, 0);
    redis_kill(&r);
}

int main(void) {
    char control[200];
    dirs_make();
    host_clock = shared_file("host-clock", sizeof *host_clock);
    snprintf(control, sizeof control, "%s/host-clock", dirs.shm);
    if (!shim_preload(control))
        skip_all("no shared library is built");
    go_on_with_shim();
    faults_begin();
    for (size_t i = 0; i < 2 * servers.n; i++) {
        program = servers.installed[i / 2];
        host_is_off = i % 2;
        diag("%s: the clock of the %s is moved", program, host_is_off ? "host" : "server");
        test_server(1);
    }
    return done_testing();
}
