/* SPDX-License-Identifier: MIT */
/* Records: where a new one starts, what it takes over from the one before, and that nothing ever
 * goes back. */
#include "draw/record.h"

#include "draw/hint.h"
#include "draw/hot.h"
#include "id/layout.h"
#include "lease/grant.h"

#include "support/tap.h"

#include <signal.h>
#include <sys/time.h>

#define ROOM 8
#define SEQ 12
#define AT(tick, seq) ((uint64_t)(tick) << SEQ | (uint64_t)(seq))

static const sfid_layout layout = SFID_LAYOUT(41, 10, SEQ, 1, SFID_EPOCH_MS);
static struct sfid__page *page;

static void fresh_page(void) {
    static const struct sfid__page_id blank;
    free(page);
    page = aligned_alloc(SFID__LINE, sizeof *page + ROOM * sizeof page->records[0]);
    need(page != NULL, "out of memory");
    memset((void *)page, 0, sizeof *page + ROOM * sizeof page->records[0]);
    struct sfid__page_id id = blank;
    id.boot_id[0] = 1;
    sfid__page_id_seal(&id);
    sfid__page_init(page, &id);
}

/* A page whose last record is good and current. */
static bool in_order(uint32_t count) {
    struct sfid__page_id want = page->id;
    uint32_t n = 99;
    return sfid__page_check(page, &want, sfid__page_bytes(ROOM), &n) == NULL && n == count &&
           sfid__page_current(page) == &page->records[count - 1];
}

static struct sfid__record *append(uint32_t count, uint64_t pid, uint64_t position, uint64_t limit,
                                   uint64_t now, uint64_t max_ahead) {
    const struct sfid__start start = {&layout, pid, position, limit, now, max_ahead,
                                      0,       0,   NULL,     false, 0};
    return sfid__record_append(page, count, &start);
}

static void the_first(void) {
    fresh_page();
    memset((void *)page->records, 0xee, sizeof page->records[0]);
    struct sfid__record *r = append(0, 1023, AT(500, 9), 700, 500, 10);
    ok(r == &page->records[0] && in_order(1), "the first record is the current one of a good page");
    is_u64(sfid__record_position(r), AT(500, 9), "it starts where it was told to");
    is_u64(r->floor, 500, "its floor is that tick");
    is_u64(atomic_load(&r->limit), 700, "its limit is what was granted");
    is_u64(sfid__record_pid(r), 1023, "its pid");
    is_u64(r->pid_field, UINT64_C(1023) << SEQ, "in its place");
    is_u64(sfid__record_issued(r), 0, "nothing is issued");
    ok(atomic_load(&r->hi) == 500 && atomic_load(&r->lead) == 0 && atomic_load(&r->renewals) == 0,
       "the clock is where it starts");
    atomic_fetch_add(&r->word, 3);
    is_u64(sfid__record_issued(r), 3, "what is drawn is issued");
    atomic_fetch_add(&r->word, 1000);
    atomic_fetch_add(&r->skipped, 1000);
    is_u64(sfid__record_issued(r), 3, "what is passed over is not");
    atomic_fetch_add(&r->skipped, 100);
    is_u64(sfid__record_issued(r), 0, "never less than nothing");
}

static void lead(void) {
    const struct {
        uint64_t position, now, max_ahead, lead;
    } c[] = {
        {AT(500, 0), 500, 10, 0},  {AT(499, 4095), 500, 10, 0},
        {AT(501, 0), 500, 10, 0},  {AT(510, 0), 500, 10, 9},
        {AT(511, 0), 500, 10, 10}, {AT(9000, 5), 500, 10, 10},
        {AT(9000, 5), 500, 0, 0},  {AT(9000, 5), 500, UINT64_MAX, 8499},
    };
    for (size_t i = 0; i < COUNT(c); i++) {
        fresh_page();
        struct sfid__record *r = append(0, 1, c[i].position, 20000, c[i].now, c[i].max_ahead);
        ok(atomic_load(&r->lead) == c[i].lead && atomic_load(&r->hi) == c[i].now,
           "a start at tick %llu with the clock at 500: lead %llu",
           (unsigned long long)(c[i].position >> SEQ), (unsigned long long)c[i].lead);
    }
}

