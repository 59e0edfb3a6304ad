/* SPDX-License-Identifier: MIT */
/* keeper.c - the background thread against a store of the test's own: renews, backs off, rests,
 * tells, ends. */
#include "keeper_scene.h"

#include "base/futex.h"

static bool is_alone(void *arg) { return threads_named("sfid-keeper") == *(int *)arg; }

static bool event_told(void *arg) { return atomic_load(&told[*(int *)arg]) > 0; }

static bool resting(void *arg) {
    (void)arg;
    return atomic_load(&f.page->resting) != 0;
}

static bool signals_blocked(int tid) {
    char path[64], line[256];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "SigBlk: %llx", &mask) == 1)
            break;
    if (in)
        fclose(in);
    return (mask & 1ull << (SIGTERM - 1)) && (mask & 1ull << (SIGPROF - 1)) &&
           (mask & 1ull << (SIGALRM - 1));
}

static bool renewed_thrice(void *unused) {
    draw_for_ms(1); /* else it may rest */
    return unused == NULL && atomic_load(&store->renewals) >= 3;
}

static void renews_while_drawn(void) {
    begin(true);
    is_i64(sfid__keeper_start(&k), 0, "starts");
    is_i64(sfid__keeper_start(&k), 0, "a second start is no second thread");
    ok(tap_wait_until(is_alone, &(int){1}, TAP_WAIT_MS), "one thread");
    ok(sfid__keeper_runs(&k), "and says so");
    const int64_t began = monotonic_ms();
    flows_for_ms(1000, "IDs flow over several windows");
    /* more than a tick has: even a slow machine has to wait now and then */
    static int64_t ids[8192];
    while (atomic_load(&f.g.exhausted) == 0)
        if (sfid_next_n(fake_handle(&f), ids, 8192) < 0)
            break;
    ok(tap_wait_until(renewed_thrice, NULL, TAP_WAIT_MS), "renewed again and again");
    const int renewals = atomic_load(&store->renewals);
    const int64_t most = 3 + (monotonic_ms() - began) / 50; /* counted before: being late adds */
    ok(renewals <= most, "about each third of a window, and no more often (%d)", renewals);
    ok(signals_blocked(atomic_load(&store->kernel_thread)), "its signals are blocked");
    ok(tap_wait_until(event_told, &(int){SFID_EVENT_LEASED}, TAP_WAIT_MS), "told: leased");
    ok(tap_wait_until(event_told, &(int){SFID_EVENT_RENEWED}, TAP_WAIT_MS), "told: renewed");
    ok(tap_wait_until(event_told, &(int){SFID_EVENT_EXHAUSTED}, TAP_WAIT_MS), "told: calls waited");
    sfid__keeper_stop(&k);
    ok(tap_wait_until(is_alone, &(int){0}, TAP_WAIT_MS), "and is gone");
    end();
}

static _Atomic int too_late;
static _Atomic(_Atomic uint32_t *) waits_for;

/* A wait is as long as a test: whoever is not woken comes too late. */
static void wait_long(const struct sfid__clock *clock, _Atomic uint32_t *word, uint32_t value,
                      int64_t ns) {
    atomic_store(&waits_for, word);
    if (clock && ns > 0 &&
        sfid__futex_wait(word, SFID__FUTEX_SHARED, value, TAP_WAIT_MS) == ETIMEDOUT)
        atomic_store(&too_late, 1);
}

static void be_patient(void) {
    static struct sfid__clock patient;
    patient = sfid__system_clock;
    patient.wait_ns = wait_long;
    f.g.clock = &patient;
}

static bool waits_for_news(void *arg) {
    (void)arg;
    return atomic_load(&waits_for) == &f.page->news;
}

static void rests_and_wakes(void) {
    begin(false);
    be_patient();
    is_i64(sfid__keeper_start(&k), 0, "idle: starts");
    ok(tap_wait_until(resting, NULL, TAP_WAIT_MS), "idle: rests after a period without draws");
    const int before = atomic_load(&store->renewals);
    while (real_tick() <= atomic_load(&fake_record(&f)->limit))
        sched_yield();
    before_renewal = waits_for_news; /* the keeper sleeps: nobody reads it now */
    is_i64(sfid_try_next(fake_handle(&f)), SFID_EAGAIN,
           "idle: the window ran out, try says to come again, and no worse");
    ok(sfid_next(fake_handle(&f)) >= 0 && atomic_load(&too_late) == 0,
       "idle: next waits for the renewal it asked for");
    ok(atomic_load(&store->renewals) > before, "idle: which came");
    sfid__keeper_stop(&k);
    before_renewal = NULL;
    end();
}

static bool no_failures(void *arg) {
    (void)arg;
    return atomic_load(&k.failures) == 0;
}

