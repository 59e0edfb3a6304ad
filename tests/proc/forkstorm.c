/* SPDX-License-Identifier: MIT */
/*
 * A family of forked processes with one generator of the "local" store, whose members fork, draw
 * and end at random: by close, by exit with and without handlers, by SIGKILL, by exec. The window
 * is short, so it has to be renewed many times by whoever is there. No duplicate, no failed call;
 * never two keepers in the family, and a new one when the last has died; nothing is left behind:
 * threads, descriptors, locks, files.
 *
 * Sizes: 200 forks (long: 2000; sanitizer: 40), with the first parent the last to end, and then the
 * first.
 */
#include "support/local.h"

#define LAYOUT "41:4:18/1ms"
#define STORE "local?lead_ms=200"

enum { MOST_MEMBERS = 2100, AT_ONCE = 8, LOG_ROOM = 1 << 20, BURST = 20 };
/* A keeper that dies is missed when the window ends at the latest, one that lost the page knows it
 * when it renews. */
enum { TWO_FOR_MS = 1500, TWO_FOR_LOOKS = 200, PAUSE_MS = 2000 };
/* A leak checker among the handlers waits for ever in a child that was forked while a thread
 * allocated: that comes last. */
enum ending { BY_CLOSE, BY_EXIT, BY_KILL, BY_EXEC, BY_HANDLERS, ENDINGS };

static sfid_layout layout;

struct family {
    sfid *g;
    atomic_int forks_left, alive, born, ended, begun;
    _Atomic pid_t members[MOST_MEMBERS]; /* 0: has ended, or is about to */
    atomic_int keeps[MOST_MEMBERS];      /* as sfid_status() tells */
    _Atomic int64_t errors, an_error, highest, disorders;
    bool first_stays;
    uint64_t seed;
};

/* ---- a member ----------------------------------------------------------- */

static void draw(struct family *f, struct idlog *log) {
    const int64_t before = atomic_load_explicit(&f->highest, memory_order_acquire);
    const int64_t id = sfid_next(f->g);
    if (id < 0) {
        atomic_fetch_add(&f->errors, 1);
        atomic_store(&f->an_error, id);
        return;
    }
    if (id <= before)
        atomic_fetch_add(&f->disorders, 1);
    idlog_put(log, id);
    raise_to(&f->highest, id);
}

__attribute__((noreturn)) static void end(struct family *f, int number, enum ending how) {
    if (how == BY_CLOSE)
        sfid_close(f->g);
    atomic_store(&f->members[number], 0);
    atomic_fetch_add(&f->ended, 1);
    if (how == BY_KILL)
        raise(SIGKILL);
    if (how == BY_EXEC)
        execlp("true", "true", (char *)NULL);
    if (how == BY_HANDLERS)
        exit(0);
    _exit(0);
}

static void live(struct family *f, int number);

/* A fork is one of those that are left; there are never more than some at once. */
static void fork_one(struct family *f) {
    if (atomic_load(&f->alive) >= AT_ONCE || atomic_fetch_sub(&f->forks_left, 1) <= 0)
        return;
    const int number = atomic_fetch_add(&f->born, 1);
    atomic_fetch_add(&f->alive, 1);
    let_threads_start();
    const pid_t child = fork();
    must(child >= 0, "fork: %s", strerror(errno));
    if (child == 0)
        live(f, number);
}

/* Whether a member may go, and then it is counted as gone. While there are forks left somebody has
 * to be there to make them. */
static bool may_go(struct family *f, int number) {
    int alive = atomic_load(&f->alive);
    for (;;) {
        const bool over = atomic_load(&f->forks_left) <= 0;
        if (number == 0 && f->first_stays ? !over || alive > 1 : !over && alive <= 2)
            return false;
        if (atomic_compare_exchange_weak(&f->alive, &alive, alive - 1))
            return true;
    }
}

