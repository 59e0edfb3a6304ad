/* SPDX-License-Identifier: MIT */
/*
 * Failovers that lose acknowledged writes, under processes that lease: no ID is issued twice, and
 * who holds a pid goes on.
 *
 * A name (a symbolic link to a socket) leads to whoever is master. Two pids were given back, and
 * the replica knows that; then it is stopped, its link cut, and both are claimed. The master dies,
 * or is merely not reached any more, and the replica is promoted: its records say that the pids are
 * free from where they were given back. One of the two is stopped for a while within its window,
 * and goes on; the other one until its pid was given to a newcomer, who has to wait for that.
 *
 * Then the way back: the former master, alive all the while or restarted, follows, misses a claim
 * in its turn, and is promoted.
 */
#include "support/pair.h"

/* "released", "held" or "none": what a server knows of a member's pid. */
static const char *known_of(struct redis *r, const struct member *m) {
    char record[RECORD];
    record_of(r, m->app, atomic_load(&m->pid), record);
    return strcmp(record, "nil") == 0 ? "none" : is_released(record) ? "released" : "held";
}

struct known {
    struct redis *r;
    const struct member *m;
};

static bool has_released(void *arg) {
    const struct known *k = arg;
    return strcmp(known_of(k->r, k->m), "released") == 0;
}

/* Gives its pid back; the replica hears of that. */
static void give_back(struct pair *p, int i) {
    member_end(&p->m[i]);
    need(tap_wait_until(has_released, &(struct known){&p->node[1 - p->master], &p->m[i]},
                        TAP_WAIT_MS),
         "%s: the replica does not hear of a release", p->program);
}

/* Claims, draws, and is stopped. */
static void claim_unheard(struct pair *p, int i) {
    member_open_or_die(&p->m[i]);
    need(member_draws(&p->m[i], 10, TAP_WAIT_MS), "%s: no IDs", p->program);
    member_stop(&p->m[i]);
    note(strcmp(known_of(&p->node[p->master], &p->m[i]), "held") == 0, "%s: the master has a claim",
         p->program);
}

/* The master is gone, or merely out of reach; its replica takes over with what it has. */
static void fail_over(struct pair *p, bool dies, bool misses_quick) {
    struct redis *former = &p->node[p->master], *next = &p->node[1 - p->master];
    for (int i = HOLDER; i <= QUICK; i++)
        p->failovers[i] = events_of(&p->m[i], SFID_EVENT_FAILOVER);
    if (dies)
        redis_kill(former);
    redis_resume_promoted(next);
    note(strcmp(known_of(next, &p->m[SLOW]), "released") == 0,
         "%s: which the next one never heard of", p->program);
    if (misses_quick)
        note(strcmp(known_of(next, &p->m[QUICK]), "released") == 0, "%s: nor of another",
             p->program);
    pair_lead_to(p, 1 - p->master); /* the first renewal there makes it forget */
    if (!dies)
        cut_clients(former);
    member_start(&p->m[NEWCOMER]);
    for (int i = HOLDER; i <= QUICK; i++)
        member_forget(&p->m[i]);
}

/* ---- there and back ------------------------------------------------------ */

static void go(struct pair *p) {
    redis_replicate(&p->node[1 - p->master], &p->node[p->master]);
    member_open_or_die(&p->m[QUICK]);
    member_open_or_die(&p->m[SLOW]);
    give_back(p, QUICK);
    give_back(p, SLOW);
    pair_cut(p);
    claim_unheard(p, SLOW);
    claim_unheard(p, QUICK);
    p->stopped_ms = tap_now_ms();
    p->quick_goes_on = false;
    fail_over(p, p->restarts, true);
}

/* The former master follows the new one, and misses what that grants last. */
static void go_back(struct pair *p) {
    redis_replicate(&p->node[1 - p->master], &p->node[p->master]);
    give_back(p, SLOW);
    pair_cut(p);
    claim_unheard(p, SLOW);
    fail_over(p, true, false);
}

static void holders_go_on(struct pair *p, const char *what) {
    for (int i = HOLDER; i <= QUICK; i++) {
        struct member *m = &p->m[i];
        note(member_had(m, SFID_EVENT_FAILOVER, p->failovers[i] + 1, scene_wait_ms()) &&
                 member_had(m, SFID_EVENT_RENEWED, events_of(m, SFID_EVENT_RENEWED) + 1,
                            scene_wait_ms()) &&
                 member_draws(m, 10, scene_wait_ms()),
             "%s, %s: %s goes on", p->program, what, m->name);
        note_i64(events_of(m, SFID_EVENT_LOST), 0, "%s, %s: without a loss", p->program, what);
    }
}

