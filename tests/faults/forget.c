/* SPDX-License-Identifier: MIT */
/*
 * A server that forgets, in each of its ways, under processes that lease from it: no ID is issued twice, who holds a pid goes
 * on without a gap, and who comes new waits as long as the documents say.
 *
 * Each way has a server of its own, all of one program at once. Four processes hold the four pids there are. When it happens
 * one of them is stopped for a fifth of a window, so that it testifies late; another one until its pid was handed out anew, so
 * that it comes back to find itself forgotten. A newcomer has to wait for that one; a second one gets the pid that a holder
 * gives back meanwhile.
 *
 * Printed is how long holders stalled and newcomers waited, with W, H and S as used.
 */
#include "support/faults.h"

#include <glob.h>

enum { HOLDER, LEAVER, NAPPER, SLEEPER, NEWCOMER, SUCCESSOR, MEMBERS };

struct scene;

struct way {
    const char *name, *args[4];
    void (*before)(struct scene *s); /* when two of four pids are held; NULL: nothing */
    void (*happens)(struct scene *s);
    bool forgets; /* the server hears of an app that it does not know, and cannot tell for a while who has what */
};

struct scene {
    const struct way *way;
    const char *program;
    struct redis r;
    struct member *m;
    int renewed[MEMBERS]; /* before it happened */
    int64_t stopped_ms, outage_ms;
    bool awake;
};

/* ---- what happens -------------------------------------------------------- */

static void flush(struct scene *s) { redis_do(&s->r, "FLUSHALL", NULL); }

static void del_hash(struct scene *s) {
    char key[100];
    snprintf(key, sizeof key, "sfid:%s", s->m->app);
    redis_do(&s->r, "DEL", key, NULL);
}

static void del_registrations(struct scene *s) {
    for (int64_t pid = s->m->opt.pid_min; pid <= s->m->opt.pid_max; pid++)
        note(strcmp(registration_text(&s->r, "DEL", s->m->app, pid), "1") == 0, "%s: pid %" PRId64 " was registered", s->program,
             pid);
}

static void del_both(struct scene *s) {
    del_hash(s);
    del_registrations(s);
}

static void restart_empty(struct scene *s) { redis_restart(&s->r, true); }

static void save(struct scene *s) { redis_do(&s->r, "SAVE", NULL); }

static void restart_as_saved(struct scene *s) { redis_restart(&s->r, false); }

/* The newest of its files without the last 100 bytes: what was being written when the power went. */
static void restart_from_cut_log(struct scene *s) {
    char pattern[160];
    struct stat st;
    glob_t found = {0};
    redis_kill(&s->r);
    snprintf(pattern, sizeof pattern, "%s/appendonlydir/*.incr.aof", s->r.dir);
    if (glob(pattern, 0, NULL, &found) != 0) { /* before Redis 7 there is one */
        snprintf(pattern, sizeof pattern, "%s/appendonly.aof", s->r.dir);
        need(glob(pattern, 0, NULL, &found) == 0, "%s: no log to cut", s->program);
    }
    const char *path = found.gl_pathv[found.gl_pathc - 1];
    need(stat(path, &st) >= 0 && st.st_size >= 1000 && truncate(path, st.st_size - 100) >= 0, "cannot cut %s", path);
    globfree(&found);
    redis_restart(&s->r, false);
}

static const struct way ways[] = {
    {"FLUSHALL", {NULL}, NULL, flush, true},
    {"DEL of the hash", {NULL}, NULL, del_hash, true},
    {"DEL of registrations", {NULL}, NULL, del_registrations, false},
    {"DEL of both", {NULL}, NULL, del_both, true},
    {"restart, empty", {NULL}, NULL, restart_empty, true},
    {"restart, old RDB", {NULL}, save, restart_as_saved, true},
    {"restart, cut AOF", {"--appendonly", "yes", "--appendfsync", "no"}, NULL, restart_from_cut_log, true},
};

/* ---- the play ------------------------------------------------------------ */

