/* SPDX-License-Identifier: MIT */
/*
 * connection.c - what is taken for a reply and what is not, against servers that say what the test
 * wants; errors, which show no secret (password.c has more of that); descriptors, fork, and a
 * process that closes them all.
 */
#include "support/asker.h"
#include "support/counted.h"

#include <netinet/tcp.h>

/* As serve_words, a byte at a time. A long reply has fewer pauses: each may last. */
static void serve_bytes(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    const struct timespec nap = {0, 200000};
    while (next_command(in, fd, s, name, sizeof name)) {
        const size_t len = s->send_len; /* the test may go on from the last byte */
        for (size_t i = 0; i < len; i++) {
            say(fd, s->send + i, 1);
            if (len < 1000 || i % 8 == 0)
                nanosleep(&nap, NULL);
        }
    }
}

/* ---- replies ------------------------------------------------------------- */

static const struct {
    const char *sent;
    unsigned count;
    const char *strings[4];
} taken[] = {
    {"+OK\r\n", 1, {"OK"}},
    {"+\r\n", 1, {""}},
    {":0\r\n", 1, {"0"}},
    {":-9223372036854775808\r\n", 1, {"-9223372036854775808"}},
    {"$5\r\nhello\r\n", 1, {"hello"}},
    {"$2\r\n\r\n\r\n", 1, {"\r\n"}},
    {"$0\r\n\r\n", 1, {""}},
    {"$-1\r\n", 0, {NULL}},
    {"*-1\r\n", 0, {NULL}},
    {"*0\r\n", 0, {NULL}},
    {"*4\r\n$2\r\nOK\r\n:17\r\n+x\r\n$0\r\n\r\n", 4, {"OK", "17", "x", ""}},
};

static void test_taken(serve_function *serve, const char *how) {
    struct peer p = start_peer(false, serve);
    struct sfid__connection *c = new_connection(p.url);
    for (size_t i = 0; i < COUNT(taken); i++) {
        set_words(&p, taken[i].sent, strlen(taken[i].sent));
        bool good =
            ping(c, LONG_MS) == 0 && reply.class == SFID__REPLY_OK && reply.count == taken[i].count;
        for (unsigned k = 0; good && k < reply.count; k++)
            good = strcmp(reply.strings[k], taken[i].strings[k]) == 0;
        if (!ok(good, "reply %zu is taken in %s", i, how))
            diag("%s", err.text);
    }
    char words[24000];
    size_t n = (size_t)sprintf(words, "*88\r\n");
    for (int i = 0; i < 88; i++)
        n += (size_t)sprintf(words + n, "$255\r\n%0255d\r\n", i);
    set_words(&p, words, n);
    ok(ping(c, LONG_MS) == 0 && reply.count == 88 && strlen(reply.strings[87]) == 255 &&
           reply.strings[87][254] == '7',
       "the largest reply is taken in %s", how);
    is_i64(atomic_load(&p.s->accepted), 1, "all over one connection");
    ok(atomic_load(&p.s->greeted_name), "which was given its name");
    end_asking(c, &p);
}

