/* SPDX-License-Identifier: MIT */
/* host.h - options that say what host IDs of flake and awsflake are of. */
#ifndef CMD_TEXT_HOST_H
#define CMD_TEXT_HOST_H

#include "args/any_layout.h"

#define OPTION_MAC \
    { "mac", 0, "ADDRESS", NULL, "flake: the worker, a MAC address (that of the first interface)" }
#define OPTION_INTERFACE \
    { "interface", 0, "NAME", NULL, "flake, awsflake: the network interface whose address counts" }
#define OPTION_REGION \
    { "region", 0, "REGION", "AWSFLAKE_REGION", "awsflake: the region, such as us-east-1" }
#define OPTION_IP \
    { "ip", 0, "ADDRESS", "AWSFLAKE_IP", "awsflake: the host's address (that of the first interface)" }

/* Where a command has them, in its list. */
struct host_options {
    int pid, mac, interface, region, ip;
};

/* Do the IDs say which host drew them? Else they have a pid like any others. */
bool host_is_named(const struct any_layout *any);

/* Whether only such are given as go with the layout and with one another; told, when not. */
bool host_check(const struct args *args, const struct host_options *at, const struct any_layout *any);

/*
 * The pid of a layout whose IDs name their host; -1 where flake's worker is not
 * given. False for what is none, or is missing, which is told.
 */
bool host_pid(const struct args *args, const struct host_options *at, const struct any_layout *any, int64_t *pid);

#endif
