/* SPDX-License-Identifier: MIT */
/*
 * Servers that are not there, do not answer, or answer what no server would: sfid_open() is back in
 * time with a sentence that tells which server and what it did; and after a thousand such rounds
 * (short: 100) nothing is left of them.
 */
#include "support/opens.h"
#include "support/peer.h"

#include <limits.h>
#include <poll.h>

/* With user and password before the host. */
static void url_with_secrets(const struct peer *p, char *url, size_t size) {
    if (p->path[0])
        snprintf(url, size, "unix://%s:%s@%s", USER, PASSWORD, p->path);
    else
        snprintf(url, size, "redis://%s:%s@127.0.0.1:%d", USER, PASSWORD, p->port);
}

static void name_of(const struct peer *p, char *name, size_t size) {
    if (p->path[0])
        snprintf(name, size, "%s", p->path);
    else
        snprintf(name, size, "127.0.0.1:%d", p->port);
}

static void test_peer(bool tcp, serve_function *serve, const void *bytes, size_t n, int code,
                      const char *words, const char *what) {
    struct peer p = start_peer(tcp, serve);
    char url[300], name[120];
    set_words(&p, bytes, n);
    url_with_secrets(&p, url, sizeof url);
    name_of(&p, name, sizeof name);
    fails_with(url, "orders", code, name, words, what);
    stop_peer(&p);
}

/* ---- answers that are no replies, or errors ------------------------------ */

#define PROTOCOL "the reply does not follow the Redis protocol"

static void test_garbage(uint64_t *rng) {
    static const char *const replies[] = {"$2147483647\r\n",
                                          ">3\r\n$10\r\ninvalidate\r\n$1\r\na\r\n$1\r\nb\r\n",
                                          "%1\r\n+a\r\n+b\r\n",
                                          "*1\r\n*1\r\n+OK\r\n",
                                          "*-2\r\n",
                                          "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
                                          "+OK\r\n+OK\r\n",
                                          "*2\r\n$2\r\nOK\r\n$20\r\n12345678901234567890\r\n",
                                          "\r\n\r\n"};
    for (size_t i = 0; i < COUNT_OF(replies); i++) {
        const bool nonsense = strncmp(replies[i], "*2", 2) == 0;
        char what[100];
        snprintf(what, sizeof what, "%.10s", replies[i]);
        what[strcspn(what, "\r")] = '\0';
        test_peer(i % 2, serve_words, replies[i], strlen(replies[i]), SFID_EREDIS,
                  nonsense ? "not the lease script's" : PROTOCOL, what);
    }
    char noise[5000];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)draw_random(rng);
    noise[0] = '\x01';
    test_peer(true, serve_words, noise, sizeof noise, SFID_EREDIS, PROTOCOL, "random bytes");
    test_peer(true, serve_words_at_once, noise, sizeof noise, SFID_EREDIS, PROTOCOL,
              "random bytes before anything was asked");
    test_peer(true, serve_nested, "", 0, SFID_EREDIS, PROTOCOL, "arrays nested a million deep");
}

static void test_silence(void) {
    test_peer(true, serve_drip, "", 0, SFID_EREDIS, "no answer in time", "a byte each 100 ms");
    test_peer(true, serve_nothing, "", 0, SFID_EREDIS, "no answer in time", "silence");
    char over[60];
    snprintf(over, sizeof over, "; the %d ms of open_timeout_ms are over", OPEN_MS);
    test_peer(true, serve_nothing, "", 0, SFID_EREDIS, over, "silence, to the end");
    test_peer(false, serve_nothing, "", 0, SFID_EREDIS, "no answer in time",
              "silence over a Unix socket");
    test_peer(true, serve_words, "+O", 2, SFID_EREDIS, "no answer in time", "half a line");
    test_peer(true, serve_end, "", 0, SFID_EREDIS, "closed the connection",
              "an end instead of an answer");
    test_peer(true, serve_reset, "", 0, SFID_EREDIS, "", "a reset instead of an answer");
}

