/* SPDX-License-Identifier: MIT */
#include "host/numbered.h"

#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>

int sfid__numbered_take(struct sfid__slot *slot, const struct sfid__dir *run, const char *app, const struct sfid__slot_want *want,
                        uint64_t pids, uint64_t *number, struct sfid__passed_over *over, struct sfid__error *err) {
    bool busy = false;
    over->count = 0;
    for (uint64_t n = 0; n < pids; n++) {
        struct sfid__dir dir;
        char name[24];
        snprintf(name, sizeof name, "%" PRIu64, n);
        int rc = sfid__dir_open_sub(&dir, run, app, err);
        if (rc < 0)
            return rc;
        rc = sfid__slot_take(slot, &dir, name, want, err);
        if (rc == SFID_ESTATE && err->one_file) {
            sfid__pass_over(over, err);
        } else if (rc == SFID_EBUSY) {
            busy = true;
        } else {
            err->code = rc; /* not that of a slot passed over */
            *number = n;
            return rc;
        }
        sfid__slot_drop(slot);
    }
    if (!busy) {
        *err = over->first;
        return err->code;
    }
    return sfid__fail(err, SFID_ENOPID,
                      "app \"%s\": %" PRIu64 " processes of this host hold a slot each in %s, and there are no more pids", app,
                      pids, run->path);
}
