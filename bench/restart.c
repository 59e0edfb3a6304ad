/* SPDX-License-Identifier: MIT */
/* restart.c - from the start of a process to its first ID, after its predecessor was killed;
 * compared with an empty process. */
#include "rows.h"
#include "subjects.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const sfid_layout layout = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);

/* Milliseconds until a forked child has reported. The child is then killed. */
static double life(bool draws) {
    int ends[2];
    char byte = 0;
    if (pipe(ends) < 0)
        abort();
    const double begin = now_ns();
    const pid_t child = fork();
    if (child == 0) {
        sfid *g = draws ? open_pid("bench-restart", &layout, NULL) : NULL;
        if (draws && sfid_next(g) < 0)
            _exit(1);
        if (write(ends[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &byte, 1) != 1)
        abort();
    const double ms = (now_ns() - begin) / 1e6;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ends[0]);
    return ms;
}

void bench_restart(void) {
    static const char name[] = "restart after SIGKILL to the first ID";
    double more[ROUNDS_MAX];
    if (!wanted(name))
        return;
    life(true); /* creates the directories */
    for (int i = 0; i < settings.rounds; i++)
        more[i] = life(true) - life(false);
    tell_figure(name, "ms more than a process that starts", more, settings.rounds, 5, false);
}
