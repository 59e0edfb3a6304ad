/* SPDX-License-Identifier: MIT */
/*
 * All events there are, in one table: what raises each, done here to a real server, the clock, or a
 * directory, and the event waited for. What their fields say is in tests/fleet/events.c and
 * tests/proc/events.c.
 *
 * The host's clock is moved by a preloaded shim, the server's by one of its own.
 */
#include "support/fleet.h"

#include "support/disk.h"

#include <sys/vfs.h>

#define LAYOUT "39:3:14/10ms"
#define DAY_MS INT64_C(86400000)

enum {
    MOST = 1000,
    TMPFS = 0x01021994,
    HEARTBEAT = 300,
    SKEW_MS = 2000,
    TTL = 4000 /* a server that comes back with nothing has to wait for one */
};

static struct {
    struct redis *redis;
    sfid_options opt; /* of the generator that is open */
    sfid *g;
    atomic_int n;
    sfid_event_kind seen[MOST];
    char text[MOST][200];
    int from; /* events before are of earlier rows */
} scene;

static void hear_all(void *user, const sfid_event *e) {
    (void)user;
    const int n = atomic_load(&scene.n);
    if (n >= MOST)
        return;
    scene.seen[n] = e->kind;
    snprintf(scene.text[n], sizeof scene.text[n], "%s", e->text);
    atomic_store(&scene.n, n + 1);
}

/* A generator, the one before closed. */
static void begin(const sfid_options *opt) {
    sfid_close(scene.g);
    scene.opt = *opt;
    scene.opt.on_event = hear_all;
    scene.opt.max_wait_ms = CALL_MS; /* the event comes while calls are still made */
    scene.from = atomic_load(&scene.n);
    must(sfid_open(&scene.g, &scene.opt) == 0, "open: %s", sfid_last_error(scene.g));
}

/* Whether an event of the kind is there; calls are made meanwhile. */
static bool is_there(void *kind) {
    (void)!sfid_next(scene.g);
    for (int i = scene.from; i < atomic_load(&scene.n); i++)
        if (scene.seen[i] == *(const sfid_event_kind *)kind)
            return true;
    return false;
}

/* ---- what raises them ----------------------------------------------------- */

static void open_with_server(void) {
    const sfid_options opt = fleet_lease(scene.redis, "raised", TTL, HEARTBEAT);
    begin(&opt);
}

static void nothing(void) {}

/*
 * In batches: where the shim's clock is slow, single calls do not use a tick up. A tick that the
 * clock has not reached fails the same way, and is not counted. So one failure is not enough.
 */
static bool is_there_after_a_tick(void *kind) {
    static int64_t ids[4096];
    int64_t got = 0;
    for (int i = 0; i < 10000 && got != SFID_EAGAIN; i++)
        got = sfid_next_n(scene.g, ids, COUNT(ids));
    return is_there(kind);
}

static void draw_all(void) {
    sfid_options opt = fleet_options(scene.redis, "exhausted", &layout);
    opt.exhaustion = SFID_FAIL;
    opt.heartbeat_ms = HEARTBEAT;
    begin(&opt);
    sfid_event_kind kind = SFID_EVENT_EXHAUSTED;
    tap_wait_until(is_there_after_a_tick, &kind, TAP_WAIT_MS);
}

static void set_host_back(void) {
    open_with_server();
    (void)!sfid_next(scene.g);
    atomic_fetch_sub(&disk.control->clock_offset_ns, 1800 * (int64_t)NS_PER_MS);
}

static void set_server_back(void) {
    atomic_store(&disk.control->clock_offset_ns, 0);
    open_with_server();
    redis_clock_offset(scene.redis, -SKEW_MS);
}

static void kill_server(void) {
    redis_clock_offset(scene.redis, 0);
    redis_kill(scene.redis);
}

static void restart_server(void) { redis_restart(scene.redis, true); }

