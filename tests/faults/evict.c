/* SPDX-License-Identifier: MIT */
/*
 * A server with too little memory, under processes that lease from it. With volatile-ttl it throws
 * registrations away, which prove nothing; with allkeys-lru the hash itself, again and again:
 * nobody notices but by an event, and no ID is issued twice. With noeviction it refuses (OOM):
 * holders are told, and go on; once there is memory they are renewed.
 *
 * Processes come and go all the while: who comes new waits for a pid until the server has known the
 * app for W + S.
 */
#include "support/opens.h"

enum { HOLDER, SECOND, GUEST, MEMBERS, KEY_BYTES = 20000, EVICTED_TIMES = 5 };

struct scene {
    const char *policy, *program;
    struct redis r;
    struct member *m;
    uint64_t rng;
    int lost;     /* how often the hash was found missing */
    int unlisted; /* how many registrations were */
};

static void set_memory(struct scene *s, int64_t bytes) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, bytes);
    redis_do(&s->r, "CONFIG", "SET", "maxmemory", text, NULL);
}

static int64_t memory_used(struct scene *s) {
    char text[32];
    return strtoll(redis_info(&s->r, "memory", "used_memory", text, sizeof text), NULL, 10);
}

static bool has_hash(struct scene *s) {
    char key[100];
    snprintf(key, sizeof key, "sfid:%s", s->m->app);
    return redis_do(&s->r, "EXISTS", key, NULL) == 1;
}

static bool is_registered(struct scene *s, int64_t pid) {
    return strcmp(registration_text(&s->r, "EXISTS", s->m->app, pid), "1") == 0;
}

/* Others' keys, more than there is room for; they last long, so that registrations go first where
 * time to live decides. */
static void fill(struct scene *s, int keys) {
    static char value[KEY_BYTES + 1];
    char key[32];
    memset(value, 'x', KEY_BYTES);
    for (int i = 0; i < keys; i++) {
        snprintf(key, sizeof key, "filler%" PRIu64, draw_random(&s->rng) % 4000);
        reply_free(redis_ask(&s->r, "SET", key, value, "EX", "10000", NULL)); /* or OOM */
    }
}

static void begin(struct scene *s, const char *program, const char *policy, size_t number,
                  bool lasts) {
    static const char *const names[MEMBERS] = {"holder", "second", "guest"};
    *s = (struct scene){.policy = policy, .program = program, .rng = number + 1};
    redis_start(&s->r, program, "evict", 0, "--maxmemory-policy", policy, "--maxmemory-samples",
                "1", NULL);
    s->m = members_at(s->r.socket, "evict", number, MEMBERS, 3, names);
    for (int i = 0; i < MEMBERS; i++)
        s->m[i].opt.ttl_ms = lasts ? LONG_WINDOW_MS : s->m[i].opt.ttl_ms;
    s->m[HOLDER].opt.on_unknown = SFID_TRUST;
    for (int i = 0; i < MEMBERS; i++)
        member_open_or_die(&s->m[i]);
    set_memory(s, memory_used(s) + 40 * KEY_BYTES);
    for (int i = 0; i < MEMBERS; i++)
        member_forget(&s->m[i]);
}

/* One round of pressure. */
static void press(struct scene *s) {
    fill(s, 60);
    s->lost += !has_hash(s);
    for (int i = 0; i < GUEST; i++)
        s->unlisted += !is_registered(s, atomic_load(&s->m[i].pid));
}

static void holders_are_well(struct scene *s) {
    for (int i = HOLDER; i <= SECOND; i++) {
        struct member *m = &s->m[i];
        const int renewed = events_of(m, SFID_EVENT_RENEWED);
        note(member_had(m, SFID_EVENT_RENEWED, renewed + 1, scene_wait_ms()) &&
                 member_draws(m, 10, scene_wait_ms()),
             "%s, %s: %s is renewed", s->program, s->policy, m->name);
        note_i64(events_of(m, SFID_EVENT_LOST), 0, "%s, %s: it lost nothing", s->program,
                 s->policy);
        note_i64(atomic_load(&m->errors), 0, "%s, %s: saw no error", s->program, s->policy);
        note_in_time(member_gap(m), AT_ONCE_MS, "%s, %s: nor a gap", s->program, s->policy);
    }
}

/* Closed and opened again, under pressure; a pid that was given back is had at once, unless that
 * was forgotten since. */
static void come_and_go(struct scene *s) {
    member_end(&s->m[GUEST]);
    press(s);
    member_start(&s->m[GUEST]);
}

