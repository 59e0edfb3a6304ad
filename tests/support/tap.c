/* SPDX-License-Identifier: MIT */
#include "support/tap.h"

#include <ftw.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>

enum { NAME_ROOM = 512, BAILED = 255, LOOK_MS = 100 };

static unsigned run, failed, planned;
static char tmpdir[4096];
static pid_t tmpdir_owner;

/* In TAP, '#' and line ends have a meaning. A name must not contain them by accident. */
static void plain(char *text) {
    for (; *text; text++)
        if (*text == '#' || *text == '\n')
            *text = *text == '#' ? '*' : ' ';
}

static bool result(bool cond, const char *name, va_list args) {
    char text[NAME_ROOM];
    vsnprintf(text, sizeof text, name, args);
    plain(text);
    run++;
    if (!cond)
        failed++;
    printf("%s %u - %s\n", cond ? "ok" : "not ok", run, text);
    fflush(stdout);
    if (!cond && getenv("SFID_TEST_FIRST_FAILURE"))
        exit(EXIT_FAILURE); /* for tests that only want to know whether another fails */
    return cond;
}

void plan(unsigned n) {
    planned = n;
    printf("1..%u\n", n);
    fflush(stdout);
}

bool ok(bool cond, const char *name, ...) {
    va_list args;
    va_start(args, name);
    result(cond, name, args);
    va_end(args);
    return cond;
}

bool is_i64(int64_t got, int64_t want, const char *name, ...) {
    va_list args;
    va_start(args, name);
    if (!result(got == want, name, args))
        diag("got  %" PRId64 "\nwant %" PRId64, got, want);
    va_end(args);
    return got == want;
}

bool is_u64(uint64_t got, uint64_t want, const char *name, ...) {
    va_list args;
    va_start(args, name);
    if (!result(got == want, name, args))
        diag("got  %" PRIu64 " (0x%" PRIx64 ")\nwant %" PRIu64 " (0x%" PRIx64 ")", got, got, want,
             want);
    va_end(args);
    return got == want;
}

static void diag_quoted(const char *what, const char *s) {
    if (s)
        diag("%s \"%s\"", what, s);
    else
        diag("%s NULL", what);
}

bool is_str(const char *got, const char *want, const char *name, ...) {
    const bool same = got && want ? strcmp(got, want) == 0 : got == want;
    va_list args;
    va_start(args, name);
    if (!result(same, name, args)) {
        diag_quoted("got ", got);
        diag_quoted("want", want);
    }
    va_end(args);
    return same;
}

void skip(unsigned n, const char *reason, ...) {
    char text[NAME_ROOM];
    va_list args;
    va_start(args, reason);
    vsnprintf(text, sizeof text, reason, args);
    va_end(args);
    plain(text);
    while (n-- > 0)
        printf("ok %u # SKIP %s\n", ++run, text);
    fflush(stdout);
}

void skip_all(const char *reason, ...) {
    char text[NAME_ROOM];
    va_list args;
    va_start(args, reason);
    vsnprintf(text, sizeof text, reason, args);
    va_end(args);
    plain(text);
    printf("1..0 # SKIP %s\n", text);
    exit(0);
}

void diag(const char *text, ...) {
    char lines[4096];
    va_list args;
    va_start(args, text);
    vsnprintf(lines, sizeof lines, text, args);
    va_end(args);
    for (char *rest = lines, *line; (line = strsep(&rest, "\n")) != NULL;)
        printf("# %s\n", line);
    fflush(stdout);
}

void bail(const char *why, ...) {
    char text[NAME_ROOM];
    va_list args;
    va_start(args, why);
    vsnprintf(text, sizeof text, why, args);
    va_end(args);
    plain(text);
    printf("Bail out! %s\n", text);
    exit(BAILED);
}

int done_testing(void) {
    need(run != 0, "no check was made");
    if (planned == 0)
        printf("1..%u\n", run);
    else if (planned != run)
        diag("planned %u checks, made %u", planned, run);
    if (failed > 0)
        diag("%u of %u failed", failed, run);
    witness_tell();
    fflush(stdout);
    return failed > 0 || (planned != 0 && planned != run);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)kind, (void)walk;
    remove(path);
    return 0;
}

void remove_tree(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

/* A forked child that calls exit() runs this, too, but the directory is its parent's. */
static void remove_tmpdir(void) {
    if (getpid() == tmpdir_owner)
        remove_tree(tmpdir);
}

const char *tap_tmpdir(void) {
    if (tmpdir_owner != 0)
        return tmpdir;
    const char *base = getenv("TMPDIR");
    snprintf(tmpdir, sizeof tmpdir, "%s/sfid-test-XXXXXX", base && *base ? base : "/tmp");
    need(mkdtemp(tmpdir), "no temporary directory: %s", tmpdir);
    tmpdir_owner = getpid();
    atexit(remove_tmpdir);
    return tmpdir;
}

void *shared_memory(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(at != MAP_FAILED, "no shared memory: %s", strerror(errno));
    return at;
}

int64_t tap_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool tap_under_valgrind(void) {
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

int tap_rounds(int n) { return tap_under_valgrind() ? n / 10 : n; }

bool patient(struct patience *p, int64_t limit_ms) {
    const int64_t now = tap_now_ms(), since = p->looked_ms ? now - p->looked_ms : 0;
    p->looked_ms = now;
    p->used_ms += since < LOOK_MS ? since : LOOK_MS;
    return p->used_ms < limit_ms;
}

bool tap_wait_until(bool (*cond)(void *arg), void *arg, unsigned limit_ms) {
    struct patience p = {0};
    const struct timespec step = {.tv_sec = 0, .tv_nsec = 2000000};
    while (!cond(arg)) {
        if (!patient(&p, limit_ms))
            return cond(arg);
        nanosleep(&step, NULL);
    }
    return true;
}

int by_i64(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
