/* SPDX-License-Identifier: MIT */
/* main.c - sfid(1): finds the command and runs it. */
#include "args/all.h"
#include "help.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/*
 * A parent may have closed a standard descriptor. The next file opened would
 * take its number, and IDs or messages would go into a state file. The stand-in
 * has the wrong direction, so its first use fails.
 */
static void fill_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(STATUS_INTERNAL);
}

static int run(const struct command *command, int argc, char **argv) {
    struct args args;
    const int rc = args_read(&args, command, argc, argv);
    if (rc >= 0)
        return rc;
    store_hide_password(&args);
    return command->run(&args);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2)
        return usage_all();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_all();
        return STATUS_GOOD;
    }
    if (strcmp(argv[1], "--version") == 0) {
        out_print("sfid %s\n", sfid_version());
        return STATUS_GOOD;
    }
    if (argv[1][0] == '-') {
        say("unknown option %s", QUOTE(argv[1]));
        return usage_all();
    }
    const struct command *command = command_of(argv[1]);
    return command ? run(command, argc - 2, argv + 2) : command_unknown(argv[1]);
}

int main(int argc, char **argv) {
    fill_standard_descriptors();
    signals_begin(); /* write(2) then reports a broken pipe, and the generator is closed before the end */
    const int status = dispatch(argc, argv);
    progress_clear();
    return close_output(status);
}
