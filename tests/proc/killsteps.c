/* SPDX-License-Identifier: MIT */
/*
 * A process killed at each system call of open and close, before it and after it, and at single
 * instructions of all three of open, draw and close: the next process opens at once, goes on above,
 * and finds at most one file more than usual. At no system call is a descriptor of the library's
 * files open that a program executed then would inherit. Four beginnings: a new app, a pid whose
 * last holder died, one whose last holder closed, one whose page is replaced.
 *
 * Sizes: each 5th stop at a system call, each 4th of the first 300 instructions of a draw, 60
 * instructions of open and close at random. Long: each stop, each of 2000 instructions, 1500 at
 * random. Sanitizer: each 9th stop, each 25th of 500 instructions, 20.
 */
#include "draw/page.h"
#include "support/proc.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

enum { IDS = 5, MOST_STOPS = 4000, FAULTS_SHOWN = 10, MOST_FILES = 2 };
enum past { NEW_APP, DIED_BEFORE, CLOSED_BEFORE, LONG_BEFORE, PASTS };

static const char *const past_names[PASTS] = {"a new app", "the last holder died",
                                              "the last holder closed",
                                              "the page is replaced, the mark gone"};
static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;

static struct told {
    int64_t highest; /* ID issued under the app */
    /* how far the successor's first ID lay ahead of the clock: it would have waited for that */
    int64_t lead_ns;
    int64_t ended; /* the victim came to its end */
    char text[300];
} * told;

static struct {
    unsigned trials, faults, stalls;
    int64_t longest_lead_ns;
    int most_files;
} tally;

/* ---- lives -------------------------------------------------------------- */

struct life {
    char app[32];
    int lives;         /* how often it opens */
    bool closing, far; /* far: borrows where a mark lies ahead, instead of waiting for it */
};

static int draw_some(const struct life *life, bool marked) {
    sfid_options opt = options_of(life->app, 0, layout);
    if (life->far) {
        opt.exhaustion = SFID_BORROW;
        opt.max_ahead_ms = 3600000;
    }
    sfid *g = NULL;
    if (sfid_open(&g, &opt) != 0) {
        snprintf(told->text, sizeof told->text, "%s", sfid_last_error(g));
        return 3;
    }
    if (marked)
        syscall(SYS_getpgid, 0); /* the tracer knows by this where the draw begins */
    for (int i = 0; i < IDS; i++) {
        const int64_t id = sfid_next(g);
        if (id <= told->highest) {
            snprintf(told->text, sizeof told->text, "got %" PRId64 ", issued before %" PRId64, id,
                     told->highest);
            return 1;
        }
        told->highest = id;
        if (i == 0 && !marked)
            told->lead_ns = id_ns(layout, id) - wall_ns();
    }
    if (life->closing)
        sfid_close(g);
    return 0;
}

static int ordinary(void *arg) {
    const struct life *life = arg;
    int status = 0;
    for (int i = 0; i < life->lives && status == 0; i++)
        status = draw_some(life, false);
    return status;
}

/* What comes before. */
static struct life life_before(enum past past) {
    return (struct life){.lives = past == LONG_BEFORE ? SFID__FEW_RECORDS : 1,
                         .closing = past == CLOSED_BEFORE || past == LONG_BEFORE};
}

/* Stopped before it opens; from there on the test decides how far it gets. */
static int victim(void *arg) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    const int status = draw_some(arg, true);
    told->ended = 1;
    return status;
}

/* ---- stepping ----------------------------------------------------------- */

static bool at_marker(pid_t child) {
    struct __ptrace_syscall_info info = {.op = 0};
    return ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) > 0 &&
           info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_getpgid;
}

struct point {
    unsigned calls;  /* stops at system calls: two for each */
    bool to_marker;  /* or: up to the draw */
    unsigned single; /* instructions from there */
};

/* Runs a victim up to the point and kills it. False when it came to its end before. */
static bool kill_at(struct life *life, const struct point *p) {
    told->ended = 0;
    const pid_t child = child_start(victim, life);
    waitpid(child, NULL, __WALL);
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    bool alive = true;
    if (p->to_marker)
        while ((alive = trace_step(child, PTRACE_SYSCALL, 1)) && !at_marker(child))
            ;
    else
        alive = trace_step(child, PTRACE_SYSCALL, p->calls);
    alive = alive && trace_step(child, PTRACE_SINGLESTEP, p->single);
    child_kill(child);
    return alive && !told->ended;
}

/* ---- a trial ------------------------------------------------------------ */

static int count_files(const char *root, const char *app) {
    char dir[4300];
    snprintf(dir, sizeof dir, "%s/%s", root, app);
    return count_entries(dir);
}

static void fault(const char *what, enum past past, bool closing, const struct point *p,
                  int status) {
    if (++tally.faults <= FAULTS_SHOWN)
        diag("%s: %s, %s, killed at stop %u%s and %u instructions: status %d %s", what,
             past_names[past], closing ? "closing" : "not closing", p->calls,
             p->to_marker ? " (the draw)" : "", p->single, status, told->text);
}

