/* SPDX-License-Identifier: MIT */
/* metrics.c - /metrics: Prometheus text 0.0.4, or OpenMetrics 1.0. No label has a value from a
 * client. */
#include "serve/metrics.h"

#include "io/date.h"
#include "io/look.h"
#include "layout/show.h"
#include "serve/settings.h"
#include "serve/source.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct page {
    struct client *client;
    bool openmetrics;
};

/* ---- families and samples ---------------------------------------------------------- */

/* name is without _total. unit: the last part of the name, or "". */
static void family(struct page *page, const char *name, const char *type, const char *unit,
                   const char *help) {
    const bool counter = strcmp(type, "counter") == 0, info = strcmp(type, "info") == 0;
    const char *after = page->openmetrics ? "" : counter ? "_total" : info ? "_info" : "";
    client_print(page->client, "# TYPE %s%s %s\n", name, after,
                 info && !page->openmetrics ? "gauge" : type);
    if (page->openmetrics && unit[0])
        client_print(page->client, "# UNIT %s %s\n", name, unit);
    client_print(page->client, "# HELP %s%s %s\n", name, after, help);
}

static void counter(struct page *page, const char *name, const char *help, uint64_t value) {
    family(page, name, "counter", "", help);
    client_print(page->client, "%s_total %" PRIu64 "\n", name, value);
}

static void gauge(struct page *page, const char *name, const char *help, int64_t value) {
    family(page, name, "gauge", "", help);
    client_print(page->client, "%s %" PRId64 "\n", name, value);
}

static void sample_seconds(struct page *page, const char *sample, int64_t ms) {
    if (ms == INT64_MAX)
        client_print(page->client, "%s +Inf\n", sample);
    else
        client_print(page->client, "%s %.3f\n", sample, (double)ms / 1000);
}

static void seconds(struct page *page, const char *name, const char *help, int64_t ms) {
    family(page, name, "gauge", "seconds", help);
    sample_seconds(page, name, ms);
}

static void labelled(struct page *page, const char *name, const char *help, const char *label,
                     const char *const *values, const uint64_t *counts) {
    family(page, name, "counter", "", help);
    for (int i = 0; values[i]; i++)
        client_print(page->client, "%s_total{%s=\"%s\"} %" PRIu64 "\n", name, label, values[i],
                     counts[i]);
}

/* ---- the process ------------------------------------------------------------------- */

static unsigned count_fds(void) {
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count > 0 ? count - 1 : 0; /* without the directory's own */
}

/* The kernel's start, in seconds since 1970. */
static double boot_time(void) {
    static char text[256 * 1024];
    double boot = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file && fgets(text, sizeof text, file))
        if (sscanf(text, "btime %lf", &boot) == 1)
            break;
    if (file)
        fclose(file);
    return boot;
}

static void process(struct page *page) {
    char text[1024];
    unsigned long user = 0, system = 0;
    unsigned long long start = 0;
    long pages = 0;
    const double hz = (double)sysconf(_SC_CLK_TCK);
    static double boot;
    const char *after =
        look_read("/proc/self/stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    if (after == NULL ||
        sscanf(
            after,
            ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %llu %*u %ld",
            &user, &system, &start, &pages) != 4)
        return;
    if (boot == 0)
        boot = boot_time();
    family(page, "process_cpu_seconds", "counter", "seconds", "CPU time of the process.");
    client_print(page->client, "process_cpu_seconds_total %.2f\n", (double)(user + system) / hz);
    family(page, "process_resident_memory_bytes", "gauge", "bytes",
           "Resident memory of the process.");
    client_print(page->client, "process_resident_memory_bytes %lld\n",
                 (long long)pages * sysconf(_SC_PAGESIZE));
    gauge(page, "process_open_fds", "Open descriptors of the process.", count_fds());
    family(page, "process_start_time_seconds", "gauge", "seconds",
           "Start of the process, seconds since 1970.");
    client_print(page->client, "process_start_time_seconds %.2f\n", boot + (double)start / hz);
}

/* ---- the page ----------------------------------------------------------------------- */

static void service(struct page *page) {
    counter(page, "sfid_ids_issued", "IDs in answers, over all protocols.", state.issued);
    labelled(page, "sfid_requests", "Requests by protocol.", "protocol", protocol_names,
             state.requests);
    counter(page, "sfid_waits", "Requests that had to wait for IDs or memory.", state.waits);
    labelled(page, "sfid_refused", "Requests for IDs that were refused, by reason.", "reason",
             refusal_names, state.refused);
    labelled(page, "sfid_rejected", "Requests and connections that were rejected, by reason.",
             "reason", rejection_names, state.rejected);
    gauge(page, "sfid_connections", "Open connections.", (int64_t)state.connections);
}

static void generator(struct page *page) {
    sfid_status_info info;
    source_status(&info);
    gauge(page, "sfid_ready", "1 while IDs may be generated.", source_ready());
    gauge(page, "sfid_pid", "The process ID held; -1: none.", info.pid);
    seconds(page, "sfid_window_seconds", "Time left to issue IDs without a renewal.",
            info.window_ms);
    seconds(page, "sfid_ahead_seconds", "How far the next ID is ahead of the clock.",
            info.ahead_ms);
    gauge(page, "sfid_connected", "1 while the server of the store answers.", info.connected);
    seconds(page, "sfid_clock_skew_seconds",
            "How far the clock is ahead of the clock of the store.", info.skew_ms);
    counter(page, "sfid_lease_losses", "How often the process ID was lost.", info.losses);
    counter(page, "sfid_renewals", "How often the window was extended.", info.renewals);
    gauge(page, "sfid_renew_failures", "Failed renewals since the last one that succeeded.",
          (int64_t)info.renew_failures);
    counter(page, "sfid_clock_regressions", "Steps back of the clock of over 1 s.",
            info.regressions);
}

/* Each kind from the start, so that its first event is a step and not the begin of a series. */
static void events(struct page *page) {
    family(page, "sfid_events", "counter", "",
           "Events of the generator, by name; doc/events.md says what to do.");
    for (int kind = 1; kind < SFID_EVENT_KINDS; kind++)
        client_print(page->client, "sfid_events_total{event=\"%s\"} %" PRIu64 "\n",
                     sfid_event_name((sfid_event_kind)kind),
                     /* statistic */
                     atomic_load_explicit(&state.events[kind], memory_order_relaxed));
}

static void layout(struct page *page) {
    struct layout_left left;
    layout_time_left(&settings.opt, moment_now().unix_ms, &left);
    seconds(page, "sfid_layout_left_seconds", "Time left until the layout ends.", left.end_ms);
    family(page, "sfid_crossing_left_seconds", "gauge", "seconds",
           "Time left until IDs reach 2^53, or get another decimal digit; +Inf: they do not.");
    sample_seconds(page, "sfid_crossing_left_seconds{at=\"2^53\"}", left.inexact_ms);
    sample_seconds(page, "sfid_crossing_left_seconds{at=\"digit\"}", left.digit_ms);
}

void metrics_write(struct client *client, bool openmetrics) {
    struct page page = {client, openmetrics};
    family(&page, "sfid_build", "info", "", "Version and layout.");
    client_print(client, "sfid_build_info{version=\"%s\",layout=\"%s\"} 1\n", sfid_version(),
                 source_layout());
    service(&page);
    generator(&page);
    events(&page);
    layout(&page);
    process(&page);
    if (openmetrics)
        client_print(client, "# EOF\n");
}
