/* SPDX-License-Identifier: MIT */
/*
 * Through a proxy that delays, loses, holds back and cuts: renewals succeed, or fail in time; IDs
 * flow as long as windows last; nobody is told that a lease is lost which is not; and however often
 * a claim has to be made again it takes one pid.
 *
 * Sizes: one server, wild for 5 s (long: each server, 60 s; sanitizer: 5 s).
 */
#include "support/faults.h"
#include "support/proxy.h"

/* Of an exchange on a new connection: three times there and back, which has to fit in D. */
enum { WILD = 5, SCENES = 5, LATE_MS = 2 * EXCHANGE_MS, PATIENT_MS = 20000, CLOSE_MS = 1000 };

/* A server's apps, each with a proxy of its own before it. */
struct scene {
    const char *program, *name;
    struct redis *r;
    struct proxy proxy;
    struct member *m;
    int members, exchange_ms;
    int64_t pid[WILD];
    int renewed; /* so far */
};

/* ---- the scene ------------------------------------------------------------- */

static void scene_make(struct scene *s, struct redis *r, const char *name, size_t number,
                       int members, int exchange_ms, bool wild) {
    *s = (struct scene){.program = r->program,
                        .name = name,
                        .r = r,
                        .members = members,
                        .exchange_ms = exchange_ms};
    s->proxy = proxy_start(r, (unsigned)number + 1);
    s->m = members_at("", name, number, (size_t)members, 8, NULL);
    for (int i = 0; i < members; i++) {
        snprintf(s->m[i].store, sizeof s->m[i].store,
                 "redis://127.0.0.1:%d?timeout=%d&connect_timeout=%d", s->proxy.port,
                 s->exchange_ms, s->exchange_ms);
        if (!wild)
            s->m[i].opt.ttl_ms = LONG_WINDOW_MS;
        s->m[i].opt.on_unknown = i == 0 ? SFID_TRUST : SFID_WAIT_OUT;
    }
}

static void scene_open(struct scene *s) {
    for (int i = 0; i < s->members; i++) {
        member_open_or_die(&s->m[i]);
        s->pid[i] = atomic_load(&s->m[i].pid);
    }
}

static void scene_end(struct scene *s) {
    for (int i = 0; i < s->members; i++)
        is_i64(member_end(&s->m[i]), 0, "%s, %s: ends well", s->program, s->name);
    proxy_end(&s->proxy);
}

/* Pids that the server has as held, of all of the app. */
static int pids_held(const struct scene *s) {
    char key[80];
    int held = 0;
    snprintf(key, sizeof key, "sfid:%s", s->m[0].app);
    struct reply *reply = redis_ask(s->r, "HGETALL", key, NULL);
    for (size_t i = 0; reply->type == '*' && i + 1 < reply->count; i += 2)
        held += strspn(reply->list[i].text, "0123456789") == reply->list[i].size &&
                strchr(reply->list[i + 1].text, ' ') != NULL;
    reply_free(reply);
    return held;
}

static void nobody_lost(const struct scene *s, const char *what) {
    int lost = 0, same = 0;
    for (int i = 0; i < s->members; i++) {
        lost += events_of(&s->m[i], SFID_EVENT_LOST);
        same += atomic_load(&s->m[i].pid) == s->pid[i];
    }
    is_i64(lost, 0, "%s, %s: nobody loses a lease", s->program, what);
    is_i64(same, s->members, "%s, %s: everybody keeps the pid", s->program, what);
    is_i64(pids_held(s), s->members, "%s, %s: and that alone is taken", s->program, what);
}

static bool renews(struct member *m, int more) {
    return member_had(m, SFID_EVENT_RENEWED, events_of(m, SFID_EVENT_RENEWED) + more, TAP_WAIT_MS);
}

/* ---- late ------------------------------------------------------------------- */

static void test_late(struct scene *s) {
    struct member *m = &s->m[0];
    ok(member_had(m, SFID_EVENT_RENEWED, 3, TAP_WAIT_MS),
       "%s: 200 to 300 ms late: renewals succeed", s->program);
    is_i64(atomic_load(&m->errors), 0, "%s: 200 to 300 ms late: without an error", s->program);
    nobody_lost(s, "200 to 300 ms late");
    diag(
        "figure: %s: 200 to 300 ms late: %d renewals, %d failed, longest gap between two IDs %" PRId64
        " ms",
        s->program, events_of(m, SFID_EVENT_RENEWED), events_of(m, SFID_EVENT_RENEW_FAILED),
        atomic_load(&m->gap_ms));
}

