/* SPDX-License-Identifier: MIT */
/* The lock of the durable mark: held by a mapping, shared by fork, given up by the last; and only
 * on a file of ours. */
#include "host/mark.h"

#include "support/locks.h"
#include "support/marks.h"
#include "support/scene.h"

#include <sfid.h>
#include <signal.h>

/* ---- the lock -------------------------------------------------------------- */

static int try_take(void *unused) {
    (void)unused;
    struct sfid__mark m;
    return take(&m) == SFID_EBUSY ? 0 : 1;
}

static int wait_for_end_of(void *pipe_fd) {
    char c;
    close(((int *)pipe_fd)[1]);
    return read(((int *)pipe_fd)[0], &c, 1) != 0;
}

static void locked(void) {
    struct sfid__mark m, second;
    take_or_bail(&m);
    is_i64(take(&second), SFID_EBUSY, "a mark that is held is refused");
    ok(strstr(mark_err.text, mark_path) && strstr(mark_err.text, "pid 1 ") && second.map == NULL,
       "the text says which: %s", mark_err.text);
    is_i64(status_of(spawn(try_take, NULL)), 0, "to another process as well");
    ok(sfid__mark_take(&second, &mark_app, &(struct sfid__mark_want){3, 77, true, false, 0},
                       &mark_said, &mark_err) == 0,
       "another pid is free");
    sfid__mark_drop(&second);
    sfid__mark_drop(&m);
    ok(found() >= 0, "and after it is dropped so is this");
    sfid__mark_drop(&m);
    ok(m.map == NULL && m.dir_path == NULL, "dropping twice does nothing");
}

static void inherited(void) {
    struct sfid__mark m;
    int end[2];
    need(pipe(end) >= 0, "pipe");
    take_or_bail(&m);
    const pid_t child = spawn(wait_for_end_of, end);
    sfid__mark_drop(&m);
    is_i64(found(), SFID_EBUSY, "a child that inherited it keeps it when the parent lets go");
    close(end[1]);
    close(end[0]);
    is_i64(status_of(child), 0, "until it ends");
    ok(found() >= 0, "then the mark is free");
}

/* ---- leaving --------------------------------------------------------------- */

static int leave(void *mark) {
    const bool last = sfid__mark_is_last(mark);
    sfid__mark_drop(mark);
    return last;
}

static void last_holder(void) {
    struct sfid__mark m;
    int end[2];
    const int fds = entries("/proc/self/fd");
    take_or_bail(&m);
    ok(sfid__mark_is_last(&m), "who is alone is the last holder");
    is_i64(entries("/proc/self/fd"), fds + fds_of_a_lock(mark_app.path),
           "and holds no descriptor but that of the lock");
    is_i64(found(), SFID_EBUSY, "nobody gets the pid meanwhile");
    ok(sfid__mark_is_last(&m), "asked again it says the same");
    ok(sfid__mark_write(&m, (struct sfid__position){.word = 888, .page_nonce = 5, .exact = true},
                        &mark_err) == 0,
       "the mark can be written");
    sfid__mark_drop(&m);
    ok(found() == 888 && mark_said.exact, "when it is dropped the next one gets that");

    take_or_bail(&m);
    is_i64(status_of(spawn(leave, &m)), false,
           "a child that leaves is not the last while its parent holds it");
    is_i64(found(), SFID_EBUSY, "the parent does");
    need(pipe(end) >= 0, "pipe");
    const pid_t child = spawn(wait_for_end_of, end);
    is_i64(leave(&m), false, "nor is a parent while its child does");
    is_i64(found(), SFID_EBUSY, "which goes on holding it");
    close(end[1]);
    close(end[0]);
    status_of(child);
    ok(found() >= 0, "until it ends: the parent has let go");
}

static void let_go_but_not_dropped(void) {
    struct sfid__mark m;
    int end[2];
    need(pipe(end) >= 0, "pipe");
    take_or_bail(&m);
    const pid_t child = spawn(wait_for_end_of, end);
    ok(!sfid__mark_is_last(&m), "asking gives up this process's share");
    close(end[1]);
    close(end[0]);
    status_of(child);
    ok(found() >= 0, "so that the end of the child ends all");
    sfid__mark_drop(&m);
}

static void child_is_last(void) {
    struct sfid__mark m;
    int gate[2];
    need(pipe(gate) >= 0, "pipe");
    take_or_bail(&m);
    const pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0)
        _exit(wait_for_end_of(gate) ? 99 : leave(&m));
    is_i64(leave(&m), false, "the parent goes first");
    close(gate[1]);
    close(gate[0]);
    is_i64(status_of(child), true, "and the child finds that it is the last");
}

struct leaver {
    struct sfid__mark mark;
    int ready[2];
    int64_t gone_ms; /* when it had let go */
};

static int leave_in_a_moment(void *arg) {
    struct leaver *l = arg;
    const char c = 'x';
    const bool told = write(l->ready[1], &c, 1) == 1;
    usleep(3000);
    sfid__mark_drop(&l->mark);
    l->gone_ms = tap_now_ms();
    while (told)
        pause();
    return 1;
}

/* Of processes that share a mark, one has found that another is still there, and is about to let
 * go. */