/* Returns false when the victim came to its end: there is nothing beyond this point. */
static bool trial(enum past past, bool closing, const struct point *p) {
    static unsigned number;
    struct life life = life_before(past);
    char run_dir[120], state_dir[4300];
    snprintf(life.app, sizeof life.app, "app-%u", ++number);
    memset(told, 0, sizeof *told);
    if (past == NEW_APP) { /* as on a new machine: what all apps share is made as well */
        remove_tree(dirs.run);
        remove_tree(dirs.state);
    }
    if (past != NEW_APP && child_run(ordinary, &life, TAP_WAIT_MS) != 0)
        fault("the life before failed", past, closing, p, 0);
    life.closing = closing;
    const bool killed = kill_at(&life, p);
    snprintf(state_dir, sizeof state_dir, "%s/%s", dirs.state, life.app);
    /* Without the mark the next process has what the new page says. A kill inside the writing of a
     * record leaves that to the mark. */
    if (past == LONG_BEFORE && p->single == 0)
        remove_tree(state_dir);
    life.lives = 1;
    life.far = life.closing = true;
    const int status = child_run(ordinary, &life, TAP_WAIT_MS);
    const int files = count_files(dirs.run, life.app);
    tally.trials++;
    if (status != 0)
        fault("the next process failed", past, closing, p, status);
    else if (files > MOST_FILES + shares()) /* a page that processes share has two names */
        fault("files are left", past, closing, p, files);
    if (files > tally.most_files)
        tally.most_files = files;
    if (told->lead_ns > 2000 * (int64_t)NS_PER_MS && tally.stalls++ == 0)
        diag("would have waited %.1f s: %s, stop %u", (double)told->lead_ns / 1e9, past_names[past],
             p->calls);
    if (told->lead_ns > tally.longest_lead_ns)
        tally.longest_lead_ns = told->lead_ns;
    snprintf(run_dir, sizeof run_dir, "%s/%s", dirs.run, life.app);
    remove_tree(run_dir);
    remove_tree(state_dir);
    return killed;
}

static void end_tally(const char *what) {
    ok(tally.trials > 0 && tally.faults == 0,
       "%s: the next process opens at once and goes on above", what);
    diag(
        "figure: %s: %u kills; at most %d files then; %u times the next one would wait over 2 s, at most %.1f s",
        what, tally.trials, tally.most_files, tally.stalls, (double)tally.longest_lead_ns / 1e9);
    memset(&tally, 0, sizeof tally);
}

static unsigned test_calls(enum past past) {
    unsigned stop = 1;
    for (; stop < MOST_STOPS; stop += (unsigned)sized(5, 1, 9))
        if (!trial(past, true, &(struct point){.calls = stop}))
            break;
    ok(stop > 20 && stop < MOST_STOPS, "%s: killed at stops, of %u", past_names[past], stop);
    end_tally(past_names[past]);
    return stop;
}

/* Descriptors of the child that lead to the library's files and survive an exec. */
static unsigned inheritable(pid_t child) {
    char path[64], line[64], target[300];
    unsigned n = 0, flags = 0;
    for (int fd = 0; fd < 64; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)child, fd);
        const ssize_t len = readlink(path, target, sizeof target - 1);
        target[len < 0 ? 0 : len] = '\0';
        if (strncmp(target, dirs.shm, strlen(dirs.shm)) != 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)child, fd);
        FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
            if (sscanf(line, "flags: %o", &flags) == 1 && (flags & O_CLOEXEC) == 0)
                n++;
        if (f)
            fclose(f);
    }
    return n;
}

static void test_descriptors(enum past past) {
    struct life life = life_before(past);
    unsigned seen = 0, stops = 0;
    snprintf(life.app, sizeof life.app, "descriptors-%d", (int)past);
    memset(told, 0, sizeof *told);
    if (past == NEW_APP) {
        remove_tree(dirs.run);
        remove_tree(dirs.state);
    } else {
        ok(child_run(ordinary, &life, TAP_WAIT_MS) == 0, "%s: a life before", past_names[past]);
    }
    life.closing = true;
    const pid_t child = child_start(victim, &life);
    waitpid(child, NULL, __WALL);
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    for (; trace_step(child, PTRACE_SYSCALL, 1); stops++)
        seen += inheritable(child);
    ok(stops > 20 && seen == 0, "%s: no descriptor that an exec would pass on, at any of %u stops",
       past_names[past], stops);
}

static void test_draw(enum past past) {
    for (unsigned single = 0; single < sized(300, 2000, 500); single += (unsigned)sized(4, 1, 25))
        trial(past, false, &(struct point){.to_marker = true, .single = single});
    end_tally("single instructions of a draw");
}

static void test_random(unsigned stops, uint64_t *rng) {
    for (uint64_t i = 0; i < sized(60, 1500, 20); i++) {
        const struct point p = {.calls = (unsigned)(1 + draw_random(rng) % stops),
                                .single = (unsigned)(draw_random(rng) % 2000)};
        trial((enum past)(draw_random(rng) % PASTS), draw_random(rng) % 2, &p);
    }
    end_tally("instructions at random");
}

int main(void) {
    uint64_t rng = seed();
    unsigned stops = 0;
    if (!can_trace())
        skip_all("cannot trace a thread here");
    dirs_make();
    /* a kill loses nothing that was written, on any disk */
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm);
    told = shared_memory(sizeof *told);
    for (int past = NEW_APP; past < PASTS; past++)
        test_descriptors((enum past)past);
    for (int past = NEW_APP; past < PASTS; past++)
        stops = test_calls((enum past)past);
    test_draw(DIED_BEFORE);
    test_draw(CLOSED_BEFORE);
    test_random(stops, &rng);
    return done_testing();
}
