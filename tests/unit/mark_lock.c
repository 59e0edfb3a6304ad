/* SPDX-License-Identifier: MIT */
/* The lock of the durable mark: held by a mapping, shared by fork, given up by the last; and only on a file of ours. */
#include "host/mark.h"

#include "support/marks.h"
#include "support/scene.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sfid.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

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
    ok(strstr(mark_err.text, mark_path) && strstr(mark_err.text, "pid 1 ") && second.map == NULL, "the text says which: %s",
       mark_err.text);
    is_i64(status_of(spawn(try_take, NULL)), 0, "to another process as well");
    ok(sfid__mark_take(&second, &mark_app, &(struct sfid__mark_want){3, 77, true, false, 0}, &mark_said, &mark_err) == 0,
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
    is_i64(entries("/proc/self/fd"), fds, "and holds no descriptor");
    is_i64(found(), SFID_EBUSY, "nobody gets the pid meanwhile");
    ok(sfid__mark_is_last(&m), "asked again it says the same");
    ok(sfid__mark_write(&m, (struct sfid__position){.word = 888, .page = 5, .exact = true}, &mark_err) == 0,
       "the mark can be written");
    sfid__mark_drop(&m);
    ok(found() == 888 && mark_said.exact, "when it is dropped the next one gets that");

    take_or_bail(&m);
    is_i64(status_of(spawn(leave, &m)), false, "a child that leaves is not the last while its parent holds it");
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

/* Of processes that share a mark, one has found that another is still there, and is about to let go. */
static bool one_is_last(struct leaver *l, bool *meets) {
    bool by_fd;
    char c;
    need(sfid__mark_take(&l->mark, &mark_app, &(struct sfid__mark_want){1, 77, true, true, 0}, &mark_said, &mark_err) >= 0 &&
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

/* The wait for the other one is 12.7 ms long. A busy machine may keep that one for longer: such a round says nothing. */
static void left_by_two(void) {
    struct leaver *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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

/* Who tries the lock in the moment when its holder lets go of it to see whether it is the last must not pass for a child. */
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
        const int64_t doubts_from_ms = began_ms + 100; /* behind a rival that stands in the door for so long it cannot know */
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

/* A process stopped at the door keeps the others waiting for a moment only, and nobody takes what it cannot know. */
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
    ok(sfid__mark_take(&other, &mark_app, &(struct sfid__mark_want){3, 77, true, false, 0}, &mark_said, &mark_err) == 0,
       "another pid has a door of its own");
    sfid__mark_drop(&other);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ok(found() == SFID_EBUSY, "a holder that could not know goes on holding");
    sfid__mark_drop(&m);
    ok(found() >= 0, "until it drops the mark; the door opened by itself when its holder was killed");
}

/* ---- a daemon's ways -------------------------------------------------------- */

static int write_in_child(struct sfid__mark *m) {
    return sfid__mark_write(m, (struct sfid__position){.word = 999, .page = 5}, &mark_err) != 0;
}

static int close_all_and_write(void *mark) {
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    return write_in_child(mark);
}

static int change_user_and_write(void *mark) { return setresuid(65534, 65534, 65534) < 0 ? 2 : write_in_child(mark); }

static int make_dirs(char *deepest) {
    for (char *slash = strchr(deepest + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(deepest, 0700);
        *slash = '/';
    }
    return mkdir(deepest, 0700);
}

/* In the new root the mark's path leads nowhere first, and then to another file. */
static int change_root_and_write(void *mark) {
    const struct sfid__mark *m = mark;
    char jail[4300], deepest[8700];
    struct sfid__position at;
    snprintf(jail, sizeof jail, "%s/jail", tap_tmpdir());
    snprintf(deepest, sizeof deepest, "%s%s", jail, m->dir_path);
    if (make_dirs(deepest) < 0 || chroot(jail) < 0 || chdir("/") < 0)
        return 2;
    if (sfid__mark_in_place(m, &at) || write_in_child(mark) != 0)
        return 3;
    const int fd = open(mark_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write_in_child(mark) != 0 || lseek(fd, 0, SEEK_END) != 0)
        return 4;
    return 0;
}

static int change_root(void *unused) {
    (void)unused;
    return chroot("/");
}

static void writes_on(int (*how)(void *), const char *what) {
    struct sfid__mark m;
    take_or_bail(&m);
    write_to(&m, 1);
    is_i64(status_of(spawn(how, &m)), 0, "it is written by who has %s", what);
    sfid__mark_drop(&m);
    is_i64(found(), 999, "as the next holder sees");
}

static void daemons(void) {
    writes_on(close_all_and_write, "closed all descriptors");
    if (geteuid() == 0) {
        writes_on(change_user_and_write, "become somebody who may not see it");
    } else {
        skip(2, "takes root to be another user");
    }
    if (status_of(spawn(change_root, NULL)) == 0)
        writes_on(change_root_and_write, "changed its root directory");
    else
        skip(2, "takes a capability to change the root directory");
}

/* From here on the kernel answers each open with this error. */
static int open_fails(uint32_t error) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_open
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 1, 0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

enum { WRITTEN, AT_FAULT = 10, LOST, NO_FILTER };

struct failing {
    struct sfid__mark *mark;
    int error;
    uint64_t to;
};

static int write_where_open_fails(void *arg) {
    const struct failing *f = arg;
    if (open_fails((uint32_t)f->error) < 0)
        return NO_FILTER;
    const int rc = sfid__mark_write(f->mark, (struct sfid__position){.word = f->to, .page = 5}, &mark_err);
    return rc == 0 ? WRITTEN : rc == SFID_ESTATE ? AT_FAULT : rc == SFID_ELEASE ? LOST : 1;
}

/* A mapping of a file system that has failed may raise SIGBUS. So a mapping is for programs that must not open the file. */
static void file_system_fails(void) {
    const struct {
        const char *name;
        int error, got;
    } cases[] = {{"EACCES", EACCES, WRITTEN}, {"EPERM", EPERM, WRITTEN}, {"EMFILE", EMFILE, WRITTEN},
                 {"ENFILE", ENFILE, WRITTEN}, {"EIO", EIO, AT_FAULT},    {"EROFS", EROFS, AT_FAULT},
                 {"ESTALE", ESTALE, LOST},    {"EISDIR", EISDIR, LOST},  {"ENXIO", ENXIO, LOST}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sfid__mark m;
        const uint64_t before = 1000 + 2 * i, after = before + 1;
        take_or_bail(&m);
        write_to(&m, before);
        const int got = status_of(spawn(write_where_open_fails, &(struct failing){&m, cases[i].error, after}));
        sfid__mark_drop(&m);
        if (got == NO_FILTER) {
            skip(2, "takes a kernel with seccomp");
            continue;
        }
        is_i64(got, cases[i].got, "opened with %s: %s", cases[i].name,
               cases[i].got ? "the file is at fault, and nothing is written" : "the program is, and the mapping serves");
        is_i64(found(), (int64_t)(cases[i].got ? before : after), "as the next holder sees");
    }
}

/* ---- files that are not what they were ------------------------------------- */

static void replaced(void) {
    struct sfid__mark m;
    char aside[4300];
    snprintf(aside, sizeof aside, "%s.aside", mark_path);
    take_or_bail(&m);
    need(rename(mark_path, aside) >= 0, "cannot rename %s", mark_path);
    is_i64(sfid__mark_write(&m, (struct sfid__position){.word = 1, .page = 5}, &mark_err), SFID_ELEASE,
           "a mark that was removed is not written");
    ok(strstr(mark_err.text, mark_path) != NULL, "the text names it");
    ok(!sfid__mark_is_last(&m), "who holds such a mark is not known to be the last");
    sfid__mark_drop(&m);

    take_or_bail(&m);
    struct sfid__mark other;
    need(unlink(mark_path) >= 0 &&
             sfid__mark_take(&other, &mark_app, &(struct sfid__mark_want){1, 77, true, false, 0}, &mark_said, &mark_err) >= 0,
         "cannot take a new file");
    is_i64(sfid__mark_write(&m, (struct sfid__position){.word = 1, .page = 5}, &mark_err), SFID_ELEASE,
           "nor is one that was replaced");
    ok(strstr(mark_err.text, "replaced") != NULL, "the text says so");
    sfid__mark_drop(&other);
    ok(!sfid__mark_is_last(&m), "nor is the holder of one that was replaced");
    is_i64(found(), 0, "and the new file is untouched");
    sfid__mark_drop(&m);
    unlink(aside);
    is_i64(sfid__mark_write(&m, (struct sfid__position){.word = 1, .page = 5}, &mark_err), SFID_ELEASE,
           "nor is one that was let go, as in a child forked just then");
    ok(!sfid__mark_is_last(&m), "whose holder is not the last");
}

/* As cp(1) does with a backup: the very file, cut to nothing, then written. */
static void copied_over(void) {
    struct sfid__mark m;
    struct sfid__position at;
    char content[8 * 4096];
    take_or_bail(&m);
    write_to(&m, 700);
    write_to(&m, 701);
    const int fd = open(mark_path, O_RDWR | O_CLOEXEC);
    need(fd >= 0 && read(fd, content, sizeof content) == sizeof content && ftruncate(fd, 0) >= 0, "cannot cut %s", mark_path);
    is_i64(sfid__mark_write(&m, (struct sfid__position){.word = 702, .page = 5}, &mark_err), SFID_ESTATE,
           "a mark that is cut to nothing cannot be written: %s", mark_err.text);
    ok(!sfid__mark_in_place(&m, &at), "nor does it say anything");
    need(pwrite(fd, content, sizeof content, 0) == sizeof content, "cannot fill %s", mark_path);
    close(fd);
    write_to(&m, 703);
    ok(sfid__mark_in_place(&m, &at) && at.word == 703, "with its content back it goes on");
    sfid__mark_drop(&m);
}

static void refused(const char *what, const char *why) {
    const int64_t rc = found();
    ok(rc == SFID_ESTATE && strstr(mark_err.text, mark_path) && strstr(mark_err.text, why), "%s: %s", what, mark_err.text);
}

static void not_a_file_of_ours(void) {
    char other[4300];
    struct stat st;
    snprintf(other, sizeof other, "%s/other", mark_app.path);
    chmod(mark_path, 0620);
    refused("writable by the group", "0600");
    chmod(mark_path, 0602);
    refused("writable by all", "0600");
    chmod(mark_path, 0600);
    if (geteuid() == 0) {
        need(chown(mark_path, 65534, 65534) >= 0, "chown");
        refused("somebody else's", "another user");
        need(chown(mark_path, 0, 0) >= 0, "chown");
    } else {
        skip(1, "takes root to be another user");
    }
    ok(found() >= 0, "as it was it is good");
    unlink(mark_path);
    need(symlink(other, mark_path) >= 0, "symlink");
    refused("a link to nowhere", "symbolic link");
    ok(stat(other, &st) < 0, "nothing was made behind it");
    unlink(mark_path);
    need(mkfifo(mark_path, 0600) >= 0, "mkfifo");
    refused("a pipe", "not a plain file");
    unlink(mark_path);
    need(mkdir(mark_path, 0700) >= 0, "mkdir");
    refused("a directory", "not a plain file");
    rmdir(mark_path);
    is_i64(found(), 0, "with the place free again a new mark is made");
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
    daemons();
    file_system_fails();
    replaced();
    copied_over();
    not_a_file_of_ours();
    sfid__dir_close(&mark_app);
    return done_testing();
}
