/* SPDX-License-Identifier: MIT */
/* Options: each bad one is refused by name before anything is made; structs of older and newer
 * headers are read rightly. */
#include "lease/options.h"

#include "lease/store.h"
#include "support/scene.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

#if SIZE_MAX > UINT32_MAX
#define OWN_SIZE "8"
#else
#define OWN_SIZE "4"
#endif

static struct sfid__settings out;
static struct sfid__error err;
static char run_dir[4200], state_dir[4200], long_dir[3002];

/* Lets go what was read before. */
static int read_options(const sfid_options *o) {
    return sfid__options_end(&out), sfid__options_read(o, &out, &err);
}

static sfid_options good(void) {
    sfid_options o = SFID_OPTIONS_INIT;
    o.app = "orders";
    o.pid = 7;
    o.run_dir = run_dir;
    o.state_dir = state_dir;
    return o;
}

static bool untouched(void) {
    struct stat st;
    return stat(run_dir, &st) < 0 && stat(state_dir, &st) < 0;
}

/* ---- one thing wrong ------------------------------------------------------ */

static const sfid_layout broken = {0,
                                   0,
                                   41,
                                   10,
                                   12,
                                   22,
                                   12,
                                   0,
                                   0,
                                   {0, 0, 0, 0, 0},
                                   SFID__ONES(41),
                                   SFID__ONES(10),
                                   SFID__ONES(12)};
static const sfid_layout no_seq = SFID_LAYOUT(41, 10, 0, 1, SFID_EPOCH_MS);
static const sfid_layout ten_ms = SFID_LAYOUT(39, 10, 12, 10, SFID_EPOCH_MS);

