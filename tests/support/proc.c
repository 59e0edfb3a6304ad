/* SPDX-License-Identifier: MIT */
#include "support/proc.h"

#include <limits.h>
#include <sys/ptrace.h>

/*
 * ThreadSanitizer objects to threads in a forked child of a threaded process, and to threads left
 * at exit. Both are tested here. tests/tsan.supp has all suppressions; a program run by hand needs
 * TSAN_OPTIONS=suppressions=…/tests/tsan.supp. This must not be weak: the sanitizer's own is, and
 * would come first. A program may have its own: see proc.h.
 */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    if (tsan_options)
        return tsan_options;
    return "die_after_fork=0 report_thread_leaks=0 atexit_sleep_ms=0";
}

/* ---- sizes, seeds, clocks ----------------------------------------------- */

uint64_t sized(uint64_t short_size, uint64_t long_size, uint64_t sanitized) {
    return SANITIZED ? sanitized : getenv("SFID_TEST_LONG") ? long_size : short_size;
}

uint64_t seed(void) {
    const char *given = getenv("SFID_TEST_SEED");
    const uint64_t value = given && *given ? strtoull(given, NULL, 0) : UINT64_C(20251222);
    diag("seed %" PRIu64 " (SFID_TEST_SEED changes it)", value);
    return value;
}

uint64_t draw_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t wall_ns(void) { return clock_ns(CLOCK_REALTIME); }

int64_t mono_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

int64_t id_ns(const sfid_layout *l, int64_t id) {
    return (l->epoch_ms + (int64_t)(((uint64_t)id >> l->time_shift) * l->unit_ms)) * NS_PER_MS;
}

int64_t clock_offset(void) {
    const int64_t before = mono_ns(), wall = wall_ns(), after = mono_ns();
    return wall - (before + after) / 2;
}

bool clock_stepped(int64_t offset_before) {
    return llabs(clock_offset() - offset_before) > 10 * (int64_t)NS_PER_MS;
}

void nap_us(long us) { nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL); }

int64_t median(int64_t *values, size_t n) {
    qsort(values, n, sizeof *values, by_i64);
    return n ? values[n / 2] : 0;
}

/* ---- directories -------------------------------------------------------- */

struct dirs dirs;

static void dirs_remove(void) {
    if (dirs.owner == getpid())
        remove_tree(dirs.shm);
}

/* The harness ends a test that takes too long. */
static void dirs_on_signal(int sig) {
    const pid_t child = dirs.owner == getpid() ? fork() : -1;
    if (child == 0)
        execlp("rm", "rm", "-rf", dirs.shm, dirs.tmp, (char *)NULL);
    if (child > 0)
        waitpid(child, NULL, 0);
    _exit(128 + sig);
}

/* Logs take up to 1 GB; a container's /dev/shm has 64 MB. */
static const char *roomy_place(void) {
    struct statvfs v;
    const bool roomy = statvfs(dirs.shm, &v) == 0 && (uint64_t)v.f_bavail * v.f_frsize > UINT64_C(2)
                                                                                             << 30;
    return roomy ? dirs.shm : dirs.tmp;
}

void dirs_make(void) {
    const char *shm = getenv("SFID_TEST_SHM"), *state = getenv("SFID_TEST_STATE"),
               *logs = getenv("SFID_TEST_LOGS");
    if (shm && state && logs) {
        snprintf(dirs.shm, sizeof dirs.shm, "%s", shm);
        snprintf(dirs.state, sizeof dirs.state, "%s", state);
        snprintf(dirs.logs, sizeof dirs.logs, "%s", logs);
    } else {
        snprintf(dirs.shm, sizeof dirs.shm, "/dev/shm/sfid-test-XXXXXX");
        need(mkdtemp(dirs.shm), "no directory on /dev/shm: %s", strerror(errno));
        dirs.tmp = tap_tmpdir();
        snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.tmp);
        snprintf(dirs.logs, sizeof dirs.logs, "%s/logs", roomy_place());
        setenv("SFID_TEST_LOGS", dirs.logs, 1);
        setenv("SFID_TEST_SHM", dirs.shm, 1);
        setenv("SFID_TEST_STATE", dirs.state, 1);
        dirs.owner = getpid();
        atexit(dirs_remove);
        signal(SIGTERM, dirs_on_signal);
        signal(SIGINT, dirs_on_signal);
    }
    snprintf(dirs.run, sizeof dirs.run, "%.60s/run", dirs.shm);
    need(mkdir(dirs.logs, 0700) >= 0 || errno == EEXIST, "%s: %s", dirs.logs, strerror(errno));
}

