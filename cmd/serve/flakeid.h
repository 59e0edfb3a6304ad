/* SPDX-License-Identifier: MIT */
/* flakeid.h - a count of IDs in four bytes, big-endian. */
#ifndef CMD_SERVE_FLAKEID_H
#define CMD_SERVE_FLAKEID_H

#include "io/base.h"

#define FLAKEID_MOST 65365 /* the Go server ends at more */

/* Returns 4, 0, or -1 if the count is above FLAKEID_MOST. */
int flakeid_read(const char *bytes, size_t len, uint32_t *count);

#endif
