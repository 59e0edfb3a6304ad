/* SPDX-License-Identifier: MIT */
/* report.h - what a check found. */
#ifndef CMD_IO_REPORT_H
#define CMD_IO_REPORT_H

#include "io/macros.h"

#include <stdbool.h>

enum severity { FINE, WARNING, FAULT };

#define REPORT_TOPIC 16 /* width of the column */
#define REPORT_TEXT 1200

struct report {
    bool json, found;
    bool strict; /* warnings alone end with STATUS_BAD_INPUT; to be set behind report_begin() */
    enum severity worst;
    int status; /* of the first fault */
    char topic[80];
};

/*
 * One topic after the other, with at least one finding each. In JSON the facts
 * of a topic are members of its object, written before its first finding.
 */
void report_begin(struct report *report, bool json);
void report_topic(struct report *report, const char *topic);
void report_fine(struct report *report, const char *fmt, ...) CLI_PRINTF(2, 3);

/* status: the exit status that this fault ends with; STATUS_GOOD: it is a warning. */
void report_problem(struct report *report, int status, const char *cure, const char *fmt, ...) CLI_PRINTF(4, 5);

/* Returns the exit status: of the first fault, STATUS_GOOD where there is none (see strict). */
int report_end(struct report *report);

#endif
