/* SPDX-License-Identifier: MIT */
/* What is made and given back again and again leaves neither memory nor descriptors behind. */
#include "lease/options.h"

#include "support/marks.h"
#include "support/scene.h"

#include <malloc.h>

enum { WARM = 20, ROUNDS = 1000 };

/* Bytes from malloc(). 0 where that is not known: sanitizers and valgrind find leaks by
 * themselves. */
static size_t heap_used(void) {
#if defined(__GLIBC__) && __GLIBC_MINOR__ >= 33 && !SANITIZED
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static bool a_mark(void) {
    struct sfid__mark m;
    const bool taken =
        sfid__mark_take(&m, &mark_app, &(struct sfid__mark_want){1, 77, false, false, 0},
                        &mark_said, &mark_err) == 0;
    sfid__mark_drop(&m);
    return taken;
}

static bool a_directory(void) {
    struct sfid__dir dir, sub = SFID__DIR_NONE;
    const bool opened = sfid__dir_reopen(&dir, mark_app.path, &mark_err) == 0 &&
                        sfid__dir_open_sub(&sub, &dir, "sub", &mark_err) == 0;
    sfid__dir_close(&sub);
    sfid__dir_close(&dir);
    return opened;
}

static bool options_for_later(void) {
    struct sfid__settings s;
    sfid_layout layout = SFID_LAYOUT(40, 10, 13, 7, 0);
    char app[] = "orders", run[] = "/run/somewhere/in/memory";
    char store[] = "pool:1-2=redis://a:x@localhost/0?share=1 3-4=redis://b:x@localhost/1?share=1";
    sfid_options o = SFID_OPTIONS_INIT;
    o.app = app;
    o.store = store;
    o.layout = &layout;
    o.run_dir = run;
    o.state_dir = "/var/lib/somewhere/on/disk";
    if (sfid__options_read(&o, &s, &mark_err) < 0)
        return false;
    sfid__options_keep(&s);
    memset(app, 'x', strlen(app));
    memset(store, 'x', strlen(store));
    memset(run, 'x', strlen(run));
    memset((void *)&layout, 0, sizeof layout);
    const bool same = s.kept && s.opt.layout->unit_ms == 7 && strcmp(s.opt.app, "orders") == 0 &&
                      strcmp(s.opt.run_dir, "/run/somewhere/in/memory") == 0 &&
                      strcmp(sfid__options_server(&s, 1)->shown, "redis://localhost:6379/1") == 0;
    sfid__options_end(&s);
    return same;
}

static bool refused_options(void) {
    struct sfid__settings s;
    sfid_options o = SFID_OPTIONS_INIT;
    o.app = "orders";
    o.store = "pool:1-2=redis://a:x@localhost/0 3-4=redis://a:x@localhost/1";
    return sfid__options_read(&o, &s, &mark_err) == SFID_EINVAL;
}

/* Copied out of the caller's memory, and from then on one for all; the URL of a node is another
 * one. */
static bool a_shared_url(void) {
    struct sfid__uri uri, one;
    if (sfid__uri_parse("redis+cluster://a,b", &uri, &mark_err) < 0)
        return false;
    struct sfid__uri *first = sfid__uri_share(&uri), *second = sfid__uri_share(first);
    sfid__uri_of_node(first, &first->node[1], &one);
    struct sfid__uri *node = sfid__uri_share(&one);
    const bool right = first != &uri && second == first && node != first && node != &one;
    sfid__uri_drop(first);
    const bool there = second->nodes == 2 && node->nodes == 1;
    sfid__uri_drop(second);
    sfid__uri_drop(node);
    return right && there;
}

static void again_and_again(bool (*make)(void), const char *what) {
    size_t heap = 0;
    unsigned failed = 0;
    const int fds = entries("/proc/self/fd");
    for (int i = 0; i < WARM + ROUNDS; i++) {
        if (i == WARM) /* what the first ones leave for all that follow is there */
            heap = heap_used();
        failed += !make();
    }
    const size_t after = heap_used();
    is_u64(failed, 0, "%s: made %d times", what, WARM + ROUNDS);
    if (!ok(after < heap + ROUNDS, "%s: without memory left behind", what))
        diag("%zu bytes before %d rounds, %zu after", heap, ROUNDS, after);
    is_i64(entries("/proc/self/fd"), fds, "%s: and without a descriptor", what);
}

/* Generators of one app, each with a pid of this host, beside the first: that one has what the
 * process needs once. */
static void is_small(void) {
    enum { MANY = 100, MOST = 3600 };
    sfid *all[MANY + 1] = {NULL};
    sfid_options o = SFID_OPTIONS_INIT;
    o.app = "leaks-small";
    o.store = "local?mark=none";
    unsigned failed = 0;
    size_t before = 0;
    for (int i = 0; i <= MANY; i++) {
        failed += sfid_open(&all[i], &o) < 0 || sfid_next(all[i]) < 0;
        if (i == 0)
            before = heap_used();
    }
    const size_t each = (heap_used() - before) / MANY;
    is_u64(failed, 0, "a generator: opened %d times", MANY + 1);
    ok(each <= MOST, "a generator: takes %zu bytes of the heap, %d at most", each, MOST);
    for (int i = 0; i <= MANY; i++)
        sfid_close(all[i]);
}

int main(void) {
    marks_begin();
    is_small();
    again_and_again(a_mark, "a mark");
    again_and_again(a_directory, "a directory");
    again_and_again(options_for_later, "options kept for later");
    again_and_again(a_shared_url, "a URL that is shared");
    again_and_again(refused_options, "options that are refused");
    sfid__dir_close(&mark_app);
    return done_testing();
}
