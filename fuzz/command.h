/* SPDX-License-Identifier: MIT */
/* command.h - the command's output and diagnostics, caught. */
#ifndef SFID_FUZZ_COMMAND_H
#define SFID_FUZZ_COMMAND_H

#include "fuzz.h"

#include <stdbool.h>

#define CAUGHT_MAX ((size_t)1024 * 1024)
extern char caught[CAUGHT_MAX]; /* what went to standard output; */
extern size_t caught_len;
extern unsigned said; /* how many diagnostics there were */

/* Is all that was caught UTF-8? */
bool caught_utf8(void);

#endif
