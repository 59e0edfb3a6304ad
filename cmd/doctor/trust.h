/* SPDX-License-Identifier: MIT */
/* trust.h - whether a directory or file of ours can be used. */
#ifndef CMD_DOCTOR_TRUST_H
#define CMD_DOCTOR_TRUST_H

#include "io/report.h"

#include <stdbool.h>

struct stat;

/* Finds what makes a directory or file of ours useless to a generator. True when there is nothing. */
bool doctor_trust(struct report *report, const char *path, const struct stat *st, bool directory);

#endif
