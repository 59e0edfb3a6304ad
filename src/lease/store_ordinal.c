/* SPDX-License-Identifier: MIT */
/*
 * store_ordinal.c - the store "ordinal:": a fixed pid that the platform hands
 * out, as Kubernetes does with the pods of a StatefulSet: app-0, app-1, …
 *
 *   ordinal:               the number at the end of the host's name
 *   ordinal:env=NAME       of a variable
 *   ordinal:file=/PATH     of a file
 *
 * The parameters of the local store may follow a '?'. All but the search for
 * the number is the local store's work: a range of one, with its lock and mark.
 * The mark lies where the process runs, and the pid may have been used
 * elsewhere. So without a mark the local store waits (settings.h, elsewhere).
 */
#include "lease/store.h"

#include "base/fd.h"
#include "base/trust.h"
#include "base/number.h"
#include "lease/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "ordinal:"
#define TITLE "store \"ordinal:\""
#define PATH_ROOM 4096
#define MOST 255        /* bytes of a name with a number */
#define ROOM (MOST + 3) /* one byte more shows that a text is longer; and a newline, and the end */
#define SOURCE 160

/* ---- where the number is ----------------------------------------------------- */

/* A host's name without its domain. */
static int read_hostname(char text[ROOM], struct sfid__error *err) {
    if (gethostname(text, ROOM) < 0)
        return sfid__fail_errno(err, SFID_EINVAL, errno, TITLE ": the host's name cannot be read");
    text[strcspn(text, ".")] = '\0';
    return 0;
}

static int read_variable(const char *name, char text[ROOM], struct sfid__error *err) {
    const char *value = secure_getenv(name);
    if (value == NULL)
        return sfid__fail(err, SFID_EINVAL, TITLE ": $%.60s is not set", name);
    snprintf(text, ROOM, "%s", value);
    return 0;
}

/* One newline at the end does not count. Only a regular file: a pipe may have nothing to read. */
static int read_file(const char *path, char text[ROOM], struct sfid__error *err) {
    struct stat st;
    struct sfid__error untrusted;
    const int fd = sfid__trust_open(path, &untrusted);
    if (fd < 0 && untrusted.code)
        return sfid__fail(err, SFID_EINVAL, TITLE ": %.150s %s", path, untrusted.text);
    if (fd < 0)
        return sfid__fail_errno(err, SFID_EINVAL, errno, TITLE ": %.200s cannot be opened", path);
    const bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    const ssize_t n = regular ? sfid__fd_read(fd, text, ROOM - 1) : -1;
    const int why = errno;
    close(fd);
    if (!regular)
        return sfid__fail(err, SFID_EINVAL, TITLE ": %.200s is not a regular file", path);
    if (n < 0)
        return sfid__fail_errno(err, SFID_EINVAL, why, TITLE ": %.200s cannot be read", path);
    text[n > 0 && text[n - 1] == '\n' ? n - 1 : n] = '\0';
    return 0;
}

/* Reads the text that has the number. source becomes what people call its place. */
static int read_source(const char *from, char source[SOURCE], char text[ROOM],
                       struct sfid__error *err) {
    if (from[0] == '\0') {
        snprintf(source, SOURCE, "hostname");
        return read_hostname(text, err);
    }
    if (strncmp(from, "env=", 4) == 0 && from[4] != '\0') {
        snprintf(source, SOURCE, "$%.60s", from + 4);
        return read_variable(from + 4, text, err);
    }
    if (strncmp(from, "file=/", 6) == 0) {
        snprintf(source, SOURCE, "%.120s:", from + 5);
        return read_file(from + 5, text, err);
    }
    char shown[60];
    from = sfid__behind_password(from, strlen(from));
    sfid__printable(shown, sizeof shown, from, strlen(from));
    return sfid__fail(
        err, SFID_EINVAL,
        TITLE ": \"%s\" names no place; expected ordinal:, ordinal:env=NAME or ordinal:file=/PATH",
        shown);
}

/*
 * "3", or a name that ends in "-3". Nothing else: names of containers, and of pods of a Deployment,
 * may end in digits by chance. A number that is too large for any layout becomes the largest.
 */
static bool number_of(const char *text, int64_t *number) {
    const size_t len = strlen(text);
    size_t begin = len;
    uint64_t n = INT64_MAX;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9')
        begin--;
    if (len == begin || len > MOST || begin == 1 || (begin > 1 && text[begin - 1] != '-'))
        return false;
    sfid__number(text + begin, len - begin, INT64_MAX, &n);
    *number = (int64_t)n;
    return true;
}

/* ---- options --------------------------------------------------------------- */

static int ordinal_read_option(const char *text, struct sfid__settings *out,
                               struct sfid__error *err) {
    char from[PATH_ROOM], source[SOURCE], value[ROOM], shown[80];
    const char *behind = text + strlen(PREFIX);
    const size_t len = strcspn(behind, "?");
    if (len >= sizeof from)
        return sfid__fail(err, SFID_EINVAL, TITLE ": the path is longer than %zu bytes",
                          sizeof from - 1);
    memcpy(from, behind, len);
    from[len] = '\0';
    if (read_source(from, source, value, err) < 0)
        return err->code;
    sfid__printable(shown, sizeof shown, value, strlen(value));
    if (!number_of(value, &out->opt.pid))
        return sfid__fail(err, SFID_EINVAL,
                          TITLE
                          ": %s \"%s\" is no number, and no name that ends in one, such as app-3",
                          source, shown);
    if (asprintf(&out->shown, "%s \"%s\"", source, shown) < 0) {
        out->shown = NULL;
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    }
    out->elsewhere = true;
    return sfid__store_local.read(text, out, err);
}

static int ordinal_finish(struct sfid__settings *out, struct sfid__error *err) {
    const sfid_options *o = &out->opt;
    if (o->pid >= o->pid_min && o->pid <= o->pid_max)
        return 0;
    return sfid__fail(err, SFID_EINVAL,
                      TITLE ": %s is out of range; expected a number from %" PRId64 " to %" PRId64,
                      out->shown, o->pid_min, o->pid_max);
}

static int ordinal_make(struct sfid__store **out, const struct sfid__settings *settings,
                        const char *identity, struct sfid__error *err) {
    return sfid__store_local.make(out, settings, identity, err);
}

const struct sfid__store_kind sfid__store_ordinal = {
    .title = TITLE,
    .pid_most = INT64_MAX,
    .word = PREFIX,
    .read = ordinal_read_option,
    .finish = ordinal_finish,
    .make = ordinal_make,
};
