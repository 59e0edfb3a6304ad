/* SPDX-License-Identifier: MIT */
/*
 * Functions of src/host and src/redis, each by itself: each call that can fail fails in turn, with
 * each of its errors, also with all calls of its kind after it. Whatever comes of that, as many
 * descriptors, threads, blocks of memory and mapped bytes are there as before. Whole opens,
 * renewals and closes are looked at by local.c and redis.c.
 */
#include "host/mark.h"
#include "host/slot.h"
#include "redis/wire.h"
#include "support/local.h"
#include "support/part.h"
#include "support/peer.h"

enum { PAGE = 5, FINGERPRINT = 77, COMPLAINTS = 12, ASK_MS = 500 };

static struct sfid__dir app, run_dir; /* of marks, of slots */
static struct sfid__error err;
static struct sfid__position said;
static struct sfid__mark mark; /* held, where the function is about one */
static struct sfid__slot slot; /* likewise */
static struct sfid__file_id file;
static struct sfid__uri uri;
static struct peer peer;
/* set ahead: the test's own looks at the clock are not to fail */
static struct sfid__deadline until;

static const struct sfid__mark_want alone = {1, FINGERPRINT, true, false, INT64_MAX},
                                    shared = {1, FINGERPRINT, true, true, INT64_MAX};

/* ---- marks ------------------------------------------------------------------ */

static void hold_mark(const struct sfid__mark_want *want) {
    need(sfid__mark_take(&mark, &app, want, &said, &err) == 0 &&
             sfid__mark_write(&mark, (struct sfid__position){.word = 1000, .page_nonce = PAGE},
                              &err) == 0,
         "no mark: %s", err.text);
}

static void set_mark(void) { hold_mark(&alone); }

static void set_shared_mark(void) {
    bool by_fd;
    hold_mark(&shared);
    need(sfid__mark_share(&mark, &by_fd, &err) == 0, "no shared mark: %s", err.text);
}

static void end_mark(void) { sfid__mark_drop(&mark); }

static void take_mark(struct sfid__error *why) {
    struct sfid__mark m;
    if (sfid__mark_take(&m, &app, &alone, &said, why) == 0)
        sfid__mark_drop(&m);
}

static void write_mark(struct sfid__error *why) {
    sfid__mark_write(&mark, (struct sfid__position){.word = 2000, .page_nonce = PAGE}, why);
}

static void see_mark(struct sfid__error *unused) {
    (void)unused;
    (void)!sfid__mark_in_place(&mark, &said);
}

static void join_as(uint64_t page, bool by_fd, struct sfid__error *why) {
    struct sfid__mark m;
    if (sfid__mark_join(&m, &app, &shared, page, by_fd, why) == 0)
        sfid__mark_drop(&m);
}

static void join_mark(struct sfid__error *why) { join_as(PAGE, false, why); }

static void join_by_descriptor(struct sfid__error *why) { join_as(PAGE, true, why); }

static void join_another_page(struct sfid__error *why) { join_as(PAGE + 1, false, why); }

/* ---- files ------------------------------------------------------------------- */

static void set_file(void) {
    struct stat st;
    need(sfid__file_publish(&app, "file", "content", true, &err) >= 0 &&
             linkat(app.fd, "file", app.fd, "other", 0) >= 0 &&
             fstatat(app.fd, "file", &st, 0) >= 0,
         "no file: %s", err.text);
    file = sfid__file_id(&st);
}

static void end_file(void) {
    unlinkat(app.fd, "file", 0);
    unlinkat(app.fd, "other", 0);
}

static void remove_others(struct sfid__error *unused) {
    (void)unused;
    sfid__file_remove_others(&app, "file", &file);
}

static void publish(struct sfid__error *why) {
    sfid__file_publish(&app, "published", "content", true, why);
}

static void end_published(void) { unlinkat(app.fd, "published", 0); }

static void read_file(struct sfid__error *why) {
    char text[100];
    sfid__file_read(&app, "file", text, sizeof text, why);
}

static void enter_door(struct sfid__error *why) {
    sfid__door_leave(sfid__door_enter(&app, 1, INT64_MAX, why));
}

/* ---- slots -------------------------------------------------------------------- */

static int take_slot_as(struct sfid__slot *s) {
    struct sfid__dir dir = SFID__DIR_NONE;
    if (sfid__dir_open_sub(&dir, &run_dir, "orders", &err) < 0)
        return err.code;
    return sfid__slot_take(s, &dir, "pid-1",
                           &(struct sfid__slot_want){FINGERPRINT, 1, UINT64_MAX, INT64_MAX}, &err);
}

static void set_slot(void) { need(take_slot_as(&slot) == 0, "no slot: %s", err.text); }

static void end_slot(void) { sfid__slot_drop(&slot); }

