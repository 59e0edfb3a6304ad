/* SPDX-License-Identifier: MIT */
#include "redis/password.h"

#include "base/fd.h"
#include "base/trust.h"

#include <errno.h>
#include <sfid.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST (SFID__URI_TEXT - 1)

static enum sfid__reply_class cannot_read(const char *parameter, const char *path, int errnum,
                                          struct sfid__error *why) {
    const bool passes = errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
    sfid__fail_errno(why, passes ? SFID_EREDIS : SFID_EINVAL, errnum,
                     "parameter %s: %.250s cannot be read", parameter, path);
    return passes ? SFID__REPLY_RETRY : SFID__REPLY_CONFIG;
}

static enum sfid__reply_class no_good(const char *parameter, const char *path, const char *what,
                                      struct sfid__error *why) {
    sfid__fail(why, SFID_EINVAL, "parameter %s: %.250s %s", parameter, path, what);
    return SFID__REPLY_CONFIG;
}

/* What is wrong with the n bytes of a file; NULL if the first *len of them are a password. */
static const char *fault_of(const char *bytes, size_t n, size_t *len) {
    *len = n > 0 && bytes[n - 1] == '\n' ? n - 1 : n;
    if (*len == 0)
        return "is empty; it has to hold the password";
    if (*len > LONGEST)
        return "is longer than 255 bytes; it has to hold the password alone";
    return memchr(bytes, '\0', *len) ? "has a NUL in it; it has to hold the password alone" : NULL;
}

static enum sfid__reply_class read_open(int fd, const char *parameter, const char *path, char *out,
                                        struct sfid__error *why) {
    /* a newline, and one more byte that shows a password that is too long */
    char bytes[LONGEST + 2];
    struct stat st;
    size_t len;
    if (fstat(fd, &st) < 0)
        return cannot_read(parameter, path, errno, why);
    if (!S_ISREG(st.st_mode))
        return no_good(parameter, path, "is not a regular file", why);
    const ssize_t n = sfid__fd_read(fd, bytes, sizeof bytes);
    if (n < 0)
        return cannot_read(parameter, path, errno, why);
    const char *fault = fault_of(bytes, (size_t)n, &len);
    if (fault == NULL) {
        memcpy(out, bytes, len);
        out[len] = '\0';
    }
    explicit_bzero(bytes, sizeof bytes);
    return fault ? no_good(parameter, path, fault, why) : SFID__REPLY_OK;
}

enum sfid__reply_class sfid__password_read(const char *parameter, const char *path,
                                           char out[SFID__URI_TEXT], struct sfid__error *why) {
    static_assert(LONGEST == 255, "the number stands in an error");
    struct sfid__error untrusted;
    const int fd = sfid__trust_open(path, &untrusted);
    if (fd < 0)
        return untrusted.code ? no_good(parameter, path, untrusted.text, why)
                              : cannot_read(parameter, path, errno, why);
    const enum sfid__reply_class class = read_open(fd, parameter, path, out, why);
    close(fd);
    return class;
}
