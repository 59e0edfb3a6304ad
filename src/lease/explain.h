/* SPDX-License-Identifier: MIT */
/* explain.h - sentences for people: until when no pid can be had, and who holds them; what a clock
 * that is off costs. */
#ifndef SFID_LEASE_EXPLAIN_H
#define SFID_LEASE_EXPLAIN_H

#include "lease/script.h"

/*
 * Behind a claim that has to wait: nothing comes free before `tick`, and no pid without a record
 * before `open`. Asks the server who holds pids. If no time is left for that, an earlier
 * explanation in *err stays.
 */
void sfid__redis_explain(struct sfid__redis_app *app, uint64_t tick, uint64_t open,
                         struct sfid__deadline until, struct sfid__error *err);

/* A clock that is not the server's: by how much, and what it costs. */
void sfid__redis_explain_skew(const struct sfid__redis_app *app, uint32_t heartbeat_ms, char *out,
                              size_t size);

#endif
