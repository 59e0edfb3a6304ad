/* SPDX-License-Identifier: MIT */
#include "host/identity.h"

#include "base/random.h"
#include "id/layout.h"
#include "id/wide_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MACHINE_FILE "machine_id"
#define LAYOUT_FILE "layout"

/* Cuts off the line end. True if the rest is fit for an identity. */
static bool usable_id(char *id) {
    id[strcspn(id, "\n")] = '\0';
    return id[0] != '\0' && id[strspn(id, SFID__ALNUM "._-")] == '\0';
}

static void make_machine_id(char out[SFID__MACHINE_ID]) {
    char host[65] = "host";
    if (gethostname(host, sizeof host - 1) < 0)
        strcpy(host, "host");
    host[sizeof host - 1] = '\0';
    for (char *p = host; *(p += strspn(p, SFID__ALNUM ".-"));)
        *p = '_';
    char text[SFID__UUID_STR_LEN];
    sfid__random_uuid(text);
    snprintf(out, SFID__MACHINE_ID, "%s-%s", host[0] ? host : "host", text);
}

int sfid__machine_id(const struct sfid__dir *state, char out[SFID__MACHINE_ID], struct sfid__error *err) {
    long n = sfid__file_read(state, MACHINE_FILE, out, SFID__MACHINE_ID, err);
    if (n < 0 && err->code == 0) {
        char line[SFID__MACHINE_ID + 1];
        make_machine_id(out);
        snprintf(line, sizeof line, "%s\n", out);
        const int rc = sfid__file_publish(state, MACHINE_FILE, line, true, err);
        if (rc <= 0)
            return rc;
        n = sfid__file_read(state, MACHINE_FILE, out, SFID__MACHINE_ID, err); /* the first decided */
    }
    if (n < 0)
        return err->code ? err->code : sfid__fail(err, SFID_ESTATE, "%s/" MACHINE_FILE " vanished", state->path);
    if (n >= SFID__MACHINE_ID - 1 || strlen(out) != (size_t)n || !usable_id(out))
        return sfid__fail(err, SFID_ESTATE, "%s/" MACHINE_FILE " holds no machine ID; remove it and a new one is made",
                          state->path);
    return 0;
}

int sfid__boot_id(uint8_t out[16]) {
    char text[SFID__UUID_STR_LEN] = "";
    sfid_wide id;
    memset(out, 0, 16);
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    /* Not uuid_parse(): its first use takes two page faults in libc, as long as reading the file. */
    if (n == (ssize_t)sizeof text - 1 && sfid_wide_from_text(SFID_UUID, text, (size_t)n, &id, NULL) == 0)
        for (int i = 0; i < 16; i++)
            out[i] = (uint8_t)((i < 8 ? id.high : id.low) >> 8 * (7 - i % 8));
    return 0;
}

static void describe_layout(const sfid_layout *layout, char *out, size_t size) {
    char text[SFID_LAYOUT_STR_LEN];
    const char *wide = sfid__wide_plan_name(layout);
    if (wide || sfid_layout_format(layout, text, sizeof text) < 0)
        snprintf(text, sizeof text, "%s", wide ? wide : "");
    snprintf(out, size, "%016" PRIx64 " %s", sfid__layout_fingerprint(layout), text);
}

/*
 * The name of the file is as durable as those of the app's marks. Whoever makes it syncs the directory with the first mark that it
 * takes. Whoever finds it takes a mark made after it, and has that one's name synced, or was made when somebody had removed it.
 */
int sfid__app_layout(struct sfid__dir *app, const sfid_layout *layout, struct sfid__error *err) {
    char asked[128], noted[128];
    describe_layout(layout, asked, sizeof asked);
    long n = sfid__file_read(app, LAYOUT_FILE, noted, sizeof noted, err);
    if (n < 0 && err->code == 0) {
        char line[130];
        snprintf(line, sizeof line, "%s\n", asked);
        const int rc = sfid__file_publish(app, LAYOUT_FILE, line, false, err);
        app->unsynced = rc >= 0;
        if (rc <= 0)
            return rc;
        n = sfid__file_read(app, LAYOUT_FILE, noted, sizeof noted, err);
    }
    if (n < 0)
        return err->code ? err->code : sfid__fail(err, SFID_ESTATE, "%s/" LAYOUT_FILE " vanished", app->path);
    noted[strcspn(noted, "\n")] = '\0';
    if (strncmp(noted, asked, 16) != 0)
        return sfid__fail(err, SFID_ELAYOUT,
                          "this app has layout %s on this host (%s/" LAYOUT_FILE "), not %s: use that, or another app name",
                          strlen(noted) > 17 ? noted + 17 : noted, app->path, asked + 17);
    return 0;
}
