/* SPDX-License-Identifier: MIT */
/** roots_causes.h - the causes of roots.c: what happens to the roots under a process that
 * generates. */
#ifndef SFID_TESTS_ROOTS_CAUSES_H
#define SFID_TESTS_ROOTS_CAUSES_H

#include "roots_round.h"

/* ---- the first one's doing ---------------------------------------------- */

static bool go_apart(struct place *p) {
    (void)p;
    return apart();
}

static bool go_apart_if_need(struct place *p) {
    (void)p;
    return geteuid() == 0 || apart();
}

static bool jail(struct place *p) { return jail_in(p->jail); }

static bool jail_and_setuid(struct place *p) { return jail_in(p->jail) && become_somebody(); }

static bool jail_of_its_own(struct place *p) {
    return chmod(p->jail, 0777) == 0 && jail_and_setuid(p);
}

/* The descriptors it had are those of copies now, which a keeper that trusts their numbers would
 * write to. */
static bool lose_descriptors(struct place *p) {
    const char *copies[] = {p->state_copy, p->run_copy};
    char app[WHERE] = "";
    for (size_t i = 0; i < COUNT_OF(copies) && !app[0]; i++) {
        DIR *d = opendir(copies[i]);
        for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
            if (strncmp(e->d_name, APP, strlen(APP)) == 0)
                snprintf(app, sizeof app, "%.100s", e->d_name);
        if (d)
            closedir(d);
        if (app[0])
            take_descriptors(copies[i], app);
    }
    return app[0];
}

static bool jail_without_descriptors(struct place *p) {
    return lose_descriptors(p) && jail_in(p->jail);
}

static void make_path(const char *path) {
    char part[2 * WHERE];
    for (size_t i = 1; path[i]; i++)
        if (path[i] == '/') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            mkdir(part, 0700);
        }
    mkdir(path, 0700);
}

static bool jail_with(const struct place *p, const char *dir) {
    char inside[2 * WHERE + 2];
    snprintf(inside, sizeof inside, "%s%s", p->jail, dir);
    make_path(inside);
    return bind_over(dir, inside) && jail_in(p->jail);
}

static bool jail_with_state(struct place *p) { return jail_with(p, p->state); }
static bool jail_with_run(struct place *p) { return jail_with(p, p->run); }

static bool cover_run(struct place *p) { return mount_tmpfs(p->run, "size=8m"); }
static bool cover_state(struct place *p) { return mount_tmpfs(p->state, "size=8m"); }
static bool copy_over_run(struct place *p) { return bind_over(p->run_copy, p->run); }
static bool copy_over_state(struct place *p) { return bind_over(p->state_copy, p->state); }

/* The paths that it is given lead to other names of the same directories. */
static bool by_second_paths(struct place *p) {
    if (!apart() || !bind_over(p->run, p->run_too) || !bind_over(p->state, p->state_too))
        return false;
    memcpy(p->run, p->run_too, sizeof p->run);
    memcpy(p->state, p->state_too, sizeof p->state);
    return true;
}

static bool lose_second_run(struct place *p) { return umount2(p->run_too, MNT_DETACH) == 0; }
static bool lose_second_state(struct place *p) { return umount2(p->state_too, MNT_DETACH) == 0; }

/* ---- the others' -------------------------------------------------------- */

static bool with_own_run(struct place *p) { return apart() && cover_run(p); }
static bool with_own_state(struct place *p) { return apart() && cover_state(p); }
static bool with_state_copy(struct place *p) { return apart() && copy_over_state(p); }
static bool with_run_copy(struct place *p) { return apart() && copy_over_run(p); }

/* ---- the test's --------------------------------------------------------- */

static void remove_run(struct place *p) { remove_all(p->run); }
static void remove_state(struct place *p) { remove_all(p->state); }

static void remove_both(struct place *p) {
    remove_all(p->run);
    remove_all(p->state);
}

static void restore_run(struct place *p) {
    remove_all(p->run);
    copy_tree(p->run_copy, p->run);
}

static void restore_state(struct place *p) {
    remove_all(p->state);
    copy_tree(p->state_copy, p->state);
}

static void move_run(struct place *p) { move(p->run, p->run_too); }
static void move_state(struct place *p) { move(p->state, p->state_too); }

static void replace_run(struct place *p) {
    move_run(p);
    make_dir(p->run);
}

static void replace_state(struct place *p) {
    move_state(p);
    make_dir(p->state);
}

static void move_run_back(struct place *p) {
    remove_all(p->run);
    move(p->run_too, p->run);
}

static void move_state_back(struct place *p) {
    remove_all(p->state);
    move(p->state_too, p->state);
}

/* The files of the pid alone, in the directory of the app. */
static int remove_pid(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)kind;
    if (strncmp(path + walk->base, "pid-", 4) == 0)
        unlink(path);
    return 0;
}

