/* SPDX-License-Identifier: MIT */
/*
 * exec.c - sfid exec: holds a lease for a program that makes its own IDs.
 *
 * The program knows the pid but not the window. So this command
 *
 *   - starts the program in a tick later than any that may have been used;
 *   - ends it, and all that it has started, before the window ends;
 *   - releases the lease only when none of them is left, at a position after
 *     the last tick in which one ran.
 *
 * Now and then it generates an ID and drops it, so that the used positions in
 * the slot are never more than a moment behind the clock.
 */
#define _GNU_SOURCE /* execvpe */
#include "args/args.h"
#include "args/store.h"
#include "exec/kin.h"
#include "io/date.h"
#include "io/say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { APP, STORE, LAYOUT, GRACE, END_ALL, RUN_DIR };

static const struct option_spec options[] = {
    [APP] = {"app", 0, "APP", "SFID_APP", "the app"},
    [STORE] = {"store", 0, "STORE", "SFID_STORE",
               "where to lease a pid: a Redis URL, local or ordinal:"},
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the layout of the IDs (sfid)"},
    [GRACE] = {"grace-ms", 0, "MS", NULL, "time from TERM to KILL when the lease is lost (5000)"},
    [END_ALL] = {"end-all", 0, NULL, NULL,
                 "when COMMAND has ended, also end the processes it left running"},
    APP_OPTIONS(RUN_DIR),
    {NULL, 0, NULL, NULL, NULL},
};

enum {
    ROUND_MS = 200,  /* interval between looks at the lease */
    SPARE_MS = 1000, /* left of the window when all have been killed */
    LATE_MS = 10000, /* how far the clock may be behind the used ticks */
    SLOW_MS = 2000,  /* a wait that long has its reason shown */
    /* how long it waits for the end of a window that another process may have had */
    WAIT_MS = 120000,
    NOT_EXECUTED = 126, /* as in shells */
    NOT_FOUND = 127
};

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};

struct exec {
    sfid_options opt;
    sfid_layout layout;
    uint32_t grace_ms;
    bool end_all;
    sfid *g;
    int64_t pid;
    char **command;
    sigset_t watched, before; /* signals handled here; and the mask for COMMAND */
    pid_t child;
    bool ended; /* it has ended, with: */
    int status;
    bool lost;
    int64_t kill_at_ms; /* 0: no process is being ended */
};

/* ---- the tick ------------------------------------------------------------ */

/* Marks the current tick as used. Returns it, or an SFID_E… code. */
static int64_t mark(const struct exec *e) {
    const int64_t id = sfid_try_next(e->g);
    sfid_parts parts;
    return id < 0                                    ? id
           : sfid_parse(&e->layout, id, &parts) == 0 ? (int64_t)parts.tick
                                                     : SFID_ECLOCK;
}

static int64_t tick_now(const struct exec *e) {
    uint64_t tick;
    const int rc = sfid_tick_at(&e->layout, moment_now().unix_ms, &tick);
    return rc < 0 ? rc : (int64_t)tick;
}

/* An earlier holder of the pid, here or elsewhere, may have used all of the current tick. */
static int wait_for_tick(const struct exec *e) {
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = 1000000};
    int64_t until = monotonic_ms() + e->layout.unit_ms + LATE_MS, used = mark(e);
    const int retry = sfid_retry_ms(e->g);
    if (used == SFID_EAGAIN && retry <= WAIT_MS) {
        if (retry > SLOW_MS)
            say("exec: %s", sfid_last_error(e->g));
        until += retry + e->layout.unit_ms;
    }
    while (used == SFID_EAGAIN && monotonic_ms() < until) {
        nanosleep(&nap, NULL);
        used = mark(e);
    }
    while (used >= 0 && tick_now(e) <= used) {
        if (monotonic_ms() >= until)
            return SFID_ECLOCK;
        nanosleep(&nap, NULL);
    }
    return used < 0 ? (int)used : 0;
}

/* ---- the program --------------------------------------------------------- */

enum { VARIABLES = 6, ROOM = 4200 };

/* COMMAND, its children and readers of their environment need no password, so such a store is not
 * passed on. */
static bool passes_on(const char *store) {
    if (!store_has_password(store))
        return true;
    remark(
        "exec: the store holds a password, so COMMAND does not get $SFID_STORE; use password_file= to pass it on");
    return false;
}

