/* SPDX-License-Identifier: MIT */
#include "host/numbered.h"

#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>

int sfid__numbered_take(struct sfid__slot *slot, struct sfid__numbered *row, const struct sfid__slot_want *want,
                        struct sfid__error *err) {
    bool busy = false;
    row->over->count = 0;
    for (uint64_t n = 0; n < row->pids; n++) {
        struct sfid__dir dir;
        char name[24];
        snprintf(name, sizeof name, "%" PRIu64, n);
        int rc = sfid__dir_open_sub(&dir, row->run, row->app, err);
        if (rc < 0)
            return rc;
        rc = sfid__slot_take(slot, &dir, name, want, err);
        if (rc == SFID_ESTATE && err->one_file) {
            sfid__pass_over(row->over, err);
        } else if (rc == SFID_EBUSY) {
            busy = true;
        } else {
            err->code = rc; /* not the code of a slot passed over */
            row->number = n;
            return rc;
        }
        sfid__slot_drop(slot);
    }
    if (!busy) {
        *err = row->over->first;
        return err->code;
    }
    return sfid__fail(err, SFID_ENOPID,
                      "app \"%s\": %" PRIu64 " processes of this host hold a slot each in %s, and there are no more pids", row->app,
                      row->pids, row->run->path);
}
