/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <sfid.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

const char *sfid_strerror(int code) {
    switch (code) {
    case SFID_OK:
        return "no error";
#define CASE(name, value, text) \
    case SFID_##name: \
        return text;
        SFID_ERROR_LIST(CASE)
#undef CASE
    default:
        return "unknown error";
    }
}

const char *sfid_event_name(sfid_event_kind kind) {
    switch (kind) {
#define CASE(name, number, level, text, value) \
    case SFID_EVENT_##name: \
        return #name;
        SFID_EVENT_LIST(CASE)
#undef CASE
    default:
        return NULL;
    }
}

const char *sfid_version(void) { return SFID_VERSION_STRING; }

/* The text may quote a server or a file. A control character in it would drive the operator's
 * terminal. */
static void make_printable(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

static void fill_error(struct sfid__error *err, int code, const char *fmt, va_list args) {
    err->code = code;
    err->one_file = false;
    if (vsnprintf(err->text, sizeof err->text, fmt, args) < 0)
        err->text[0] = '\0';
    make_printable(err->text);
}

void sfid__printable(char *out, size_t size, const char *text, size_t len) {
    size_t i = 0;
    for (; i + 1 < size && i < len; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out[i] = '\0';
}

const char *sfid__behind_password(const char *text, size_t len) {
    const char *at = memrchr(text, '@', len);
    return at ? at + 1 : text;
}

int sfid__fail(struct sfid__error *err, int code, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fill_error(err, code, fmt, args);
    va_end(args);
    return code;
}

void sfid__pass_over(struct sfid__passed_over *over, const struct sfid__error *err) {
    if (over->count++ == 0)
        over->first = *err;
}

int sfid__tell_passed_over(struct sfid__error *err, const struct sfid__passed_over *over) {
    const size_t used = strlen(err->text);
    if (over->count)
        snprintf(err->text + used, sizeof err->text - used, "; of these, %u cannot be used: %s",
                 over->count, over->first.text);
    return err->code;
}

/* Adds the process's own limit on file sizes, if it has one. */
static void name_limit(struct sfid__error *err) {
    struct rlimit limit;
    const size_t used = strlen(err->text);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(err->text + used, sizeof err->text - used,
                 " (RLIMIT_FSIZE, `ulimit -f`, is %" PRIu64 " bytes)", (uint64_t)limit.rlim_cur);
}

int sfid__fail_errno(struct sfid__error *err, int code, int errnum, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fill_error(err, code, fmt, args);
    va_end(args);
    const size_t used = strlen(err->text);
    char why[128];
#ifdef __GLIBC__ /* the GNU form returns the text, which need not be in the buffer */
    snprintf(err->text + used, sizeof err->text - used, ": %s",
             strerror_r(errnum, why, sizeof why));
#else
    if (strerror_r(errnum, why, sizeof why) == 0)
        snprintf(err->text + used, sizeof err->text - used, ": %s", why);
#endif
    if (errnum == EFBIG)
        name_limit(err);
    return code;
}