/* Returns the environment with our variables in place of its own. Empty ones are removed. Returns
 * NULL if memory runs out. */
static char **environment(const struct exec *e) {
    static char ours[VARIABLES][ROOM + 32];
    char layout[SFID_LAYOUT_STR_LEN] = "";
    size_t count = 0, kept = 0, n = 0;
    if (sfid_layout_format(&e->layout, layout, sizeof layout) < 0)
        return NULL;
    snprintf(ours[n++], sizeof ours[0], "SFID_PID=%" PRId64, e->pid);
    snprintf(ours[n++], sizeof ours[0], "SFID_APP=%s", e->opt.app);
    snprintf(ours[n++], sizeof ours[0], "SFID_LAYOUT=%s", layout);
    snprintf(ours[n++], sizeof ours[0], "SFID_STORE=%s",
             passes_on(e->opt.store) ? e->opt.store : "");
    if (e->opt.run_dir && strlen(e->opt.run_dir) < ROOM)
        snprintf(ours[n++], sizeof ours[0], "SFID_RUN_DIR=%s", e->opt.run_dir);
    if (e->opt.state_dir && strlen(e->opt.state_dir) < ROOM)
        snprintf(ours[n++], sizeof ours[0], "SFID_STATE_DIR=%s", e->opt.state_dir);
    while (environ[count])
        count++;
    char **all = calloc(count + n + 1, sizeof *all);
    for (size_t i = 0; all && i < count; i++) {
        bool replaced = false;
        for (size_t k = 0; k < n; k++)
            replaced |= strncmp(environ[i], ours[k], strcspn(ours[k], "=") + 1) == 0;
        if (!replaced)
            all[kept++] = environ[i];
    }
    for (size_t k = 0; all && k < n; k++)
        if (ours[k][strcspn(ours[k], "=") + 1])
            all[kept++] = ours[k];
    return all;
}

/* Runs in the child, without the keeper's thread: it may only do what a signal handler may. Reports
 * errno if it fails. */
static void become(const struct exec *e, char **environment, pid_t parent, int told) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(STATUS_LEASE);
    signals_restore();
    sigprocmask(SIG_SETMASK, &e->before, NULL);
    execvpe(e->command[0], e->command, environment);
    const int why = errno;
    const ssize_t n = write(told, &why, sizeof why);
    _exit(n == sizeof why && why == ENOENT ? NOT_FOUND : NOT_EXECUTED);
}

