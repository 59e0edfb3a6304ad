/* SPDX-License-Identifier: MIT */
/* event_log.c - events as lines of a log. */
#include "base/guest.h"

#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

enum { LINE = 1024 };

int sfid_event_level(sfid_event_kind kind) {
    switch (kind) {
#define CASE(name, number, level, text, value) \
    case SFID_EVENT_##name: \
        return LOG_##level;
        SFID_EVENT_LIST(CASE)
#undef CASE
    default:
        return -1;
    }
}

/* Cut off where it is too long, with room for a line feed. Returns its length. */
static size_t line_of(char *line, size_t size, const sfid_event *event, const char *first) {
    const char *name = sfid_event_name(event->kind);
    char holder[160] = "";
    if (event->app && event->pid < 0)
        snprintf(holder, sizeof holder, "app \"%s\": ", event->app);
    else if (event->app)
        snprintf(holder, sizeof holder, "pid %" PRId64 " of app \"%s\": ", event->pid, event->app);
    snprintf(line, size - 1, "%s%s%s: %s%s", first, first[0] ? ": " : "", name ? name : "EVENT",
             holder, event->text);
    return strlen(line);
}

void sfid_event_to_stderr(void *user, const sfid_event *event) {
    char line[LINE];
    struct sfid__guest guest;
    size_t len = line_of(line, sizeof line, event, user ? user : "sfid");
    line[len++] = '\n';
    sfid__guest_enter(&guest);
    if (write(STDERR_FILENO, line, len) < 0)
        line[0] = '\0'; /* nowhere left to report it */
    sfid__guest_leave(&guest);
}

void sfid_event_to_syslog(void *user, const sfid_event *event) {
    char line[LINE];
    struct sfid__guest guest;
    const int level = sfid_event_level(event->kind);
    line_of(line, sizeof line, event, user ? user : "");
    sfid__guest_enter(&guest);
    syslog(level < 0 ? LOG_NOTICE : level, "%s", line);
    sfid__guest_leave(&guest);
}
