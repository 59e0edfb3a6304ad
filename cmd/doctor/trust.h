/* SPDX-License-Identifier: MIT */
/* trust.h - checks type, owner and mode of a directory or file of libsfid. */
#ifndef CMD_DOCTOR_TRUST_H
#define CMD_DOCTOR_TRUST_H

#include "io/report.h"

#include <stdbool.h>

struct stat;

/* Reports what makes a directory or file unusable for a generator. Returns true if there is nothing to report. */
bool doctor_trust(struct report *report, const char *path, const struct stat *st, bool directory);

#endif
