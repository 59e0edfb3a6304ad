/* SPDX-License-Identifier: MIT */
/* password.h - reads a password from a file. */
#ifndef SFID_REDIS_PASSWORD_H
#define SFID_REDIS_PASSWORD_H

#include "redis/replies.h"
#include "redis/uri.h"

/*
 * Reads the password from the file at an absolute path. The file holds the password alone, 1 to
 * SFID__URI_TEXT - 1 bytes; one newline at its end does not count. Symbolic links are followed,
 * because orchestrators exchange secrets with them. Only a regular file will do: a pipe can be read
 * once, and each connection reads the file.
 *
 * Who else may read the file is not checked. Containers mount secrets with mode 0444 in a directory
 * that nobody else enters, and the file's mode does not show that.
 *
 * SFID__REPLY_OK; SFID__REPLY_CONFIG with SFID_EINVAL if a person has to look at the file;
 * SFID__REPLY_RETRY with SFID_EREDIS if the system lacks descriptors or memory. Errors name the
 * parameter and the file, never its content. out is written on success only.
 */
enum sfid__reply_class sfid__password_read(const char *parameter, const char *path,
                                           char out[SFID__URI_TEXT], struct sfid__error *why);

#endif