static void begin(struct scene *s, const struct way *way, const char *program, size_t number) {
    static const char *const names[MEMBERS] = {"holder", "leaver", "napper", "sleeper", "newcomer", "successor"};
    size_t args = 0;
    *s = (struct scene){.way = way, .program = program, .awake = true};
    while (args < COUNT_OF(way->args) && way->args[args])
        args++;
    redis_start_n(&s->r, program, "forget", 0, args, way->args);
    s->m = members_at(s->r.socket, "forget", number, MEMBERS, 4, names);
    s->m[HOLDER].opt.on_unknown = SFID_TRUST;
    member_open_or_die(&s->m[HOLDER]);
    member_open_or_die(&s->m[LEAVER]);
    if (way->before)
        way->before(s);
    member_open_or_die(&s->m[NAPPER]);
    member_open_or_die(&s->m[SLEEPER]);
}

static void wait_for_renewals(struct scene *s) {
    for (int i = HOLDER; i <= SLEEPER; i++)
        need(member_had(&s->m[i], SFID_EVENT_RENEWED, 1, TAP_WAIT_MS), "%s, %s: no renewal", s->program, s->way->name);
}

static void happen(struct scene *s) {
    s->stopped_ms = tap_now_ms();
    s->awake = false;
    member_stop(&s->m[NAPPER]);
    member_stop(&s->m[SLEEPER]);
    member_forget(&s->m[HOLDER]);
    member_forget(&s->m[LEAVER]);
    const int64_t began = tap_now_ms();
    s->way->happens(s);
    s->outage_ms = tap_now_ms() - began;
    for (int i = HOLDER; i <= LEAVER; i++) /* they have to come once more while S is left: what has nothing believes no other */
        if (window_left_ms(&s->m[i]) < pace * (BUDGET_MS + HEARTBEAT_MS / 2))
            scene_off("%s, %s: the server was away for %" PRId64 " ms", s->program, s->way->name, s->outage_ms);
    for (int i = HOLDER; i <= SLEEPER; i++)
        s->renewed[i] = events_of(&s->m[i], SFID_EVENT_RENEWED);
    member_start(&s->m[NEWCOMER]);
}

static int64_t left_of_nap_ms(const struct scene *s) { return s->stopped_ms + pace * WINDOW_MS / 5 - tap_now_ms(); }

/* The one that slept for a fifth of a window goes on, */
static void wake_napper(struct scene *s) {
    member_go_on_in_time(&s->m[NAPPER]);
    s->awake = true;
}

/* also while it happens to others: a server may take a second to start. */
static void wake_who_is_due(struct scene *scenes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!scenes[i].awake && left_of_nap_ms(&scenes[i]) <= 0)
            wake_napper(&scenes[i]);
}

/* and testifies; those awake have. One of these goes, and gives its pid back. */
static void testify(struct scene *s) {
    for (int i = HOLDER; i <= NAPPER; i++)
        note(member_had(&s->m[i], SFID_EVENT_RENEWED, s->renewed[i] + 1, scene_wait_ms()), "%s, %s: %s is renewed after it",
             s->program, s->way->name, s->m[i].name);
    member_end(&s->m[LEAVER]);
    member_start(&s->m[SUCCESSOR]);
}

static void come(struct scene *s) {
    struct member *newcomer = &s->m[NEWCOMER], *successor = &s->m[SUCCESSOR];
    const struct member *sleeper = &s->m[SLEEPER];
    note(member_opens(successor, scene_wait_ms()) && member_opens(newcomer, scene_wait_ms()), "%s, %s: who comes new gets a pid",
         s->program, s->way->name);
    const bool swapped = atomic_load(&newcomer->pid) != atomic_load(&sleeper->pid); /* it looked at the right moment */
    struct member *slow = swapped ? successor : newcomer;
    if (!swapped)
        note_in_time(successor->open, AT_ONCE_MS, "%s, %s: a pid given back since is had at once", s->program, s->way->name);
    note_in_time(slow->open, wait_most_ms() + AT_ONCE_MS, "%s, %s: one of who does not testify after W + S", s->program,
                 s->way->name);
    note(member_draws(slow, 1, scene_wait_ms()) && id_tick(&layout, atomic_load(&slow->first_id)) >= atomic_load(&sleeper->limit),
         "%s, %s: and not before its window is over", s->program, s->way->name);
}

