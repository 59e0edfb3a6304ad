/* SPDX-License-Identifier: MIT */
/* ls.c - sfid lease ls: lists leases, once or repeatedly. */
#include "lease/ls.h"

#include "args/store.h"
#include "io/digits.h"
#include "io/json.h"
#include "io/out.h"
#include "io/say.h"
#include "lease/show.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const formats[] = {"text", "json", "tsv", "csv", "prometheus", NULL};

struct ls {
    const sfid_options *opt;
    int format;
    bool all;
    const char *output; /* NULL: standard output */
};

/* ---- once ------------------------------------------------------------------ */

/* Prints what the list leaves out, or why it is empty. */
static void tell(const struct ls *ls, const struct leases *leases) {
    const sfid_app_info *info = &leases->info;
    const char *app = ls->opt->app;
    if (info->state == SFID_APP_UNKNOWN) {
        say("%s does not know app %s: the app is new, or its records were lost", info->server, app);
    } else if (info->state == SFID_APP_FORGOTTEN) {
        say("%s: the records of app %s are from before a restart or failover; the next change discards them",
            info->server, app);
    } else if (info->state == SFID_APP_BARRED) {
        say("%s: the records of app %s are of an older version of libsfid; see sfid init --upgrade",
            info->server, app);
    } else if (info->open_unix_ms > info->server_unix_ms) {
        say("%s: pids of app %s without a record are granted from %s on", info->server, app,
            DATED(info->open_unix_ms));
    }
    if (info->known_unix_ms > info->server_unix_ms) {
        say("%s: the holders of %" PRIu64 " pids of app %s are unknown until %s", info->server,
            leases_unknown(info), app, DATED(info->known_unix_ms));
    }
    if (info->state != SFID_APP_UNKNOWN && leases->count == 0)
        say("%s: nobody holds a pid of app %s (%" PRIu64 " run out, %" PRIu64 " released%s)",
            info->server, app, info->run_out, info->released,
            info->run_out + info->released > 0 ? "; use --all to list them" : "");
}

static void show_leases(const struct ls *ls, const struct leases *leases) {
    if (ls->format == LEASE_PROMETHEUS)
        leases_metrics(ls->opt, leases);
    else if (leases)
        leases_show(leases, ls->format);
}

