/* SPDX-License-Identifier: MIT */
/* keeper_relatives.c - keepers of a fork family: one at a time, whoever of them lives, is killed or
 * stopped. */
#include "keeper_scene.h"

static bool renewed(void *arg) { return atomic_load(&store->renewals) >= *(int *)arg; }

/* The kernel shows a thread for a moment after it was joined. */
static bool is_gone(void *unused) { return unused == NULL && threads_named("sfid-keeper") == 0; }

static void child_wants_keeper(struct sfid__generator *g) {
    (void)g;
    sfid__keeper_start(&k);
}

/*
 * A keeper has half a window to begin, and counts as deaf after an eighth of one. On a busy machine
 * a thread is late by more than that of a short window, and what these tests wait for does not
 * happen, or is over before they look.
 */
#define USUAL_MS 600
#define LONG_MS 2400

#define LATE 100 /* no failure of the code that is tested */

/* True if the keeper has been, or is, so late that another one may take its place: from half a
 * window on, less what clocks differ. */
static bool was_late(const struct fake_store *s) {
    return SFID__MAX(atomic_load(&s->longest_ms), monotonic_ms() - atomic_load(&s->renewed_ms)) >=
           window_ms / 2 - 10;
}

/* What a child does while its parent lives, and after the parent's keeper is gone. */
static int child(const int pipes[2]) {
    char go;
    witness_begin();
    f.g.keeper_wanted = child_wants_keeper;
    const bool by_parent = draw_for_ms(2 * window_ms) == 0 && !sfid__keeper_runs(&k);
    const int status = by_parent ? 0 : was_late(store) ? LATE : 1;
    atomic_store(&store->looked, 1);
    if (status != 0)
        return status;
    if (read(pipes[0], &go, 1) != 1)
        return 2;
    int failed = draw_for_ms(2 * window_ms);
    for (int i = 0; i < 1000 && !sfid__keeper_runs(&k); i++) /* its parent may have stopped late */
        failed += draw_for_ms(50);
    store->call = longest_call;
    if (failed != 0)
        return 3;
    if (!sfid__keeper_runs(&k))
        return 4;
    sfid__keeper_stop(&k);
    return tap_wait_until(is_gone, NULL, TAP_WAIT_MS) ? 0 : 5;
}

static struct took childs_call;

/* The child of a process with a keeper; its status. */
static int forks_once(void) {
    begin(false);
    int pipes[2];
    need(pipe(pipes) == 0, "no pipe");
    const pid_t middle = fork();
    if (middle == 0) {
        sfid__keeper_start(&k);
        const pid_t inner = fork();
        if (inner == 0)
            _exit(child(pipes));
        for (int i = 0; i < 1200 && !atomic_load(&store->looked); i++)
            draw_for_ms(50);
        if (write(pipes[1], "g", 1) != 1)
            _exit(9);
        sfid__keeper_stop(&k);
        _exit(status_of(inner));
    }
    const int status = status_of(middle);
    childs_call = store->call;
    close(pipes[0]);
    close(pipes[1]);
    end();
    return status;
}

/* Where the machine was late, once more, with longer windows. */
static void forks(void) {
    int status = LATE;
    for (window_ms = USUAL_MS; status == LATE && window_ms <= 16 * USUAL_MS; window_ms *= 2) {
        if ((status = forks_once()) == LATE)
            diag("the keeper was late in a window of %" PRId64 " ms", window_ms);
    }
    is_i64(
        status, 0,
        "fork: the child is served by its parent's keeper, and starts its own when that is gone");
    in_time(childs_call, CALL_MS, "fork: no call of its waits");
    window_ms = USUAL_MS;
}

/* Draws until the keeper has renewed twice more; how many calls failed, -1: it did not renew. */
static int draw_until_renewed(void) {
    int failed = 0;
    const int more = atomic_load(&store->renewals) + 2;
    for (int i = 0; i < TAP_WAIT_MS / 20 && atomic_load(&store->renewals) < more; i++)
        failed += draw_for_ms(20);
    return atomic_load(&store->renewals) < more ? -1 : failed;
}

