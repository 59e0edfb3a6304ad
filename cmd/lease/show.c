/* SPDX-License-Identifier: MIT */
/* show.c - looks up and lists leases. */
#include "lease/show.h"

#include "io/date.h"
#include "io/json.h"
#include "io/out.h"

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
    char until[DATE_ROOM];
    json_open(NULL, '{');
    json_uint("pid", lease->pid);
    json_text("state", lease_kind_name(lease->kind));
    if (lease->holder[0])
        json_text("holder", lease->holder);
    if (lease->until_unix_ms >= 0) {
        date_text(until, lease->until_unix_ms);
        json_text("until", until);
        json_int("until_unix_ms", lease->until_unix_ms);
        json_int("left_ms", lease->left_ms);
    }
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
