/* SPDX-License-Identifier: MIT */
/* range.h - sfid range. */
#ifndef CMD_TEXT_RANGE_H
#define CMD_TEXT_RANGE_H

extern const struct command command_range;

#endif
