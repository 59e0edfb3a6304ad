/* SPDX-License-Identifier: MIT */
/*
 * connection.c and wire.c - servers that are slow, silent, gone or late: every call is back at its
 * deadline, nothing that arrives after it is read, nothing is left over. SIGPIPE has its default
 * effect all the while.
 */
#include "base/thread.h"

#include "support/asker.h"
#include "support/counted.h"

#include <pthread.h>

enum { DEADLINE_MS = 700 };

/* ---- slow and silent ----------------------------------------------------- */

/* An error's line as fast as it can, forever. */
static void serve_flood(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    say_text(fd, "-");
    while (say_text(fd, "flood flood flood flood flood "))
        ;
}

/* A string of 2 GB, and it comes. */
static void serve_huge(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    say_text(fd, "$2147483647\r\n");
    while (say(fd, s->send, sizeof s->send))
        ;
}

static void serve_half_line(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    say_text(fd, "+PON");
    wait_for_end(fd);
}

/* Takes nothing either: not a byte of the command is read. */
static void serve_deaf(int fd, struct resp *in, struct peer_shared *s) {
    (void)fd, (void)in, (void)s;
    pause();
}

/* Answers once, and takes nothing after that. */
static void serve_once(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    say_text(fd, "+PONG\r\n");
    pause();
}

/* The error has how long that took, and how long it might have taken: no more than most. */
static bool tells_time(int most) {
    double spent, had;
    const char *at = strstr(err.text, " (after ");
    return at && sscanf(at, " (after %lf ms; it had %lf ms)", &spent, &had) == 2 && spent >= had &&
           had > 0 && had <= most;
}

static void test_slow(bool tcp, serve_function *serve, const char *what) {
    struct peer p = start_peer(tcp, serve);
    struct sfid__connection *c = new_connection(p.url);
    const int rc = ping(c, DEADLINE_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "no answer in time"), "%s ends", what);
    ends_after(DEADLINE_MS, what);
    ok(tells_time(DEADLINE_MS), "and tells of it (%s)", err.text);
    ok(!sfid__connection_is_up(c) && reply.count == 0, "and with it the connection");
    end_asking(c, &p);
}

static void test_too_much(serve_function *serve, const char *what) {
    struct peer p = start_peer(true, serve);
    struct sfid__connection *c = new_connection(p.url);
    counted_begin();
    ok(ping(c, LONG_MS) == SFID_EREDIS && reply.class == SFID__REPLY_CONFIG, "%s ends", what);
    counted_less(1 << 17, "and takes little memory");
    ends_at_once(what);
    end_asking(c, &p);
}

static void test_large_command(void) {
    static char large[8 << 20];
    memset(large, 'x', sizeof large);
    const char *const argv[] = {"SET", large};
    const size_t lengths[] = {3, sizeof large};
    struct peer p = start_peer(false, serve_deaf);
    struct sfid__connection *c = new_connection(p.url);
    ok(ping(c, DEADLINE_MS) < 0, "a server that reads nothing is left");
    ends_after(DEADLINE_MS, "a server that reads nothing");
    end_asking(c, &p);
    p = start_peer(false, serve_once);
    c = new_connection(p.url);
    need(said(ping(c, LONG_MS), "PONG"), "no greeting");
    const int64_t began = tap_now_ms();
    const int rc = sfid__connection_exchange(
        c, &(struct sfid__question){2, argv, lengths, began + DEADLINE_MS, NULL}, &reply, &err);
    last_took = took_since(began);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "no answer in time"),
       "also under a command that does not fit the socket");
    ends_after(DEADLINE_MS, "such a command");
    end_asking(c, &p);
}

enum { CONNECT_MS = 1000, ANSWER_MS = 2 * CONNECT_MS };

/* Greets at once and answers after ANSWER_MS. */
static void serve_slowly(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    while (next_command(in, fd, s, name, sizeof name)) {
        poll(NULL, 0, ANSWER_MS);
        say_text(fd, "+PONG\r\n");
    }
}

static void test_two_limits(void) {
    struct peer p = start_peer(true, serve_slowly);
    char url[300];
    snprintf(url, sizeof url, "%s?connect_timeout=%d", p.url, CONNECT_MS);
    struct sfid__connection *c = new_connection(url);
    ok(said(ping(c, LONG_MS), "PONG"), "an answer may take longer than connecting may");
    lasted(last_took, ANSWER_MS - 1, "and did"); /* by two clocks of milliseconds */
    end_asking(c, &p);
}

/* Greets at once, and answers once the client's thread has told that it hangs. */
static void serve_when_told(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    while (next_command(in, fd, s, name, sizeof name)) {
        while (atomic_load(&s->step) == 0)
            poll(NULL, 0, 1);
        say_text(fd, "+PONG\r\n");
    }
}

