/* SPDX-License-Identifier: MIT */
/*
 * A page and its pid are let go to others, and given back, while another process stays in a door,
 * or has a lock for a moment. Who finds pages held waits for one after the other.
 */
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

static bool is_last(struct sfid__store *store) {
    (void)store;
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
    const struct sfid__start start = {&layout, 1, UINT64_C(5000) << 12, 9000, 5000, 10, 0, 0, NULL,
                                      false,   0};
    struct sfid__dir app;
    bool live;
    g.clock = &sfid__system_clock;
    h = (struct sfid__holder){
        .generator = &g, .store = &store, .deadline_ms = sfid__monotonic_ms(g.clock) + deadline_ms};
    need(sfid__dir_open_sub(&app, &run, "app", &h.error) >= 0 &&
             sfid__slot_join(&h.slot, &app, NAME, &want, &live, &h.error) >= 0 && !live,
         "no page: %s", h.error.text);
    sfid__record_append(h.slot.page, h.slot.records++, &start);
}

static void let_others_in(void) {
    begin(TAP_WAIT_MS);
    refused = 20;
    const pid_t child = stay_inside(STAY_MS);
    is_i64(sfid__share_let_in(&h), 0, "doors that are closed for a while are waited for: %s",
           h.error.text);
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

/* A keeper reserved a record that crosses into the next block, and was stopped before it put memory
 * there. */
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
    ok(fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_blocks * 512 >= sfid__page_bytes(i + 2),
       "and has memory");
    close(fd);
    sfid__slot_drop(&h.slot);
}

/* ---- pages that are held ------------------------------------------------------- */

static int64_t passed_ns; /* of a clock that moves when somebody sleeps */

static struct sfid__time wall(const struct sfid__clock *clock) {
    (void)clock;
    return (struct sfid__time){SFID_EPOCH_MS + 5000 + passed_ns / 1000000, 0};
}

static int64_t passed(const struct sfid__clock *clock) { return clock ? passed_ns : 0; }

static void pass(const struct sfid__clock *clock, int64_t ns) { passed_ns += clock ? ns : 0; }

static const struct sfid__clock by_sleeps = {.now = wall, .monotonic_ns = passed, .sleep_ns = pass};
static struct sfid__holder holders[SFID__SHARED_PAGES + 1];

/* The page that this holder gets within so much time, or why it gets none. */
static int joined(struct sfid__holder *holder, int64_t within_ms,
                  const struct sfid__settings *settings) {
    bool live;
    *holder = (struct sfid__holder){.generator = &g,
                                    .store = &store,
                                    .run = run,
                                    .settings = settings,
                                    .deadline_ms = passed_ns / 1000000 + within_ms};
    const int rc = sfid__share_join(holder, &live);
    return rc < 0 ? rc : live ? -1 : (int)holder->page_number;
}

/* One after the other finds the pages of those before held, by processes that begin or end them. */
static void waits_for_each(void) {
    enum { WITHIN_MS = 1000, SPELL_MS = WITHIN_MS / (SFID__SHARED_PAGES + 1), NAP_NS = 10000000 };
    const struct sfid__settings settings = {.opt = {.app = "held", .pid = -1}};
    unsigned wrong = 0;
    g = (struct sfid__generator){.clock = &by_sleeps, .layout = layout};
    store.terms.end = UINT64_MAX;
    passed_ns = 7000000;
    for (int i = 0; i < SFID__SHARED_PAGES; i++) {
        const int64_t due_ns = passed_ns + i * SPELL_MS * INT64_C(1000000);
        const int page = joined(&holders[i], WITHIN_MS, &settings);
        wrong += page != i || passed_ns / 1000000 < due_ns / 1000000 || passed_ns > due_ns + NAP_NS;
    }
    is_u64(wrong, 0, "held pages: each is waited for as long, then there is the next one");
    const int64_t end_ns = passed_ns + WITHIN_MS * INT64_C(1000000);
    is_i64(joined(&holders[SFID__SHARED_PAGES], WITHIN_MS, &settings), SFID_EBUSY,
           "held pages: behind the last one is none");
    ok(passed_ns / 1000000 >= end_ns / 1000000, "held pages: which is waited for to the end");
    for (int i = 0; i < SFID__SHARED_PAGES; i++)
        sfid__slot_drop(&holders[i].slot);
    is_i64(joined(&holders[0], 3, &settings), 0,
           "held pages: within a few milliseconds the first one");
    ok(joined(&holders[1], 3, &settings) > 0, "held pages: or one that is not held");
    sfid__slot_drop(&holders[0].slot);
    sfid__slot_drop(&holders[1].slot);
}

int main(void) {
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/run", tap_tmpdir());
    inside = shared_memory(sizeof *inside);
    need(sfid__dir_open_run(&run, dir, &h.error) >= 0, "%s", h.error.text);
    let_others_in();
    memory_behind_records();
    waits_for_each();
    sfid__dir_close(&run);
    return done_testing();
}