/* Returns 0 or errno. */
static int start(struct exec *e) {
    int told[2], why = 0;
    const pid_t self = getpid();
    char **all = environment(e);
    if (all == NULL || pipe2(told, O_CLOEXEC) < 0) {
        free(all);
        return ENOMEM;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans of COMMAND become our children */
    e->child = fork();
    if (e->child == 0)
        become(e, all, self, told[1]);
    why = e->child < 0 ? errno : 0;
    close(told[1]);
    if (e->child > 0 && read(told[0], &why, sizeof why) != sizeof why)
        why = 0; /* the pipe was closed by a successful exec */
    close(told[0]);
    free(all);
    if (why && e->child > 0)
        waitpid(e->child, NULL, 0);
    return why;
}

/* ---- while it runs ------------------------------------------------------- */

static void end_them(struct exec *e) {
    if (e->kill_at_ms)
        return;
    kin_signal(SIGTERM);
    kin_signal(SIGCONT); /* a stopped process does not handle TERM */
    e->kill_at_ms = monotonic_ms() + e->grace_ms;
}

/* Checks the lease. Once it cannot last, all processes have to end before its window does. */
static void look_at_lease(struct exec *e) {
    sfid_status_info st;
    char why[SFID_WHY_LEN];
    (void)!mark(e);
    if (e->lost || sfid_status(e->g, &st) < 0)
        return;
    const bool gone = st.losses > 0 || st.pid != e->pid;
    if (!gone && st.window_ms > (int64_t)e->grace_ms + SPARE_MS)
        return;
    snprintf(why, sizeof why, "%s", sfid_last_error(e->g));
    say("exec: the lease of pid %" PRId64 " %s%s%s: sending TERM to %s, and KILL in %" PRIu32 " ms",
        e->pid, gone ? "is lost" : "was not renewed and is about to run out", why[0] ? ": " : "",
        why, QUOTE(e->command[0]), e->grace_ms);
    e->lost = true;
    end_them(e);
}

/* Returns false if no process is left. */
static bool reap(struct exec *e) {
    int status;
    pid_t who;
    while ((who = waitpid(-1, &status, WNOHANG)) > 0)
        if (who == e->child) {
            e->ended = true;
            e->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
    return who == 0 || errno != ECHILD;
}

/* COMMAND has ended, others still run. */
static void see_to_the_rest(struct exec *e) {
    static bool told;
    if (!e->ended || told || e->kill_at_ms)
        return;
    told = true;
    if (e->end_all)
        end_them(e);
    else
        say("exec: %s has ended, but processes it started may still use pid %" PRId64
            ": the lease is held until they end",
            QUOTE(e->command[0]), e->pid);
}

/* Forwards a signal, unless a terminal has already sent it to all its foreground processes. */
static void forward(const struct exec *e, const siginfo_t *info) {
    if (e->ended)
        kin_signal(info->si_signo);
    else if (info->si_code != SI_KERNEL || getpgid(e->child) != getpgrp())
        kill(e->child, info->si_signo);
}

static void wait_a_round(const struct exec *e) {
    int64_t ms = ROUND_MS;
    siginfo_t info;
    if (e->kill_at_ms && e->kill_at_ms > monotonic_ms() && e->kill_at_ms - monotonic_ms() < ms)
        ms = e->kill_at_ms - monotonic_ms();
    const struct timespec most = {.tv_sec = 0, .tv_nsec = (long)ms * 1000000};
    if (sigtimedwait(&e->watched, &info, &most) > 0 && info.si_signo != SIGCHLD)
        forward(e, &info);
}

static void attend(struct exec *e) {
    while (reap(e)) {
        look_at_lease(e);
        see_to_the_rest(e);
        if (e->kill_at_ms && monotonic_ms() >= e->kill_at_ms)
            kin_signal(SIGKILL); /* in each round: they may have started others */
        wait_a_round(e);
    }
}

/* ---- from start to end --------------------------------------------------- */

/* Ignored signals stay ignored, here and in COMMAND. */
static void watch_signals(struct exec *e) {
    struct sigaction now;
    signal(SIGCHLD, SIG_DFL); /* otherwise wait(2) would find no children */
    sigemptyset(&e->watched);
    sigaddset(&e->watched, SIGCHLD);
    for (size_t i = 0; i < COUNT_OF(forwarded); i++)
        if (sigaction(forwarded[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&e->watched, forwarded[i]);
    sigprocmask(SIG_BLOCK, &e->watched, &e->before);
}

/*
 * No process is left, so the pid is released at the position that this process
 * has reached. With the current tick marked, all that COMMAND used lies below
 * that. The library's clock may be a few milliseconds behind this one. If the
 * tick cannot be marked, the lease runs out.
 */
static void give_back(const struct exec *e) {
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = 1000000};
    const int64_t now = tick_now(e), until = monotonic_ms() + ROUND_MS;
    int64_t used = mark(e);
    while (now >= 0 && used != SFID_EAGAIN && used < now && monotonic_ms() < until) {
        nanosleep(&nap, NULL);
        used = mark(e);
    }
    if (used == SFID_EAGAIN || (now >= 0 && used >= now))
        sfid_close(e->g);
}

static int run_under_lease(struct exec *e) {
    int code = wait_for_tick(e);
    if (code < 0) {
        say("exec: pid %" PRId64 " was already used at times later than this host's clock: %s",
            e->pid, sfid_strerror(code));
        sfid_close(e->g);
        return status_of(code);
    }
    watch_signals(e);
    const int why = start(e);
    if (why) {
        say("exec: %s: %s", QUOTE(e->command[0]), strerror(why));
        sfid_close(e->g);
        return why == ENOENT ? NOT_FOUND : NOT_EXECUTED;
    }
    attend(e);
    give_back(e);
    return e->lost ? STATUS_LEASE : e->status;
}

/* Between two renewals, there must be time to retry and then to end a program. */
static bool leaves_time(const struct args *args, const struct exec *e) {
    const uint32_t least = 3 * (e->grace_ms + SPARE_MS);
    const char *store = args->value[STORE];
    const bool brief =
        strstr(store, "://") && e->opt.short_ms > 0 && e->opt.short_ms <= e->opt.ttl_ms / 2;
    const uint32_t lasts = brief ? e->opt.short_ms : e->opt.ttl_ms;
    if (lasts >= least)
        return true;
    return refuse("%s: %" PRIu32 " ms is too short; use at least %" PRIu32
                  ": three times the sum of --grace-ms (%" PRIu32 ") and 1000%s",
                  brief ? "--short-ms" : "--ttl-ms", lasts, least, e->grace_ms,
                  brief ? "; or 0, in all processes of the app" : "");
}

static bool read_exec(const struct args *args, struct exec *e) {
    if (!args_app(args, APP, &e->opt.app) || !args_layout(args, LAYOUT, &e->layout) ||
        !app_options(args, RUN_DIR, &e->opt) ||
        !args_between(args, GRACE, 0, 3600000, &e->grace_ms) || !leaves_time(args, e))
        return false;
    e->opt.store = args->value[STORE];
    e->opt.layout = &e->layout;
    e->opt.keep_pid = 1; /* COMMAND cannot follow to another */
    if (e->opt.max_wait_ms < e->layout.unit_ms)
        e->opt.max_wait_ms = e->layout.unit_ms;
    e->end_all = args->value[END_ALL] != NULL;
    e->command = args->operands;
    e->command[args->operand_count] = NULL; /* argv has a NULL there, too */
    return true;
}

/* Standard error is COMMAND's as well: nothing of what goes well, or was chosen. */
static void hear_exec(void *user, const sfid_event *event) {
    const bool chosen =
        event->kind == SFID_EVENT_NOT_TMPFS || event->kind == SFID_EVENT_NOT_DURABLE;
    if (sfid_event_level(event->kind) <= LOG_NOTICE && !chosen)
        sfid_event_to_stderr(user, event);
}

static int run_exec(const struct args *args) {
    static char name[] = "sfid: exec";
    /* static: an open generator is no leak */
    static struct exec e = {.opt = SFID_OPTIONS_INIT, .grace_ms = 5000};
    if (args->operand_count == 0)
        return misuse(args, "exec: a command is missing");
    if (!args_given(args, APP, STORE))
        return usage(args->command);
    if (!read_exec(args, &e))
        return STATUS_USAGE;
    e.opt.on_event = hear_exec;
    e.opt.user = name;
    const int status = app_open(&e.g, &e.opt);
    if (status != STATUS_GOOD)
        return status;
    sfid_status_info st;
    if (sfid_status(e.g, &st) == 0 && st.shared) {
        say("exec: the store has share=1; COMMAND makes its own IDs, so it needs a process ID that no other process has");
        sfid_close(e.g);
        return STATUS_CONFIG;
    }
    e.pid = sfid_pid(e.g);
    return run_under_lease(&e);
}

const struct command command_exec = {
    .name = "exec",
    .synopsis =
        "--app APP --store STORE [--layout LAYOUT] [--grace-ms MS] [--end-all] [--run-dir DIR] [--state-dir DIR] "
        "[--ttl-ms MS] [--short-ms MS] [--skew-budget-ms MS] [--timeout-ms MS] -- COMMAND [ARGUMENT...]",
    .summary = "run a program with a leased process ID, and stop it before the lease ends",
    .about =
        "Leases a process ID, runs COMMAND with it in $SFID_PID, and holds the lease until COMMAND\n"
        "and all processes that it started have ended. $SFID_APP, $SFID_LAYOUT and $SFID_STORE\n"
        "are set as well. $SFID_STORE is left out if the URL holds a password; use password_file=\n"
        "instead. Standard input and output are COMMAND's, and it gets the signals sent to exec.\n\n"
        "Exit status: COMMAND's, or 128 plus the number of the signal that ended it; 127 if there\n"
        "is no such program, 126 if it cannot be run. When the lease is lost, COMMAND and all\n"
        "processes that it started get TERM, KILL after --grace-ms, and the status is 76. If exec fails\n"
        "before COMMAND runs, the statuses are those of gen.\n\n"
        "No other process has the pid in $SFID_PID for APP while COMMAND runs. COMMAND itself must\n"
        "take ticks from the clock, never ahead of it, and use no tick twice when the clock is set\n"
        "back. If exec gets KILL, COMMAND gets KILL as well, but the processes that COMMAND started\n"
        "do not. While exec is stopped, nothing watches the lease.\n",
    .options = options,
    .run = run_exec,
};