static void note_hang(void *peer) { atomic_store(&((struct peer_shared *)peer)->step, 1); }

/* As a keeper asks. */
static void test_told(void) {
    static const char *const argv[] = {"PING"};
    const _Atomic int stop = 0;
    struct peer p = start_peer(false, serve_when_told);
    struct sfid__connection *c = new_connection(p.url);
    sfid__thread_on_hang(note_hang, p.s);
    ok(said(ask_with(c, LONG_MS, &stop, 1, argv), "PONG"), "a wait that lasts is told meanwhile");
    sfid__thread_on_hang(NULL, NULL);
    end_asking(c, &p);
}

static void test_past_deadline(void) {
    struct peer p = start_peer(true, serve_nothing);
    struct sfid__connection *c = new_connection(p.url);
    is_i64(ping(c, 0), SFID_EREDIS, "a deadline of now is over");
    ends_at_once("a deadline of now");
    is_i64(ping(c, -5000), SFID_EREDIS, "and one that is past");
    ends_at_once("one that is past");
    end_asking(c, &p);
}

/* ---- nobody there -------------------------------------------------------- */

static void test_refused(void) {
    struct peer p = {.listener = -1};
    int fd = bind_tcp(&p);
    struct sfid__connection *c = new_connection(p.url);
    int rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RESOLVE,
                   "connecting: cannot connect: Connection refused"),
       "a port that nobody listens at is refused");
    ends_at_once("a port that nobody listens at");
    sfid__connection_drop(c);
    close(fd);
    fd = listen_unix(&p, 1);
    close(fd);
    c = new_connection(p.url);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RESOLVE, "Connection refused"),
       "so is a socket left behind");
    ends_at_once("a socket left behind");
    unlink(p.path);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RESOLVE, "No such file"),
       "and one that is not there");
    ends_at_once("one that is not there");
    sfid__connection_drop(c);
}

static void test_backlog(void) {
    int fds[64];
    struct peer p = {.listener = -1};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    p.listener = listen_tcp(&p, 1);
    in.sin_port = htons((uint16_t)p.port);
    int n = fill_backlog((struct sockaddr *)&in, sizeof in, fds, COUNT(fds));
    struct sfid__connection *c = new_connection(p.url);
    int rc = ping(c, DEADLINE_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "no answer in time"),
       "connecting into a full queue ends");
    ends_after(DEADLINE_MS, "connecting into a full queue");
    sfid__connection_drop(c);
    char url[300];
    snprintf(url, sizeof url, "%s?connect_timeout=800", p.url);
    c = new_connection(url);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "no answer in time"),
       "or at connect_timeout");
    ends_after(800, "at connect_timeout");
    ok(tells_time(800), "which it tells (%s)", err.text);
    sfid__connection_drop(c);
    c = new_connection(p.url);
    ok(ping(c, -5) == SFID_EREDIS &&
           strstr(err.text, "no answer in time (no time was left for it)"),
       "or where it was reached before (%s)", err.text);
    sfid__connection_drop(c);
    while (n > 0)
        close(fds[--n]);
    close(p.listener);

    struct sockaddr_un un = {.sun_family = AF_UNIX};
    p.listener = listen_unix(&p, 0);
    memcpy(un.sun_path, p.path, sizeof un.sun_path);
    n = fill_backlog((struct sockaddr *)&un, sizeof un, fds, COUNT(fds));
    c = new_connection(p.url);
    rc = ping(c, DEADLINE_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "too many connections wait"),
       "so it is with a Unix socket");
    ends_after(DEADLINE_MS, "a Unix socket's full queue");
    sfid__connection_drop(c);
    while (n > 0)
        close(fds[--n]);
    close(p.listener);
}

/* ---- ends ---------------------------------------------------------------- */

/* step 0: closes in the middle of a reply; 1: resets there; 2: closes at once; 3: resets at once;
 * 4: says why, and closes. */
