/* SPDX-License-Identifier: MIT */
/* state.c - what is counted, and what all files may ask. */
#include "serve/state.h"

struct state state;

const char *const protocol_names[] = {"http", "resp", "flakeid", NULL};
const char *const refusal_names[] = {"again",  "lease",       "clock", "stopping",
                                     "memory", "connections", NULL};
const char *const rejection_names[] = {"parse",       "limit",   "timeout", "protocol",
                                       "connections", "address", "host",    NULL};
