/* SPDX-License-Identifier: MIT */
/*
 * weak_litmus.c - small programs whose outcomes are known: the explorer finds
 * each that the model allows, and none that it forbids.
 *
 * SB, MP, LB, WRC, IRIW, 2+2W, CoRR … are the usual names. Z6.U, IRIW-acq-sc
 * and SB+rmw are from the RC11 paper: they tell its order of sequentially
 * consistent accesses from C11's, which is stronger, and from a weaker one.
 */
#include "weak.h"

#include <stdio.h>
#include <string.h>

enum { X, Y, Z };
static int w1, r1, w2, r2; /* orders, as the row has them */

#define THREAD(name, ...) \
    static void name(void) { __VA_ARGS__ }

THREAD(set_x_get_y, store(X, 1, w1); note(0, load(Y, r1) + 1);)
THREAD(set_y_get_x, store(Y, 1, w2); note(1, load(X, r2) + 1);)
THREAD(fence_x_y, store(X, 1, RLX); fence(w1); note(0, load(Y, RLX) + 1);)
THREAD(fence_y_x, store(Y, 1, RLX); fence(w2); note(1, load(X, RLX) + 1);)
THREAD(rmw_x_get_y, exchange(X, 1, w1); note(0, load(Y, r1) + 1);)
THREAD(rmw_y_get_x, exchange(Y, 1, w2); note(1, load(X, r2) + 1);)
THREAD(both_old, want(noted(0) != 1 || noted(1) != 1, "both find 0");)

THREAD(send, store(X, 1, RLX); store(Y, 1, w1);)
THREAD(send_fence, store(X, 1, RLX); fence(w1); store(Y, 1, RLX);)
THREAD(send_two, store(X, 1, RLX); store(Y, 1, w1); store(Y, 2, RLX);)
THREAD(continue_rmw, long one = 1; swap(Y, &one, 2, RLX);)
THREAD(send_plain, write_plain(X, 1); store(Y, 1, w1);)
THREAD(get, if (load(Y, r1)) want(load(X, RLX) == 1, "old");)
THREAD(get_2, if (load(Y, r1) == 2) want(load(X, RLX) == 1, "old");)
THREAD(
    get_fence, if (load(Y, RLX)) {
        fence(r1);
        want(load(X, RLX) == 1, "old");
    })
THREAD(get_plain, if (load(Y, r1)) want(read_plain(X) == 1, "old");)
THREAD(get_failing, long other = 5; swap(Y, &other, 7, AR);
       if (other == 1) want(load(X, RLX) == 1, "old");)

THREAD(lb_x_y, if (load(X, RLX)) note(0, 1); store(Y, 1, RLX);)
THREAD(lb_y_x, if (load(Y, RLX)) note(1, 1); store(X, 1, RLX);)
THREAD(both_new, want(!noted(0) || !noted(1), "both find 1");)

THREAD(set_x, store(X, 1, w1);)
THREAD(set_y, store(Y, 1, w2);)
THREAD(pass_on, if (load(X, RLX)) store(Y, 1, w2);)
THREAD(end_of_chain, if (load(Y, r2)) want(load(X, RLX) == 1, "old");)
THREAD(read_x_y, note(0, load(X, r1)); note(1, load(Y, r2));)
THREAD(read_y_x, note(2, load(Y, r1)); note(3, load(X, r2));)
THREAD(opposite,
       want(!(noted(0) && !noted(1) && noted(2) && !noted(3)), "two orders of the writes");)

THREAD(w_x1_y2, store(X, 1, w1); store(Y, 2, w1);)
THREAD(w_y1_x2, store(Y, 1, w1); store(X, 2, w1);)
THREAD(both_first,
       want(last(X) != 1 || last(Y) != 1, "each has the last word of the other's first");)

THREAD(x_twice, store(X, 1, RLX); store(X, 2, RLX);)
THREAD(read_twice, const long a = load(X, RLX), b = load(X, RLX); want(b >= a, "back");)
THREAD(own_write, store(X, 1, RLX); note(0, load(X, RLX)); note(1, 1);)
THREAD(other_write, store(X, 2, RLX);)
THREAD(own_old, want(noted(0) != 0, "its own write is not seen");)
THREAD(read_then_write, note(0, load(X, RLX)); store(X, 1, RLX);)
THREAD(own_future, want(noted(0) != 1, "a write that comes later");)

