/* SPDX-License-Identifier: MIT */
/*
 * Options out of range: SFID_EINVAL, a sentence that names what is wrong, a handle that says it and does nothing else, and
 * nothing left behind: no directory, no descriptor, no thread. Those just inside the range are taken.
 *
 * One size.
 */
#include "support/proc.h"

static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;
static sfid_layout broken;
static sfid_layout milliseconds;

static const char long_app[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";   /* 65 */
static const char longest_app[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"; /* 64 */

/* One option differs from what would do. */
struct wrong {
    const char *what, *named; /* a word of the sentence */
    int code;
    const char *app;
    int64_t pid;
    const sfid_layout *layout;
    uint64_t random_start;
    uint32_t max_wait_ms, max_ahead_ms;
    int exhaustion;
    size_t size;
    const char *store;
};

#define GOOD \
    .app = "good", .pid = 7, .layout = &SFID_LAYOUT_DEFAULT, .max_wait_ms = 2000, .max_ahead_ms = 10000, \
    .size = sizeof(sfid_options)

#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif

static const struct wrong wrongs[] = {
    {"empty app", "app", SFID_EINVAL, GOOD, .app = ""},
    {"app of 65 bytes", "app", SFID_EINVAL, GOOD, .app = long_app},
    {"app with a dot first", ".hidden", SFID_EINVAL, GOOD, .app = ".hidden"},
    {"app of a dot", "app", SFID_EINVAL, GOOD, .app = "."},
    {"app of two dots", "..", SFID_EINVAL, GOOD, .app = ".."},
    {"app with a slash", "app", SFID_EINVAL, GOOD, .app = "a/b"},
    {"app that climbs", "app", SFID_EINVAL, GOOD, .app = "../escaped"},
    {"app with a line end", "app", SFID_EINVAL, GOOD, .app = "a\nb"},
    {"app with a space", "app", SFID_EINVAL, GOOD, .app = "a b"},
    {"app beyond ASCII", "app", SFID_EINVAL, GOOD, .app = "caf\xc3\xa9"},
    {"app with an escape", "app", SFID_EINVAL, GOOD, .app = "a\033[2Jb"},
    {"no app and no pid", "pid", SFID_EINVAL, GOOD, .app = NULL, .pid = -1},
    {"pid above the layout", "2048", SFID_EINVAL, GOOD, .pid = 2048},
    {"pid far above the layout", "9223372036854775807", SFID_EINVAL, GOOD, .pid = INT64_MAX},
    {"pid below -1", "-2", SFID_EINVAL, GOOD, .pid = -2},
    {"lowest pid", "-9223372036854775808", SFID_EINVAL, GOOD, .pid = INT64_MIN},
    {"pid to be leased without a store", "pid", SFID_EINVAL, GOOD, .pid = -1},
    {"size 0", "size", SFID_EINVAL, GOOD, .size = 0},
    {"size of a few bytes", "size", SFID_EINVAL, GOOD, .size = sizeof(size_t)},
    {"random start above half the sequence", "65537", SFID_EINVAL, GOOD, .random_start = 65537},
    {"random start far above", "18446744073709551615", SFID_EINVAL, GOOD, .random_start = UINT64_MAX},
    {"wait shorter than a unit", "999", SFID_EINVAL, GOOD, .max_wait_ms = 999},
    {"no wait where waiting is the policy", "max_wait_ms", SFID_EINVAL, GOOD, .max_wait_ms = 0},
    {"too far ahead", "86400001", SFID_EINVAL, GOOD, .max_ahead_ms = 86400001},
    {"no such policy", "exhaustion", SFID_EINVAL, GOOD, .exhaustion = 77},
    {"policy below zero", "exhaustion", SFID_EINVAL, GOOD, .exhaustion = -1},
    {"layout of nonsense", "layout", SFID_EINVAL, GOOD, .layout = &broken},
    {"a store and a pid", "store", SFID_EINVAL, GOOD, .store = "local"},
#ifndef HAVE_HIREDIS_SSL
    {"a store of another build", "rediss://", SFID_EUNSUPPORTED, GOOD, .pid = -1, .store = "rediss://127.0.0.1:6379/0"},
#endif
    {"a store that is none", "\"redis\"", SFID_EINVAL, GOOD, .pid = -1, .store = "redis"},
    {"a store without an app", "app", SFID_EINVAL, GOOD, .app = NULL, .pid = -1, .store = "local"},
    {"a parameter that is none", "mark=off", SFID_EINVAL, GOOD, .pid = -1, .store = "local?mark=off"},
};

/* Just inside. */
static const struct wrong goods[] = {
    {"app of 64 bytes", "", 0, GOOD, .app = longest_app},
    {"app of one byte", "", 0, GOOD, .app = "_"},
    {"app of all bytes allowed", "", 0, GOOD, .app = "{AZaz09_.-}"},
    {"pid 0", "", 0, GOOD, .pid = 0},
    {"highest pid", "", 0, GOOD, .pid = 2047},
    {"a pid of this host", "", 0, GOOD, .pid = -1, .store = "local"},
    {"a pid of this host, its mark not synced", "", 0, GOOD, .pid = -1, .store = "local?lead_ms=1000&mark=none"},
    {"no app", "", 0, GOOD, .app = NULL},
    {"random start of half the sequence", "", 0, GOOD, .random_start = 65536},
    {"wait of one unit", "", 0, GOOD, .max_wait_ms = 1000},
    {"wait of one short unit", "", 0, GOOD, .layout = &milliseconds, .app = "ms", .max_wait_ms = 1},
    {"furthest ahead", "", 0, GOOD, .max_ahead_ms = 86400000},
    {"never ahead", "", 0, GOOD, .max_ahead_ms = 0},
    {"no wait where failing is the policy", "", 0, GOOD, .exhaustion = SFID_FAIL, .max_wait_ms = 0},
    {"no layout: the default", "", 0, GOOD, .layout = NULL},
};

static sfid_options options_for(const struct wrong *w) {
    sfid_options opt = options_of(w->app, w->pid, w->layout);
    opt.size = w->size;
    opt.store = w->store;
    opt.random_start = w->random_start;
    opt.max_wait_ms = w->max_wait_ms;
    opt.max_ahead_ms = w->max_ahead_ms;
    opt.exhaustion = (sfid_exhaustion)w->exhaustion;
    return opt;
}

static bool printable(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static void test_wrong(const struct wrong *w) {
    struct stat st;
    int64_t ids[2];
    sfid_status_info status;
    const sfid_options opt = options_for(w);
    const int fds = count_fds();
    int threads = count_threads();
    sfid *g = NULL;
    is_i64(sfid_open(&g, &opt), w->code, "%s: the code", w->what);
    const char *text = sfid_last_error(g);
    if (!ok(strstr(text, w->named) != NULL && printable(text), "%s: the sentence names it", w->what))
        diag("\"%s\" is not in: %s", w->named, text);
    ok(g != NULL && sfid_next(g) == SFID_ECLOSED && sfid_try_next(g) == SFID_ECLOSED && sfid_next_n(g, ids, 2) == SFID_ECLOSED &&
           sfid_pid(g) == SFID_ECLOSED && sfid_retry_ms(g) == SFID_ECLOSED && sfid_status(g, &status) == 0 && !status.open,
       "%s: the handle draws nothing", w->what);
    sfid_close(g);
    ok(count_fds() == fds && threads_are(&threads) && stat(dirs.run, &st) < 0 && stat(dirs.state, &st) < 0,
       "%s: nothing is left behind", w->what);
}

/* Every member of a layout in turn made to disagree with the others. */
static void test_broken_layouts(void) {
    unsigned taken = 0, silent = 0;
    for (size_t at = 0; at < sizeof(sfid_layout); at++)
        for (int bit = 0; bit < 8; bit++) {
            sfid_layout l = *layout;
            ((unsigned char *)&l)[at] ^= (unsigned char)(1 << bit);
            if (sfid_layout_check(&l) == 0)
                continue; /* another layout, as it happens */
            const sfid_options opt = options_of("broken", 7, &l);
            sfid *g = NULL;
            taken += sfid_open(&g, &opt) != SFID_EINVAL;
            silent += strstr(sfid_last_error(g), "layout") == NULL;
            sfid_close(g);
        }
    is_u64(taken, 0, "a layout that sfid_layout_check refuses is refused by sfid_open");
    is_u64(silent, 0, "and the sentence names it");
}

static void test_null(void) {
    sfid *g = NULL;
    const sfid_options opt = options_of("good", 7, layout);
    is_i64(sfid_open(NULL, &opt), SFID_EINVAL, "no place for the handle");
    is_i64(sfid_open(&g, NULL), SFID_EINVAL, "no options");
    ok(g != NULL && strlen(sfid_last_error(g)) > 5, "no options: the handle says so");
    sfid_close(g);
    sfid_close(NULL);
    ok(sfid_last_error(NULL) != NULL, "no handle, but a text");
}

int main(void) {
    char text[40];
    struct stat st;
    dirs_make();
    memset(&broken, 0x5a, sizeof broken);
    milliseconds = layout_of("41:10:12/1ms");
    const int fds = count_fds();
    int threads = count_threads();
    for (size_t i = 0; i < COUNT_OF(wrongs); i++)
        test_wrong(&wrongs[i]);
    test_broken_layouts();
    test_null();
    ok(stat(dirs.run, &st) < 0 && stat(dirs.state, &st) < 0, "no directory was made by any of these");
    for (size_t i = 0; i < COUNT_OF(goods); i++) {
        const sfid_options opt = options_for(&goods[i]);
        sfid *g = NULL;
        if (!is_i64(sfid_open(&g, &opt), 0, "%s: taken", goods[i].what))
            diag("%s", sfid_last_error(g));
        const int64_t id = sfid_next(g);
        ok(id >= 0, "%s: and draws: %s", goods[i].what, id < 0 ? sfid_strerror((int)id) : "an ID");
        sfid_close(g);
    }
    snprintf(text, sizeof text, "%d descriptors, %d threads", fds, threads);
    ok(count_fds() == fds && tap_wait_until(threads_are, &threads, patience(2000)), "as before: %s", text);
    return done_testing();
}
