/* SPDX-License-Identifier: MIT */
/* trial_process.c - what a process of a trial does with a generator, and how it complains. */
#include "support/trial_parts.h"

enum { EACH = 3 };

struct trial_state *trial_state;
struct trial_now trial_now;

void trial_wrong(const char *format, ...) {
    const size_t used = strlen(trial_state->wrong);
    va_list args;
    va_start(args, format);
    if (used + 3 < sizeof trial_state->wrong) {
        const int n = vsnprintf(trial_state->wrong + used, sizeof trial_state->wrong - used - 2,
                                format, args);
        if (n > 0)
            strcat(trial_state->wrong, "; ");
    }
    va_end(args);
}

bool trial_is_verbose(void) { return getenv("SFID_TEST_VERBOSE") != NULL; }

void trial_pass_ms(int64_t ms) {
    atomic_fetch_add(&inject->clock_ns, ms * 1000000);
    if (trial_now.s->server_clock_ns)
        atomic_store(trial_now.s->server_clock_ns, atomic_load(&inject->clock_ns));
}

static void on_event(void *user, const sfid_event *e) {
    (void)user;
    if ((e->kind == SFID_EVENT_RENEW_FAILED || e->kind == SFID_EVENT_LOST) &&
        atomic_fetch_add(&trial_state->reported_failures, 1) == 0)
        snprintf(trial_state->said, sizeof trial_state->said, "%s", e->text);
}

static sfid_options options(const char *app, uint32_t timeout_ms) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.app = app;
    opt.store = trial_now.s->store;
    opt.pid = trial_now.s->pid;
    opt.share = trial_now.s->share;
    opt.run_dir = trial_now.run;
    opt.state_dir = trial_now.home;
    opt.exhaustion = SFID_FAIL;
    opt.max_wait_ms = 0;
    opt.open_timeout_ms = timeout_ms;
    if (trial_now.s->events)
        opt.on_event = on_event;
    if (trial_now.s->adjust)
        trial_now.s->adjust(&opt);
    return opt;
}

int trial_open(sfid **g, const char *app, uint32_t timeout_ms) {
    const sfid_options opt = options(app, timeout_ms);
    inject_enter();
    const int rc = sfid_open(g, &opt);
    inject_leave();
    return rc;
}

void trial_close(sfid *g) {
    inject_enter();
    sfid_close(g);
    inject_leave();
}

int64_t trial_next(sfid *g) {
    inject_enter();
    const int64_t id = sfid_next(g);
    inject_leave();
    return id;
}

void trial_draw(sfid *g, const char *who) {
    struct patience p = {0};
    for (int n = 0; n < EACH;) {
        const int64_t id = trial_next(g);
        const int at = id < 0 ? 0 : atomic_fetch_add(&trial_state->ids_count, 1);
        if (id >= 0 && at < TRIAL_IDS)
            trial_state->ids[at] = id;
        n += id >= 0;
        if (id < 0 && !patient(&p, TAP_WAIT_MS)) {
            trial_wrong("%s: no ID: %s (%s)", who, sfid_strerror((int)id), sfid_last_error(g));
            return;
        }
        if (id == SFID_EAGAIN)
            trial_pass_ms(1000);
        if (id < 0)
            nap_us(200);
    }
}