static void end(struct scene *s) {
    struct member *guest = &s->m[GUEST];
    const int failovers = events_of(&s->m[HOLDER], SFID_EVENT_FAILOVER);
    set_memory(s, 0);
    const int64_t began = tap_now_ms();
    note(member_opens(guest, TAP_WAIT_MS), "%s, %s: who comes new gets a pid", s->program,
         s->policy);
    const struct took waited = took_since(began);
    /* The server learns of the app anew from a holder's next renewal. */
    note_in_time(waited, pace * HEARTBEAT_MS + wait_most_ms() + AT_ONCE_MS,
                 "%s, %s: W + S after the last eviction at most", s->program, s->policy);
    holders_are_well(s);
    if (strcmp(s->policy, "allkeys-lru") == 0)
        note(s->lost >= EVICTED_TIMES && failovers > 0,
             "%s, %s: the hash was evicted, and holders are told", s->program, s->policy);
    else
        note(s->unlisted >= EVICTED_TIMES && s->lost == 0 && failovers == 0,
             "%s, %s: registrations were evicted, the hash was not", s->program, s->policy);
    diag("figure: %-14s %-13s hash missing %d times, registrations %d; holders' gap %" PRId64
         " ms, newcomer %" PRId64 " ms after it",
         s->program, s->policy, s->lost, s->unlisted, atomic_load(&s->m[HOLDER].gap_ms), waited.ms);
    note_i64(members_end(s->m, MEMBERS), 0, "%s, %s: all end well", s->program, s->policy);
    redis_kill(&s->r);
}

static bool enough(const struct scene *s, size_t count) {
    for (size_t i = 0; i < count; i++)
        if ((strcmp(s[i].policy, "allkeys-lru") == 0 ? s[i].lost : s[i].unlisted) < EVICTED_TIMES)
            return false;
    return true;
}

/* At least three windows long, and until each has lost enough. */
static void evicting(void) {
    static const char *const policies[] = {"volatile-ttl", "allkeys-lru"};
    static struct scene scenes[4];
    size_t count = 0;
    for (size_t i = 0; i < 2 * servers.n; i++, count++)
        begin(&scenes[i], servers.installed[i / 2], policies[i % 2], i, false);
    const int64_t began = tap_now_ms(), least = (int64_t)sized(2000, 60000, 2000);
    struct patience p = {0};
    for (size_t i = 0; i < count; i++)
        come_and_go(&scenes[i]);
    while (tap_now_ms() < began + least || (!enough(scenes, count) && patient(&p, TAP_WAIT_MS))) {
        for (size_t i = 0; i < count; i++)
            press(&scenes[i]);
        nap_us(20000);
    }
    for (size_t i = 0; i < count; i++)
        end(&scenes[i]);
}

/* ---- none is evicted ----------------------------------------------------- */

/* No room at all: renewals fail, windows last. */
static void refusing(const char *program, size_t number) {
    struct scene s;
    begin(&s, program, "noeviction", number, true);
    struct member *m = &s.m[HOLDER];
    set_memory(&s, 1);
    const struct seen *e = member_told(m, 0, 0, "OOM", "");
    ok(e != NULL, "%s: OOM is told by an event", program);
    is_i64(e ? e->code : 0, SFID_EREDIS, "%s: with its code", program);
    ok(e && strstr(e->text, s.r.socket), "%s: and the server's name", program);
    ok(member_draws(m, 10, TAP_WAIT_MS), "%s: IDs flow meanwhile", program);
    fails_with(m->store, m->app, SFID_EREDIS, s.r.socket, "OOM", "who comes new");
    struct member *guest = &s.m[GUEST];
    const int64_t pid = atomic_load(&guest->pid), last = atomic_load(&guest->last_id);
    is_i64(member_end(guest), 0, "%s: who ends meanwhile ends well", program);
    if (!is_i64(member_open_one(guest), 0, "%s: and starts again", program))
        diag("%s", guest->text);
    ok(atomic_load(&guest->pid) == pid && member_draws(guest, 1, TAP_WAIT_MS) &&
           atomic_load(&guest->first_id) > last,
       "%s: with its pid, above the IDs before", program);
    set_memory(&s, 0);
    holders_are_well(&s);
    members_end(s.m, MEMBERS);
    redis_kill(&s.r);
}

static void all_refusing(void) {
    for (size_t i = 0; i < servers.n; i++)
        refusing(servers.installed[i], 10 + i);
}

int main(void) {
    faults_begin();
    if (servers.n > 0) {
        play(all_refusing, "no eviction");
        play(evicting, "eviction");
    }
    return done_testing();
}
