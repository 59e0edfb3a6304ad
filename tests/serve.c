/* SPDX-License-Identifier: MIT */
/*
 * serve - a server for a test that is a shell script (tests/sh/lib has functions for it).
 *
 *   serve PROGRAM [OPTION…]        starts it, prints 'SOCKET PORT', and ends it on SIGTERM or
 *                                  when its parent ends
 *   serve --ask SOCKET COMMAND…    prints the reply in one line; exit 1 for an error reply
 */
#include "support/redis.h"
#include "support/tap.h"

static int ask(const char *socket, size_t n, char **args) {
    char line[65536];
    struct resp *c = resp_unix(socket);
    struct reply *reply =
        c && resp_send(c, n, (const char *const *)args, NULL) ? resp_read(c, TAP_WAIT_MS) : NULL;
    puts(reply_line(reply, line, sizeof line));
    const bool good = reply && reply->type != '-';
    reply_free(reply);
    resp_close(c);
    return good ? 0 : 1;
}

static int serve(const char *program, size_t n, char **options) {
    struct redis r;
    sigset_t ends;
    int which;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    redis_start_n(&r, program, "server", REDIS_PORT, n, (const char *const *)options);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    printf("%s %d\n", r.socket, r.port);
    fflush(stdout);
    sigwait(&ends, &which);
    redis_kill(&r);
    return 0;
}

int main(int argc, char **argv) {
    if (argc >= 4 && strcmp(argv[1], "--ask") == 0)
        return ask(argv[2], (size_t)argc - 3, argv + 3);
    if (argc >= 2 && argv[1][0] != '-')
        return serve(argv[1], (size_t)argc - 2, argv + 2);
    fputs("usage: serve PROGRAM [OPTION...] | serve --ask SOCKET COMMAND...\n", stderr);
    return 2;
}
