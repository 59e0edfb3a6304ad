/* SPDX-License-Identifier: MIT */
/*
 * Processes follow one another on a pid, with the "local" store and with a shared page. A third of them are killed. Each goes on
 * above the one before, and waits for no mark. An open reads its whole page, so the page of a pid stays short.
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
static void follow(const char *app, const char *store, const sfid_layout *l, unsigned names, long most) {
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
    ok(seen.largest > 0 && seen.largest <= most, "%s: the page takes %ld bytes at most (%ld)", app, most, seen.largest);
}

int main(void) {
    dirs_make();
    witness_begin();
    witness_system();
    const sfid_layout l = layout_of(LAYOUT);
    follow("own", "local", &l, 1 + shares(), shares() ? MANY_BYTES : FEW_BYTES);
    follow("shared", "local?share=1", &l, 2, MANY_BYTES);
    return done_testing();
}
