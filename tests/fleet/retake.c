/* SPDX-License-Identifier: MIT */
/*
 * Scenes that are made again (retake.h): one that fails while a process stood still, and no other;
 * not for ever; and never one in whose IDs the checker finds something. What such a scene prints is
 * what the test prints.
 */
#include "support/retake.h"

enum { BEARS_MS = 100000, LONG_MS = BEARS_MS + 1 }; /* longer than any machine stands still */

static atomic_int *takes;

static int take(void) { return atomic_fetch_add(takes, 1) + 1; }

/* ---- scenes ----------------------------------------------------------------- */

static void good(void *arg) {
    (void)arg;
    take();
    ok(true, "good");
    skip(1, "a reason");
    diag("a line");
}

static void bad(void *arg) {
    (void)arg;
    take();
    retake_note(BEARS_MS);
    ok(true, "first");
    ok(false, "bad");
    ok(true, "last");
}

static void late_once(void *arg) {
    (void)arg;
    const bool late = take() == 1;
    retake_note(late ? LONG_MS : 0);
    ok(!late, "in the end");
}

static void always_late(void *arg) {
    (void)arg;
    take();
    retake_note(LONG_MS);
    ok(false, "never");
}

static void late_and_found(void *arg) {
    (void)arg;
    take();
    retake_note(LONG_MS);
    ok(false, "IDs: the checker finds nothing");
}

static void late_and_dead(void *arg) {
    (void)arg;
    if (take() == 1) {
        retake_note(LONG_MS);
        bail("no such thing");
    }
    ok(true, "alive");
}

static void bails(void *arg) {
    (void)arg;
    take();
    bail("no such thing");
}

static void crashes(void *arg) {
    (void)arg;
    take();
    raise(SIGKILL);
}

/* ---- what the test prints ------------------------------------------------------ */

struct showing {
    void (*scene)(void *arg);
    int out;
};

static int show(void *arg) {
    const struct showing *s = arg;
    must(dup2(s->out, STDOUT_FILENO) >= 0, "dup2: %s", strerror(errno));
    retake(s->scene, NULL, BEARS_MS, NULL);
    return done_testing();
}

/* All but diagnostics, in `text`. Returns the status. */
static int shown(void (*scene)(void *arg), char *text, size_t size) {
    char path[4200], line[400];
    struct showing s = {scene, -1};
    size_t n = 0;
    snprintf(path, sizeof path, "%s/shown", tap_tmpdir());
    s.out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(s.out >= 0, "%s: %s", path, strerror(errno));
    atomic_store(takes, 0);
    const int status = child_run(show, &s, TAP_WAIT_MS);
    FILE *in = fdopen(s.out, "r");
    must(in != NULL && fseek(in, 0, SEEK_SET) == 0, "%s: %s", path, strerror(errno));
    text[0] = '\0';
    while (fgets(line, sizeof line, in))
        if (line[0] != '#' && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s", line);
    fclose(in);
    return status;
}

static const struct row {
    void (*scene)(void *arg);
    const char *what;
    int status, times;
    const char *lines;
} rows[] = {
    {good, "good", 0, 1, "ok 1 - good\nok 2 # SKIP a reason\n1..2\n"},
    {bad, "bad on a machine that runs", 1, 1, "ok 1 - first\nnot ok 2 - bad\nok 3 - last\n1..3\n"},
    {late_once, "late once", 0, 2, "ok 1 - in the end\n1..1\n"},
    {always_late, "always late", 1, RETAKES, "not ok 1 - never\n1..1\n"},
    {late_and_found, "late, and the checker finds something", 1, 1,
     "not ok 1 - IDs: the checker finds nothing\n1..1\n"},
    {late_and_dead, "late, and it gives up", 0, 2, "ok 1 - alive\n1..1\n"},
    {bails, "it gives up", 255, 1, "Bail out! no such thing\n"},
    {crashes, "it is killed", 255, 1, "Bail out! the scene ended with status 1009\n"},
};

int main(void) {
    static char text[COUNT(rows)][2000];
    int status[COUNT(rows)], times[COUNT(rows)];
    takes = shared_memory(sizeof *takes);
    /* before the first check of this test: they count from 1 */
    for (size_t i = 0; i < COUNT(rows); i++) {
        status[i] = shown(rows[i].scene, text[i], sizeof text[i]);
        times[i] = atomic_load(takes);
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        is_i64(status[i], rows[i].status, "%s: the status of the test", rows[i].what);
        is_i64(times[i], rows[i].times, "%s: how often it was made", rows[i].what);
        is_str(text[i], rows[i].lines, "%s: what the test prints", rows[i].what);
    }
    return done_testing();
}
