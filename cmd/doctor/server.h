/* SPDX-License-Identifier: MIT */
/* server.h - where an app leases its pids. */
#ifndef CMD_DOCTOR_SERVER_H
#define CMD_DOCTOR_SERVER_H

#include "io/report.h"

void doctor_server(struct report *report, const sfid_options *opt);

#endif
