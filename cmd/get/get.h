/* SPDX-License-Identifier: MIT */
/* get.h - sfid get. */
#ifndef CMD_GET_GET_H
#define CMD_GET_GET_H

extern const struct command command_get;

#endif