static void serve_part(int fd, struct resp *in, struct peer_shared *s) {
    const int step = atomic_load(&s->step);
    const struct linger reset = {1, 0};
    char name[256];
    if (step < 2) {
        next_command(in, fd, s, name, sizeof name);
        say_text(fd, "$10\r\nhalf");
    }
    if (step == 4)
        say_text(fd, "-ERR max number of clients reached\r\n");
    if (step % 2 == 1)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

static void test_ends(bool tcp) {
    static const char *const words[] = {"the server closed the connection", "", "", "",
                                        "ERR max number of clients reached"};
    const char *how = tcp ? "TCP" : "Unix";
    struct peer p = start_peer(tcp, serve_part);
    struct sfid__connection *c = new_connection(p.url);
    struct took longest = {0, 0};
    for (int step = 0; step < (int)COUNT(words); step++) {
        atomic_store(&p.s->step, step);
        for (int round = 0; round < 20; round++) {
            const int rc = ping(c, LONG_MS);
            longest = took_longer(longest, last_took);
            if (rc != SFID_EREDIS || reply.class != SFID__REPLY_RETRY ||
                !strstr(err.text, words[step]) || reply.count != 0) {
                ok(false, "%s: end %d, round %d", how, step, round);
                diag("code %d, class %d, %s", rc, (int)reply.class, err.text);
                break;
            }
            if (round == 19)
                ok(!sfid__connection_is_up(c), "%s: end %d is told, 20 times", how, step);
        }
    }
    in_time(longest, AT_ONCE_MS, "%s: and at once", how);
    end_asking(c, &p);
}

/* Closes without reading: what is sent then meets a closed socket. */
static void serve_closed(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    shutdown(fd, SHUT_RD);
    say_text(fd, "+OK\r\n+OK\r\n+OK\r\n");
}

static void test_sigpipe(void) {
    static char large[1 << 20];
    memset(large, 'x', sizeof large);
    const char *const argv[] = {"SET", large};
    const size_t lengths[] = {3, sizeof large};
    struct peer p = start_peer(false, serve_closed);
    struct sfid__connection *c = new_connection(p.url);
    int bad = 0;
    for (int i = 0; i < 20; i++)
        bad +=
            sfid__connection_exchange(
                c,
                &(struct sfid__question){2, argv, lengths, sfid__deadline_now_ms() + LONG_MS, NULL},
                &reply, &err) != SFID_EREDIS;
    is_i64(bad, 0, "sending to who has closed fails, and raises no SIGPIPE");
    end_asking(c, &p);
}

/* ---- late, idle ---------------------------------------------------------- */

/* The first connection answers when the test says so: too late. The others at once, each with its
 * number. */
static void serve_late(int fd, struct resp *in, struct peer_shared *s) {
    char name[256], line[32];
    const int number = atomic_load(&s->accepted);
    while (next_command(in, fd, s, name, sizeof name)) {
        while (number == 1 && atomic_load(&s->step) == 0)
            poll(NULL, 0, 2);
        snprintf(line, sizeof line, "+%d\r\n", number);
        say_text(fd, line);
    }
}

static void test_late(void) {
    struct peer p = start_peer(true, serve_late);
    struct sfid__connection *c = new_connection(p.url);
    ok(ping(c, DEADLINE_MS) == SFID_EREDIS, "an answer that comes after the deadline is none");
    atomic_store(&p.s->step, 1);
    ok(said(ping(c, LONG_MS), "2"), "and is not taken for that of the next exchange");
    ok(said(ping(c, LONG_MS), "2"), "which has a connection of its own");
    is_i64(atomic_load(&p.s->accepted), 2, "two were made");
    end_asking(c, &p);
}

/* Answers; and when the test says so speaks unasked (step 1) or closes (step 2). */
static void serve_idle(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    while (next_command(in, fd, s, name, sizeof name)) {
        say_text(fd, "+PONG\r\n");
        if (atomic_load(&s->accepted) > 1)
            continue;
        while (atomic_load(&s->step) == 0)
            poll(NULL, 0, 2);
        if (atomic_load(&s->step) == 2)
            return;
        say_text(fd, "+WHAT\r\n");
    }
}

static bool is_down(void *c) { return !sfid__connection_is_up(c); }

static void test_idle(int step, const char *what) {
    struct peer p = start_peer(true, serve_idle);
    struct sfid__connection *c = new_connection(p.url);
    const int fds = entries("/proc/self/fd");
    ok(said(ping(c, LONG_MS), "PONG") && sfid__connection_is_up(c), "a connection is up");
    atomic_store(&p.s->step, step);
    ok(tap_wait_until(is_down, c, LONG_MS), "until the server %s", what);
    is_i64(entries("/proc/self/fd"), fds, "then its descriptor is gone");
    ok(said(ping(c, LONG_MS), "PONG"), "and the next exchange has a new one");
    is_i64(atomic_load(&p.s->accepted), 2, "the second");
    end_asking(c, &p);
}

/* ---- being closed -------------------------------------------------------- */

static _Atomic int stop;
static int64_t stopped_ms;

static void *stop_soon(void *arg) {
    (void)arg;
    poll(NULL, 0, 100);
    stopped_ms = tap_now_ms();
    atomic_store(&stop, 1);
    return NULL;
}

static void test_stop(void) {
    static const char *const argv[] = {"PING"};
    struct peer p = start_peer(true, serve_nothing);
    struct sfid__connection *c = new_connection(p.url);
    pthread_t thread;
    atomic_store(&stop, 0);
    need(pthread_create(&thread, NULL, stop_soon, NULL) == 0, "no thread");
    int rc = ask_with(c, LONG_MS, &stop, 1, argv);
    const int64_t ended_ms = tap_now_ms();
    pthread_join(thread, NULL);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "being closed"), "a stop ends an exchange");
    last_took = took_between(stopped_ms, ended_ms); /* the look at the flag is part of OVERRUN_MS */
    ends_after(SFID__STOP_GRACE_MS, "an exchange under way");
    is_i64(ask_with(c, LONG_MS, &stop, 1, argv), SFID_EREDIS, "and one that begins after it");
    ends_after(SFID__STOP_GRACE_MS, "one that begins after a stop");
    is_i64(ask_with(c, 100, &stop, 1, argv), SFID_EREDIS,
           "or the deadline does where that is sooner");
    ends_after(100, "a deadline that is sooner");
    atomic_store(&stop, 0);
    rc = ask_with(c, DEADLINE_MS, &stop, 1, argv);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "no answer in time"),
       "a flag that is not set changes nothing");
    ends_after(DEADLINE_MS, "with a flag that is not set");
    end_asking(c, &p);
}

