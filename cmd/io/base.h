/* SPDX-License-Identifier: MIT */
/* base.h - what every file of the command needs: basic types, the library, two macros. */
#ifndef CMD_IO_BASE_H
#define CMD_IO_BASE_H

#include <sfid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
