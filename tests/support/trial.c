/* SPDX-License-Identifier: MIT */
/* trial.c - all trials of a scenario, one after the other; trial_work.c has what happens in one. */
#include "support/trial_parts.h"

enum { COMPLAINTS = 12 };

static uint32_t tried[INJECT_KINDS];
static unsigned total;

static const char *const works[] = {"open", "renew", "close", "fork"};

void trials_begin(void) {
    trial_state = shared_memory(sizeof *trial_state);
    inject = &trial_state->inject;
}

static void look_at_ids(void) {
    const int n = atomic_load(&trial_state->ids_count);
    int same = 0;
    if (n > TRIAL_IDS)
        trial_wrong("%d IDs are too many for this test", n);
    qsort(trial_state->ids, n < TRIAL_IDS ? (size_t)n : TRIAL_IDS, sizeof *trial_state->ids,
          by_i64);
    for (int i = 1; i < n && i < TRIAL_IDS; i++)
        same += trial_state->ids[i] == trial_state->ids[i - 1];
    if (same)
        trial_wrong("%d IDs of %d twice", same, n);
}

/* Runs one. Returns whether all was well. */
static bool trial(const struct inject_plan *plan) {
    const int64_t clock_ns = atomic_load(&inject->clock_ns); /* it never goes back */
    memset((void *)trial_state, 0, sizeof *trial_state);
    atomic_store(&inject->clock_ns, clock_ns);
    inject->plan = *plan;
    trial_now.is_good = plan->call == 0;
    trial_now.number++;
    snprintf(trial_now.run, sizeof trial_now.run, "%.60s/r%u", dirs.shm, trial_now.number);
    snprintf(trial_now.home, sizeof trial_now.home, "%.60s/s%u/below", dirs.shm, trial_now.number);
    snprintf(trial_now.app, sizeof trial_now.app, "app%u", trial_now.number);
    const int status = child_run(trial_run, NULL, TRIAL_LIMIT_MS);
    if (status != 0)
        trial_wrong(status == TIMED_OUT ? "it hangs" : "it died (%d)", status);
    look_at_ids();
    remove_tree(trial_now.run);
    trial_now.home[strlen(trial_now.home) - strlen("/below")] = '\0';
    remove_tree(trial_now.home);
    return trial_state->wrong[0] == '\0';
}

static unsigned reached, bad;

static void fail_one(const struct inject_plan *plan) {
    const int64_t began = tap_now_ms();
    const bool good = trial(plan);
    if (trial_is_verbose() && tap_now_ms() - began > 40)
        diag("slow: %s %u of %d: %d ms", inject_names[plan->kind], plan->call, plan->side,
             (int)(tap_now_ms() - began));
    const uint32_t hits = trial_state->hits;
    total++;
    reached += hits > 0;
    tried[plan->kind] += hits > 0;
    trial_now.was_bad |= !good;
    if (!good && bad++ < COMPLAINTS)
        diag("%s %s: %s %u%s of the %s has %s: %s", trial_now.s->name, works[trial_now.work],
             inject_names[plan->kind], plan->call, plan->all ? " and later ones" : "",
             plan->side ? "keeper" : "caller", inject_shown(plan->error), trial_state->wrong);
    if (trial_state->said[0] && trial_is_verbose())
        diag("text: %s %s: %s %u %s: %s", trial_now.s->name, works[trial_now.work],
             inject_names[plan->kind], plan->call, inject_shown(plan->error), trial_state->said);
    if (trial_state->survived && hits && trial_is_verbose())
        diag("survived: %s %s: %s %u %s", trial_now.s->name, works[trial_now.work],
             inject_names[plan->kind], plan->call, inject_shown(plan->error));
}

/*
 * Whether all later calls may fail as well. No clock fails for ever. If a process gets no mapping
 * at all, a page that it closes stays locked until the process ends: it cannot be unmapped under
 * calls that are late.
 */
static bool may_last(const struct inject_plan *plan) {
    return plan->error != EINTR && plan->error != INJECT_PART &&
           plan->kind != INJECT_clock_gettime && plan->kind != INJECT_mmap64;
}

/* After one failure a file is opened anew: only a lasting one is an error. */
static bool is_tried_again(enum inject_kind kind) { return kind == INJECT_fstatat64; }

static void fail_call(enum inject_side side, enum inject_kind kind, uint32_t call) {
    const bool is_long = getenv("SFID_TEST_LONG") != NULL;
    for (int i = 0; i < INJECT_FIRST && inject_errors[kind][i] != 0; i++) {
        struct inject_plan plan = {
            .side = side, .kind = kind, .call = call, .error = inject_errors[kind][i]};
        if (i > 0 && !is_long)
            return;
        fail_one(&plan);
        plan.all = true;
        if ((is_long || is_tried_again(kind)) && may_last(&plan))
            fail_one(&plan);
    }
}

void trials(const struct scenario *s, enum trial_work work) {
    uint32_t calls[INJECT_SIDES][INJECT_KINDS];
    const char *only = getenv("SFID_TEST_ONLY"), *works_only = getenv("SFID_TEST_WORK");
    if ((only && strcmp(only, s->name) != 0) ||
        (works_only && strcmp(works_only, works[work]) != 0))
        return;
    trial_now.s = s;
    trial_now.work = work;
    reached = bad = 0;
    const unsigned before = total;
    if (!trial(&(struct inject_plan){.call = 0})) {
        ok(false, "%s %s: all is well if no call fails", s->name, works[work]);
        diag("%s", trial_state->wrong);
        return;
    }
    memcpy(trial_now.good, trial_state->round, sizeof trial_now.good);
    for (int side = 0; side < INJECT_SIDES; side++)
        for (int kind = 0; kind < INJECT_KINDS; kind++)
            calls[side][kind] = trial_state->most[side][kind];
    const int64_t began = tap_now_ms();
    const uint32_t step = getenv("SFID_TEST_LONG") || getenv("SFID_TEST_EACH") ? 1
                          : SANITIZED                                          ? 9
                                                                               : 3;
    for (int side = 0; side < INJECT_SIDES; side++)
        for (int kind = 0; kind < INJECT_KINDS; kind++)
            for (uint32_t call = 1; call <= calls[side][kind]; call += step)
                fail_call(side, kind, call);
    ok(bad == 0 && reached > 0, "%s %s: %u calls fail in turn, and all goes on", s->name,
       works[work], total - before);
    diag("%u trials, %u where the call came, %u bad, %lld ms", total - before, reached, bad,
         (long long)(tap_now_ms() - began));
}

void trials_end(void) {
    char line[2000] = "";
    size_t used = 0;
    for (int kind = 0; kind < INJECT_KINDS; kind++)
        if (tried[kind] && used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, " %s %" PRIu32,
                                     inject_names[kind], tried[kind]);
    diag("failed by kind:%s", line);
}
