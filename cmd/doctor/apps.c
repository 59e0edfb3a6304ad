/* SPDX-License-Identifier: MIT */
/* apps.c - checks the apps of a state directory: layout, end, and the holder of each pid. */
#include "doctor/apps.h"

#include "args/args.h"
#include "doctor/dirs.h"
#include "io/date.h"
#include "io/digits.h"
#include "io/json.h"
#include "io/look.h"
#include "io/say.h"
#include "layout/show.h"
#include "lease/holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- finding apps -------------------------------------------------------- */

static DIR *open_list(const char *path) {
    const int fd = look_open(path, O_DIRECTORY);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    const int why = errno;
    if (list == NULL && fd >= 0)
        close(fd);
    errno = why;
    return list;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct app *)a)->name, ((const struct app *)b)->name);
}

static int by_pid(const void *a, const void *b) {
    const uint64_t x = ((const struct slot *)a)->pid, y = ((const struct slot *)b)->pid;
    return x < y ? -1 : x > y;
}

static void add_slot(struct app *app, const char *directory, const char *name) {
    struct stat st;
    struct slot slot = {0};
    char path[PATH_ROOM];
    if (strncmp(name, "pid-", 4) != 0 || !read_u64(name + 4, UINT32_MAX, &slot.pid) ||
        snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path ||
        lstat(path, &st) < 0)
        return;
    slot.path = strdup(path);
    slot.inode = slot.map_inode = st.st_ino;
    slot.major = slot.map_major = major(st.st_dev);
    slot.minor = slot.map_minor = minor(st.st_dev);
    if (slot.path == NULL)
        return;
    app->slots = grown(app->slots, app->slot_count, sizeof slot);
    app->slots[app->slot_count++] = slot;
}

/* named: the user has; else a plain file is none. */
static void add_app(struct survey *survey, const char *name, bool named) {
    char path[PATH_ROOM];
    struct stat st;
    struct app app = {.slots = NULL};
    if (!is_app_name(name) ||
        snprintf(path, sizeof path, "%s/%s", survey->state, name) >= (int)sizeof path)
        return;
    if (lstat(path, &st) < 0) {
        survey->why = errno;
        return;
    }
    if (S_ISREG(st.st_mode) && !named)
        return;
    snprintf(app.name, sizeof app.name, "%s", name);
    DIR *list = open_list(path);
    for (const struct dirent *e; list && (e = readdir(list)) != NULL;)
        add_slot(&app, path, e->d_name);
    if (list)
        closedir(list);
    if (app.slot_count > 0)
        qsort(app.slots, app.slot_count, sizeof *app.slots, by_pid);
    survey->apps = grown(survey->apps, survey->app_count, sizeof app);
    survey->apps[survey->app_count++] = app;
}

/* Finds all apps, or only the given one. */
static void take_stock(struct survey *survey, const char *only) {
    if (only) {
        add_app(survey, only, true);
        return;
    }
    DIR *list = open_list(survey->state);
    survey->why = list ? 0 : errno;
    for (const struct dirent *e; list && (e = readdir(list)) != NULL;)
        add_app(survey, e->d_name, false);
    if (list)
        closedir(list);
    if (survey->app_count > 0)
        qsort(survey->apps, survey->app_count, sizeof *survey->apps, by_name);
}

static void let_go(struct survey *survey) {
    for (size_t a = 0; a < survey->app_count; a++) {
        for (size_t i = 0; i < survey->apps[a].slot_count; i++) {
            free(survey->apps[a].slots[i].holders);
            free(survey->apps[a].slots[i].path);
        }
        free(survey->apps[a].slots);
    }
    for (size_t i = 0; i < survey->stray_count; i++)
        free(survey->strays[i].name);
    free(survey->strays);
    free(survey->apps);
}

/* ---- layout -------------------------------------------------------------- */

/* The layout that is recorded for an app. */
struct noted {
    char path[PATH_ROOM + 16];
    bool there;
    struct stat st;
    bool good; /* valid; then: */
    struct shown shown;
};

static bool look_at_text(struct shown *shown, const char *text) {
    sfid_layout layout;
    sfid_wide_layout wide;
    if (sfid_wide_layout_parse(text, &wide) == 0)
        return layout_look_at_wide(shown, &wide);
    return sfid_layout_parse(text, &layout) == 0 && layout_look_at(shown, &layout);
}

