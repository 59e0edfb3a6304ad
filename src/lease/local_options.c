/* SPDX-License-Identifier: MIT */
#include "lease/local_options.h"

#include "base/number.h"
#include "lease/store.h"

#include <string.h>

#define LEAD_MIN_MS 100
#define LEAD_MAX_MS 86400000

static int bad_parameter(struct sfid__error *err, const char *title, const char *text, size_t len) {
    char shown[60];
    const char *from = sfid__behind_password(text, len);
    sfid__printable(shown, sizeof shown, from, (size_t)(text + len - from));
    return sfid__fail(
        err, SFID_EINVAL,
        "%s: bad parameter \"%s\"; expected mark=none, share=1, lead_ms=%d to %d, pid_min=N or pid_max=N",
        title, shown, LEAD_MIN_MS, LEAD_MAX_MS);
}

/* "mark=none", or one of the eight-byte names and a decimal. */
static int read_parameter(const char *text, size_t len, struct sfid__settings *out,
                          struct sfid__error *err) {
    enum { NAME = 8 };
    const char *title = out->store->title;
    uint64_t n;
    if (len == strlen("mark=none") && strncmp(text, "mark=none", len) == 0)
        return out->synced = false, 0;
    if (len == strlen("share=1") && strncmp(text, "share=1", len) == 0)
        return out->shared = true, 0;
    if (len <= NAME || !sfid__number(text + NAME, len - NAME, 999999999, &n))
        return bad_parameter(err, title, text, len);
    if (strncmp(text, "pid_min=", NAME) == 0)
        out->store_min = (int64_t)n;
    else if (strncmp(text, "pid_max=", NAME) == 0)
        out->store_max = (int64_t)n;
    else if (strncmp(text, "lead_ms=", NAME) == 0 && n >= LEAD_MIN_MS && n <= LEAD_MAX_MS)
        out->lead_ms = (uint32_t)n;
    else
        return bad_parameter(err, title, text, len);
    return 0;
}

static int read_parameters(const char *all, struct sfid__settings *out, struct sfid__error *err) {
    for (const char *text = all;;) {
        const size_t len = strcspn(text, "&"), name = strcspn(text, "=&");
        if (read_parameter(text, len, out, err) < 0)
            return err->code;
        for (const char *before = all; before < text; before += strcspn(before, "&") + 1)
            if (strncmp(before, text, name + 1) == 0)
                return sfid__fail(err, SFID_EINVAL, "%s: parameter \"%.*s\" is given twice",
                                  out->store->title, (int)name, text);
        if (text[len] == '\0')
            return 0;
        text += len + 1;
    }
}

int sfid__local_options_read(const char *text, struct sfid__settings *out,
                             struct sfid__error *err) {
    const char *parameters = strchr(text, '?');
    return parameters ? read_parameters(parameters + 1, out, err) : 0;
}