static void remove_page(struct place *p) { nftw(p->run, remove_pid, 16, FTW_PHYS); }
static void remove_mark(struct place *p) { nftw(p->state, remove_pid, 16, FTW_PHYS); }

/* ---- the table ---------------------------------------------------------- */

static const struct cause causes[] = {
    {.name = "nothing"},
    {.name = "chroot",
     .enter = go_apart_if_need,
     .inside = jail,
     .needs = WITH_REDIS | NEEDS_MOUNTS},
    {.name = "chroot and setuid", .inside = jail_and_setuid, .needs = NEEDS_ROOT},
    {.name = "chroot and setuid, jail open to all", .inside = jail_of_its_own, .needs = NEEDS_ROOT},
    {.name = "descriptors taken", .inside = lose_descriptors},
    {.name = "descriptors taken, chroot",
     .enter = go_apart_if_need,
     .inside = jail_without_descriptors,
     .needs = NEEDS_MOUNTS},
    {.name = "chroot, state bound into it",
     .enter = go_apart,
     .inside = jail_with_state,
     .needs = NEEDS_MOUNTS},
    {.name = "chroot, run bound into it",
     .enter = go_apart,
     .inside = jail_with_run,
     .needs = NEEDS_MOUNTS},
    {.name = "run mounted over", .enter = go_apart, .inside = cover_run, .needs = NEEDS_MOUNTS},
    {.name = "state mounted over",
     .enter = go_apart,
     .inside = cover_state,
     .needs = WITH_REDIS | NEEDS_MOUNTS},
    {.name = "old copy bound over run",
     .enter = go_apart,
     .inside = copy_over_run,
     .needs = NEEDS_MOUNTS | AGED},
    {.name = "old copy bound over state",
     .enter = go_apart,
     .inside = copy_over_state,
     .needs = NEEDS_MOUNTS | AGED},
    {.name = "run mounted over for the next", .next = with_own_run, .needs = NEEDS_MOUNTS},
    {.name = "state mounted over for the next", .next = with_own_state, .needs = NEEDS_MOUNTS},
    {.name = "old copy of run for the next", .next = with_run_copy, .needs = NEEDS_MOUNTS},
    {.name = "old copy of state for the next", .next = with_state_copy, .needs = NEEDS_MOUNTS},
    {.name = "run renamed", .outside = move_run},
    {.name = "state renamed", .outside = move_state},
    {.name = "run renamed, another there", .outside = replace_run},
    {.name = "state renamed, another there", .outside = replace_state},
    {.name = "run renamed and back", .outside = move_run, .after = move_run_back},
    {.name = "state renamed and back", .outside = move_state, .after = move_state_back},
    {.name = "run removed", .outside = remove_run, .needs = WITH_REDIS},
    {.name = "state removed", .outside = remove_state, .needs = WITH_REDIS},
    {.name = "page removed", .outside = remove_page},
    {.name = "mark removed", .outside = remove_mark},
    {.name = "run restored", .outside = restore_run, .needs = AGED},
    {.name = "state restored", .outside = restore_state, .needs = AGED},
    {.name = "run restored after the end", .after = restore_run},
    {.name = "state restored after the end", .after = restore_state, .needs = WITH_REDIS},
    {.name = "state restored long after", .after = restore_state, .needs = AGED},
    {.name = "second paths of the first", .enter = by_second_paths, .needs = NEEDS_MOUNTS},
    {.name = "second path of run unmounted",
     .enter = by_second_paths,
     .inside = lose_second_run,
     .needs = NEEDS_MOUNTS},
    {.name = "second path of state unmounted",
     .enter = by_second_paths,
     .inside = lose_second_state,
     .needs = NEEDS_MOUNTS},
    {.name = "restarted, run its own",
     .enter = with_own_run,
     .next = with_own_run,
     .needs = WITH_REDIS | NEEDS_MOUNTS},
    {.name = "restarted, state its own",
     .enter = with_own_state,
     .next = with_own_state,
     .needs = WITH_REDIS | NEEDS_MOUNTS},
    {.name = "run removed, chroot",
     .enter = go_apart_if_need,
     .outside = remove_run,
     .inside = jail,
     .needs = NEEDS_MOUNTS},
    {.name = "state removed, chroot",
     .enter = go_apart_if_need,
     .outside = remove_state,
     .inside = jail,
     .needs = NEEDS_MOUNTS},
    {.name = "run removed, state mounted over",
     .enter = go_apart,
     .outside = remove_run,
     .inside = cover_state,
     .needs = NEEDS_MOUNTS},
    {.name = "run mounted over, state removed",
     .enter = go_apart,
     .outside = remove_state,
     .inside = cover_run,
     .needs = NEEDS_MOUNTS},
    {.name = "both removed", .outside = remove_both, .needs = NOT_PROMISED},
};

#endif
