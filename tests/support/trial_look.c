/* SPDX-License-Identifier: MIT */
/* trial_look.c - what is left over after a trial. */
#include "support/trial_parts.h"

enum { KEPT_OF_PAGE = 8192, HURRIED_MS = 100 }; /* KEPT_OF_PAGE: of one with a few records */

static struct inject_live growth(const struct inject_live *all) {
    const struct inject_live a = all[TRIAL_ROUNDS - 2], b = all[TRIAL_ROUNDS - 1];
    return (struct inject_live){b.blocks - a.blocks, b.pages - a.pages, b.map_bytes - a.map_bytes,
                                b.streams - a.streams};
}

/*
 * What a process keeps for good is there after the first rounds. Closed handles stay, as in the
 * good run. So does a part of each page, and a failure may cost a page in each round.
 */
static void look_at_growth(void) {
    const struct inject_live has = growth(trial_state->round);
    const struct inject_live may =
        /* no handle */
        trial_state->failed == TRIAL_ROUNDS ? (struct inject_live){0, 0, 0, 0}
                                            : growth(trial_now.good);
    const int pages = has.pages > 0 ? has.pages : 0;
    char list[4000] = "";
    if (trial_now.is_good) {
        if (has.blocks > 1 || has.streams > 0)
            trial_wrong("each round leaves %+d blocks, %+d streams", has.blocks, has.streams);
        return;
    }
    if (trial_now.work == TRIAL_OPEN && inject->plan.error == EMFILE && !inject->plan.all &&
        has.pages > 0)
        trial_wrong("each round costs a page");
    if ((has.blocks <= may.blocks && has.streams <= may.streams && pages <= 2 &&
         has.map_bytes <= (may.map_bytes > 0 ? may.map_bytes : 0) + pages * KEPT_OF_PAGE))
        return;
    if (trial_is_verbose())
        inject_list(list, sizeof list);
    trial_wrong("each round leaves %+d blocks, %+d pages, %+d mapped bytes, %+d streams%.3000s",
                has.blocks, has.pages, has.map_bytes, has.streams, list);
}

/* A kept descriptor that cannot be looked at stays open: by now the program may use its number for
 * something else. */
void trial_same_fds(int had, const char *when) {
    const int more = count_fds() - had;
    if (more != 0 && (more < 0 || inject->plan.kind != INJECT_fstat64 || more > 2 * TRIAL_ROUNDS))
        trial_wrong("%+d descriptors %s", more, when);
}

struct trial_had trial_has(void) {
    return (struct trial_had){count_fds(), count_threads()};
}

bool trial_wait(bool (*cond)(void *arg), void *arg) {
    return tap_wait_until(cond, arg, trial_now.was_bad ? HURRIED_MS : TAP_WAIT_MS);
}

static bool is_back(void *arg) {
    struct trial_had *had = arg;
    return count_fds() <= had->fds &&
           (count_threads() <= had->threads || threads_are(&had->threads));
}

void trial_same(const struct trial_had *had, const char *when) {
    struct trial_had most = *had;
    if (!trial_now.is_good && inject->plan.kind == INJECT_fstat64) /* as above */
        most.fds += 2 * TRIAL_ROUNDS;
    if (trial_wait(is_back, &most))
        return;
    const struct trial_had now = trial_has();
    trial_wrong("%+d descriptors and %+d threads %s", now.fds - had->fds,
                now.threads - had->threads, when);
}

static int find_temporary(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)kind;
    if (path[walk->base] == '.' &&
        /* that is where a host without state directory is noted */
        strcmp(path + walk->base, ".state") != 0)
        trial_wrong("file left: %s", path + walk->base);
    return 0;
}

/* Of a build with AddressSanitizer: prints what no pointer leads to. A forked child has threads in
 * its list that it lacks. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* At the end of the process: everything is closed. */
void trial_look_around(int fds) {
    look_at_growth();
    if (__lsan_do_recoverable_leak_check && trial_now.work != TRIAL_FORK &&
        __lsan_do_recoverable_leak_check() != 0)
        trial_wrong("memory that no pointer leads to");
    int none = 1;
    if (!tap_wait_until(threads_are, &none, TAP_WAIT_MS))
        trial_wrong("%d threads at the end", count_threads());
    /* the thread is gone: it opens files now and then */
    trial_same_fds(fds + trial_now.inherited_fds, "at the end");
}

/* The failing call may be the one that removes it. */
void trial_look_at_files(void) {
    const enum inject_kind kind = inject->plan.kind;
    if (trial_now.is_good || kind != INJECT_unlinkat) {
        nftw(trial_now.run, find_temporary, 16, FTW_PHYS);
        nftw(trial_now.home, find_temporary, 16, FTW_PHYS);
    }
}
