/* SPDX-License-Identifier: MIT */
/*
 * What the library counts on in the kernel: locks, words of dead threads, memory that a child finds
 * zeroed, names of open files, files that become shorter, stopped processes, connections. The same
 * program runs on the simulated kernel of tests/sim, which has to do the same: tests/sh/sim.test
 * compares what the two print. It calls what the library calls, and support/system.h.
 */
#include "support/system.h"

#include "base/alive.h"
#include "base/futex.h"
#include "support/tap.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { PAGE = 4096, STOP_MS = 300, SHORT_MS = 50, MANY_MS = 60000 };
int kernel_facts(void);
void kernel_stores(void);
unsigned kernel_finds(void);

static int dir;
static struct { _Atomic uint32_t word, slept, begun, told; } * s;

static void nap(void) { nanosleep(&(struct timespec){0, 1000000}, NULL); }

/* Waits until a child has written that. */
static bool becomes(_Atomic uint32_t *word, uint32_t value) {
    for (int ms = 0; atomic_load(word) != value && ms < MANY_MS; ms++)
        nap();
    return atomic_load(word) == value;
}

static int file(const char *name) { return openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600); }
static bool refuses(int rc, int why) { return rc < 0 && errno == why; }
static bool locks(int fd, int how) { return flock(fd, how | LOCK_NB) == 0; }
static bool is_locked(int fd) { return refuses(flock(fd, LOCK_EX | LOCK_NB), EWOULDBLOCK); }
static void *map(int fd, size_t len) {
    return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void sleep_for_ever(void) {
    for (;;)
        nap();
}

/* A child that is there until it is killed. */
static int idle_child(void) {
    const int pid = task_begin();
    if (pid == 0)
        sleep_for_ever();
    return pid;
}

static void locks_of_files(void) {
    const int a = file("lock"), b = file("lock"), c = file("lock");
    ok(ftruncate(a, PAGE) == 0 && locks(a, LOCK_EX) && is_locked(b), "flock: one open file has it");
    void *m = map(a, PAGE);
    close(a);
    const bool layered = system_is_layered();
    ok(is_locked(b) == !layered,
       "a mapping keeps it when the descriptor is closed, but on overlayfs");
    const int pid = idle_child();
    munmap(m, PAGE);
    ok(is_locked(b) == !layered, "a child's mapping keeps it when the parent's is gone, but there");
    task_kill(pid);
    ok(locks(b, LOCK_SH), "it goes with the child that is killed");
    ok(locks(c, LOCK_SH) && is_locked(b) && locks(c, LOCK_EX),
       "two share it; one that asks for all of it in vain loses its share");
    close(b);
    close(c);
}

static int range(int fd, short type, off_t at) {
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &l);
}

static void locks_of_ranges(void) {
    const int a = file("range"), b = file("range");
    ok(range(a, F_WRLCK, 3) == 0 && refuses(range(b, F_WRLCK, 3), EAGAIN) &&
           range(b, F_WRLCK, 4) == 0,
       "OFD: one has a byte");
    int pid = task_begin();
    if (pid == 0) {
        close(a);
        task_end();
    }
    task_wait(pid);
    ok(refuses(range(b, F_WRLCK, 3), EAGAIN), "a child that closes it leaves the parent's");
    pid = task_begin();
    if (pid == 0) {
        range(a, F_UNLCK, 3);
        task_end();
    }
    task_wait(pid);
    ok(range(b, F_WRLCK, 3) == 0, "a child that unlocks it unlocks the parent's");
    pid = idle_child();
    close(b);
    ok(refuses(range(a, F_WRLCK, 3), EAGAIN), "a child has it when the parent has closed it");
    task_kill(pid);
    ok(range(a, F_WRLCK, 3) == 0 && range(a, F_WRLCK, 4) == 0,
       "it goes with the child that is killed");
    close(a);
}

static void take_word(void) {
    atomic_store(&s->told, sfid__alive_take(&s->word));
    atomic_store(&s->begun, 1);
}

static void words(void) {
    int pid = task_begin();
    if (pid == 0) {
        take_word();
        sleep_for_ever();
    }
    ok(becomes(&s->begun, 1) && atomic_load(&s->told) == 1 && sfid__alive(&s->word),
       "a child has the word");
    task_kill(pid);
    is_u64(atomic_load(&s->word), FUTEX_OWNER_DIED,
           "the kernel marks the word of one that is killed");
    ok(sfid__alive_take(&s->word), "another one can take it");
    pid = task_begin();
    if (pid == 0)
        task_end();
    task_wait(pid);
    ok(sfid__alive(&s->word), "the end of its child leaves it alone");
    sfid__alive_leave(&s->word);
    pid = task_begin();
    if (pid == 0) {
        take_word();
        task_end();
    }
    task_wait(pid);
    is_u64(atomic_load(&s->word), FUTEX_OWNER_DIED, "one that ends has it marked, too");
}