/* A device, a pipe or a link would be lost; of a directory rename(2) says so. */
static bool may_replace(const char *path) {
    struct stat st;
    if (lstat(path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return true;
    return refuse(
        "--output: %s is not a plain file, and would be replaced by one; name a file, or redirect standard output",
        QUOTE(path));
}

/* Writes a file that readers only ever see whole. It first has another name, which collectors
 * ignore. What has that name is left by a process that was killed, or a trap. */
static int show_to_file(const struct ls *ls, const struct leases *leases) {
    char path[4096];
    if (!may_replace(ls->output))
        return STATUS_IO;
    if (snprintf(path, sizeof path, "%s.%ld.tmp", ls->output, (long)getpid()) >= (int)sizeof path)
        return fail(STATUS_IO, "--output: %s is too long", QUOTE(ls->output));
    unlink(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        say("--output: %s: %s", QUOTE(path), strerror(errno));
        if (fd >= 0)
            close(fd);
        return STATUS_IO;
    }
    show_leases(ls, leases);
    const bool written = out_flush() && fsync(fd) == 0;
    close(fd);
    if (written && rename(path, ls->output) == 0)
        return STATUS_GOOD;
    if (written)
        say("--output: %s: %s", QUOTE(ls->output), strerror(errno));
    unlink(path);
    return STATUS_IO;
}

static int once(const struct ls *ls) {
    struct leases leases;
    char why[SFID_WHY_LEN];
    int status = STATUS_GOOD;
    const int code = leases_look(&leases, ls->opt, ls->all, why);
    /* of a pool, also what some servers told */
    const struct leases *found = leases.info.server[0] ? &leases : NULL;
    if (ls->output)
        status = show_to_file(ls, found);
    else
        show_leases(ls, found);
    if (code == 0 && ls->format != LEASE_PROMETHEUS)
        tell(ls, &leases);
    leases_forget(&leases);
    return code < 0 ? store_failure(code, why) : status;
}

/* ---- repeatedly ------------------------------------------------------------ */

/* Prints a line for a changed pid. was or is may be NULL: there was or is no lease. */
static void show_change(const struct ls *ls, const char *time, const struct lease *was,
                        const struct lease *is) {
    const struct lease *lease = is ? is : was;
    const char *before = was ? lease_kind_name(was->kind) : "none",
               *after = is ? lease_kind_name(is->kind) : "none";
    if (ls->format == LEASE_TEXT) {
        out_print("%s  pid %" PRIu64 "  %s -> %s  %s\n", time, lease->pid, before, after,
                  lease->holder[0] ? lease->holder : "-");
        return;
    }
    json_open(NULL, '{');
    json_text("time", time);
    json_uint("pid", lease->pid);
    json_text("was", before);
    json_text("state", after);
    if (lease->holder[0])
        json_text("holder", lease->holder);
    json_end();
}

static void show_changes(const struct ls *ls, const struct leases *was, const struct leases *is) {
    char time[DATE_ROOM];
    size_t w = 0, i = 0;
    date_text(time, is->info.server_unix_ms);
    while (w < was->count || i < is->count) {
        const struct lease *a = w < was->count ? &was->all[w] : NULL,
                           *b = i < is->count ? &is->all[i] : NULL;
        if (a && b && a->pid == b->pid) {
            if (a->kind != b->kind || strcmp(a->holder, b->holder) != 0)
                show_change(ls, time, a, b);
            w++, i++;
        } else if (b == NULL || (a && a->pid < b->pid)) {
            show_change(ls, time, a, NULL);
            w++;
        } else {
            show_change(ls, time, NULL, b);
            i++;
        }
    }
}

static void redraw(const struct ls *ls, const struct leases *leases, const char *trouble) {
    const sfid_app_info *info = &leases->info;
    out_print("\033[H\033[2J%s  %s  app %s: %" PRIu64 " held, %" PRIu64 " unshown, %" PRIu64
              " foreign, %" PRIu64 " run out, %" PRIu64 " released\n",
              DATED(info->server_unix_ms), info->server, ls->opt->app, info->held, info->unshown,
              info->foreign, info->run_out, info->released);
    if (trouble[0])
        out_print("now: %s\n", trouble);
    out_print("\n");
    leases_show(leases, LEASE_TEXT);
}

struct watch {
    bool terminal;
    struct leases before;
    char trouble[SFID_WHY_LEN]; /* why the last look failed; "": it did not */
};

static void see(const struct ls *ls, struct watch *watch, struct leases *now) {
    if (watch->terminal)
        redraw(ls, now, "");
    else if (ls->output == NULL)
        show_changes(ls, &watch->before, now);
    leases_forget(&watch->before);
    watch->before = *now;
    watch->trouble[0] = '\0';
}

/* Reports a failure once, not each time. */
static void fail_ls(const struct ls *ls, struct watch *watch, int code, const char *why) {
    const char *text = why[0] ? why : sfid_strerror(code);
    if (watch->terminal)
        redraw(ls, &watch->before, text);
    else if (watch->trouble[0] == '\0')
        say("%s", text);
    snprintf(watch->trouble, sizeof watch->trouble, "%s", text);
}

/* Returns false once the reader has gone, even if nothing is written to it. */
static bool is_read(void) {
    struct pollfd fd = {.fd = STDOUT_FILENO};
    return poll(&fd, 1, 0) <= 0 || (fd.revents & POLLERR) == 0;
}

/* Blocks signals, which are taken between two looks, so that no look is cut short. Ignored ones
 * (nohup) stay ignored. */
static void take_signals(sigset_t *ends) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;
    sigemptyset(ends);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(ends, signals[i]);
    sigprocmask(SIG_BLOCK, ends, NULL);
}

static int watch_all(const struct ls *ls, uint64_t seconds) {
    static struct watch watch;
    const struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = 0};
    sigset_t ends;
    int status = STATUS_GOOD;
    watch.terminal = ls->output == NULL && ls->format == LEASE_TEXT && isatty(STDOUT_FILENO);
    take_signals(&ends);
    for (bool first = true; status == STATUS_GOOD; first = false) {
        struct leases now;
        char why[SFID_WHY_LEN];
        const int code = leases_look(&now, ls->opt, ls->all, why);
        if (ls->output)
            status = show_to_file(ls, code < 0 ? NULL : &now);
        if (code < 0 && first)
            return store_failure(code, why);
        if (code < 0)
            fail_ls(ls, &watch, code, why);
        else
            see(ls, &watch, &now);
        if (!out_flush() || (ls->output == NULL && !is_read()) ||
            sigtimedwait(&ends, NULL, &pause) > 0)
            break;
    }
    leases_forget(&watch.before);
    return status;
}

int lease_ls(const struct args *args, const sfid_options *opt) {
    const char *seconds = args->value[LEASE_WATCH];
    struct ls ls = {opt, args_choice(args, LEASE_FORMAT, formats), args->value[LEASE_ALL] != NULL,
                    args->value[LEASE_OUTPUT]};
    uint64_t every = 2;
    if (ls.format < 0)
        return STATUS_USAGE;
    if (seconds == NULL)
        return once(&ls);
    if (seconds[0] && (!read_u64(seconds, 86400, &every) || every == 0))
        return fail(STATUS_USAGE, "--watch: %s is not a number of seconds from 1 to 86400",
                    QUOTE(seconds));
    if (ls.output ? ls.format != LEASE_PROMETHEUS : ls.format > LEASE_JSON)
        return fail(
            STATUS_USAGE,
            "--watch needs --format text or --format json, or with -o, --format prometheus");
    return watch_all(&ls, every);
}
