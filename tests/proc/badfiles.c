/* SPDX-License-Identifier: MIT */
/*
 * A file that is no mark, or no page: damaged, a directory, a link, a pipe, writable by others,
 * somebody else's. It rules out one pid. Other pids of the app go on, the event UNUSABLE names the
 * file, and a generator that has no other pid says so.
 *
 * And a mark that was cut off, or is all zeros, while the page is lost: what was used is unknown,
 * so the next process begins a window later.
 *
 * And a page whose limit is damaged while its mark is lost: nothing but the layout bounds it then,
 * and that does.
 *
 * And a directory in the place of a page that processes share: they share the next page, and go on
 * above.
 */
#include "support/local.h"
#include "support/user.h"

#include "draw/page.h"

#include <glob.h>

static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;

static _Atomic int events, event_code;
static _Atomic int64_t event_value;
static char event_text[600];

static void listen_to(void *user, const sfid_event *e) {
    (void)user;
    if (e->kind != SFID_EVENT_UNUSABLE)
        return;
    snprintf(event_text, sizeof event_text, "%s", e->text);
    atomic_store(&event_code, e->code);
    atomic_store(&event_value, e->value);
    atomic_fetch_add(&events, 1);
}

/* ---- ways to be of no use ------------------------------------------------- */

static void damaged(const char *path) {
    static const char nonsense[8192] = "nonsense";
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, nonsense, sizeof nonsense) == sizeof nonsense && close(fd) >= 0,
         "cannot damage %s", path);
}
static void directory(const char *path) { mkdir(path, 0700); }
static void dangling(const char *path) { (void)!symlink("nowhere", path); }
static void fifo(const char *path) { mkfifo(path, 0600); }
static void open_to_all(const char *path) {
    damaged(path);
    chmod(path, 0666);
}
static void of_another(const char *path) {
    damaged(path);
    must(chown(path, 65534, 65534) >= 0, "chown: %s", strerror(errno));
}

static const struct way {
    const char *name;
    void (*make)(const char *path);
    bool page_too, root; /* a page that is merely damaged is replaced */
} ways[] = {{"damaged", damaged, false, false},
            {"a directory", directory, true, false},
            {"a link to nowhere", dangling, true, false},
            {"a pipe", fifo, true, false},
            {"writable by all", open_to_all, true, false},
            {"somebody else's", of_another, true, true}};

/* ---- what follows --------------------------------------------------------- */

static bool event_came(void *unused) {
    (void)unused;
    return atomic_load(&events) > 0;
}

/* Puts the bad file into the place of pid 3's, the lowest of the range. */
static void rules_out_one(const struct way *way, const char *of, const char *dir) {
    char path[4400];
    sfid *g = NULL;
    sfid_options opt = local_options("bad", "local", layout);
    opt.pid_min = 3;
    opt.pid_max = 5;
    opt.on_event = listen_to;
    snprintf(path, sizeof path, "%s/bad", dir);
    mkdir(dir, 0700);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/bad/pid-3", dir);
    way->make(path);
    atomic_store(&events, 0);
    const int rc = sfid_open(&g, &opt);
    ok(rc == 0 && sfid_pid(g) == 4 && sfid_next(g) > 0, "%s that is %s: another pid is used", of,
       way->name);
    if (rc < 0)
        diag("open: %d %s", rc, sfid_last_error(g));
    ok(tap_wait_until(event_came, NULL, TAP_WAIT_MS) && event_value == 1 &&
           event_code == SFID_ESTATE && strstr(event_text, path),
       "UNUSABLE is reported: \"%s\"", event_text);
    sfid_close(g);
    opt.pid_max = 3;
    is_i64(sfid_open(&g, &opt), SFID_ESTATE, "with no other pid there is none");
    ok(strstr(sfid_last_error(g), path) != NULL, "it says \"%s\"", sfid_last_error(g));
    sfid_close(g);
    remove_tree(path);
    unlink(path);
    is_i64(pid_of_open(&opt), 3, "with the file removed pid 3 is used again");
    remove_tree(dirs.run);
    remove_tree(dirs.state);
}

/* ---- a limit that no store has granted ------------------------------------ */

static int die_in_window(void *opt) {
    sfid *g = open_or_die(opt);
    return sfid_next(g) > 0 ? 0 : 1; /* and no close */
}

