/* SPDX-License-Identifier: MIT */
/*
 * Everything at once, at random, on one host: processes with threads, lanes, batches and nested
 * forks, whose children outlive them, close all descriptors, go to jail, cover a root with a mount
 * of their own, live in PID namespaces; they are killed, stopped past their window and continued;
 * the clock is stepped both ways; run directories are removed, renamed and restored under some of
 * them, state directories under others. No ID comes twice, and those of one thread or lane
 * increase.
 *
 * Worlds go on side by side: an app of its own each, with a store (local with a range, local with
 * share, fixed pids, a Redis server where there is one), a layout, a clock, and the one side of it,
 * run or state, that is tampered with: both at once would break what doc/safety.md rests on. A
 * world lasts for some seconds; then the checker has its IDs, and another one begins.
 *
 * Sizes: 10 s (long: 60 s); SFID_TURMOIL_S sets the seconds, SFID_TEST_SEED the seed.
 * SFID_TURMOIL_WITHOUT leaves things out: any of fork, jail, cover, close, kill, stop, step,
 * tamper. SFID_TURMOIL_KEEP names a directory for the logs of worlds in which IDs came twice or out
 * of order.
 */
#include "turmoil.h"

#include "support/redis.h"
#include "support/user.h"

enum { SIDE_BY_SIDE = 5, LIVES_WANTED = 8, WORLD_MOST_S = 20 };

/* Of all worlds that have ended. */
static struct sums {
    struct tally tally;
    _Atomic uint64_t worlds, judged, duplicates, breaks, broken;
} * sums;

static struct redis server; /* pid 0: none here */
static uint64_t the_seed;

/* ---- what the world does ------------------------------------------------ */

struct stopped {
    pid_t pid;
    int64_t till;
};

struct god {
    uint64_t rng;
    struct stopped stopped[8];
    char away[WHERE]; /* where the directory was renamed to; "": it is there */
    int64_t back_at;
    pid_t lives[LIVES_WANTED]; /* that it started; 0: ended */
    bool has_copy;
};

static uint64_t up_to(struct god *god, uint64_t n) { return draw_random(&god->rng) % n; }

static pid_t some_member(struct god *god) {
    for (int i = 0; i < 50; i++) {
        const pid_t pid = atomic_load(&here->members[up_to(god, MEMBERS)]);
        if (pid > 0)
            return pid;
    }
    return 0;
}

/* The thread sanitizer looks its suppressions up with a program of its own, which aborts when its
 * process is killed. */
static bool is_the_sanitizers(int status) {
    return SANITIZED && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* Its number is another's only after this: so nobody is killed who is none of ours. */
static void reap(struct god *god) {
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        const bool good =
            WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL;
        if (!good && !is_the_sanitizers(status)) {
            fprintf(stderr, "# %s: process %d ends with status %#x\n", here->app, (int)pid,
                    (unsigned)status);
            count(&here->tally.crashes);
        }
        for (size_t i = 0; i < MEMBERS; i++)
            if (atomic_load(&here->members[i]) == pid)
                atomic_store(&here->members[i], 0);
        for (size_t i = 0; i < COUNT_OF(god->stopped); i++)
            if (god->stopped[i].pid == pid)
                god->stopped[i].pid = 0;
        for (size_t i = 0; i < COUNT_OF(god->lives); i++)
            if (god->lives[i] == pid)
                god->lives[i] = 0;
    }
}

static int count_members(void) {
    int n = 0;
    for (size_t i = 0; i < MEMBERS; i++)
        n += atomic_load(&here->members[i]) > 0;
    return n;
}

static void start_lives(struct god *god) {
    for (size_t i = 0; i < COUNT_OF(god->lives); i++) {
        uint64_t random = draw_random(&god->rng);
        if (god->lives[i] == 0)
            join_members(god->lives[i] = child_start(live, &random));
    }
}

static void kill_one(struct god *god) {
    const pid_t pid = some_member(god);
    if (!without("kill") && pid > 0 && kill(pid, SIGKILL) == 0)
        count(&here->tally.kills);
}

static void stop_one(struct god *god) {
    const size_t i = up_to(god, COUNT_OF(god->stopped));
    const pid_t pid = some_member(god);
    if (without("stop") || god->stopped[i].pid != 0 || pid == 0 || kill(pid, SIGSTOP) < 0)
        return;
    god->stopped[i] = (struct stopped){pid, mono_ns() + (int64_t)up_to(god, 5000) * NS_PER_MS};
    count(&here->tally.stops);
}