/* Carried out, but nobody waits for the answer that long. */
static void test_too_late(struct scene *s) {
    struct member *m = &s->m[0];
    char server[32];
    snprintf(server, sizeof server, "127.0.0.1:%d", s->proxy.port);
    const int from = atomic_load(&m->events);
    atomic_store(&s->proxy.rules->delay_ms, LATE_MS / 2);
    const int64_t began = tap_now_ms();
    ok(member_told(m, from, SFID_EREDIS, "no answer in time", server), "%s: later than D: told",
       s->program);
    in_time(took_since(began), HEARTBEAT_MS + EXCHANGE_MS + AT_ONCE_MS,
            "%s: later than D: within H + D", s->program);
    is_i64(atomic_load(&m->errors), 0, "%s: later than D: IDs flow on", s->program);
    atomic_store(&s->proxy.rules->delay_ms, 0);
    s->renewed = events_of(m, SFID_EVENT_RENEWED);
}

static void test_in_time_again(struct scene *s) {
    ok(member_had(&s->m[0], SFID_EVENT_RENEWED, s->renewed + 2, TAP_WAIT_MS),
       "%s: in time again: renews", s->program);
    nobody_lost(s, "later than D");
}

/* ---- lost ------------------------------------------------------------------- */

static bool none_to_lose(void *arg) {
    const struct proxy_rules *rules = arg;
    return atomic_load(&rules->lose_claims) + atomic_load(&rules->lose_renewals) +
               atomic_load(&rules->lose_releases) ==
           0;
}

static void test_claims_lost(struct scene *s) {
    struct proxy_rules *rules = s->proxy.rules;
    /* A server that is late for one has it uncounted: its client has left by then. */
    ok(atomic_load(&rules->lost) >= 1 && none_to_lose(rules), "%s: two claims had no answer",
       s->program);
    nobody_lost(s, "claims unanswered");
    atomic_store(&rules->lose_renewals, 2);
}

static void test_others_lost(struct scene *s) {
    struct member *m = &s->m[0], *second = &s->m[1];
    struct proxy_rules *rules = s->proxy.rules;
    char record[RECORD];
    ok(tap_wait_until(none_to_lose, rules, TAP_WAIT_MS) && renews(m, 1) && renews(second, 1),
       "%s: renewals without an answer are made again", s->program);
    nobody_lost(s, "renewals unanswered");
    atomic_store(&rules->lose_releases, 1);
    is_i64(member_end(second), 0, "%s: a release without an answer: ends well", s->program);
    in_time(second->close, CLOSE_MS + AT_ONCE_MS, "%s: in time", s->program);
    ok(is_released(record_of(s->r, m->app, s->pid[1], record)), "%s: and the pid is given back",
       s->program);
}

/* ---- held back ---------------------------------------------------------------- */

static void test_held_back(struct scene *s) {
    struct member *m = &s->m[0];
    struct proxy_rules *rules = s->proxy.rules;
    const int failed = events_of(m, SFID_EVENT_RENEW_FAILED);
    atomic_store(&rules->hold, 1);
    const bool held = flag_wait(&rules->held, 1, TAP_WAIT_MS);
    const bool told = member_had(m, SFID_EVENT_RENEW_FAILED, failed + 1, TAP_WAIT_MS);
    atomic_store(&rules->hold, 0);
    ok(held && told, "%s: answers held back past D: told", s->program);
    s->renewed = events_of(m, SFID_EVENT_RENEWED);
}

static void test_let_go(struct scene *s) {
    struct member *m = &s->m[0];
    ok(member_had(m, SFID_EVENT_RENEWED, s->renewed + 2, TAP_WAIT_MS),
       "%s: answers that arrive then do no harm", s->program);
    is_i64(atomic_load(&m->errors), 0, "%s: held back: IDs flow on", s->program);
    nobody_lost(s, "held back");
}

/* ---- wild ---------------------------------------------------------------------- */