static const struct wrong {
    const char *what;
    size_t at, size; /* the member changed */
    const void *value;
    const char *in_text[2]; /* its name and its value */
    int code;
} wrongs[] = {
#define WRONG(what, member, type, given, code, ...) \
    { what, offsetof(sfid_options, member), sizeof(type), &(type){given}, {__VA_ARGS__}, code }
    WRONG("size 0", size, size_t, 0, SFID_EINVAL, "size 0", "SFID_OPTIONS_INIT"),
    WRONG("size of itself alone", size, size_t, sizeof(size_t), SFID_EINVAL, "size " OWN_SIZE,
          "SFID_OPTIONS_INIT"),
    WRONG("size 4097", size, size_t, 4097, SFID_EINVAL, "4097", "SFID_OPTIONS_INIT"),
    WRONG("size -1", size, size_t, SIZE_MAX, SFID_EINVAL, "size", "SFID_OPTIONS_INIT"),
    WRONG("no name in app", app, const char *, "", SFID_EINVAL, "app", "0 characters"),
    WRONG("app of 65", app, const char *, A64 "a", SFID_EINVAL, A64 "a", "65 characters"),
    WRONG("app with a dot first", app, const char *, ".a", SFID_EINVAL, "app", ".a"),
    WRONG("app that is a dot", app, const char *, ".", SFID_EINVAL, "app", "\".\""),
    WRONG("app that is two dots", app, const char *, "..", SFID_EINVAL, "app", ".."),
    WRONG("app with a slash", app, const char *, "a/b", SFID_EINVAL, "a/b", "position 2"),
    WRONG("app that climbs", app, const char *, "../escaped", SFID_EINVAL, "app", "../escaped"),
    WRONG("app with an escape", app, const char *, "a\033[2Jb", SFID_EINVAL, "a?[2Jb",
          "position 2"),
    WRONG("app with a space", app, const char *, "ab c", SFID_EINVAL, "ab c", "position 3"),
    WRONG("app with a colon", app, const char *, "a:b", SFID_EINVAL, "a:b", "position 2"),
    WRONG("app with a line end", app, const char *, "a\n", SFID_EINVAL, "\"a?\"", "position 2"),
    WRONG("app with an umlaut", app, const char *, "\xc3\xa4", SFID_EINVAL, "\"?\?\"",
          "position 1"),
    WRONG("a store and a pid", store, const char *, "local", SFID_EINVAL, "pid 7", "store"),
    WRONG("neither store nor pid", pid, int64_t, -1, SFID_EINVAL, "store", "pid"),
    WRONG("pid_min below 0", pid_min, int64_t, -1, SFID_EINVAL, "pid_min -1", "2047"),
    WRONG("pid_min without pid_max", pid_min, int64_t, 5, SFID_EINVAL, "pid_min 5", "pid_max 0"),
    WRONG("pid_max too high", pid_max, int64_t, 2048, SFID_EINVAL, "pid_max 2048", "2047"),
    WRONG("pid -2", pid, int64_t, -2, SFID_EINVAL, "pid -2", "2047"),
    WRONG("lowest pid", pid, int64_t, INT64_MIN, SFID_EINVAL, "pid -9223372036854775808", "2047"),
    WRONG("pid one too high", pid, int64_t, 2048, SFID_EINVAL, "pid 2048", "2047"),
    WRONG("highest pid", pid, int64_t, INT64_MAX, SFID_EINVAL, "pid 9223372036854775807", "2047"),
    WRONG("a broken layout", layout, const sfid_layout *, &broken, SFID_EINVAL, "layout",
          "SFID_LAYOUT"),
    WRONG("exhaustion 3", exhaustion, sfid_exhaustion, (sfid_exhaustion)3, SFID_EINVAL,
          "exhaustion 3", "SFID_FAIL"),
    WRONG("exhaustion -1", exhaustion, sfid_exhaustion, (sfid_exhaustion)-1, SFID_EINVAL,
          "exhaustion -1", "SFID_FAIL"),
    WRONG("a wait below a tick", max_wait_ms, uint32_t, 999, SFID_EINVAL, "max_wait_ms 999",
          "1000 ms"),
    WRONG("no wait", max_wait_ms, uint32_t, 0, SFID_EINVAL, "max_wait_ms 0", "SFID_WAIT"),
    WRONG("over a day ahead", max_ahead_ms, uint32_t, 86400001, SFID_EINVAL,
          "max_ahead_ms 86400001", "86400000"),
    WRONG("furthest ahead", max_ahead_ms, uint32_t, UINT32_MAX, SFID_EINVAL,
          "max_ahead_ms 4294967295", "day"),
    WRONG("a start past half", random_start, uint64_t, 65537, SFID_EINVAL, "random_start 65537",
          "65536"),
    WRONG("highest start", random_start, uint64_t, UINT64_MAX, SFID_EINVAL,
          "random_start 18446744073709551615", "65536"),
    WRONG("a wide budget", skew_budget_ms, uint32_t, 3600001, SFID_EINVAL, "skew_budget_ms 3600001",
          "0 to 3600000"),
    WRONG("another keep_pid", keep_pid, uint32_t, 2, SFID_EINVAL, "keep_pid 2", "0 or 1"),
    WRONG("a short ttl", ttl_ms, uint32_t, 999, SFID_EINVAL, "ttl_ms 999", "1000 to"),
    WRONG("a long ttl", ttl_ms, uint32_t, 86400001, SFID_EINVAL, "ttl_ms 86400001", "86400000"),
    WRONG("a heartbeat above a third", heartbeat_ms, uint32_t, 200001, SFID_EINVAL,
          "heartbeat_ms 200001", "(200000)"),
    WRONG("a heartbeat of 99", heartbeat_ms, uint32_t, 99, SFID_EINVAL, "heartbeat_ms 99", "100"),
    WRONG("no time to open", open_timeout_ms, uint32_t, 0, SFID_EINVAL, "open_timeout_ms", "1"),
    WRONG("on_unknown 2", on_unknown, sfid_on_unknown, (sfid_on_unknown)2, SFID_EINVAL,
          "on_unknown 2", "SFID_TRUST"),
    WRONG("empty run_dir", run_dir, const char *, "", SFID_EINVAL, "run_dir", "empty"),
    WRONG("empty state_dir", state_dir, const char *, "", SFID_EINVAL, "state_dir", "empty"),
    WRONG("long run_dir", run_dir, const char *, long_dir, SFID_EINVAL, "run_dir", "3000"),
    WRONG("long state_dir", state_dir, const char *, long_dir, SFID_EINVAL, "state_dir", "3000"),
#undef WRONG
};

