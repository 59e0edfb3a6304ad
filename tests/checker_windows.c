/* SPDX-License-Identifier: MIT */
/*
 * The windows that processes were granted: each ID has to lie in one of its
 * own process's, and no two leases of a pid may have a tick in common.
 *
 * What counts as one lease: the same pid, holder and first tick. A renewal
 * moves its limit; forked children share it; the process that takes over the
 * slot of one that was killed goes on with it. A tick that two of these draw
 * from is no overlap, since they draw from one word: there the IDs themselves
 * have to differ. Everything else of the same pid, be it of another process,
 * another slot or the same process after a loss, is another lease.
 *
 * A lease that was given back ends behind the last tick that anybody who had
 * it drew from: the rest of its window may be lent again at once. One that was
 * not given back, of a process killed or one that lost its pid, lasts until its
 * limit.
 */
#include "checker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct window {
    uint64_t process, pid, first, limit, holder;
    size_t lease; /* its index, once sorted */
    bool given_back;
    const char *path;
};

struct lease {
    uint64_t pid, first, limit, holder;
    uint64_t used; /* behind the last tick drawn from; first: none was */
    bool given_back;
    const char *path;
};

static struct window *windows;
static struct lease *leases;
static size_t windows_n, leases_n;

void windows_add(const struct winlog_window *from, size_t n, uint64_t process, const char *path) {
    for (size_t i = 0; i < n; i++) {
        if (process == 0 || from[i].limit < from[i].first)
            give_up("%s: window %zu is none", path, i);
        windows = grown(windows, windows_n, sizeof *windows);
        windows[windows_n++] =
            (struct window){.process = process,
                            .pid = from[i].pid,
                            .first = from[i].first,
                            .limit = from[i].limit,
                            .holder = from[i].holder,
                            .given_back = (from[i].flags & WINLOG_GIVEN_BACK) != 0,
                            .path = path};
    }
}

size_t windows_count(void) { return windows_n; }

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_lease(const void *a, const void *b) {
    const struct window *x = a, *y = b;
    const int pid = compare(x->pid, y->pid), first = compare(x->first, y->first);
    return pid ? pid : first ? first : compare(x->holder, y->holder);
}

static int by_process(const void *a, const void *b) {
    const struct window *x = a, *y = b;
    return compare(x->process, y->process);
}

void windows_sort(void) {
    if (windows_n == 0)
        return;
    qsort(windows, windows_n, sizeof *windows, by_lease);
    for (size_t i = 0; i < windows_n; i++) {
        struct window *w = &windows[i];
        if (i == 0 || by_lease(w, w - 1) != 0) {
            leases = grown(leases, leases_n, sizeof *leases);
            leases[leases_n++] =
                (struct lease){w->pid, w->first, w->first, w->holder, w->first, false, w->path};
        }
        struct lease *l = &leases[leases_n - 1];
        w->lease = leases_n - 1;
        l->limit = w->limit > l->limit ? w->limit : l->limit;
        l->given_back = l->given_back || w->given_back;
    }
    qsort(windows, windows_n, sizeof *windows, by_process);
}

/* The first window of a process; windows_n when it has none. */
static size_t windows_of(uint64_t process) {
    size_t low = 0, high = windows_n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (windows[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool windows_cover(uint64_t process, uint64_t pid, uint64_t tick) {
    static size_t last; /* most IDs lie where the one before lay */
    for (size_t i = last < windows_n && windows[last].process == process ? last
                                                                         : windows_of(process),
                all = 0;
         all < 2; all++) {
        for (; i < windows_n && windows[i].process == process; i++) {
            const struct window *w = &windows[i];
            if (w->pid != pid || tick < w->first || tick >= w->limit)
                continue;
            struct lease *l = &leases[w->lease];
            l->used = tick >= l->used ? tick + 1 : l->used;
            last = i;
            return true;
        }
        i = windows_of(process);
    }
    return false;
}

static uint64_t end_of(const struct lease *l) {
    return l->given_back && l->used < l->limit ? l->used : l->limit;
}

/* Leases are sorted by pid and first tick: each has to begin where all before it have ended. */
/*
 * A slot that gave its lease back in the middle of a tick keeps the rest of that tick, and may
 * begin its next lease there. The IDs themselves have to differ.
 */
static bool goes_on(const struct lease *before, const struct lease *next) {
    return before->given_back && before->holder == next->holder &&
           end_of(before) == next->first + 1;
}

void windows_judge_overlaps(void) {
    const struct lease *longest = NULL;
    for (size_t i = 0; i < leases_n; i++) {
        const struct lease *l = &leases[i];
        if (longest && longest->pid != l->pid)
            longest = NULL;
        if (end_of(l) <= l->first)
            continue; /* given back unused */
        if (longest && end_of(longest) > l->first && !goes_on(longest, l) && found(OVERLAP))
            printf("pid %" PRIu64 ": ticks %" PRIu64 " to %" PRIu64 " of %s and %" PRIu64
                   " to %" PRIu64 " of %s overlap\n",
                   l->pid, longest->first, end_of(longest), longest->path, l->first, end_of(l),
                   l->path);
        if (longest == NULL || end_of(l) > end_of(longest))
            longest = l;
    }
}