/* Each is a protocol error at once, whatever may follow. */
#define NEVER "the reply does not follow the Redis protocol"
static const struct {
    const char *what, *sent;
} refused[] = {
    {"a string of 2 GB", "$2147483647\r\n"},
    {"one of 256 bytes", "$256\r\n"},
    {"one of more digits than any number", "$99999999999999999999999999\r\n"},
    {"a length below nil", "$-2\r\n"},
    {"a length with a sign", "$+1\r\na\r\n"},
    {"a length that is no number", "$abc\r\n"},
    {"a string without CR LF at its end", "$2\r\nabcd"},
    {"an array of 2 G elements", "*2147483647\r\n"},
    {"one of 4 G", "*4294967296\r\n"},
    {"one of 273", "*273\r\n"},
    {"an array below nil", "*-2\r\n"},
    {"an array in an array", "*1\r\n*1\r\n:1\r\n"},
    {"an empty one in one", "*1\r\n*0\r\n"},
    {"a nil in an array", "*1\r\n$-1\r\n"},
    {"an array's nil in an array", "*1\r\n*-1\r\n"},
    {"an error in an array", "*2\r\n$1\r\na\r\n-ERR no\r\n"},
    {"an integer that is too long", ":99999999999999999999\r\n"},
    {"an integer that is none", ":1x\r\n"},
    {"two replies", "+OK\r\n+OK\r\n"},
    {"one reply and a half", "+OK\r\n+"},
    {"RESP3: a push", ">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n+OK\r\n"},
    {"RESP3: a map", "%1\r\n+a\r\n:1\r\n"},
    {"RESP3: a set", "~1\r\n:1\r\n"},
    {"RESP3: a nil", "_\r\n"},
    {"RESP3: a boolean", "#t\r\n"},
    {"RESP3: a double", ",1.5\r\n"},
    {"RESP3: a big number", "(12345\r\n"},
    {"RESP3: text with a form", "=5\r\ntxt:a\r\n"},
    {"RESP3: an attribute", "|1\r\n+a\r\n:1\r\n+OK\r\n"},
    {"RESP3: a long error", "!5\r\nERR x\r\n"},
    {"RESP3: a boolean in an array", "*1\r\n#t\r\n"},
    {"a line end inside a line", "+a\nb\r\n"},
    {"one inside an error", "-ERR a\rb\r\n"},
    {"another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n"},
    {"an empty line", "\r\n"},
};

static void refuse_words(struct peer *p, struct sfid__connection *c, const char *what,
                         const char *words, size_t n) {
    set_words(p, words, n);
    const int rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_CONFIG, NEVER) && reply.count == 0, "%s is refused",
       what);
    ends_at_once(what);
}

static void test_refused(void) {
    static char words[60000];
    struct peer p = start_peer(true, serve_words);
    struct sfid__connection *c = new_connection(p.url);
    for (size_t i = 0; i < COUNT(refused); i++)
        refuse_words(&p, c, refused[i].what, refused[i].sent, strlen(refused[i].sent));
    refuse_words(&p, c, "a NUL in a string", "$3\r\na\0b\r\n", 9);
    refuse_words(&p, c, "a NUL in a status", "+a\0b\r\n", 6);
    refuse_words(&p, c, "a NUL for a type", "\0\0\0\0", 4);
    memset(words, 'x', sizeof words);
    words[0] = '+';
    memcpy(words + 300, "\r\n", 2);
    refuse_words(&p, c, "a status of 299 bytes", words, 302);
    memset(words, 'x', sizeof words);
    words[0] = '-';
    refuse_words(&p, c, "an error line without an end", words, sizeof words);
    for (size_t i = 0; i + 4 <= sizeof words; i += 4)
        memcpy(words + i, "*1\r\n", 4);
    refuse_words(&p, c, "arrays nested 15000 deep", words, sizeof words);
    is_i64(atomic_load(&p.s->accepted), (int64_t)COUNT(refused) + 6,
           "each on a connection of its own");
    set_words(&p, "+PONG\r\n", 7);
    ok(said(ping(c, LONG_MS), "PONG"), "and the next good reply is taken");
    end_asking(c, &p);
}

/* Greets with one answer too many, and then as it should. */
static void serve_one_more(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    read_command(in, name, sizeof name);
    read_command(in, name, sizeof name);
    read_command(in, name, sizeof name);
    say_text(fd, atomic_load(&s->accepted) == 1 ? "+OK\r\n+OK\r\n+OK\r\n+EARLY\r\n"
                                                : "+OK\r\n+OK\r\n+OK\r\n");
    while (next_command(in, fd, s, name, sizeof name))
        say_text(fd, "+PONG\r\n");
}

static void test_one_more(void) {
    struct peer p = start_peer(false, serve_one_more);
    struct sfid__connection *c = new_connection(p.url);
    const int rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_CONFIG,
                   "connecting: " NEVER ": more than one reply"),
       "an answer too many to the greeting is not that to the command");
    ok(atomic_load(&p.s->commands) == 0, "which was not sent");
    ok(said(ping(c, LONG_MS), "PONG"), "the next one is");
    end_asking(c, &p);
}

