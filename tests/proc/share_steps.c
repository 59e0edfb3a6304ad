/* SPDX-License-Identifier: MIT */
/*
 * Open, draw and close of a process that shares a page, stopped before and after each of its system
 * calls. There it is killed, or stays while another process opens, generates and closes, and then
 * goes on to its end. Five beginnings: a new app, a page whose last process died, one whose last
 * process closed, one that another process has, and one of a process that did not share, drew ahead
 * of the clock, died and lost its mark. No ID comes twice, each process's IDs increase, every other
 * process opens in time, and the next one goes on above all IDs of its pid.
 *
 * Sizes: each 13th stop (long: each; sanitizer: each 60th).
 */
#include "support/local.h"

#include <sys/ptrace.h>

enum {
    IDS = 3,
    AHEAD_IDS = 1 << 19,
    MOST_IDS = 64,
    MOST_STOPS = 4000,
    FAULTS_SHOWN = 10,
    OPEN_MS = 3000
};
enum past { NEW_APP, DIED_BEFORE, CLOSED_BEFORE, OTHERS_LIVE, ALONE_BEFORE, PASTS };

static const char *const past_names[PASTS] = {"a new app", "the last one died",
                                              "the last one closed", "another one lives",
                                              "one that did not share"};
static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;

static struct told {
    _Atomic int n;
    int64_t ids[MOST_IDS];
    _Atomic int ended, out_of_order;
    char text[300];
} * told;

static struct {
    unsigned trials, faults;
    int64_t longest_ns;
} tally;

/* ---- lives ---------------------------------------------------------------- */

struct life {
    char app[32];
    bool closing, alone;
};

/* A process that borrows: it need not wait if the mark lies ahead. */
static sfid *open_life(const struct life *life) {
    sfid_options opt = local_options(life->app, life->alone ? "local" : "local?share=1", layout);
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 3600000;
    opt.open_timeout_ms = OPEN_MS;
    sfid *g = NULL;
    if (sfid_open(&g, &opt) == 0)
        return g;
    snprintf(told->text, sizeof told->text, "%s", sfid_last_error(g));
    return NULL;
}

static void draw(sfid *g) {
    for (int64_t i = 0, last = 0, id; i < IDS; i++, last = id) {
        id = sfid_next(g);
        if (id <= last)
            atomic_store(&told->out_of_order, 1);
        told->ids[atomic_fetch_add(&told->n, 1) % MOST_IDS] = id;
    }
}

static int ordinary(void *arg) {
    const struct life *life = arg;
    sfid *g = open_life(life);
    if (g == NULL)
        return 3;
    draw(g);
    if (life->closing)
        sfid_close(g);
    return 0;
}

static int ahead(void *arg) {
    sfid *g = open_life(arg);
    for (int i = 0; g && i < AHEAD_IDS; i++)
        (void)!sfid_next(g);
    if (g)
        draw(g);
    return 0;
}

static void die_ahead(struct life *life) {
    char dir[4400];
    life->alone = true;
    child_run(ahead, life, TAP_WAIT_MS);
    life->alone = false;
    snprintf(dir, sizeof dir, "%s/%s", dirs.state, life->app);
    remove_tree(dir);
}

static int victim(void *arg) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    const int status = ordinary(arg);
    atomic_store(&told->ended, 1);
    return status;
}

/* ---- a trial ---------------------------------------------------------------- */

static void fault(const char *what, enum past past, bool killing, unsigned stop, int64_t got) {
    if (++tally.faults <= FAULTS_SHOWN)
        diag("%s: %s, %s at stop %u: %" PRIi64 " %s", what, past_names[past],
             killing ? "killed" : "held", stop, got, told->text);
}

