/* SPDX-License-Identifier: MIT */
/* answer.h - answers with IDs. */
#ifndef CMD_SERVE_ANSWER_H
#define CMD_SERVE_ANSWER_H

#include "serve/client.h"
#include "serve/request.h"
#include "serve/settings.h"

/* What clients read while source_waits(). */
extern const char answer_waits[];

/* Begins the answer to a request for IDs; answer_go() then makes it. */
void answer_begin(struct client *client, enum answer answer, uint32_t n, unsigned least);

enum progress {
    PROGRESS_DONE,
    PROGRESS_TURN,
    PROGRESS_DRY,
    PROGRESS_MEMORY,
    PROGRESS_LEASE,
    PROGRESS_CLOCK
};

/*
 * Draws at most SOURCE_TURN IDs. TURN: more are wanted. DRY: there are none for
 * now. MEMORY: too many answers are under way. LEASE, CLOCK: to be refused.
 */
enum progress answer_go(struct client *client);

/* Refuses the job. request: its bytes. */
void answer_refuse(struct client *client, enum refusal why, struct slice request);

#endif
