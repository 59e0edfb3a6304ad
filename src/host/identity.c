/* SPDX-License-Identifier: MIT */
#include "host/identity.h"

#include "base/clock.h"
#include "base/random.h"
#include "host/held.h"
#include "id/layout.h"
#include "id/wide_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MACHINE_FILE "machine_id"
#define LAYOUT_FILE "layout"

/* ---- what is made once ------------------------------------------------------- */

#define MAKING_NS 4000000 /* most disks take longer */

/*
 * Makes a file that was missing, with this line, and reads what is there. Sets *made if it was made
 * at this moment. As sfid__file_read(): -1 with err->code 0 if it has vanished.
 *
 * A thousand processes that find no file would each make and sync one, and all but one drop theirs.
 * So only the one that has the lock of the directory does, and the others look again until their
 * time is over. Nothing else depends on the lock.
 */
static long make_once(const struct sfid__dir *dir, const char *name, const char *line, bool named,
                      int64_t until_ms, char *buf, size_t size, bool *made,
                      struct sfid__error *err) {
    int64_t pause_ns = MAKING_NS;
    for (;;) {
        const bool locked = flock(dir->fd, LOCK_EX | LOCK_NB) == 0,
                   held = !locked && errno == EWOULDBLOCK;
        long n = sfid__file_read(dir, name, buf, size, err);
        const bool missing = n < 0 && err->code == 0,
                   mine = missing && (!held || sfid__deadline_now_ms() >= until_ms);
        if (mine) {
            *made = sfid__file_publish(dir, name, line, named, err) >= 0;
            n = *made ? sfid__file_read(dir, name, buf, size, err) : -1; /* who was first decides */
        }
        if (locked)
            flock(dir->fd, LOCK_UN);
        if (mine || !missing)
            return n;
        sfid__system_clock.sleep_ns(&sfid__system_clock, sfid__pause_ns(&pause_ns));
    }
}

/* ---- the machine ------------------------------------------------------------ */

/* Cuts off the line end. True if the rest is fit for an identity. */
static bool usable_id(char *id) {
    id[strcspn(id, "\n")] = '\0';
    return id[0] != '\0' && id[strspn(id, SFID__ALNUM "._-")] == '\0';
}

/* With a line end. */
static void choose_machine_id(char out[SFID__MACHINE_ID]) {
    char host[65] = "host";
    if (gethostname(host, sizeof host - 1) < 0)
        strcpy(host, "host");
    host[sizeof host - 1] = '\0';
    for (char *p = host; *(p += strspn(p, SFID__ALNUM ".-"));)
        *p = '_';
    char text[SFID__UUID_STR_LEN];
    sfid__random_uuid(text);
    snprintf(out, SFID__MACHINE_ID, "%s-%s\n", host[0] ? host : "host", text);
}

int sfid__machine_id(const struct sfid__dir *state, int64_t until_ms, char out[SFID__MACHINE_ID],
                     struct sfid__error *err) {
    long n = sfid__file_read(state, MACHINE_FILE, out, SFID__MACHINE_ID, err);
    if (n < 0 && err->code == 0) {
        char line[SFID__MACHINE_ID];
        bool made = false;
        choose_machine_id(line);
        n = make_once(state, MACHINE_FILE, line, true, until_ms, out, SFID__MACHINE_ID, &made, err);
    }
    if (n < 0)
        return err->code
                   ? err->code
                   : sfid__fail(err, SFID_ESTATE, "%s/" MACHINE_FILE " vanished", state->path);
    if (n >= SFID__MACHINE_ID - 1 || strlen(out) != (size_t)n || !usable_id(out))
        return sfid__fail(err, SFID_ESTATE,
                          "%s/" MACHINE_FILE
                          " holds no machine ID; remove it and a new one is made",
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
    /* Not uuid_parse(): its first use takes two page faults in libc, as long as reading the
     * file. */
    if (n == (ssize_t)sizeof text - 1 &&
        sfid_wide_from_text(SFID_UUID, text, (size_t)n, &id, NULL) == 0)
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

/* A fingerprint, a space and the layout's text, as describe_layout() writes them; a newer library
 * may put more before the space. */
static bool is_layout_line(const char *line) {
    enum { FINGERPRINT = 16 };
    size_t n = strcspn(line, " ");
    if (n < FINGERPRINT || line[n] != ' ')
        return false;
    for (n = 0; line[n] >= ' ' && line[n] <= '~';)
        n++;
    return line[n] == '\0';
}

/*
 * The name of the file is as durable as those of the app's marks. Whoever makes it syncs the
 * directory with the first mark that it takes. Whoever finds it takes a mark made after it, and has
 * that one's name synced, or was made when somebody had removed it.
 */
int sfid__app_layout(struct sfid__dir *app, const sfid_layout *layout, struct sfid__error *err) {
    char asked[128], noted[128];
    describe_layout(layout, asked, sizeof asked);
    long n = sfid__file_read(app, LAYOUT_FILE, noted, sizeof noted, err);
    if (n < 0 && err->code == 0) {
        char line[130];
        snprintf(line, sizeof line, "%s\n", asked);
        n = make_once(app, LAYOUT_FILE, line, false, sfid__deadline_now_ms() + SFID__DOOR_MS, noted,
                      sizeof noted, &app->unsynced, err);
    }
    if (n < 0)
        return err->code ? err->code
                         : sfid__fail(err, SFID_ESTATE, "%s/" LAYOUT_FILE " vanished", app->path);
    noted[strcspn(noted, "\n")] = '\0';
    if (!is_layout_line(noted))
        return sfid__fail(err, SFID_ESTATE,
                          "%s/" LAYOUT_FILE
                          " holds no layout; remove it, and the next generator notes its own",
                          app->path);
    if (strncmp(noted, asked, 16) != 0)
        return sfid__fail(err, SFID_ELAYOUT,
                          "this app has layout %s on this host (%s/" LAYOUT_FILE
                          "), not %s: use that, or another app name",
                          noted + 17, app->path, asked + 17);
    return 0;
}
