/* SPDX-License-Identifier: MIT */
/* notify.c - messages to the service manager, sd_notify(3) without its library. */
#include "serve/notify.h"

#include "io/digits.h"
#include "serve/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
