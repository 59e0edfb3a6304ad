/* SPDX-License-Identifier: MIT */
/* Options of a store that leases: which pids it has, windows, and which windows are too short.
 * options.c has the others. */
#include "lease/options.h"

#include "lease/store.h"
#include "support/tap.h"

static struct sfid__settings out;
static struct sfid__error err;

/* Reads into out, which lets go what was read before. */
static int read_options(const sfid_options *o) {
    sfid__options_end(&out);
    return sfid__options_read(o, &out, &err);
}

/* Good options with a store, which leases the pid. */
static sfid_options with_store(const char *store) {
    sfid_options o = SFID_OPTIONS_INIT;
    o.app = "orders";
    o.store = store;
    return o;
}

/* Reads good options with a Redis store and a layout. */
static int read_redis(const sfid_layout *l, uint32_t ttl_ms, int64_t pid_max) {
    sfid_options o = with_store("redis://host:7000/2");
    o.layout = l;
    o.ttl_ms = ttl_ms;
    o.heartbeat_ms = ttl_ms / 4;
    o.pid_max = pid_max;
    return read_options(&o);
}

static void redis_stores(void) {
    static const sfid_layout wide = SFID_LAYOUT(28, 22, 13, 1000, 0),
                             odd = SFID_LAYOUT(40, 10, 13, 7, 0);
    sfid_layout icicle;
    is_i64(read_redis(NULL, 600000, 0), 0, "the URL of a Redis server is a store");
    ok(out.store == &sfid__store_redis && out.uri->node[0].port == 7000 && out.uri->db == 2 &&
           strcmp(out.uri->node[0].host, "host") == 0,
       "taken apart");
    ok(out.window_ms == 600000 && out.opt.skew_budget_ms == 15000 && out.opt.pid_max == 2047,
       "with the defaults");
    is_i64(read_redis(&odd, 60000, 0), 0, "a window that is no multiple of the unit");
    is_u64(out.window_ms, 60004, "is made one, no shorter");
    is_u64(out.short_ms, 30002, "and so is the short one");
    is_i64(read_redis(&wide, 600000, 0), 0, "more pids than Redis has names for");
    is_i64(out.opt.pid_max, 65535, "so many are leased");
    is_i64(read_redis(&wide, 600000, 70000), SFID_EINVAL, "but who asks for others is told");
    ok(strstr(err.text, "70000") && strstr(err.text, "65535"), "it says \"%s\"", err.text);
    is_i64(read_redis(&wide, 1500, 0), SFID_EINVAL, "a window of less than two ticks");
    ok(strstr(err.text, "1500") && strstr(err.text, "2000"), "it says \"%s\"", err.text);
    need(sfid_layout_parse("icicle", &icicle) >= 0, "no layout icicle");
    is_i64(read_redis(&icicle, 600000, 0), 0, "pids of Icicle");
    is_i64(out.opt.pid_min, 1, "begin with 1");
}

/* Which pids a store has that names them, beside options that do not, or do. */
static void ranges(void) {
    static const struct {
        const char *store;
        int64_t given_min, given_max, min, max; /* min -1: refused */
    } cases[] = {
        {"local?pid_min=3&pid_max=9", 0, 0, 3, 9},
        {"local?pid_max=9&mark=none&pid_min=9", 0, 0, 9, 9},
        {"local?pid_min=3", 0, 0, 3, 2047},
        {"local?pid_max=9", 0, 0, 0, 9},
        {"local?pid_min=0&pid_max=0", 0, 0, 0, 0},
        {"local?pid_min=2047&pid_max=2047", 0, 0, 2047, 2047},
        {"local?pid_min=3&pid_max=9", 3, 9, 3, 9},
        {"local?pid_min=3", 3, 2047, 3, 2047},
        {"local?pid_min=3&pid_max=9", 3, 8, -1, 0},
        {"local?pid_min=3&pid_max=9", 4, 9, -1, 0},
        {"local?pid_min=0&pid_max=0", 0, 5, -1, 0},
        {"local?pid_min=3", 3, 9, -1, 0},
        {"redis://h/0?pid_min=3&pid_max=9", 0, 0, 3, 9},
        {"unix:///s?pid_max=9", 0, 0, 0, 9},
        {"redis+sentinel://h/m?pid_min=3", 0, 0, 3, 2047},
        {"redis+cluster://h?pid_min=3&pid_max=3&registration=off", 0, 0, 3, 3},
        {"redis://h/0?pid_min=3&pid_max=9", 3, 8, -1, 0},
        {"redis://h/0", 3, 8, 3, 8},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sfid_options o = with_store(cases[i].store);
        o.pid_min = cases[i].given_min;
        o.pid_max = cases[i].given_max;
        const int rc = read_options(&o);
        if (cases[i].min < 0)
            ok(rc == SFID_EINVAL && strstr(err.text, "give one of them"),
               "%s beside %" PRId64 " to %" PRId64 " is refused (%s)", o.store, o.pid_min,
               o.pid_max, err.text);
        else
            ok(rc == 0 && out.opt.pid_min == cases[i].min && out.opt.pid_max == cases[i].max,
               "%s has its pids", o.store);
    }
}

