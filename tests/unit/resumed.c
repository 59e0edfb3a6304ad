/* SPDX-License-Identifier: MIT */
/*
 * resumed.c - the machine is a copy: what shows it, which records are void then, what calls do, and
 * what the keeper asks a server. A file stands in for the hypervisor's page. fleet/resumed does it
 * with whole processes.
 */
#include "base/process.h"
#include "lease/holder.h"

#include "support/fake.h"
#include "support/scene.h"

enum { WINDOW = 300, CLAIMED = 9 };

/* ---- the hypervisor's page ---------------------------------------------------- */

static struct {
    uint32_t magic, size, skipped[2];
    uint64_t marker, flags, of_clocks[9], generation;
} * machine;

static void make_machine(void) {
    static char path[] = "/tmp/sfid-resumed-XXXXXX";
    const int fd = mkstemp(path);
    need(fd >= 0 && ftruncate(fd, 4096) == 0, "%s: %s", path, strerror(errno));
    machine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(machine != MAP_FAILED, "mmap: %s", strerror(errno));
    close(fd);
    machine->magic = 0x4b4c4356;
    machine->size = sizeof *machine;
    machine->flags = 1 << 8;
    machine->generation = 5;
    sfid__signs_path = path;
    struct sfid__signs signs;
    sfid__signs_read(&signs);
    unlink(path);
}

static void copied(void) { machine->generation++; }

static struct sfid__signs now(void) {
    struct sfid__signs signs;
    sfid__signs_read(&signs);
    return signs;
}

/*
 * Is a jump of so many milliseconds noticed? Each of the two readings is up to 10 ms too high. A
 * thread that is preempted in the middle again and again reads nothing, and notices no jump.
 */
static bool jump_shows(uint64_t ms) {
    bool shows = false;
    for (int i = 0; i < 100 && !shows; i++) {
        struct sfid__signs then = now();
        then.slept_ms += then.slept_ms ? ms : 0;
        shows = sfid__signs_changed(&then, 0);
    }
    return shows;
}

static void what_shows_it(void) {
    struct sfid__signs then = now(), other;
    ok(then.generation != 0 && then.slept_ms != 0 && then.clocks != 0 && then.boot == 0,
       "signs are there, but for the boot");
    ok(!sfid__signs_changed(&then, 0), "the same machine shows the same");
    machine->marker++;
    ok(!sfid__signs_changed(&then, 0), "where generations are counted the marker does not count");
    copied();
    ok(sfid__signs_changed(&then, 0), "the next generation is another machine");
    machine->flags = 0;
    then = now();
    copied();
    ok(!sfid__signs_changed(&then, 0), "where none are counted their number does not count");
    machine->marker++;
    ok(sfid__signs_changed(&then, 0), "but the marker does");
    machine->flags = 1 << 8;
    then = now();
    machine->size = 104;
    other = now();
    ok(other.generation != then.generation, "a page that ends before the count has no count");
    machine->size = sizeof *machine;

    then = now();
    other = (struct sfid__signs){.boot = 0};
    ok(!sfid__signs_changed(&other, 1), "what is not known equals all others");
    other = (struct sfid__signs){.boot = 3};
    ok(!sfid__signs_changed(&other, 0) && !sfid__signs_changed(&other, 3),
       "so it does for the boot");
    ok(sfid__signs_changed(&other, 4), "another boot is another machine");

    for (int ms = -3600000; ms <= 3600000; ms += 7200000) {
        other = then;
        other.slept_ms += (uint64_t)((int64_t)then.slept_ms + ms > 0 ? ms : 3600000);
        ok(sfid__signs_changed(&other, 0), "a jump between the clocks is a suspension");
        other.clocks++;
        ok(!sfid__signs_changed(&other, 0), "but not in another time namespace");
    }
    ok(!jump_shows(38), "a few milliseconds are none");
    ok(jump_shows(62) && jump_shows(340), "the shortest suspension is one, and any longer one");
}

/* ---- records, calls ------------------------------------------------------------- */

static struct fake f;

static struct sfid__record *current(void) { return sfid__page_current(f.page); }
static bool is_closed(const struct sfid__record *r) {
    return (atomic_load(&r->word) & SFID__CLOSED) != 0;
}

