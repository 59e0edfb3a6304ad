/* SPDX-License-Identifier: MIT */
/* version.h - versions of the libraries. */
#ifndef CMD_IO_VERSION_H
#define CMD_IO_VERSION_H

/* The version of the library, and in parentheses those of the libraries that it uses. */
const char *version_text(void);

#endif
