/* SPDX-License-Identifier: MIT */
/* trial_work.c - one trial: what its process and the neighbour do, and how that is judged. */
#include "support/local.h"
#include "support/trial_parts.h"

#include <sys/socket.h>

/* PLANNED_OPEN_MS: of an open that may have to fail. */
enum { PLANNED_OPEN_MS = 5000, FAILING_MS = 200 };

/* ---- the neighbour ---------------------------------------------------------- */

static struct {
    pid_t process;
    int fd;
    bool asked; /* it has opened before, and was asked once more */
} neighbour;

static int be_neighbour(int fd) {
    sfid *g = NULL;
    char what;
    while (read(fd, &what, 1) == 1 && what != 'q') {
        int rc = 0;
        if (what == 'o')
            rc = trial_open(&g, trial_now.app, TAP_WAIT_MS);
        else if (what == 'd')
            trial_draw(g, "neighbour");
        if (what == 'c' || rc < 0) {
            if (rc < 0)
                snprintf(trial_state->had, sizeof trial_state->had, "%s", sfid_last_error(g));
            sfid_close(g);
            g = NULL;
        }
        if (write(fd, &rc, sizeof rc) != sizeof rc)
            return 1;
    }
    return 0;
}

static void start_neighbour(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        _exit(DIED);
    neighbour.process = fork();
    if (neighbour.process == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(be_neighbour(ends[1]));
    }
    close(ends[1]);
    neighbour.fd = ends[0];
}

static int ask_neighbour(char what) {
    int rc = DIED;
    if (write(neighbour.fd, &what, 1) != 1 || read(neighbour.fd, &rc, sizeof rc) != sizeof rc)
        trial_wrong("the neighbour is gone");
    return rc;
}

static void end_neighbour(void) {
    if (write(neighbour.fd, "q", 1) != 1 ||
        (neighbour.process && child_wait(neighbour.process, TRIAL_LIMIT_MS) != 0))
        trial_wrong("the neighbour did not end well");
}

/* What was there before the process with the failing call. */
static void set_scene(void) {
    start_neighbour();
    for (int i = 0; i < trial_now.s->lives; i++)
        if (ask_neighbour('o') == 0 && ask_neighbour('d') == 0)
            ask_neighbour('c');
    if (trial_now.s->resumes || trial_now.s->lives) {
        if (trial_now.s->resumes && ask_neighbour('o') == 0)
            ask_neighbour('d');
        child_kill(neighbour.process);
        close(neighbour.fd);
        start_neighbour();
    }
    if (trial_now.s->joins && ask_neighbour('o') == 0)
        ask_neighbour('d');
}

/* It opens while this process has a generator, or has none. Returns whether it has one
 * trial_now. */
static bool neighbour_opens(bool beside_ours, const char *when) {
    if (trial_now.s->joins && !neighbour.asked) {
        neighbour.asked = true;
        ask_neighbour('d');
        return true;
    }
    const int rc = ask_neighbour('o');
    const int want = beside_ours && trial_now.s->alone ? SFID_EBUSY : 0;
    if (rc != want)
        trial_wrong("neighbour %s: %s (%s)", when, rc ? sfid_strerror(rc) : "it got in",
                    rc ? trial_state->had : "");
    if (rc == 0)
        ask_neighbour('d');
    return rc == 0;
}

/* ---- the work --------------------------------------------------------------- */

static void look_at_text(int rc, const char *text) {
    const int why = inject->plan.error;
    if (text[0] == '\0' || (inject_is_fault(why) && !inject_is_told(text, inject->plan.kind, why)))
        trial_wrong("error %d has the text \"%s\"", rc, text);
    snprintf(trial_state->said, sizeof trial_state->said, "%s", text);
}

/* What is not written may not be believed. */
static bool must_be_noticed(void) {
    const enum inject_kind kind = inject->plan.kind;
    return atomic_load(&inject->hits) > 0 &&
           (kind == INJECT_write || kind == INJECT_pwritev64 || kind == INJECT_fdatasync ||
            (kind == INJECT_ftruncate64 && !trial_now.s->lives) ||
            /* others write hints, too */
            (kind == INJECT_pwrite64 && trial_now.s->alone));
}

static void look_at_success(bool done) {
    trial_state->survived = done;
    if (done && must_be_noticed())
        trial_wrong("nobody notices");
}