/* Draws for a while, and forks; ends at some time after. */
static void live(struct family *f, int number) {
    uint64_t rng = f->seed + (uint64_t)number * 7919;
    struct idlog log;
    sfid_status_info st;
    log_start(&log, LOG_ROOM, 1, 0, "member-%d", number);
    atomic_store(&f->members[number], getpid());
    const int64_t may_end = mono_ns() + (int64_t)(draw_random(&rng) % 60) * NS_PER_MS;
    for (;;) {
        for (int i = 0; i < BURST; i++)
            draw(f, &log);
        if (sfid_status(f->g, &st) == 0)
            atomic_store(&f->keeps[number], st.keeper_here);
        if (draw_random(&rng) % 8 == 0)
            fork_one(f);
        if (mono_ns() >= may_end && may_go(f, number))
            break;
        nap_us((long)(draw_random(&rng) % 8000));
    }
    end(f, number,
        number == 0 && f->first_stays
            ? BY_CLOSE
            : (enum ending)(draw_random(&rng) % (SANITIZED ? BY_HANDLERS : ENDINGS)));
}

static int first_member(void *arg) {
    struct family *f = arg;
    sfid_options opt = local_options("family", STORE, &layout);
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = TAP_WAIT_MS; /* how long they wait is seen from outside */
    signal(SIGCHLD, SIG_IGN);
    f->g = open_or_die(&opt);
    atomic_store(&f->begun, 1);
    live(f, 0);
    return 0;
}

/* ---- who watches -------------------------------------------------------- */

struct watch {
    unsigned looks, with_keeper, keepers, brief_twos, twos; /* twos: looks in a row, up to now */
    /* drawn_at: when the highest ID had changed */
    int64_t two_since, drawn_at, highest;
    struct took longest_two, longest_pause;
    pid_t last;
};

/* Returns how many members keep, and one of them. */
static unsigned find_keepers(const struct family *f, pid_t *found) {
    unsigned n = 0;
    const int born = atomic_load(&f->born);
    for (int i = 0; i < born; i++) {
        const pid_t process = atomic_load(&f->members[i]);
        if (process && atomic_load(&f->keeps[i]) == 1) {
            *found = process;
            n++;
        }
    }
    return n;
}

/*
 * A keeper that is late loses the page to another one, and knows it once it is run. So there are
 * two when there are two for long, at each of many looks, be it the same two or not.
 */
static void look(const struct family *f, struct watch *w) {
    pid_t found = 0;
    const unsigned n = find_keepers(f, &found);
    w->looks++;
    w->with_keeper += n > 0;
    if (n == 1 && found != w->last)
        w->keepers++, w->last = found;
    if (n > 1 && w->twos++ == 0) {
        w->two_since = tap_now_ms();
        w->brief_twos++;
    }
    if (n <= 1)
        w->twos = 0;
    if (w->twos >= TWO_FOR_LOOKS)
        w->longest_two = took_longer(w->longest_two, took_since(w->two_since));
}

/* The members draw all the time, and no window ends for all of them. */
static void look_at_ids(const struct family *f, struct watch *w) {
    const int64_t now = tap_now_ms(), highest = atomic_load(&f->highest);
    if (w->highest > 0 && now > w->drawn_at)
        w->longest_pause = took_longer(w->longest_pause, took_between(w->drawn_at, now));
    if (highest != w->highest)
        w->drawn_at = now;
    w->highest = highest;
}