static void test_errors(void) {
    static const struct {
        int code;
        const char *line;
    } rows[] = {
        {SFID_EREDIS, "LOADING Redis is loading the dataset in memory"},
        {SFID_EREDIS, "READONLY You can't write against a read only replica."},
        {SFID_EREDIS,
         "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."},
        {SFID_EREDIS, "OOM command not allowed when used memory > 'maxmemory'."},
        {SFID_EREDIS,
         "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."},
        {SFID_EREDIS, "NOREPLICAS Not enough good replicas to write."},
        {SFID_EREDIS,
         "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."},
        {SFID_EREDIS, "CLUSTERDOWN Hash slot not served"},
        {SFID_EREDIS, "MOVED 3999 127.0.0.1:6381"},
        {SFID_EREDIS, "ERR max number of clients reached"},
        {SFID_EREDIS, "ERR unknown command 'EVAL'"},
        {SFID_EREDIS, "WRONGTYPE Operation against a key holding the wrong kind of value"},
        {SFID_EAUTH, "NOAUTH Authentication required."},
        {SFID_EAUTH, "WRONGPASS invalid username-password pair or user is disabled."},
        {SFID_EAUTH, "NOPERM User " USER " has no permissions to run the 'eval' command"}};
    char line[200], word[20];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        snprintf(line, sizeof line, "-%s\r\n", rows[i].line);
        snprintf(word, sizeof word, "%.*s", (int)strcspn(rows[i].line, " "), rows[i].line);
        test_peer(i % 2, serve_words, line, strlen(line), rows[i].code, word, rows[i].line);
    }
}

/* The last attempt gets no time to fail by itself: what was told before it counts. */
static void test_cause_kept(void) {
    static const char loading[] = "-LOADING Redis is loading the dataset in memory\r\n";
    test_peer(true, serve_words_once, loading, strlen(loading), SFID_EREDIS, "LOADING",
              "an error, then silence");
}

/* ---- answers that are possible in form only ------------------------------- */

static size_t claim_answer(char *out, size_t size, int64_t lo, int64_t limit, const char *pid) {
    const int64_t now = wall_ns() / NS_PER_MS, tick = (int64_t)tick_now(&layout);
    char parts[6][32] = {"OK", "", "", "", "", "0123abcd"};
    size_t n = (size_t)snprintf(out, size, "*6\r\n");
    snprintf(parts[1], sizeof parts[1], "%" PRId64, now);
    snprintf(parts[2], sizeof parts[2], "%" PRId64, tick + lo);
    snprintf(parts[3], sizeof parts[3], "%" PRId64, tick + limit);
    snprintf(parts[4], sizeof parts[4], "%s", pid);
    for (int i = 0; i < 6; i++)
        n += (size_t)snprintf(out + n, size - n, "$%zu\r\n%s\r\n", strlen(parts[i]), parts[i]);
    return n;
}

/* A window that no store would grant is not adopted. */
static void test_impossible(void) {
    enum { TICKS = LONG_WINDOW_MS / UNIT_MS };
    static const struct {
        int64_t lo, limit;
        const char *pid, *words, *what;
    } rows[] = {{0, 10 * TICKS, "1", "is impossible", "a window ten times too long"},
                {TICKS, 0, "1", "not the lease script's", "one that ends before it begins"},
                {20 * TICKS, 21 * TICKS, "1", "is impossible", "one far ahead"},
                {0, TICKS, "256", "is impossible", "a pid that the layout has not"},
                {0, TICKS, "-1", "not the lease script's", "a pid below 0"},
                {0, TICKS, "99999999999999999999", "not the lease script's", "a pid of 20 digits"}};
    char answer[300];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct peer p = start_peer(true, serve_words);
        char name[120], url[300];
        set_words(&p, answer,
                  claim_answer(answer, sizeof answer, rows[i].lo, rows[i].limit, rows[i].pid));
        name_of(&p, name, sizeof name);
        snprintf(url, sizeof url, "%s", p.url);
        /* the claim comes first */
        const struct attempt a = attempt_until(url, "orders", false, rows[i].words);
        if (!ok(a.code == SFID_EREDIS && strstr(a.text, name) && strstr(a.text, rows[i].words),
                "%s: is not taken, and told", rows[i].what))
            diag("%d after %" PRId64 " ms: %s", a.code, a.took.ms, a.text);
        stop_peer(&p);
    }
}

/* ---- nobody there -------------------------------------------------------- */

