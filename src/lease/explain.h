/* SPDX-License-Identifier: MIT */
/* explain.h - the sentence for who waits for a pid: until when no pid can be had, and who holds them. */
#ifndef SFID_LEASE_EXPLAIN_H
#define SFID_LEASE_EXPLAIN_H

#include "lease/script.h"

/*
 * Behind a claim that has to wait: nothing comes free before `tick`, and no pid without a record before `open`. Asks the server who
 * holds pids. If no time is left for that, an earlier explanation in *err stays.
 */
void sfid__redis_explain(struct sfid__redis_app *app, uint64_t tick, uint64_t open, struct sfid__deadline until,
                         struct sfid__error *err);

#endif
