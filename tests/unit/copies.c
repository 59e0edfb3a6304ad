/* SPDX-License-Identifier: MIT */
/*
 * Two copies of the library in one process: this program has one linked in, and loads the shared
 * one. With an app the second is refused; without one neither knows of the other, as <sfid.h> says.
 */
#include "support/tap.h"

#include <dlfcn.h>
#include <sfid.h>

static struct {
    int (*open)(sfid **out, const sfid_options *opt);
    void (*close)(sfid *g);
    int64_t (*next)(sfid *g);
} other;

static void load(void) {
    char path[4200];
    const char *dir = getenv("builddir");
    snprintf(path, sizeof path, "%s/.libs/libsfid.so", dir ? dir : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        skip_all("the shared library is not built");
    *(void **)&other.open = dlsym(library, "sfid_open");
    *(void **)&other.close = dlsym(library, "sfid_close");
    *(void **)&other.next = dlsym(library, "sfid_next");
    need(other.open && other.close && other.next && other.open != sfid_open,
         "it is no second copy");
}

static void refused(int64_t pid, const char *store, const char *what) {
    char run[4200], state[4200];
    sfid *first = NULL, *second = NULL;
    sfid_options o = SFID_OPTIONS_INIT;
    snprintf(run, sizeof run, "%s/run", tap_tmpdir());
    snprintf(state, sizeof state, "%s/state", tap_tmpdir());
    o.app = "copies";
    o.pid = pid;
    o.store = store;
    o.run_dir = run;
    o.state_dir = state;
    o.pid_min = o.pid_max = store ? 7 : 0;
    const int want = store ? SFID_ENOPID : SFID_EBUSY;
    ok(sfid_open(&first, &o) == 0 && sfid_next(first) >= 0, "%s: one copy opens a generator", what);
    is_i64(other.open(&second, &o), want, "%s: the other is refused the pid", what);
    other.close(second);
    ok(sfid_next(first) >= 0, "%s: which leaves the first one alone", what);
    sfid_close(first);
    is_i64(other.open(&second, &o), 0, "%s: once it is closed the other gets it", what);
    is_i64(sfid_open(&first, &o), want, "%s: and this one is refused", what);
    ok(other.next(second) >= 0, "%s: it draws", what);
    sfid_close(first);
    other.close(second);
}

int main(void) {
    load();
    refused(7, NULL, "fixed pid");
    refused(-1, "local", "local store");
    return done_testing();
}