static struct sfid__record *append(uint64_t pid, const struct sfid__signs *signs) {
    const uint64_t tick = fake_tick(&f);
    const uint32_t i = atomic_load(&f.page->current) + (f.page->records[0].checksum != 0);
    const struct sfid__start start = {&f.g.layout, pid, tick << 12, tick + WINDOW, tick, 0,
                                      70,          1,   signs,      false,         0};
    return sfid__record_append(f.page, i, &start);
}

/* Pid 7 is held under token 70 and nonce 1. */
static struct sfid__record *begin(const struct sfid__signs *signs) {
    free(f.page); /* of the scene before */
    fake_open(&f, NULL, SFID_WAIT, 2000, 10000);
    free(f.page);
    f.page = aligned_alloc(SFID__LINE, 1 << 16);
    memset((void *)f.page, 0, 1 << 16);
    f.g.page = f.page;
    f.g.half_window = WINDOW / 2;
    struct sfid__record *r = append(7, signs);
    atomic_store(&f.page->reserved, 1);
    sfid__generator_start(&f.g, r);
    return r;
}

static void which_records(void) {
    struct sfid__signs then = now();
    struct sfid__record *r = begin(&then);
    ok(!sfid__record_is_void(r, 0), "a record of this machine is good");
    copied();
    ok(sfid__record_is_void(r, 0), "in a copy it is void");
    for (size_t i = 0; i < sizeof r->signs; i++) {
        ((unsigned char *)&r->signs)[i] ^= 1;
        if (sfid__record_is_void(r, 1) || sfid__record_signs(r).generation != 0)
            ok(false, "byte %zu changed: no record is void for that", i);
        ((unsigned char *)&r->signs)[i] ^= 1;
    }
    ok(sfid__record_is_void(r, 0), "damaged signs count as none");
    r = begin(NULL);
    copied();
    ok(!sfid__record_is_void(r, 1), "a record without signs is never void");
}

static void what_calls_do(void) {
    struct sfid__signs then = now();
    struct sfid__record *r = begin(&then);
    const int64_t id = fake_try(&f);
    ok(id >= 0, "row 20: a good record is used");
    copied();
    is_i64(fake_try(&f), id + 1, "row 20: a copy issues the rest of its tick");
    ok(!is_closed(r), "row 20: having noticed nothing");
    fake_pass_ms(&f, 1);
    ok(!sfid_ready(fake_handle(&f)) && sfid_retry_ms(fake_handle(&f)) > 0,
       "row 20: sfid_ready() and sfid_retry_ms() see it");
    ok(fake_try(&f) < 0, "row 20: it does not enter the next one");
    ok(is_closed(r), "row 20: the record is closed for all");
    is_u64(atomic_load(&f.page->poke), 1, "row 20: and the keeper is wanted");
    then = now();
    append(8, &then);
    ok(fake_try(&f) > id, "row 20: IDs come from the next record");
    is_u64(sfid__record_pid(atomic_load(sfid__record_at(&f.g))), 8, "row 20: which is not void");

    r = begin(&then);
    struct sfid__call call = {
        .want = 1, .from = r, .n = atomic_fetch_add(&r->word, 1), .in_hand = true};
    copied();
    ok(sfid__draw(&f.g, &call) < 0 && !call.in_hand,
       "row 20: what is in hand is dropped, too, below the limit");
}

static void copied_meanwhile(struct fake *self, int64_t ns) {
    (void)ns;
    copied();
    const struct sfid__signs since = now();
    append(8, &since);
    self->on_sleep = NULL;
}