/* Any bytes, then the end: no reply, whatever they are. */
static void serve_random(int fd, struct resp *in, struct peer_shared *s) {
    char name[256], bytes[400];
    next_command(in, fd, s, name, sizeof name);
    static const char types[] = "+-:$*\r\n0123456789%>#_abc";
    uint64_t x = 88172645463325252u + (uint64_t)atomic_fetch_add(&s->step, 1) * 7919;
    for (size_t i = 0; i < sizeof bytes; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = x % 3 ? (char)(x >> 32) : types[(x >> 32) % (sizeof types - 1)];
    }
    say(fd, bytes, sizeof bytes);
}

static void test_random(void) {
    struct peer p = start_peer(false, serve_random);
    struct sfid__connection *c = new_connection(p.url);
    int wrong = 0;
    struct took longest = {0, 0};
    for (int i = 0; i < 200; i++) {
        wrong +=
            ping(c, LONG_MS) != SFID_EREDIS || reply.class == SFID__REPLY_OK || reply.count != 0;
        longest = took_longer(longest, last_took);
    }
    is_i64(wrong, 0, "200 times random bytes are no reply");
    in_time(longest, AT_ONCE_MS, "which is known at once");
    end_asking(c, &p);
}

/* ---- errors -------------------------------------------------------------- */

static void test_error_lines(void) {
    struct peer p = start_peer(false, serve_words);
    struct sfid__connection *c = new_connection(p.url);
    set_words(&p, "-BUSY Redis is busy running a script.\r\n", 39);
    int rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY,
                   ": PING: BUSY Redis is busy running a script.") &&
           strncmp(err.text, "unix:///", 8) == 0,
       "an error names server, command and what was said");
    ok(reply.count == 1 && strcmp(reply.strings[0], "BUSY Redis is busy running a script.") == 0,
       "the line is there");
    ok(sfid__connection_is_up(c), "an error that passes leaves the connection as it was");
    set_words(&p, "-NOSCRIPT No matching script.\r\n", 31);
    rc = ask(c, LONG_MS, "EVALSHA", "0", NULL, NULL, NULL, NULL);
    ok(rc == SFID_EREDIS && reply.class == SFID__REPLY_RETRY && err.code == 0 &&
           err.text[0] == '\0' && sfid__connection_is_up(c),
       "NOSCRIPT to EVALSHA is no failure to report");
    is_str(reply.strings[0], "NOSCRIPT No matching script.", "its line is there, too");
    ok(failed_with(ping(c, LONG_MS), SFID_EREDIS, SFID__REPLY_RETRY, ": PING: NOSCRIPT"),
       "to another command it is one");
    set_words(&p, "-READONLY You can't\r\n", 21);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RESOLVE, "READONLY") && !sfid__connection_is_up(c),
       "one that asks for another server ends it");
    set_words(&p, "-NOAUTH Authentication required.\r\n", 34);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, "user:password@") &&
           !sfid__connection_is_up(c),
       "so does one that asks for a password, and tells where to give it");
    set_words(&p, "-ERR \001\t\x7f\xc3\xa9\r\n", 12);
    ping(c, LONG_MS);
    is_str(reply.strings[0], "ERR ?????", "control characters are not passed on");
    char words[1000] = "-ERR ";
    memset(words + 5, 'y', 900);
    memcpy(words + 905, "\r\n", 2);
    set_words(&p, words, 907);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_CONFIG, "ERR yyyy") &&
           strlen(reply.strings[0]) == 255,
       "a long line is cut off");
    end_asking(c, &p);
}

/* A user who is called like an error. */
static void test_odd_user(void) {
    struct peer p = start_peer(false, serve_words);
    char url[300];
    snprintf(url, sizeof url, "unix://OOM:READONLY@%s", p.path);
    struct sfid__connection *c = new_connection(url);
    set_words(&p, "-OOM command not allowed, OOM\r\n", 31);
    int rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RETRY, "PING: *** command not allowed, ***"),
       "a user called OOM");
    set_words(&p, "-READONLY You can't\r\n", 21);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_RESOLVE, "PING: *** You can't"),
       "and a password READONLY change no class");
    end_asking(c, &p);
}

