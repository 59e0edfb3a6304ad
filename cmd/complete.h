/* SPDX-License-Identifier: MIT */
/* complete.h - completion of command lines. */
#ifndef CMD_COMPLETE_H
#define CMD_COMPLETE_H

/*
 * `sfid complete WORD...`: what the shells of packaging/completion ask when TAB is pressed. The
 * words follow the name of the program, up to the cursor; the last one is incomplete. Prints the
 * words that may stand there, a line each, with a TAB and a description where there is one; or a
 * line FILE or DIR where a path belongs. The shell drops those that do not begin as the last word
 * does. Returns the exit status.
 */
int complete(int count, char **words);

#endif
