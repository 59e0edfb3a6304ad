/* SPDX-License-Identifier: MIT */
/*
 * Closing, with the server stopped, gone or swallowed by the network, between exchanges and in the middle of one: sfid_close()
 * is back within a second and 100 ms. With a server that answers the pid is given back: its record is a position and nothing
 * else, its registration is gone, and the next holder begins above it.
 */
#include "support/clients.h"

#include <sched.h>

enum { CLOSE_MS = 1000, GRACE_MS = SANITIZED ? 1000 : 100, TRIES = 3 };

static int64_t slowest_ms;

/* ---- a server that answers ------------------------------------------------ */

static void test_given_back(const char *program, int number) {
    struct redis r;
    struct client *m = clients_make(2);
    char key[40], pid[24];
    redis_start(&r, program, "close", 0, NULL);
    for (int i = 0; i < 2; i++) {
        char log[40];
        snprintf(log, sizeof log, "given-%d-%d", number, i);
        client_set(&m[i], r.socket, "given", log);
        m[i].pid_min = m[i].pid_max = number;
    }
    m->trust = true;
    client_start_or_bail(m);
    ok(client_draws(m, 100, 5000), "%s: IDs are drawn", program);
    is_i64(client_end(m), 0, "%s: the holder closes", program);
    snprintf(pid, sizeof pid, "%d", number);
    struct reply *record = redis_ask(&r, "HGET", "sfid:given", pid, NULL);
    ok(record->type == '$' && record->size == 11 && strspn(record->text, "0123456789") == 11, "%s: its record is a position alone",
       program);
    const int n = snprintf(key, sizeof key, "sfid:given:%c", number);
    struct reply *left = redis_ask_n(&r, 2, (const char *const[]){"EXISTS", key}, (const size_t[]){6, (size_t)n + 1});
    is_i64(left->number, 0, "%s: its registration is gone", program);
    const int64_t took = atomic_load(&m->close_ms);
    ok(took <= SLACK_MS / 3, "%s: in %" PRId64 " ms", program, took);
    client_start_or_bail(&m[1]);
    ok(atomic_load(&m[1].open_ms) <= SLACK_MS, "%s: the next one has the pid at once", program);
    client_draws(&m[1], 100, 5000);
    client_end(&m[1]);
    reply_free(record);
    reply_free(left);
    redis_kill(&r);
}

/* ---- one that does not ----------------------------------------------------- */

static void stop_server(struct redis *r) { redis_pause(r); }

static void kill_server(struct redis *r) { redis_kill(r); }

static bool has_failed(void *arg) { return client_events(arg, SFID_EVENT_RENEW_FAILED) > 0; }

/* Holds, then the server goes, then the holder closes: after a while, or once it waits for an answer. */
static int64_t close_without(const char *program, void (*goes)(struct redis *r), bool under_way, int number) {
    struct redis r;
    struct client *m = clients_make(1);
    char log[40];
    redis_start(&r, program, "close", 0, NULL);
    snprintf(log, sizeof log, "without-%d", number);
    client_set(m, r.socket, log, log);
    snprintf(m->store, sizeof m->store, "unix://%s?timeout=5000", r.socket);
    m->pid_min = m->pid_max = number;
    m->trust = true;
    m->heartbeat_ms = under_way ? 300 : HEARTBEAT_MS;
    client_start_or_bail(m);
    if (!client_draws(m, 20, 5000))
        bail("%s: no IDs", program);
    goes(&r);
    if (under_way && goes == kill_server)
        tap_wait_until(has_failed, m, 5000);
    else if (under_way)
        nap_us(2 * 300 * 1000); /* twice its heartbeat: it has asked, and would wait for 5 s */
    const int status = client_end(m);
    const int64_t took = atomic_load(&m->closed) ? atomic_load(&m->close_ms) : INT64_MAX;
    if (status != 0)
        diag("%s: the holder ended with %d", program, status);
    redis_kill(&r);
    return took;
}

/* The best of three: the machine may be busy. */
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

static bool answers(void *arg) {
    sfid *g = NULL;
    const int rc = sfid_open(&g, arg);
    sfid_close(g);
    return rc == 0;
}

/* In a network of its own the server's address is taken away: what is sent to it is lost without a word. */
static int in_own_network(void *arg) {
    struct swallowed *s = arg;
    struct client *m = clients_make(1);
    const sfid_layout l = layout_of(LAYOUT);
    if (unshare(CLONE_NEWNET) < 0 ||
        run("ip link set lo up && ip address add 192.0.2.1/32 dev lo && ip route add 192.0.2.0/24 dev lo 2>/dev/null") != 0)
        return 2;
    const pid_t server = serve(s->program);
    client_set(m, "", "swallowed", "swallowed");
    snprintf(m->store, sizeof m->store, "redis://192.0.2.1:6379?timeout=400");
    m->trust = true;
    m->heartbeat_ms = 300;
    const sfid_options opt = client_options(m, &l);
    if (!tap_wait_until(answers, (void *)(uintptr_t)&opt, 20000))
        return 3;
    client_start(m);
    if (!tap_wait_until(client_has_opened, m, 5000) || atomic_load(&m->opened) != 1)
        return 4;
    run("ip address del 192.0.2.1/32 dev lo");
    if (!client_event_after(m, SFID_EVENT_RENEW_FAILED, 0, 1, 2 * WINDOW_MS) || !client_draws(m, 20, WINDOW_MS))
        return 5;
    s->code = atomic_load(&m->failed_code);
    snprintf(s->text, sizeof s->text, "%s", m->failed_text);
    if (client_end(m) != 0)
        return 6;
    s->close_ms = atomic_load(&m->close_ms);
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
    const char *programs[2];
    dirs_make();
    const size_t n = redis_installed_ones(programs, COUNT_OF(programs));
    for (size_t i = 0; i < n; i++) {
        test_given_back(programs[i], (int)i + 1);
        test_without(programs[i], stop_server, false, "stopped");
        test_without(programs[i], stop_server, true, "stopped, in the middle of a renewal");
        test_without(programs[i], kill_server, false, "gone");
        test_without(programs[i], kill_server, true, "gone, when a renewal has failed");
        test_swallowed(programs[i]);
    }
    if (n > 0)
        judge(LAYOUT, "per-file", UINT64_MAX, "what was drawn");
    diag("figure: the slowest close took %" PRId64 " ms", slowest_ms);
    return done_testing();
}
