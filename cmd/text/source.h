/* SPDX-License-Identifier: MIT */
/* source.h - where the pids of a generator come from. */
#ifndef CMD_TEXT_SOURCE_H
#define CMD_TEXT_SOURCE_H

#include "args/any_layout.h"
#include "args/args.h"

#define HOST_OPTIONS(first) \
    [first] = {"mac", 0, "ADDRESS", NULL, \
               "flake, flake-go: the worker, a MAC address (of the first interface)"}, \
    [(first) + 1] = {"interface", 0, "NAME", NULL, \
                     "flake, flake-go, awsflake: the interface whose address to use"}, \
    [(first) + 2] = {"region", 0, "REGION", "AWSFLAKE_REGION", \
                     "awsflake: the region, such as us-east-1"}, \
    [(first) + 3] = {"ip", 0, "ADDRESS", "AWSFLAKE_IP", \
                     "awsflake: the host's address (that of the first interface)"}

#define OPTION_EC2 \
    { "ec2", 0, NULL, NULL, "awsflake: ask EC2 for the region and address that are not given" }

/* Their indexes in a command's list; ec2: -1 if it has none. */
struct host_options {
    int pid, mac, interface, region, ip, ec2;
};

/* Returns whether the IDs name the host that generated them, instead of a leased pid. */
bool host_is_named(const struct any_layout *any);

/* Checks that the given options fit the layout and each other. Returns false after a message. */
bool host_check(const struct args *args, const struct host_options *at,
                const struct any_layout *any);

/*
 * Sets the pid for a layout whose IDs name their host; -1 if a MAC address is
 * not given. Returns false, with a message, if it is invalid or missing.
 */
bool host_pid(const struct args *args, const struct host_options *at, const struct any_layout *any,
              int64_t *pid);

/* Indexes of the options in a command's list. */
struct source_options {
    int app, store, layout;
    struct host_options host;
};

/*
 * Sets opt->pid, or opt->store ("local" if neither is given). Options outrank
 * the environment. There a pid outranks a store: sfid's parent may have leased
 * the pid from it. Returns false after a message.
 */
bool source_read(const struct args *args, const struct source_options *at,
                 const struct any_layout *any, sfid_options *opt);

/* The same for IDs that name their host, which have no app: variables for other layouts do not
 * count. */
bool source_read_host(const struct args *args, const struct source_options *at,
                      const struct any_layout *any, sfid_options *opt);

#endif
