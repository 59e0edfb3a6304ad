/* SPDX-License-Identifier: MIT */
/* gen.h - sfid gen. */
#ifndef CMD_TEXT_GEN_H
#define CMD_TEXT_GEN_H

extern const struct command command_gen;

#endif
