/* SPDX-License-Identifier: MIT */
/* settings.h - what all files here may ask: the options, and what is counted. */
#ifndef CMD_SERVE_SETTINGS_H
#define CMD_SERVE_SETTINGS_H

#include "args/any_layout.h"
#include "args/args.h"
#include "serve/request.h"

#define LISTEN_MOST ARGS_LIST
enum integers { INTEGERS_AUTO, INTEGERS_ALWAYS, INTEGERS_NEVER };

struct settings {
    struct any_layout layout;
    sfid_options opt;
    sfid_form form;                                 /* of IDs as text */
    unsigned width;                                 /* least number of digits; 0: the form's own */
    const char *listen[LISTEN_MOST], *listen_label; /* addresses, and where they come from */
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

/* ---- what is counted -------------------------------------------------------- */

enum refusal {
    REFUSED_AGAIN,
    REFUSED_LEASE,
    REFUSED_CLOCK,
    REFUSED_STOPPING,
    REFUSED_MEMORY,
    REFUSED_CONNECTIONS,
    REFUSALS
};
enum rejection {
    REJECTED_PARSE,
    REJECTED_LIMIT,
    REJECTED_TIMEOUT,
    REJECTED_PROTOCOL,
    REJECTED_CONNECTIONS,
    REJECTED_ADDRESS,
    REJECTED_HOST,
    REJECTIONS
};

/* Names as in metrics and in --protocols; NULL ends each list. */
extern const char *const protocol_names[], *const refusal_names[], *const rejection_names[];

struct state {
    uint64_t issued, waits;
    uint64_t requests[PROTOCOLS], refused[REFUSALS], rejected[REJECTIONS];
    /* by kind: counted in the library's thread, read in the loop's */
    _Atomic uint64_t events[SFID_EVENT_KINDS];
    uint64_t connections; /* open now */
    uint64_t memory;      /* bytes of answers under way */
    bool stopping;
};
extern struct state state;

#endif
