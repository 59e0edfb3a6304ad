/* SPDX-License-Identifier: MIT */
/* show.c - looks up leases, and lists them in all formats. */
#include "lease/show.h"

#include "io/date.h"
#include "io/digits.h"
#include "io/json.h"
#include "io/out.h"
#include "layout/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *lease_kind_name(sfid_lease_kind kind) {
    static const char *const names[] = {
        [SFID_LEASE_HELD] = "held",         [SFID_LEASE_RUN_OUT] = "run-out",
        [SFID_LEASE_RELEASED] = "released", [SFID_LEASE_FOREIGN] = "foreign",
        [SFID_LEASE_ENDING] = "ending",     [SFID_LEASE_UNSHOWN] = "unshown"};
    const bool known = kind >= SFID_LEASE_HELD && kind < COUNT_OF(names);
    return known ? names[kind] : "unknown"; /* from a library newer than this command */
}

bool lease_is_busy(sfid_lease_kind kind) {
    return kind == SFID_LEASE_HELD || kind == SFID_LEASE_FOREIGN || kind == SFID_LEASE_ENDING ||
           kind == SFID_LEASE_UNSHOWN;
}

/* ---- looking up ------------------------------------------------------------ */

struct looking {
    struct leases *leases;
    bool all, no_memory;
};

static int copy_lease(void *user, const sfid_lease_info *info) {
    struct looking *looking = user;
    struct leases *leases = looking->leases;
    if (info->kind == SFID_LEASE_RELEASED && info->left_ms > leases->ahead_ms)
        leases->ahead_ms = info->left_ms;
    if (!looking->all && !lease_is_busy(info->kind))
        return 0;
    if (leases->count == leases->room) {
        const size_t room = leases->room ? 2 * leases->room : 64;
        struct lease *all = realloc(leases->all, room * sizeof *all);
        if (all == NULL) {
            looking->no_memory = true;
            return 1;
        }
        leases->all = all;
        leases->room = room;
    }
    struct lease *lease = &leases->all[leases->count++];
    *lease = (struct lease){info->kind, info->pid, info->until_unix_ms, info->left_ms, ""};
    snprintf(lease->holder, sizeof lease->holder, "%s", info->holder);
    return 0;
}

int leases_look(struct leases *leases, const sfid_options *opt, bool all, char why[SFID_WHY_LEN]) {
    struct looking looking = {leases, all, false};
    *leases = (struct leases){.all = NULL};
    int code = sfid_app_look(opt, &leases->info, copy_lease, &looking, why, SFID_WHY_LEN);
    if (code == 0 && looking.no_memory) {
        code = SFID_ENOMEM;
        why[0] = '\0';
    }
    if (code < 0 && leases->info.server[0] == '\0')
        leases_forget(leases);
    return code;
}

void leases_forget(struct leases *leases) {
    free(leases->all);
    *leases = (struct leases){.all = NULL};
}

uint64_t leases_unknown(const sfid_app_info *info) {
    if (info->known_unix_ms <= info->server_unix_ms)
        return 0;
    return info->pid_max - info->pid_min + 1 - info->held - info->foreign - info->unshown -
           info->run_out - info->released;
}

/* ---- lists ----------------------------------------------------------------- */

static bool has_end(const struct lease *lease) {
    return lease_is_busy(lease->kind) && lease->until_unix_ms >= 0;
}

static void show_lease_text(const struct lease *lease) {
    char left[24] = "-";
    if (has_end(lease))
        snprintf(left, sizeof left, "%" PRId64, lease->left_ms / 1000);
    out_print("%-5" PRIu64 "  %-8s  %7s  %s\n", lease->pid, lease_kind_name(lease->kind), left,
              lease->holder[0] ? lease->holder : "-");
}

static void show_lease_json(const struct lease *lease) {
    json_open(NULL, '{');
    json_uint("pid", lease->pid);
    json_text("state", lease_kind_name(lease->kind));
    if (lease->holder[0])
        json_text("holder", lease->holder);
    json_time("until", lease->until_unix_ms);
    if (lease->until_unix_ms >= 0)
        json_int("left_ms", lease->left_ms);
    json_end();
}

/* A holder's name may contain any printable character. */
static void put_csv(const char *text) {
    if (strpbrk(text, ",\"") == NULL) {
        out_print("%s", text);
        return;
    }
    out_print("\"");
    for (const char *p = text; *p; p++)
        out_print(*p == '"' ? "\"\"" : "%c", *p);
    out_print("\"");
}

static void show_columns(const struct lease *lease, char separator) {
    char until[DATE_ROOM] = "", left[24] = "";
    if (lease->until_unix_ms >= 0) {
        date_text(until, lease->until_unix_ms);
        snprintf(left, sizeof left, "%" PRId64, lease->left_ms);
    }
    out_print("%" PRIu64 "%c%s%c%s%c%s%c", lease->pid, separator, lease_kind_name(lease->kind),
              separator, until, separator, left, separator);
    if (separator == ',')
        put_csv(lease->holder);
    else
        out_print("%s", lease->holder);
    out_print("\n");
}

void leases_show(const struct leases *leases, int format) {
    const char separator = format == LEASE_CSV ? ',' : '\t';
    if (format == LEASE_TEXT && leases->count > 0)
        out_print("%-5s  %-8s  %7s  %s\n", "pid", "state", "seconds", "holder");
    if (format == LEASE_TSV || format == LEASE_CSV)
        out_print("pid%cstate%cuntil%cleft_ms%cholder\n", separator, separator, separator,
                  separator);
    for (size_t i = 0; i < leases->count && out_good(); i++)
        if (format == LEASE_TEXT)
            show_lease_text(&leases->all[i]);
        else if (format == LEASE_JSON)
            show_lease_json(&leases->all[i]);
        else
            show_columns(&leases->all[i], separator);
}

/* ---- for Prometheus (prometheus.io, "Exposition formats"): times and spans in seconds ------ */

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
