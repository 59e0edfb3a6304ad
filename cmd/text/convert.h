/* SPDX-License-Identifier: MIT */
/* convert.h - sfid convert. */
#ifndef CMD_TEXT_CONVERT_H
#define CMD_TEXT_CONVERT_H

extern const struct command command_convert;

#endif
