/* SPDX-License-Identifier: MIT */
/* The checker of pages: it takes a page as made, and none with a changed byte, a missing part or
 * another's identity. */
#include "draw/page.h"

#include "draw/record.h"
#include "id/layout.h"

#include "base/futex.h"
#include "base/hash.h"
#include "base/watch.h"
#include "support/scene.h"

#include <pthread.h>

#define RECORDS 3
#define ROOM (RECORDS + 2)

static const sfid_layout layout = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);
static const size_t bytes = sizeof(struct sfid__page) + ROOM * sizeof(struct sfid__record);
static struct sfid__page_id want;
static struct sfid__page *page;

static const char *check(void) {
    uint32_t count = 99;
    const char *why = sfid__page_check(page, &want, bytes, &count);
    if (why == NULL && count != RECORDS)
        return "the number of records is wrong";
    return why;
}

static void build(void) {
    want = (struct sfid__page_id){.layout = 4711,
                                  .device = 2049,
                                  .inode = 99,
                                  .born_s = 1766361600,
                                  .born_ns = 123456789,
                                  .nonce = 5};
    for (unsigned i = 0; i < sizeof want.boot_id; i++)
        want.boot_id[i] = (uint8_t)(i + 1);
    page = shared_memory(bytes);
    struct sfid__page_id id = want;
    sfid__page_id_seal(&id);
    sfid__page_init(page, &id);
    uint32_t count = 99;
    ok(sfid__page_check(page, &want, bytes, &count) == NULL && count == 0,
       "it passes, without records");
    static const uint64_t pids[RECORDS] = {5, 5, 1023};
    for (uint32_t i = 0; i < RECORDS; i++) {
        const struct sfid__start start = {
            &layout, pids[i], (UINT64_C(1000) + i) << 12, 5000, 1000, 10, 0, 0, NULL, false, 0};
        struct sfid__record *r = sfid__record_append(page, i, &start);
        atomic_fetch_add(&r->word, 7);
        ok(sfid__page_check(page, &want, bytes, &count) == NULL && count == i + 1,
           "it passes with record %u", i);
    }
}

/* Every other value of a byte, as far as bits, 0 and 0xff go; how often the page still passes. */
static unsigned passes_changed(unsigned char *at) {
    const unsigned char is = *at;
    unsigned passed = 0;
    for (int bit = 0; bit < 8; bit++) {
        *at = (unsigned char)(is ^ 1 << bit);
        passed += check() == NULL;
    }
    for (int value = 0; value <= 0xff; value += 0xff) {
        *at = (unsigned char)value;
        passed += value != is && check() == NULL;
    }
    *at = is;
    return passed;
}

static void every_byte_counts(void) {
    unsigned passed = 0;
    for (size_t i = 0; i < sizeof page->id; i++)
        passed += passes_changed((unsigned char *)&page->id + i);
    is_u64(passed, 0, "no byte of lines 0 and 1 may differ");
    for (uint32_t r = 0; r < RECORDS; r++) {
        passed = 0;
        for (size_t i = offsetof(struct sfid__record, pid_field);
             i < offsetof(struct sfid__record, checksum) + 8; i++)
            passed += passes_changed((unsigned char *)&page->records[r] + i);
        is_u64(passed, 0, "no byte of the second line of record %u but for its limit", r);
    }
    passed = 0;
    for (size_t i = 0; i < sizeof(struct sfid__record); i++)
        passed += passes_changed((unsigned char *)&page->records[RECORDS] + i);
    is_u64(passed, 0, "nor of what lies behind the last record");
    ok(check() == NULL, "and all of it as it was passes");
}

/* What moves while IDs are drawn is not under the checksum. */
static void what_may_change(void) {
    struct sfid__record *last = &page->records[RECORDS - 1];
    atomic_fetch_add(&last->word, 12345);
    sfid__record_raise_limit(last, 9000);
    atomic_store(&last->hi, 8000);
    atomic_store(&last->lead, 3);
    atomic_store(&page->poke, 1);
    ok(check() == NULL, "word, limit, highest tick and wake-up word move");
    for (uint32_t i = 0; i < RECORDS; i++) {
        atomic_store(&page->current, i);
        ok(check() == NULL, "the index of the current record is not believed: %u", i);
    }
    sfid__record_close(last);
    ok(check() == NULL, "the last record may be closed");
}