/* As twemproxy: what it does not know ends the connection, without a word. */
static void serve_without_client(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    atomic_fetch_add(&s->step, 1);
    while (read_command(in, name, sizeof name) && strncmp(name, "CLIENT", 6) != 0)
        say_text(fd, "+PONG\r\n");
}

static void test_without_client(void) {
    struct peer p = start_peer(false, serve_without_client);
    char url[300];
    snprintf(url, sizeof url, "unix://%s", p.path);
    struct sfid__connection *c = new_connection(url);
    ok(said(ping(c, LONG_MS), "PONG"), "a server that closes at CLIENT is asked again without it");
    is_i64(atomic_load(&p.s->step), 2, "in a second connection");
    sfid__connection_hang_up(c);
    ok(said(ping(c, LONG_MS), "PONG"), "the next connection");
    is_i64(atomic_load(&p.s->step), 3, "begins without it");
    end_asking(c, &p);
}

/* ---- descriptors, fork --------------------------------------------------- */

static int flag(int fd, int level, int option) {
    int value = -1;
    socklen_t len = sizeof value;
    return getsockopt(fd, level, option, &value, &len) < 0 ? -1 : value;
}

static int above_standard(void *url) {
    for (int i = 0; i < 1024; i++)
        close(i);
    struct sfid__connection *c = new_connection(url);
    const bool good =
        ping(c, LONG_MS) == 0 && socket_fd() > 2 && (fcntl(socket_fd(), F_GETFD) & FD_CLOEXEC);
    sfid__connection_drop(c);
    return good ? 0 : 1;
}

static void test_descriptor(void) {
    struct peer p = start_peer(true, serve_words);
    set_words(&p, "+PONG\r\n", 7);
    /* found by a checker of memory, also in a child that has no use for it */
    static struct sfid__connection *c;
    c = new_connection(p.url);
    const int fds = entries("/proc/self/fd");
    ok(!sfid__connection_is_up(c), "a new connection is not up");
    ok(said(ping(c, LONG_MS), "PONG") && sfid__connection_is_up(c), "after an exchange it is");
    is_i64(entries("/proc/self/fd"), fds + 1, "it has one descriptor");
    const int fd = socket_fd();
    ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "which is closed by exec");
    ok(fcntl(fd, F_GETFL) & O_NONBLOCK, "and does not block");
    ok(flag(fd, IPPROTO_TCP, TCP_NODELAY) == 1 && flag(fd, SOL_SOCKET, SO_KEEPALIVE) == 1 &&
           flag(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 60,
       "it sends at once, and looks after an idle peer");
    is_i64(status_of(spawn(above_standard, p.url)), 0, "where 0 to 2 are closed it is above them");
    sfid__connection_drop(c);
    is_i64(entries("/proc/self/fd"), fds, "no descriptor is left");
    stop_peer(&p);
}

/* A daemon closes everything; then the numbers are its own. */
static int close_all(void *url) {
    struct sfid__connection *c = new_connection(url);
    if (ping(c, LONG_MS) != 0)
        return 1;
    const int fd = socket_fd();
    for (int i = 3; i < 1024; i++)
        close(i);
    int mine[2], other = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, mine) < 0)
        return 2;
    while ((other = dup(mine[0])) >= 0 && other < fd)
        ;
    if (sfid__connection_is_up(c) || fcntl(fd, F_GETFD) < 0)
        return 3;
    if (ping(c, LONG_MS) != 0 || fcntl(fd, F_GETFD) < 0)
        return 4;
    char byte;
    if (recv(mine[1], &byte, 1, 0) != -1 || errno != EAGAIN)
        return 5;
    const int second = socket_fd(); /* the highest */
    if (second == fd || dup2(mine[0], second) < 0)
        return 6;
    sfid__connection_drop(c);
    if (fcntl(second, F_GETFD) < 0 || recv(mine[1], &byte, 1, 0) != -1 || errno != EAGAIN)
        return 7;
    return 0;
}