int count_entries(const char *path) {
    DIR *dir = opendir(path);
    int n = 0;
    if (!dir)
        return -1;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.' || (e->d_name[1] != '\0' && strcmp(e->d_name, "..") != 0);
    closedir(dir);
    return n;
}

int count_fds(void) {
    return count_entries("/proc/self/fd") - 1; /* the listing's own descriptor */
}

long memory_kb(const char *what) {
    char line[200];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, what, strlen(what)) == 0)
            kb = strtol(line + strlen(what), NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

int count_threads(void) { return count_entries("/proc/self/task"); }

bool threads_are(void *n) {
    const int now = count_threads(), then = *(const int *)n;
    return now == then || (SANITIZED && now == then + 1);
}

int threads_before(void) {
    static int alone;
    if (alone == 0)
        alone = count_threads();
    tap_wait_until(threads_are, &alone, TAP_WAIT_MS);
    return count_threads();
}

/* ---- children ----------------------------------------------------------- */

void die(const char *fmt, ...) {
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (dirs.owner == getpid())
        bail("%s", text);
    fprintf(stderr, "# child %d: %s\n", (int)getpid(), text);
    _exit(DIED);
}

pid_t child_start(int (*fn)(void *), void *arg) {
    fflush(NULL);
    const pid_t child = fork();
    must(child >= 0, "fork: %s", strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(fn(arg));
    }
    return child;
}

static int run_self(void *argv) {
    execv("/proc/self/exe", argv);
    return DIED;
}

pid_t self_start(const char *a, const char *b, const char *c, const char *d, const char *e) {
    const char *argv[] = {"self", a, b, c, d, e, NULL};
    return child_start(run_self, argv);
}

const char *sfid_program(void) {
    static char path[4300];
    const char *dir = getenv("builddir");
    snprintf(path, sizeof path, "%s/tests/sfid", dir ? dir : ".");
    return path;
}

static int describe(void *command) {
    must(freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr), "no /dev/null");
    execl(sfid_program(), sfid_program(), command, "--help", NULL);
    return DIED;
}

bool sfid_has(const char *command) {
    return child_run(describe, (void *)(uintptr_t)command, TAP_WAIT_MS) == 0;
}

static bool child_ended(void *arg) {
    struct waiting *w = arg;
    return waitpid(w->child, &w->status, WNOHANG) == w->child;
}

int child_wait(pid_t child, unsigned limit_ms) {
    struct waiting w = {child, 0};
    if (!tap_wait_until(child_ended, &w, limit_ms)) {
        kill(child, SIGKILL);
        waitpid(child, &w.status, 0);
        return TIMED_OUT;
    }
    return WIFEXITED(w.status) ? WEXITSTATUS(w.status) : KILLED + WTERMSIG(w.status);
}

void go_on_with_shim(void) {
    if (getenv("SFID_SHIM_LOADED"))
        return;
    setenv("SFID_SHIM_LOADED", "1", 1);
    /* the whole test: the harness has a limit */
    const int status = child_wait(self_start(NULL, NULL, NULL, NULL, NULL), UINT_MAX);
    exit(status >= 0 && status < KILLED ? status : DIED);
}

int child_run(int (*fn)(void *), void *arg, unsigned limit_ms) {
    return child_wait(child_start(fn, arg), limit_ms);
}

void child_kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- tracing ------------------------------------------------------------ */

static int ask_for_a_trace(void *arg) {
    (void)arg;
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1;
}

bool can_trace(void) { return child_run(ask_for_a_trace, NULL, TAP_WAIT_MS) == 0; }

bool trace_step(pid_t child, int request, unsigned n) {
    int status = 0, sig = 0;
    while (n > 0) {
        if (ptrace(request, child, NULL, (void *)(intptr_t)sig) < 0 ||
            waitpid(child, &status, __WALL) < 0 || !WIFSTOPPED(status))
            return false;
        sig = WSTOPSIG(status) & ~0x80;
        if (sig == SIGTRAP) {
            sig = 0;
            n--;
        }
    }
    return true;
}

bool trace_seize(pid_t thread) {
    int status = 0;
    return thread != 0 && ptrace(PTRACE_SEIZE, thread, NULL, NULL) == 0 &&
           ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0 &&
           waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status);
}

static bool next_call(pid_t thread) {
    int status = 0;
    return ptrace(PTRACE_SYSCALL, thread, NULL, NULL) == 0 &&
           waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status);
}

void trace_hold(pid_t thread, unsigned n) {
    must(trace_seize(thread), "cannot trace the keeper");
    for (unsigned i = 0; i < n && next_call(thread); i++)
        ;
}

/* ---- what children share ------------------------------------------------ */

