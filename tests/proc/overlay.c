/* SPDX-License-Identifier: MIT */
/*
 * Directories on overlayfs, as in a container without a volume. There a mapping keeps no lock of
 * the file it maps, so the library keeps a descriptor: the pid is refused to others while it is
 * held, also when only a child holds it, and free then.
 *
 * One size. Mounts in a private mount namespace, which takes root.
 */
#include "support/proc.h"

#include <sched.h>
#include <sys/mount.h>

enum { NO_MOUNT = 60, NO_OVERLAY = 61 };

static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;
static atomic_int *go_on, *drawn;

static int draw_till_told(void *arg) {
    sfid *g = arg;
    const bool drew = sfid_next(g) >= 0;
    atomic_store(drawn, 1);
    flag_wait(go_on, 1, TAP_WAIT_MS);
    const bool drew_on = sfid_next(g) >= 0;
    sfid_close(g);
    return drew && drew_on ? 0 : 1;
}

/* Mounts an overlay in a private namespace. Returns 0 or a status to end with. */
static int stack(const char *where, char merged[150]) {
    char lower[150], upper[150], work[150], options[600];
    snprintf(lower, sizeof lower, "%s/lower", where);
    snprintf(upper, sizeof upper, "%s/upper", where);
    snprintf(work, sizeof work, "%s/work", where);
    snprintf(merged, 150, "%s/merged", where);
    snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work);
    if ((mkdir(where, 0700) < 0 && errno != EEXIST) || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", where, "tmpfs", MS_NOSUID | MS_NODEV, "size=8m") < 0)
        return NO_MOUNT;
    if (mkdir(lower, 0700) < 0 || mkdir(upper, 0700) < 0 || mkdir(work, 0700) < 0 ||
        mkdir(merged, 0700) < 0)
        return DIED;
    return mount("overlay", merged, "overlay", 0, options) < 0 ? NO_OVERLAY : 0;
}

/* On overlayfs a mapping keeps no lock: the pid is refused to others all the same, also while only
 * a child has it. */
static int on_overlay(void *arg) {
    char merged[150];
    const int mounted = stack(arg, merged);
    if (mounted != 0)
        return mounted;
    sfid_options opt = options_of("dir", 1, layout), elsewhere;
    opt.run_dir = opt.state_dir = merged;
    elsewhere = opt;
    elsewhere.run_dir = dirs.run;
    sfid *g = open_or_die(&opt);
    if (try_open(&opt) != SFID_EBUSY || try_open(&elsewhere) != SFID_EBUSY)
        return 1;
    const pid_t child = child_start(draw_till_told, g);
    sfid_close(g);
    if (try_open(&opt) != SFID_EBUSY || try_open(&elsewhere) != SFID_EBUSY)
        return 2;
    atomic_store(go_on, 1);
    if (child_wait(child, TAP_WAIT_MS) != 0)
        return 3;
    const int fds = count_fds();
    if (try_open(&opt) != 0 || try_open(&opt) != 0)
        return 4;
    return count_fds() == fds ? 0 : 5;
}

static int open_till_told(void *arg) { return draw_till_told(open_or_die(arg)); }

/* Processes that share the pid keep a descriptor each: it is refused to others until the last of
 * them has closed. */
static int shared_on_overlay(void *arg) {
    char merged[150];
    const int mounted = stack(arg, merged);
    if (mounted != 0)
        return mounted;
    sfid_options opt = options_of("dir", 1, layout), alone = opt;
    opt.run_dir = opt.state_dir = alone.run_dir = alone.state_dir = merged;
    opt.share = 1;
    alone.share = 0;
    sfid *g = open_or_die(&opt);
    const pid_t child = child_start(open_till_told, &opt);
    if (!flag_wait(drawn, 1, TAP_WAIT_MS) || sfid_next(g) < 0 || try_open(&alone) != SFID_EBUSY)
        return 1;
    sfid_close(g);
    if (try_open(&alone) != SFID_EBUSY || try_open(&opt) != 0)
        return 2;
    atomic_store(go_on, 1);
    if (child_wait(child, TAP_WAIT_MS) != 0)
        return 3;
    return try_open(&alone) == 0 && try_open(&opt) == 0 ? 0 : 4;
}

int main(void) {
    char where[100];
    dirs_make();
    go_on = shared_memory(2 * sizeof *go_on);
    drawn = go_on + 1;
    snprintf(where, sizeof where, "%s/stacked", dirs.shm);
    const int status = child_run(on_overlay, where, TAP_WAIT_MS);
    if (status == NO_MOUNT)
        skip(1, "cannot mount a file system here");
    else if (status == NO_OVERLAY)
        skip(1, "this kernel has no overlayfs");
    else
        is_i64(status, 0, "a pid held is refused, also while only a child has it; then it is free");
    atomic_store(go_on, 0);
    atomic_store(drawn, 0);
    if (status == 0)
        is_i64(child_run(shared_on_overlay, where, TAP_WAIT_MS), 0,
               "and so it is while processes share it");
    return done_testing();
}
