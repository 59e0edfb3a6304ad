/* SPDX-License-Identifier: MIT */
/* keep.h - sfid keep. */
#ifndef CMD_LEASE_KEEP_H
#define CMD_LEASE_KEEP_H

extern const struct command command_keep;

#endif
