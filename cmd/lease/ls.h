/* SPDX-License-Identifier: MIT */
/* ls.h - sfid lease ls. */
#ifndef CMD_LEASE_LS_H
#define CMD_LEASE_LS_H

#include "args/args.h"

/* Returns the exit status. */
int lease_ls(const struct args *args, const sfid_options *opt);

#endif
