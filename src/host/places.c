/* SPDX-License-Identifier: MIT */
#include "host/places.h"

#include "base/clock.h"
#include "draw/page.h"

#include <inttypes.h>
#include <sys/resource.h>

#define MAKER_MS 500 /* how long another process may take to make the machine ID */

/* Pages and marks have the same names. If one directory serves both, pages get a subdirectory whose
 * name no app can have. */
static int keep_apart(struct sfid__dir *run, struct sfid__error *err) {
    struct sfid__dir both = *run;
    *run = (struct sfid__dir)SFID__DIR_NONE;
    const int rc = sfid__dir_open_sub(run, &both, ".run", err);
    sfid__dir_close(&both);
    return rc;
}

/* Runs before anything is made: the limit would cut a write off and leave half a file. */
static int check_file_size(struct sfid__error *err) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= SFID__MAP_SIZE)
        return 0;
    return sfid__fail(err, SFID_ESTATE,
                      "the limit on the size of files (RLIMIT_FSIZE, `ulimit -f`) is %" PRIu64
                      " bytes; a slot file needs %u",
                      (uint64_t)limit.rlim_cur, SFID__MAP_SIZE);
}

/* Reads the machine ID of a run directory, from a subdirectory whose name no app can have. */
static int read_run(const struct sfid__dir *run, int64_t until_ms, char machine[SFID__MACHINE_ID],
                    struct sfid__error *err) {
    struct sfid__dir place;
    int rc = sfid__dir_open_sub(&place, run, ".state", err);
    if (rc < 0)
        return rc;
    rc = sfid__machine_id(&place, until_ms, machine, err);
    sfid__dir_close(&place);
    return rc;
}

int sfid__places_open(struct sfid__dir *run, struct sfid__dir *state,
                      char machine[SFID__MACHINE_ID], const sfid_options *opt,
                      struct sfid__error *stateless, struct sfid__error *untrusted,
                      struct sfid__error *err) {
    const int64_t until_ms = sfid__deadline_now_ms() + SFID__MIN(MAKER_MS, opt->open_timeout_ms);
    untrusted->code = 0;
    *run = *state = (struct sfid__dir)SFID__DIR_NONE;
    int rc = check_file_size(err);
    if (rc == 0)
        rc = sfid__dir_open_run(run, opt->run_dir, err);
    if (rc == 0)
        rc = sfid__dir_open_state(state, opt->state_dir, err);
    if (rc == 0 && stateless == NULL)
        rc = sfid__dir_refuse_doubt(state, err);
    if (rc == 0 && sfid__dir_refuse_doubt(run, untrusted) == 0)
        (void)sfid__dir_refuse_doubt(state, untrusted);
    if (rc == 0 && run->device == state->device && run->inode == state->inode)
        rc = keep_apart(run, err);
    if (rc == 0)
        rc = sfid__machine_id(state, until_ms, machine, err);
    if (stateless)
        stateless->code = 0;
    if (rc != SFID_ESTATE || stateless == NULL || run->fd < 0)
        return rc;
    *stateless = *err;
    err->code = 0;
    return read_run(run, until_ms, machine, err);
}
