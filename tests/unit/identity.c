/* SPDX-License-Identifier: MIT */
/* What a state directory remembers: the machine's ID, made once whoever comes first, and the layout
 * of an app. */
#include "host/identity.h"

#include "base/clock.h"
#include "id/layout.h"

#include "support/scene.h"

#include <ctype.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/syscall.h>

#define PROCESSES 20

static struct sfid__dir state;
static struct sfid__error err;

static int files(void) { return entries(state.path) - 2; /* . and .. */ }

static void put(const char *name, const char *content, size_t n) {
    const int fd = openat(state.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(fd >= 0 && write(fd, content, n) == (ssize_t)n, "cannot write %s", name);
    close(fd);
}

/* ---- the lock of a directory, and syncs, in place of the system's ------------- */

/* Who wants the lock finds that another process has it, so often. Then that one has made the file,
 * if it has a name. */
static int refusals, syncs;
static const char *made_name, *made_content;

int flock(int fd, int how) {
    if (how != (LOCK_EX | LOCK_NB) || refusals == 0)
        return (int)syscall(SYS_flock, fd, how);
    if (--refusals == 0 && made_name)
        put(made_name, made_content, strlen(made_content));
    errno = EWOULDBLOCK;
    return -1;
}

int fsync(int fd) {
    syncs++;
    return (int)syscall(SYS_fsync, fd);
}

/* Until when a machine ID that another process makes is waited for. */
static int64_t soon(void) { return sfid__deadline_now_ms() + 500; }

static void another_makes(const char *name, const char *content) {
    refusals = 2; /* the first pauses are short: its time is not over */
    made_name = name;
    made_content = content;
    syncs = 0;
}

static bool is_locked(void) {
    const int fd = open(state.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool locked = fd < 0 || syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) < 0;
    close(fd);
    return locked;
}

/* ---- the machine ----------------------------------------------------------- */

static struct shared {
    _Atomic int waiting, go;
    int rc[PROCESSES];
    char id[PROCESSES][SFID__MACHINE_ID];
} * shared;

static int one_of_many(void *number) {
    const int i = *(int *)number;
    atomic_fetch_add(&shared->waiting, 1);
    while (!atomic_load(&shared->go))
        usleep(100);
    shared->rc[i] = sfid__machine_id(&state, soon(), shared->id[i], &err);
    return 0;
}

static bool all_wait(void *unused) {
    (void)unused;
    return atomic_load(&shared->waiting) == PROCESSES;
}

static void made_once(void) {
    shared = shared_memory(sizeof *shared);
    for (int i = 0; i < PROCESSES; i++)
        spawn(one_of_many, &i);
    ok(tap_wait_until(all_wait, NULL, TAP_WAIT_MS), "%d processes wait for a machine ID",
       PROCESSES);
    atomic_store(&shared->go, 1);
    while (wait(NULL) > 0)
        ;
    unsigned wrong = 0;
    for (int i = 0; i < PROCESSES; i++)
        wrong += shared->rc[i] != 0 || strcmp(shared->id[i], shared->id[0]) != 0;
    is_u64(wrong, 0, "all of them get the same");
    is_i64(files(), 1, "and leave one file");
}

static void its_form(void) {
    char id[SFID__MACHINE_ID], host[65] = "";
    ok(sfid__machine_id(&state, soon(), id, &err) == 0 && strcmp(id, shared->id[0]) == 0,
       "it is read ever after");
    gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-')
            *p = '_';
    const size_t len = strlen(host);
    ok(strncmp(id, host, len) == 0 && id[len] == '-', "it begins with the name of the host");
    ok(strlen(id + len) == 37 && strspn(id + len, "0123456789abcdef-") == 37,
       "a dash and a UUID follow");
    unlinkat(state.fd, "machine_id", 0);
    ok(sfid__machine_id(&state, soon(), id, &err) == 0 && strcmp(id, shared->id[0]) != 0,
       "removed, another one is made");
    struct stat st;
    ok(fstatat(state.fd, "machine_id", &st, 0) == 0 && (st.st_mode & 07777) == 0600,
       "its file is private");
}

static void waits_for_another(void) {
    char id[SFID__MACHINE_ID];
    unlinkat(state.fd, "machine_id", 0);
    another_makes("machine_id", "web-7\n");
    ok(sfid__machine_id(&state, soon(), id, &err) == 0 && strcmp(id, "web-7") == 0,
       "one that another process is making is waited for");
    is_i64(syncs, 0, "and nothing is written in vain");
    unlinkat(state.fd, "machine_id", 0);
    another_makes(NULL, NULL);
    is_i64(sfid__machine_id(&state, soon(), id, &err), 0, "if that one gives up, it is made");
    is_i64(syncs, 2, "durable, and its name too");
    ok(!is_locked(), "and others can have the lock");
    unlinkat(state.fd, "machine_id", 0);
    another_makes(NULL, NULL);
    refusals = INT_MAX;
    is_i64(sfid__machine_id(&state, soon(), id, &err), 0,
           "if that one is stopped, it is made as well");
    refusals = 0;
}

static void damaged(const char *what, const char *content, size_t n) {
    char id[SFID__MACHINE_ID];
    put("machine_id", content, n);
    err = (struct sfid__error){.code = 0};
    ok(sfid__machine_id(&state, soon(), id, &err) == SFID_ESTATE && strstr(err.text, "machine_id"),
       "%s is refused: %s", what, err.text);
}

static void machine_id_refused(void) {
    char id[SFID__MACHINE_ID], longer[300];
    memset(longer, 'a', sizeof longer);
    put("machine_id", "web-1.example\n", 14);
    ok(sfid__machine_id(&state, soon(), id, &err) == 0 && strcmp(id, "web-1.example") == 0,
       "one made by hand is taken");
    put("machine_id", "web-2", 5);
    ok(sfid__machine_id(&state, soon(), id, &err) == 0 && strcmp(id, "web-2") == 0,
       "and so is one without a line end");
    damaged("an empty file", "", 0);
    damaged("an empty line", "\n", 1);
    damaged("a space", "web 1\n", 6);
    damaged("a slash", "../web\n", 7);
    damaged("a colon", "web:1\n", 6);
    damaged("a byte of no text", "web\xff\n", 5);
    damaged("zeros", "\0\0\0\0\0\0\0\0", 8);
    damaged("a zero in the middle", "web-1\0\0\0\0\0\n", 11);
    damaged("one too long", longer, sizeof longer);
    put("machine_id", "web-1\n", 6);
    fchmodat(state.fd, "machine_id", 0660, 0);
    is_i64(sfid__machine_id(&state, soon(), id, &err), SFID_ESTATE,
           "one that others may write is refused");
    unlinkat(state.fd, "machine_id", 0);
    put("elsewhere", "web-1\n", 6);
    need(symlinkat("elsewhere", state.fd, "machine_id") >= 0, "symlink");
    is_i64(sfid__machine_id(&state, soon(), id, &err), SFID_ESTATE, "and so is a link");
    unlinkat(state.fd, "machine_id", 0);
    unlinkat(state.fd, "elsewhere", 0);
    is_i64(files(), 0, "nothing is left of all this");
}

/* ---- the boot -------------------------------------------------------------- */

static void boot(void) {
    uint8_t one[16], two[16], zero[16] = {0};
    memset(one, 1, sizeof one);
    memset(two, 2, sizeof two);
    sfid__boot_id(one);
    sfid__boot_id(two);
    ok(memcmp(one, two, 16) == 0 && memcmp(one, zero, 16) != 0,
       "the boot has an ID, the same at each look");
}

/* ---- the layout of an app --------------------------------------------------- */

static void app_layout(void) {
    const sfid_layout other = SFID_LAYOUT(41, 10, 12, 5, SFID_EPOCH_MS), turned = {0,
                                                                                   10,
                                                                                   39,
                                                                                   16,
                                                                                   8,
                                                                                   24,
                                                                                   0,
                                                                                   16,
                                                                                   0,
                                                                                   {0, 0, 0, 0, 0},
                                                                                   SFID__ONES(39),
                                                                                   SFID__ONES(16),
                                                                                   SFID__ONES(8)};
    is_i64(sfid__app_layout(&state, &other, &err), 0, "the first layout of an app is noted");
    is_i64(sfid__app_layout(&state, &other, &err), 0, "and is good ever after");
    is_i64(sfid__app_layout(&state, &SFID_LAYOUT_DEFAULT, &err), SFID_ELAYOUT,
           "another one is refused");
    ok(strstr(err.text, "41:10:12/5ms") && strstr(err.text, "sfid") && strstr(err.text, state.path),
       "the text names both: %s", err.text);
    sfid_layout named = other;
    named.pid_low = 5;
    is_i64(sfid__app_layout(&state, &named, &err), 0, "a name for half of the pid makes no other");
    is_i64(files(), 1, "all that in one file");
    unlinkat(state.fd, "layout", 0);
    is_i64(sfid__app_layout(&state, &turned, &err), 0, "one without a text form is noted as well");
    is_i64(sfid__app_layout(&state, &turned, &err), 0, "and known again");
    is_i64(sfid__app_layout(&state, &other, &err), SFID_ELAYOUT, "and told from others");
    char note[130];
    const int fd = openat(state.fd, "layout", O_RDONLY | O_CLOEXEC);
    const ssize_t n = read(fd, note, sizeof note - 1);
    close(fd);
    need(n > 0, "cannot read the layout");
    note[n] = '\0';
    unlinkat(state.fd, "layout", 0);
    state.unsynced = false;
    another_makes("layout", note);
    is_i64(sfid__app_layout(&state, &turned, &err), 0,
           "one that another process is making is waited for");
    ok(syncs == 0 && !state.unsynced, "and nothing is written, or left to be synced, in vain");
    unlinkat(state.fd, "layout", 0);
    is_i64(sfid__app_layout(&state, &turned, &err), 0, "one that nobody makes is made");
    ok(syncs == 1 && state.unsynced && !is_locked(),
       "its content is durable, its name is left to be synced");
    static const char *const damage[] = {"", "\n", "0123456789abcdef", "zzzz\n"};
    for (size_t i = 0; i < 4; i++) {
        put("layout", damage[i], strlen(damage[i]));
        ok(sfid__app_layout(&state, &other, &err) < 0, "a damaged note is no reason to go on: %s",
           err.text);
    }
    unlinkat(state.fd, "layout", 0);
}

int main(void) {
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/state", tap_tmpdir());
    need(sfid__dir_open_state(&state, dir, &err) >= 0, "%s", err.text);
    made_once();
    its_form();
    waits_for_another();
    unlinkat(state.fd, "machine_id", 0);
    machine_id_refused();
    boot();
    app_layout();
    sfid__dir_close(&state);
    return done_testing();
}
