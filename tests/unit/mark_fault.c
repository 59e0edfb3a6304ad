/* SPDX-License-Identifier: MIT */
/* mark_fault.c - a mark whose holder cannot open it any more, or whose file is not what it was. */
#include "host/mark.h"

#include "support/marks.h"
#include "support/scene.h"
#include "support/user.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sfid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* ---- a daemon's ways -------------------------------------------------------- */

static int write_in_child(struct sfid__mark *m) {
    return sfid__mark_write(m, (struct sfid__position){.word = 999, .page_nonce = 5}, &mark_err) !=
           0;
}

static int close_all_and_write(void *mark) {
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    return write_in_child(mark);
}

static int change_user_and_write(void *mark) {
    return setresuid(65534, 65534, 65534) < 0 ? 2 : write_in_child(mark);
}

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
    if (may_be_another_user()) {
        writes_on(change_user_and_write, "become somebody who may not see it");
    } else {
        skip(2, "takes root to be another user");
    }
    if (status_of(spawn(change_root, NULL)) == 0)
        writes_on(change_root_and_write, "changed its root directory");
    else
        skip(2, "takes a capability to change the root directory");
}

/*
 * From here on the kernel answers each open with this error, and, without copies, refuses to copy
 * memory for the process. Without pages it is one that cannot get them ahead of a store.
 */
static int open_fails(uint32_t error, bool copies, bool pages) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_open
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 1, 0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, copies ? UINT32_MAX : SYS_process_vm_writev, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, copies ? UINT32_MAX : SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, pages ? UINT32_MAX : SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
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
    bool copies;
};

static int write_where_open_fails(void *arg) {
    const struct failing *f = arg;
    if (open_fails((uint32_t)f->error, f->copies, true) < 0)
        return NO_FILTER;
    const int rc = sfid__mark_write(
        f->mark, (struct sfid__position){.word = f->to, .page_nonce = 5}, &mark_err);
    return rc == 0 ? WRITTEN : rc == SFID_ESTATE ? AT_FAULT : rc == SFID_ELEASE ? LOST : 1;
}

/* A mapping of a file system that has failed may raise SIGBUS. So a mapping is for programs that
 * must not open the file. */
static void file_system_fails(void) {
    const struct {
        const char *name;
        int error, got;
    } cases[] = {
        {"EACCES", EACCES, WRITTEN}, {"EPERM", EPERM, WRITTEN}, {"EMFILE", EMFILE, WRITTEN},
        {"ENFILE", ENFILE, WRITTEN}, {"EIO", EIO, AT_FAULT},    {"EROFS", EROFS, AT_FAULT},
        {"ESTALE", ESTALE, LOST},    {"EISDIR", EISDIR, LOST},  {"ENXIO", ENXIO, LOST}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sfid__mark m;
        const uint64_t before = 1000 + 2 * i, after = before + 1;
        take_or_bail(&m);
        write_to(&m, before);
        const int got = status_of(
            spawn(write_where_open_fails, &(struct failing){&m, cases[i].error, after, true}));
        sfid__mark_drop(&m);
        if (got == NO_FILTER) {
            skip(2, "takes a kernel with seccomp");
            continue;
        }
        is_i64(got, cases[i].got, "opened with %s: %s", cases[i].name,
               cases[i].got ? "the file is at fault, and nothing is written"
                            : "the program is, and the mapping serves");
        is_i64(found(), (int64_t)(cases[i].got ? before : after), "as the next holder sees");
    }
}

/*
 * An error of open() may hide another one: that of a program without a right or a descriptor the
 * one of a file that has no bytes any more, as on a file system that has failed. A load or a store
 * in the mapping would be SIGBUS.
 */
static void hidden_fault(bool copies, const char *how) {
    struct sfid__mark m;
    take_or_bail(&m);
    write_to(&m, 2000);
    int got = status_of(spawn(write_where_open_fails, &(struct failing){&m, EACCES, 2001, copies}));
    if (got == NO_FILTER) {
        skip(2, "takes a kernel with seccomp");
        sfid__mark_drop(&m);
        return;
    }
    is_i64(got, WRITTEN, "%s: the mapping serves", how);
    need(truncate(mark_path, 0) == 0, "truncate: %s", strerror(errno));
    got = status_of(spawn(write_where_open_fails, &(struct failing){&m, EMFILE, 2002, copies}));
    is_i64(got, AT_FAULT, "%s: where the file was cut off behind it, that is an error of the write",
           how);
    sfid__mark_drop(&m);
    need(unlink(mark_path) == 0, "unlink: %s", strerror(errno));
}

