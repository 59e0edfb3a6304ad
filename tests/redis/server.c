/* SPDX-License-Identifier: MIT */
/*
 * The servers that the other tests start: they answer, keep what was saved, follow a master, stop,
 * have a clock that can be set, and end with whoever started them.
 */
#include "support/redis.h"

static void keeps_what_was_saved(const char *program) {
    struct redis r;
    redis_start(&r, program, "saved", 0, "--maxmemory-policy", "noeviction", NULL);
    redis_do(&r, "SET", "a", "old", NULL);
    redis_do(&r, "SAVE", NULL);
    redis_do(&r, "SET", "a", "new", NULL);
    redis_restart(&r, false);
    is_str(redis_text(&r, "GET", "a", NULL), "old", "%s restarted: what was saved", program);
    redis_restart(&r, true);
    is_str(redis_text(&r, "GET", "a", NULL), "nil", "%s restarted empty", program);
    const pid_t pid = r.pid;
    redis_kill(&r);
    ok(kill(pid, 0) < 0 && errno == ESRCH, "%s ended", program);
}

static void follows(const char *program) {
    struct redis master, replica;
    char a[64], b[64], role[16];
    redis_start(&master, program, "master", REDIS_PORT, NULL);
    redis_start(&replica, program, "replica", REDIS_PORT, NULL);
    ok(master.port != replica.port && master.port > 0, "%s: ports of their own", program);
    redis_do(&master, "SET", "a", "1", NULL);
    redis_replicate(&replica, &master);
    is_str(redis_text(&replica, "GET", "a", NULL), "1", "%s: the replica has what its master has",
           program);
    redis_info(&master, "replication", "master_replid", a, sizeof a);
    redis_promote(&replica);
    is_str(redis_info(&replica, "replication", "role", role, sizeof role), "master", "%s: promoted",
           program);
    is_str(redis_info(&replica, "replication", "master_replid2", b, sizeof b), a,
           "%s: and it remembers whom it followed", program);
    redis_kill(&master);
    redis_kill(&replica);
}

static void pauses(const char *program) {
    struct redis r;
    const char *const ping[] = {"PING"};
    redis_start(&r, program, "paused", 0, NULL);
    redis_pause(&r);
    waitpid(r.pid, NULL, WUNTRACED);
    ok(resp_send(r.conn, 1, ping, NULL), "%s stopped: a request can be sent", program);
    struct reply *reply = resp_read(r.conn, 100);
    ok(reply == NULL, "%s stopped: no reply", program);
    redis_resume(&r);
    reply = resp_read(r.conn, TAP_WAIT_MS);
    ok(reply && strcmp(reply->text, "PONG") == 0, "%s goes on: the reply comes", program);
    reply_free(reply);
    redis_kill(&r);
}

static int64_t server_ms(struct redis *r) {
    struct reply *reply = redis_ask(r, "EVAL", "return redis.call('TIME')", "0", NULL);
    need(reply->count == 2, "TIME: no time");
    const int64_t ms = strtoll(reply->list[0].text, NULL, 10) * 1000 +
                       strtoll(reply->list[1].text, NULL, 10) / 1000;
    reply_free(reply);
    return ms;
}

static void has_a_clock(const char *program) {
    struct redis r;
    const int64_t hour = 3600000, moment = INT64_C(1795268340777);
    redis_start(&r, program, "clock", REDIS_CLOCK, NULL);
    const int64_t began = tap_now_ms(), before = server_ms(&r);
    redis_clock_offset(&r, hour);
    const int64_t later = server_ms(&r) - before, meanwhile = tap_now_ms() - began;
    /* A second: for clocks that are set meanwhile. */
    if (!ok(later >= hour && later <= hour + meanwhile + 1000, "%s: an hour ahead", program))
        diag("%" PRId64 " ms", later);
    redis_clock_fix(&r, moment);
    is_i64(server_ms(&r), moment, "%s: held", program);
    redis_clock_fix(&r, moment + 1);
    is_i64(server_ms(&r), moment + 1, "%s: a millisecond on", program);
    redis_do(&r, "SET", "a", "1", "PX", "50", NULL);
    redis_clock_fix(&r, moment + 100);
    is_str(redis_text(&r, "GET", "a", NULL), "nil", "%s: keys run out by it", program);
    redis_kill(&r);
}

static bool hears_nobody(void *path) {
    struct resp *c = resp_unix(path);
    resp_close(c);
    return c == NULL;
}

/* A test that is killed takes its servers along. */
static void ends_with_its_parent(const char *program) {
    int ready[2];
    struct redis r = {.pid = 0};
    need(pipe(ready) >= 0, "pipe: %s", strerror(errno));
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* to wait for the server, which is its child's */
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        redis_start(&r, program, "orphan", 0, NULL);
        if (write(ready[1], &r, sizeof r) != sizeof r)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    ok(read(ready[0], &r, sizeof r) == sizeof r && kill(r.pid, 0) == 0, "%s of a child runs",
       program);
    struct resp *c = resp_unix(r.socket);
    ok(c != NULL, "%s of a child: a connection", program);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct reply *reply = c ? resp_read(c, TAP_WAIT_MS) : NULL;
    ok(reply == NULL && tap_wait_until(hears_nobody, r.socket, TAP_WAIT_MS), "%s ended with it",
       program);
    waitpid(r.pid, NULL, 0);
    reply_free(reply);
    resp_close(c);
    close(ready[0]);
}

int main(void) {
    const char *programs[8];
    const size_t n = redis_installed_ones(programs, 8);
    for (size_t i = 0; i < n; i++) {
        keeps_what_was_saved(programs[i]);
        follows(programs[i]);
        pauses(programs[i]);
        has_a_clock(programs[i]);
        ends_with_its_parent(programs[i]);
    }
    return done_testing();
}
