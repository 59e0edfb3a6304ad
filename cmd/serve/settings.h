/* SPDX-License-Identifier: MIT */
/* settings.h - the options. */
#ifndef CMD_SERVE_SETTINGS_H
#define CMD_SERVE_SETTINGS_H

#include "args/any_layout.h"
#include "args/args.h"

#define LISTEN_MOST ARGS_LIST
enum integers { INTEGERS_AUTO, INTEGERS_ALWAYS, INTEGERS_NEVER };

struct settings {
    struct any_layout layout;
    sfid_options opt;
    sfid_form form; /* of IDs as text */
    unsigned width; /* least number of digits; 0: the form's own */
    const char *listen[LISTEN_MOST];
    int listen_count;
    bool expose, access_log, local; /* local: IDs are unique on this host only */
    unsigned protocols;             /* bits by enum protocol */
    unsigned mode;                  /* of Unix sockets */
    enum integers integers;
    uint32_t max_ids, max_connections, max_per_address, wait_ms, request_ms, idle_ms, grace_ms;
    uint64_t max_memory;
};
extern struct settings settings;
extern const struct option_spec serve_options[];

/* Returns STATUS_GOOD, or the status to end with, after a message. */
int settings_read(const struct args *args);

#endif