static bool reason_read(void *text) {
    return atomic_load(&k.failure_code) != 0 && sfid__text_read(&k.failure, text);
}

static void backs_off(void) {
    begin(true);
    const int64_t began = monotonic_ms();
    atomic_store(&store->fail, 1);
    sfid__keeper_start(&k);
    f.g.max_wait_ms = 100;
    int64_t id;
    do
        id = sfid_next(fake_handle(&f));
    while (id >= 0 || id == SFID_EAGAIN); /* a tick that lasts, on a busy machine */
    is_i64(id, SFID_ELEASE, "failing: the window ends, and so do IDs");
    char text[SFID__ERROR_TEXT] = "";
    ok(tap_wait_until(event_told, &(int){SFID_EVENT_RENEW_FAILED}, TAP_WAIT_MS), "failing: told");
    /* unless it is written just then */
    ok(tap_wait_until(reason_read, text, TAP_WAIT_MS), "failing: the reason can be read");
    is_str(text, "the disk is on fire", "failing: as the store gave it");
    ok(atomic_load(&k.failures) > 0, "failing: counted");
    const int tries = atomic_load(&store->renewals);
    const int64_t most = 9 + (monotonic_ms() - began) / 45;
    ok(tries < most, "failing: backs off though every call pokes (%d tries)", tries);
    atomic_store(&store->fail, 0);
    f.g.max_wait_ms = TAP_WAIT_MS;
    ok(sfid_next(fake_handle(&f)) >= 0, "repaired: goes on without help");
    ok(tap_wait_until(no_failures, NULL, TAP_WAIT_MS), "repaired: the count is cleared");
    sfid__keeper_stop(&k);
    end();
}

static bool pauses(void *arg) {
    (void)arg;
    return atomic_load(&f.page->resting) == SFID__FAILS && threads_asleep("sfid-keeper") == 1;
}

static void hears_a_stop(void) {
    begin(true);
    be_patient();
    atomic_store(&store->fail, 1);
    sfid__keeper_start(&k);
    ok(tap_wait_until(pauses, NULL, TAP_WAIT_MS), "failing, and asked to stop: it pauses");
    sfid__keeper_stop(&k);
    ok(atomic_load(&too_late) == 0, "failing, and asked to stop: it stops in its pause");
    end();
}

static bool waits_for_its_bell(void *arg) {
    (void)arg;
    return atomic_load(&waits_for) == &k.bell;
}

/* A pid is free when the store says so. Calls that ask again and again change nothing. */
static void waits_for_a_pid(void) {
    begin(true);
    be_patient();
    atomic_store(&waits_for, NULL);
    atomic_store(&store->full, 1);
    atomic_store(&store->lose, 1);
    sfid__keeper_start(&k);
    ok(tap_wait_until(waits_for_its_bell, NULL, TAP_WAIT_MS),
       "all pids taken: it sleeps where no call wakes it");
    sfid__keeper_stop(&k);
    ok(atomic_load(&too_late) == 0, "all pids taken: but a stop does");
    end();
}

/* Lost: another pid, on a record of its own, above all before; nobody who draws sees an error. */
static void switches(void) {
    begin(true);
    is_i64(sfid__keeper_start(&k), 0, "lost: starts");
    int64_t last = sfid_next(fake_handle(&f));
    int out_of_order = 0;
    for (int losses = 1; losses <= 5; losses++) {
        atomic_store(&store->lose, 1);
        while (sfid__page_current(f.page) != &f.page->records[losses]) {
            const int64_t id = sfid_next(fake_handle(&f));
            out_of_order += id <= last;
            last = id;
        }
    }
    is_i64(out_of_order, 0, "lost: IDs flow and increase over five switches");
    is_i64(atomic_load(&store->claims), 5, "lost: one claim each");
    is_u64(sfid__record_pid(sfid__page_current(f.page)), 12,
           "lost: the last pid claimed is in use");
    int closed = 0;
    for (int i = 0; i < 5; i++)
        closed += is_closed(&f.page->records[i]);
    is_i64(closed, 5, "lost: the records before are closed");
    is_u64(atomic_load(&k.losses), 5, "lost: counted");
    sfid__keeper_stop(&k);
    ok(atomic_load(&told[SFID_EVENT_LOST]) == 5 && atomic_load(&told[SFID_EVENT_LEASED_AGAIN]) == 5,
       "lost: told, and leased again");
    ok(atomic_load(&told[SFID_EVENT_LEASED]) == 1, "lost: leased is told once (%d)",
       atomic_load(&told[SFID_EVENT_LEASED]));
    end();
}

/* Where no window has to end, none does on a busy machine. */
static void begin_with_long_windows(void) {
    window_ms = TAP_WAIT_MS;
    begin(true);
    window_ms = 300;
}

