/* SPDX-License-Identifier: MIT */
/* main.c - sfid(1): begins and ends the process. */
#include "commands.h"
#include "complete.h"
#include "io/say.h"

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
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(STATUS_INTERNAL);
}

int main(int argc, char **argv) {
    fill_standard_descriptors();
    /* write(2) then reports a broken pipe, and the generator is closed before the end */
    signals_begin();
    const bool asked = argc > 1 && strcmp(argv[1], "complete") == 0; /* by a shell */
    const int status = asked ? complete(argc - 2, argv + 2) : command_run(argc, argv);
    progress_clear();
    return close_output(status);
}