/* With store: the pid is leased. */
static const struct {
    const char *store;
    int code;
    const char *in_text[2];
} wrong_stores[] = {
    {"", SFID_EINVAL, {"\"\"", "local"}},
#ifndef HAVE_TLS
    {"rediss://:secret@127.0.0.1:6379/0", SFID_EUNSUPPORTED, {"rediss://", "TLS"}},
#endif
    {"redis://:secret@127.0.0.1:port", SFID_EINVAL, {"redis://...", "port"}},
    {"redis", SFID_EINVAL, {"\"redis\"", "local"}},
    {"redisx://host", SFID_EINVAL, {"the store's URL has an unknown scheme", "redis://"}},
    {"locals", SFID_EINVAL, {"\"locals\"", "local"}},
    {"LOCAL", SFID_EINVAL, {"\"LOCAL\"", "local"}},
    {"local?", SFID_EINVAL, {"\"\"", "mark=none"}},
    {"local?mark=some", SFID_EINVAL, {"\"mark=some\"", "mark=none"}},
    {"local?mark=none&", SFID_EINVAL, {"\"\"", "mark=none"}},
    {"local?Mark=none", SFID_EINVAL, {"\"Mark=none\"", "mark=none"}},
    {"local?lead_ms=", SFID_EINVAL, {"lead_ms=", "86400000"}},
    {"local?lead_ms=99", SFID_EINVAL, {"lead_ms=99", "100"}},
    {"local?lead_ms=86400001", SFID_EINVAL, {"lead_ms=86400001", "86400000"}},
    {"local?lead_ms=-500", SFID_EINVAL, {"lead_ms=-500", "86400000"}},
    {"local?lead_ms=4s", SFID_EINVAL, {"lead_ms=4s", "86400000"}},
    {"local?lead_ms=99999999999999999999", SFID_EINVAL, {"lead_ms=9999", "86400000"}},
    {"local?\x1b[2J", SFID_EINVAL, {"?[2J", "mark=none"}},
    {"local?share=2", SFID_EINVAL, {"share=2", "share=1"}},
    {"local?pid_min=", SFID_EINVAL, {"pid_min=", "pid_min=N"}},
    {"local?pid_max=x", SFID_EINVAL, {"pid_max=x", "pid_max=N"}},
    {"local?pid_max=-1", SFID_EINVAL, {"pid_max=-1", "pid_max=N"}},
    {"local?pid_min=3&mark=none&pid_min=3", SFID_EINVAL, {"pid_min", "twice"}},
    {"local?pid_max=3&pid_max=4", SFID_EINVAL, {"pid_max", "twice"}},
    {"local?lead_ms=100&pid_max=4&lead_ms=200", SFID_EINVAL, {"lead_ms", "twice"}},
    {"local?mark=none&mark=none", SFID_EINVAL, {"mark", "twice"}},
    {"local?pid_min=2048", SFID_EINVAL, {"pid_min 2048", "0 to 2047"}},
    {"local?pid_max=2048", SFID_EINVAL, {"pid_max 2048", "0 to 2047"}},
    {"local?pid_min=9&pid_max=3", SFID_EINVAL, {"pid_min 9", "pid_max 3"}},
    {"redis://:secret@127.0.0.1?pid_min=2048", SFID_EINVAL, {"pid_min 2048", "0 to 2047"}},
    {"redis://:secret@127.0.0.1?pid_min=9&pid_max=3", SFID_EINVAL, {"pid_min 9", "pid_max 3"}},
};

static bool one_line(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
            return false;
    return true;
}

static void refused(const struct wrong *w) {
    sfid_options o = good();
    memcpy((char *)&o + w->at, w->value, w->size);
    sfid *g = NULL;
    sfid_status_info status;
    int64_t ids[2];
    const int fds = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    is_i64(sfid_open(&g, &o), w->code, "%s: refused", w->what);
    const char *text = sfid_last_error(g);
    ok(strstr(text, w->in_text[0]) && strstr(text, w->in_text[1]) && one_line(text), "%s: \"%s\"",
       w->what, text);
    ok(g && sfid_next(g) == SFID_ECLOSED && sfid_try_next(g) == SFID_ECLOSED &&
           sfid_next_n(g, ids, 2) == SFID_ECLOSED && sfid_pid(g) == SFID_ECLOSED &&
           sfid_retry_ms(g) == SFID_ECLOSED && sfid_status(g, &status) == 0 && !status.open,
       "%s: a handle that is closed", w->what);
    sfid_close(g);
    ok(untouched() && entries("/proc/self/fd") == fds && entries("/proc/self/task") == threads,
       "%s: nothing is left of it", w->what);
}