/* Reads a fingerprint, a space, and the layout's text. */
static void read_noted(struct noted *noted, const char *directory) {
    char line[128], *end;
    snprintf(noted->path, sizeof noted->path, "%s/layout", directory);
    noted->good = false;
    noted->there = lstat(noted->path, &noted->st) == 0;
    if (!noted->there || !S_ISREG(noted->st.st_mode) ||
        look_read(noted->path, line, sizeof line) <= 17)
        return;
    const uint64_t fingerprint = strtoull(line, &end, 16);
    noted->good = end == line + 16 && *end == ' ' && look_at_text(&noted->shown, end + 1) &&
                  noted->shown.facts.fingerprint == fingerprint;
}

static void find_layout(struct report *report, const struct noted *noted,
                        const struct survey *survey) {
    if (!doctor_file(report, noted->path, false))
        return;
    if (!noted->there)
        report_problem(report, STATUS_GOOD,
                       "nothing needs to be done: the next generator records its layout",
                       "no layout is recorded in %s", noted->path);
    else if (!noted->good)
        report_problem(
            report, STATUS_STATE,
            "remove it: the next generator records its layout, and each mark has its own",
            "%s holds no layout known to this version", noted->path);
    else {
        layout_find_end(report, &noted->shown, survey->now, STATUS_INTERNAL);
        if (!noted->shown.wide)
            layout_find_crossings(report, &noted->shown.layout, survey->now, false);
    }
}

/* ---- pids ---------------------------------------------------------------- */

static bool is_in_use(const struct slot *slot) { return slot->locked || slot->holder_count > 0; }

static bool taker_holds(const struct slot *slot) {
    for (size_t i = 0; i < slot->holder_count; i++)
        if (slot->holders[i].process == slot->taker)
            return true;
    return false;
}

static void put_holder(const struct holder *holder) {
    json_open(NULL, '{');
    json_int("process", holder->process);
    json_text("name", holder->name);
    json_close('}');
}

static void put_slots(const struct app *app) {
    json_open("pids", '[');
    for (size_t i = 0; i < app->slot_count; i++) {
        const struct slot *slot = &app->slots[i];
        json_open(NULL, '{');
        json_uint("pid", slot->pid);
        json_bool("in_use", is_in_use(slot));
        if (slot->taker > 0)
            json_int("taken_by", slot->taker);
        json_open("holders", '[');
        for (size_t h = 0; h < slot->holder_count; h++)
            put_holder(&slot->holders[h]);
        json_close(']');
        json_close('}');
    }
    json_close(']');
}

/* Writes "1234 (nginx), 1240 (nginx)", as many as fit. */
static void holders_text(const struct slot *slot, char *text, size_t size) {
    size_t len = 0;
    for (size_t i = 0; i < slot->holder_count && len < size; i++)
        len += (size_t)snprintf(text + len, size - len, "%s%" PRId64 " (%s)", i ? ", " : "",
                                slot->holders[i].process, slot->holders[i].name);
    if (len >= size)
        memcpy(text + size - 4, "...", 4);
}

/* After a crash the page has the exact position. If it is gone, only the mark is left, which lies
 * ahead. */
static void find_page(struct report *report, const struct survey *survey, const struct app *app,
                      const struct slot *slot) {
    char path[PATH_ROOM];
    struct stat st;
    if (survey->run &&
        snprintf(path, sizeof path, "%s/%s/pid-%" PRIu64, survey->run, app->name, slot->pid) <
            (int)sizeof path &&
        lstat(path, &st) < 0 && errno == ENOENT)
        report_problem(
            report, STATUS_GOOD,
            "let nothing remove files from the run directory, and use the same one for all processes",
            "pid %" PRIu64
            " is held, but %s is missing: it was removed, or the process uses another run directory",
            slot->pid, path);
}

/* Writes "1200 (nginx)", "1200, which has ended", or "" if the kernel does not say. */
static void taker_text(const struct slot *slot, bool ended, char *text, size_t size) {
    text[0] = '\0';
    if (ended)
        snprintf(text, size, "%" PRId64 ", which has ended", slot->taker);
    else if (slot->taker > 0) {
        const struct holder holder = holder_of(slot->taker);
        snprintf(text, size, "%" PRId64 " (%s)", holder.process, holder.name);
    }
}

