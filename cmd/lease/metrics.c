/* SPDX-License-Identifier: MIT */
/* metrics.c - writes leases for Prometheus (prometheus.io, "Exposition formats"). Times and spans
 * are in seconds. */
#include "lease/metrics.h"

#include "io/digits.h"
#include "io/out.h"
#include "layout/show.h"

#include <inttypes.h>

static void head(const char *name, const char *help) {
    out_print("# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void label(const char *name, const char *value, bool first) {
    out_print("%s%s=\"", first ? "{" : ",", name);
    for (const char *p = value; *p; p++)
        if (*p == '\n')
            out_print("\\n");
        else
            out_print(*p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    out_print("\"");
}

static void begin_metric(const char *name, const sfid_options *opt) {
    out_print("%s", name);
    label("app", opt->app, true);
}

static void end_seconds(int64_t ms) {
    if (ms == INT64_MAX) {
        out_print("} +Inf\n");
        return;
    }
    const uint64_t size = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
    out_print("} %s%" PRIu64 ".%03" PRIu64 "\n", ms < 0 ? "-" : "", size / 1000, size % 1000);
}

static void put_pids(const sfid_options *opt, const sfid_app_info *info) {
    const struct {
        const char *state;
        uint64_t count;
    } states[] = {
        {"held", info->held},       {"unshown", info->unshown}, {"unknown", leases_unknown(info)},
        {"foreign", info->foreign}, {"run-out", info->run_out}, {"released", info->released}};
    head("sfid_app_pids", "Pids by state; held ones include those that are ending.");
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        begin_metric("sfid_app_pids", opt);
        label("state", states[i].state, false);
        out_print("} %" PRIu64 "\n", states[i].count);
    }
    head("sfid_app_pids_max", "How many pids there are to lease.");
    begin_metric("sfid_app_pids_max", opt);
    out_print("} %" PRIu64 "\n", info->pid_max - info->pid_min + 1);
}

static void put_left(const sfid_options *opt, int64_t now_ms) {
    struct layout_left left;
    layout_time_left(opt, now_ms, &left);
    head("sfid_app_layout_left_seconds", "Time left until the layout ends.");
    begin_metric("sfid_app_layout_left_seconds", opt);
    end_seconds(left.end_ms);
    head("sfid_app_crossing_left_seconds",
         "Time left until IDs reach 2^53, or get another decimal digit; +Inf: they do not.");
    begin_metric("sfid_app_crossing_left_seconds", opt);
    label("at", "2^53", false);
    end_seconds(left.inexact_ms);
    begin_metric("sfid_app_crossing_left_seconds", opt);
    label("at", "digit", false);
    end_seconds(left.digit_ms);
}

static void put_times(const sfid_options *opt, const sfid_app_info *info) {
    head("sfid_app_clock_skew_seconds", "How far this host's clock is ahead of the server's.");
    begin_metric("sfid_app_clock_skew_seconds", opt);
    end_seconds(info->skew_ms);
    head("sfid_app_server_timestamp_seconds", "The server's clock when it was asked.");
    begin_metric("sfid_app_server_timestamp_seconds", opt);
    end_seconds(info->server_unix_ms);
    if (info->open_unix_ms < 0)
        return;
    head("sfid_app_open_timestamp_seconds",
         "When the server begins to grant pids without a record; 0: it does already.");
    begin_metric("sfid_app_open_timestamp_seconds", opt);
    end_seconds(info->open_unix_ms);
}

static void put_leases(const sfid_options *opt, const struct leases *leases) {
    bool first = true;
    char pid[24];
    for (size_t i = 0; i < leases->count && out_good(); i++) {
        const struct lease *lease = &leases->all[i];
        if (!lease_is_busy(lease->kind) || lease->until_unix_ms < 0)
            continue;
        if (first)
            head("sfid_lease_expiry_timestamp_seconds",
                 "When a lease ends unless it is renewed, by the server's clock.");
        first = false;
        *put_dec(pid, lease->pid) = '\0';
        begin_metric("sfid_lease_expiry_timestamp_seconds", opt);
        label("pid", pid, false);
        label("state", lease_kind_name(lease->kind), false);
        label("holder", lease->holder, false);
        end_seconds(lease->until_unix_ms);
    }
}

void leases_metrics(const sfid_options *opt, const struct leases *leases) {
    head("sfid_app_up", "Whether the server reported the app's leases.");
    begin_metric("sfid_app_up", opt);
    out_print("} %d\n", leases != NULL);
    if (leases == NULL)
        return;
    head("sfid_app_known",
         "Whether the server knows the app, and has not forgotten it by a restart or failover.");
    begin_metric("sfid_app_known", opt);
    out_print("} %d\n", leases->info.state == SFID_APP_KNOWN);
    put_pids(opt, &leases->info);
    put_times(opt, &leases->info);
    head("sfid_app_ahead_seconds",
         "How far the next tick of a released pid is ahead of the server's clock, at most.");
    begin_metric("sfid_app_ahead_seconds", opt);
    end_seconds(leases->ahead_ms);
    put_left(opt, leases->info.server_unix_ms);
    put_leases(opt, leases);
}