static int write_without_a_way(void *mark) {
    if (open_fails(EMFILE, false, false) < 0)
        return NO_FILTER;
    const int rc =
        sfid__mark_write(mark, (struct sfid__position){.word = 3000, .page_nonce = 5}, &mark_err);
    return rc == SFID_ESTATE && strstr(mark_err.text, strerror(EMFILE)) ? AT_FAULT : 1;
}

/* Where the mapping cannot be used either, the error of the open is what can be mended. */
static void no_way(void) {
    struct sfid__mark m;
    take_or_bail(&m);
    const int got = status_of(spawn(write_without_a_way, &m));
    if (got == NO_FILTER)
        skip(1, "takes a kernel with seccomp");
    else
        is_i64(got, AT_FAULT,
               "without a descriptor, nor another way: the error tells of descriptors");
    sfid__mark_drop(&m);
}

/* ---- files that are not what they were ------------------------------------- */

static void replaced(void) {
    struct sfid__mark m;
    char aside[4300];
    snprintf(aside, sizeof aside, "%s.aside", mark_path);
    take_or_bail(&m);
    need(rename(mark_path, aside) >= 0, "cannot rename %s", mark_path);
    is_i64(sfid__mark_write(&m, (struct sfid__position){.word = 1, .page_nonce = 5}, &mark_err),
           SFID_ELEASE, "a mark that was removed is not written");
    ok(strstr(mark_err.text, mark_path) != NULL, "the text names it");
    ok(!sfid__mark_is_last(&m), "who holds such a mark is not known to be the last");
    sfid__mark_drop(&m);

    take_or_bail(&m);
    struct sfid__mark other;
    need(unlink(mark_path) >= 0 &&
             sfid__mark_take(&other, &mark_app, &(struct sfid__mark_want){1, 77, true, false, 0},
                             &mark_said, &mark_err) >= 0,
         "cannot take a new file");
    is_i64(sfid__mark_write(&m, (struct sfid__position){.word = 1, .page_nonce = 5}, &mark_err),
           SFID_ELEASE, "nor is one that was replaced");
    ok(strstr(mark_err.text, "replaced") != NULL, "the text says so");
    sfid__mark_drop(&other);
    ok(!sfid__mark_is_last(&m), "nor is the holder of one that was replaced");
    is_i64(found(), 0, "and the new file is untouched");
    sfid__mark_drop(&m);
    unlink(aside);
    is_i64(sfid__mark_write(&m, (struct sfid__position){.word = 1, .page_nonce = 5}, &mark_err),
           SFID_ELEASE, "nor is one that was let go, as in a child forked just then");
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
    need(fd >= 0 && read(fd, content, sizeof content) == sizeof content && ftruncate(fd, 0) >= 0,
         "cannot cut %s", mark_path);
    is_i64(sfid__mark_write(&m, (struct sfid__position){.word = 702, .page_nonce = 5}, &mark_err),
           SFID_ESTATE, "a mark that is cut to nothing cannot be written: %s", mark_err.text);
    ok(!sfid__mark_in_place(&m, &at), "nor does it say anything");
    need(pwrite(fd, content, sizeof content, 0) == sizeof content, "cannot fill %s", mark_path);
    close(fd);
    write_to(&m, 703);
    ok(sfid__mark_in_place(&m, &at) && at.word == 703, "with its content back it goes on");
    sfid__mark_drop(&m);
}

static void refused(const char *what, const char *why) {
    const int64_t rc = found();
    ok(rc == SFID_ESTATE && strstr(mark_err.text, mark_path) && strstr(mark_err.text, why),
       "%s: %s", what, mark_err.text);
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
    if (may_be_another_user()) {
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
    daemons();
    file_system_fails();
    hidden_fault(true, "by the kernel's copy");
    hidden_fault(false, "by a page that the kernel got");
    no_way();
    replaced();
    copied_over();
    not_a_file_of_ours();
    sfid__dir_close(&mark_app);
    return done_testing();
}