/* The record of another, as one that took the pid over would leave it. */
static void take_pid(void) {
    char field[24];
    open_with_server();
    snprintf(field, sizeof field, "%" PRId64, sfid_pid(scene.g));
    redis_do(scene.redis, "HSET", "sfid:raised", field, "99999999999 n other:0:x", NULL);
}

static void spoil_slot(void) {
    char path[4400];
    sfid_close(scene.g);
    scene.g = NULL;
    snprintf(path, sizeof path, "%s/raised/0", dirs.run);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    must(fd >= 0 && pwrite(fd, "nonsense", 8, 8) == 8 && close(fd) == 0, "%s: %s", path,
         strerror(errno));
    open_with_server();
}

static void use_local(void) {
    const sfid_options opt = local_options("unsynced", "local?mark=none", &layout);
    begin(&opt);
}

static void near_the_end(void) {
    static sfid_layout ending;
    char text[80];
    snprintf(text, sizeof text, "35:4:8/1ms@%" PRIi64,
             wall_ns() / NS_PER_MS - (INT64_C(1) << 35) + 200 * DAY_MS);
    ending = layout_of(text);
    const sfid_options opt = fleet_options(scene.redis, "ending", &ending);
    begin(&opt);
}

static char on_disk[4400]; /* a run directory that is on no tmpfs; "": there is none */

static void run_on_disk(void) {
    sfid_options opt = fleet_options(scene.redis, "disk", &layout);
    if (on_disk[0])
        opt.run_dir = on_disk;
    begin(&opt);
}

/* Below a directory that others may write to. */
static void run_below_others(void) {
    static char above[200], run[240];
    sfid_options opt = fleet_options(scene.redis, "below", &layout);
    snprintf(above, sizeof above, "%s/others", dirs.shm);
    snprintf(run, sizeof run, "%s/run", above);
    must((mkdir(above, 0700) == 0 || errno == EEXIST) && chmod(above, 0777) == 0, "%s: %s", above,
         strerror(errno));
    opt.run_dir = run;
    begin(&opt);
}

static void want_replica(void) {
    static char store[300];
    sfid_options opt = fleet_options(scene.redis, "replicas", &layout);
    snprintf(store, sizeof store, "unix://%s?replicas=1&timeout=300ms", scene.redis->socket);
    opt.store = store;
    begin(&opt);
}

static void spoil_mark(void) {
    char path[4400];
    snprintf(path, sizeof path, "%s/unusable", dirs.state);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/unusable/pid-0", dirs.state);
    mkdir(path, 0700); /* a directory is no mark */
    const sfid_options opt = local_options("unusable", "local", &layout);
    begin(&opt);
}

/* What a program that goes by registrations alone writes when ours was lost. */
static void meet_stranger(void) {
    char key[100];
    open_with_server();
    const char *const args[] = {"SET", key, "rust-host"};
    const size_t sizes[] = {3, registration_of("raised", sfid_pid(scene.g), key), 9};
    reply_free(redis_ask_n(scene.redis, 3, args, sizes));
}

static void share_page(void) {
    sfid_options opt = local_options("shared", "local?share=1&lead_ms=200", &layout);
    opt.max_ahead_ms = 0;
    begin(&opt);
    for (int i = 0; i < 40; i++, nap_us(10000))
        (void)!sfid_next(scene.g);
}

static void use_no_state_dir(void) {
    sfid_options opt = fleet_options(scene.redis, "stateless", &layout);
    opt.state_dir = "/proc/sfid-state"; /* where nobody can make anything */
    begin(&opt);
}

static void close_without_server(void) {
    sfid_status_info st;
    open_with_server();
    (void)!sfid_next(scene.g);
    redis_kill(scene.redis);
    sfid_close(scene.g);
    ok(sfid_status(scene.g, &st) == 0 && st.left == 1 && st.open == 0,
       "the status of the closed handle says so, too");
    redis_restart(scene.redis, true);
}

/* ---- all of them ---------------------------------------------------------- */

