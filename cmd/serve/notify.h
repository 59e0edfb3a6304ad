/* SPDX-License-Identifier: MIT */
/* notify.h - messages to the service manager. */
#ifndef CMD_SERVE_NOTIFY_H
#define CMD_SERVE_NOTIFY_H

#include "io/base.h"

/* Reads $NOTIFY_SOCKET and $WATCHDOG_USEC. Returns how often WATCHDOG=1 is to be sent, in
 * milliseconds; 0: never. */
uint64_t notify_begin(void);
void notify(const char *fmt, ...) CLI_PRINTF(1, 2); /* without $NOTIFY_SOCKET it does nothing */

#endif