static void test_unreachable(void) {
    struct peer p = {.listener = -1};
    char url[300], name[120];
    int fd = bind_tcp(&p);
    url_with_secrets(&p, url, sizeof url);
    name_of(&p, name, sizeof name);
    fails_with(url, "orders", SFID_EREDIS, name, "Connection refused",
               "a port that nobody listens at");
    close(fd);
    fd = listen_unix(&p, 1);
    close(fd);
    url_with_secrets(&p, url, sizeof url);
    fails_with(url, "orders", SFID_EREDIS, p.path, "Connection refused", "a socket left behind");
    unlink(p.path);
    fails_with(url, "orders", SFID_EREDIS, p.path, "No such file", "one that is not there");
}

static void test_backlog(void) {
    int fds[64];
    char url[300], name[120];
    struct peer p = {.listener = -1}, q = {.listener = -1};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int listener = listen_tcp(&p, 1);
    in.sin_port = htons((uint16_t)p.port);
    int n = fill_backlog((struct sockaddr *)&in, sizeof in, fds, COUNT_OF(fds));
    url_with_secrets(&p, url, sizeof url);
    name_of(&p, name, sizeof name);
    fails_with(url, "orders", SFID_EREDIS, name, "no answer in time", "a full queue");
    while (n > 0)
        close(fds[--n]);
    close(listener);
    listener = listen_unix(&q, 0);
    memcpy(un.sun_path, q.path, sizeof un.sun_path);
    n = fill_backlog((struct sockaddr *)&un, sizeof un, fds, COUNT_OF(fds));
    url_with_secrets(&q, url, sizeof url);
    fails_with(url, "orders", SFID_EREDIS, q.path, "too many connections wait",
               "a full queue of a Unix socket");
    while (n > 0)
        close(fds[--n]);
    close(listener);
}

/* ---- an address that swallows everything --------------------------------- */