/* What came before stopped at tick 600, seq 5; the next one is told to start at `told`. */
static void next(uint64_t pid, uint64_t told, uint64_t starts, const char *what) {
    fresh_page();
    struct sfid__record *old = append(0, 7, AT(500, 0), 700, 500, 10);
    atomic_store(&old->word, AT(600, 5));
    struct sfid__record *r = append(1, pid, told, 900, 600, 10);
    is_u64(sfid__record_position(r), starts, "%s", what);
    ok(r->floor == starts >> SEQ && atomic_load(&r->first) == starts && sfid__record_issued(r) == 0,
       "%s: from there on it counts", what);
    ok(atomic_load(&old->word) == (SFID__CLOSED | AT(600, 5)),
       "%s: the one before is closed where it stood", what);
    ok(in_order(2), "%s: the page is in order", what);
}

static void goes_on(void) {
    next(7, AT(600, 5), AT(600, 5), "the same pid goes on at the position");
    next(7, AT(600, 4), AT(600, 5), "never before it");
    next(7, 0, AT(600, 5), "nor anywhere near 0");
    next(7, AT(600, 6), AT(600, 6), "behind it where told so");
    next(7, AT(650, 0), AT(650, 0), "or far behind");
    next(8, AT(600, 5), AT(601, 0), "another pid starts in the next tick");
    next(8, 0, AT(601, 0), "whatever it is told");
    next(8, AT(601, 0), AT(601, 0), "in that tick");
    next(8, AT(601, 1), AT(601, 1), "or behind its begin where told so");
    next(8, AT(650, 9), AT(650, 9), "or in a later one");
}

static void over_a_tick(void) {
    fresh_page();
    struct sfid__record *old = append(0, 7, AT(500, 0), 700, 500, 10);
    atomic_store(&old->word, AT(601, 0)); /* the last number of tick 600 is drawn */
    struct sfid__record *same = append(1, 7, 0, 900, 600, 10);
    is_u64(sfid__record_position(same), AT(601, 0),
           "a full tick: the same pid goes on in the next");
    struct sfid__record *other = append(2, 8, 0, 900, 600, 10);
    is_u64(sfid__record_position(other), AT(602, 0), "and another pid in the one after that");
}

static void inherits(void) {
    fresh_page();
    struct sfid__record *r = append(0, 7, AT(500, 0), 700, 500, 10);
    atomic_store(&r->hi, 650);
    atomic_store(&r->lead, 9);
    r = append(1, 7, 0, 900, 600, 10);
    ok(atomic_load(&r->hi) == 650 && atomic_load(&r->lead) == 9,
       "highest tick and lead are those of the record before");
    r = append(2, 7, 0, 900, 660, 4);
    ok(atomic_load(&r->hi) == 660 && atomic_load(&r->lead) == 4,
       "unless the clock shows more, and max_ahead allows less");
    r = append(3, 7, AT(668, 0), 900, 660, 10);
    ok(atomic_load(&r->hi) == 660 && atomic_load(&r->lead) == 7,
       "a start ahead of the clock gives more lead than was inherited");
    atomic_store(&r->lead, 0);
    atomic_store(&r->word, AT(665, 3));
    r = append(4, 7, AT(665, 3), 900, 660, 10);
    is_u64(atomic_load(&r->lead), 0,
           "but none where the record before just stopped ahead of the clock");
    atomic_store(&r->word, AT(670, 3));
    r = append(5, 8, 0, 900, 670, 10);
    ok(sfid__record_position(r) == AT(671, 0) && atomic_load(&r->lead) == 1,
       "another pid begins in the next tick, for which nobody waits");
}