static void find_slot(struct report *report, const struct survey *survey, const struct slot *slot) {
    char holders[800] = "", taker[80];
    const bool ended = slot->taker > 0 && has_ended(slot->taker);
    const bool apart = slot->taker > 0 && !taker_holds(slot);
    holders_text(slot, holders, sizeof holders);
    taker_text(slot, ended, taker, sizeof taker);
    if (slot->holder_count > 0 && !slot->locked && survey->locks_told)
        report_problem(
            report, STATUS_STATE, "use a state directory on another file system",
            "pid %" PRIu64
            " is held by %s without a lock: this file system lost the lock, and other processes may take the pid",
            slot->pid, holders);
    else if (slot->holder_count > 0 && !apart)
        report_fine(report, "pid %" PRIu64 " is held by %s", slot->pid, holders);
    else if (slot->holder_count > 0)
        report_fine(report, "pid %" PRIu64 " is held by %s; it was taken by %s%s", slot->pid,
                    holders, taker, ended ? "" : ", which has closed it since");
    else if (survey->hidden == 0)
        report_fine(report, "pid %" PRIu64 " is being taken or released by %s", slot->pid, taker);
    else
        report_problem(
            report, STATUS_GOOD, "run this as root",
            "pid %" PRIu64
            " is held and was taken by %s; its holders are unknown: %zu process%s cannot be examined",
            slot->pid, taker, survey->hidden, survey->hidden == 1 ? "" : "es");
}

static bool is_blank(const char *content, ssize_t n) {
    for (ssize_t i = 0; i < n; i++)
        if (content[i])
            return false;
    return true;
}

/* Reports a file that makes a pid unusable. Other pids still work. */
static bool find_bad_mark(struct report *report, const struct slot *slot) {
    char content[8 * 4096];
    if (!doctor_file(report, slot->path, true))
        return true;
    const int fd = look_open(slot->path, 0);
    const ssize_t n = fd < 0 ? -1 : read(fd, content, sizeof content);
    if (fd >= 0)
        close(fd);
    if (n >= 0 && sfid_mark_check(content, (size_t)n) < 0) {
        report_problem(report, STATUS_STATE,
                       "remove the file once nothing has used this pid for a day",
                       "%s is damaged: pid %" PRIu64 " cannot be used", slot->path, slot->pid);
        return true;
    }
    if (n >= 0 && is_blank(content, n) && !is_in_use(slot))
        report_problem(report, STATUS_GOOD, "nothing needs to be done",
                       "%s says nothing: it was cut off; the next process of pid %" PRIu64
                       " begins a window later",
                       slot->path, slot->pid);
    return false;
}

/* What a generator opens of an app's pages, besides those of pids. */
static bool find_run_dir(struct report *report, const struct survey *survey,
                         const struct app *app) {
    char path[PATH_ROOM];
    struct stat st;
    if (survey->run == NULL || snprintf(path, sizeof path, "%s/%s", survey->run, app->name) >=
                                   (int)sizeof path - (int)strlen("/lock"))
        return true;
    if (lstat(path, &st) < 0)
        return true;
    if (!doctor_trust(report, path, &st, true))
        return false;
    strcat(path, "/lock");
    return doctor_file(report, path, true);
}

static void find_bad_page(struct report *report, const struct survey *survey, const struct app *app,
                          const struct slot *slot) {
    char path[PATH_ROOM];
    if (survey->run && snprintf(path, sizeof path, "%s/%s/pid-%" PRIu64, survey->run, app->name,
                                slot->pid) < (int)sizeof path)
        doctor_file(report, path, true);
}

/* A mark that was written under a wrong clock, or is another's. The holder of a pid in use has seen
 * its mark. */
static void find_far_mark(struct report *report, const struct app *app, const struct slot *slot,
                          const sfid_options *given) {
    sfid_options opt = *given;
    sfid_mark_info info;
    char why[SFID_WHY_LEN];
    opt.app = app->name;
    const int code = is_in_use(slot) ? 0 : sfid_mark_look(&opt, slot->pid, &info, why, sizeof why);
    if (code == SFID_ECLOCK || code == SFID_ESTATE)
        report_problem(report, status_of(code), NULL, "%s", why);
}