static void no_return_to_an_older_record(void) {
    for (uint32_t i = 0; i + 1 < RECORDS; i++) {
        atomic_fetch_and(&page->records[i].word, ~SFID__CLOSED);
        ok(check() != NULL, "record %u is replaced, and has to be closed", i);
        sfid__record_close(&page->records[i]);
    }
    struct sfid__record saved[ROOM];
    memcpy((void *)saved, (const void *)page->records, sizeof saved);
    memcpy((void *)&page->records[1], (const void *)&saved[0], sizeof saved[0]);
    ok(check() != NULL, "a record in the place of another is not the same");
    memset((void *)&page->records[1], 0, sizeof saved[0]);
    ok(check() != NULL, "a blank record in the middle is no end");
    memcpy((void *)page->records, (const void *)saved, sizeof saved);
    ok(check() == NULL, "all as it was passes");
}

static void truncated(void) {
    unsigned passed = 0;
    uint32_t count;
    for (size_t n = 0; n < sfid__page_bytes(1); n++)
        passed += sfid__page_check(page, &want, n, &count) == NULL;
    is_u64(passed, 0, "a page without room for a record is too short");
    passed = 0;
    for (size_t n = sfid__page_bytes(1); n < sfid__page_bytes(RECORDS); n++)
        passed += sfid__page_check(page, &want, n, &count) == NULL;
    is_u64(passed, 0, "nor does one pass that is cut off before the end of its last record");
    ok(sfid__page_check(page, &want, sfid__page_bytes(RECORDS), &count) == NULL && count == RECORDS,
       "right behind it one does");
}

/* Of a page in use only the current record counts, and what lies behind it may be half written. */
static const char *check_live(size_t size) {
    uint32_t count = 99;
    const char *why = sfid__page_check_live(page, &want, size, &count);
    return why || count == atomic_load(&page->current) + 1 ? why : "the number of records is wrong";
}

static void in_use(void) {
    memset((void *)&page->records[RECORDS], 0xee, sizeof page->records[0]);
    for (uint32_t i = 0; i < RECORDS; i++) {
        atomic_store(&page->current, i);
        ok(check_live(sfid__page_bytes(i + 1)) == NULL,
           "in use: record %u is the current one, and the last with memory", i);
        ok(check_live(sfid__page_bytes(i + 1) - 1) != NULL,
           "in use: all of record %u has to have memory", i);
    }
    page->records[RECORDS - 1].floor++;
    ok(check_live(bytes) != NULL, "in use: the current record is checked");
    page->records[RECORDS - 1].floor--;
    want.layout++;
    ok(check_live(bytes) != NULL, "in use: so is the header");
    want.layout--;
    static const uint32_t beyond[] = {RECORDS, SFID__PAGE_RECORDS, UINT32_MAX};
    for (size_t i = 0; i < COUNT(beyond); i++) {
        atomic_store(&page->current, beyond[i]);
        ok(check_live(i == 0 ? bytes : SIZE_MAX) != NULL, "in use: no record %u", beyond[i]);
    }
    atomic_store(&page->current, RECORDS - 1);
    ok(sfid__page_check(page, &want, sfid__page_bytes(RECORDS), &(uint32_t){0}) == NULL,
       "what lies behind the memory is not looked at");
    memset((void *)&page->records[RECORDS], 0, sizeof page->records[0]);
    ((char *)&page->records[RECORDS + 1])[0] = 1;
    ok(check() == NULL, "nor is what lies behind the blank record");
    ((char *)&page->records[RECORDS + 1])[0] = 0;
}

/* The page is right in itself, but not the one that was looked for. */
static void another_identity(void) {
    const struct sfid__page_id is = want;
#define REFUSED(what, change) \
    do { \
        change; \
        ok(check() != NULL, what); \
        want = is; \
    } while (0)
    REFUSED("another device", want.device++);
    REFUSED("another inode", want.inode++);
    REFUSED("another birth", want.born_s++);
    REFUSED("another birth by nanoseconds", want.born_ns++);
    REFUSED("no birth time here", want.born_s = 0; want.born_ns = 0);
    REFUSED("another boot", want.boot_id[15] ^= 1);
    REFUSED("another layout", want.layout++);
    REFUSED("boot unknown now", memset(want.boot_id, 0, 16));
#undef REFUSED
    want.nonce = 77;
    ok(check() == NULL, "the nonce is the page's own");
    want = is;
    ok(check() == NULL, "with all as it was it passes");
}