static void test_close_all(void) {
    struct peer p = start_peer(true, serve_words);
    set_words(&p, "+PONG\r\n", 7);
    is_i64(status_of(spawn(close_all, p.url)), 0,
           "a number that is somebody else's by now is neither used nor closed");
    is_i64(atomic_load(&p.s->accepted), 2, "a new connection was made");
    stop_peer(&p);
}

static struct sfid__connection *shared;

static int drop_it(void *arg) {
    (void)arg;
    const int fd = socket_fd();
    sfid__connection_drop(shared);
    return fd >= 0 && fcntl(fd, F_GETFD) < 0 ? 0 : 1;
}

static int use_it(void *arg) {
    (void)arg;
    const bool up = sfid__connection_is_up(shared);
    const bool good = ping(shared, LONG_MS) == 0;
    sfid__connection_drop(shared);
    return !up && good && socket_fd() < 0 ? 0 : 1;
}

static void test_fork(void) {
    struct peer p = start_peer(true, serve_words);
    set_words(&p, "+PONG\r\n", 7);
    shared = new_connection(p.url);
    ping(shared, LONG_MS);
    is_i64(status_of(spawn(drop_it, NULL)), 0, "a child drops its parent's connection");
    ok(said(ping(shared, LONG_MS), "PONG"), "which goes on");
    is_i64(atomic_load(&p.s->accepted), 1, "as the same");
    is_i64(status_of(spawn(use_it, NULL)), 0, "a child that does not gets one of its own");
    ok(said(ping(shared, LONG_MS), "PONG"), "and the parent's goes on");
    is_i64(atomic_load(&p.s->accepted), 2, "as the same");
    sfid__connection_drop(NULL);
    sfid__connection_drop(shared);
    stop_peer(&p);
}

/* The parent's close reaches the server although a child still has the descriptor. */
static void serve_until_end(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    while (next_command(in, fd, s, name, sizeof name))
        say_text(fd, "+PONG\r\n");
    atomic_store(&s->step, 1);
}

static bool has_ended(void *shared_page) {
    return atomic_load(&((struct peer_shared *)shared_page)->step) == 1;
}

static void test_close_with_child(void) {
    struct peer p = start_peer(true, serve_until_end);
    struct sfid__connection *c = new_connection(p.url);
    ping(c, LONG_MS);
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    sfid__connection_drop(c);
    ok(tap_wait_until(has_ended, p.s, LONG_MS),
       "a close is one, also where a child has the descriptor");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    stop_peer(&p);
}

static void test_limits_of_a_command(void) {
    struct peer p = start_peer(false, serve_words);
    struct sfid__connection *c = new_connection(p.url);
    const char *argv[SFID__COMMAND_ARGS + 1];
    set_words(&p, "+PONG\r\n", 7);
    for (size_t i = 0; i < COUNT(argv); i++)
        argv[i] = "x";
    ok(said(ask_with(c, LONG_MS, NULL, SFID__COMMAND_ARGS, argv), "PONG"),
       "as many arguments as there may be");
    const int rc =
        sfid__connection_exchange(c,
                                  &(struct sfid__question){SFID__COMMAND_ARGS + 1, argv, NULL,
                                                           sfid__deadline_now_ms() + LONG_MS, NULL},
                                  &reply, &err);
    ok(failed_with(rc, SFID_EINVAL, SFID__REPLY_CONFIG, "too many"), "one more is refused");
    end_asking(c, &p);
}

int main(void) {
    witness_begin();
    test_taken(serve_words, "at once");
    counted_begin();
    test_refused();
    test_one_more();
    test_random();
    counted_less(1 << 17, "bad replies take little memory");
    test_taken(serve_bytes, "byte by byte");
    test_error_lines();
    test_odd_user();
    test_without_client();
    test_descriptor();
    test_close_all();
    test_fork();
    test_close_with_child();
    test_limits_of_a_command();
    return done_testing();
}
