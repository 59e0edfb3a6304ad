/* SPDX-License-Identifier: MIT */
/* macros.h - macros for all files of the command. */
#ifndef CMD_IO_MACROS_H
#define CMD_IO_MACROS_H

#define CLI_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