/* Headers with a checksum that fits. */
static void another_header(void) {
    const struct sfid__page_id is = page->id;
    struct sfid__page_id *id = &page->id;
#define REFUSED(what, change) \
    do { \
        change; \
        id->checksum = sfid__hash(SFID__HASH_SEED, id, offsetof(struct sfid__page_id, checksum)); \
        ok(sfid__page_check(page, &want, sfid__page_bytes(1), &count) != NULL, what); \
        *id = is; \
    } while (0)
    /* their checksums hang on the header's */
    memset((void *)page->records, 0, ROOM * sizeof page->records[0]);
    atomic_store(&page->current, 0);
    uint32_t count = 9;
    ok(sfid__page_check(page, &want, bytes, &count) == NULL && count == 0,
       "a page without records passes");
    ok(sfid__page_check(page, &want, sfid__page_bytes(1), &count) == NULL, "with room for one");
    ok(sfid__page_check(page, &want, sfid__page_bytes(1) - 1, &count) != NULL, "but not for less");
    REFUSED("another magic", id->magic[7] = 'E');
    REFUSED("another version", id->version = SFID__PAGE_VERSION + 1);
    REFUSED("another size", id->size = 2 * SFID__MAP_SIZE);
    REFUSED("made when the boot was unknown", memset(id->boot_id, 0, 16));
#undef REFUSED
    memset(id->boot_id, 0, 16);
    memset(want.boot_id, 0, 16);
    sfid__page_id_seal(id);
    ok(sfid__page_check(page, &want, bytes, &count) != NULL, "both unknown is not the same boot");
}

/* ---- the range of a record ------------------------------------------------ */

static void ranges(void) {
    struct sfid__record r = {.seq_bits = 12, .floor = 100};
    atomic_init(&r.limit, 200);
    const struct {
        uint64_t word, limit, max;
        bool good;
    } c[] = {
        {100 << 12, 200, 200, true},
        {(100 << 12) - 1, 200, 200, false},
        {150 << 12 | 77, 200, 200, true},
        {(200 << 12) + 4095, 200, 200, true},
        {201 << 12, 200, 200, false},
        {200 << 12, 200, 199, false},
        {100 << 12, 201, 200, false},
        {100 << 12, UINT64_MAX, 200, false},
        {100 << 12, 100, 200, true},
        {100 << 12, 99, 200, false},
        {SFID__CLOSED - 1, 200, 200, false},
        {0, 200, 200, false},
        /* Of a closed record the rest of the window was never used. */
        {SFID__CLOSED | 150 << 12, 200, 150, true},
        {SFID__CLOSED | 150 << 12, 200, 149, false},
        {SFID__CLOSED | 99 << 12, 200, 200, false},
        {SFID__CLOSED | 201 << 12, 200, 300, false},
        {UINT64_MAX, 200, UINT64_MAX, false},
    };
    for (size_t i = 0; i < COUNT(c); i++) {
        atomic_store(&r.word, c[i].word);
        atomic_store(&r.limit, c[i].limit);
        ok((sfid__record_check_range(&r, c[i].max) == NULL) == c[i].good,
           "window 100 to %llu of %llu, word at tick %llu%s: %s", (unsigned long long)c[i].limit,
           (unsigned long long)c[i].max, (unsigned long long)((c[i].word & ~SFID__CLOSED) >> 12),
           c[i].word & SFID__CLOSED ? ", closed" : "", c[i].good ? "good" : "refused");
    }
}

/* ---- what processes share ------------------------------------------------- */

static int die_on_seat(void *unused) {
    (void)unused;
    return !sfid__alive_take(&page->seat[0].keeper);
}

/* Whoever may write a page may write any number there. */
static void numbers(void) {
    static const uint32_t beyond[] = {SFID__PAGE_RECORDS - 1, SFID__PAGE_RECORDS, 40000,
                                      UINT32_MAX};
    struct sfid__record r = {.seq_bits = 76, .seq_shift = 65535, .pid_shift = 64, .pid_field = 9};
    atomic_store(&page->current, 2);
    is_u64(sfid__page_index(page), 2, "the index of the current record");
    for (unsigned i = 0; i < COUNT(beyond); i++) {
        atomic_store(&page->current, beyond[i]);
        is_u64(sfid__page_index(page), SFID__PAGE_RECORDS - 1,
               "index %u: is not beyond the last record", beyond[i]);
        ok(sfid__page_current(page) == &page->records[SFID__PAGE_RECORDS - 1],
           "index %u: leads to it", beyond[i]);
    }
    ok(sfid__record_tick(&r, UINT64_C(5000) << 12) == 5000 && sfid__record_capacity(&r) == 4096 &&
           sfid__record_step(&r) == UINT64_C(1) << 63 && sfid__record_pid(&r) == 9,
       "a shift by 64 or more is one by what is left of that");
}

