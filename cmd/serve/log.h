/* SPDX-License-Identifier: MIT */
/* log.h - tells the service manager and its journal what happens. */
#ifndef CMD_SERVE_LOG_H
#define CMD_SERVE_LOG_H

#include "io/base.h"

enum { LOG_ERROR = 3, LOG_WARNING = 4, LOG_NOTICE = 5, LOG_INFO = 6 }; /* as syslog(3) */

void log_begin(void);

/* Writes a line. The same key (or, if it is NULL, the same format) is written at most once in 10 s;
 * what was left out is counted. */
void log_keyed(int level, const void *key, const char *fmt, ...) CLI_PRINTF(3, 4);
#define log_line(level, ...) log_keyed(level, NULL, __VA_ARGS__)

/* Writes a line of --access-log: never left out. */
void log_access(const char *fmt, ...) CLI_PRINTF(1, 2);

/* Says what was left out, once its 10 s are over. Called each second. */
void log_tick(void);

/* ---- messages to the service manager ---- */

/* Reads $NOTIFY_SOCKET and $WATCHDOG_USEC. Returns how often WATCHDOG=1 is to be sent, in
 * milliseconds; 0: never. */
uint64_t notify_begin(void);
void notify(const char *fmt, ...) CLI_PRINTF(1, 2); /* without $NOTIFY_SOCKET it does nothing */

#endif
