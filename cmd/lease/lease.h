/* SPDX-License-Identifier: MIT */
/* lease.h - sfid lease. */
#ifndef CMD_LEASE_LEASE_H
#define CMD_LEASE_LEASE_H

extern const struct command command_lease;

#endif
