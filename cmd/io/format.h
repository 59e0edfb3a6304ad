/* SPDX-License-Identifier: MIT */
/* format.h - output formats of commands. */
#ifndef CMD_IO_FORMAT_H
#define CMD_IO_FORMAT_H

enum view_format { VIEW_TEXT, VIEW_JSON, VIEW_TSV, VIEW_CSV, VIEW_TABLE };

#endif
