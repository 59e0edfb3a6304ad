/* SPDX-License-Identifier: MIT */
/* pid.h - sfid lease show and release. */
#ifndef CMD_LEASE_PID_H
#define CMD_LEASE_PID_H

#include "args/args.h"

/* Each returns the exit status. */
int lease_show(const struct args *args, const sfid_options *opt);
int lease_release(const struct args *args, const sfid_options *opt);

#endif