/* Of a range that the store names, whoever only looks sees all. */
static void whole_range(void) {
    static const sfid_layout wide = SFID_LAYOUT(28, 22, 13, 1000, 0);
    sfid_options o = with_store("redis://h/0?pid_min=3&pid_max=9");
    ok(read_options(&o) == 0, "a range of the store");
    sfid__options_widen(&out);
    ok(out.opt.pid_min == 0 && out.opt.pid_max == 2047, "is made whole");
    o.store = "redis://h/0?pids=3-9";
    ok(read_options(&o) == 0 && out.lends_range, "a range that the server lends");
    sfid__options_widen(&out);
    ok(out.opt.pid_min == 3 && out.opt.pid_max == 9, "is all there is");
    o.store = "redis://h/0?pid_min=3&pid_max=9";
    o.layout = &wide;
    ok(read_options(&o) == 0, "of a layout with more pids than Redis has names for");
    sfid__options_widen(&out);
    ok(out.opt.pid_min == 0 && out.opt.pid_max == 65535, "as far as it has");
    o.pid_min = 3;
    o.pid_max = 9;
    ok(read_options(&o) == 0, "a range of the options");
    sfid__options_widen(&out);
    ok(out.opt.pid_min == 3 && out.opt.pid_max == 9, "stays");
}

static int read_windows(const char *store, const sfid_layout *l, uint32_t ttl_ms,
                        uint32_t short_ms) {
    sfid_options o = with_store(store);
    o.layout = l;
    o.ttl_ms = ttl_ms;
    o.heartbeat_ms = ttl_ms / 4;
    o.short_ms = short_ms;
    return read_options(&o);
}

static bool none_short(const char *store, const sfid_layout *l, uint32_t ttl_ms,
                       uint32_t short_ms) {
    return read_windows(store, l, ttl_ms, short_ms) == 0 && out.short_ms == 0 &&
           out.short_every == 0;
}

static bool refused(int rc, const char *words) {
    if (rc == SFID_EINVAL && strstr(err.text, words))
        return true;
    diag("code %d, \"%s\"\nwant \"...%s...\"", rc, err.text, words);
    return false;
}

static void short_windows(void) {
    static const char server[] = "redis://h", mixed[] = "redis://h?registration=mixed";
    static const sfid_layout four = SFID_LAYOUT(42, 4, 17, 1, 0),
                             five = SFID_LAYOUT(42, 5, 16, 1, 0);
    ok(read_windows(server, &five, 600000, 30000) == 0 && out.short_ms == 30000 &&
           out.short_every == 8,
       "one pid in eight is short");
    ok(read_windows(server, &five, 60000, 30000) == 0 && out.short_ms == 30000,
       "with two short windows in a whole one");
    ok(none_short(server, &five, 59999, 30000), "with less none is");
    ok(none_short(server, &four, 600000, 30000), "nor with fewer than 32 pids");
    ok(none_short(server, &five, 600000, 0), "nor if that is asked for");
    ok(none_short(server, &five, 600000, 1), "nor with a window of one tick");
    ok(none_short(mixed, &five, 600000, 30000), "nor where others keep no record");
    ok(read_windows(server, &five, 600000, 60000) == 0 && out.short_ms == 60000,
       "longer short windows");

    /* 15000 of skew, a quarter of the window, twice 2000 for an answer, and a tick */
    is_i64(read_windows(server, &five, 25336, 0), 0,
           "the shortest window that outlives a server's memory");
    ok(refused(read_windows(server, &five, 25332, 0), "at least 25334 is needed"),
       "a shorter one is refused");
    ok(refused(read_windows(server, &five, 25332, 0), "ttl_ms 25332 is too short"), "by its name");
    ok(refused(read_windows(server, &five, 600000, 28500), "at least 28501 is needed"),
       "a short one is, too");
    ok(refused(read_windows(server, &five, 600000, 28500), "short_ms 28500 is too short"),
       "by its name");
    is_i64(read_windows(server, &five, 600000, 28503), 0, "the shortest short window");
    is_i64(read_windows(mixed, &five, 185000, 30000), 0,
           "mixed: as long as a program may go without a registration");
    ok(refused(read_windows(mixed, &five, 184999, 30000), "too short for registration=mixed"),
       "mixed: and no shorter");
}

int main(void) {
    redis_stores();
    ranges();
    whole_range();
    short_windows();
    return done_testing();
}