static void test_limit(uint64_t limit, const char *what) {
    char path[4400];
    sfid_status_info st = {.limit_tick = 0};
    const off_t at =
        (off_t)(offsetof(struct sfid__page, records) + offsetof(struct sfid__record, limit));
    sfid_options opt = local_options("bad", "local", layout);
    opt.pid_min = opt.pid_max = 3;
    is_i64(child_run(die_in_window, &opt, TAP_WAIT_MS), 0, "%s: a process dies inside its window",
           what);
    snprintf(path, sizeof path, "%s/bad/pid-3", dirs.state);
    is_i64(unlink(path), 0, "its mark is lost");
    snprintf(path, sizeof path, "%s/bad/pid-3", dirs.run);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    ok(pwrite(fd, &limit, sizeof limit, at) == sizeof limit && close(fd) == 0,
       "and the limit on its page damaged");
    sfid *g = open_or_die(&opt);
    ok(sfid_next(g) > 0 && sfid_status(g, &st) == 0, "%s: the pid is used again", what);
    ok(st.limit_tick <= layout->max_tick + 1,
       "no window goes past the layout's end (to tick %" PRIu64 ")", st.limit_tick);
    sfid_close(g);
    remove_tree(dirs.run);
    remove_tree(dirs.state);
}

/* ---- a mark that says nothing ---------------------------------------------- */

static void says_nothing(off_t size, const char *store) {
    char path[4400];
    sfid_options opt = local_options("blank", store, layout);
    opt.pid_min = opt.pid_max = 3;
    opt.max_ahead_ms = 10000;
    const uint64_t window = (300 + opt.max_ahead_ms) / layout->unit_ms + 1;
    is_i64(child_run(die_in_window, &opt, TAP_WAIT_MS), 0, "%s: a process dies inside its window",
           store);
    snprintf(path, sizeof path, "%s/blank", dirs.run);
    remove_tree(path);
    snprintf(path, sizeof path, "%s/blank/pid-3", dirs.state);
    ok(truncate(path, 0) == 0 && truncate(path, size) == 0,
       "its page is lost, and its mark has become %lld zeros", (long long)size);
    const uint64_t now = tick_now(layout);
    sfid *g = open_or_die(&opt);
    const uint64_t first = id_tick(layout, next_within(g, TAP_WAIT_MS));
    ok(first >= now + window,
       "the next begins where no window of the one before can have ended: %" PRIu64 " ticks on",
       first - now);
    sfid_close(g);
    g = open_or_die(&opt);
    ok(id_tick(layout, next_within(g, TAP_WAIT_MS)) < first + window,
       "the mark is good again: the one after it goes on from there");
    sfid_close(g);
    remove_tree(dirs.run);
    remove_tree(dirs.state);
}

/* ---- a page that processes share -------------------------------------------- */

static int64_t next_id(sfid *g) { return next_within(g, TAP_WAIT_MS); }

/* Something else lies in the place of the first page, and the mark is lost. The next page takes the
 * pid, and knows how far it was. */
static void in_its_place(void) {
    const sfid_layout long_ticks = layout_of("31:10:22/10s");
    sfid_options opt = local_options("place", "local?share=1", &long_ticks);
    opt.max_wait_ms = 20000;
    char pattern[4400];
    glob_t found;
    sfid *g = open_or_die(&opt), *other = NULL;
    const int64_t before = next_id(g);
    sfid_close(g);
    snprintf(pattern, sizeof pattern, "%s/place", dirs.state);
    remove_tree(pattern);
    snprintf(pattern, sizeof pattern, "%s/place/share*.0", dirs.run);
    if (!ok(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1,
            "the page's file has its name"))
        return;
    is_i64(unlink(found.gl_pathv[0]) + mkdir(found.gl_pathv[0], 0700), 0,
           "a directory takes its place");
    globfree(&found);
    const bool both = sfid_open(&g, &opt) == 0 && sfid_open(&other, &opt) == 0;
    if (ok(both && sfid_pid(g) == sfid_pid(other), "processes share the next page")) {
        const int64_t first = next_id(g);
        ok(sfid_pid(g) == 0 && before < first && first < next_id(other),
           "and go on above what the page before knows of their pid");
    }
    sfid_close(other);
    sfid_close(g);
}

int main(void) {
    dirs_make();
    test_limit(UINT64_C(1) << 62, "a limit that a mark has no room for");
    test_limit(layout->max_tick + 2, "a limit just past the layout's end");
    says_nothing(0, "local?lead_ms=300");
    says_nothing(MARK_ENTRIES * MARK_BLOCK, "local?lead_ms=300");
    says_nothing(0, "local?lead_ms=300&share=1");
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        if (ways[i].root && !may_be_another_user()) {
            skip(10, "takes root to be another user");
            continue;
        }
        rules_out_one(&ways[i], "a mark", dirs.state);
        if (ways[i].page_too)
            rules_out_one(&ways[i], "a page", dirs.run);
    }
    in_its_place();
    return done_testing();
}