static void wiped(void) {
    char *plain = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *wipe = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *plain = *wipe = 1;
    ok(madvise(wipe, PAGE, MADV_WIPEONFORK) == 0 &&
           refuses(madvise(s, PAGE, MADV_WIPEONFORK), EINVAL),
       "WIPEONFORK: not if shared");
    const int pid = task_begin();
    if (pid == 0) {
        const uint32_t seen = (uint32_t)(*plain * 10 + *wipe);
        *plain = *wipe = 5;
        const int grandchild = task_begin();
        if (grandchild == 0) {
            atomic_store(&s->told, seen * 100 + (uint32_t)(*plain * 10 + *wipe));
            task_end();
        }
        task_wait(grandchild);
        task_end();
    }
    task_wait(pid);
    is_u64(atomic_load(&s->told), 1050, "a child finds it zeroed, and so does a child of that one");
    is_i64(*plain * 10 + *wipe, 11, "the parent keeps it");
}

static void wait_for_word(int ms) {
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    atomic_store(&s->begun, 1);
    while (sfid__futex_call(&s->slept, FUTEX_WAIT, 0, &t) == 0)
        ; /* it was woken, or returned for no reason */
    atomic_store(&s->told, (uint32_t)errno);
    task_end();
}

static int sleeper(int ms) {
    atomic_store(&s->begun, 0);
    atomic_store(&s->told, 0);
    atomic_store(&s->slept, 0);
    const int pid = task_begin();
    if (pid == 0)
        wait_for_word(ms);
    becomes(&s->begun, 1);
    return pid;
}

/* A signal takes a thread out of its sleep; what it waited for it looks at again once it may go
 * on. */
static void stops(void) {
    is_i64(sfid__futex_call(&s->slept, FUTEX_WAKE, 9, NULL), 0,
           "futex: who wakes nobody is told so");
    int pid = sleeper(MANY_MS);
    long woken = 0;
    for (int ms = 0; woken == 0 && ms < MANY_MS; ms++, nap()) /* until it sleeps */
        woken = sfid__futex_call(&s->slept, FUTEX_WAKE, 9, NULL);
    is_i64(woken, 1, "who wakes one is told so");
    task_stop(pid, STOP_MS);
    is_i64(sfid__futex_call(&s->slept, FUTEX_WAKE, 9, NULL), 0, "one that is stopped is not woken");
    atomic_store(&s->slept, 1);
    task_go_on(pid);
    task_wait(pid);
    is_u64(atomic_load(&s->told), EAGAIN, "it sees the word that has changed when it goes on");
    pid = sleeper(SHORT_MS);
    task_stop(pid, STOP_MS);
    for (int ms = 0; ms < 2 * SHORT_MS; ms++)
        nap();
    task_go_on(pid);
    task_wait(pid);
    is_u64(atomic_load(&s->told), ETIMEDOUT,
           "one whose time was over while it was stopped knows that");
    ok(refuses((int)sfid__futex_call(&s->slept, FUTEX_WAIT, 1, NULL), EAGAIN),
       "nobody waits for a word that has changed");
}

static uint64_t links(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_nlink : 99;
}

static bool is_named(int fd, const char *name) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstatat(dir, name, &b, 0) == 0 && a.st_ino == b.st_ino;
}

static void names(void) {
    const int a = file("a"), b = file("b");
    ok(pwrite(a, "a", 1, 0) == 1 && renameat(dir, "b", dir, "a") == 0 && is_named(b, "a"),
       "rename: the name is the other file's");
    is_u64(links(a), 0, "the file that had it has none");
    char byte = 0;
    ok(pread(a, &byte, 1, 0) == 1 && byte == 'a', "but its bytes, while it is open");
    ok(refuses(openat(dir, "b", O_RDWR), ENOENT), "nobody has the old name");
    ok(linkat(dir, "a", dir, "c", 0) == 0 && links(b) == 2, "link: one file has two names");
    ok(refuses(linkat(dir, "a", dir, "c", 0), EEXIST), "a name that is there is not replaced");
    ok(renameat(dir, "a", dir, "c") == 0 && links(b) == 2,
       "to rename one name of a file to the other does nothing");
    ok(unlinkat(dir, "a", 0) == 0 && unlinkat(dir, "c", 0) == 0 && links(b) == 0,
       "unlink: without a name it is open still");
    ok(refuses(openat(dir, "c", O_RDWR | O_CREAT | O_EXCL, 0600) < 0
                   ? -1
                   : openat(dir, "c", O_CREAT | O_EXCL, 0600),
               EEXIST),
       "O_EXCL: it is made once");
    close(a);
    close(b);
}

static ssize_t copied(char *from, char *to) {
    const struct iovec far = {from, 1}, here = {to, 1};
    return process_vm_readv(getpid(), &here, 1, &far, 1, 0);
}

