/* SPDX-License-Identifier: MIT */
/*
 * Functions of src/host and src/redis, each by itself: each call that can fail fails in turn, with each of its errors, also
 * with all calls of its kind after it. Whatever comes of that, as many descriptors, threads, blocks of memory and mapped bytes
 * are there as before. Whole opens, renewals and closes are looked at by local.c and redis.c.
 */
#include "host/mark.h"
#include "host/slot.h"
#include "redis/wire.h"
#include "support/inject.h"
#include "support/peer.h"
#include "support/proc.h"

enum { PAGE = 5, FINGERPRINT = 77, COMPLAINTS = 12, ASK_MS = 500 };

static struct sfid__dir app, run_dir; /* of marks, of slots */
static struct sfid__error err;
static struct sfid__position said;
static struct sfid__mark mark; /* held, where the function is about one */
static struct sfid__slot slot; /* likewise */
static struct sfid__file_id file;
static struct sfid__uri uri;
static struct peer peer;

static const struct sfid__mark_want alone = {1, FINGERPRINT, true, false, INT64_MAX},
                                    shared = {1, FINGERPRINT, true, true, INT64_MAX};

/* ---- marks ------------------------------------------------------------------ */

static void hold_mark(const struct sfid__mark_want *want) {
    need(sfid__mark_take(&mark, &app, want, &said, &err) == 0 &&
             sfid__mark_write(&mark, (struct sfid__position){.word = 1000, .page = PAGE}, &err) == 0,
         "no mark: %s", err.text);
}

static void set_mark(void) { hold_mark(&alone); }

static void set_shared_mark(void) {
    bool by_fd;
    hold_mark(&shared);
    need(sfid__mark_share(&mark, &by_fd, &err) == 0, "no shared mark: %s", err.text);
}

static void end_mark(void) { sfid__mark_drop(&mark); }

static void take_mark(void) {
    struct sfid__mark m;
    if (sfid__mark_take(&m, &app, &alone, &said, &err) == 0)
        sfid__mark_drop(&m);
}

static void write_mark(void) { sfid__mark_write(&mark, (struct sfid__position){.word = 2000, .page = PAGE}, &err); }

static void see_mark(void) { (void)!sfid__mark_in_place(&mark, &said); }

static void join_as(uint64_t page, bool by_fd) {
    struct sfid__mark m;
    if (sfid__mark_join(&m, &app, &shared, page, by_fd, &err) == 0)
        sfid__mark_drop(&m);
}

static void join_mark(void) { join_as(PAGE, false); }

static void join_by_descriptor(void) { join_as(PAGE, true); }

static void join_another_page(void) { join_as(PAGE + 1, false); }

/* ---- files ------------------------------------------------------------------- */

static void set_file(void) {
    struct stat st;
    need(sfid__file_publish(&app, "file", "content", &err) >= 0 && linkat(app.fd, "file", app.fd, "other", 0) >= 0 &&
             fstatat(app.fd, "file", &st, 0) >= 0,
         "no file: %s", err.text);
    file = sfid__file_id(&st);
}

static void end_file(void) {
    unlinkat(app.fd, "file", 0);
    unlinkat(app.fd, "other", 0);
}

static void remove_others(void) { sfid__file_remove_others(&app, "file", &file); }

static void publish(void) { sfid__file_publish(&app, "published", "content", &err); }

static void end_published(void) { unlinkat(app.fd, "published", 0); }

static void read_file(void) {
    char text[100];
    sfid__file_read(&app, "file", text, sizeof text, &err);
}

static void enter_door(void) { sfid__door_leave(sfid__door_enter(&app, 1, INT64_MAX, &err)); }

/* ---- slots -------------------------------------------------------------------- */

static int take_slot_as(struct sfid__slot *s) {
    struct sfid__dir dir = SFID__DIR_NONE;
    if (sfid__dir_open_sub(&dir, &run_dir, "orders", &err) < 0)
        return err.code;
    return sfid__slot_take(s, &dir, "pid-1", &(struct sfid__slot_want){FINGERPRINT, 1, UINT64_MAX, INT64_MAX}, &err);
}

static void set_slot(void) { need(take_slot_as(&slot) == 0, "no slot: %s", err.text); }

static void end_slot(void) { sfid__slot_drop(&slot); }

static void look_at_slot(void) { (void)!sfid__slot_in_place(&slot); }

static void open_slot_again(void) {
    const int fd = sfid__slot_open_again(&slot);
    if (fd >= 0)
        close(fd);
}

static void be_last_in_slot(void) {
    (void)!sfid__slot_is_last(&slot);
    sfid__file_relock(&slot.alone_fd, &slot.id, LOCK_UN); /* as sfid__slot_leave() does */
}

static void map_slot_again(void) {
    const int fd = sfid__slot_map_again(&slot);
    if (fd >= 0)
        close(fd);
}

/* ---- a server ------------------------------------------------------------------ */

/* The begin of a TLS alert, then the end. */
static void serve_alert(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    say(fd, "\x15\x03\x03", 3);
}

static void set_server(void) {
    peer = start_peer(true, serve_alert);
    need(sfid__uri_parse(peer.url, &uri, &err) >= 0, "%s", err.text);
}

static void end_server(void) { stop_peer(&peer); }