static int run(const char *command) {
    const int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * In a network of its own: addresses that lead to the loopback interface and belong to nobody there
 * are lost without a word, and so are questions to name servers.
 */
static int in_own_network(void *arg) {
    struct attempt *a = arg;
    if (unshare(CLONE_NEWNET) < 0 ||
        run("ip link set lo up && ip address add 192.0.2.9/32 dev lo && ip route add default dev lo src 192.0.2.9 2>/dev/null") !=
            0)
        return 2;
    a[0] = attempt_open("redis://" USER ":" PASSWORD "@192.0.2.1:6379", "orders", true, OPEN_MS);
    a[1] = attempt_open("redis://" USER ":" PASSWORD "@nobody-knows.example:6379", "orders", true,
                        OPEN_MS);
    return 0;
}

static void is_told(const struct attempt *a, const char *server, const char *words,
                    const char *what) {
    if (!ok(a->code == SFID_EREDIS && strstr(a->text, server) && strstr(a->text, words) &&
                !strstr(a->text, PASSWORD) && !strstr(a->text, USER),
            "%s: told", what))
        diag("%d after %" PRId64 " ms: %s", a->code, a->took.ms, a->text);
    attempt_in_time(a, what);
}

static void test_blackhole(void) {
    struct attempt *a = shared_memory(2 * sizeof *a);
    if (child_run(in_own_network, a, TAP_WAIT_MS) == 2) {
        skip(1, "cannot make a network namespace here");
        return;
    }
    is_told(&a[0], "192.0.2.1:6379", "no answer in time", "an address that swallows everything");
    lasted(a[0].took, OPEN_MS / 2, "an address that swallows everything: tried to the end");
    is_told(&a[1], "nobody-knows.example:6379", "", "a name that nobody can look up");
    diag("%s", a[1].text);
}

/* ---- a thousand times ---------------------------------------------------- */

/* Each connection another way to fail. */
static void serve_any(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    const struct linger reset = {1, 0};
    const int step = atomic_fetch_add(&s->step, 1) % 6;
    if (step >= 1)
        next_command(in, fd, s, name, sizeof name);
    if (step == 2)
        say_text(fd, "$10\r\nhalf");
    if (step == 3)
        say_text(fd, "*1\r\n*1\r\n");
    if (step == 4)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (step == 5)
        say_text(fd, "-NOPERM no\r\n");
}

/*
 * Memory of its own, pages of slots included; what is mapped of programs and libraries is left out,
 * of which the kernel maps 64 kB around the first byte that is touched, be that late. (statm is off
 * by what each CPU has not added up yet.)
 */
static long resident_kb(void) {
    char line[200];
    long rss = -1, anon = -1, shmem = -1;
    FILE *in = fopen("/proc/self/smaps_rollup", "re");
    while (in && fgets(line, sizeof line, in)) {
        sscanf(line, "Rss: %ld", &rss);
        /* no share of it: that rises when a peer's child ends */
        sscanf(line, "Anonymous: %ld", &anon);
        sscanf(line, "Pss_Shmem: %ld", &shmem);
    }
    if (in)
        fclose(in);
    return anon < 0 || shmem < 0 ? rss : anon + shmem;
}

/* A leak grows in each span; what a process comes to need at last (a deeper stack, an arena) does
 * in one. */
enum { SPANS = 3 };

struct rounds {
    char peer[200], gone[200], refusing[300];
    int bad, fds, fds_then, threads_then;
    bool same_threads;
    long kb[SPANS + 1]; /* behind each span of opens */
};

static int do_rounds(void *arg) {
    struct rounds *r = arg;
    const int rounds = (int)sized(100, 1000, 100), warm = 50, span = (rounds - 1 - warm) / SPANS;
    for (int i = 0; i < rounds; i++) {
        const char *url = i % 7 == 6                     ? r->gone
                          : i % 5 == 4 && r->refusing[0] ? r->refusing
                                                         : r->peer;
        sfid_options opt = fault_options("rounds", url);
        opt.open_timeout_ms = 30;
        const int rc = try_open(&opt);
        /* SFID_ESTATE: the directories took all of so short a time. */
        r->bad += rc != SFID_EREDIS && rc != SFID_EAUTH && rc != SFID_ESTATE;
        if (i == warm) {
            r->fds_then = count_fds();
            r->threads_then = count_threads();
        }
        if (i >= warm && (i - warm) % span == 0 && (i - warm) / span <= SPANS)
            r->kb[(i - warm) / span] = resident_kb();
    }
    r->fds = count_fds();
    /* one that was joined may still be listed */
    r->same_threads = tap_wait_until(threads_are, &r->threads_then, TAP_WAIT_MS);
    return 0;
}

static void test_rounds(void) {
    struct rounds *r = shared_memory(sizeof *r);
    struct peer p = start_peer(true, serve_any), gone = {.listener = -1};
    struct redis server = {.pid = 0};
    const int closed = bind_tcp(&gone);
    snprintf(r->peer, sizeof r->peer, "%s", p.url);
    snprintf(r->gone, sizeof r->gone, "%s", gone.url);
    if (servers.n > 0) {
        redis_start(&server, servers.installed[0], "refusing", 0, NULL);
        reply_free(redis_ask(&server, "ACL", "SETUSER", USER, "on", ">" PASSWORD, "~sfid:*",
                             "+@connection", "+eval", NULL));
        snprintf(r->refusing, sizeof r->refusing, "unix://%s:%s@%s", USER, PASSWORD, server.socket);
    }
    is_i64(child_run(do_rounds, r, 10 * TAP_WAIT_MS), 0, "many opens fail, one after the other");
    is_i64(r->bad, 0, "each with the code of its cause");
    is_i64(r->fds, r->fds_then, "they leave no descriptor");
    ok(r->same_threads, "nor a thread beside %d", r->threads_then);
    long least = LONG_MAX;
    for (int i = 0; i < SPANS; i++) {
        least = r->kb[i + 1] - r->kb[i] < least ? r->kb[i + 1] - r->kb[i] : least;
        diag("figure: %d opens added %ld kB", (int)(sized(100, 1000, 100) - 51) / SPANS,
             r->kb[i + 1] - r->kb[i]);
    }
    if (SANITIZED)
        skip(1, "a sanitizer needs memory of its own");
    else
        ok(least <= 40, "nor memory");
    if (servers.n > 0) {
        is_i64(redis_do(&server, "DBSIZE", NULL), 0, "nor a key in a server");
        redis_kill(&server);
    }
    close(closed);
    stop_peer(&p);
}

int main(void) {
    uint64_t rng = faults_begin();
    test_unreachable();
    test_backlog();
    test_blackhole();
    test_silence();
    test_garbage(&rng);
    test_errors();
    test_cause_kept();
    test_impossible();
    test_rounds();
    diag("figure: the slowest open of %d ms took %" PRId64, OPEN_MS, worst_open_ms);
    return done_testing();
}