static void truncation(void) {
    const int fd = file("short");
    char byte = 0;
    ftruncate(fd, 2 * PAGE);
    char *m = map(fd, 2 * PAGE);
    m[10] = m[PAGE] = 'x';
    ok(copied(m + PAGE, &byte) == 1 && byte == 'x', "a mapping can be read by the kernel");
    ftruncate(fd, 1);
    ok(refuses((int)copied(m + PAGE, &byte), EFAULT), "not where the file has ended");
    ok(copied(m + 10, &byte) == 1 && byte == 0, "the rest of its last page is zero");
    ftruncate(fd, 2 * PAGE);
    ok(copied(m + PAGE, &byte) == 1 && byte == 0, "one that grows again has zeros there");
    ok(msync(m, 2 * PAGE, MS_SYNC) == 0 && close(fd) == 0, "it is synced through the mapping");
    munmap(m, 2 * PAGE);
    ok(refuses(msync(m, PAGE, MS_SYNC), ENOMEM), "not where nothing is mapped");
}

static int reach(enum serving how, const struct sockaddr_in *at, int ms, short *seen) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ok(refuses(connect(fd, (const struct sockaddr *)at, sizeof *at), EINPROGRESS),
       "connect to a server that %s: it is under way",
       how == HANGS    ? "hangs"
       : how == SERVES ? "serves"
                       : "refuses");
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    *seen = poll(&p, 1, ms) > 0 ? p.revents : 0;
    return fd;
}

static int error_of(int fd) {
    int why = -1;
    socklen_t len = sizeof why;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) == 0 ? why : -1;
}

static bool can(int fd, short what, short sees) {
    struct pollfd p = {.fd = fd, .events = what};
    return poll(&p, 1, MANY_MS) == 1 && p.revents == sees;
}

static void connections(void) {
    short seen;
    struct sockaddr_in at = system_server(HANGS);
    int fd = reach(HANGS, &at, SHORT_MS, &seen);
    ok(seen == 0 && error_of(fd) == 0, "it stays under way, without an error");
    close(fd);
    at = system_server(REFUSES);
    fd = reach(REFUSES, &at, MANY_MS, &seen);
    is_i64(seen, POLLOUT | POLLERR | POLLHUP, "then poll() tells of an error");
    ok(error_of(fd) == ECONNREFUSED && error_of(fd) == 0, "which is told once");
    close(fd);
    at = system_server(SERVES);
    fd = reach(SERVES, &at, MANY_MS, &seen);
    ok(seen == POLLOUT && error_of(fd) == 0, "then it is made");
    char said[8];
    static const char ping[] = "*1\r\n$4\r\nPING\r\n", quit[] = "*1\r\n$4\r\nQUIT\r\n";
    ok(refuses((int)recv(fd, said, 8, MSG_DONTWAIT), EAGAIN), "nothing has come yet");
    ok(send(fd, ping, 14, MSG_NOSIGNAL) == 14 && can(fd, POLLIN, POLLIN) &&
           recv(fd, said, 8, 0) == 5,
       "it is answered");
    ok(send(fd, quit, 14, MSG_NOSIGNAL) == 14 && can(fd, POLLRDHUP, POLLRDHUP),
       "a server that sends no more: that shows");
    ok(can(fd, POLLIN | POLLOUT, POLLIN | POLLOUT) && recv(fd, said, 8, 0) == 5,
       "what it had sent before can be read");
    ok(recv(fd, said, 8, 0) == 0 && recv(fd, said, 8, 0) == 0, "then the end, again and again");
    ok(send(fd, ping, 14, MSG_NOSIGNAL) == 14, "what is sent to it goes out all the same");
    const int same = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    shutdown(same, SHUT_RDWR);
    ok(refuses((int)send(fd, ping, 14, MSG_NOSIGNAL), EPIPE),
       "not once another descriptor of it was shut down");
    ok(can(fd, POLLIN | POLLRDHUP, POLLIN | POLLRDHUP | POLLHUP), "which shows, too");
    close(same);
    close(fd);
}

/* ---- a loss of power, which only the simulated kernel has ---- */

enum { SYNCED = 1, MSYNCED = 2, STORED = 4, NAMED = 8 };

static void begin(void) { dir = open(system_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

void kernel_stores(void) {
    begin();
    const int fd = file("synced");
    ftruncate(fd, 3 * PAGE);
    pwrite(fd, "s", 1, 0);
    fsync(fd);
    fsync(dir);
    char *m = map(fd, 3 * PAGE);
    m[PAGE] = 'm';
    msync(m + PAGE, PAGE, MS_SYNC);
    m[2 * PAGE] = 'w';
    fsync(file("named"));
}

unsigned kernel_finds(void) {
    begin();
    const int fd = file("synced");
    char bytes[2 * PAGE + 1] = "";
    pread(fd, bytes, sizeof bytes, 0);
    return (bytes[0] == 's' ? SYNCED : 0u) | (bytes[PAGE] == 'm' ? MSYNCED : 0u) |
           (bytes[2 * PAGE] == 'w' ? STORED : 0u) |
           (openat(dir, "named", O_RDWR) >= 0 ? NAMED : 0u);
}

int kernel_facts(void) {
    begin();
    s = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    locks_of_files();
    locks_of_ranges();
    words();
    wiped();
    stops();
    names();
    truncation();
    connections();
    return done_testing();
}

int main(void) { return kernel_facts(); }
