/* SPDX-License-Identifier: MIT */
/* command.h - captures the command's output and messages. */
#ifndef SFID_FUZZ_COMMAND_H
#define SFID_FUZZ_COMMAND_H

#include "fuzz.h"

#include <stdbool.h>

#define CAUGHT_MAX ((size_t)1024 * 1024)
extern char caught[CAUGHT_MAX]; /* standard output */
extern size_t caught_len;
extern unsigned said; /* number of messages */

/* Returns whether all captured output is UTF-8. */
bool caught_utf8(void);

#endif
