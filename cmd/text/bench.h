/* SPDX-License-Identifier: MIT */
/* bench.h - sfid bench. */
#ifndef CMD_TEXT_BENCH_H
#define CMD_TEXT_BENCH_H

extern const struct command command_bench;

#endif