static void others_wait(struct pair *p, const char *what) {
    struct member *newcomer = &p->m[NEWCOMER], *slow = &p->m[SLOW];
    note(member_opens(newcomer, scene_wait_ms()) && member_draws(newcomer, 1, scene_wait_ms()),
         "%s, %s: who comes new gets a pid", p->program, what);
    note_i64(atomic_load(&newcomer->pid), atomic_load(&slow->pid),
             "%s, %s: that of who does not testify", p->program, what);
    note_in_time(newcomer->open, wait_most_ms() + AT_ONCE_MS, "%s, %s: after W + S", p->program,
                 what);
    note(id_tick(&layout, atomic_load(&newcomer->first_id)) >= atomic_load(&slow->limit),
         "%s, %s: and past its window, though its record said that it was free", p->program, what);
    p->lost = events_of(slow, SFID_EVENT_LOST);
    p->again = events_of(slow, SFID_EVENT_LEASED_AGAIN);
    member_go_on(slow);
}

static void slow_loses(struct pair *p, const char *what) {
    note(member_had(&p->m[SLOW], SFID_EVENT_LOST, p->lost + 1, scene_wait_ms()),
         "%s, %s: who comes back then has lost it", p->program, what);
    member_end(&p->m[NEWCOMER]);
}

static void slow_recovers(struct pair *p, const char *what) {
    const struct took gap = took_longer(member_gap(&p->m[HOLDER]), member_gap(&p->m[SECOND]));
    note(member_had(&p->m[SLOW], SFID_EVENT_LEASED_AGAIN, p->again + 1, scene_wait_ms()),
         "%s, %s: and has one again", p->program, what);
    note_i64(atomic_load(&p->m[HOLDER].errors) + atomic_load(&p->m[SECOND].errors), 0,
             "%s, %s: holders see no error", p->program, what);
    note_in_time(gap, AT_ONCE_MS, "%s, %s: nor a gap", p->program, what);
    diag("figure: %-14s %-26s %7" PRId64 " %9" PRId64 "  (ms)", p->program, what, gap.ms,
         p->m[NEWCOMER].open.ms);
}

static void turn_round(struct pair *p) {
    if (p->restarts)
        redis_restart(&p->node[1 - p->master], true);
    pair_follow(p);
}

static void quick_goes_on(struct pair *p) {
    if (!p->quick_goes_on)
        member_go_on_in_time(&p->m[QUICK]);
    p->quick_goes_on = true;
}

static void leg(struct pair *pairs, size_t count, void (*run)(struct pair *p),
                const char *const what[2]) {
    static void (*const then[])(struct pair * p, const char *what) = {holders_go_on, others_wait,
                                                                      slow_loses, slow_recovers};
    for (size_t i = 0; i < count; i++) {
        run(&pairs[i]);
        for (size_t k = 0; k < i; k++)
            if (tap_now_ms() > pairs[k].stopped_ms + pace * WINDOW_MS / 3)
                quick_goes_on(&pairs[k]);
    }
    for (size_t i = 0; i < count; i++)
        quick_goes_on(&pairs[i]);
    for (size_t k = 0; k < COUNT_OF(then); k++)
        for (size_t i = 0; i < count; i++)
            then[k](&pairs[i], what[pairs[i].restarts]);
}

static void end(struct pair *p) {
    note_i64(members_end(p->m, MEMBERS), 0, "%s: all end well", p->program);
    redis_kill(&p->node[0]);
    redis_kill(&p->node[1]);
}

static void there_and_back(void) {
    static const char *const there[] = {"failover, master lives on", "failover, master dies"};
    static const char *const back[] = {"back, former one alive", "back, former one restarted"};
    static struct pair pairs[4];
    size_t count = 0;
    for (size_t i = 0; i < 2 * servers.n; i++, count++)
        pair_begin(&pairs[i], servers.installed[i / 2], i % 2 == 1, i, NULL);
    diag("figure: W %d ms, H %d ms, S %d ms: the longest gap of holders, how long newcomers waited",
         pace * WINDOW_MS, pace * HEARTBEAT_MS, pace * BUDGET_MS);
    leg(pairs, count, go, there);
    for (size_t i = 0; i < count; i++)
        turn_round(&pairs[i]);
    leg(pairs, count, go_back, back);
    for (size_t i = 0; i < count; i++)
        end(&pairs[i]);
}

int main(void) {
    faults_begin();
    if (servers.n > 0)
        play(there_and_back, "failovers");
    return done_testing();
}