static void survives_a_killed_keeper(void) {
    window_ms = LONG_MS;
    begin(false);
    const pid_t holder = fork();
    if (holder == 0) {
        sfid__keeper_start(&k);
        draw_for_ms(2 * TAP_WAIT_MS);
        _exit(1);
    }
    const int one = 1;
    ok(tap_wait_until(renewed, (void *)(uintptr_t)&one, TAP_WAIT_MS),
       "killed: a keeper in another process renews");
    is_i64(sfid__keeper_start(&k), SFID_EAGAIN, "killed: there is one of a family at a time");
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    is_i64(sfid__keeper_start(&k), 0, "killed: its lock is free again");
    flows_for_ms(3 * window_ms / 2, "killed: IDs flow");
    sfid__keeper_stop(&k);
    window_ms = USUAL_MS;
    end();
}

static int keep_until_superseded(void *unused) {
    (void)unused;
    sfid__keeper_start(&k);
    for (const int64_t until = monotonic_ms() + TAP_WAIT_MS;
         monotonic_ms() < until && sfid__keeper_keeps(&k);)
        draw_for_ms(1);
    const int still = sfid__keeper_keeps(&k);
    /* joined: valgrind takes the memory of a thread that has ended for lost */
    sfid__keeper_stop(&k);
    return still;
}

/* Stops a process, but not in the middle of a step: then it goes on a little, and is stopped
 * again. */
static void stop_between_steps(pid_t process) {
    for (;;) {
        kill(process, SIGSTOP);
        waitpid(process, NULL, WUNTRACED);
        if ((atomic_load(&f.page->watch) & SFID__IN_TURN) == 0)
            return;
        kill(process, SIGCONT);
        sched_yield();
    }
}

/* The crew of a process that is stopped lives, and does not answer. */
static void replaces_one_that_is_stopped(void) {
    /* asked at half of it, deaf after an eighth: three eighths are left for the newer one to
     * begin */
    window_ms = LONG_MS;
    begin(false);
    const pid_t older = spawn(keep_until_superseded, NULL);
    const int one = 1;
    ok(tap_wait_until(renewed, (void *)(uintptr_t)&one, TAP_WAIT_MS),
       "stopped: a keeper in another process renews");
    stop_between_steps(older);
    const uint64_t watch = atomic_load(&f.page->watch);
    ok(watch != 0 && sfid__watch_lives(watch), "stopped: its thread is still there");
    f.g.keeper_wanted = child_wants_keeper;
    flows_for_ms(3 * window_ms, "stopped: no call fails over three windows");
    ok(sfid__keeper_keeps(&k) && atomic_load(&f.page->watch) != watch,
       "stopped: another one keeps");
    kill(older, SIGCONT);
    is_i64(status_of(older), 0, "stopped: when it goes on, it ends before its next step");
    is_i64(draw_until_renewed(), 0, "stopped: and the newer one renews");
    ok(sfid__keeper_keeps(&k), "stopped: and goes on");
    sfid__keeper_stop(&k);
    window_ms = USUAL_MS;
    end();
}

/* A process whose step is under way may be in the middle of a write. */
static void leaves_a_step_alone(void) {
    begin(false);
    const pid_t older = spawn(keep_until_superseded, NULL);
    const int one = 1;
    ok(tap_wait_until(renewed, (void *)(uintptr_t)&one, TAP_WAIT_MS),
       "in a step: a keeper in another process renews");
    stop_between_steps(older);
    atomic_fetch_or(&f.page->watch, SFID__IN_TURN);
    atomic_store(&f.page->asked_ms, 1); /* since ever */
    is_i64(sfid__keeper_start(&k), SFID_EAGAIN,
           "in a step: nobody takes its place, however long that lasts");
    kill(older, SIGKILL);
    waitpid(older, NULL, 0);
    is_i64(sfid__keeper_start(&k), 0, "in a step: killed, it is replaced");
    flows_for_ms(3 * window_ms / 2, "in a step: IDs flow");
    sfid__keeper_stop(&k);
    end();
}

