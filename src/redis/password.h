/* SPDX-License-Identifier: MIT */
/* password.h - a password that lies in a file. */
#ifndef SFID_REDIS_PASSWORD_H
#define SFID_REDIS_PASSWORD_H

#include "redis/replies.h"
#include "redis/uri.h"

/*
 * Reads the password out of the file at path, which has to be absolute. The file holds the password alone, 1 to
 * SFID__URI_TEXT - 1 bytes; one newline at its end is no part of it. Symbolic links are followed, as orchestrators
 * exchange a secret by them. Only a regular file will do: a pipe can be read once, and this is called for each connection.
 *
 * Who else may read the file is not looked at: containers mount secrets with mode 0444 in a directory that nobody else
 * enters, and the mode of a file does not tell that.
 *
 * SFID__REPLY_OK; or SFID__REPLY_CONFIG with SFID_EINVAL where a person has to look at the file, SFID__REPLY_RETRY with
 * SFID_EREDIS where the system lacks descriptors or memory. Errors name the parameter and the file, never what it holds.
 * out is written on success only.
 */
enum sfid__reply_class sfid__password_read(const char *parameter, const char *path, char out[SFID__URI_TEXT],
                                           struct sfid__error *why);

#endif
