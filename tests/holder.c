/* SPDX-License-Identifier: MIT */
/*
 * holder.c - holds a pid until its standard input ends, for tests that look on.
 *
 *     holder APP PID [fork|exit|close] [hidden]
 *
 * fork: with a forked child. exit: the child alone, its parent has ended.
 * close: the child alone, its parent has closed the handle and stays. hidden:
 * processes of its own user may not look into it. Says "ready" and the process
 * numbers of parent and child once it is so. $SFID_LAYOUT is the layout, and
 * $HOLDER_NAME what the process is called.
 */
#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void wait_for_end_of_input(void) {
    char c;
    while (read(STDIN_FILENO, &c, 1) > 0)
        ;
}

static int hold(sfid *g, const char *how) {
    const pid_t child = how[0] ? fork() : 0;
    if (child < 0)
        return 1;
    if (child == 0 && how[0]) {
        wait_for_end_of_input();
        _exit(sfid_next(g) < 0);
    }
    if (strcmp(how, "close") == 0)
        sfid_close(g);
    printf("ready %d %d\n", (int)getpid(), (int)child);
    fflush(stdout);
    if (strcmp(how, "exit") == 0)
        _exit(0);
    wait_for_end_of_input();
    return 0;
}

int main(int argc, char **argv) {
    sfid *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT;
    const char *how = argc > 3 ? argv[3] : "";
    const char *text = getenv("SFID_LAYOUT"), *name = getenv("HOLDER_NAME");
    sfid_layout layout = SFID_LAYOUT_DEFAULT;
    if (argc < 3 || (text && sfid_layout_parse(text, &layout) < 0))
        return 2;
    if (name)
        prctl(PR_SET_NAME, name);
    opt.layout = &layout;
    opt.app = argv[1];
    opt.pid = atoi(argv[2]);
    if (sfid_open(&g, &opt) < 0) {
        fprintf(stderr, "%s\n", sfid_last_error(g));
        sfid_close(g);
        return 1;
    }
    if (strcmp(argv[argc - 1], "hidden") == 0)
        prctl(PR_SET_DUMPABLE, 0);
    return hold(g, strcmp(how, "hidden") == 0 ? "" : how);
}