static void wild_begin(struct scene *s) {
    struct proxy_rules *rules = s->proxy.rules;
    for (int i = 0; i < s->members; i++)
        member_forget(&s->m[i]);
    atomic_store(&rules->delay_ms, 20);
    atomic_store(&rules->jitter_ms, 150);
    atomic_store(&rules->cut_one_of, 10);
    atomic_store(&rules->silence_one_of, 20);
}

static bool wild_enough(void *arg) {
    const struct scene *s = arg;
    return atomic_load(&s->proxy.rules->cut) >= s->members &&
           atomic_load(&s->proxy.rules->silenced) > 0;
}

/* What may go wrong meanwhile is that a window ends: an error that says so, never a loss. */
static void wild_end(struct scene *s) {
    struct proxy_rules *rules = s->proxy.rules;
    int64_t errors = 0, others = 0;
    int draw = 0, renewed = 0, failed = 0;
    atomic_store(&rules->cut_one_of, 0);
    atomic_store(&rules->silence_one_of, 0);
    atomic_store(&rules->delay_ms, 0);
    atomic_store(&rules->jitter_ms, 0);
    atomic_store(&rules->cut_now, 1);
    int before[WILD];
    for (int i = 0; i < s->members; i++)
        before[i] = events_of(&s->m[i], SFID_EVENT_RENEWED);
    for (int i = 0; i < s->members; i++) {
        struct member *m = &s->m[i];
        draw += member_had(m, SFID_EVENT_RENEWED, before[i] + 1, TAP_WAIT_MS) &&
                member_draws(m, 10, TAP_WAIT_MS);
        errors += atomic_load(&m->errors);
        others += atomic_load(&m->error) != 0 && atomic_load(&m->error) != SFID_ELEASE;
        renewed += events_of(m, SFID_EVENT_RENEWED);
        failed += events_of(m, SFID_EVENT_RENEW_FAILED);
    }
    is_i64(draw, s->members, "%s, wild: everybody draws", s->program);
    is_i64(others, 0, "%s, wild: no error but that a window is over", s->program);
    nobody_lost(s, "wild");
    diag("figure: %s, wild: %d connections, %d cut, %d silent; %d renewals, %d failed; %" PRId64
         " calls refused",
         s->program, atomic_load(&rules->accepted), atomic_load(&rules->cut),
         atomic_load(&rules->silenced), renewed, failed, errors);
}

/* ---- all ------------------------------------------------------------------------ */

static void test_server(const char *program, size_t number) {
    static const char *const names[SCENES] = {"late", "too-late", "lost", "held-back", "wild"};
    static const int members[SCENES] = {1, 1, 2, 1, WILD};
    struct scene all[SCENES];
    struct redis r;
    redis_start(&r, program, "proxied", 0, NULL);
    for (size_t i = 0; i < SCENES; i++)
        scene_make(&all[i], &r, names[i], number * SCENES + i, members[i],
                   i == 0 ? PATIENT_MS : EXCHANGE_MS, i == 4);
    atomic_store(&all[0].proxy.rules->delay_ms, 100);
    atomic_store(&all[0].proxy.rules->jitter_ms, 50);
    atomic_store(&all[2].proxy.rules->lose_claims, 2);
    for (size_t i = 0; i < SCENES; i++)
        scene_open(&all[i]);
    wild_begin(&all[4]);
    const int64_t end = tap_now_ms() + (int64_t)sized(5, 60, 5) * 1000;
    test_claims_lost(&all[2]);
    test_too_late(&all[1]);
    test_held_back(&all[3]);
    test_late(&all[0]);
    test_in_time_again(&all[1]);
    test_others_lost(&all[2]);
    test_let_go(&all[3]);
    while (tap_now_ms() < end)
        nap_us(1000);
    need(tap_wait_until(wild_enough, &all[4], TAP_WAIT_MS),
         "%s: no connections are cut and silenced", program);
    wild_end(&all[4]);
    for (size_t i = 0; i < SCENES; i++)
        for (int k = 0; k < all[i].members; k++)
            atomic_store(&all[i].m[k].may_end, 1);
    for (size_t i = 0; i < SCENES; i++)
        scene_end(&all[i]);
    redis_kill(&r);
}

int main(void) {
    faults_begin();
    for (size_t i = 0; i < servers.n && (i == 0 || getenv("SFID_TEST_LONG")); i++)
        test_server(servers.installed[i], i);
    return faults_end("through a proxy");
}