/* NULL with a complaint. */
static sfid *open_ours(void) {
    sfid *g = NULL;
    const int rc = trial_open(&g, trial_now.app, TAP_WAIT_MS);
    if (rc == 0) {
        trial_draw(g, "ours");
        return g;
    }
    trial_wrong("open: %s", sfid_last_error(g));
    trial_close(g);
    return NULL;
}

/* What a process keeps for good is there from now on. */
static void warm_up(void) {
    sfid *g = NULL;
    if (trial_open(&g, "warm", TAP_WAIT_MS) < 0)
        trial_wrong("warm: %s", sfid_last_error(g));
    trial_close(g);
}

static void open_again(void) {
    sfid *g = NULL;
    const int rc = trial_open(&g, trial_now.app, TAP_WAIT_MS);
    if (rc < 0)
        trial_wrong("the next open: %s (%s)", sfid_strerror(rc), sfid_last_error(g));
    else
        trial_draw(g, "the next open");
    trial_close(g);
}

static void neighbour_after(bool is_open) {
    if (is_open)
        ask_neighbour('c');
    if (neighbour_opens(false, "at the end"))
        ask_neighbour('c');
}

/* The first round makes files that later ones find. */
static void arm(void) {
    memset((void *)inject->calls, 0, sizeof inject->calls);
    atomic_store(&inject->hits, 0);
    inject_arm();
}

static void disarm(void) {
    inject_disarm();
    trial_state->hits += atomic_load(&inject->hits);
    for (int side = 0; side < INJECT_SIDES; side++)
        for (int kind = 0; kind < INJECT_KINDS; kind++) {
            const uint32_t calls = atomic_load(&inject->calls[side][kind]);
            if (trial_state->most[side][kind] < calls)
                trial_state->most[side][kind] = calls;
        }
}

/* One open with the plan. NULL if it failed; then nothing of it is left. */
static sfid *open_by_plan(void) {
    const int fds = count_fds();
    sfid *g = NULL;
    arm();
    const int rc = trial_open(&g, trial_now.app, PLANNED_OPEN_MS);
    disarm();
    look_at_success(rc == 0);
    if (rc == 0)
        return g;
    if (trial_now.s->lives && inject->plan.kind == INJECT_ftruncate64)
        trial_wrong("a page that cannot be replaced goes on: %s", sfid_last_error(g));
    look_at_text(rc, g ? sfid_last_error(g) : rc == SFID_ENOMEM ? "out of memory" : "");
    if (inject->plan.kind == INJECT_clock_gettime)
        trial_wrong("no other clock is read: %s", trial_state->said);
    trial_close(g);
    trial_same_fds(fds, "after the failure");
    trial_look_at_files();
    trial_state->failed++;
    return NULL;
}

static void work_open(void) {
    bool is_open = false;
    for (int round = 0; round < TRIAL_ROUNDS; round++) {
        const struct trial_had had = trial_has();
        sfid *g = open_by_plan();
        if (g)
            trial_draw(g, "ours");
        if (round == 0)
            is_open = neighbour_opens(g != NULL, "beside");
        if (is_open && trial_now.s->alone) {
            ask_neighbour('c');
            is_open = false;
        }
        if (g) {
            trial_draw(g, "ours");
            trial_close(g);
        }
        trial_same(&had, g ? "after an open that went well" : "after an open that failed");
        trial_state->round[round] = inject_live();
    }
    open_again();
    neighbour_after(is_open);
}

static bool has_renewed(sfid *g, uint64_t before) {
    sfid_status_info info;
    return sfid_status(g, &info) == 0 && info.renewals > before;
}

static bool has_failed(sfid *g) {
    sfid_status_info info;
    return sfid_status(g, &info) == 0 && (info.renew_failures > 0 || info.losses > 0);
}

static uint64_t renewals(sfid *g) {
    sfid_status_info info;
    return sfid_status(g, &info) == 0 ? info.renewals : 0;
}

/* Generates IDs until the window was extended; with `failing` also until that failed, or for a
 * while. */
static bool renews(sfid *g, bool failing) {
    const uint64_t before = renewals(g);
    const int failures = atomic_load(&trial_state->reported_failures);
    struct patience p = {0};
    trial_pass_ms(trial_now.s->renews_ms);
    for (;;) {
        const int64_t id = trial_next(g);
        const int at = id < 0 ? 0 : atomic_fetch_add(&trial_state->ids_count, 1);
        if (id >= 0 && at < TRIAL_IDS)
            trial_state->ids[at] = id;
        for (int i = 0; i < 20; i++) {
            /* it is tried again 50 ms after a failure, which is told before */
            const bool renewed = has_renewed(g, before);
            if (failing &&
                (has_failed(g) || atomic_load(&trial_state->reported_failures) > failures))
                return false;
            if (renewed)
                return true;
            nap_us(500);
        }
        if (!patient(&p, failing ? FAILING_MS : TAP_WAIT_MS))
            return false;
    }
}

