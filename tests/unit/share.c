/* SPDX-License-Identifier: MIT */
/* A page and its pid are let go to others, and given back, while another process stays in a door, or has a lock for a moment. */
#include "lease/share.h"

#include "draw/record.h"
#include "id/layout.h"

#include "support/scene.h"

#define NAME "page"
#define STAY_MS 300

static const sfid_layout layout = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);
static struct sfid__dir run;
static struct sfid__holder h;
static struct sfid__generator g;
static int refused; /* how often the store still refuses */
static _Atomic int *inside;

/* ---- a store, whose mark somebody else has for a moment --------------------- */

static int let_in(struct sfid__store *store, uint64_t page, bool *by_fd, struct sfid__error *err) {
    (void)store, (void)page;
    *by_fd = false;
    return refused-- > 0 ? sfid__fail(err, SFID_EBUSY, "the mark's door is closed") : 0;
}

static bool is_last(struct sfid__store *store, struct sfid__slot *slot) {
    (void)store, (void)slot;
    return refused-- <= 0;
}

static const struct sfid__store_ops ops = {.share = let_in, .is_last = is_last};
static struct sfid__store store = {.ops = &ops, .terms = {.window = 1000}};

/* ---- a process in the door --------------------------------------------------- */

static int stay(void *ms) {
    struct sfid__dir app;
    struct sfid__error err;
    if (sfid__dir_open_sub(&app, &run, "app", &err) < 0)
        return 1;
    const int door = sfid__slot_door(NAME, &app, 0, &err);
    atomic_store(inside, 1);
    if (*(int *)ms > 0)
        usleep((useconds_t)(*(int *)ms) * 1000);
    while (*(int *)ms == 0 && atomic_load(inside) == 1)
        usleep(1000);
    if (door >= 0)
        sfid__door_leave(door);
    sfid__dir_close(&app);
    return door < 0;
}

/* ms 0: until inside is changed. */
static pid_t stay_inside(int ms) {
    atomic_store(inside, 0);
    const pid_t child = spawn(stay, &ms);
    while (!atomic_load(inside))
        usleep(1000);
    return child;
}

/* ---- tests -------------------------------------------------------------------- */

static void begin(int deadline_ms) {
    const struct sfid__slot_want want = {77, SFID__ANY_PID, UINT64_MAX, 0};
    const struct sfid__start start = {&layout, 1, UINT64_C(5000) << 12, 9000, 5000, 10, 0, 0, NULL, false};
    struct sfid__dir app;
    bool live;
    g.clock = &sfid__system_clock;
    h = (struct sfid__holder){.generator = &g, .store = &store, .deadline_ms = sfid__monotonic_ms(g.clock) + deadline_ms};
    need(sfid__dir_open_sub(&app, &run, "app", &h.error) >= 0 &&
             sfid__slot_join(&h.slot, &app, NAME, &want, &live, &h.error) >= 0 && !live,
         "no page: %s", h.error.text);
    sfid__record_append(h.slot.page, h.slot.records++, &start);
}

static void let_others_in(void) {
    begin(TAP_WAIT_MS);
    refused = 20;
    const pid_t child = stay_inside(STAY_MS);
    is_i64(sfid__share_let_in(&h), 0, "doors that are closed for a while are waited for: %s", h.error.text);
    ok(refused < 0, "that of the mark, too");
    is_i64(status_of(child), 0, "the other process leaves");
    ok(sfid__share_is_last(&h), "nobody came in, so this process is the last one");
    sfid__slot_drop(&h.slot);

    begin(100);
    refused = 0;
    const pid_t other = stay_inside(0);
    is_i64(sfid__share_let_in(&h), SFID_EBUSY, "but not beyond the time for opening");
    atomic_store(inside, 2);
    is_i64(status_of(other), 0, "the other process leaves");
    sfid__slot_drop(&h.slot);
}

/* A keeper reserved a record that crosses into the next block, and was stopped before it put memory there. */
static void memory_behind_records(void) {
    struct stat st;
    begin(TAP_WAIT_MS);
    refused = 0;
    uint32_t i = 1;
    while (sfid__page_bytes(i + 1) <= SFID__SLOT_BLOCK)
        i++;
    is_i64(sfid__share_let_in(&h), 0, "others are let in");
    is_i64(sfid__slot_reserve(&h.slot, i + 1, &h.error), 0, "the record behind is reserved");
    const int fd = sfid__slot_open_again(&h.slot);
    ok(fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_blocks * 512 >= sfid__page_bytes(i + 2), "and has memory");
    close(fd);
    sfid__slot_drop(&h.slot);
}

int main(void) {
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/run", tap_tmpdir());
    inside = shared_memory(sizeof *inside);
    need(sfid__dir_open_run(&run, dir, &h.error) >= 0, "%s", h.error.text);
    let_others_in();
    memory_behind_records();
    sfid__dir_close(&run);
    return done_testing();
}
