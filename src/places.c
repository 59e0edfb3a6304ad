/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <errno.h>

/* Pages and marks bear the same names: in one directory for both, pages lie in one of their own, whose name no app has. */
static int keep_apart(struct sfid__dir *run, const struct sfid__dir *state, struct sfid__error *err) {
    struct stat a, b;
    if (fstat(run->fd, &a) < 0 || fstat(state->fd, &b) < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot look at directory %s", run->path);
    if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return 0;
    struct sfid__dir both = *run;
    *run = (struct sfid__dir)SFID__DIR_NONE;
    const int rc = sfid__dir_open_sub(run, &both, ".run", err);
    sfid__dir_close(&both);
    return rc;
}

int sfid__places_open(struct sfid__dir *run, char machine[SFID__MACHINE_ID], const sfid_options *opt, struct sfid__error *err) {
    struct sfid__dir state = SFID__DIR_NONE;
    *run = (struct sfid__dir)SFID__DIR_NONE;
    int rc = sfid__dir_open_run(run, opt->run_dir, err);
    if (rc == 0)
        rc = sfid__dir_open_state(&state, opt->state_dir, err);
    if (rc == 0)
        rc = keep_apart(run, &state, err);
    if (rc == 0)
        rc = sfid__machine_id(&state, machine, err);
    sfid__dir_close(&state);
    return rc;
}