void *shared_file(const char *name, size_t size) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", dirs.shm, name);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0 && ftruncate(fd, (off_t)size) >= 0, "%s: %s", path, strerror(errno));
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    must(at != MAP_FAILED, "%s: %s", path, strerror(errno));
    return at;
}

static bool flag_reached(void *arg) {
    const struct flag_wait *w = arg;
    return atomic_load(w->flag) >= w->want;
}

bool flag_wait(_Atomic int *flag, int want, unsigned limit_ms) {
    return tap_wait_until(flag_reached, &(struct flag_wait){flag, want}, limit_ms);
}

void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg) {
    const int rc = pthread_create(thread, NULL, fn, arg);
    must(rc == 0, "pthread_create: %s", strerror(rc));
}

/* ---- generators --------------------------------------------------------- */

sfid_layout layout_of(const char *text) {
    sfid_layout l;
    must(sfid_layout_parse(text, &l) == 0, "no layout: %s", text);
    return l;
}

bool shares(void) { return getenv("SFID_TEST_SHARE") != NULL; }

sfid_options options_of(const char *app, int64_t pid, const sfid_layout *l) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.app = app;
    opt.pid = pid;
    opt.layout = l;
    opt.run_dir = dirs.run;
    opt.state_dir = dirs.state;
    opt.share = app && shares();
    return opt;
}

sfid *open_or_die(const sfid_options *opt) {
    sfid *g = NULL;
    const int rc = sfid_open(&g, opt);
    must(rc == 0, "sfid_open: %s: %s", sfid_strerror(rc), sfid_last_error(g));
    return g;
}

int try_open(const sfid_options *opt) {
    sfid *g = NULL;
    const int rc = sfid_open(&g, opt);
    sfid_close(g);
    return rc;
}

int64_t next_within(sfid *g, unsigned limit_ms) {
    struct patience p = {0};
    for (;;) {
        const int64_t id = sfid_next(g);
        if ((id != SFID_EAGAIN && id != SFID_ECLOCK && id != SFID_ELEASE) || !patient(&p, limit_ms))
            return id;
        nap_us(1000);
    }
}

bool postponed(const sfid *g, int64_t code) {
    const int ms = sfid_retry_ms(g);
    return (code == SFID_EAGAIN || code == SFID_ECLOCK) && ms > 0 && ms <= 45000;
}

void raise_to(_Atomic int64_t *most, int64_t value) {
    int64_t seen = atomic_load_explicit(most, memory_order_relaxed);
    while (seen < value && !atomic_compare_exchange_weak_explicit(
                               most, &seen, value, memory_order_release, memory_order_relaxed))
        ;
}

/* ---- the checker -------------------------------------------------------- */

void log_start(struct idlog *log, uint64_t capacity, uint64_t life, uint64_t pid, const char *fmt,
               ...) {
    char name[80], path[4300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    snprintf(path, sizeof path, "%s/%s", dirs.logs, name);
    must(idlog_open(log, path, capacity, life, pid), "%s: %s", path, strerror(errno));
}

void log_ids(struct idlog *log, const int64_t *ids, int64_t n) {
    if (n < 0)
        idlog_put(log, n);
    for (int64_t i = 0; i < n; i++)
        idlog_put(log, ids[i]);
}

FILE *checker_start(const char *options, ...) {
    const char *path = getenv("SFID_CHECKER");
    char command[4600];
    va_list args;
    int n = snprintf(command, sizeof command, "%s ", path ? path : "./tests/checker");
    va_start(args, options);
    vsnprintf(command + n, sizeof command - (size_t)n, options, args);
    va_end(args);
    FILE *out = popen(command, "re");
    must(out, "popen: %s", strerror(errno));
    return out;
}

bool judge(const char *layout, const char *order, uint64_t count, const char *what) {
    enum { LINES = 80 };
    static char lines[LINES][300];
    char wanted[40] = "";
    size_t n = 0;
    if (shares() && strcmp(order, "pid") == 0)
        order = "per-file"; /* lives of one pid are there at once */
    if (count != UINT64_MAX)
        snprintf(wanted, sizeof wanted, "--count %" PRIu64, count);
    FILE *out = checker_start("--layout '%s' --order %s %s '%s'", layout, order, wanted, dirs.logs);
    while (n < LINES && fgets(lines[n], sizeof lines[n], out)) {
        lines[n][strcspn(lines[n], "\n")] = '\0';
        n++;
    }
    const bool good = ok(pclose(out) == 0, "%s: the checker finds nothing", what);
    for (size_t i = 0; i < n; i++)
        diag("%s", lines[i]); /* behind the check, where .ci/run looks for what it said */
    remove_tree(dirs.logs);
    need(mkdir(dirs.logs, 0700) >= 0, "%s: %s", dirs.logs, strerror(errno));
    return good;
}