static void closing(void) {
    fresh_page();
    struct sfid__record *r = append(0, 7, AT(500, 3), 700, 500, 10);
    is_u64(sfid__record_close(r), AT(500, 3), "closing tells the position");
    is_u64(sfid__record_close(r), AT(500, 3), "again, the same");
    is_u64(sfid__record_position(r), AT(500, 3), "which stays readable");
    const uint64_t late = atomic_fetch_add(&r->word, 1);
    ok(late >> SEQ > atomic_load(&r->limit), "a number drawn after that lies above every limit");
    is_u64(sfid__record_position(r), AT(500, 4), "and only moves the position on");
    is_u64(sfid__record_close(r), AT(500, 4), "which closing again tells");
    ok((atomic_load(&r->word) & SFID__CLOSED) != 0 && in_order(1), "it stays closed");
    struct sfid__record *next_one = append(1, 7, 0, 800, 500, 10);
    is_u64(sfid__record_position(next_one), AT(500, 4), "the next record starts there");
}

static void limits(void) {
    fresh_page();
    struct sfid__record *r = append(0, 7, AT(500, 0), 700, 500, 10);
    sfid__record_raise_limit(r, 699);
    is_u64(atomic_load(&r->limit), 700, "a limit never falls");
    sfid__record_raise_limit(r, 0);
    is_u64(atomic_load(&r->limit), 700, "to nothing neither");
    sfid__record_raise_limit(r, 700);
    is_u64(atomic_load(&r->limit), 700, "and may be told again");
    sfid__record_raise_limit(r, 701);
    is_u64(atomic_load(&r->limit), 701, "it rises");
    sfid__record_raise_limit(r, UINT64_MAX);
    is_u64(atomic_load(&r->limit), UINT64_MAX, "as far as told");
}

/* Threads may still draw from the old record when the new one's start has been computed: the last
 * of them into the next tick. */
static void overtaken(void) {
    for (int reaches = 0; reaches <= 1; reaches++) {
        fresh_page();
        struct sfid__record *old = append(0, 7, AT(500, 0), 700, 500, 10);
        atomic_store(&old->word, AT(601, 3));
        const struct sfid__start start = {&layout, 7, AT(600, 4095), 600,     600, 10,
                                          0,       0, NULL,          reaches, 0};
        struct sfid__record *r = sfid__record_append(page, 1, &start);
        is_u64(sfid__record_position(r), AT(601, 3),
               "a record begins where the last thread left the one before");
        is_u64(atomic_load(&r->limit), reaches ? 601 : 600,
               "its limit is raised to there if it is to reach, else it is what was granted");
        is_i64(sfid__record_check_range(r, 900) == NULL, reaches, "who finds it finds it %s",
               reaches ? "good" : "damaged");
    }
}

/* A new page begins with the record that nothing else may know. */
static void to_carry(void) {
    fresh_page();
    append(0, 7, AT(500, 0), 900, 500, 10);
    append(1, 8, AT(800, 0), 900, 500, 10);
    atomic_store(&append(2, 7, AT(600, 0), 900, 500, 10)->word, SFID__CLOSED | AT(850, 0));
    append(3, 7, AT(700, 0), 900, 500, 10);
    struct sfid__record *all = page->records;
    atomic_store(&all[3].word, SFID__CLOSED | AT(700, 3));
    struct sfid__holder h = {.slot = {.page = page, .records = 4}};
    ok(sfid__grant_to_carry(&h) == &all[2],
       "of the last pid the one that came furthest, though a late keeper wrote one behind it");
    atomic_store(&all[1].word, SFID__CLOSED | AT(899, 0));
    ok(sfid__grant_to_carry(&h) == &all[2], "not another pid's");
    atomic_store(&all[3].word, SFID__CLOSED | AT(850, 1));
    ok(sfid__grant_to_carry(&h) == &all[3], "the last itself, where it did");
    atomic_store(&all[3].word, SFID__CLOSED | AT(700, 3));
    h.lease.terms.testifies = true;
    ok(sfid__grant_to_carry(&h) == &all[3],
       "and of a server's records the last, whose grant the server knows");
    h.slot.records = 0;
    ok(sfid__grant_to_carry(&h) == NULL, "an empty page has none");
}

