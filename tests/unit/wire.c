/* SPDX-License-Identifier: MIT */
/*
 * wire.c - where the system refuses to wait for a server, the exchange ends with a sentence and
 * does not ask until its deadline. The program has a poll() of its own, which the library calls
 * instead of the system's.
 */
#include "support/asker.h"

/* ---- the system's poll(), as the test wants it ----------------------------- */

static int refusal;         /* an errno */
static int refusals, waits; /* how often it still refuses; how often it was asked to wait */

int poll(struct pollfd *all, nfds_t n, int ms) {
    const struct timespec timeout = {ms / 1000, ms % 1000 * 1000000L};
    waits += ms != 0;
    if (ms == 0 || refusals == 0)
        return ppoll(all, n, ms < 0 ? NULL : &timeout, NULL);
    refusals--;
    errno = refusal;
    return -1;
}

/* The same, where the compiler knows how many there may be. */
int __poll_chk(struct pollfd *all, nfds_t n, int ms, size_t room);
int __poll_chk(struct pollfd *all, nfds_t n, int ms, size_t room) {
    (void)room;
    return poll(all, n, ms);
}

/* Asks while the system refuses so often. */
static int ping_refused(struct sfid__connection *c, int errnum, int times) {
    refusal = errnum;
    refusals = times;
    waits = 0;
    const int rc = ping(c, LONG_MS);
    refusals = 0;
    return rc;
}

/* ---- waits ------------------------------------------------------------------ */

enum { OFTEN = 1000 };

static void ends(struct sfid__connection *c, const char *what) {
    const int rc = ping_refused(c, ENOMEM, OFTEN);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY,
                   "cannot wait for the server: Cannot allocate memory"),
       "%s: a wait that is refused is told", what);
    is_i64(waits, 1, "%s: and not tried again", what);
    is_i64(socket_fd(), -1, "%s: no socket is left", what);
}

static void test_refused(bool tcp, const char *connecting, const char *answer) {
    struct peer p = start_peer(tcp, serve_words);
    struct sfid__connection *c = new_connection(p.url);
    set_words(&p, "+PONG\r\n", 7);
    if (connecting)
        ends(c, connecting);
    ok(said(ping(c, LONG_MS), "PONG"), "%s: the next exchange is answered", answer);
    ends(c, answer);
    ok(said(ping_refused(c, EINTR, OFTEN), "PONG"), "%s: a wait that is interrupted goes on",
       answer);
    ok(waits > OFTEN, "%s: each time (%d)", answer, waits);
    end_asking(c, &p);
}

static void test_full_queue(void) {
    int fds[64];
    struct peer p = {.listener = -1};
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    p.listener = listen_unix(&p, 0);
    memcpy(at.sun_path, p.path, sizeof at.sun_path);
    int n = fill_backlog((struct sockaddr *)&at, sizeof at, fds, COUNT(fds));
    struct sfid__connection *c = new_connection(p.url);
    const int open_before = entries("/proc/self/fd");
    const int rc = ping_refused(c, ENOSYS, OFTEN);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY,
                   "cannot wait for the server: Function not implemented"),
       "a full queue: a nap that is refused is told");
    is_i64(waits, 1, "a full queue: and not tried again");
    is_i64(entries("/proc/self/fd"), open_before, "a full queue: no socket is left");
    sfid__connection_drop(c);
    while (n > 0)
        close(fds[--n]);
    close(p.listener);
}

int main(void) {
    test_refused(true, "TCP, connecting", "TCP, an answer");
    test_refused(false, NULL, "a Unix socket, an answer");
    test_full_queue();
    return done_testing();
}
