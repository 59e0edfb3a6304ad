/* SPDX-License-Identifier: MIT */
/*
 * A program with much thread-local storage, which the C library takes out of each thread's stack:
 * the library's own threads have what they need besides. This one has a mebibyte, four times what
 * their stack has without.
 */
#include "support/local.h"

enum { STORAGE = 1 << 20, LEFT = 200 << 10 };

static _Thread_local volatile char storage[STORAGE];
static _Atomic int64_t left; /* of the stack, in a callback */

static void hear(void *user, const sfid_event *e) {
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    char here;
    (void)user, (void)e;
    storage[STORAGE - 1] = 1;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
        atomic_store(&left, &here - (char *)low);
    }
}

static bool is_set(void *at) { return atomic_load((_Atomic int64_t *)at) != 0; }

int main(void) {
    dirs_make();
    storage[0] = 1;
    const sfid_layout layout = layout_of("41:10:12/1ms");
    sfid_options opt = local_options("storage", "local", &layout);
    sfid *g = NULL;
    opt.on_event = hear;
    const int rc = sfid_open(&g, &opt);
    is_i64(rc, 0, "a generator with a keeper: %s", rc < 0 ? sfid_last_error(g) : "opened");
    ok(next_within(g, TAP_WAIT_MS) > 0, "an ID");
    ok(tap_wait_until(is_set, &left, TAP_WAIT_MS), "an event");
    if (SANITIZED)
        skip(1, "a sanitizer makes calls of its own");
    else
        ok(atomic_load(&left) >= LEFT, "whose callback has %d KiB of stack, %" PRId64 " are left",
           LEFT >> 10, atomic_load(&left) >> 10);
    sfid_close(g);
    opt = local_options("storage", "redis://localhost:1/0", &layout);
    opt.open_timeout_ms = 2000;
    is_i64(sfid_open(&g, &opt), SFID_EREDIS, "a server by its name");
    ok(strstr(sfid_last_error(g), "cannot start the thread that looks up") == NULL,
       "is looked up by a thread of its own: %s", sfid_last_error(g));
    sfid_close(g);
    return done_testing();
}
