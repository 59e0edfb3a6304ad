/* SPDX-License-Identifier: MIT */
/* source.h - the generator. */
#ifndef CMD_SERVE_SOURCE_H
#define CMD_SERVE_SOURCE_H

#include "serve/request.h"
#include "text/reader.h"

/* Makes ready what needs no generator. */
void source_prepare(void);

/* Closes *g, and opens another one. May take the time that the options say, less what was spent of
 * that. In any thread; returns as sfid_open(). */
int source_open(sfid **g, uint64_t spent_ms, void (*on_event)(void *user, const sfid_event *event));

/* From now on IDs come from g, which stays the caller's. */
void source_use(sfid *g);
const char *source_error(void);

/* Asks the app's server, for so long. In any thread. False if it does not answer. *waits: it does
 * not know the app, so a later open may find a pid. */
bool source_waits_for_app(uint32_t within_ms, bool *waits);

#define SOURCE_TURN 4096

/* Draws up to n IDs, at most SOURCE_TURN. Returns how many, or an SFID_E… code. */
int64_t source_draw(size_t n);
int source_retry_ms(void);

/* Writes ID i of the last draw at p, padded to `least` digits. SOURCE_ROOM bytes, or `least` if
 * more, are enough. */
#define SOURCE_ROOM 48
char *source_put(char *p, size_t i, unsigned least);
char *source_put_hex(char *p, size_t i); /* 32 digits */
int64_t source_integer(size_t i);        /* of a 64-bit layout */

/* May IDs be drawn now? */
bool source_ready(void);

/* Not yet, because there is no pid, or because it goes on ahead of the clock (a mark or page says
 * so): what clients read then. NULL: neither. */
const char *source_waits(void);
bool source_status(sfid_status_info *info);
int64_t source_pid(void);

/* What the layout allows: IDs a second; the highest ID as a number of bits. */
uint64_t source_rate(void);
unsigned source_bits(void);
const char *source_layout(void);

/* Writes the JSON line of sfid decode (OUT_ROOM bytes). Returns its end; NULL, with a reason, if
 * the text is no ID. */
char *source_decode(char *p, struct slice text, char why[READER_WHY]);

#endif
