/* SPDX-License-Identifier: MIT */
/* mark.c - sfid_mark_look() and sfid_mark_lower(): a pid that no server leases, whose mark was
 * written under a wrong clock. */
#include "base/clock.h"
#include "base/fd.h"
#include "base/guest.h"
#include "base/process.h"
#include "host/mark.h"
#include "host/slot.h"
#include "id/layout.h"
#include "lease/far.h"
#include "lease/options.h"
#include "lease/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One call. */
struct mark_survey {
    struct sfid__guest guest;
    sfid_options opt; /* as given, completed */
    sfid_layout layout;
    sfid_wide_layout wide;
    struct sfid__settings settings;
    struct sfid__far far;
    struct sfid__dir marks, pages; /* of the app; fd -1: there is none */
    uint64_t pid;
    char name[32];               /* of the page and of the mark */
    uint64_t mark_end, page_end; /* ticks, below which IDs may have been generated; 0: none */
    uint64_t now;
    sfid_mark_info info;
    struct sfid__error error;
};

/* ---- what there is ----------------------------------------------------------- */

/* Opens BELOW/MIDDLE/APP, and makes nothing. A directory that is missing is no error. Takes over
 * below, which is NULL after an error. */
static int open_there(struct sfid__dir *dir, char *below, const char *middle, const char *app,
                      struct sfid__error *err) {
    char *path = NULL;
    struct stat st;
    if (below == NULL)
        return err->code;
    const int n = asprintf(&path, "%s%s/%s", below, middle, app);
    free(below);
    if (n < 0)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    const int rc = stat(path, &st) < 0 && errno == ENOENT ? 0 : sfid__dir_reopen(dir, path, err);
    free(path);
    return rc;
}

/* As in places.c: if one directory serves both, pages have a subdirectory. */
static int open_dirs(struct mark_survey *s) {
    struct stat run, state;
    struct sfid__error *err = &s->error;
    char *pages = sfid__dir_name_run(s->opt.run_dir, err),
         *marks = sfid__dir_name_state(s->opt.state_dir, err);
    const bool both = pages && marks && stat(pages, &run) == 0 && stat(marks, &state) == 0 &&
                      run.st_dev == state.st_dev && run.st_ino == state.st_ino;
    const int rc = open_there(&s->marks, marks, "", s->opt.app, err);
    if (rc == 0)
        return open_there(&s->pages, pages, both ? "/.run" : "", s->opt.app, err);
    free(pages);
    return rc;
}

/* The layout that the app has on this host, if it is noted and none is given. */
static int find_layout(struct mark_survey *s) {
    enum { FINGERPRINT = 17 }; /* digits and a space stand before the text: identity.c */
    char noted[128];
    if (s->opt.layout || s->opt.wide || s->marks.fd < 0)
        return 0;
    const int fd = sfid__file_look(&s->marks, "layout");
    const ssize_t n = fd < 0 ? 0 : sfid__fd_read(fd, noted, sizeof noted - 1);
    if (fd >= 0)
        close(fd);
    if (n <= FINGERPRINT)
        return 0;
    noted[n] = '\0';
    noted[strcspn(noted, "\n")] = '\0';
    if (sfid_layout_parse(noted + FINGERPRINT, &s->layout) == 0)
        s->opt.layout = &s->layout;
    else if (sfid_wide_layout_parse(noted + FINGERPRINT, &s->wide) == 0)
        s->opt.wide = &s->wide;
    sfid__options_end(&s->settings);
    return sfid__options_read(&s->opt, &s->settings, &s->error);
}