static bool has_reported(void *unused) {
    (void)unused;
    return atomic_load(&trial_state->reported_failures) > 0;
}

/* The keeper may be in the middle of a renewal after the one that went well. */
static bool failure_came(void *g) { return has_failed(g); }

static void renew_and_go_on(sfid *g) {
    const bool done = renews(g, true);
    disarm();
    look_at_success(done && !(must_be_noticed() && trial_wait(failure_came, g)));
    if (trial_now.s->events && has_failed(g) && !tap_wait_until(has_reported, NULL, TAP_WAIT_MS))
        trial_wrong("a renewal failed without an event");
    trial_draw(g, "after the failure");
    if (!renews(g, false))
        trial_wrong("no renewal after the failure: %s", sfid_last_error(g));
}

static void renew_rounds(sfid *g) {
    const struct trial_had had = trial_has();
    for (int round = 0; round < TRIAL_ROUNDS; round++) {
        arm();
        renew_and_go_on(g);
        trial_same(&had, "after a renewal");
        trial_state->round[round] = inject_live();
    }
}

static void work_renew(void) {
    sfid *g = open_ours();
    if (g == NULL)
        return;
    const bool is_open = neighbour_opens(true, "beside");
    renew_rounds(g);
    if (is_open)
        ask_neighbour('d');
    trial_draw(g, "ours at the end");
    trial_close(g);
    open_again();
    neighbour_after(is_open);
}

static void work_close(void) {
    bool is_open = false;
    for (int round = 0; round < TRIAL_ROUNDS; round++) {
        const struct trial_had had = trial_has();
        sfid *g = open_ours();
        if (g == NULL)
            return;
        arm();
        trial_close(g);
        disarm();
        trial_state->survived = true;
        if (sfid_next(g) != SFID_ECLOSED)
            trial_wrong("not closed");
        trial_same(&had, "after the close");
        trial_state->round[round] = inject_live();
        if (round == 0)
            is_open = neighbour_opens(false, "after the close");
        if (is_open && trial_now.s->alone) {
            ask_neighbour('c');
            is_open = false;
        }
    }
    open_again();
    neighbour_after(is_open);
}

/* How many descriptors there are while the keeper has no file open: one that is late may have one
 * for long. */
static int settled_fds(void) {
    int least = count_fds();
    for (int i = 0; i < 20; i++) {
        nap_us(1000);
        tap_wait_until(others_sleep, NULL, TAP_WAIT_MS);
        const int now = count_fds();
        least = now < least ? now : least;
    }
    return least;
}

/* The parent leaves; its child goes on with the pid, begins a keeper of its own, and closes. */
static void work_fork(void) {
    sfid *g = open_ours();
    if (g == NULL)
        return;
    let_threads_start();
    const int fds = settled_fds();
    arm();
    inject_enter();
    const pid_t child = fork();
    inject_leave();
    if (child != 0) {
        inject_disarm();
        trial_close(g);
        atomic_store(&trial_state->parent_left, 1);
        const int status = child_wait(child, TRIAL_LIMIT_MS);
        _exit(status >= KILLED ? DIED : status);
    }
    inject_begin();
    const int more_fds = count_fds() - fds;
    trial_now.inherited_fds = more_fds > 0 ? more_fds : 0;
    neighbour.process = 0;
    flag_wait(&trial_state->parent_left, 1, TAP_WAIT_MS);
    const bool is_open = neighbour_opens(true, "beside");
    renew_and_go_on(g);
    trial_close(g);
    open_again();
    neighbour_after(is_open);
}

int trial_run(void *arg) {
    (void)arg;
    set_scene();
    inject_begin();
    if (!trial_now.s->cold)
        warm_up();
    const int fds = count_fds();
    switch (trial_now.work) {
    case TRIAL_OPEN:
        work_open();
        break;
    case TRIAL_RENEW:
        work_renew();
        break;
    case TRIAL_CLOSE:
        work_close();
        break;
    case TRIAL_FORK:
        work_fork();
        break;
    }
    trial_look_around(fds);
    trial_look_at_files();
    end_neighbour();
    return 0;
}
