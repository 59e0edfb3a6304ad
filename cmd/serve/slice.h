/* SPDX-License-Identifier: MIT */
/*
 * slice.h - requests of the three protocols as bytes: pure functions, without input, output or
 * allocation.
 *
 * Each reads the bytes that have come so far, from the first byte of a request.
 * It returns how many bytes the request has, 0 if it wants more, or a negative
 * number if no request can begin like that. What it finds points into the bytes.
 */
#ifndef CMD_SERVE_SLICE_H
#define CMD_SERVE_SLICE_H

#include "io/base.h"

struct slice {
    const char *at;
    size_t len;
};

#endif
