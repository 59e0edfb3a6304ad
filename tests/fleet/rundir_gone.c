/* SPDX-License-Identifier: MIT */
/*
 * The run directory is removed, or replaced, under processes that lease from a server; then they
 * close. The last process of a fork family gives the pid back all the same, and no other does:
 * while a child draws, closing in its parent changes nothing. With the local store the exact
 * position is written, and the next process goes on within the tick.
 */
#include "support/fleet.h"

#define LAYOUT "36:11:17/1s"
#define APP "gone"
#define TRIES 5

enum how {
    PLAIN,
    CLOSES_FDS,
    REPLACED,
    CHILD_LIVES,
    CHILD_ENDED,
    PARENT_ENDED,
    CHILD_FIRST,
    CHILD_LEFT,
    HOWS
};

static const char *const names[] = {"one process",
                                    "one process that closed all descriptors",
                                    "another process has the slot's name by now",
                                    "a forked child lives",
                                    "a forked child has ended",
                                    "the parent has ended first",
                                    "the child closes first",
                                    "the child closed before, and lives"};

/* Shared with the test. */
struct scene {
    sfid_options opt;
    enum how how;
    /* of the pid: once the first process has closed, and the last one */
    char record[RECORD], after[RECORD];
    int64_t pid, last, next;
    struct redis *server;
    atomic_int closed, may_end, drawn, ended;
};

static int child_of(sfid *g, struct scene *s) {
    if (s->how == CHILD_LIVES || s->how == PARENT_ENDED) {
        if (!flag_wait(&s->may_end, 1, TAP_WAIT_MS))
            return 5;
        atomic_store(&s->drawn, next_within(g, TAP_WAIT_MS) > 0);
    }
    if (s->how != CHILD_ENDED)
        sfid_close(g);
    atomic_store(&s->ended, 1);
    return s->how == CHILD_LEFT && !flag_wait(&s->may_end, 1, TAP_WAIT_MS) ? 7 : 0;
}

static int parent(void *arg) {
    struct scene *s = arg;
    sfid *g = open_or_die(&s->opt);
    pid_t child = 0;
    int status = 0;
    s->pid = sfid_pid(g);
    s->last = sfid_next(g);
    if (s->how >= CHILD_LIVES && (child = fork()) == 0)
        _exit(child_of(g, s));
    if (s->how == CHILD_ENDED)
        waitpid(child, &status, 0);
    if (s->how == CHILD_LEFT && !flag_wait(&s->ended, 1, TAP_WAIT_MS))
        return 8;
    remove_tree(s->opt.run_dir);
    if (s->how == CHILD_FIRST)
        waitpid(child, &status, 0);
    if (s->how == CLOSES_FDS)
        close_range(3, ~0U, 0);
    if (s->how == REPLACED)
        s->next = pid_of_open(&s->opt);
    if (s->how != PARENT_ENDED)
        sfid_close(g);
    atomic_store(&s->closed, 1);
    if (s->how == CHILD_LIVES && !flag_wait(&s->ended, 1, TAP_WAIT_MS))
        return 6;
    if (s->how == CHILD_LIVES || s->how == CHILD_LEFT)
        waitpid(child, &status, 0);
    return status != 0 || s->last < 0;
}

/* In a PID namespace of its own the kernel may hide who took the lock: a lease that is left to its
 * end is right as well. */
static bool may_stay(const struct scene *s) {
    return s->how == PARENT_ENDED && !is_released(s->after);
}

static void live(struct redis *r, struct scene *s, enum how how) {
    *s = (struct scene){.opt = fleet_options(r, APP, &layout), .how = how, .server = r};
    on_host(&s->opt, 1);
    const pid_t process = child_start(parent, s);
    ok(flag_wait(&s->closed, 1, TAP_WAIT_MS), "%s: the run directory is gone, and it closes",
       names[how]);
    record_of(r, APP, s->pid, s->record);
    int ended = 0;
    if (how == PARENT_ENDED)
        ended = child_wait(process, TAP_WAIT_MS);
    atomic_store(&s->may_end, 1);
    ok(flag_wait(&s->ended, how >= CHILD_LIVES, TAP_WAIT_MS), "%s: all end", names[how]);
    if (how != PARENT_ENDED)
        ended = child_wait(process, TAP_WAIT_MS);
    is_i64(ended, 0, "%s: and well", names[how]);
    record_of(r, APP, s->pid, s->after);
}

/* A close that has no answer within half a second leaves the pid (doc/lease.md): where the machine
 * stood still, there is another try. */
static void test_how(struct redis *r, struct scene *s, enum how how) {
    for (int i = 0; i < TRIES && (i == 0 || !(may_stay(s) || is_released(s->after))); i++)
        live(r, s, how);
    if (how == CHILD_LIVES || how == PARENT_ENDED) {
        ok(!is_released(s->record), "%s: the pid stays with the child", names[how]);
        ok(atomic_load(&s->drawn), "%s: which draws", names[how]);
    }
    if (may_stay(s))
        skip(1, "the kernel does not show who took a lock");
    else
        ok(is_released(s->after), "%s: the pid is given back (%s)", names[how], s->after);
    if (how == CHILD_LEFT)
        ok(is_released(s->record), "%s: while it does", names[how]);
    if (how == REPLACED)
        ok(s->next >= 0 && s->next != s->pid, "%s: that one had another pid", names[how]);
}

static void test_server(struct redis *r) {
    struct scene *s = shared_memory(sizeof *s);
    for (enum how how = PLAIN; how < HOWS; how++)
        test_how(r, s, how);
}

/* ---- the local store ------------------------------------------------------- */

static int local_life(void *arg) {
    struct scene *s = arg;
    sfid *g = open_or_die(&s->opt);
    s->next = sfid_try_next(g);
    s->last = next_within(g, TAP_WAIT_MS);
    remove_tree(s->opt.run_dir);
    sfid_close(g);
    return 0;
}

static void test_local(void) {
    struct scene *s = shared_memory(sizeof *s);
    s->opt = options_of("local", 7, &layout);
    on_host(&s->opt, 2);
    is_i64(child_run(local_life, s, TAP_WAIT_MS), 0,
           "local store: a life whose run directory goes");
    const int64_t last = s->last;
    is_i64(child_run(local_life, s, TAP_WAIT_MS), 0, "and another");
    ok(s->next > last, "which has an ID at once, above the last one");
}

int main(void) {
    fleet_begin(LAYOUT);
    test_local();
    on_servers(0, 0, test_server);
    return done_testing();
}