static void judge_ids(enum past past, bool killing, unsigned stop) {
    int64_t ids[MOST_IDS];
    const int n = told->n;
    memcpy(ids, told->ids, sizeof ids);
    qsort(ids, (size_t)n, sizeof ids[0], by_i64);
    for (int i = 0; i < n; i++)
        if (ids[i] <= 0 || (i > 0 && ids[i] == ids[i - 1]))
            fault(ids[i] <= 0 ? "a call fails" : "an ID comes twice", past, killing, stop, ids[i]);
    if (told->out_of_order)
        fault("IDs of a process do not increase", past, killing, stop, 0);
    for (int i = 0; i < n; i++) /* all that came before the last life */
        for (int k = n - IDS; i < n - IDS && k < n; k++)
            if (id_pid(layout, told->ids[i]) == id_pid(layout, told->ids[k]) &&
                told->ids[i] >= told->ids[k])
                fault("the next one is not above", past, killing, stop, told->ids[k]);
}

static void run_another(struct life *life, enum past past, bool killing, unsigned stop) {
    int status = -1;
    struct took took = {.stood_ms = OPEN_MS};
    /* Once more where the machine stood still: after a fifth of the time to open what another has
     * begun counts as stuck. */
    for (int tries = 0; status != 0 && took.stood_ms > OPEN_MS / 5 && tries < 5; tries++) {
        const int64_t begin = mono_ns();
        status = child_run(ordinary, life, TAP_WAIT_MS);
        took = took_since(begin / NS_PER_MS);
        tally.longest_ns =
            took.ms * NS_PER_MS > tally.longest_ns ? took.ms * NS_PER_MS : tally.longest_ns;
    }
    if (status != 0)
        fault("another process fails", past, killing, stop, status);
}

/* Returns false when the victim came to its end before that stop. */
static bool trial(enum past past, bool killing, unsigned stop) {
    static unsigned number;
    struct life life = {.closing = past != DIED_BEFORE};
    sfid *other = NULL;
    int status = 0;
    snprintf(life.app, sizeof life.app, "app-%u", ++number);
    memset(told, 0, sizeof *told);
    if (past == ALONE_BEFORE)
        die_ahead(&life);
    else if (past != NEW_APP && child_run(ordinary, &life, TAP_WAIT_MS) != 0)
        fault("the life before failed", past, killing, stop, 0);
    if (past == OTHERS_LIVE && (other = open_life(&life)) == NULL)
        fault("the other one fails", past, killing, stop, 0);
    let_threads_start();
    life.closing = true;
    const pid_t child = child_start(victim, &life);
    waitpid(child, NULL, __WALL);
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    const bool alive = trace_step(child, PTRACE_SYSCALL, stop) && !told->ended;
    if (killing || !alive)
        child_kill(child);
    run_another(&life, past, killing, stop);
    if (!killing && alive && ptrace(PTRACE_DETACH, child, NULL, NULL) == 0 &&
        (status = child_wait(child, TAP_WAIT_MS)) != 0)
        fault("the one that was held fails", past, killing, stop, status);
    if (other)
        draw(other);
    sfid_close(other);
    run_another(&life, past, killing, stop);
    judge_ids(past, killing, stop);
    tally.trials++;
    return alive;
}

static void test(enum past past, bool killing) {
    unsigned stop = 1;
    memset(&tally, 0, sizeof tally);
    for (; stop < MOST_STOPS; stop += (unsigned)sized(13, 1, 60))
        if (!trial(past, killing, stop))
            break;
    remove_tree(dirs.run);
    remove_tree(dirs.state);
    ok(stop > 20 && stop < MOST_STOPS, "%s, %s: %u stops", past_names[past],
       killing ? "killed" : "held", stop);
    is_u64(tally.faults, 0, "no ID comes twice, and nobody fails");
    diag("figure: %u trials; the longest life of another process took %.0f ms", tally.trials,
         (double)tally.longest_ns / 1e6);
}

int main(void) {
    if (!can_trace())
        skip_all("cannot trace a thread here");
    dirs_make();
    /* what is tested is not the disk */
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm);
    told = shared_memory(sizeof *told);
    witness_begin();
    for (int past = NEW_APP; past < PASTS; past++)
        for (int killing = 0; killing < 2; killing++)
            test((enum past)past, killing);
    return done_testing();
}
