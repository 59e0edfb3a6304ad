/* SPDX-License-Identifier: MIT */
/* state.h - what is counted, and what all files may ask. */
#ifndef CMD_SERVE_STATE_H
#define CMD_SERVE_STATE_H

#include "serve/request.h"

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
