/* SPDX-License-Identifier: MIT */
/* show.h - looks up leases, and lists them in all formats. */
#ifndef CMD_LEASE_SHOW_H
#define CMD_LEASE_SHOW_H

#include "io/base.h"

/* The formats of ls, in the order for args_choice(); show has the first two. */
enum { LEASE_TEXT, LEASE_JSON, LEASE_TSV, LEASE_CSV, LEASE_PROMETHEUS };

#define LEASE_HOLDER 256

/* A copy of one lease. */
struct lease {
    sfid_lease_kind kind;
    uint64_t pid;
    int64_t until_unix_ms, left_ms;
    char holder[LEASE_HOLDER];
};

/* The app and its leases, by ascending pid. */
struct leases {
    sfid_app_info info;
    struct lease *all;
    size_t count, room;
    /* how far the first unused tick of a released pid is ahead of the server's clock, at most */
    int64_t ahead_ms;
};

const char *lease_kind_name(sfid_lease_kind kind);
bool lease_is_busy(sfid_lease_kind kind);

/* Looks up leases; ended ones only with `all`. Returns 0, or an SFID_E… code with why. */
int leases_look(struct leases *leases, const sfid_options *opt, bool all, char why[SFID_WHY_LEN]);
void leases_forget(struct leases *leases);

/* How many pids may have a holder that the server has forgotten, and that has not shown its lease
 * since. */
uint64_t leases_unknown(const sfid_app_info *info);

/* Lists leases in any format but Prometheus, and in that. */
void leases_show(const struct leases *leases, int format);

/* leases NULL: the server did not answer. */
void leases_metrics(const sfid_options *opt, const struct leases *leases);

#endif
