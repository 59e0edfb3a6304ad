/* SPDX-License-Identifier: MIT */
/*
 * late_keeper.c - the keeper of a server's lease that processes share is held up inside a question.
 * Meanwhile another one sits down, renews, or publishes a record. What the first one then does with
 * its answer: a granted limit counts; nothing else is published or told, and what was granted for
 * nothing is given back.
 */
#include "lease/holder.h"
#include "lease/nonces.h"

#include "support/fake.h"
#include "support/scene.h"

enum { WINDOW = 300, REIGN = 8, CLAIMED = 9, MOVED_TO = 10, ITS_PID = 11 };

/* What happens while the keeper waits for an answer. */
static struct {
    enum sfid__lease_answer renewal;
    void (*at_renewal)(void), (*at_claim)(void);
    unsigned renewals, claims, releases;
    struct sfid__lease_action renewed, claimed, released; /* the last questions */
} server;

static struct fake f;
static struct sfid__store store;
static struct sfid__holder h;
static unsigned told;

static void meanwhile(void (*what)(void)) {
    if (what)
        what();
}

static enum sfid__lease_answer store_claim(struct sfid__store *s,
                                           const struct sfid__lease_action *ask,
                                           struct sfid__lease_event *grant,
                                           struct sfid__error *err) {
    (void)err;
    server.claims++;
    server.claimed = *ask;
    meanwhile(server.at_claim);
    *grant = (struct sfid__lease_event){
        .pid = CLAIMED, .floor = ask->now, .limit = ask->now + s->terms.first_window};
    return SFID__GRANTED;
}

static enum sfid__lease_answer store_renew(struct sfid__store *s,
                                           const struct sfid__lease_action *ask,
                                           struct sfid__lease_event *grant,
                                           struct sfid__error *err) {
    server.renewals++;
    server.renewed = *ask;
    meanwhile(server.at_renewal);
    sfid__fail(err, SFID_ELEASE, "not held");
    if (server.renewal == SFID__GRANTED)
        *grant =
            (struct sfid__lease_event){.limit = SFID__MAX(ask->now + s->terms.window, ask->limit)};
    if (server.renewal == SFID__SWITCHED)
        *grant = (struct sfid__lease_event){
            .pid = MOVED_TO, .floor = ask->now, .limit = ask->now + s->terms.first_window};
    return server.renewal;
}

static enum sfid__lease_answer store_release(struct sfid__store *s,
                                             const struct sfid__lease_action *ask,
                                             struct sfid__error *err) {
    (void)s, (void)err;
    server.releases++;
    server.released = *ask;
    return SFID__GRANTED;
}

static const struct sfid__store_ops store_ops = {
    .claim = store_claim, .renew = store_renew, .release = store_release};

static void hear(void *listener, sfid_event_kind kind, int code, int64_t value, const char *text) {
    (void)listener, (void)kind, (void)code, (void)value, (void)text;
    told++;
}

/* ---- the page ---------------------------------------------------------------- */

static struct sfid__record *current(void) { return sfid__page_current(f.page); }

static bool is_closed(const struct sfid__record *r) {
    return (atomic_load(&r->word) & SFID__CLOSED) != 0;
}

/* Pid 7 is held under token 70 and nonce 1, with a third of its window left. This process's keeper
 * has sat down. */
