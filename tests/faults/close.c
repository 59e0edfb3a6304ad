/* SPDX-License-Identifier: MIT */
/*
 * Closing, with the server stopped, gone or swallowed by the network, between exchanges and in the
 * middle of one: sfid_close() is back within a second and a little. With a server that answers the
 * pid is given back: its record is a position and nothing else, its registration ends, and the next
 * holder begins above it.
 */
#include "support/faults.h"
#include "support/proxy.h"

/* CLOSE_GRACE_MS: what a close does once its time is over. */
enum { CLOSE_MS = 1000, CLOSE_GRACE_MS = 200, QUICK_HEARTBEAT_MS = 300 };

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
    ok(member_draws(m, 100, TAP_WAIT_MS), "%s: IDs are drawn", program);
    is_i64(member_end(m), 0, "%s: the holder closes", program);
    ok(is_released(record_of(&r, "given", number, record)), "%s: its record is a position alone",
       program);
    const long ttl = strtol(registration_text(&r, "PTTL", "given", number), NULL, 10),
               most = BUDGET_MS + UNIT_MS;
    ok(ttl == -2 || (ttl > 0 && ttl <= most), "%s: its registration ends skew_budget_ms later",
       program);
    in_time(m->close, AT_ONCE_MS, "%s: at once", program);
    member_open_or_die(next);
    in_time(next->open, AT_ONCE_MS, "%s: the next one has the pid at once", program);
    member_draws(next, 100, TAP_WAIT_MS);
    member_end(next);
    redis_kill(&r);
}

/* ---- one that does not ----------------------------------------------------- */

/* The server goes, or its answers do. */
static void stop_server(struct redis *r, struct proxy *p, struct member *m) {
    (void)p, (void)m;
    redis_pause(r);
}

static void kill_server(struct redis *r, struct proxy *p, struct member *m) {
    (void)p, (void)m;
    redis_kill(r);
}

/* Until the holder waits for the answer to a renewal. */
static void hold_answers(struct redis *r, struct proxy *p, struct member *m) {
    (void)r, (void)m;
    atomic_store(&p->rules->hold, 1);
    need(flag_wait(&p->rules->held, 1, TAP_WAIT_MS), "%s: no renewal", r->program);
}

static void fail_renewal(struct redis *r, struct proxy *p, struct member *m) {
    (void)p;
    redis_kill(r);
    need(member_had(m, SFID_EVENT_RENEW_FAILED, 1, TAP_WAIT_MS), "%s: no renewal fails",
         r->program);
}

/* Holds, then the server goes, or the proxy before it keeps the answers, then the holder closes. */
static void test_without(const char *program,
                         void (*goes)(struct redis *r, struct proxy *p, struct member *m),
                         const char *what) {
    static int number = 100;
    struct redis r;
    char app[40];
    redis_start(&r, program, "close", 0, NULL);
    struct proxy p = proxy_start(&r, 1);
    snprintf(app, sizeof app, "without-%d", number);
    struct member *m = goes == hold_answers
                           ? member_at(app, number, "redis://127.0.0.1:%d?timeout=20s", p.port)
                           : member_at(app, number, "unix://%s?timeout=20s", r.socket);
    number++;
    m->opt.on_unknown = SFID_TRUST;
    m->opt.heartbeat_ms = QUICK_HEARTBEAT_MS;
    member_open_or_die(m);
    need(member_draws(m, 20, TAP_WAIT_MS), "%s: no IDs", program);
    goes(&r, &p, m);
    is_i64(member_end(m), 0, "%s: %s: the holder ends well", program, what);
    in_time(m->close, CLOSE_MS + CLOSE_GRACE_MS, "%s: %s: closed in time", program, what);
    slowest_ms = m->close.ms > slowest_ms ? m->close.ms : slowest_ms;
    proxy_end(&p);
    redis_kill(&r);
}

/* ---- a network that swallows everything ------------------------------------ */

struct swallowed {
    const char *program;
    struct took close;
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
        execlp(program, program, "--bind", "192.0.2.1", "--port", "6379", "--save", "",
               "--protected-mode", "no", "--logfile", "/dev/null", (char *)NULL);
        _exit(127);
    }
    return child;
}

static bool answers(void *opt) { return try_open(opt) == 0; }

/* In a network of its own the server's address is taken away: what is sent to it is lost without a
 * word. */
static int in_own_network(void *arg) {
    struct swallowed *s = arg;
    /* An app of its own: with a lease that the server before has left, an open needs no answer, and
     * this one may not listen yet. */
    struct member *m = member_at(s->program, -1, "redis://192.0.2.1:6379?timeout=400");
    if (unshare(CLONE_NEWNET) < 0 ||
        run("ip link set lo up && ip address add 192.0.2.1/32 dev lo && ip route add 192.0.2.0/24 dev lo 2>/dev/null") !=
            0)
        return 2;
    const pid_t server = serve(s->program);
    m->opt.on_unknown = SFID_TRUST;
    m->opt.heartbeat_ms = QUICK_HEARTBEAT_MS;
    if (!tap_wait_until(answers, &m->opt, TAP_WAIT_MS))
        return 3;
    member_start(m);
    if (!member_opens(m, TAP_WAIT_MS))
        return 4;
    run("ip address del 192.0.2.1/32 dev lo");
    const struct seen *told = member_event(m, SFID_EVENT_RENEW_FAILED, 0, TAP_WAIT_MS);
    if (!told || !member_draws(m, 20, TAP_WAIT_MS))
        return 5;
    s->code = told->code;
    snprintf(s->text, sizeof s->text, "%s", told->text);
    if (member_end(m) != 0)
        return 6;
    s->close = m->close;
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return 0;
}

static void test_swallowed(const char *program) {
    struct swallowed *s = shared_memory(sizeof *s);
    *s = (struct swallowed){.program = program};
    const int status = child_run(in_own_network, s, 4 * TAP_WAIT_MS);
    if (status == 2) {
        skip(1, "cannot make a network namespace here");
        return;
    }
    is_i64(status, 0, "%s: a holder whose server is swallowed draws on", program);
    if (!ok(s->code == SFID_EREDIS && strstr(s->text, "192.0.2.1:6379") &&
                strstr(s->text, "no answer in time"),
            "%s: and is told", program))
        diag("%d: %s", s->code, s->text);
    if (status == 0)
        in_time(s->close, CLOSE_MS + CLOSE_GRACE_MS, "%s: closed in time", program);
    slowest_ms = s->close.ms > slowest_ms ? s->close.ms : slowest_ms;
}

int main(void) {
    faults_begin();
    for (size_t i = 0; i < servers.n; i++) {
        test_given_back(servers.installed[i], (int)i + 1);
        test_without(servers.installed[i], stop_server, "stopped");
        test_without(servers.installed[i], hold_answers, "silent, in the middle of a renewal");
        test_without(servers.installed[i], kill_server, "gone");
        test_without(servers.installed[i], fail_renewal, "gone, when a renewal has failed");
        test_swallowed(servers.installed[i]);
    }
    diag("figure: the slowest close took %" PRId64 " ms", slowest_ms);
    return faults_end("what was drawn");
}