/* Its step is over, so that it answers. */
static bool is_kept_by_another(void *watch) {
    const uint64_t seen = atomic_load(&f.page->watch);
    return seen != 0 && (seen & SFID__IN_TURN) == 0 && seen != *(uint64_t *)watch;
}

/* Frees the page until a crew has it that is not the older one: that one may be the first to find
 * it free. */
static bool is_taken_by_another(void *older) {
    uint64_t watch = *(uint64_t *)older;
    atomic_compare_exchange_strong(&f.page->watch, &watch, 0);
    return is_kept_by_another(older);
}

/* The kernel may free a lock that is held: the thread that died had the same number in a PID
 * namespace of its own. */
static void ends_where_another_reigns(bool events) {
    window_ms = LONG_MS;
    begin(events);
    /* it has a next step, though no call wakes it */
    store->store.terms.rests = h.lease.terms.rests = false;
    const pid_t older = spawn(keep_until_superseded, NULL);
    const int one = 1;
    ok(tap_wait_until(renewed, (void *)(uintptr_t)&one, TAP_WAIT_MS),
       "superseded: a keeper in another process renews");
    uint64_t watch = atomic_load(&f.page->watch) & ~SFID__IN_TURN;
    sfid__page_reset_keeper(f.page);
    is_i64(sfid__keeper_start(&k), 0,
           "superseded: its lock was freed while it lives, and another starts");
    if (!events)
        ok(tap_wait_until(is_taken_by_another, &watch, TAP_WAIT_MS),
           "superseded: which keeps the page");
    is_i64(status_of(older), 0, "superseded: the older one ends before its next step");
    is_i64(draw_until_renewed(), 0, "superseded: the newer one renews");
    ok(sfid__keeper_keeps(&k), "superseded: and goes on");
    sfid__keeper_stop(&k);
    is_i64(sfid__keeper_start(&k), 0, "superseded: its lock is free after it");
    sfid__keeper_stop(&k);
    window_ms = USUAL_MS;
    end();
}

/* ---- a first turn that comes late --------------------------------------------- */

/* Another generator's turn, which hangs. */
static struct {
    struct sfid__berth berth; /* first */
    _Atomic int hangs, inside;
} guest;

static int64_t hang(struct sfid__berth *b, uint64_t watch, uint32_t number) {
    (void)b, (void)watch, (void)number;
    atomic_store(&guest.inside, 1);
    while (atomic_load(&guest.hangs))
        sfid__system_clock.sleep_ns(&sfid__system_clock, 1000000);
    atomic_store(&guest.inside, 0);
    return INT64_MAX;
}

static bool never(const struct sfid__berth *b) { return b == NULL; }
static void leaves(struct sfid__berth *b) { (void)b; }
static uint64_t of_none(const struct sfid__berth *b) { return b == NULL; }
static const struct sfid__berth_ops guest_ops = {
    .turn = hang, .is_poked = never, .has_failed = never, .group = of_none, .left = leaves};

static bool is_inside(void *unused) { return unused == NULL && atomic_load(&guest.inside) != 0; }

static void begin_beside_one_that_hangs(void) {
    guest.berth = (struct sfid__berth){.ops = &guest_ops};
    atomic_store(&guest.hangs, 1);
    sfid__crew_join(&guest.berth);
    ok(tap_wait_until(is_inside, NULL, TAP_WAIT_MS), "late: a turn of another generator hangs");
}

/* Draws until it keeps the page, and has another record if it loses the lease. */
static int keep_and_die(void *loses) {
    bool keeps = false;
    int failed = 0;
    f.g.keeper_wanted = child_wants_keeper;
    atomic_store(&store->lose, loses != NULL);
    for (int i = 0; i < TAP_WAIT_MS / 20 && !keeps; i++) {
        failed += draw_for_ms(20);
        keeps = sfid__keeper_keeps(&k) && (loses == NULL || atomic_load(&f.page->current) > 0);
    }
    failed += draw_for_ms(window_ms);
    atomic_store(&store->kept_well, failed == 0 && keeps && sfid__keeper_keeps(&k));
    return kill(getpid(), SIGKILL);
}