static void ask_server(void) {
    struct sfid__deadline deadline = {.at_ms = tap_now_ms() + ASK_MS};
    struct sfid__resolver resolver = {0};
    (void)!sfid__wire_speaks_tls(&uri, &resolver, 0, &deadline);
    sfid__resolver_drop(&resolver);
}

/* ---- all of them ---------------------------------------------------------------- */

static const struct part {
    const char *name;
    void (*set)(void), (*run)(void), (*end)(void); /* set, end: may be NULL; their calls do not fail */
    bool keeps; /* a descriptor, which it looks at before it closes it: one that cannot be looked at stays open, as it may be the
                   program's by now */
} parts[] = {
    {"take a mark", NULL, take_mark, NULL, false},
    {"write a mark", set_mark, write_mark, end_mark, false},
    {"look at a mark", set_mark, see_mark, end_mark, false},
    {"join a mark", set_shared_mark, join_mark, end_mark, false},
    {"join a mark by its descriptor", set_shared_mark, join_by_descriptor, end_mark, true},
    {"join the mark of another page", set_shared_mark, join_another_page, end_mark, false},
    {"remove the other names of a file", set_file, remove_others, end_file, false},
    {"publish a file", NULL, publish, end_published, false},
    {"read a file", set_file, read_file, end_file, false},
    {"enter a door", NULL, enter_door, NULL, false},
    {"look at a slot", set_slot, look_at_slot, end_slot, false},
    {"open a slot again", set_slot, open_slot_again, end_slot, false},
    {"map a slot again", set_slot, map_slot_again, end_slot, false},
    {"be the last that holds a slot", set_slot, be_last_in_slot, end_slot, true},
    {"ask a server whether it speaks TLS", set_server, ask_server, end_server, true},
};

struct has {
    int fds, threads;
    struct inject_live live;
};

static struct has has(void) { return (struct has){count_fds(), count_threads(), inject_live()}; }

static const char *shown(int error) { return error == INJECT_PART ? "a part of the bytes" : strerror(error); }

static unsigned bad;

/* Complains of what is left, with the call that failed. */
static void compare(const struct part *p, const struct inject_plan *plan, const struct has *then, const struct has *now) {
    const int fds = now->fds - then->fds, blocks = now->live.blocks - then->live.blocks;
    const int bytes = now->live.map_bytes - then->live.map_bytes;
    const int streams = now->live.streams - then->live.streams, threads = now->threads - then->threads;
    if (fds == 0 && blocks == 0 && bytes == 0 && streams == 0 && threads == 0)
        return;
    if (bad++ < COMPLAINTS)
        diag("%s: %s %u%s has %s: %+d descriptors, %+d blocks, %+d mapped bytes, %+d streams, %+d threads", p->name,
             plan->call ? inject_names[plan->kind] : "no call", plan->call, plan->all ? " and later ones" : "", shown(plan->error),
             fds, blocks, bytes, streams, threads);
}

/* Returns whether the call came. */
static bool trial(const struct part *p, const struct inject_plan *plan) {
    memset((void *)inject->calls, 0, sizeof inject->calls);
    atomic_store(&inject->hits, 0);
    inject->plan = *plan;
    inject_enter();
    if (p->set)
        p->set();
    const struct has then = has();
    inject_arm();
    p->run();
    inject_disarm();
    const struct has now = has();
    compare(p, plan, &then, &now);
    if (p->end)
        p->end();
    inject_leave();
    return atomic_load(&inject->hits) > 0;
}

static void test(const struct part *p) {
    uint32_t calls[INJECT_KINDS];
    unsigned trials = 0;
    bad = 0;
    trial(p, &(struct inject_plan){.call = 0}); /* what a process keeps for good is there after the first */
    bad = 0;
    trial(p, &(struct inject_plan){.call = 0});
    is_i64(bad, 0, "%s: nothing is left", p->name);
    for (int kind = 0; kind < INJECT_KINDS; kind++)
        calls[kind] = p->keeps && kind == INJECT_fstat64 ? 0 : atomic_load(&inject->calls[INJECT_CALLER][kind]);
    for (int kind = 0; kind < INJECT_KINDS; kind++)
        for (uint32_t call = 1; call <= calls[kind]; call++)
            for (int i = 0; i < INJECT_ERRORS && inject_errors[kind][i] != 0; i++) {
                struct inject_plan plan = {INJECT_CALLER, (enum inject_kind)kind, call, inject_errors[kind][i], false};
                trials += trial(p, &plan);
                plan.all = plan.error != EINTR && plan.error != INJECT_PART && kind != INJECT_clock_gettime;
                trials += plan.all && trial(p, &plan);
            }
    ok(bad == 0 && trials > 0, "%s: %u failures leave nothing either", p->name, trials);
}

int main(void) {
    char state[4300];
    dirs_make();
    inject = shared_memory(sizeof *inject);
    need(sfid__dir_open_run(&run_dir, dirs.run, &err) >= 0, "%s", err.text);
    struct sfid__dir all;
    snprintf(state, sizeof state, "%s/marks", dirs.shm);
    need(sfid__dir_open_state(&all, state, &err) >= 0 && sfid__dir_open_sub(&app, &all, "orders", &err) >= 0, "%s", err.text);
    inject_begin();
    for (size_t i = 0; i < COUNT(parts); i++)
        test(&parts[i]);
    sfid__dir_close(&app);
    sfid__dir_close(&all);
    sfid__dir_close(&run_dir);
    return done_testing();
}
