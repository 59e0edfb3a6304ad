/* SPDX-License-Identifier: MIT */
/* encode.h - sfid encode. */
#ifndef CMD_TEXT_ENCODE_H
#define CMD_TEXT_ENCODE_H

extern const struct command command_encode;

#endif