/* Every member of a layout in turn made to disagree with the others. */
static void broken_layouts(void) {
    unsigned accepted = 0, silent = 0;
    for (size_t bit = 0; bit < sizeof(sfid_layout) * 8; bit++) {
        sfid_layout l = SFID_LAYOUT_DEFAULT;
        ((unsigned char *)&l)[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (sfid_layout_check(&l) == 0)
            continue; /* another layout, as it happens */
        sfid_options o = good();
        o.layout = &l;
        sfid *g = NULL;
        accepted += sfid_open(&g, &o) != SFID_EINVAL;
        silent += strstr(sfid_last_error(g), "layout") == NULL;
        sfid_close(g);
    }
    is_u64(accepted, 0, "a layout that sfid_layout_check refuses is refused by sfid_open");
    is_u64(silent, 0, "and the sentence names it");
    ok(untouched(), "and nothing is left");
}

static void refused_store(size_t i) {
    sfid_options o = good();
    o.pid = -1;
    o.store = wrong_stores[i].store;
    sfid *g = NULL;
    is_i64(sfid_open(&g, &o), wrong_stores[i].code, "store %zu is refused", i);
    const char *text = sfid_last_error(g);
    ok(strstr(text, wrong_stores[i].in_text[0]) && strstr(text, wrong_stores[i].in_text[1]) &&
           one_line(text) && strstr(text, "secret") == NULL,
       "it says \"%s\"", text);
    sfid_close(g);
    ok(untouched(), "and nothing is left");
}

static void no_event(void *user, const sfid_event *e) { (void)user, (void)e; }

static void stores(void) {
    sfid_options o = good();
    for (size_t i = 0; i < COUNT(wrong_stores); i++)
        refused_store(i);
    o.pid = -1;
    o.store = "local";
    ok(read_options(&o) == 0 && out.store == &sfid__store_local && out.lead_ms == 30000 &&
           out.synced && out.opt.pid_min == 0 && out.opt.pid_max == 2047,
       "a local store has every pid of the layout, and a mark 30 s ahead");
    o.store = "local?lead_ms=100";
    ok(read_options(&o) == 0 && out.lead_ms == 100 && out.synced, "or 0.1 s ahead");
    o.store = "local?mark=none&lead_ms=86400000";
    o.pid_max = 5;
    ok(read_options(&o) == 0 && out.lead_ms == 86400000 && !out.synced && out.opt.pid_min == 0 &&
           out.opt.pid_max == 5,
       "or a day, not synced, and six pids");
    o.store = "local?share=1";
    ok(read_options(&o) == 0 && out.shared, "a local store may be shared, by its text");
    o.store = "local";
    o.share = 1;
    ok(read_options(&o) == 0 && out.shared, "or by the option");
    ok(!out.joins, "which begins a page");
    o.share = 2;
    ok(read_options(&o) == 0 && out.shared && out.joins, "or only joins one");
    o.on_event = no_event;
    ok(read_options(&o) == SFID_EINVAL && strstr(err.text, "share is 2"), "without events: %s",
       err.text);
    o.on_event = NULL;
    o.share = 3;
    ok(read_options(&o) == SFID_EINVAL && strstr(err.text, "share 3"), "which is 0, 1 or 2: %s",
       err.text);
    o.share = 1;
    o.store = "redis://127.0.0.1:1/0";
    ok(read_options(&o) == 0 && out.shared, "with a server, too");
    o.share = 0;
    ok(read_options(&o) == 0 && !out.shared, "not if nobody says so");
    o.store = "redis://127.0.0.1:1/0?share=1&timeout=2s";
    ok(read_options(&o) == 0 && out.shared, "or as its URL says");
    o.store = "redis://127.0.0.1:1/0?share=0";
    ok(read_options(&o) == SFID_EINVAL && strstr(err.text, "share has to be 1"),
       "which says so or nothing: %s", err.text);
    o.store = "pool:0-2=redis://a:x@127.0.0.1:1/0?share=1 3-5=redis://b:x@127.0.0.1:2/0?share=1";
    ok(read_options(&o) == 0 && out.shared, "or as each server of a pool says");
    o.store = "pool:0-2=redis://a:x@127.0.0.1:1/0 3-5=redis://b:x@127.0.0.1:2/0?share=1";
    ok(read_options(&o) == SFID_EINVAL && strstr(err.text, "share=1"), "not only one of them: %s",
       err.text);
    o.store = "local";
    o.app = NULL;
    is_i64(read_options(&o), SFID_EINVAL, "a store without an app is refused");
    ok(strstr(err.text, "app") != NULL, "it says \"%s\"", err.text);
}

static void missing(void) {
    sfid_options o = good();
    sfid *g = NULL;
    is_i64(sfid_open(NULL, &o), SFID_EINVAL, "no place for the handle");
    is_i64(sfid_open(&g, NULL), SFID_EINVAL, "no options");
    ok(g && strstr(sfid_last_error(g), "options"), "no options: the text says so");
    sfid_close(g);
    o.app = NULL;
    o.pid = -1;
    is_i64(sfid_open(&g, &o), SFID_EINVAL, "neither app nor pid");
    sfid_close(g);
    sfid_close(NULL);
    ok(sfid_last_error(NULL) != NULL, "no handle, but a text");
    ok(untouched(), "nothing is left of these");
}

/* ---- the edge on the good side -------------------------------------------- */

static void taken(const char *what, const sfid_options *o) {
    err = (struct sfid__error){.code = 0};
    ok(read_options(o) == 0, "%s is taken: \"%s\"", what, err.text);
    if (o->run_dir == long_dir)
        return; /* one name of it is longer than a file system takes */
    sfid *g = NULL;
    ok(sfid_open(&g, o) == 0 && sfid_next(g) >= 0, "%s: and draws: %s", what, sfid_last_error(g));
    sfid_close(g);
}

static void edges(void) {
    sfid_options o = good();
    ok(read_options(&o) == 0 && out.opt.layout &&
           memcmp(out.opt.layout, &SFID_LAYOUT_DEFAULT, sizeof *out.opt.layout) == 0,
       "no layout is the default one");
    static const char *const apps[] = {A64, "a", "a.b", "_", "-", "{t}", "Z9", "{AZaz09_.-}"};
    for (size_t i = 0; i < COUNT(apps); i++) {
        o.app = apps[i];
        taken(apps[i], &o);
    }
    o = good();
    o.app = NULL;
    taken("a pid without an app", &o);
    o = good();
    o.pid = -1;
    o.store = "local?lead_ms=1000&mark=none";
    taken("a pid of this host, its mark not synced", &o);
    o = good();
    o.pid = 2047;
    taken("the highest pid", &o);
    o.pid = 0;
    taken("pid 0", &o);
    o = good();
    o.max_wait_ms = 1000;
    taken("a wait of one tick", &o);
    o.max_wait_ms = 0;
    o.exhaustion = SFID_BORROW;
    taken("no wait at all where nothing waits", &o);
    o.exhaustion = SFID_FAIL;
    taken("nor here", &o);
    o = good();
    o.max_ahead_ms = 86400000;
    o.random_start = 65536;
    taken("a day ahead, a start at half", &o);
    long_dir[3000] = '\0';
    o.run_dir = long_dir;
    taken("a directory of 3000", &o);
    long_dir[3000] = 'd';
    o = good();
    o.app = "no-sequence";
    o.layout = &no_seq;
    taken("a sequence of one number", &o);
    o.random_start = 1;
    is_i64(read_options(&o), SFID_EINVAL, "which has no half");
    o = good();
    o.app = "ten-ms";
    o.layout = &ten_ms;
    o.max_wait_ms = 9;
    is_i64(read_options(&o), SFID_EINVAL, "a tick of 10 ms wants a wait of 10");
    o.max_wait_ms = 10;
    o.pid = 1023;
    taken("which is enough", &o);
}

/* ---- other versions of the struct ----------------------------------------- */

/* Exactly size bytes on the heap, for the memory checkers: no byte behind them is read. */
static sfid_options *cut(const sfid_options *from, size_t size) {
    sfid_options *o = malloc(size);
    need(o != NULL, "out of memory");
    memcpy((void *)o, from, size);
    memcpy((void *)o, &size, sizeof size);
    return o;
}

static void older(void) {
    sfid_options full = good();
    full.app = NULL;
    full.exhaustion = SFID_FAIL;
    full.max_wait_ms = 5000;
    full.max_ahead_ms = 1;
    full.random_start = 3;
    static const size_t ends[] = {
        offsetof(sfid_options, layout),     offsetof(sfid_options, run_dir),
        offsetof(sfid_options, exhaustion), offsetof(sfid_options, random_start),
        offsetof(sfid_options, on_event),   offsetof(sfid_options, user)};
    for (size_t i = 0; i < COUNT(ends); i++) {
        if (ends[i] % _Alignof(sfid_options) != 0)
            continue; /* no struct ends there on this machine */
        sfid_options *o = cut(&full, ends[i]), want = SFID_OPTIONS_INIT;
        memcpy(&want, &full, ends[i]);
        want.size = sizeof want;
        want.layout = &SFID_LAYOUT_DEFAULT;
        const int rc = read_options(o);
        ok(rc == 0 && out.opt.size == want.size && out.opt.pid == want.pid &&
               out.opt.run_dir == want.run_dir && out.opt.state_dir == want.state_dir &&
               out.opt.exhaustion == want.exhaustion && out.opt.max_wait_ms == want.max_wait_ms &&
               out.opt.max_ahead_ms == want.max_ahead_ms &&
               out.opt.random_start == want.random_start && out.opt.on_event == NULL &&
               out.opt.user == NULL,
           "a struct of %zu bytes: defaults for the rest", ends[i]);
        sfid *g = NULL;
        is_i64(sfid_open(&g, o), 0, "and it opens");
        ok(sfid_next(g) >= 0, "and draws");
        sfid_close(g);
        free(o);
    }
    sfid_options *o = cut(&full, offsetof(sfid_options, pid));
    is_i64(read_options(o), SFID_EINVAL, "before there was a pid, there is none");
    free(o);
}

struct newer {
    sfid_options known;
    unsigned char more[24];
};

static void newer_ones(void) {
    struct newer o = {.known = good()};
    o.known.app = NULL;
    sfid *g = NULL;
    o.known.size = sizeof o;
    ok(read_options(&o.known) == 0 && out.opt.size == sizeof out.opt && out.opt.pid == 7,
       "a larger struct with nothing behind");
    is_i64(sfid_open(&g, &o.known), 0, "opens");
    sfid_close(g);
    unsigned taken_anyway = 0;
    for (size_t i = 0; i < sizeof o.more; i++) {
        o.more[i] = 1;
        taken_anyway += read_options(&o.known) != SFID_EUNSUPPORTED;
        o.more[i] = 0;
    }
    is_u64(taken_anyway, 0, "with any byte behind it is SFID_EUNSUPPORTED");
    o.more[23] = 1;
    is_i64(sfid_open(&g, &o.known), SFID_EUNSUPPORTED, "from open as well");
    ok(strstr(sfid_last_error(g), "option") && strstr(sfid_last_error(g), SFID_VERSION_STRING),
       "which tells the version");
    sfid_close(g);
    o.known.size = sizeof o - 8;
    is_i64(read_options(&o.known), 0, "what lies behind its size is not looked at");
}

/* The same directories, to show that it was the options that kept them from being made. */
static void control(void) {
    sfid_options o = good();
    sfid *g = NULL;
    const int fds = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    ok(untouched(), "no directory was made so far");
    is_i64(sfid_open(&g, &o), 0, "good options open: %s", sfid_last_error(g));
    ok(!untouched() && entries("/proc/self/task") > threads, "with directories and a thread");
    sfid_close(g);
    is_i64(entries("/proc/self/fd"), fds, "which close leaves as it was");
}

int main(void) {
    snprintf(run_dir, sizeof run_dir, "%s/run", tap_tmpdir());
    snprintf(state_dir, sizeof state_dir, "%s/state", tap_tmpdir());
    snprintf(long_dir, sizeof long_dir, "%s/", tap_tmpdir());
    memset(long_dir + strlen(long_dir), 'd', sizeof long_dir - 1 - strlen(long_dir));
    for (size_t i = 0; i < COUNT(wrongs); i++)
        refused(&wrongs[i]);
    broken_layouts();
    missing();
    stores();
    older();
    newer_ones();
    control();
    edges();
    return done_testing();
}
