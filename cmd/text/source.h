/* SPDX-License-Identifier: MIT */
/* source.h - where the pids of a generator come from. */
#ifndef CMD_TEXT_SOURCE_H
#define CMD_TEXT_SOURCE_H

#include "args/any_layout.h"
#include "args/args.h"
#include "text/host.h"

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