static int survey_begin(struct mark_survey *s, const sfid_options *opt, uint64_t pid) {
    struct sfid__error *err = &s->error;
    int rc = sfid__options_copy(opt, &s->opt, err);
    if (rc == 0 && s->opt.store == NULL && s->opt.pid < 0)
        s->opt.store = "local";
    if (rc == 0)
        rc = sfid__options_read(&s->opt, &s->settings, err);
    if (rc == 0 && s->opt.app == NULL)
        rc = sfid__fail(err, SFID_EINVAL, "app is not given: a mark is an app's");
    if (rc == 0)
        rc = open_dirs(s);
    if (rc == 0)
        rc = find_layout(s);
    if (rc < 0)
        return rc;
    if (s->settings.store != &sfid__store_local && s->settings.store != &sfid__store_ordinal)
        return sfid__fail(
            err, SFID_EUNSUPPORTED,
            "a pid that a server leases has no mark: give the pid, or the store \"ordinal:\"");
    if (pid > s->settings.opt.layout->max_pid)
        return sfid__fail(err, SFID_EINVAL,
                          "pid %" PRIu64 " is out of range: the layout has 0 to %" PRIu64, pid,
                          s->settings.opt.layout->max_pid);
    s->pid = pid;
    s->far = sfid__far_of(&s->settings);
    snprintf(s->name, sizeof s->name, SFID__MARK_PREFIX "%" PRIu64, pid);
    return 0;
}

static struct sfid__slot_want page_up_to(const struct mark_survey *s, uint64_t limit) {
    return (struct sfid__slot_want){s->settings.of_pages, s->pid, limit, 0};
}

/* Puts together what mark and page say. 0 or SFID_ECLOCK. */
static int survey_judge(struct mark_survey *s, const struct sfid__position *at) {
    const sfid_layout *l = s->far.layout;
    const struct sfid__slot_want any = page_up_to(s, UINT64_MAX);
    s->mark_end = at->word >> l->seq_bits;
    s->page_end =
        s->pages.fd < 0 ? 0 : sfid__slot_furthest(&s->pages, s->name, &any) >> l->seq_bits;
    const int64_t now_ms = sfid__now(&sfid__system_clock).ms;
    const bool by_page = s->page_end > s->mark_end;
    const uint64_t tick = SFID__MAX(s->mark_end, s->page_end);
    s->now = sfid__tick_of_ms(l, now_ms);
    s->info = (sfid_mark_info){.until_unix_ms = sfid__tick_begin_ms(l, tick),
                               .clock_unix_ms = now_ms,
                               .reach_ms = (int64_t)(s->far.reach * l->unit_ms),
                               .there = tick > 0,
                               .far = sfid__mark_is_far(&s->far, tick, s->now)};
    return !s->info.far ? 0
                        : sfid__mark_refuse_far(&s->far, by_page ? "page" : "mark",
                                                by_page ? s->pages.path : s->marks.path, s->pid,
                                                tick, s->now, &s->error);
}

static int survey_look(struct mark_survey *s) {
    struct sfid__position at = {0};
    if (s->marks.fd >= 0 &&
        sfid__mark_look(&s->marks, s->pid, s->settings.fingerprint, &at, &s->error) < 0)
        return s->error.code;
    return survey_judge(s, &at);
}

/* ---- lowering ---------------------------------------------------------------- */

/*
 * Puts a new page in the place of the pid's, which knows positions of the wrong time. One that
 * processes shared loses its other name as well (slot.c). Its lock shows that nobody uses it.
 */
