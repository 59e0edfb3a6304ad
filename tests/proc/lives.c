/* SPDX-License-Identifier: MIT */
/*
 * Processes follow one another on a pid, with the "local" store and with a shared page. A third of
 * them are killed. Each goes on above the one before, and waits for no mark. An open reads its
 * whole page, so the page of a pid stays short.
 *
 * One that does not share draws ahead of the clock and is killed: those that share a page next, and
 * the one that goes on with its pid, begin above.
 *
 * One size: 200 processes of each kind.
 */
#include "support/local.h"

#define LAYOUT "41:4:12/1ms"

enum { LIVES = 200, FEW_BYTES = 16384, MANY_BYTES = 65536 };
enum { FIRST_MS = 5000 /* a mark may be 30 s ahead */ };

static struct {
    uint64_t lower, nameless;
    struct took longest; /* until a life had its first ID */
    long largest;        /* bytes */
    int64_t last;
} seen;

static void live(const sfid_options *opt, bool killed, const char *page, unsigned names) {
    const int64_t begin = tap_now_ms();
    struct holder *h = holder_start(opt, !killed);
    struct stat st;
    seen.longest = took_longer(seen.longest, took_since(begin));
    must(stat(page, &st) == 0, "the page");
    seen.nameless += st.st_nlink != names;
    must(holder_end(h, killed) == 0, "a life ends well");
    seen.lower += h->first <= seen.last || (!killed && h->last <= h->first);
    seen.last = h->last > h->first ? h->last : h->first;
    munmap(h, sizeof *h);
    if (stat(page, &st) == 0 && st.st_blocks * 512 > seen.largest)
        seen.largest = st.st_blocks * 512;
}

/* names: how many the page has while it is in use. */
static void follow(const char *app, const char *store, const sfid_layout *l, unsigned names,
                   long most) {
    const sfid_options opt = local_options(app, store, l);
    char page[400];
    snprintf(page, sizeof page, "%s/%s/pid-0", dirs.run, app);
    memset(&seen, 0, sizeof seen);
    for (int i = 0; i < LIVES; i++)
        live(&opt, i % 3 == 0, page, names);
    is_u64(seen.lower, 0, "%s: IDs increase", app);
    in_time(seen.longest, FIRST_MS, "%s: none waits for a mark", app);
    diag("figure: %s: the longest start took %" PRId64 " ms", app, seen.longest.ms);
    is_u64(seen.nameless, 0, "%s: the page in use has all its names", app);
    ok(seen.largest > 0 && seen.largest <= most, "%s: the page takes %ld bytes at most (%ld)", app,
       most, seen.largest);
}

/* ---- after a process that did not share --------------------------------------- */

/* a minute's, and more: the clock does not get there before the test */
enum { AHEAD_IDS = 8000000 };

static int64_t one(sfid *g) { return next_within(g, TAP_WAIT_MS); }

static sfid_options borrowing(const char *app, const char *store) {
    sfid_options opt = local_options(app, store, &SFID_LAYOUT_DEFAULT);
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 600000;
    return opt;
}

static int64_t many(sfid *g) {
    static int64_t ids[8192];
    int64_t n = 1;
    for (int64_t sum = 0; sum < AHEAD_IDS && n > 0; sum += n)
        n = sfid_next_n(g, ids, COUNT_OF(ids));
    return n > 0 ? ids[n - 1] : n;
}

static struct { int64_t last; } * told; /* what the killed one had */

/* Does not share, draws ahead of the clock, and is killed. */
static int die_ahead(void *opt) {
    told->last = many(open_or_die(opt));
    raise(SIGKILL);
    return 0;
}

static void after_a_kill(void) {
    char state[4400];
    told = shared_memory(sizeof *told);
    sfid_options opt = borrowing("ahead", "local?share=1"),
                 alone = borrowing("ahead", "local?pid_max=0");
    opt.max_ahead_ms = 1000;
    child_run(die_ahead, &alone, TAP_WAIT_MS);
    sfid *g = open_or_die(&opt);
    ok(told->last > 0 && sfid_pid(g) == 1 && one(g) > 0,
       "the page of a killed process lies ahead of the clock: another pid is shared");
    sfid *own = NULL;
    int64_t id = sfid_open(&own, &alone) < 0 ? -1 : one(own);
    is_i64(id, told->last + 1, "and the killed one goes on beside it: %s",
           own ? sfid_last_error(own) : "");
    sfid_close(own);
    sfid_close(g);

    opt.app = alone.app = "unmarked";
    child_run(die_ahead, &alone, TAP_WAIT_MS);
    snprintf(state, sizeof state, "%s/unmarked", dirs.state);
    remove_tree(state);
    opt.store = "local?share=1&pid_max=0";
    opt.max_ahead_ms = alone.max_ahead_ms; /* it need not wait for the clock */
    g = open_or_die(&opt);
    id = one(g);
    ok(sfid_pid(g) == 0 && id > told->last,
       "a killed process has left its page, and no mark: a page that is shared begins above");
    sfid_close(g);

    opt.app = alone.app = "taken";
    child_run(die_ahead, &alone, TAP_WAIT_MS);
    g = open_or_die(&opt);
    is_i64(one(g), told->last + 1, "with its mark as well, at the next ID");
    sfid_close(g);

    opt.store = "local?share=1&pid_min=3&pid_max=3";
    g = open_or_die(&opt);
    own = NULL;
    id = sfid_open(&own, &alone) < 0 ? -1 : one(own);
    ok(sfid_pid(g) == 3 && id > told->last,
       "a page is shared under another pid than before: the old pid is free");
    sfid_close(own);
    sfid_close(g);
}

int main(void) {
    dirs_make();
    witness_begin();
    witness_system();
    const sfid_layout l = layout_of(LAYOUT);
    follow("own", "local", &l, 1 + shares(), shares() ? MANY_BYTES : FEW_BYTES);
    follow("shared", "local?share=1", &l, 2, MANY_BYTES);
    after_a_kill();
    return done_testing();
}