static void find_slots(struct report *report, const struct survey *survey, const struct app *app,
                       const struct noted *noted, const sfid_options *opt) {
    size_t in_use = 0;
    char of[32] = "";
    for (size_t i = 0; i < app->slot_count; i++) {
        if (!find_bad_mark(report, &app->slots[i])) {
            find_bad_page(report, survey, app, &app->slots[i]);
            find_far_mark(report, app, &app->slots[i], opt);
        }
        if (is_in_use(&app->slots[i])) {
            find_slot(report, survey, &app->slots[i]);
            find_page(report, survey, app, &app->slots[i]);
            in_use++;
        }
    }
    if (noted->good)
        snprintf(of, sizeof of, " of %" PRIu64, noted->shown.facts.processes);
    if (noted->good && in_use > 1 && in_use >= noted->shown.facts.processes)
        report_problem(
            report, STATUS_GOOD,
            "end a process, or use a layout with more bits for the pid, under another app name",
            "all %zu pids are held: another process cannot get one", in_use);
    else
        report_fine(report, "%zu%s pids held%s, %zu held before", in_use, of,
                    survey->locks_told ? "" : " as far as this PID namespace shows",
                    app->slot_count - in_use);
}

static void find_strays(struct report *report, const struct survey *survey, const struct app *app) {
    const size_t len = strlen(app->name);
    for (size_t i = 0; i < survey->stray_count; i++) {
        const struct stray *stray = &survey->strays[i];
        if (stray->name && strncmp(stray->name, app->name, len) == 0 && stray->name[len] == '/')
            report_problem(
                report, STATUS_GOOD, "remove nothing from the state directory while processes run",
                "%" PRId64
                " (%s) holds %s, which was removed: that process must take its pid again, or stop",
                stray->holder.process, stray->holder.name, stray->name);
    }
}

/* ---- an app -------------------------------------------------------------- */

static void put_facts(const struct app *app, const struct noted *noted) {
    json_text("app", app->name);
    if (noted->good) {
        json_text("layout", noted->shown.name);
        json_text("last", noted->shown.last);
        json_int("last_ms", noted->shown.facts.last_ms - noted->shown.layout.unit_ms);
        json_uint("processes", noted->shown.facts.processes);
    }
    put_slots(app);
}

static void look_at_app(struct report *report, const struct survey *survey, const struct app *app,
                        const sfid_options *opt) {
    static struct noted noted;
    char topic[sizeof report->topic], path[PATH_ROOM];
    struct stat st;
    snprintf(topic, sizeof topic, "app %s", app->name);
    report_topic(report, topic);
    snprintf(path, sizeof path, "%s/%s", survey->state, app->name);
    read_noted(&noted, path);
    if (report->json)
        put_facts(app, &noted);
    if (lstat(path, &st) == 0 && !doctor_trust(report, path, &st, true))
        return;
    snprintf(path, sizeof path, "%s/%s/lock", survey->state, app->name);
    if (!doctor_file(report, path, true) || !find_run_dir(report, survey, app))
        return;
    find_layout(report, &noted, survey);
    find_slots(report, survey, app, &noted, opt);
    find_strays(report, survey, app);
}

/* Returns where the pages are. If run and state directory are the same, they have a
 * subdirectory. */
static const char *pages_of(const char *run, const char *state) {
    static char apart[PATH_ROOM + 8];
    struct stat a, b;
    if (run == NULL || stat(run, &a) < 0 || stat(state, &b) < 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return run;
    snprintf(apart, sizeof apart, "%s/.run", run);
    return apart;
}

void doctor_apps(struct report *report, const char *run, const char *state, const sfid_options *opt,
                 const char *store) {
    const char *only = opt->app;
    const bool leased = opt->store != NULL;
    sfid_options marks = *opt;
    marks.store = store;
    marks.layout = NULL; /* each app has its own */
    struct survey survey = {.run = pages_of(run, state), .state = state, .now = moment_now()};
    take_stock(&survey, only);
    holders_find(&survey);
    for (size_t a = 0; a < survey.app_count; a++)
        look_at_app(report, &survey, &survey.apps[a], &marks);
    if (survey.app_count == 0) {
        report_topic(report, "apps");
        if (survey.why && survey.why != ENOENT)
            report_problem(report, STATUS_STATE, "check the state directory",
                           "the apps are unknown: %s: %s", state, strerror(survey.why));
        else if (only && leased)
            report_fine(report, "%s has no pids in the state directory of this host", only);
        else if (only)
            report_problem(report, STATUS_GOOD, "check the app's name and the state directory",
                           "no process has generated IDs for %s here", only);
        else
            report_fine(report, "no process has generated IDs here");
    }
    let_go(&survey);
}
