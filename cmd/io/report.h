/* SPDX-License-Identifier: MIT */
/* report.h - findings of a check by topic. */
#ifndef CMD_IO_REPORT_H
#define CMD_IO_REPORT_H

#include "io/base.h"

enum severity { FINE, WARNING, FAULT };

#define REPORT_TOPIC 16 /* column width */
#define REPORT_TEXT 1200

struct report {
    bool json, found;
    bool strict; /* warnings alone give STATUS_BAD_INPUT; set it after report_begin() */
    enum severity worst;
    int status; /* of the first fault */
    char topic[80];
};

/* Topics follow one another, each with at least one finding. In JSON, a topic's facts are members
 * before its first finding. */
void report_begin(struct report *report, bool json);
void report_topic(struct report *report, const char *topic);
void report_fine(struct report *report, const char *fmt, ...) CLI_PRINTF(2, 3);

/* status: the exit status for a fault, or STATUS_GOOD for a warning. */
void report_problem(struct report *report, int status, const char *cure, const char *fmt, ...)
    CLI_PRINTF(4, 5);

/* Returns the exit status: that of the first fault, or STATUS_GOOD (but see strict). */
int report_end(struct report *report);

#endif
