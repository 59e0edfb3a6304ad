/* SPDX-License-Identifier: MIT */
/* Events as lines: what stands in them, and what becomes of them where they cannot be written. */
#include "support/tap.h"

#include <sfid.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <syslog.h>

static const sfid_event lost = {SFID_EVENT_LOST, SFID_ELEASE, 3, 0, "it is gone", "orders"};

/* ---- standard error -------------------------------------------------------------- */

static char path[4200], got[4000];
static int kept_error; /* this test's own */

static void error_to(int fd) { need(dup2(fd, STDERR_FILENO) >= 0, "dup2: %s", strerror(errno)); }

/* What the call writes, in `got`. */
static const char *written(void *user, const sfid_event *event) {
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(fd >= 0, "%s: %s", path, strerror(errno));
    error_to(fd);
    sfid_event_to_stderr(user, event);
    error_to(kept_error);
    const ssize_t n = pread(fd, got, sizeof got - 1, 0);
    got[n > 0 ? n : 0] = '\0';
    close(fd);
    return got;
}

static void test_lines(void) {
    char name[] = "billing";
    const sfid_event nobody = {SFID_EVENT_DISCONNECTED, SFID_EREDIS, -1, 0, "no answer", "orders"};
    const sfid_event no_app = {SFID_EVENT_NOT_TMPFS, 0, 3, 0, "slow", NULL};
    const sfid_event later = {(sfid_event_kind)SFID_EVENT_KINDS, 0, 3, 0, "new", "orders"};
    is_str(written(NULL, &lost), "sfid: LOST: pid 3 of app \"orders\": it is gone\n", "a line");
    is_str(written(name, &lost), "billing: LOST: pid 3 of app \"orders\": it is gone\n",
           "with a name");
    is_str(written(NULL, &nobody), "sfid: DISCONNECTED: app \"orders\": no answer\n",
           "without a pid");
    is_str(written(NULL, &no_app), "sfid: NOT_TMPFS: slow\n", "without an app");
    is_str(written(NULL, &later), "sfid: EVENT: pid 3 of app \"orders\": new\n",
           "of a kind that is not known");
}

/* A line of more than a kilobyte. */
static void test_long_line(void) {
    static char text[2000];
    memset(text, 'x', sizeof text - 1);
    const sfid_event big = {SFID_EVENT_LOST, 0, 3, 0, text, "orders"};
    written(NULL, &big);
    const size_t len = strlen(got);
    ok(len > 1000 && len <= 1024 && strchr(got, '\n') == got + len - 1,
       "a long one is cut off, and is one line: %zu bytes", len);
}

/* ---- where nobody takes it --------------------------------------------------------- */

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    signals = signals + 1;
}

static void test_no_reader(void) {
    int ends[2];
    need(pipe(ends) == 0, "pipe: %s", strerror(errno));
    close(ends[0]);
    error_to(ends[1]);
    sfid_event_to_stderr(NULL, &lost);
    error_to(kept_error);
    close(ends[1]);
    is_i64(signals, 0, "a pipe that nobody reads: no signal");
}

static void test_no_room(void) {
    struct rlimit before, none;
    need(getrlimit(RLIMIT_FSIZE, &before) == 0, "getrlimit: %s", strerror(errno));
    none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
    written(NULL, &lost);
    setrlimit(RLIMIT_FSIZE, &before);
    is_str(got, "", "a file that may not grow: nothing is written");
    is_i64(signals, 0, "and no signal comes");
}

static void test_closed(void) {
    close(STDERR_FILENO);
    sfid_event_to_stderr(NULL, &lost);
    error_to(kept_error);
    ok(true, "without standard error the line is lost");
}

/* ---- syslog ----------------------------------------------------------------------------- */

static int level_heard;
static char line_heard[2000];

static void hear(int level, const char *fmt, va_list args) {
    level_heard = level;
    vsnprintf(line_heard, sizeof line_heard, fmt, args);
}

/* The log of this test, before the C library's. The second name is what a fortified build calls. */
void syslog(int level, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    hear(level, fmt, args);
    va_end(args);
}

void __syslog_chk(int level, int flag, const char *fmt, ...);
void __syslog_chk(int level, int flag, const char *fmt, ...) {
    va_list args;
    (void)flag;
    va_start(args, fmt);
    hear(level, fmt, args);
    va_end(args);
}

static void logged(void *user, const sfid_event *event, int level, const char *line,
                   const char *what) {
    sfid_event_to_syslog(user, event);
    is_i64(level_heard, level, "%s: its level", what);
    is_str(line_heard, line, "%s: its line", what);
}

static void test_syslog(void) {
    char name[] = "billing";
    const sfid_event leased = {SFID_EVENT_LEASED, 0, 3, 0, "100 % sure", "orders"};
    const sfid_event later = {(sfid_event_kind)SFID_EVENT_KINDS, 0, 3, 0, "new", NULL};
    logged(NULL, &lost, LOG_WARNING, "LOST: pid 3 of app \"orders\": it is gone", "a loss");
    logged(name, &lost, LOG_WARNING, "billing: LOST: pid 3 of app \"orders\": it is gone",
           "with a name");
    logged(NULL, &leased, LOG_INFO, "LEASED: pid 3 of app \"orders\": 100 % sure", "a lease");
    logged(NULL, &later, LOG_NOTICE, "EVENT: new", "of a kind that is not known");
}

static void test_levels(void) {
    int known = 0;
    for (int kind = 1; kind < SFID_EVENT_KINDS; kind++) {
        const int level = sfid_event_level((sfid_event_kind)kind);
        known += level >= LOG_ERR && level <= LOG_INFO;
    }
    is_i64(known, SFID_EVENT_KINDS - 1, "each kind has a level");
    is_i64(sfid_event_level(SFID_EVENT_SKEW), LOG_WARNING, "clocks that differ are a warning");
    is_i64(sfid_event_level(SFID_EVENT_FOREIGN), LOG_ERR, "a stranger is an error: IDs can repeat");
    is_i64(sfid_event_level((sfid_event_kind)SFID_EVENT_KINDS), -1, "others have none");
}

int main(void) {
    snprintf(path, sizeof path, "%s/stderr", tap_tmpdir());
    kept_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    need(kept_error >= 0, "no standard error: %s", strerror(errno));
    signal(SIGPIPE, count_signal);
    signal(SIGXFSZ, count_signal);
    test_lines();
    test_long_line();
    test_no_reader();
    test_no_room();
    test_closed();
    test_syslog();
    test_levels();
    return done_testing();
}
