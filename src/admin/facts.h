/* SPDX-License-Identifier: MIT */
/* facts.h - what a server says about itself and its user: from src/admin/check.lua, and CONFIG
 * GET. */
#ifndef SFID_ADMIN_FACTS_H
#define SFID_ADMIN_FACTS_H

#include "admin/session.h"

/* check.lua, without its comments. */
extern const char sfid__check_lua[];

enum { SFID__CHECK_FACTS = 32, SFID__CHECK_NAME = 40, SFID__CHECK_VALUE = 208 };

struct sfid__redis_facts {
    unsigned count;
    char name[SFID__CHECK_FACTS][SFID__CHECK_NAME], value[SFID__CHECK_FACTS][SFID__CHECK_VALUE];
};

/* Asks for all facts. 0, or as sfid__visit_ask(). */
int sfid__redis_check(struct sfid__visit *v, struct sfid__redis_facts *facts);

/* The value of one fact; NULL if the server does not say. */
const char *sfid__redis_fact(const struct sfid__redis_facts *facts, const char *name);

/* The value as a decimal; -1 if it is none. */
int64_t sfid__redis_fact_number(const struct sfid__redis_facts *facts, const char *name);

/* Has it replicas, or had it any? No server can supersede a master without any. */
bool sfid__redis_has_replicas(const struct sfid__redis_facts *facts);

/* A setting as a decimal; -1 if the server or its ACL does not show it. */
int64_t sfid__redis_setting(struct sfid__visit *v, const char *name);

/* What a command of the scripts is for. */
const char *sfid__redis_purpose(const char *command);

/* True if the server says a version below this one: 60207 is 6.2.7. */
bool sfid__redis_older(const struct sfid__redis_facts *facts, unsigned version);

/* Sends EVALSHA of nothing. SFID_EAUTH if the user may not; other errors do not matter. */
int sfid__redis_try_evalsha(struct sfid__visit *v);

#endif