static void keeper_seat(void) {
    atomic_store(&page->window, 77);
    atomic_store(&page->watch, 5);
    for (unsigned i = 0; i < SFID__SEATS; i++)
        atomic_store(&page->seat[i].keeper, 3);
    sfid__page_reset_keeper(page);
    for (unsigned i = 0; i < SFID__SEATS; i++)
        ok(!sfid__alive(&page->seat[i].keeper), "nobody has seat %u of a page that begins anew", i);
    ok(atomic_load(&page->watch) == 0 && atomic_load(&page->window) == 77,
       "no crew serves the page then, and its window stays");
    is_i64(status_of(spawn(die_on_seat, NULL)), 0, "a child takes a seat");
    ok(!sfid__alive(&page->seat[0].keeper) && sfid__alive_take(&page->seat[0].keeper),
       "and when it dies the next one can take it");
    sfid__alive_leave(&page->seat[0].keeper);
}

/* ---- calls for the keeper -------------------------------------------------- */

static _Atomic unsigned awake;

/* Nothing but a wake ends this while the test waits for it. */
static void *sleep_on(void *value) {
    sfid__futex_wait(&page->poke, SFID__FUTEX_SHARED, *(const uint32_t *)value, 2 * TAP_WAIT_MS);
    atomic_fetch_add(&awake, 1);
    return NULL;
}

/* Called again and again, as the sleeper may not have begun to sleep. */
static bool poked(void *unused) {
    (void)unused;
    atomic_store(&page->poke, 0);
    sfid__page_poke(page);
    atomic_store(&page->poke, 0);
    return atomic_load(&awake) > 0;
}

struct caller {
    void (*call)(struct sfid__page *);
};

static bool woken(void *caller) {
    ((struct caller *)caller)->call(page);
    return atomic_load(&awake) > 0;
}

/* A thread that sleeps while the word is `value` wakes by the call. */
static void wakes(uint32_t value, bool (*cond)(void *), void *caller, const char *name) {
    pthread_t thread;
    atomic_store(&awake, 0);
    atomic_store(&page->poke, value);
    if (pthread_create(&thread, NULL, sleep_on, &value) != 0)
        bail("no thread");
    ok(tap_wait_until(cond, caller, TAP_WAIT_MS), "%s", name);
    pthread_join(thread, NULL);
}

static void calls(void) {
    struct caller wake = {sfid__page_wake}, wake_all = {sfid__page_wake_all};
    atomic_store(&page->watch, 0);
    wakes(0, poked, NULL, "a poke wakes the keeper");
    wakes(1, woken, &wake, "a wake does, poked or not");
    wakes(1, woken, &wake_all, "so does one for all");
    atomic_store(&page->poke, 0);
    sfid__page_wake(page);
    is_u64(atomic_load(&page->poke), 1, "a wake is noted");
    atomic_store(&page->poke, 0);
    sfid__page_wake_all(page);
    is_u64(atomic_load(&page->poke), 1, "so is one for all");

    const uint64_t name = sfid__watch_prepare() ? sfid__watch_take() : 0;
    if (name == 0)
        bail("no watch");
    atomic_store(&page->watch, name | SFID__IN_TURN);
    atomic_store(&page->berth, 3);
    atomic_store(&page->poke, 0);
    sfid__page_poke(page);
    is_u64(sfid__watch_hear(name), 3, "the crew that serves the page hears its number");
    sfid__page_poke(page);
    is_u64(sfid__watch_hear(name), 0, "once for all pokes");
    sfid__page_wake(page);
    is_u64(sfid__watch_hear(name), 3, "and for each wake");
    sfid__watch_leave(name);
    atomic_store(&page->watch, 0);
}

static void poke(void) {
    atomic_store(&page->poke, 0);
    errno = 1234;
    sfid__page_poke(page);
    ok(atomic_load(&page->poke) == 1 && errno == 1234, "a poke is noted, and errno left alone");
    sfid__page_poke(page);
    is_u64(atomic_load(&page->poke), 1, "twice is the same");
}

int main(void) {
    build();
    every_byte_counts();
    in_use();
    what_may_change();
    no_return_to_an_older_record();
    truncated();
    another_identity();
    another_header();
    ranges();
    numbers();
    keeper_seat();
    calls();
    poke();
    return done_testing();
}
