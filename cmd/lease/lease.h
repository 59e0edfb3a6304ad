/* SPDX-License-Identifier: MIT */
/* lease.h - the actions of `sfid lease`. */
#ifndef CLI_LEASE_H
#define CLI_LEASE_H

#include "cli.h"

enum {
    LEASE_APP,
    LEASE_STORE,
    LEASE_LAYOUT,
    LEASE_FORMAT,
    LEASE_ALL,
    LEASE_WATCH,
    LEASE_OUTPUT,
    LEASE_YES,
    LEASE_RUN_DIR,
    LEASE_STATE_DIR,
    LEASE_TTL,
    LEASE_BUDGET,
    LEASE_TIMEOUT
};

/* The formats of ls, in this order for args_choice(); show has the first two. */
enum { LEASE_TEXT, LEASE_JSON, LEASE_TSV, LEASE_CSV, LEASE_PROMETHEUS };

#define LEASE_HOLDER 256

/* One pid, kept. */
struct lease {
    sfid_lease_kind kind;
    uint64_t pid;
    int64_t until_unix_ms, left_ms;
    char holder[LEASE_HOLDER];
};

/* All that were told of, ascending, and the app. */
struct leases {
    sfid_app_info info;
    struct lease *all;
    size_t count, room;
};

const char *lease_kind_name(sfid_lease_kind kind);
bool lease_is_busy(sfid_lease_kind kind);

/* Looks; those that are over only with all. 0 or an SFID_E… code, with why. */
int leases_look(struct leases *leases, const sfid_options *opt, bool all, char why[SFID_WHY_LEN]);
void leases_forget(struct leases *leases);

/* lease_show.c: in any of the formats but one. */
void leases_show(const struct leases *leases, int format);

/* lease_metrics.c: text for Prometheus; leases NULL: the server did not tell. */
void leases_metrics(const sfid_options *opt, const struct leases *leases);

/* Each returns the exit status. lease_ls.c, lease_pid.c: */
int lease_ls(const struct args *args, const sfid_options *opt);
int lease_show(const struct args *args, const sfid_options *opt);
int lease_release(const struct args *args, const sfid_options *opt);

#endif
