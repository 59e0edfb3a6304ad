/* SPDX-License-Identifier: MIT */
#include "support/visit.h"

struct told *told;
static const sfid_layout visit_layout = SFID_LAYOUT(41, 4, 12, 1, SFID_EPOCH_MS);

bool problem(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(told->problem, sizeof told->problem, fmt, args);
    va_end(args);
    return false;
}

static bool visit_draw(sfid *g) {
    told->pid = sfid_pid(g);
    for (int i = 0; i < 10; i++) {
        const int64_t id = next_within(g, TAP_WAIT_MS);
        if (id < 0 || told->pid < 0 || told->pid > 15 || id <= told->highest[told->pid])
            return problem("ID %" PRIi64 " of pid %" PRIi64, id, told->pid);
        told->highest[told->pid] = id;
    }
    return true;
}

bool visit_open(const struct visit *v) {
    const int fds = count_fds();
    int threads;
    struct rlimit limit, few;
    sfid *g = NULL;
    sfid_options opt = local_options(v->layout ? "wide" : "hostile", "local?lead_ms=1000",
                                     v->layout ? v->layout : &visit_layout);
    if (v->pid) {
        opt.pid = v->pid;
        opt.store = NULL;
    }
    opt.run_dir = v->run_dir;
    opt.state_dir = v->state_dir;
    opt.max_ahead_ms = 0;
    opt.open_timeout_ms = OPEN_TIMEOUT_MS;
    witness_begin();
    threads = count_threads(); /* while there are descriptors */
    getrlimit(RLIMIT_NOFILE, &limit);
    few = limit;
    few.rlim_cur = v->descriptors ? (rlim_t)v->descriptors : limit.rlim_cur;
    setrlimit(RLIMIT_NOFILE, &few);
    const int64_t begin = tap_now_ms();
    told->rc = sfid_open(&g, &opt);
    told->open = took_since(begin);
    snprintf(told->text, sizeof told->text, "%s", sfid_last_error(g));
    const bool good =
        told->rc == 0 ? v->layout || visit_draw(g) : strlen(told->text) > 10 || problem("no text");
    sfid_close(g);
    setrlimit(RLIMIT_NOFILE, &limit);
    if (count_fds() != fds || !tap_wait_until(threads_are, &threads, TAP_WAIT_MS))
        return problem("%d descriptors and %d threads are left", count_fds() - fds,
                       count_threads() - threads);
    return good;
}

int visit_child(void *arg) {
    const struct visit *v = arg;
    const char *const unset[] = {"SFID_RUN_DIR", "SFID_STATE_DIR", "STATE_DIRECTORY"};
    for (size_t i = 0; i < COUNT_OF(unset); i++)
        unsetenv(unset[i]);
    if (v->before && !v->before(v))
        return DIED;
    if (v->user != 0 && (setgroups(0, NULL) < 0 || setresgid(v->user, v->user, v->user) < 0 ||
                         setresuid(v->user, v->user, v->user) < 0))
        return DIED;
    return visit_open(v) ? 0 : 1;
}

bool visit(const struct visit *v, bool either, const char *path, const char *what) {
    told->rc = 1;
    told->pid = -1;
    told->text[0] = told->problem[0] = '\0';
    struct visit copy = *v;
    const int status = child_run(visit_child, &copy, TAP_WAIT_MS);
    const bool refused =
        told->rc == SFID_ESTATE && (path == NULL || strstr(told->text, path) != NULL);
    const bool right = either ? refused || told->rc == 0 : path ? refused : told->rc == 0;
    const bool good = ok(status == 0 && right, "%s: %s", what,
                         either ? "a clear error, or it works"
                         : path ? "a clear error"
                                : "it works");
    in_time(told->open, OPEN_TIMEOUT_MS + OPEN_GRACE_MS, "%s: in time", what);
    if (!good || told->rc != 0)
        diag("%s%sopen %d, pid %" PRIi64 ", %" PRId64 " ms: %s %s",
             good               ? ""
             : path && !refused ? "wanted: "
                                : "",
             good || !path || refused ? "" : path, told->rc, told->pid, told->open.ms, told->text,
             told->problem);
    if (status != 0)
        diag("status %d", status);
    return good;
}
