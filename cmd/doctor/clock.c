/* SPDX-License-Identifier: MIT */
/* clock.c - checks the clock: its source, its synchronisation, and its steps. */
#define _GNU_SOURCE /* CLOCK_MONOTONIC_RAW, and all of sys/timex.h */
#include "doctor/clock.h"

#include "io/date.h"
#include "io/json.h"
#include "io/look.h"
#include "io/say.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define SOURCES "/sys/devices/system/clocksource/clocksource0/"

/* ---- source -------------------------------------------------------------- */

/* Returns whether a list, separated by spaces, has a word. */
static bool lists(const char *list, const char *word) {
    const size_t len = strlen(word);
    for (const char *p = list; (p = strstr(p, word)) != NULL; p += len)
        if ((p == list || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
            return true;
    return false;
}

/* The same three conditions as in the library. */
static bool counter_is_used(const char *current) {
#if defined(__x86_64__)
    int permitted = PR_TSC_SIGSEGV;
    return strcmp(current, "tsc") == 0 && prctl(PR_GET_TSC, &permitted) == 0 &&
           permitted == PR_TSC_ENABLE;
#else
    (void)current;
    return false;
#endif
}

void doctor_clock_source(struct report *report) {
    char current[64] = "", available[256] = "";
    report_topic(report, "clock source");
    const bool told = look_read(SOURCES "current_clocksource", current, sizeof current) > 0;
    look_read(SOURCES "available_clocksource", available, sizeof available);
    const bool counter = counter_is_used(current);
    if (report->json && told) {
        json_text("source", current);
        json_text("available", available);
        json_bool("counter", counter);
    }
    if (!told)
        report_fine(
            report,
            "this kernel does not report it; the clock is read for each ID of a layout with ticks below a second");
    else if (counter)
        report_fine(report,
                    "%s: IDs of layouts with ticks below a second use the processor's counter",
                    current);
    else if (strcmp(current, "tsc") != 0 && lists(available, "tsc"))
        report_problem(
            report, STATUS_GOOD,
            "write tsc to " SOURCES "current_clocksource, or start the kernel with clocksource=tsc",
            "%s: the clock is read for each ID of a layout with ticks below a second, although a tsc is available",
            current);
    else
        report_fine(report,
                    "%s: the clock is read for each ID of a layout with ticks below a second",
                    current);
}

/* ---- synchronisation ----------------------------------------------------- */

void doctor_clock(struct report *report) {
    struct timex t = {.modes = 0};
    char date[DATE_ROOM];
    report_topic(report, "clock");
    const int state = adjtimex(&t);
    if (state < 0) {
        report_fine(report, "whether it is synchronised is unknown: %s", strerror(errno));
        return;
    }
    const bool kept = state != TIME_ERROR && !(t.status & STA_UNSYNC);
    date_text(date, moment_now().unix_ms);
    if (report->json) {
        json_text("time", date);
        json_bool("synchronised", kept);
        json_int("max_error_us", t.maxerror);
        json_int("estimated_error_us", t.esterror);
    }
    if (!kept)
        report_problem(
            report, STATUS_GOOD, "run a time service, such as chrony or systemd-timesyncd",
            "%s, not synchronised: IDs of different hosts are out of order by as much as the clock is wrong",
            date);
    else if (state == TIME_INS || state == TIME_DEL)
        report_problem(
            report, STATUS_GOOD, NULL,
            "%s, with a leap second at the next midnight in UTC; generating IDs continues", date);
    else
        report_fine(report, "%s, synchronised to within %lld ms", date,
                    ((long long)t.maxerror + 999) / 1000);
}

/* ---- steps --------------------------------------------------------------- */

#define SPAN_NS INT64_C(200000000)
#define READINGS 8
/* Time services usually slew by 0.5 thousandths, and by a few hundredths at most. */
#define STEP_NS INT64_C(20000000)

static int64_t now_ns(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* How far the clock is ahead of the raw counter, and the uncertainty of that. */
struct lead {
    int64_t ns, width;
};

/* Takes the most precise of several readings, since this process may be interrupted in between. */
static struct lead read_lead(void) {
    struct lead best = {0, INT64_MAX};
    for (int i = 0; i < READINGS; i++) {
        const int64_t before = now_ns(CLOCK_MONOTONIC_RAW);
        const int64_t clock = now_ns(CLOCK_REALTIME);
        const int64_t width = now_ns(CLOCK_MONOTONIC_RAW) - before;
        if (width < best.width)
            best = (struct lead){clock - (before + width / 2), width};
    }
    return best;
}

void doctor_clock_steps(struct report *report) {
    report_topic(report, "clock steps");
    const int64_t begin = now_ns(CLOCK_MONOTONIC_RAW);
    const struct lead first = read_lead();
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = SPAN_NS};
    nanosleep(&pause, NULL);
    const struct lead last = read_lead();
    const int64_t span = now_ns(CLOCK_MONOTONIC_RAW) - begin, moved = last.ns - first.ns;
    const int64_t bound = STEP_NS + first.width + last.width;
    if (report->json) {
        json_int("span_us", span / 1000);
        json_int("moved_us", moved / 1000);
    }
    if (moved > -bound && moved < bound)
        report_fine(report,
                    "none in %" PRId64 " ms: it moved by %" PRId64 " us against the raw counter",
                    span / 1000000, moved / 1000);
    else
        report_problem(
            report, STATUS_GOOD, "let the time service slew the clock, and step it only at boot",
            "it stepped %s by %" PRId64 " ms within %" PRId64 " ms", moved < 0 ? "back" : "ahead",
            (moved < 0 ? -moved : moved) / 1000000, span / 1000000);
}
