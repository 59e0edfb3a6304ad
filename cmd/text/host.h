/* SPDX-License-Identifier: MIT */
/* host.h - options for the host in IDs of flake and awsflake. */
#ifndef CMD_TEXT_HOST_H
#define CMD_TEXT_HOST_H

#include "args/any_layout.h"

#define OPTION_MAC \
    { "mac", 0, "ADDRESS", NULL, "flake: the worker, a MAC address (that of the first interface)" }
#define OPTION_INTERFACE \
    { "interface", 0, "NAME", NULL, "flake, awsflake: the network interface whose address to use" }
#define OPTION_REGION \
    { "region", 0, "REGION", "AWSFLAKE_REGION", "awsflake: the region, such as us-east-1" }
#define OPTION_IP \
    { "ip", 0, "ADDRESS", "AWSFLAKE_IP", "awsflake: the host's address (that of the first interface)" }

/* Their indexes in a command's list. */
struct host_options {
    int pid, mac, interface, region, ip;
};

/* Returns whether the IDs name the host that generated them, instead of a leased pid. */
bool host_is_named(const struct any_layout *any);

/* Checks that the given options fit the layout and each other. Returns false after a message. */
bool host_check(const struct args *args, const struct host_options *at, const struct any_layout *any);

/*
 * Sets the pid for a layout whose IDs name their host; -1 if flake's worker is
 * not given. Returns false, with a message, if it is invalid or missing.
 */
bool host_pid(const struct args *args, const struct host_options *at, const struct any_layout *any, int64_t *pid);

#endif
