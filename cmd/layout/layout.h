/* SPDX-License-Identifier: MIT */
/* layout.h - sfid layout. */
#ifndef CMD_LAYOUT_LAYOUT_H
#define CMD_LAYOUT_LAYOUT_H

#include "args/command.h"

extern const struct command command_layout;

#endif
