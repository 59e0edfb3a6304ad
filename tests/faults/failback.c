/* SPDX-License-Identifier: MIT */
/*
 * A master that becomes a replica, misses everything its successor grants, and is made master
 * again: it never stopped running, so its run_id is what it was, and its copy of the app still says
 * that it wrote it. It must not believe that.
 *
 * Nobody reaches either of the two while they change places: so the successor's first words about
 * the app come when the former master does not hear any more. They hold for longer than a window:
 * by then all that the former master knows has run out. When it is back, a newcomer asks for a pid
 * at once, before one of the holders, who is stopped, has said that it has one.
 */
#include "support/pair.h"

enum { TTL_MS = 8000, STOPPED_MS = 1500 };

static void lead_nowhere(struct pair *p) {
    unlink(p->name);
    cut_clients(&p->node[p->master]);
}

/* Who wrote the app as this node knows it: the node itself? */
static bool is_own(struct redis *r, const struct member *m) {
    char key[60], run[64] = "";
    snprintf(key, sizeof key, "sfid:%s", m->app);
    redis_info(r, "server", "run_id", run, sizeof run);
    return run[0] && strncmp(redis_text(r, "HGET", key, "inc", NULL), run, strlen(run)) == 0;
}

static void hold(struct pair *p) {
    for (int i = 0; i < MEMBERS; i++)
        p->m[i].opt.ttl_ms = (uint32_t)(pace * TTL_MS);
}

/* Places are changed; the former master has all of the app and hears no more of it. */
static void change_places(struct pair *p) {
    lead_nowhere(p);
    redis_promote(&p->node[1]);
    p->master = 1;
    redis_replicate(&p->node[0], &p->node[1]);
    note(is_own(&p->node[0], p->m), "%s: the former master's copy says that it wrote it",
         p->program);
    pair_cut(p);
    pair_lead_to(p, 1);
}

/* For longer than a window: what the former master knows has run out. */
static void hold_on(struct pair *p, int64_t since_ms) {
    const int64_t left = since_ms + pace * TTL_MS + 10 * UNIT_MS - tap_now_ms();
    if (left > 0)
        nap_us((long)left * 1000);
    for (int i = HOLDER; i <= SLOW; i++)
        note(member_had(&p->m[i], SFID_EVENT_RENEWED, events_of(&p->m[i], SFID_EVENT_RENEWED) + 1,
                        scene_wait_ms()),
             "%s: %s is renewed by the successor", p->program, p->m[i].name);
}

static void change_back(struct pair *p) {
    for (int i = HOLDER; i <= SLOW; i++)
        member_forget(&p->m[i]);
    member_stop(&p->m[QUICK]);
    redis_kill(&p->node[1]);
    redis_resume(&p->node[0]);
    redis_promote(&p->node[0]);
    note(is_own(&p->node[0], p->m), "%s: made master again it has what it had", p->program);
    pair_lead_to(p, 0);
    member_start(&p->m[NEWCOMER]);
}

/* All pairs first: what is looked at below takes longer than the window of one that is stopped. */
static void go_on(struct pair *p) {
    note_i64(atomic_load(&p->m[NEWCOMER].opened), 0,
             "%s: nobody is given a pid that another may have", p->program);
    member_go_on_in_time(&p->m[QUICK]);
}

static void come_back(struct pair *p) {
    struct member *newcomer = &p->m[NEWCOMER];
    for (int i = HOLDER; i <= SLOW; i++) {
        struct member *m = &p->m[i];
        note(member_had(m, SFID_EVENT_RENEWED, events_of(m, SFID_EVENT_RENEWED) + 1,
                        scene_wait_ms()) &&
                 member_draws(m, 10, scene_wait_ms()),
             "%s: %s goes on", p->program, m->name);
        note_i64(events_of(m, SFID_EVENT_LOST), 0, "%s: with the pid that it had", p->program);
    }
    note_i64(atomic_load(&p->m[HOLDER].errors) + atomic_load(&p->m[SECOND].errors), 0,
             "%s: without an error", p->program);
    note_in_time(took_longer(member_gap(&p->m[HOLDER]), member_gap(&p->m[SECOND])), AT_ONCE_MS,
                 "%s: or a gap", p->program);
    member_end(&p->m[SLOW]);
    note(member_opens(newcomer, scene_wait_ms()),
         "%s: who came new has the first pid that is given back", p->program);
    note_i64(members_end(p->m, MEMBERS), 0, "%s: all end well", p->program);
    redis_kill(&p->node[0]);
}

static void there_and_back(void) {
    static struct pair pairs[2];
    for (size_t i = 0; i < servers.n; i++)
        pair_begin(&pairs[i], servers.installed[i], false, i, hold);
    for (size_t i = 0; i < servers.n; i++) {
        member_open_or_die(&pairs[i].m[QUICK]);
        member_open_or_die(&pairs[i].m[SLOW]);
        redis_replicate(&pairs[i].node[1], &pairs[i].node[0]);
    }
    for (size_t i = 0; i < servers.n; i++)
        change_places(&pairs[i]);
    const int64_t changed = tap_now_ms();
    for (size_t i = 0; i < servers.n; i++)
        hold_on(&pairs[i], changed);
    for (size_t i = 0; i < servers.n; i++)
        change_back(&pairs[i]);
    nap_us(STOPPED_MS * 1000); /* that is how long one of them is */
    for (size_t i = 0; i < servers.n; i++)
        go_on(&pairs[i]);
    for (size_t i = 0; i < servers.n; i++)
        come_back(&pairs[i]);
}

int main(void) {
    faults_begin();
    if (servers.n > 0)
        play(there_and_back, "there and back");
    return done_testing();
}