/* It has used up a tick, and sleeps until the next one begins. */
static void what_a_batch_does(void) {
    static int64_t ids[4096 + 64];
    struct sfid__signs then = now();
    sfid_parts p;
    begin(&then);
    f.on_sleep = copied_meanwhile;
    is_i64(sfid_next_n(fake_handle(&f), ids, COUNT(ids)), COUNT(ids), "row 20: a batch is filled");
    ok(sfid_parse(&f.g.layout, ids[0], &p) == 0 && p.pid == 8,
       "row 20: with none of the IDs from before the copy");
    then = now();
    begin(&then);
    f.on_sleep = NULL;
    f.g.max_wait_ms = 0;
    is_i64(sfid_next_n(fake_handle(&f), ids, COUNT(ids)), 4096,
           "row 20: one that ends early has those of its tick");
    then = now();
    begin(&then);
    f.on_sleep = copied_meanwhile;
    atomic_store(&current()->limit, fake_tick(&f) + 1);
    f.g.max_wait_ms = 1;
    ok(sfid_next_n(fake_handle(&f), ids, COUNT(ids)) != 4096,
       "row 20: and none if a copy has them, too");
}

/* ---- the keeper -------------------------------------------------------------------- */

static struct {
    enum sfid__lease_answer renewal;
    void (*at_renewal)(void), (*at_claim)(void);
    bool is_full;
    unsigned renewals, claims, releases;
    uint64_t token[4]; /* of claims */
} server;

static struct sfid__store store;
static struct sfid__holder h;
static unsigned told[SFID_EVENT_KINDS];

static void once(void (**what)(void)) {
    void (*then)(void) = *what;
    *what = NULL;
    if (then)
        then();
}

static enum sfid__lease_answer store_claim(struct sfid__store *s,
                                           const struct sfid__lease_action *ask,
                                           struct sfid__lease_event *grant,
                                           struct sfid__error *err) {
    (void)err;
    server.token[server.claims++ % COUNT(server.token)] = ask->token;
    once(&server.at_claim);
    *grant = (struct sfid__lease_event){.after_ms = 100};
    if (server.is_full)
        return SFID__LATER;
    *grant = (struct sfid__lease_event){
        .pid = CLAIMED, .floor = ask->now, .limit = ask->now + s->terms.first_window};
    return SFID__GRANTED;
}

static enum sfid__lease_answer store_renew(struct sfid__store *s,
                                           const struct sfid__lease_action *ask,
                                           struct sfid__lease_event *grant,
                                           struct sfid__error *err) {
    (void)err;
    server.renewals++;
    once(&server.at_renewal);
    *grant = (struct sfid__lease_event){.pid = ask->pid,
                                        .limit = SFID__MAX(ask->now + s->terms.window, ask->limit)};
    return SFID__GRANTED;
}

static enum sfid__lease_answer store_release(struct sfid__store *s,
                                             const struct sfid__lease_action *ask,
                                             struct sfid__error *err) {
    (void)s, (void)ask, (void)err;
    server.releases++;
    return SFID__GRANTED;
}

static const struct sfid__store_ops store_ops = {
    .claim = store_claim, .renew = store_renew, .release = store_release};

static void hear(void *listener, sfid_event_kind kind, int code, int64_t value, const char *text) {
    (void)listener, (void)code, (void)value, (void)text;
    told[kind]++;
}

/* A process has renewed what it found on the page. */
static struct sfid__record *hold(bool shared) {
    const struct sfid__signs then = now();
    struct sfid__record *r = begin(&then);
    memset(&server, 0, sizeof server);
    store = (struct sfid__store){.ops = &store_ops,
                                 .terms = {.window = WINDOW,
                                           .first_window = WINDOW,
                                           .end = sfid__layout_end(&f.g.layout),
                                           .pid_max = 1023,
                                           .heartbeat_ms = 100,
                                           .first_heartbeat_ms = 100,
                                           .poll_least_ms = 50,
                                           .poll_most_ms = 100,
                                           .retry_first_ms = 50,
                                           .retry_longest_ms = 5000,
                                           .testifies = true},
                                 .server = "a server",
                                 .exchange_ms = 2000};
    memset((void *)&h, 0, sizeof h);
    h.generator = &f.g;
    h.store = &store;
    f.g.shared = shared;
    h.deadline_ms = SFID__FOREVER;
    h.slot.page = f.page;
    h.slot.records = 1;
    sfid__lease_init(&h.lease, &store.terms);
    sfid__holder_attend(&h, hear, NULL, NULL);
    sfid__holder_resume(&h);
    memset(&server, 0, sizeof server);
    memset(told, 0, sizeof told);
    return r;
}

