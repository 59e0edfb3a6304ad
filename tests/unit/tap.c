/* SPDX-License-Identifier: MIT */
/* The harness itself: what its own checks print when they fail, from a forked child whose output is
 * read. */
#include "support/tap.h"

static char said[4096];

/* Runs body in a child with a standard output of its own; its exit status, its output in `said`. */
static int run(int (*body)(void)) {
    int fd[2];
    need(pipe(fd) >= 0, "pipe");
    const pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        dup2(fd[1], STDOUT_FILENO);
        close(fd[0]);
        close(fd[1]);
        exit(body());
    }
    close(fd[1]);
    size_t have = 0;
    for (ssize_t n; (n = read(fd[0], said + have, sizeof said - 1 - have)) > 0;)
        have += (size_t)n;
    said[have] = '\0';
    close(fd[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int good(void) {
    ok(true, "a");
    is_i64(-1, -1, "b");
    is_str(NULL, NULL, "c # %d", 7);
    return done_testing();
}

static int bad(void) {
    ok(false, "a");
    is_i64(-1, 2, "b");
    is_u64(10, 11, "c");
    is_str("x", NULL, "d");
    skip(1, "why");
    return done_testing();
}

static int short_of_plan(void) {
    plan(3);
    ok(true, "a");
    return done_testing();
}

static int nothing(void) { return done_testing(); }

static int skipped(void) { skip_all("why %s", "not"); }

static int make_dir(void) {
    fputs(tap_tmpdir(), stdout);
    char name[5000];
    snprintf(name, sizeof name, "%s/sub", tap_tmpdir());
    return mkdir(name, 0700) < 0;
}

static int leave(void) { return 7; }

static bool no_longer(void *left) { return --*(int *)left <= 0; }

/* Before the first check of this program, whose numbers the children would go on with. */
int main(void) {
    static char out[6][sizeof said];
    int (*const bodies[])(void) = {good, bad, short_of_plan, nothing, skipped, make_dir};
    int status[6];
    for (int i = 0; i < 6; i++) {
        status[i] = run(bodies[i]);
        memcpy(out[i], said, sizeof said);
    }
    is_str(out[0], "ok 1 - a\nok 2 - b\nok 3 - c * 7\n1..3\n", "checks that hold");
    is_i64(status[0], 0, "exit with 0");
    is_str(
        out[1],
        "not ok 1 - a\nnot ok 2 - b\n# got  -1\n# want 2\nnot ok 3 - c\n# got  10 (0xa)\n# want 11 (0xb)\n"
        "not ok 4 - d\n# got  \"x\"\n# want NULL\nok 5 # SKIP why\n1..5\n# 4 of 5 failed\n",
        "checks that fail tell want and got");
    is_i64(status[1], 1, "and exit with 1");
    is_i64(status[2], 1, "fewer than planned is a failure");
    is_i64(status[3], 255, "and so is no check at all");
    is_str(out[4], "1..0 # SKIP why not\n", "a whole program can be skipped");
    ok(status[5] == 0 && out[5][0] == '/' && access(out[5], F_OK) < 0,
       "a temporary directory goes with its process");

    struct stat st;
    ok(stat(tap_tmpdir(), &st) == 0 && (st.st_mode & 0777) == 0700, "it is private");
    ok(run(leave) == 7 && stat(tap_tmpdir(), &st) == 0, "a child's exit leaves the parent's alone");
    int left = 3;
    ok(tap_wait_until(no_longer, &left, TAP_WAIT_MS), "waiting ends when the condition holds");
    left = 1000000;
    ok(!tap_wait_until(no_longer, &left, 20), "or when the time is over");
    struct patience p = {.looked_ms = 1};
    ok(patient(&p, TAP_WAIT_MS) && patient(&p, TAP_WAIT_MS),
       "a loop that could not look for a minute goes on");
    p.used_ms = TAP_WAIT_MS;
    ok(!patient(&p, TAP_WAIT_MS), "one that has looked for a minute does not");
    return done_testing();
}