static bool a_child_kept(void *loses) {
    waitpid(spawn(keep_and_die, loses), NULL, 0);
    return atomic_load(&store->kept_well) != 0;
}

static bool is_followed(void *unused) {
    return unused == NULL && sfid__keeper_keeps(&k) && atomic_load(&store->claims) >= 2 &&
           atomic_load(&f.page->current) >= 2;
}

/*
 * The opener's machine knows the lease since open. Before its first turn a child keeps the page,
 * loses the lease, has another one, and dies. Then the opener loses that one: the third record has
 * to be behind the second.
 */
static void finds_what_a_child_left(void) {
    begin(false);
    sfid__holder_resume(&h); /* as at the end of open */
    k.followed = f.page->reign;
    begin_beside_one_that_hangs();
    sfid__keeper_start(&k);
    ok(a_child_kept(&k), "late: a child keeps the page, and has another record");
    is_u64(atomic_load(&f.page->current), 1, "late: the second one");
    const int64_t pid = (int64_t)sfid__record_pid(&f.page->records[1]);
    atomic_store(&store->lose, 1);
    atomic_store(&guest.hangs, 0);
    draw_for_ms(2 * window_ms);
    ok(tap_wait_until(is_followed, NULL, TAP_WAIT_MS),
       "late: its parent keeps it after that, and loses it");
    is_i64((int64_t)sfid__record_pid(&f.page->records[1]), pid,
           "late: the child's record is not touched");
    is_u64(atomic_load(&f.page->current), 2, "late: the next one comes behind it");
    sfid__keeper_stop(&k);
    sfid__crew_leave(&guest.berth);
    end();
}

static int keep_until_killed(void *unused) {
    (void)unused;
    f.g.keeper_wanted = child_wants_keeper;
    while (draw_for_ms(1000) >= 0)
        ;
    return 1;
}

static bool has_given_way(void *unused) { return unused == NULL && !sfid__keeper_keeps(&k); }

/* The child dies once the crew has given way to it: no poke tells the crew. */
static void a_child_kept_for_longer(void) {
    uint64_t watch = atomic_load(&f.page->watch) & ~SFID__IN_TURN;
    const pid_t child = spawn(keep_until_killed, NULL);
    ok(tap_wait_until(is_kept_by_another, &watch, TAP_WAIT_MS), "again: a child keeps");
    atomic_store(&guest.hangs, 0);
    ok(tap_wait_until(has_given_way, NULL, TAP_WAIT_MS), "again: its parent gives way to it");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* A child takes the page of a crew that hangs, and dies. Nobody generates: the parent's crew sees
 * to the lease again. */
static void looks_after_it_again(bool later) {
    window_ms = later ? LONG_MS : USUAL_MS;
    begin(false);
    /* as a server's: it is renewed without calls, too */
    store->store.terms.rests = h.lease.terms.rests = false;
    sfid__holder_resume(&h);
    const int one = 1;
    sfid__keeper_start(&k);
    ok(tap_wait_until(renewed, (void *)(uintptr_t)&one, TAP_WAIT_MS), "again: a keeper renews");
    begin_beside_one_that_hangs();
    if (later)
        a_child_kept_for_longer();
    else
        ok(a_child_kept(NULL), "again: a child keeps meanwhile");
    atomic_store(&guest.hangs, 0);
    const int more = atomic_load(&store->renewals) + 2;
    ok(tap_wait_until(renewed, (void *)(uintptr_t)&more, TAP_WAIT_MS),
       "again: then its parent does");
    ok(sfid__keeper_keeps(&k), "again: and says so");
    sfid__keeper_stop(&k);
    sfid__crew_leave(&guest.berth);
    window_ms = USUAL_MS;
    end();
}

int main(void) {
    need(sfid__watch_prepare(), "no memory");
    witness_begin();
    window_ms = USUAL_MS;
    forks();
    survives_a_killed_keeper();
    ends_where_another_reigns(true);
    ends_where_another_reigns(false);
    replaces_one_that_is_stopped();
    leaves_a_step_alone();
    finds_what_a_child_left();
    looks_after_it_again(false);
    looks_after_it_again(true);
    return done_testing();
}
