/* SPDX-License-Identifier: MIT */
#include "host/numbered.h"

#include "base/clock.h"
#include "base/number.h"
#include "host/hints.h"

#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>
#include <string.h>

/* Tries the slot row->number. 0 with the slot taken, or a code; *goes_on: another one may do.
 * waits: for its door. */
static int try(struct sfid__slot *slot, const struct sfid__numbered *row, bool waits,
               const struct sfid__slot_want *want, bool *goes_on, struct sfid__error *err) {
    struct sfid__slot_want this = *want;
    struct sfid__dir dir;
    char name[24];
    *goes_on = false;
    this.until_ms = SFID__DOOR_LOOK;
    if (waits)
        /* another slot may do as well */
        this.until_ms = SFID__MIN(want->until_ms, sfid__deadline_now_ms() + SFID__DOOR_MS);
    snprintf(name, sizeof name, "%" PRIu64, row->number);
    int rc = sfid__dir_open_sub(&dir, row->run, row->app, err);
    if (rc < 0)
        return rc;
    rc = sfid__slot_take(slot, &dir, name, &this, err);
    *goes_on = rc == SFID_EBUSY || rc == SFID_EAGAIN || (rc == SFID_ESTATE && err->one_file);
    if (*goes_on)
        sfid__slot_drop(slot);
    return rc;
}

/* Tries the slots that the search names. rc: what trying the first one came to. Returns as
 * sfid__numbered_take(), or SFID_EBUSY. */
static int try_all(struct sfid__slot *slot, struct sfid__numbered *row, struct sfid__search *search,
                   int rc, const struct sfid__slot_want *want, struct sfid__error *err) {
    bool busy = false, goes_on = true;
    for (uint64_t tries = 1; sfid__search_next(search, &row->number); tries++) {
        if (tries > 1 && sfid__deadline_now_ms() >= want->until_ms)
            return sfid__fail(err, SFID_ENOPID,
                              "app \"%s\": no free slot was found in %s in time: %" PRIu64
                              " of %" PRIu64 " were tried",
                              row->app, row->run->path, tries - 1, row->pids);
        if (tries > 1)
            rc = try(slot, row, !sfid__search_may_pass(search, row->number), want, &goes_on, err);
        if (rc == SFID_EAGAIN)
            sfid__search_again(search, row->number);
        else if (rc == 0 || rc == SFID_EBUSY)
            sfid__search_taken(search, row->number);
        if (!goes_on) {
            err->code = rc; /* not the code of a slot passed over */
            return rc;
        }
        if (rc == SFID_EBUSY || rc == SFID_EAGAIN)
            busy = true;
        else
            sfid__pass_over(row->over, err);
    }
    if (!busy)
        *err = row->over->first;
    return busy ? SFID_EBUSY : err->code;
}

/* Goes on after the first slot. Only this needs the app's directory and its hints: a process alone
 * on its host has that slot. */
static int go_on(struct sfid__slot *slot, struct sfid__numbered *row, int rc,
                 const struct sfid__slot_want *want, struct sfid__error *err) {
    struct sfid__search search;
    struct sfid__dir app;
    if (sfid__dir_open_sub(&app, row->run, row->app, err) < 0)
        return err->code;
    sfid__search_begin(&search, &app, 0, row->pids - 1);
    rc = try_all(slot, row, &search, rc, want, err);
    sfid__search_end(&search);
    sfid__dir_close(&app);
    if (rc != SFID_EBUSY)
        return rc;
    return sfid__fail(err, SFID_ENOPID,
                      "app \"%s\": %" PRIu64
                      " processes of this host hold a slot each in %s, and there are no more pids",
                      row->app, row->pids, row->run->path);
}

int sfid__numbered_take(struct sfid__slot *slot, struct sfid__numbered *row,
                        const struct sfid__slot_want *want, struct sfid__error *err) {
    bool goes_on;
    row->over->count = 0;
    row->number = 0;
    int rc = try(slot, row, row->pids == 1, want, &goes_on, err);
    if (goes_on)
        rc = go_on(slot, row, rc, want, err);
    return rc == SFID_ENOPID ? sfid__tell_passed_over(err, row->over) : rc;
}

void sfid__numbered_leave(const struct sfid__slot *slot) {
    uint64_t number;
    if (slot->dir.path && sfid__number(slot->name, strlen(slot->name), UINT64_MAX, &number) &&
        number > 0)
        sfid__hint_free(slot->dir.path, number);
}
