/* SPDX-License-Identifier: MIT */
/* guess_scene.h - IDs of layouts that a test knows, and what sfid decode --guess says of them. */
#ifndef SFID_TESTS_GUESS_SCENE_H
#define SFID_TESTS_GUESS_SCENE_H

#include "decode/guess.h"

#include "decode/candidates.h"
#include "io/date.h"
#include "io/digits.h"
#include "io/out.h"
#include "io/say.h"
#include "support/tap.h"

#include <sys/mman.h>

#define NOW INT64_C(1796040000123) /* 2026-11-30T12:00:00.123Z */
#define MOST 3000

/* ---- makers of IDs ----------------------------------------------------------------- */

static uint64_t state = 88172645463325252;

static uint64_t rnd(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

enum habit { FEW, ONE, NAUGHT, COUNTING, BURSTS, HABITS };
static const char *const habits[] = {"32 pids", "one pid", "pid 0, sequence 0",
                                     "sequences that go on", "bursts"};

struct set_of_ids {
    size_t count;
    uint64_t id[2 * MOST];
    int64_t ms[2 * MOST]; /* when each was made */
};
static struct set_of_ids ids;

static uint64_t compose(const sfid_layout *l, int64_t ms, uint64_t pid, uint64_t seq) {
    return (uint64_t)(ms - l->epoch_ms) / l->unit_ms << l->time_shift |
           (pid & l->max_pid) << l->pid_shift | (seq & l->max_seq) << l->seq_shift;
}

/* Adds IDs from a moment on, with less than `step` milliseconds from one to the next. */
static void make(const sfid_layout *l, int64_t ms, int64_t step, size_t count, enum habit habit) {
    uint64_t seq = rnd(1000);
    for (size_t i = 0; i < count; i++) {
        const bool burst = habit == BURSTS && i % 50 != 0;
        ms += burst ? 0 : 1 + (int64_t)rnd((uint64_t)step);
        seq = habit == COUNTING ? seq + 1
              : burst           ? seq + 1
              : habit == NAUGHT ? 0
                                : rnd(habit == BURSTS ? 1 : 4);
        ids.ms[ids.count] = ms;
        ids.id[ids.count++] = compose(l, ms,
                                      habit == NAUGHT                   ? 0
                                      : habit == ONE || habit == BURSTS ? 7
                                                                        : rnd(32),
                                      seq);
    }
}

static sfid_layout layout_of(const char *text, int64_t epoch_ms) {
    sfid_layout l;
    if (!ok(sfid_layout_parse(text, &l) == 0, "%s is a layout", text))
        exit(1);
    l.epoch_ms = epoch_ms;
    return l;
}

/* ---- asking ------------------------------------------------------------------------------ */

static struct guess guess;

struct answer {
    int status;
    char first[80]; /* of the first line */
    char out[16384], said[2048];
};
static struct answer got;

static int catch (int fd, int *kept) {
    const int file = memfd_create("caught", MFD_CLOEXEC);
    *kept = dup(fd);
    if (file < 0 || *kept < 0 || dup2(file, fd) < 0)
        exit(1);
    return file;
}

static void let_go(int fd, int kept, int file, char *text, size_t size) {
    const ssize_t n = pread(file, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    if (dup2(kept, fd) < 0)
        exit(1);
    close(kept);
    close(file);
}

static void begin_asking(int kept[2], int file[2]) {
    fflush(stdout);
    guess_begin(&guess, SFID_DEC);
    guess.now = NOW;
    file[0] = catch (STDOUT_FILENO, &kept[0]);
    file[1] = catch (STDERR_FILENO, &kept[1]);
}

static void end_asking(const int kept[2], const int file[2]) {
    for (size_t i = 0; i < ids.count; i++) {
        char text[DEC_ROOM];
        *put_dec(text, ids.id[i]) = '\0';
        guess_add(&guess, text, strlen(text));
    }
    got.status = guess_report(&guess, VIEW_TSV, false);
    out_flush();
    let_go(STDOUT_FILENO, kept[0], file[0], got.out, sizeof got.out);
    let_go(STDERR_FILENO, kept[1], file[1], got.said, sizeof got.said);
    snprintf(got.first, sizeof got.first, "%.*s", (int)strcspn(got.out, "\t\n"), got.out);
    got.said[strcspn(got.said, "\n")] = '\0';
}

/* Asks about the IDs; `knowns` of them have a known time, as a row that was written `late` ms later
 * shows it. */
static void ask(int knowns, int64_t late, bool fraction) {
    int kept[2], file[2];
    begin_asking(kept, file);
    for (int i = 0; i < knowns; i++) {
        const size_t at = (ids.count - 1) * (size_t)(i + 1) / (size_t)(knowns + 1);
        char text[120], date[DATE_ROOM];
        date_text(date, ids.ms[at] + (int64_t)rnd((uint64_t)late + 1));
        if (!fraction)
            strcpy(strchr(date, '.'), "Z");
        snprintf(text, sizeof text, "%llu=%s", (unsigned long long)ids.id[at], date);
        if (!guess_know(&guess, text))
            exit(1);
    }
    end_asking(kept, file);
}

/* Asks about the IDs; the times of two of them are known so far: `first` ms and `second` ms too
 * late, as the first `length` characters. */
static void ask_off(int64_t first, int64_t second, int length) {
    int kept[2], file[2];
    begin_asking(kept, file);
    for (int i = 0; i < (second < 0 ? 1 : 2); i++) {
        const size_t at = ids.count * (size_t)(i + 1) / 3;
        char text[120], date[DATE_ROOM];
        date_text(date, ids.ms[at] + (i == 0 ? first : second));
        snprintf(text, sizeof text, "%llu=%.*s", (unsigned long long)ids.id[at], length, date);
        if (!guess_know(&guess, text))
            exit(1);
    }
    end_asking(kept, file);
}

/* Asks about the IDs; the times of these are known. */
static void ask_of(const size_t *at, size_t count) {
    int kept[2], file[2];
    begin_asking(kept, file);
    for (size_t i = 0; i < count; i++) {
        char text[120], date[DATE_ROOM];
        date_text(date, ids.ms[at[i]]);
        snprintf(text, sizeof text, "%llu=%s", (unsigned long long)ids.id[at[i]], date);
        if (!guess_know(&guess, text))
            exit(1);
    }
    end_asking(kept, file);
}

#endif