THREAD(add_0, note(0, add(X, 1, RLX));)
THREAD(add_1, note(1, add(X, 1, RLX));)
THREAD(once, want(noted(0) != noted(1) && last(X) == 2, "one value twice");)
THREAD(write_5, load(Y, RLX); store(X, 5, RLX);)
THREAD(not_between, want(last(X) != 1, "a write between an addition and what it read");)
THREAD(swap_0, long z = 0; note(0, swap(X, &z, 1, RLX));)
THREAD(swap_1, long z = 0; note(1, swap(X, &z, 2, RLX));)
THREAD(one_wins, want(noted(0) + noted(1) == 1, "two win, or none");)

THREAD(z6_a, store(X, 1, SC); store(Y, 1, REL);)
THREAD(z6_b, note(0, add(Y, 1, SC)); note(1, load(Y, RLX));)
THREAD(z6_c, store(Y, 3, SC); note(2, load(X, SC) + 1);)
THREAD(z6_seen, want(!(noted(0) == 1 && noted(1) == 3 && noted(2) == 1), "Z6.U");)
THREAD(sc_x, store(X, 1, SC);)
THREAD(sc_y, store(Y, 1, SC);)
THREAD(acq_x_sc_y, note(0, load(X, ACQ)); note(1, load(Y, SC));)
THREAD(acq_y_sc_x, note(2, load(Y, ACQ)); note(3, load(X, SC));)

THREAD(lock_add, long z = 0; await(swap(Y, &z, 1, r1)); write_plain(X, read_plain(X) + 1);
       store(Y, 0, w1);)
THREAD(two_locked, want(last(X) == 2, "an addition is lost");)