static void reap_orphans(void) {
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* Until all have ended, or none of them has for long. */
static void watch(const struct family *f, struct watch *w) {
    int ended = 0;
    for (struct patience p = {0};
         (!atomic_load(&f->begun) || atomic_load(&f->alive) > 0) && patient(&p, TAP_WAIT_MS);) {
        look(f, w);
        look_at_ids(f, w);
        reap_orphans();
        nap_us(1000);
        if (atomic_load(&f->ended) != ended)
            p.used_ms = 0;
        ended = atomic_load(&f->ended);
    }
}

static bool no_child(void *arg) {
    (void)arg;
    reap_orphans();
    return waitpid(-1, NULL, WNOHANG) < 0;
}

/* ---- what is left ------------------------------------------------------- */

/* The names in a directory, sorted, one space between. */
static const char *names_in(const char *dir) {
    static char names[1000];
    struct dirent **list = NULL;
    const int n = scandir(dir, &list, NULL, alphasort);
    size_t len = 0;
    names[0] = '\0';
    for (int i = 0; i < n; i++) {
        if (strcmp(list[i]->d_name, ".") != 0 && strcmp(list[i]->d_name, "..") != 0 &&
            len < sizeof names)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", len ? " " : "",
                                    list[i]->d_name);
        free(list[i]);
    }
    free(list);
    return names;
}

static void test_left_behind(const char *what) {
    char path[4400];
    is_i64(count_locked(dirs.shm, ""), 0, "%s: no lock is left", what);
    is_str(names_in(dirs.run), "family", "%s: in the run directory is the app", what);
    is_str(names_in(dirs.state), "family machine_id",
           "%s: in the state directory are machine and app", what);
    snprintf(path, sizeof path, "%s/family", dirs.run);
    is_str(names_in(path), "lock pid-0", "%s: one page is left, and the doors", what);
    snprintf(path, sizeof path, "%s/family", dirs.state);
    is_str(names_in(path), "layout lock pid-0", "%s: and one mark, the layout and the doors", what);
}

static void test_family(bool first_stays, const char *what) {
    struct family *f = shared_memory(sizeof *f);
    struct watch w = {.looks = 0};
    f->forks_left = (int)sized(200, 2000, 40);
    f->first_stays = first_stays;
    f->seed = seed();
    f->born = f->alive = 1;
    const int forks = f->forks_left, fds = count_fds();
    int threads = count_threads();
    const int64_t begin = mono_ns();
    child_start(first_member, f);
    watch(f, &w);
    ok(tap_wait_until(no_child, NULL, TAP_WAIT_MS), "%s: all end", what);
    diag(
        "figure: %s: %.2f s; %u looks, %u of them saw a keeper, %u keepers in turn, two for a moment %u times, a pause of %" PRId64
        " ms",
        what, (double)(mono_ns() - begin) / 1e9, w.looks, w.with_keeper, w.keepers, w.brief_twos,
        w.longest_pause.ms);
    is_i64(f->born, forks + 1, "%s: all were born", what);
    is_i64(f->ended, forks + 1, "%s: each came to its own end", what);
    in_time(w.longest_two, TWO_FOR_MS, "%s: never two keepers for long", what);
    in_time(w.longest_pause, PAUSE_MS, "%s: and never a long time without IDs", what);
    ok(w.with_keeper > 0 && (first_stays || w.keepers > 1),
       "%s: there is a keeper, and a new one when the first is gone", what);
    if (!is_i64(f->errors, 0, "%s: no call fails", what))
        diag("one got %" PRIi64, f->an_error);
    is_i64(f->disorders, 0, "%s: a call that starts after another has returned gets a higher ID",
           what);
    test_left_behind(what);
    const sfid_options opt = local_options("family", STORE, &layout);
    sfid *g = open_or_die(&opt);
    is_i64(sfid_pid(g), 0, "%s: the pid is free again", what);
    ok(next_within(g, TAP_WAIT_MS) > f->highest, "%s: its IDs go on above", what);
    sfid_close(g);
    is_i64(count_fds(), fds, "%s: no descriptor is left", what);
    ok(tap_wait_until(threads_are, &threads, TAP_WAIT_MS), "%s: no thread is left", what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
    munmap(f, sizeof *f);
}

int main(void) {
    dirs_make();
    witness_begin();
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm); /* where locks are counted */
    layout = layout_of(LAYOUT);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    test_family(true, "parent last");
    test_family(false, "parent first");
    return done_testing();
}
