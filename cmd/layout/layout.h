/* SPDX-License-Identifier: MIT */
/* layout.h - sfid layout. */
#ifndef CMD_LAYOUT_LAYOUT_H
#define CMD_LAYOUT_LAYOUT_H

extern const struct command command_layout;

#endif