/* The windows of claims are of 1000 ms, as are pid 7's; one pid in eight is short: 7 is, and none
 * of those claimed. */
static void begin_short(void) {
    begin_with_long_windows();
    h.lease.terms.first_window = store->store.terms.first_window = 1000;
    h.lease.terms.short_every = 8;
    h.lease.terms.first_heartbeat_ms = 30;
    h.lease.terms.rests = false;
}

static uint64_t early(void) { return atomic_load(&f.page->early); }

struct steps {
    _Atomic int *counter;
    int count;
};

static bool has_stepped(void *arg) {
    const struct steps *s = arg;
    if (atomic_load(s->counter) >= s->count)
        return true;
    sfid__holder_step(&h, false);
    return false;
}

static bool stepped_till(_Atomic int *counter, int count) {
    return tap_wait_until(has_stepped, &(struct steps){counter, count}, TAP_WAIT_MS) &&
           atomic_load(counter) == count;
}

/* Calls go by the word that the holder writes. */
static void notes_windows(void) {
    begin_short();
    sfid__holder_resume(&h);
    is_u64(early(), 500, "windows: a short pid that was found: half of a first one");
    ok(stepped_till(&store->renewals, 1) && early() == 500, "windows: also when it was renewed");
    atomic_store(&store->lose, 1);
    ok(stepped_till(&store->claims, 1) && early() == 500, "windows: a claim's is a first one");
    ok(stepped_till(&store->renewals, 3) && early() == 0,
       "windows: an ordinary pid that was renewed has a whole one");
    end();
    begin_short();
    h.lease.terms.first_window = 1;
    sfid__holder_resume(&h);
    is_u64(early(), 1, "windows: half of one tick is a tick, as 0 would be of a whole one");
    end();
}

/* From a short pid to an ordinary one: no call fails, and nobody is told of a loss. */
static void moves_on(void) {
    begin_short();
    atomic_store(&store->moves, 20);
    is_i64(sfid__keeper_start(&k), 0, "moved: starts");
    int64_t last = sfid_next(fake_handle(&f));
    int out_of_order = 0;
    while (sfid__record_pid(sfid__page_current(f.page)) != 20 && last >= 0) {
        const int64_t id = sfid_next(fake_handle(&f));
        out_of_order += id <= last;
        last = id;
    }
    flows_for_ms(300, "moved: IDs flow");
    is_i64(out_of_order, 0, "moved: and increase over the switch");
    sfid__keeper_stop(&k);
    ok(is_closed(&f.page->records[0]) && !is_closed(&f.page->records[1]),
       "moved: the short pid's record is closed");
    ok(atomic_load(&store->claims) == 0 && atomic_load(&k.losses) == 0 &&
           atomic_load(&told[SFID_EVENT_LOST]) == 0,
       "moved: nothing was lost");
    ok(atomic_load(&told[SFID_EVENT_LEASED_AGAIN]) == 1, "moved: told as leased again");
    end();

    begin_short();
    h.lease.terms.testifies = true;
    atomic_store(&store->moves, 15);
    sfid__holder_resume(&h);
    ok(h.error.code == SFID_ESTATE && strstr(h.error.text, "impossible: pid 15"),
       "moved: to another short pid: \"%s\"", h.error.text);
    atomic_store(&store->moves, 20);
    stepped_till(&store->renewals, 2);
    is_u64(sfid__record_pid(sfid__page_current(f.page)), 20, "moved: by the next attempt");
    is_u64(h.slot.records, 2, "moved: in a record of its own");
    end();

    const uint32_t last_of_all = SFID__PAGE_RECORDS - 1;
    begin_short();
    h.lease.terms.testifies = true;
    memcpy((void *)&f.page->records[last_of_all], (void *)&f.page->records[0],
           sizeof f.page->records[0]);
    atomic_store(&f.page->current, last_of_all);
    atomic_store(&store->moves, 20);
    sfid__holder_resume(&h);
    ok(atomic_load(&store->renewals) == 1 && h.error.code == 0 && sfid__holder_has_pid(&h),
       "moved: not where the page has no room for another record, and the short pid is renewed");
    end();
}