static void serve_pong(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    while (next_command(in, fd, s, name, sizeof name))
        say_text(fd, "+PONG\r\n");
}

static void test_stop_answered(void) {
    static const char *const argv[] = {"PING"};
    struct peer p = start_peer(true, serve_pong);
    struct sfid__connection *c = new_connection(p.url);
    bool taken = false;
    for (int i = 0; i < 20 && !taken; i++) { /* a busy machine may need longer for it */
        atomic_store(&stop, 0);
        need(said(ask_with(c, LONG_MS, &stop, 1, argv), "PONG"), "no answer");
        atomic_store(&stop, 1);
        taken = said(ask_with(c, LONG_MS, &stop, 1, argv), "PONG");
    }
    ok(taken, "within that half second an answer is taken");
    end_asking(c, &p);
}

/* ---- a thousand times ---------------------------------------------------- */

static void serve_any_end(int fd, struct resp *in, struct peer_shared *s) {
    const int step = atomic_fetch_add(&s->step, 1) % 5;
    const struct linger reset = {1, 0};
    char name[256];
    if (step >= 1)
        next_command(in, fd, s, name, sizeof name);
    if (step == 2)
        say_text(fd, "$10\r\nhalf");
    if (step == 3)
        say_text(fd, "*1\r\n*1\r\n");
    if (step == 4)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

static void test_thousand(void) {
    struct peer p = start_peer(true, serve_any_end), gone = {.listener = -1};
    const int port = bind_tcp(&gone);
    char url[300];
    /* for as long it asks whether a silent server speaks TLS */
    snprintf(url, sizeof url, "%s?connect_timeout=1s", p.url);
    struct sfid__connection *c = new_connection(url), *none = new_connection(gone.url);
    const int tasks = entries("/proc/self/task"); /* a sanitizer may have one of its own */
    int bad = 0, fds = 0;
    for (int i = 0; i < 1000; i++) {
        bad += ping(i % 10 ? c : none, LONG_MS) != SFID_EREDIS;
        if (i == 99) {
            fds = entries("/proc/self/fd");
            counted_begin();
        }
    }
    is_i64(bad, 0, "1000 exchanges fail");
    is_i64(entries("/proc/self/fd"), fds, "and leave no descriptor");
    counted_left(4096, "nor memory");
    is_i64(entries("/proc/self/task"), tasks, "nor a thread");
    sfid__connection_drop(c);
    sfid__connection_drop(none);
    close(port);
    stop_peer(&p);
}

int main(void) {
    signal(SIGPIPE, SIG_DFL);
    witness_begin();
    test_slow(true, serve_drip, "a byte each 100 ms");
    test_slow(false, serve_half_line, "half a line");
    test_slow(true, serve_nothing, "silence over TCP");
    test_slow(false, serve_nothing, "silence over a Unix socket");
    test_too_much(serve_flood, "a line that never ends");
    test_too_much(serve_nested, "an array nested a million deep");
    test_too_much(serve_huge, "a string of 2 GB");
    test_large_command();
    test_two_limits();
    test_told();
    test_past_deadline();
    test_refused();
    test_backlog();
    test_ends(true);
    test_ends(false);
    test_sigpipe();
    test_late();
    test_idle(1, "speaks unasked");
    test_idle(2, "closes");
    test_stop();
    test_stop_answered();
    test_thousand();
    return done_testing();
}