static int put_page_aside(struct mark_survey *s) {
    const struct sfid__slot_want none = page_up_to(s, 0);
    struct sfid__slot slot;
    struct sfid__dir dir;
    struct stat st;
    if (s->pages.fd < 0 || fstatat(s->pages.fd, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (sfid__dir_reopen(&dir, s->pages.path, &s->error) < 0 ||
        sfid__slot_take(&slot, &dir, s->name, &none, &s->error) < 0)
        return s->error.code;
    sfid__slot_drop(&slot);
    return 0;
}

/*
 * The page goes last: if this process ends in between, what the mark now says is known, and a page
 * that is too far is refused, or put aside by who opens the pid. A mark that is written as by a
 * close is the one that goes back.
 */
static int lower(struct mark_survey *s, struct sfid__mark *mark) {
    const sfid_layout *l = s->far.layout;
    const uint64_t tick = SFID__MIN(s->now + s->far.reach, sfid__layout_end(l));
    const struct sfid__position at = {.word = tick << l->seq_bits, .exact = true};
    if (sfid__mark_write(mark, at, &s->error) < 0 || put_page_aside(s) < 0)
        return s->error.code;
    return survey_judge(s, &at);
}

/* As store_local.c opens it. */
static int open_marks(struct mark_survey *s) {
    struct sfid__dir state = SFID__DIR_NONE;
    int rc = sfid__dir_open_state(&state, s->opt.state_dir, &s->error);
    if (rc == 0)
        rc = sfid__dir_refuse_doubt(&state, &s->error);
    sfid__dir_close(&s->marks);
    if (rc == 0)
        rc = sfid__dir_open_sub(&s->marks, &state, s->opt.app, &s->error);
    sfid__dir_close(&state);
    return rc;
}

/* Judges with the lock, so that no process goes on meanwhile. SFID_EAGAIN: there is nothing to
 * lower. */
static int lower_locked(struct mark_survey *s) {
    struct sfid__mark mark;
    struct sfid__position at;
    const struct sfid__mark_want want = {s->pid, s->settings.fingerprint, true, false, 0};
    if (open_marks(s) < 0 || sfid__mark_take(&mark, &s->marks, &want, &at, &s->error) < 0)
        return s->error.code;
    const int rc = survey_judge(s, &at) == SFID_ECLOCK ? lower(s, &mark) : SFID_EAGAIN;
    sfid__mark_drop(&mark);
    return rc;
}

static int look_and_lower(struct mark_survey *s) {
    char until[SFID__TIME_TEXT];
    int rc = survey_look(s);
    if (rc < 0 && rc != SFID_ECLOCK)
        return rc;
    rc = s->info.there ? lower_locked(s) : SFID_EAGAIN;
    if (rc != SFID_EAGAIN)
        return rc;
    if (!s->info.there)
        return sfid__fail(&s->error, rc, "app \"%s\" has no mark of pid %" PRIu64 " on this host",
                          s->opt.app, s->pid);
    sfid__time_text(s->info.until_unix_ms, SFID__ANOTHER_DAY, until);
    return sfid__fail(
        &s->error, rc,
        "the mark of pid %" PRIu64
        " of app \"%s\" says %s, no further ahead of this host's clock than a right one writes "
        "it. Nothing was changed",
        s->pid, s->opt.app, until);
}

/* ---- calls ------------------------------------------------------------------- */

static int survey_ask(const sfid_options *opt, uint64_t pid, int (*what)(struct mark_survey *s),
                      sfid_mark_info *out, char *why, size_t why_size) {
    struct mark_survey *s = out ? calloc(1, sizeof *s) : NULL;
    int rc = out == NULL ? SFID_EINVAL : SFID_ENOMEM;
    if (s) {
        s->marks = s->pages = (struct sfid__dir)SFID__DIR_NONE;
        sfid__process_prepare();
        sfid__guest_enter(&s->guest);
        rc = survey_begin(s, opt, pid);
        if (rc == 0)
            rc = what(s);
        sfid__dir_close(&s->marks);
        sfid__dir_close(&s->pages);
        sfid__options_end(&s->settings);
        sfid__guest_leave(&s->guest);
        *out = s->info;
    }
    if (why && why_size > 0)
        snprintf(why, why_size, "%s",
                 rc == 0                    ? ""
                 : s && s->error.code == rc ? s->error.text
                                            : sfid_strerror(rc));
    free(s);
    return rc;
}

int sfid_mark_look(const sfid_options *opt, uint64_t pid, sfid_mark_info *out, char *why,
                   size_t why_size) {
    return survey_ask(opt, pid, survey_look, out, why, why_size);
}

int sfid_mark_lower(const sfid_options *opt, uint64_t pid, sfid_mark_info *out, char *why,
                    size_t why_size) {
    return survey_ask(opt, pid, look_and_lower, out, why, why_size);
}