static void continue_some(struct god *god) {
    for (size_t i = 0; i < COUNT_OF(god->stopped); i++)
        if (god->stopped[i].pid && mono_ns() > god->stopped[i].till) {
            kill(god->stopped[i].pid, SIGCONT);
            god->stopped[i].pid = 0;
        }
}

/* A server refuses a host whose clock is off; a fixed pid's window is half a minute, so that it has
 * to be stepped over. */
static void step_clock(struct god *god) {
    if (without("step"))
        return;
    const int64_t now = atomic_load(&here->clock_ns),
                  most = server.pid && here->store[0] == 'r' ? 400 : 3000;
    int64_t step = (int64_t)up_to(god, (uint64_t)(2 * most)) - most;
    if (here->fixed && up_to(god, 2))
        step = 33000;
    if (!here->fixed && llabs(now + step * NS_PER_MS) > most * NS_PER_MS)
        step = -now / NS_PER_MS;
    atomic_fetch_add(&here->clock_ns, step * NS_PER_MS);
    count(&here->tally.steps);
}

static void put_back(struct god *god, const char *there) {
    remove_all(there);
    must(rename(god->away, there) >= 0 || errno == ENOTEMPTY || errno == EEXIST, "%s: %s", there,
         strerror(errno));
    if (access(god->away, F_OK) == 0) /* somebody made one again in between */
        return;
    god->away[0] = '\0';
}

/*
 * Copies a directory by way of another name. What runs there must not meet a file that cp(1) writes
 * into: doc/safety.md rests on that, and a process that maps a file which is cut short gets a
 * SIGBUS.
 */
static bool copy_whole(const char *from, const char *by, const char *to) {
    remove_all(by);
    copy_as_it_goes(from, by);
    remove_all(to);
    return rename(by, to) == 0;
}

static void tamper(struct god *god) {
    const struct place *p = &here->place;
    const bool run = here->side == RUN_SIDE;
    const char *there = run ? p->run : p->state, *copy = run ? p->run_copy : p->state_copy,
               *too = run ? p->run_too : p->state_too;
    const uint64_t how = up_to(god, 4);
    if (without("tamper") || god->away[0])
        return;
    if (how == 0 || !god->has_copy) {
        god->has_copy = access(there, F_OK) == 0 && copy_whole(there, too, copy);
        return;
    }
    count(&here->tally.removals);
    if (how == 1)
        remove_all(there);
    else if (how == 2)
        copy_whole(copy, too, there);
    else if (rename(there, too) == 0) {
        snprintf(god->away, sizeof god->away, "%s", too);
        god->back_at = mono_ns() + (int64_t)up_to(god, 4000) * NS_PER_MS;
    }
}

static void rule(struct god *god) {
    reap(god);
    continue_some(god);
    start_lives(god);
    atomic_store(&here->alive, count_members());
    if (god->away[0] && mono_ns() > god->back_at)
        put_back(god, here->side == RUN_SIDE ? here->place.run : here->place.state);
    switch (up_to(god, 1000)) {
    case 0:
    case 1:
    case 2:
    case 3:
        kill_one(god);
        break;
    case 4:
        stop_one(god);
        break;
    case 5:
    case 6:
        step_clock(god);
        break;
    case 7:
    case 8:
    case 9:
        tamper(god);
        break;
    default:
        break;
    }
}

/* ---- its end ------------------------------------------------------------ */

