/* SPDX-License-Identifier: MIT */
/* resp.h - an array of bulk strings. */
#ifndef CMD_SERVE_RESP_H
#define CMD_SERVE_RESP_H

#include "serve/slice.h"

#define RESP_ARGS 16
#define RESP_ARG_MOST 1024
#define RESP_MOST 8192

struct resp_request {
    int argc; /* 0: an empty array, which has no answer */
    struct slice argv[RESP_ARGS];
    const char *fault; /* after -1: what is wrong; static */
};

int resp_read(const char *bytes, size_t len, struct resp_request *request);

#endif