static const struct {
    bool allowed;
    const char *text; /* the failure, if it is allowed */
    struct program p;
    int w1, r1, w2, r2;
} rows[] = {
#define YES(text) true, text
#define NO false, NULL
    {YES("both find 0"),
     {"SB, release and acquire", {set_x_get_y, set_y_get_x}, both_old},
     REL,
     ACQ,
     REL,
     ACQ},
    {NO, {"SB, sequentially consistent", {set_x_get_y, set_y_get_x}, both_old}, SC, SC, SC, SC},
    {YES("both find 0"),
     {"SB, three of four sequentially consistent", {set_x_get_y, set_y_get_x}, both_old},
     SC,
     ACQ,
     SC,
     SC},
    {NO, {"SB, fences", {fence_x_y, fence_y_x}, both_old}, SC, RLX, SC, RLX},
    {YES("both find 0"),
     {"SB, one fence weaker", {fence_x_y, fence_y_x}, both_old},
     SC,
     RLX,
     AR,
     RLX},
    {NO,
     {"SB, changes and loads sequentially consistent", {rmw_x_get_y, rmw_y_get_x}, both_old},
     SC,
     SC,
     SC,
     SC},
    {YES("both find 0"),
     {"SB, changes acquire and release", {rmw_x_get_y, rmw_y_get_x}, both_old},
     AR,
     SC,
     AR,
     SC},
    {YES("old"), {"MP, relaxed", {send, get}, NULL}, RLX, RLX, 0, 0},
    {YES("old"), {"MP, release alone", {send, get}, NULL}, REL, RLX, 0, 0},
    {YES("old"), {"MP, acquire alone", {send, get}, NULL}, RLX, ACQ, 0, 0},
    {NO, {"MP, release and acquire", {send, get}, NULL}, REL, ACQ, 0, 0},
    {NO, {"MP, fences", {send_fence, get_fence}, NULL}, REL, ACQ, 0, 0},
    {NO, {"MP, release and a fence", {send, get_fence}, NULL}, REL, ACQ, 0, 0},
    {YES("old"),
     {"MP, a fence that acquires where it has to release", {send_fence, get_fence}, NULL},
     ACQ,
     ACQ,
     0,
     0},
    {NO, {"MP, through a change", {send, get_2, continue_rmw}, NULL}, REL, ACQ, 0, 0},
    {YES("old"),
     {"MP, through a later write of the thread", {send_two, get_2}, NULL},
     REL,
     ACQ,
     0,
     0},
    {YES("old"), {"MP, a failing exchange is relaxed", {send, get_failing}, NULL}, REL, 0, 0, 0},
    {NO, {"MP, plain data", {send_plain, get_plain}, NULL}, REL, ACQ, 0, 0},
    {YES("a race"), {"MP, plain data, relaxed", {send_plain, get_plain}, NULL}, RLX, ACQ, 0, 0},
    {NO, {"LB (forbidden by RC11, not by C11)", {lb_x_y, lb_y_x}, both_new}, 0, 0, 0, 0},
    {NO,
     {"WRC, the second write releases", {set_x, pass_on, end_of_chain}, NULL},
     RLX,
     0,
     REL,
     ACQ},
    {YES("old"), {"WRC, it does not", {set_x, pass_on, end_of_chain}, NULL}, REL, 0, RLX, ACQ},
    {YES("two orders of the writes"),
     {"IRIW, release and acquire", {set_x, set_y, read_x_y, read_y_x}, opposite},
     REL,
     ACQ,
     REL,
     ACQ},
    {NO,
     {"IRIW, sequentially consistent", {set_x, set_y, read_x_y, read_y_x}, opposite},
     SC,
     SC,
     SC,
     SC},
    {YES("two orders of the writes"),
     {"IRIW-acq-sc", {sc_x, sc_y, acq_x_sc_y, acq_y_sc_x}, opposite},
     0,
     0,
     0,
     0},
    {YES("each has the last word of the other's first"),
     {"2+2W, release", {w_x1_y2, w_y1_x2}, both_first},
     REL,
     0,
     0,
     0},
    {NO, {"2+2W, sequentially consistent", {w_x1_y2, w_y1_x2}, both_first}, SC, 0, 0, 0},
    {NO, {"CoRR", {x_twice, read_twice}, NULL}, 0, 0, 0, 0},
    {NO, {"CoWR", {own_write, other_write}, own_old}, 0, 0, 0, 0},
    {NO, {"CoRW", {read_then_write}, own_future}, 0, 0, 0, 0},
    {NO, {"two additions", {add_0, add_1}, once}, 0, 0, 0, 0},
    {NO, {"a write beside an addition", {add_0, write_5}, not_between}, 0, 0, 0, 0},
    {NO, {"two exchanges", {swap_0, swap_1}, one_wins}, 0, 0, 0, 0},
    {YES("Z6.U"), {"Z6.U", {z6_a, z6_b, z6_c}, z6_seen}, 0, 0, 0, 0},
    {NO, {"a lock", {lock_add, lock_add}, two_locked}, REL, ACQ, 0, 0},
    {YES("a race"),
     {"a lock that does not release", {lock_add, lock_add}, two_locked},
     RLX,
     ACQ,
     0,
     0},
    {YES("a race"),
     {"a lock that does not acquire", {lock_add, lock_add}, two_locked},
     REL,
     RLX,
     0,
     0},
};

bool litmus(void) {
    bool good = true;
    const int n = (int)(sizeof rows / sizeof rows[0]);
    for (int i = 0; i < n; i++) {
        w1 = rows[i].w1, r1 = rows[i].r1, w2 = rows[i].w2, r2 = rows[i].r2;
        const struct outcome o = explore(&rows[i].p);
        const bool right = (o.failed != NULL) == rows[i].allowed &&
                           (o.failed == NULL ? o.ends > 0 : strcmp(o.failed, rows[i].text) == 0);
        if (!right)
            printf("# litmus: %s: %s\n", rows[i].p.name,
                   o.failed ? o.failed
                   : o.ends ? "nothing found"
                            : "no end");
        good = good && right;
    }
    printf("# litmus: %d programs\n", n);
    return good;
}