static bool all_gone(void *arg) {
    reap(arg);
    for (size_t i = 0; i < MEMBERS; i++) {
        const pid_t pid = atomic_load(&here->members[i]);
        if (pid > 0)
            kill(pid, SIGKILL);
    }
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static void write_logs(const char *dir) {
    const uint32_t used = atomic_load(&here->logs_used);
    for (uint32_t i = 0; i < used && i < LOGS; i++) {
        struct log *l = &here->logs[i];
        char path[4400];
        memcpy(l->head.magic, IDLOG_MAGIC, sizeof l->head.magic);
        l->head.capacity = l->head.count;
        l->head.life = 1;
        l->head.pid = IDLOG_ANY_PID;
        const size_t size = l->head.count * sizeof l->ids[0];
        snprintf(path, sizeof path, "%s/%s-log-%" PRIu32, dir, l->who, i);
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        must(fd >= 0 && write(fd, l, sizeof l->head) == sizeof l->head &&
                 write(fd, l->ids, size) == (ssize_t)size,
             "%s: %s", path, strerror(errno));
        close(fd);
    }
}

static void judge_world(void) {
    char dir[4300], command[4600], line[300];
    uint64_t n[4] = {0};
    snprintf(dir, sizeof dir, "%s/%s", dirs.logs, here->app);
    make_dir(dir);
    write_logs(dir);
    FILE *out = checker_start("--layout '%s' '%s'", here->layout_text, dir);
    bool counted = false;
    int shown = 0;
    while (fgets(line, sizeof line, out)) {
        if (sscanf(line,
                   "%" SCNu64 " IDs in %*d files, %" SCNu64 " duplicates, %" SCNu64
                   " order breaks, %" SCNu64 " foreign IDs",
                   &n[0], &n[1], &n[2], &n[3]) == 4)
            counted = true;
        else if (strncmp(line, "no IDs", 6) != 0 && shown++ < 3)
            fprintf(stderr, "# %s: %s", here->app, line);
    }
    pclose(out);
    atomic_fetch_add(&sums->judged, n[0]);
    atomic_fetch_add(&sums->duplicates, n[1]);
    atomic_fetch_add(&sums->breaks, n[2]);
    atomic_fetch_add(&sums->broken, !counted + n[3]);
    if (n[1] + n[2] + n[3] > 0)
        fprintf(stderr,
                "# %s: %s, %s, %s tampered with: %" PRIu64 " IDs, %" PRIu64 " twice, %" PRIu64
                " out of order; seed %" PRIu64 "\n",
                here->app, here->fixed ? "fixed" : here->store, here->layout_text,
                here->side == RUN_SIDE ? "run" : "state", n[0], n[1], n[2], the_seed);
    if (n[1] + n[2] + n[3] > 0 && getenv("SFID_TURMOIL_KEEP")) {
        snprintf(command, sizeof command, "%s/%s", getenv("SFID_TURMOIL_KEEP"), here->app);
        make_dir(command);
        copy_as_it_goes(dir, command);
    }
    remove_tree(dir);
}

static void add_up(void) {
    _Atomic uint64_t *to = (_Atomic uint64_t *)(void *)&sums->tally;
    const _Atomic uint64_t *from = (const _Atomic uint64_t *)(const void *)&here->tally;
    for (size_t i = 0; i < offsetof(struct tally, an_odd) / sizeof *to; i++)
        atomic_fetch_add(&to[i], atomic_load(&from[i]));
    if (atomic_load(&here->tally.an_odd) != 0)
        atomic_store(&sums->tally.an_odd, atomic_load(&here->tally.an_odd));
    atomic_fetch_add(&sums->worlds, 1);
}

/* ---- a world ------------------------------------------------------------ */

struct order {
    unsigned number;
    int64_t ends_at;
    bool apart;
};

/* Ticks of a second mostly: there what is issued again is issued again in the same tick. */
static void create(const struct order *o, struct god *god) {
    static const char *const layouts[] = {"33:10:20/1s", "33:10:20/1s", "36:10:17/100ms",
                                          "41:10:12/1ms"};
    char name[20];
    snprintf(name, sizeof name, "w%u", o->number);
    snprintf(here->app, sizeof here->app, "turmoil-%u", o->number);
    place_name(&here->place, name);
    const char *const made[] = {here->place.base, here->place.run,        here->place.state,
                                here->place.jail, here->place.state_copy, here->place.run_copy};
    for (size_t i = 0; i < COUNT_OF(made); i++)
        make_dir(made[i]);
    must(chmod(here->place.jail, 0777) >= 0, "%s: %s", here->place.jail, strerror(errno));
    const unsigned store = o->number % (server.pid ? 5 : 4);
    here->fixed = store == 3;
    here->side = o->number / 2 % 2 ? RUN_SIDE : STATE_SIDE;
    here->pid_max = 2 + (int64_t)up_to(god, 6);
    here->apart = o->apart;
    snprintf(here->layout_text, sizeof here->layout_text, "%s",
             layouts[up_to(god, COUNT_OF(layouts))]);
    here->layout = layout_of(here->layout_text);
    if (store == 4)
        snprintf(here->store, sizeof here->store,
                 "redis://127.0.0.1:%d?timeout=300&connect_timeout=300", server.port);
    else
        snprintf(here->store, sizeof here->store, "local?lead_ms=%u%s",
                 300 + 100 * (unsigned)up_to(god, 8), store == 2 ? "&share=1" : "");
    /* of lives, should the world be killed */
    atomic_store(&here->ends_at, o->ends_at + 5000 * (int64_t)NS_PER_MS);
}

static int run_world(void *arg) {
    const struct order *o = arg;
    struct god god = {.rng = the_seed + o->number * UINT64_C(0x9e3779b97f4a7c15)};
    here = shared_memory(sizeof *here);
    here->logs = shared_memory(LOGS * sizeof *here->logs);
    own_clock = &here->clock_ns;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    create(o, &god);
    for (; mono_ns() < o->ends_at; nap_us(3000))
        rule(&god);
    atomic_store(&here->over, 1);
    must(tap_wait_until(all_gone, &god, TAP_WAIT_MS), "somebody stays alive");
    judge_world();
    add_up();
    remove_all(here->place.base);
    return 0;
}

/* ---- all of them -------------------------------------------------------- */

static void run_worlds(int64_t ends_at) {
    pid_t worlds[SIDE_BY_SIDE] = {0};
    uint64_t rng = the_seed;
    const bool apart_too = can_be_apart();
    unsigned number = 0, failed = 0;
    for (bool more = true; more || worlds[0] || worlds[1] || worlds[2] || worlds[3] || worlds[4];
         nap_us(20000)) {
        const int64_t now = mono_ns();
        more = now + 1000 * (int64_t)NS_PER_MS < ends_at;
        for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
            int status = 0;
            if (worlds[i] && waitpid(worlds[i], &status, WNOHANG) == worlds[i]) {
                failed += status != 0;
                worlds[i] = 0;
            }
            if (worlds[i] || !more)
                continue;
            const int64_t most =
                now + (int64_t)(8000 + draw_random(&rng) % (1000 * (WORLD_MOST_S - 8))) * NS_PER_MS;
            struct order o = {number++, most < ends_at ? most : ends_at, apart_too};
            worlds[i] = child_start(run_world, &o);
        }
    }
    is_u64(failed, 0, "each world comes to its end");
}