static void counts(void) {
    fresh_page();
    append(0, 9, AT(600, 3), 900, 500, 10);
    append(1, 8, AT(700, 0), 900, 500, 10);
    is_u64(sfid__record_furthest(page, 2, 9), AT(600, 3),
           "the furthest of a pid is that of its own records, be it the first");
    is_u64(sfid__record_furthest(page, 2, 7), 0, "of a pid without a record it is 0");
    is_u64(sfid__record_furthest(page, 1, 8), 0, "or with one behind those that count");
    fresh_page();
    for (uint32_t i = 0; i < 4; i++) {
        struct sfid__record *r = append(i, i / 2, AT(500 + 10 * i, 0), 900, 500, 10);
        is_u64(atomic_load(&page->earlier_issued), 100 * i,
               "record %u: what those before it issued is kept", i);
        is_u64(atomic_load(&page->current), i, "record %u is the current one", i);
        atomic_fetch_add(&r->word, 150);
        atomic_fetch_add(&r->skipped, 50);
    }
    ok(in_order(4), "four records in order");
    const uint64_t sum = page->records[1].checksum;
    struct sfid__record *twin = &page->records[4];
    memcpy((void *)twin, (const void *)&page->records[1], sizeof *twin);
    ok(sfid__record_checksum(page, 4) != sum,
       "a record's place in the page is part of its checksum");
    is_u64(sfid__record_checksum(page, 1), sum, "which is the same each time");
}

/* The tick that the hot path makes of the clock has to be the one that the slow path does. */
static void hints(void) {
    static const int64_t epochs[] = {0,    1000,  -1000,         SFID_EPOCH_MS,
                                     1,    999,   1001,          -1,
                                     -999, -1001, 1288834974657, SFID__EPOCH_MIN + 1};
    static const uint32_t units[] = {1000, 2000, 60000, 1, 10, 1500};
    unsigned wrong = 0, in_seconds = 0;
    for (size_t e = 0; e < COUNT(epochs); e++)
        for (size_t u = 0; u < COUNT(units); u++) {
            const sfid_layout l = sfid__layout_make(35, 8, 12, units[u], epochs[e]);
            if (!sfid__layout_in_seconds(&l))
                continue;
            in_seconds++;
            struct sfid__generator g = {.layout = l, .source = SFID__TICK_CLOCK};
            sfid__generator_use_seconds(&g);
            wrong += g.source != SFID__TICK_SECONDS;
            for (int64_t ms = epochs[e]; ms < epochs[e] + 300000; ms += 250) {
                /* they begin below 0, too */
                const int64_t second = (ms - (ms % 1000 + 1000) % 1000) / 1000;
                wrong += sfid__tick_of_second(&g, (time_t)second) !=
                         (uint64_t)(ms - epochs[e]) / units[u];
            }
        }
    is_u64(wrong, 0, "the tick of every moment, whatever unit and epoch of whole seconds");
    const sfid_layout hours = sfid__layout_make(35, 8, 12, 3600000, 0);
    struct sfid__generator g = {.layout = hours};
    sfid__generator_use_seconds(&g);
    is_u64(sfid__tick_of_second(&g, 7200), 2, "an hour has 3600 seconds");
    is_u64(in_seconds, 4 * 3, "by time() where unit and epoch are whole seconds");
}

static void other_orders(void) {
    const sfid_layout l = {0,
                           10,
                           39,
                           16,
                           8,
                           24,
                           0,
                           16,
                           0,
                           {0, 0, 0, 0, 0},
                           SFID__ONES(39),
                           SFID__ONES(16),
                           SFID__ONES(8)};
    const struct sfid__start start = {&l,    65535, UINT64_C(5) << 8 | 200, 900, 5, 0, 0, 0, NULL,
                                      false, 0};
    fresh_page();
    const struct sfid__record *r = sfid__record_append(page, 0, &start);
    ok(r->pid_field == 65535 && sfid__record_pid(r) == 65535 && r->seq_bits == 8 &&
           r->seq_shift == 16 && r->time_shift == 24 && r->pid_shift == 0 && r->floor == 5,
       "a layout with the sequence above the pid keeps its places");
    is_u64(sfid__record_position(r), UINT64_C(5) << 8 | 200,
           "and the word has tick over sequence all the same");
}