static bool one_is_last(struct leaver *l, bool *meets) {
    bool by_fd;
    char c;
    need(sfid__mark_take(&l->mark, &mark_app, &(struct sfid__mark_want){1, 77, true, true, 0},
                         &mark_said, &mark_err) >= 0 &&
             sfid__mark_share(&l->mark, &by_fd, &mark_err) >= 0 && pipe(l->ready) >= 0,
         "%s", mark_err.text);
    struct sfid__mark m = l->mark; /* the child clears the other one */
    l->gone_ms = 0;
    const pid_t child = spawn(leave_in_a_moment, l);
    need(read(l->ready[0], &c, 1) == 1, "no child");
    const int64_t began_ms = tap_now_ms();
    const bool last = sfid__mark_is_last(&m), kept = found() == SFID_EBUSY;
    kill(child, SIGKILL);
    status_of(child);
    *meets = l->gone_ms > began_ms && l->gone_ms <= began_ms + 8;
    sfid__mark_drop(&m);
    close(l->ready[0]);
    close(l->ready[1]);
    return last && kept;
}

/* The wait for the other one is 12.7 ms long. A busy machine may keep that one for longer: such a
 * round says nothing. */
static void left_by_two(void) {
    struct leaver *l =
        mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(l != MAP_FAILED, "out of memory");
    bool meets = false, last = false;
    for (int i = 0; i < 200 && !meets; i++)
        last = one_is_last(l, &meets);
    ok(meets && last, "of two that leave a shared mark at once, one is the last, and has it alone");
    munmap(l, sizeof *l);
}

/* ---- the door ---------------------------------------------------------------- */

static int try_again_and_again(void *pipe_fd) {
    struct sfid__mark m;
    char c;
    close(((int *)pipe_fd)[1]);
    fcntl(((int *)pipe_fd)[0], F_SETFL, O_NONBLOCK);
    while (read(((int *)pipe_fd)[0], &c, 1) < 0)
        if (take(&m) == 0)
            sfid__mark_drop(&m);
    return 0;
}

/* Who tries the lock in the moment when its holder lets go of it to see whether it is the last must
 * not pass for a child. */
static void newcomers(void) {
    enum { RIVALS = 2, ROUNDS = 3000 };
    struct sfid__mark m;
    pid_t rivals[RIVALS];
    int end[2], taken = 0, last = 0;
    need(pipe(end) >= 0, "pipe");
    for (int i = 0; i < RIVALS; i++)
        rivals[i] = spawn(try_again_and_again, end);
    while (taken < ROUNDS) {
        if (take(&m) < 0)
            continue;
        const int64_t began_ms = tap_now_ms();
        const bool knows = sfid__mark_is_last(&m);
        /* behind a rival that stands in the door for so long it cannot know */
        const int64_t doubts_from_ms = began_ms + 100;
        if (knows || tap_now_ms() < doubts_from_ms)
            taken++;
        last += knows;
        sfid__mark_drop(&m);
    }
    close(end[1]);
    close(end[0]);
    for (int i = 0; i < RIVALS; i++)
        is_i64(status_of(rivals[i]), 0, "a newcomer tries again and again");
    is_i64(last, taken, "whoever holds the mark alone knows it, while newcomers try the lock");
}

/* Doors lie at offsets of up to 40 bits, also where an off_t has 32 unless it is asked for more. */
static void far_doors(void) {
    const uint64_t last = (UINT64_C(1) << 40) - 1;
    const int door = sfid__door_enter(&mark_app, last, 0, &mark_err);
    ok(door >= 0, "the last door can be entered");
    const int low = sfid__door_enter(&mark_app, last & UINT32_MAX, 0, &mark_err),
              half = sfid__door_enter(&mark_app, UINT64_C(1) << 31, 0, &mark_err);
    ok(low >= 0 && half >= 0, "those of 32 bits are others");
    is_i64(sfid__door_enter(&mark_app, last, 0, &mark_err), -1, "and it is held meanwhile");
    is_i64(mark_err.code, SFID_EBUSY, "which says so");
    sfid__door_leave(door);
    sfid__door_leave(low);
    sfid__door_leave(half);
}

/* A process stopped at the door keeps the others waiting for a moment only, and nobody takes what
 * it cannot know. */
static int stand_in_the_door(void *pipe_fd) {
    const int door = sfid__door_enter(&mark_app, 1, 0, &mark_err);
    const char c = 'x';
    close(((int *)pipe_fd)[0]);
    if (door < 0 || write(((int *)pipe_fd)[1], &c, 1) != 1)
        return 1;
    for (;;)
        pause();
}

static void blocked_door(void) {
    struct sfid__mark m, other;
    int ready[2];
    char c;
    take_or_bail(&m);
    need(pipe(ready) >= 0, "pipe");
    const pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        sfid__mark_drop(&m); /* no child of ours in the lock's sense */
        _exit(stand_in_the_door(ready));
    }
    close(ready[1]);
    need(read(ready[0], &c, 1) == 1, "the child is not at the door");
    close(ready[0]);
    ok(!sfid__mark_is_last(&m), "with the door blocked a holder cannot know that it is the last");
    is_i64(found(), SFID_EBUSY, "and a newcomer is refused: %s", mark_err.text);
    ok(sfid__mark_take(&other, &mark_app, &(struct sfid__mark_want){3, 77, true, false, 0},
                       &mark_said, &mark_err) == 0,
       "another pid has a door of its own");
    sfid__mark_drop(&other);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ok(found() == SFID_EBUSY, "a holder that could not know goes on holding");
    sfid__mark_drop(&m);
    ok(found() >= 0,
       "until it drops the mark; the door opened by itself when its holder was killed");
}

int main(void) {
    marks_begin();
    locked();
    inherited();
    last_holder();
    let_go_but_not_dropped();
    child_is_last();
    left_by_two();
    newcomers();
    far_doors();
    blocked_door();
    sfid__dir_close(&mark_app);
    return done_testing();
}
