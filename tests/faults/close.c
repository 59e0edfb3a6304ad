/* SPDX-License-Identifier: MIT */
/*
 * Closing, with the server stopped, gone or swallowed by the network, between exchanges and in the middle of one: sfid_close()
 * is back within a second and 100 ms. With a server that answers the pid is given back: its record is a position and nothing
 * else, its registration ends, and the next holder begins above it.
 */
#include "support/faults.h"

enum { CLOSE_MS = 1000, GRACE_MS = SANITIZED ? 1000 : 100, TRIES = 8 };

static int64_t slowest_ms;

/* ---- a server that answers ------------------------------------------------ */

static void test_given_back(const char *program, int number) {
    struct redis r;
    char record[RECORD];
    redis_start(&r, program, "close", 0, NULL);
    struct member *m = member_at("given", number, "unix://%s", r.socket);
    struct member *next = member_at("given", number, "unix://%s", r.socket);
    m->opt.on_unknown = SFID_TRUST;
    member_open_or_die(m);
    ok(member_draws(m, 100, patience(5000)), "%s: IDs are drawn", program);
    is_i64(member_end(m), 0, "%s: the holder closes", program);
    ok(is_released(record_of(&r, "given", number, record)), "%s: its record is a position alone", program);
    const long left_ms = strtol(registration_text(&r, "PTTL", "given", number), NULL, 10);
    ok(left_ms == -2 || (left_ms > 0 && left_ms <= BUDGET_MS + UNIT_MS), "%s: its registration ends skew_budget_ms later", program);
    const int64_t took = m->close_ns / NS_PER_MS;
    ok(took <= SLACK_MS, "%s: in %" PRId64 " ms", program, took);
    member_open_or_die(next);
    ok(next->open_ns / NS_PER_MS <= SLACK_MS, "%s: the next one has the pid at once", program);
    member_draws(next, 100, patience(5000));
    member_end(next);
    redis_kill(&r);
}

/* ---- one that does not ----------------------------------------------------- */

static void stop_server(struct redis *r) { redis_pause(r); }

static void kill_server(struct redis *r) { redis_kill(r); }

/* Holds, then the server goes, then the holder closes: after a while, or once it waits for an answer. */
static int64_t close_without(const char *program, void (*goes)(struct redis *r), bool under_way, int number) {
    struct redis r;
    char app[40];
    redis_start(&r, program, "close", 0, NULL);
    snprintf(app, sizeof app, "without-%d", number);
    struct member *m = member_at(app, number, "unix://%s?timeout=5000", r.socket);
    m->opt.on_unknown = SFID_TRUST;
    m->opt.ttl_ms = 15000; /* room for that timeout */
    m->opt.heartbeat_ms = under_way ? 300 : HEARTBEAT_MS;
    member_open_or_die(m);
    need(member_draws(m, 20, patience(5000)), "%s: no IDs", program);
    goes(&r);
    if (under_way && goes == kill_server)
        member_had(m, SFID_EVENT_RENEW_FAILED, 1, 5000);
    else if (under_way)
        nap_us(2 * 300 * 1000); /* twice its heartbeat: it has asked, and would wait for 5 s */
    const int status = member_end(m);
    const int64_t took = atomic_load(&m->closed) ? m->close_ns / NS_PER_MS : INT64_MAX;
    if (status != 0)
        diag("%s: the holder ended with %d", program, status);
    redis_kill(&r);
    return took;
}

/* The best of eight: the machine may be busy. */
static void test_without(const char *program, void (*goes)(struct redis *r), bool under_way, const char *what) {
    static int number = 100;
    int64_t best = INT64_MAX;
    for (int i = 0; i < TRIES && best > CLOSE_MS + GRACE_MS; i++) {
        const int64_t took = close_without(program, goes, under_way, number++);
        best = took < best ? took : best;
    }
    ok(best <= CLOSE_MS + GRACE_MS, "%s: %s: closed in %" PRId64 " ms", program, what, best);
    slowest_ms = best > slowest_ms ? best : slowest_ms;
}

/* ---- a network that swallows everything ------------------------------------ */

struct swallowed {
    const char *program;
    int64_t close_ms;
    int code;
    char text[600];
};

static int run(const char *command) {
    const int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static pid_t serve(const char *program) {
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp(program, program, "--bind", "192.0.2.1", "--port", "6379", "--save", "", "--protected-mode", "no", "--logfile",
               "/dev/null", (char *)NULL);
        _exit(127);
    }
    return child;
}

static bool answers(void *opt) { return try_open(opt) == 0; }

/* In a network of its own the server's address is taken away: what is sent to it is lost without a word. */
static int in_own_network(void *arg) {
    struct swallowed *s = arg;
    struct member *m = member_at("swallowed", -1, "redis://192.0.2.1:6379?timeout=400");
    if (unshare(CLONE_NEWNET) < 0 ||
        run("ip link set lo up && ip address add 192.0.2.1/32 dev lo && ip route add 192.0.2.0/24 dev lo 2>/dev/null") != 0)
        return 2;
    const pid_t server = serve(s->program);
    m->opt.on_unknown = SFID_TRUST;
    m->opt.heartbeat_ms = 300;
    if (!tap_wait_until(answers, &m->opt, 20000))
        return 3;
    member_start(m);
    if (!member_opens(m, 5000))
        return 4;
    run("ip address del 192.0.2.1/32 dev lo");
    const struct seen *told = member_event(m, SFID_EVENT_RENEW_FAILED, 0, patience(2 * WINDOW_MS));
    if (!told || !member_draws(m, 20, patience(WINDOW_MS)))
        return 5;
    s->code = told->code;
    snprintf(s->text, sizeof s->text, "%s", told->text);
    if (member_end(m) != 0)
        return 6;
    s->close_ms = m->close_ns / NS_PER_MS;
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return 0;
}

static void test_swallowed(const char *program) {
    struct swallowed *s = shared_memory(sizeof *s);
    int status = 0;
    *s = (struct swallowed){.program = program, .close_ms = INT64_MAX};
    for (int i = 0; i < TRIES && status == 0 && s->close_ms > CLOSE_MS + GRACE_MS; i++)
        status = child_run(in_own_network, s, patience(60000));
    if (status == 2) {
        skip(1, "cannot make a network namespace here");
        return;
    }
    is_i64(status, 0, "%s: a holder whose server is swallowed draws on", program);
    ok(s->code == SFID_EREDIS && strstr(s->text, "192.0.2.1:6379") && strstr(s->text, "no answer in time"), "%s: and is told",
       program);
    ok(s->close_ms <= CLOSE_MS + GRACE_MS, "%s: closed in %" PRId64 " ms", program, s->close_ms);
    slowest_ms = s->close_ms > slowest_ms ? s->close_ms : slowest_ms;
}

int main(void) {
    faults_begin();
    for (size_t i = 0; i < servers.n; i++) {
        test_given_back(servers.installed[i], (int)i + 1);
        test_without(servers.installed[i], stop_server, false, "stopped");
        test_without(servers.installed[i], stop_server, true, "stopped, in the middle of a renewal");
        test_without(servers.installed[i], kill_server, false, "gone");
        test_without(servers.installed[i], kill_server, true, "gone, when a renewal has failed");
        test_swallowed(servers.installed[i]);
    }
    diag("figure: the slowest close took %" PRId64 " ms", slowest_ms);
    return faults_end("what was drawn");
}