/*
 * A process may be killed between any two instructions of a note: whoever finds the page then has
 * to find a nonce that the store knows. A signal stops the process at as many places as a kill
 * does, and shows what a successor would find.
 */
enum { LOOKS = 4000 };
static struct sfid__record *noted;
static _Atomic uint64_t answered; /* by the store: the nonce it knows */
static _Atomic unsigned looks, unknown;

static void look_at_nonces(int sig) {
    const uint64_t known = atomic_load(&answered);
    (void)sig;
    atomic_fetch_add(&unknown, atomic_load(&noted->nonce) != known &&
                                   atomic_load(&noted->next_nonce) != known);
    atomic_fetch_add(&looks, 1);
}

static void nonces(void) {
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    struct sigaction looking = {.sa_handler = look_at_nonces, .sa_flags = SA_RESTART};
    fresh_page();
    noted = append(0, 7, AT(500, 0), 700, 500, 10);
    sfid__record_note(noted, 1, 0);
    ok(atomic_load(&noted->nonce) == 1 && atomic_load(&noted->next_nonce) == 0, "nonces are noted");
    atomic_store(&answered, 1);
    sigaction(SIGALRM, &looking, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uint64_t nonce = 1; atomic_load(&looks) < LOOKS; nonce++) {
        sfid__record_note(noted, nonce, nonce + 1); /* sent with the next one */
        /* which the store has from now on, whether or not this hears of it */
        atomic_store(&answered, nonce + 1);
        sfid__record_note(noted, nonce + 1, 0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    is_u64(atomic_load(&unknown), 0,
           "at each of %d moments the record has a nonce that the store knows", LOOKS);
}

/* Two keepers of a shared page replace the same record. One of them was stopped on the way. */
static void beside_another(void) {
    fresh_page();
    atomic_fetch_add(&append(0, 7, AT(500, 0), 700, 500, 10)->word, 3);
    const struct sfid__start start = {
        &SFID_LAYOUT_DEFAULT, 7, AT(500, 3), 900, 500, 10, 0, 0, NULL, false, 0};
    struct sfid__record *r = sfid__record_replace(page, 1, 0, &start);
    ok(r == &page->records[1] && atomic_load(&page->current) == 1 &&
           (atomic_load(&page->records[0].word) & SFID__CLOSED),
       "a keeper replaces the record that it saw");
    atomic_store(&r->word, AT(600, 0));
    ok(sfid__record_replace(page, 2, 0, &start) == NULL && atomic_load(&page->current) == 1 &&
           sfid__page_current(page) == r,
       "a late keeper does not, and the current record stays");
    is_u64(atomic_load(&page->earlier_issued), 3, "what the first record issued is counted once");
    ok(!(atomic_load(&r->word) & SFID__CLOSED) &&
           (atomic_load(&page->records[2].word) & SFID__CLOSED),
       "what it wrote is closed, and never used");

    /* All die. A process that does not share takes the pid, and finds three good records, the last
     * one lower than the one in use. */
    sfid__record_close(r);
    const struct sfid__holder alone = {.slot = {.page = page, .records = 3}};
    const struct sfid__lease_event grant = {.pid = 7, .page_nonce = page->id.nonce};
    is_u64(sfid__grant_position(&alone, &page->records[2], &grant, 0), AT(600, 0),
           "a process that is alone goes on behind the one in use");
}

/* Where a grant begins: what the page, a page beside it and the mark say, or the server. */
static void granted(void) {
    fresh_page();
    page->id.nonce = 55;
    struct sfid__record *r = append(0, 7, AT(500, 0), 700, 500, 10);
    atomic_store(&r->word, AT(600, 5));
    struct sfid__holder h = {.slot = {.page = page, .records = 1},
                             .beside = {.nonce = 66, .position = AT(590, 0)}};
    struct sfid__lease_event grant = {.pid = 7, .page_nonce = 55, .bound = AT(900, 0)};
    is_u64(sfid__grant_position(&h, r, &grant, 1), AT(600, 5),
           "the mark names this page, which is exact");
    grant.page_nonce = 66;
    is_u64(sfid__grant_position(&h, r, &grant, 1), AT(600, 5), "or the page beside it");
    grant.page_nonce = 77;
    is_u64(sfid__grant_position(&h, r, &grant, 1), AT(900, 0),
           "of another page the mark is the bound");
    grant.page_nonce = 55;
    grant.exact = true;
    is_u64(sfid__grant_position(&h, r, &grant, 1), AT(900, 0), "so is an exact one");
    grant = (struct sfid__lease_event){.pid = 7, .page_nonce = 77};
    h.beside.position = AT(610, 0);
    is_u64(sfid__grant_position(&h, r, &grant, 1), AT(610, 0),
           "of two pages the further one counts");
    h.beside.position = 0;
    grant.pid = 8;
    is_u64(sfid__grant_position(&h, r, &grant, 42), 42,
           "if nobody knows anything, it begins where it may");

    h.lease.terms.testifies = true;
    is_u64(sfid__grant_position(&h, r, &grant, AT(650, 0)), AT(650, 0),
           "a server's grant of another pid begins where it says");
    is_u64(sfid__grant_position(&h, NULL, &grant, AT(650, 0)), AT(650, 0),
           "and so without a record");
    grant.pid = 7;
    is_u64(sfid__grant_position(&h, r, &grant, AT(601, 0)), AT(601, 0),
           "beside an open record as well");
    sfid__record_close(r);
    is_u64(sfid__grant_position(&h, r, &grant, AT(601, 0)), AT(600, 5),
           "with a closed one the rest of its tick is used");
    is_u64(sfid__grant_position(&h, r, &grant, AT(601, 4)), AT(600, 5),
           "up to the length of a tick");
    is_u64(sfid__grant_position(&h, r, &grant, AT(601, 5)), AT(601, 5), "and not beyond");
    is_u64(sfid__grant_position(&h, r, &grant, AT(600, 0)), AT(600, 5), "nor is anything below it");
    atomic_store(&r->limit, 600);
    is_u64(sfid__grant_position(&h, r, &grant, AT(601, 0)), AT(601, 0),
           "nor the rest of a tick that was not granted");
}

/* A copy of the machine may have issued IDs as far ahead of the clock as the process it was copied
 * from. */
static void after_copy(void) {
    fresh_page();
    struct sfid__record *r = append(0, 7, AT(500, 0), 700, 500, 10);
    struct sfid__generator g = {.layout = layout, .max_ahead = 10};
    struct sfid__store store = {.terms = {.window = 300, .end = 100000}};
    struct sfid__holder h = {.generator = &g,
                             .store = &store,
                             .slot = {.page = page, .records = 1},
                             .tick = 600,
                             .shunned = true};
    struct sfid__lease_event grant = {.pid = 7, .page_nonce = page->id.nonce};
    is_u64(sfid__grant_position(&h, r, &grant, 1), AT(611, 0),
           "behind a copy a pid begins above the clock and max_ahead");
    g.shared = true;
    is_u64(sfid__grant_position(&h, r, &grant, 1), AT(751, 0),
           "of a shared page above half a window: the most that any process may");
    grant.bound = AT(900, 0);
    is_u64(sfid__grant_position(&h, r, &grant, 1), AT(900, 0), "and above the mark");
}

int main(void) {
    the_first();
    lead();
    goes_on();
    over_a_tick();
    inherits();
    closing();
    limits();
    overtaken();
    to_carry();
    counts();
    hints();
    other_orders();
    nonces();
    beside_another();
    granted();
    after_copy();
    free(page);
    return done_testing();
}