/* A stranger has the pid: not one more ID comes from its record. */
static void meets_a_stranger(void) {
    begin_with_long_windows();
    is_i64(sfid__keeper_start(&k), 0, "stranger: starts");
    int64_t last = sfid_next(fake_handle(&f));
    atomic_store(&store->meets, 1);
    int out_of_order = 0;
    while (sfid__page_current(f.page) == &f.page->records[0]) {
        const int64_t id = sfid_next(fake_handle(&f));
        out_of_order += id <= last;
        last = id;
    }
    is_i64(out_of_order, 0, "stranger: IDs flow and increase");
    flows_for_ms(300, "stranger: from another pid");
    sfid__keeper_stop(&k);
    ok(atomic_load(&store->claims) == 1 && atomic_load(&store->open_at_claim) == 0,
       "stranger: the record was closed before the claim");
    ok(atomic_load(&told[SFID_EVENT_LOST]) == 1 && atomic_load(&told[SFID_EVENT_LEASED_AGAIN]) == 1,
       "stranger: told, and leased again");
    end();

    begin_with_long_windows();
    sfid__record_close(fake_record(&f));
    h.lease.opened = true;
    sfid__holder_resume(&h);
    ok(atomic_load(&store->renewals) == 0 && atomic_load(&store->claims) == 1,
       "stranger: where a keeper died with the record closed, the next one claims");
    ok(!is_closed(sfid__page_current(f.page)), "stranger: and there is a record again");
    end();
}

static bool lost_while_drawn(void *unused) {
    draw_for_ms(1); /* else it may rest */
    return unused == NULL && atomic_load(&told[SFID_EVENT_LOST]) > 0;
}

/* Loses its pid when no other is to be had, and draws until there are no IDs. False if there were
 * none, the window being over. */
static bool uses_up_a_window(void) {
    begin(true);
    need(sfid__keeper_start(&k) == 0, "none left: no keeper");
    atomic_store(&store->busy, 1);
    atomic_store(&store->lose, 1);
    need(tap_wait_until(lost_while_drawn, NULL, TAP_WAIT_MS), "none left: not lost");
    f.g.max_wait_ms = 1;
    int drawn = 0;
    int64_t id;
    while ((id = sfid_next(fake_handle(&f))) >= 0 || id == SFID_EAGAIN)
        drawn += id >= 0;
    if (drawn == 0 && real_tick() >= atomic_load(&fake_record(&f)->limit)) {
        sfid__keeper_stop(&k);
        end();
        return false;
    }
    is_i64(id, SFID_ELEASE, "none left: at the end of the window there are no IDs");
    ok(drawn > 0, "none left: until then there were");
    return true;
}

/* Lost, and no other to be had: the old window is used up, then there are no IDs until there is a
 * pid. */
static void finds_no_other(void) {
    int64_t id;
    char text[SFID__ERROR_TEXT] = "";
    bool used_up = false;
    window_ms = 1000; /* of 300 ms little is left once it is lost */
    for (int i = 0; i < 10 && !used_up; i++)
        used_up = uses_up_a_window();
    need(used_up, "none left: no IDs once it is lost");
    ok(tap_wait_until(reason_read, text, TAP_WAIT_MS) && strcmp(text, "somebody has it") == 0,
       "none left: the reason is \"%s\"", text);
    atomic_store(&store->busy, 0);
    f.g.max_wait_ms = TAP_WAIT_MS;
    id = sfid_next(fake_handle(&f));
    is_i64(id < 0 ? id : 0, 0, "none left: with a pid to be had it goes on without help");
    sfid__keeper_stop(&k);
    window_ms = 300;
    end();
}

/* In use, a page grows on when it is long: others may have it. */
static void stays_on_its_page(void) {
    static struct sfid__mapping map;
    const uint32_t last = SFID__FEW_RECORDS - 1;
    char dir[4200];
    begin_with_long_windows();
    snprintf(dir, sizeof dir, "%s/run", tap_tmpdir());
    need(sfid__dir_open_run(&h.slot.dir, dir, &h.error) >= 0, "%s", h.error.text);
    strcpy(h.slot.name, "slot");
    map = (struct sfid__mapping){.page = f.page, .bytes = SFID__MAP_SIZE, .in_use = 1};
    h.slot.map = &map;
    memcpy((void *)&f.page->records[last], (void *)&f.page->records[0], sizeof f.page->records[0]);
    atomic_store(&f.page->current, last);
    sfid__record_close(&f.page->records[last]);
    h.slot.records = SFID__FEW_RECORDS;
    h.lease.opened = true;
    sfid__holder_resume(&h);
    ok(h.slot.page == f.page && h.slot.records == SFID__FEW_RECORDS + 1 &&
           atomic_load(&f.page->current) == SFID__FEW_RECORDS,
       "long: one record more in the same page");
    ok(sfid_next(fake_handle(&f)) > 0, "long: from which IDs come");
    sfid__dir_close(&h.slot.dir);
    end();
}

int main(void) {
    witness_begin();
    renews_while_drawn();
    rests_and_wakes();
    backs_off();
    hears_a_stop();
    waits_for_a_pid();
    switches();
    notes_windows();
    moves_on();
    meets_a_stranger();
    finds_no_other();
    stays_on_its_page();
    return done_testing();
}