/* It has lost its pid and knows; when there is one again it has that. */
static void wake(struct scene *s) {
    struct member *sleeper = &s->m[SLEEPER];
    note(member_had(sleeper, SFID_EVENT_LOST, 1, scene_wait_ms()), "%s, %s: who slept too long loses its pid", s->program,
         s->way->name);
    member_end(&s->m[NEWCOMER]);
}

static void recover(struct scene *s) {
    struct member *sleeper = &s->m[SLEEPER];
    note(member_had(sleeper, SFID_EVENT_LEASED_AGAIN, 1, scene_wait_ms()) && member_draws(sleeper, 10, scene_wait_ms()),
         "%s, %s: and has one again once one is free", s->program, s->way->name);
}

static void end(struct scene *s) {
    const struct member *holder = &s->m[HOLDER], *leaver = &s->m[LEAVER];
    const char *program = s->program, *way = s->way->name;
    note_i64(members_end(s->m, MEMBERS), 0, "%s, %s: all end well", program, way);
    note_i64(atomic_load(&holder->errors) + atomic_load(&leaver->errors), 0, "%s, %s: holders see no error", program, way);
    note_i64(events_of(holder, SFID_EVENT_LOST) + events_of(leaver, SFID_EVENT_LOST), 0, "%s, %s: and lose nothing", program, way);
    const struct took gap = took_longer(member_gap(holder), member_gap(leaver));
    note_in_time(gap, AT_ONCE_MS, "%s, %s: and go on without a gap", program, way);
    note_i64(events_of(&s->m[NAPPER], SFID_EVENT_LOST), 0, "%s, %s: nor does who slept for less than a window", program, way);
    note_i64(events_of(holder, SFID_EVENT_FAILOVER) > 0, s->way->forgets, "%s, %s: they are told if the server forgot", program,
             way);
    diag("figure: %-14s %-21s %5" PRId64 " %7" PRId64 " %9" PRId64 " %9" PRId64, program, way, s->outage_ms, gap.ms,
         s->m[SUCCESSOR].open.ms, s->m[NEWCOMER].open.ms);
    redis_kill(&s->r);
}

static size_t program; /* which server */

static void all_ways(void) {
    static struct scene scenes[COUNT_OF(ways)];
    const size_t count = COUNT_OF(ways);
    for (size_t i = 0; i < count; i++)
        begin(&scenes[i], &ways[i], servers.installed[program], program * count + i);
    for (size_t i = 0; i < count; i++)
        wait_for_renewals(&scenes[i]);
    for (size_t i = 0; i < count; i++) {
        happen(&scenes[i]);
        wake_who_is_due(scenes, i + 1);
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t left = left_of_nap_ms(&scenes[i]);
        if (left > 0)
            nap_us((long)left * 1000);
        wake_who_is_due(scenes, i + 1);
    }
    for (size_t i = 0; i < count; i++)
        testify(&scenes[i]);
    for (size_t i = 0; i < count; i++)
        come(&scenes[i]);
    for (size_t i = 0; i < count; i++)
        member_go_on(&scenes[i].m[SLEEPER]);
    for (size_t i = 0; i < count; i++)
        wake(&scenes[i]);
    for (size_t i = 0; i < count; i++)
        recover(&scenes[i]);
    for (size_t i = 0; i < count; i++)
        end(&scenes[i]);
}

int main(void) {
    faults_begin();
    diag("figure: W %d ms, H %d ms, S %d ms: holders go on, released pids at once, others wait W + S and may look %d ms later",
         WINDOW_MS, HEARTBEAT_MS, BUDGET_MS, JITTER_MS);
    diag("figure: %-14s %-21s %5s %7s %9s %9s  (ms)", "server", "what", "away", "holders", "released", "others");
    for (program = 0; program < servers.n; program++)
        play(all_ways, servers.installed[program]);
    return done_testing();
}