static void begin(uint64_t pid) {
    free(f.page); /* of the scene before */
    fake_open(&f, NULL, SFID_WAIT, 2000, 10000);
    memset(&server, 0, sizeof server);
    told = 0;
    free(f.page);
    f.page = aligned_alloc(SFID__LINE, 1 << 16);
    memset((void *)f.page, 0, 1 << 16);
    const uint64_t tick = fake_tick(&f);
    const struct sfid__start start = {
        &f.g.layout, pid, tick << 12, tick + WINDOW / 3, tick, 0, 70, 1, NULL, false, 0};
    sfid__record_append(f.page, 0, &start);
    atomic_store(&f.page->reserved, 1);
    atomic_store(&f.page->reign, REIGN);
    f.g.page = f.page;
    f.g.half_window = WINDOW / 2;
    store = (struct sfid__store){.ops = &store_ops,
                                 .terms = {.window = WINDOW,
                                           .first_window = WINDOW,
                                           .short_every = 8,
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
    f.g.shared = true;
    h.deadline_ms = SFID__FOREVER;
    h.slot.page = f.page;
    h.slot.records = 1;
    sfid__lease_init(&h.lease, &store.terms);
    h.lease.state = SFID__LEASE_HELD;
    h.lease.opened = h.lease.told = true;
    sfid__holder_attend(&h, hear, NULL, NULL);
    sfid__holder_sit(&h, REIGN);
}

static void step(void) { sfid__holder_step(&h, true); }

/* The keeper of such a pid renews, and is answered so; at the renewal, or the claim, this
 * happens. */
static void renewal(uint64_t pid, enum sfid__lease_answer answer, void (*at_renewal)(void),
                    void (*at_claim)(void)) {
    begin(pid);
    server.renewal = answer;
    server.at_renewal = at_renewal;
    server.at_claim = at_claim;
    step();
}

static bool nothing_new(void) {
    return current() == &f.page->records[0] && server.releases == 0 && told == 0;
}

/* ---- what another keeper does -------------------------------------------------- */

static void sits_down(void) { atomic_store(&f.page->reign, REIGN + 1); }

static void renews(void) {
    sfid__nonces_answered(current(), sfid__nonces_show(current(), 1).next);
    sfid__nonces_answered(current(), sfid__nonces_show(current(), 500).next);
}

static void publishes(void) {
    const uint64_t tick = fake_tick(&f);
    const struct sfid__start start = {&f.g.layout, ITS_PID, tick << 12, tick + WINDOW, tick, 0,
                                      110,         3,       NULL,       false,         0};
    const uint32_t i = atomic_fetch_add(&f.page->reserved, 1);
    sfid__record_replace(f.page, i, 0, &start);
}

/* ---- on time --------------------------------------------------------------------- */

static void on_time(void) {
    renewal(6, SFID__GRANTED, NULL, NULL);
    ok(server.renewals == 1 && server.renewed.token == 70 && server.renewed.nonce == 1 &&
           server.renewed.next_nonce > 1,
       "a keeper renews under what the page has");
    ok(server.renewed.position == sfid__record_position(current()) && server.renewed.position != 0,
       "says where its word is");
    is_u64(atomic_load(&current()->limit), fake_tick(&f) + WINDOW, "and raises the limit");
    const struct sfid__nonces n = sfid__nonces_of(current());
    ok(n.answered == server.renewed.next_nonce && n.next == 0, "the nonce is answered");
    ok(told > 0, "which is told");
    sfid__nonces_show(current(), 500);
    fake_pass_ms(&f, 200);
    step();
    ok(server.renewals == 2 && server.renewed.next_nonce == 500,
       "a nonce that another keeper has noted is shown");

    renewal(6, SFID__LOST, NULL, NULL);
    ok(server.claims == 1 && sfid__record_pid(current()) == CLAIMED &&
           is_closed(&f.page->records[0]),
       "a lease that is lost is replaced for all");
    ok(told == 2 && server.releases == 0, "which is told");
}

/* ---- late -------------------------------------------------------------------------- */

static void late(void) {
    renewal(6, SFID__GRANTED, sits_down, NULL);
    ok(atomic_load(&current()->limit) == fake_tick(&f) + WINDOW &&
           sfid__nonces_of(current()).next == 0,
       "late, granted: the limit is raised, and the nonce answered");
    ok(nothing_new(), "late, granted: and nothing is told");

    renewal(6, SFID__LOST, sits_down, NULL);
    ok(server.claims == 0 && nothing_new() && !is_closed(current()),
       "late, lost: nothing is claimed, or told");

    renewal(6, SFID__FOREIGN, sits_down, NULL);
    ok(server.claims == 0 && nothing_new(), "late, a stranger's: nothing is claimed, or told");
    ok(is_closed(current()), "late, a stranger's: the record is closed at once");

    renewal(7, SFID__SWITCHED, sits_down, NULL);
    ok(server.renewed.move_token != 0 && current() == &f.page->records[0] && told == 0,
       "late, another pid: is not published, or told");
    ok(server.releases == 1 && server.released.pid == MOVED_TO &&
           server.released.token == server.renewed.move_token &&
           server.released.nonce == server.renewed.move_nonce &&
           server.released.floor == fake_tick(&f),
       "late, another pid: is given back");

    renewal(6, SFID__LOST, NULL, sits_down);
    ok(server.claims == 1 && current() == &f.page->records[0], "late, claimed: is not published");
    ok(server.releases == 1 && server.released.pid == CLAIMED &&
           server.released.token == server.claimed.token &&
           server.released.nonce == server.claimed.nonce && server.released.floor == fake_tick(&f),
       "late, claimed: is given back");
}

/* ---- beside one that is late --------------------------------------------------------- */

static void beside(void) {
    renewal(6, SFID__LOST, renews, NULL);
    ok(server.claims == 0 && nothing_new(),
       "lost, but another keeper has renewed meanwhile: the lease is not lost");
    server.renewal = SFID__GRANTED;
    server.at_renewal = NULL;
    step();
    ok(server.renewals == 2 && server.renewed.nonce == 500,
       "it is renewed under that keeper's nonce");

    renewal(6, SFID__LOST, NULL, publishes);
    ok(sfid__record_pid(current()) == ITS_PID,
       "claimed, but another keeper has published a record: that stands");
    ok(server.releases == 1 && server.released.pid == CLAIMED &&
           server.released.nonce == server.claimed.nonce,
       "and the claim is given back");
    server.renewal = SFID__GRANTED;
    step();
    ok(server.renewed.token == 110 && server.renewed.nonce == 3,
       "the keeper goes on with that record");

    begin(6);
    server.renewal = SFID__LOST;
    sits_down();
    publishes();
    sfid__holder_sit(&h, REIGN);
    server.renewal = SFID__GRANTED;
    step();
    ok(server.renewed.token == 110, "a keeper that sits down goes by the page");
}

int main(void) {
    on_time();
    late();
    beside();
    free(f.page);
    return done_testing();
}
