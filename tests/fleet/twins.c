/* SPDX-License-Identifier: MIT */
/*
 * Processes that look alike to the server: the same machine ID and the same slot number, in mount
 * namespaces with a run directory each, as containers of one image have it. They get different
 * pids, since what owns a lease is its token. Nor does a copy of a slot file make its reader an
 * owner: neither under another number, nor in another run directory, nor when the original is gone.
 */
#include "support/fleet.h"

#define LAYOUT "39:3:14/10ms"

enum { TWINS = 4 };

/* ---- namespaces -------------------------------------------------------------- */

static void mount_run_dir(struct member *m) {
    must(own_mounts() && mount_tmpfs(m->opt.run_dir, "size=8m"),
         "cannot mount a file system on %s: %s", m->opt.run_dir, strerror(errno));
}

static void test_namespaces(struct redis *r) {
    const sfid_options opt = fleet_options(r, "twins", &layout);
    struct member *all = members_new(TWINS, &opt);
    bool taken[8] = {false};
    unsigned failed = 0, shared = 0, strange = 0, mute = 0;
    for (int i = 0; i < TWINS; i++) {
        all[i].prepare = mount_run_dir;
        member_start(&all[i]);
    }
    for (int i = 0; i < TWINS; i++) {
        failed += !flag_wait(&all[i].opened, 1, TAP_WAIT_MS) || all[i].rc != 0;
        const int64_t pid = atomic_load(&all[i].pid) & 7;
        shared += taken[pid];
        taken[pid] = true;
    }
    is_u64(failed, 0, "%d processes in mount namespaces of their own all get a pid", TWINS);
    is_u64(shared, 0, "none of them that of another");
    for (int i = 0; i < TWINS; i++)
        mute += !member_event(&all[i], SFID_EVENT_RENEWED, 0, TAP_WAIT_MS) ||
                !member_draws(&all[i], 100, TAP_WAIT_MS);
    is_u64(mute, 0, "all go on past a renewal");
    for (int i = 0; i < TWINS; i++) {
        failed += member_end(&all[i]) != 0 || atomic_load(&all[i].errors) != 0 ||
                  events_of(&all[i], SFID_EVENT_LOST) != 0;
        strange += strcmp(all[i].status.identity, all[0].status.identity) != 0;
    }
    is_u64(failed, 0, "no call fails, no pid is lost");
    is_u64(strange, 0, "and all went by one identity");
    diag("all are %s", all[0].status.identity);
    judge(LAYOUT, "per-file", UINT64_MAX, "twins");
}

/* ---- copies ------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void command(const char *fmt, ...) {
    char text[9000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    must(system(text) == 0, "%s", text);
}

/* What opens on the copy: not with the pid of the original, which goes on, or whose window is not
 * over. */
static void open_copy(const sfid_options *opt, int64_t pid, int64_t last, const char *what) {
    struct member *m = members_new(1, opt);
    is_i64(member_open_one(m), 0, "%s: a process opens there", what);
    ok(atomic_load(&m->pid) != pid, "%s: with another pid", what);
    ok(member_draws(m, 10, TAP_WAIT_MS), "%s: and draws", what);
    const struct seen *e = member_event(m, SFID_EVENT_SLOT_REPLACED, 0, TAP_WAIT_MS);
    ok(e != NULL, "%s: it is told that the file was of no use", what);
    if (e)
        diag("%s: %s", what, e->text);
    ok(member_event(m, SFID_EVENT_RENEWED, 0, TAP_WAIT_MS) != NULL, "%s: its lease is renewed",
       what);
    ok(m->first_id != last, "%s: nothing of the original's is drawn again", what);
    is_i64(member_end(m), 0, "%s: ends well", what);
}

static void test_copies(struct redis *r) {
    const sfid_options opt = fleet_options(r, "copies", &layout);
    struct member *m = members_new(1, &opt);
    m->leaves = true;
    must(member_open_one(m) == 0 && member_draws(m, 100, TAP_WAIT_MS), "open: %s", m->text);
    const int64_t pid = atomic_load(&m->pid);
    command("cp -a %s/copies/0 %s/copies/1", dirs.run, dirs.run);
    open_copy(&opt, pid, atomic_load(&m->last_id), "under another number");
    sfid_options elsewhere = opt;
    on_host(&elsewhere, 1);
    elsewhere.state_dir = opt.state_dir; /* the same machine */
    command("rm -rf %s && mkdir -m 700 %s && cp -a %s/copies %s", elsewhere.run_dir,
            elsewhere.run_dir, dirs.run, elsewhere.run_dir);
    open_copy(&elsewhere, pid, atomic_load(&m->last_id), "in another run directory");
    ok(member_draws(m, 10, TAP_WAIT_MS), "the original goes on");
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "and has lost nothing");
    member_kill(m);
    command(
        "cp -a %s/copies/0 %s/copy && rm -r %s/copies && mkdir -m 700 %s/copies && cp -a %s/copy %s/copies/0",
        dirs.run, dirs.shm, dirs.run, dirs.run, dirs.shm, dirs.run);
    open_copy(&opt, pid, atomic_load(&m->last_id), "in the place of the original, which is dead");
    judge(LAYOUT, "per-file", UINT64_MAX, "copies");
}

int main(void) {
    fleet_begin(LAYOUT);
    if (can_mount())
        on_servers(0, 0, test_namespaces);
    else
        skip(1, "cannot mount a file system here");
    on_servers(1, 0, test_copies);
    return done_testing();
}