static void look_at_slot(struct sfid__error *unused) {
    (void)unused;
    (void)!sfid__slot_in_place(&slot);
}

static void open_slot_again(struct sfid__error *unused) {
    (void)unused;
    const int fd = sfid__slot_open_again(&slot);
    if (fd >= 0)
        close(fd);
}

static void be_last_in_slot(struct sfid__error *unused) {
    (void)unused;
    (void)!sfid__slot_is_last(&slot);
    sfid__held_drop(&slot.held); /* as sfid__slot_leave() does */
}

static void map_slot_again(struct sfid__error *unused) {
    (void)unused;
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
    until = (struct sfid__deadline){.at_ms = tap_now_ms() + ASK_MS};
    need(sfid__uri_parse(peer.url, &uri, &err) >= 0, "%s", err.text);
}

static void end_server(void) { stop_peer(&peer); }

static void ask_server(struct sfid__error *unused) {
    (void)unused;
    struct sfid__deadline deadline = until;
    struct sfid__resolver resolver = {0};
    (void)!sfid__wire_speaks_tls(&uri, &resolver, 0, &deadline);
    sfid__resolver_drop(&resolver);
}

static void set_name(void) {
    char url[80];
    peer = start_peer(true, serve_nothing);
    until = (struct sfid__deadline){.at_ms = tap_now_ms() + TAP_WAIT_MS};
    snprintf(url, sizeof url, "redis://localhost:%d", peer.port);
    need(sfid__uri_parse(url, &uri, &err) >= 0, "%s", err.text);
}

static void connect_to_server(struct sfid__error *why) {
    struct sfid__deadline deadline = until;
    struct sfid__resolver resolver = {0};
    struct sfid__wire w = SFID__WIRE_NONE;
    if (sfid__wire_open(&w, &uri, &resolver, 0, &deadline, why) == SFID__REPLY_OK)
        why->code = 0;
    sfid__wire_close(&w);
    sfid__resolver_drop(&resolver);
}

static bool is_resolved(void *unused) {
    int threads;
    (void)unused;
    thread_named(getpid(), "sfid-resolve", &threads);
    return threads == 0;
}

/* Nobody joins the thread that looks up a name. */
static void await_resolver(void) { tap_wait_until(is_resolved, NULL, TAP_WAIT_MS); }

/* ---- all of them ---------------------------------------------------------------- */

static const struct part parts[] = {
    {.name = "take a mark", .run = take_mark},
    {.name = "write a mark", .set = set_mark, .run = write_mark, .end = end_mark},
    {.name = "look at a mark", .set = set_mark, .run = see_mark, .end = end_mark},
    {.name = "join a mark", .set = set_shared_mark, .run = join_mark, .end = end_mark},
    {.name = "join a mark by its descriptor",
     .set = set_shared_mark,
     .run = join_by_descriptor,
     .end = end_mark,
     .keeps = true},
    {.name = "join the mark of another page",
     .set = set_shared_mark,
     .run = join_another_page,
     .end = end_mark},
    {.name = "remove the other names of a file",
     .set = set_file,
     .run = remove_others,
     .end = end_file},
    {.name = "publish a file", .run = publish, .end = end_published},
    {.name = "read a file", .set = set_file, .run = read_file, .end = end_file},
    {.name = "enter a door", .run = enter_door},
    {.name = "look at a slot", .set = set_slot, .run = look_at_slot, .end = end_slot},
    {.name = "open a slot again", .set = set_slot, .run = open_slot_again, .end = end_slot},
    {.name = "map a slot again", .set = set_slot, .run = map_slot_again, .end = end_slot},
    {.name = "be the last that holds a slot",
     .set = set_slot,
     .run = be_last_in_slot,
     .end = end_slot,
     .keeps = true},
    {.name = "connect to a server by its name",
     .set = set_name,
     .run = connect_to_server,
     .undo = await_resolver,
     .end = end_server,
     .keeps = true},
    {.name = "ask a server whether it speaks TLS",
     .set = set_server,
     .run = ask_server,
     .end = end_server,
     .keeps = true},
};

int main(void) {
    char state[4300];
    dirs_make();
    inject = shared_memory(sizeof *inject);
    need(sfid__dir_open_run(&run_dir, dirs.run, &err) >= 0, "%s", err.text);
    struct sfid__dir all;
    snprintf(state, sizeof state, "%s/marks", dirs.shm);
    need(sfid__dir_open_state(&all, state, &err) >= 0 &&
             sfid__dir_open_sub(&app, &all, "orders", &err) >= 0,
         "%s", err.text);
    inject_begin();
    for (size_t i = 0; i < COUNT(parts); i++)
        part_test(&parts[i], 1);
    parts_end();
    sfid__dir_close(&app);
    sfid__dir_close(&all);
    sfid__dir_close(&run_dir);
    return done_testing();
}