static void report(int64_t ns) {
    const struct tally *t = &sums->tally;
    diag("figure: %.1f s, %" PRIu64 " worlds: %" PRIu64 " lives, %" PRIu64 " opened, %" PRIu64
         " forks, %" PRIu64 " closed, %" PRIu64 " ended without close",
         (double)ns / 1e9, sums->worlds, t->lives, t->opened, t->forks, t->closes, t->exits);
    diag("figure: %" PRIu64 " kills, %" PRIu64 " stops, %" PRIu64 " clock steps, %" PRIu64
         " removals; %" PRIu64 " jails, %" PRIu64 " mounts, %" PRIu64
         " times no descriptors, %" PRIu64 " PID namespaces",
         t->kills, t->stops, t->steps, t->removals, t->jails, t->mounts, t->closefroms,
         t->pid_spaces);
    diag("figure: %" PRIu64 " IDs, %" PRIu64 " duplicates, %" PRIu64 " order breaks; %" PRIu64
         " calls refused, %" PRIu64 " logs full",
         sums->judged, sums->duplicates, sums->breaks, t->refusals, t->full_logs);
}

int main(void) {
    const char *seconds = getenv("SFID_TURMOIL_S");
    const int64_t s = seconds ? atoll(seconds) : (int64_t)sized(10, 60, 10);
    dirs_make();
    the_seed = seed();
    users_change = may_be_another_user();
    sums = shared_memory(sizeof *sums);
    const char *const *programs = redis_programs();
    for (size_t i = 0; programs[i] && server.pid == 0; i++)
        if (redis_installed(programs[i]))
            redis_start(&server, programs[i], "turmoil", REDIS_PORT, NULL);
    if (server.pid == 0)
        skip(1, "no %s", programs[0]);
    const int64_t begin = mono_ns();
    run_worlds(begin + s * 1000 * NS_PER_MS);
    report(mono_ns() - begin);
    ok(sums->judged > 0 && sums->broken == 0, "there are IDs, and all are of their layout");
    is_u64(sums->duplicates, 0, "no ID comes twice");
    is_u64(sums->breaks, 0, "the IDs of one thread or lane increase");
    is_u64(sums->tally.crashes, 0, "no process ends but by itself or by SIGKILL");
    if (!is_u64(sums->tally.odd, 0, "no call fails but for want of a window, a number or a clock"))
        diag("one got %" PRId64, sums->tally.an_odd);
    if (server.pid)
        redis_kill(&server);
    return done_testing();
}
