/* SPDX-License-Identifier: MIT */
/* decode.h - sfid decode. */
#ifndef CMD_DECODE_DECODE_H
#define CMD_DECODE_DECODE_H

extern const struct command command_decode;

#endif
