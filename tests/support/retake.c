/* SPDX-License-Identifier: MIT */
#include "support/retake.h"

#include <poll.h>

enum { LOOK_MS = 20, LINE = 1200 };

static _Atomic int64_t *stood; /* the longest of the scene; NULL: there was none yet */

void retake_note(int64_t stood_ms) {
    if (stood)
        raise_to(stood, stood_ms);
}

/* ---- what the scene prints ----------------------------------------------- */

/* Lines from the first failed check on are held back until it is known whether the scene counts. */
struct heard {
    char *text; /* their checks, one a line */
    size_t n;
    FILE *held; /* NULL: no check has failed */
    bool found; /* by the checker */
    char bailed[LINE];
};

/* The name of a check, behind its number. */
static const char *name_in(const char *line) {
    const char *at = strstr(line, " - ");
    return at ? at + strlen(" - ") : line;
}

static bool starts(const char *line, const char *with) {
    return strncmp(line, with, strlen(with)) == 0;
}

static void tell(const char *line) {
    const char *reason = strstr(line, " # SKIP ");
    if (reason)
        skip(1, "%s", reason + strlen(" # SKIP "));
    else
        ok(starts(line, "ok "), "%s", name_in(line));
}

static void hear(struct heard *h, const char *line) {
    static const char finding[] = ": the checker finds nothing", bail_out[] = "Bail out! ";
    const size_t size = strlen(line);
    if (h->held == NULL && starts(line, "not ok "))
        h->held = open_memstream(&h->text, &h->n);
    if (starts(line, "not ok ") && size > strlen(finding))
        h->found = h->found || strcmp(line + size - strlen(finding), finding) == 0;
    if (starts(line, bail_out))
        snprintf(h->bailed, sizeof h->bailed, "%s", line + strlen(bail_out));
    else if (!starts(line, "ok ") && !starts(line, "not ok "))
        diag("%s", starts(line, "# ") ? line + 2 : line);
    else if (h->held == NULL)
        tell(line);
    else if (fprintf(h->held, "%s\n", line) > 0)
        diag("%s", line); /* so that it is in the log even if the scene hangs */
}

static bool is_over(pid_t child) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid == child;
}

/* Reads lines until the scene is over, also if a process that it left behind has the pipe; notes
 * how late this process is. */
static void hear_all(struct heard *h, int fd, pid_t child) {
    char line[LINE];
    size_t n = 0;
    for (;;) {
        const bool over = is_over(child);
        const int64_t before = tap_now_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int ready = poll(&p, 1, LOOK_MS);
        retake_note(tap_now_ms() - before - LOOK_MS);
        if (ready <= 0 && !over)
            continue;
        if (ready <= 0 || read(fd, &line[n], 1) != 1)
            return;
        if (line[n] == '\n' || n == sizeof line - 2) {
            line[n] = '\0';
            hear(h, line);
            n = 0;
        } else {
            n++;
        }
    }
}

/* ---- the scene ----------------------------------------------------------- */

struct scene {
    void (*play)(void *arg);
    void *arg;
    int out;
};

static int play(void *arg) {
    const struct scene *s = arg;
    must(dup2(s->out, STDOUT_FILENO) >= 0, "dup2: %s", strerror(errno));
    close(s->out);
    witness_begin();
    s->play(s->arg);
    witness_tell();
    fflush(NULL);
    return 0;
}

static int play_once(struct scene *s, struct heard *h) {
    int ends[2];
    need(pipe2(ends, O_CLOEXEC) == 0, "pipe: %s", strerror(errno));
    s->out = ends[1];
    const pid_t child = child_start(play, s);
    close(ends[1]);
    hear_all(h, ends[0], child);
    close(ends[0]);
    const int status = child_wait(child, TAP_WAIT_MS);
    if (h->held)
        fclose(h->held);
    return status;
}

static void tell_held(const struct heard *h, int status) {
    char line[LINE];
    FILE *in = h->n > 0 ? fmemopen(h->text, h->n, "r") : NULL;
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = '\0';
        tell(line);
    }
    if (in)
        fclose(in);
    need(h->bailed[0] == '\0', "%s", h->bailed);
    need(status == 0 || getenv("SFID_TEST_FIRST_FAILURE"), "the scene ended with status %d",
         status);
}

void retake(void (*scene)(void *arg), void *arg, int64_t bears_ms, void (*again)(void)) {
    struct scene s = {scene, arg, -1};
    if (stood == NULL)
        stood = shared_memory(sizeof *stood);
    for (int takes = 1;; takes++) {
        struct heard h = {.text = NULL};
        atomic_store(stood, 0);
        const int64_t began = tap_now_ms();
        const int status = play_once(&s, &h);
        retake_note(witness_longest_step_ms(began));
        const int64_t late_ms = atomic_load(stood);
        const bool good = status == 0 && h.held == NULL,
                   in_vain = !good && !h.found && late_ms > bears_ms && takes < RETAKES;
        diag("figure: a scene that bears %" PRId64 " ms: something stood still for %" PRId64,
             bears_ms, late_ms);
        if (!in_vain)
            tell_held(&h, status);
        free(h.text);
        if (!in_vain)
            return;
        diag("the scene again: its failure shows nothing");
        if (again)
            again();
    }
}