#define EVENT(kind, by, act) \
    { SFID_EVENT_##kind, by, act }

static const struct {
    sfid_event_kind kind;
    const char *by;
    void (*act)(void);
} table[] = {
    EVENT(CONNECTED, "a server answers", open_with_server),
    EVENT(LEASED, "it grants a pid", nothing),
    EVENT(RENEWED, "it extends the window", nothing),
    EVENT(EXHAUSTED, "more calls in a tick than the layout has numbers", draw_all),
    EVENT(REGRESSION, "the host's clock is set back", set_host_back),
    EVENT(SKEW, "the server's clock is set", set_server_back),
    EVENT(DISCONNECTED, "the server is killed", kill_server),
    EVENT(RENEW_FAILED, "and stays away at the next heartbeat", nothing),
    EVENT(FAILOVER, "it comes back with nothing", restart_server),
    EVENT(LOST, "another has the pid", take_pid),
    EVENT(LEASED_AGAIN, "the server grants another", nothing),
    EVENT(SLOT_REPLACED, "the slot's file was written to", spoil_slot),
    EVENT(END_OF_LIFE, "the layout ends in 200 days, by the clock", near_the_end),
    EVENT(NOT_DURABLE, "local?mark=none", use_local),
    EVENT(NOT_TMPFS, "a run directory on a disk", run_on_disk),
    EVENT(UNREPLICATED, "a replica is wanted, and there is none", want_replica),
    EVENT(UNUSABLE, "a directory lies where a mark should", spoil_mark),
    EVENT(FOREIGN, "a program without records has registered a pid", meet_stranger),
    EVENT(KEEPS, "a page is shared, and half of its window has gone", share_page),
    EVENT(NO_STATE_DIR, "a state directory that cannot be made", use_no_state_dir),
    EVENT(UNTRUSTED, "a run directory below one that others may write to", run_below_others),
    EVENT(LEFT, "a generator is closed when its server is dead", close_without_server),
};

static void find_disk(void) {
    struct statfs fs;
    const bool tmp = statfs(dirs.state, &fs) == 0 && fs.f_type == TMPFS;
    if (!tmp)
        snprintf(on_disk, sizeof on_disk, "%s-run", dirs.state);
    else if (statfs(".", &fs) == 0 && fs.f_type != TMPFS)
        snprintf(on_disk, sizeof on_disk, "tests/fleet/raised-run");
}

static void raise_all(struct redis *r) {
    scene.redis = r;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        sfid_event_kind kind = table[i].kind;
        if (kind == SFID_EVENT_NOT_TMPFS && on_disk[0] == '\0') {
            skip(1, "no file system here but tmpfs");
            continue;
        }
        const int before = atomic_load(&scene.n);
        if (table[i].act != nothing)
            scene.from = before;
        table[i].act();
        if (ok(tap_wait_until(is_there, &kind, TAP_WAIT_MS), "%s: %s", sfid_event_name(kind),
               table[i].by))
            for (int k = scene.from; k < atomic_load(&scene.n); k++)
                if (scene.seen[k] == kind) {
                    diag("%s: %s", sfid_event_name(kind), scene.text[k]);
                    break;
                }
    }
    sfid_close(scene.g);
    scene.g = NULL;
    atomic_store(&disk.control->clock_offset_ns, 0);
    if (on_disk[0])
        remove_tree(on_disk);
}

static void check_table(void) {
    for (int kind = 1; kind < SFID_EVENT_KINDS; kind++) {
        int rows = 0;
        for (size_t i = 0; i < COUNT_OF(table); i++)
            rows += (int)table[i].kind == kind;
        is_i64(rows, 1, "%s has a row", sfid_event_name((sfid_event_kind)kind));
    }
}

int main(void) {
    uint64_t rng = 0;
    dirs_make();
    disk_begin(&rng);
    go_on_with_shim();
    fleet_begin(LAYOUT);
    find_disk();
    check_table();
    on_servers(0, REDIS_CLOCK, raise_all);
    return done_testing();
}
