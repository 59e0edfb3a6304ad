/* SPDX-License-Identifier: MIT */
/* log.c - lines on standard error, the same one at most once in 10 s; and messages to the service
 * manager, sd_notify(3) without its library. */
#include "serve/log.h"

#include "io/date.h"
#include "io/digits.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { QUIET_MS = 10000, KEPT = 32, LINE = 1024 };

/* A line that was written lately. */
static struct {
    const void *key;
    int level;
    int64_t until_ms;
    unsigned long more;
    char text[160];
} kept[KEPT];

static bool journal; /* standard error goes there: lines begin with their level */

void log_begin(void) {
    unsigned long long device, inode;
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
              fstat(STDERR_FILENO, &st) == 0 && st.st_dev == (dev_t)device &&
              st.st_ino == (ino_t)inode;
}

/* In one write, and never so that it blocks the loop: a reader that does not keep up loses
 * lines. */
static void write_line(int level, const char *text, const char *after) {
    char line[LINE + 64];
    struct pollfd standard_error = {.fd = STDERR_FILENO, .events = POLLOUT};
    const int head = journal ? snprintf(line, sizeof line, "<%d>sfid: ", level)
                             : snprintf(line, sizeof line, "sfid: ");
    int len = head + snprintf(line + head, sizeof line - (size_t)head - 1, "%s%s", text, after);
    if (len > (int)sizeof line - 2)
        len = (int)sizeof line - 2;
    for (int i = head; i < len; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?'; /* texts from elsewhere */
    line[len++] = '\n';
    if (poll(&standard_error, 1, 0) == 1 && write(STDERR_FILENO, line, (size_t)len) < 0)
        return; /* nowhere left to report it */
}

/* Writes a text, and how many of its kind were left out. */
static void write_more(int i, const char *text) {
    char after[64] = "";
    if (kept[i].more > 0)
        snprintf(after, sizeof after, " (and %lu more)", kept[i].more);
    write_line(kept[i].level, text, after);
    kept[i].more = 0;
}

/* Returns the place of this key, or of the one to be forgotten for it. */
static int place_of(const void *key) {
    int oldest = 0;
    for (int i = 0; i < KEPT; i++) {
        if (kept[i].key == key)
            return i;
        if (kept[i].until_ms < kept[oldest].until_ms)
            oldest = i;
    }
    return oldest;
}

void log_keyed(int level, const void *key, const char *fmt, ...) {
    char text[LINE];
    const int64_t now = monotonic_ms();
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    key = key ? key : fmt;
    const int i = place_of(key);
    if (kept[i].key == key && now < kept[i].until_ms) {
        kept[i].more++;
        snprintf(kept[i].text, sizeof kept[i].text, "%.*s", (int)sizeof kept[i].text - 1, text);
        return;
    }
    if (kept[i].more > 0 && kept[i].key != key)
        write_more(i, kept[i].text);
    kept[i].key = key;
    kept[i].level = level;
    kept[i].until_ms = now + QUIET_MS;
    write_more(i, text);
}

void log_access(const char *fmt, ...) {
    char text[LINE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    write_line(LOG_INFO, text, "");
}

void log_tick(void) {
    const int64_t now = monotonic_ms();
    for (int i = 0; i < KEPT; i++)
        if (kept[i].more > 0 && now >= kept[i].until_ms) {
            kept[i].until_ms = now + QUIET_MS;
            write_more(i, kept[i].text);
        }
}

/* ---- the service manager ----------------------------------------------------------- */

static int notify_fd = -1;
static struct sockaddr_un manager = {.sun_family = AF_UNIX};
static socklen_t manager_len;

uint64_t notify_begin(void) {
    const char *path = getenv("NOTIFY_SOCKET"), *usec = getenv("WATCHDOG_USEC"),
               *pid = getenv("WATCHDOG_PID");
    uint64_t interval = 0, whom = (uint64_t)getpid();
    const size_t len = path ? strlen(path) : 0;
    if (len < 2 || len >= sizeof manager.sun_path || (path[0] != '/' && path[0] != '@'))
        return 0;
    memcpy(manager.sun_path, path, len);
    if (path[0] == '@')
        manager.sun_path[0] = '\0'; /* abstract */
    manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (usec == NULL || !read_u64(usec, UINT64_MAX, &interval) ||
        (pid && !read_u64(pid, UINT64_MAX, &whom)) || whom != (uint64_t)getpid())
        return 0;
    interval /= 2 * 1000;
    return interval > 0 ? interval : 1;
}

void notify(const char *fmt, ...) {
    char text[512];
    va_list args;
    if (notify_fd < 0)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (sendto(notify_fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&manager,
               manager_len) < 0)
        log_line(LOG_WARNING,
                 "cannot notify the service manager: $NOTIFY_SOCKET does not take messages");
}
