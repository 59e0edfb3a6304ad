/* SPDX-License-Identifier: MIT */
/* serve.h - sfid serve. */
#ifndef CMD_SERVE_SERVE_H
#define CMD_SERVE_SERVE_H

extern const struct command command_serve;

#endif