static void is_claimed_anew(const struct sfid__record *r, unsigned claims, const char *what) {
    is_u64(server.claims, claims, "%s: a pid is claimed", what);
    is_u64(server.releases, 0, "%s: and none released", what);
    ok(is_closed(r) && current() != r && sfid__record_pid(current()) == CLAIMED,
       "%s: the old record is closed, a new one there", what);
    ok(server.token[claims - 1] != 70 && current()->token == server.token[claims - 1],
       "%s: under a token of its own", what);
    ok(!sfid__record_is_void(current(), h.boot), "%s: which is not void", what);
    ok(told[SFID_EVENT_LOST] == 1 && told[SFID_EVENT_LEASED_AGAIN] == 1, "%s: both is told", what);
    server.renewals = 0;
    fake_pass_ms(&f, 200);
    sfid__holder_step(&h, true);
    ok(server.claims == claims && server.renewals == 1, "%s: from then on it renews", what);
}

static void what_the_keeper_asks(bool shared) {
    struct sfid__record *r = hold(shared);
    fake_pass_ms(&f, 200);
    sfid__holder_step(&h, false);
    ok(server.renewals == 1 && server.claims == 0 && !is_closed(r), "no copy: it renews");

    r = hold(shared);
    copied();
    sfid__holder_step(&h, false);
    is_u64(server.renewals, 0, "a copy renews nothing");
    if (shared) /* it is brought up to the page, as if the keeper before had died there */
        ok(is_closed(r) && server.claims == 1 && current()->token == server.token[0],
           "a copy, shared: a pid is claimed");
    else
        is_claimed_anew(r, 1, "a copy");

    r = hold(shared);
    server.at_renewal = copied;
    fake_pass_ms(&f, 200);
    sfid__holder_step(&h, false);
    is_claimed_anew(r, 1, "copied while it renews");

    r = hold(false);
    copied();
    server.at_claim = copied;
    sfid__holder_step(&h, false);
    ok(server.token[0] != server.token[1], "copied while it claims: another token each time");
    is_claimed_anew(r, 2, "copied while it claims");
}

static void what_it_asks_while_all_are_taken(bool shared) {
    hold(shared);
    copied();
    server.is_full = true;
    sfid__holder_step(&h, false);
    const unsigned claims = server.claims;
    for (int i = 0; i < 3; i++)
        sfid__holder_step(&h, true); /* a call wants an ID */
    is_u64(server.claims, claims, "a copy that is told to come later does not ask at each poke");
    fake_pass_ms(&f, 200);
    server.is_full = false;
    sfid__holder_step(&h, false);
    ok(server.claims == claims + 1 && sfid__record_pid(current()) == CLAIMED, "but then");
}

static void what_others_noticed(void) {
    struct sfid__record *r = hold(false);
    sfid__record_close(r); /* a child that sees more of the machine */
    sfid__holder_step(&h, true);
    is_claimed_anew(r, 1, "noticed by another process");

    r = hold(false);
    sfid__holder_unfollow(&h);
    copied();
    sfid__holder_resume(&h);
    ok(is_closed(r) && server.renewals == 0 && server.claims == 1 &&
           current()->token == server.token[0],
       "a keeper that begins in a copy renews nothing that it finds");
    ok(!sfid__record_is_void(current(), h.boot), "and what it claims is good");

    struct sfid__signs then = now();
    then.boot = 12345;
    begin(&then);
    h.slot.page = f.page;
    sfid__holder_unfollow(&h);
    memset(&server, 0, sizeof server);
    sfid__holder_resume(&h);
    ok(server.renewals == 0 && server.claims == 1, "so it does under another boot");
    is_u64(sfid__record_signs(current()).boot, h.boot, "and the new record is of this boot");
}

int main(void) {
    make_machine();
    what_shows_it();
    which_records();
    what_calls_do();
    what_a_batch_does();
    what_the_keeper_asks(false);
    what_the_keeper_asks(true);
    what_it_asks_while_all_are_taken(false);
    what_it_asks_while_all_are_taken(true);
    what_others_noticed();
    return done_testing();
}
