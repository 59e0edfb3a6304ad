/* SPDX-License-Identifier: MIT */
/* init.h - sfid init. */
#ifndef CMD_LEASE_INIT_H
#define CMD_LEASE_INIT_H

extern const struct command command_init;

#endif
