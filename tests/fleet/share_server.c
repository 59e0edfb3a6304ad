/* SPDX-License-Identifier: MIT */
/*
 * Processes that share one lease, and what happens to their server. It forgets, or is away for a
 * part of the window: no call fails, and processes come and go. A lease that is lost is replaced
 * for all. Newcomers that find neither a lease nor the server learn the cause. In a pool all move
 * on to a pid of another server.
 */
#include "support/sharers.h"

#define LAYOUT "39:3:14/10ms"

enum { CROWD = 8, FEW = 4, AWAY_TTL = 30000, AWAY_TIMEOUT = 350, POOL_TTL = 4000 };

/* ---- the server ------------------------------------------------------------------------ */

static void forgotten(struct redis *r) {
    const sfid_options opt = sharing_for_long(r, "forgotten");
    struct member *m = sharers_open(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    sharers_renewed(m, FEW);
    redis_do(r, "FLUSHALL", NULL);
    ok(comes_and_goes(&opt, pid),
       "the server has forgotten everything: a newcomer has the same pid at once");
    sharers_renewed(m, FEW);
    ok(sharers_draw(m, FEW) && sharers_have(m, FEW, pid), "and all go on with it");
    sharers_are_well(m, FEW, "the server has forgotten everything");
    sharers_end(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "forgotten");
}

struct failing {
    const struct member *m;
    int before;
};

static bool has_failed(void *arg) {
    const struct failing *f = arg;
    return sharers_events(f->m, FEW, SFID_EVENT_RENEW_FAILED) > f->before;
}

static void away_for_a_while(struct redis *r) {
    /* processes come and go within a window */
    sfid_options opt = fleet_lease(r, "away", AWAY_TTL, SHARERS_HEARTBEAT);
    fleet_timeout(&opt, r, AWAY_TIMEOUT);
    opt.share = 1;
    struct member *m = sharers_open(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    sharers_renewed(m, FEW);
    redis_pause(r);
    ok(comes_and_goes(&opt, pid), "the server is away: a newcomer joins the others");
    const int failed = sharers_events(m, FEW, SFID_EVENT_RENEW_FAILED);
    ok(tap_wait_until(has_failed, &(struct failing){m, failed}, TAP_WAIT_MS),
       "and a renewal fails");
    redis_resume(r);
    sharers_renewed(m, FEW);
    sharers_are_well(m, FEW, "the server was away for less than a window");
    sharers_renewed(m, FEW);
    for (int i = 0; i < FEW; i++)
        member_kill(&m[i]);
    redis_pause(r);
    ok(comes_and_goes(&opt, pid),
       "all are killed, and the server is away: the next one goes on with the lease in the page");
    ok(comes_and_goes(&opt, pid), "and leaves it to another one");
    redis_resume(r);
    struct member *last = member_drawing(&opt);
    ok(member_event(last, SFID_EVENT_RENEWED, 0, TAP_WAIT_MS),
       "the server is back: the lease is renewed");
    is_i64(atomic_load(&last->pid), pid, "under the same pid");
    sharers_end(last, 1);
    judge(LAYOUT, "per-file", UINT64_MAX, "away for a while");
}

/* All at once; with twice the time, and once more all, if one had too little to ask. */
static struct member *crowd_in_vain(sfid_options opt) {
    for (;; opt.open_timeout_ms *= 2) {
        struct member *m = members_new(CROWD, &opt);
        bool late = false;
        for (int i = 0; i < CROWD; i++)
            member_start(&m[i]);
        for (int i = 0; i < CROWD; i++) {
            must(flag_wait(&m[i].opened, 1, opt.open_timeout_ms + TAP_WAIT_MS),
                 "a member does not open");
            member_end(&m[i]);
            late |= member_is_too_late(&m[i]);
        }
        if (!late || opt.open_timeout_ms >= TAP_WAIT_MS / 4)
            return m;
    }
}

static void away_and_no_lease(struct redis *r) {
    sfid_options opt = sharing(r, "none");
    unsigned other = 0;
    redis_pause(r);
    opt.open_timeout_ms = 1500;
    const struct member *m = crowd_in_vain(opt);
    for (int i = 0; i < CROWD; i++) {
        other += m[i].rc != SFID_EREDIS;
        if (m[i].rc != SFID_EREDIS)
            diag("%d: %s", m[i].rc, m[i].text);
    }
    is_u64(other, 0, "the server is away, and there is no lease: %d newcomers get SFID_EREDIS",
           CROWD);
    redis_resume(r);
    sharers_end(sharers_open(&opt, FEW), FEW);
    /* the next app has the same pid in the same tick */
    judge(LAYOUT, "per-file", UINT64_MAX, "away and no lease");
}

/* ---- a lease that is lost ----------------------------------------------------------------- */

static bool has_leased_again(void *m) {
    return sharers_events(m, FEW, SFID_EVENT_LEASED_AGAIN) > 0;
}

/*
 * A keeper that the host holds up is replaced, and what it had asked for may be granted besides. So
 * one or two claims are those of a keeper, for all; as many as members are those of each for
 * itself.
 */
static bool one_for_all(unsigned n) { return n > 0 && n < FEW; }

static void lost(struct redis *r) {
    const sfid_options opt = sharing_for_long(r, "lost");
    char line[RECORD], field[24], record[RECORD];
    int64_t known;
    struct member *m = sharers_open(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    sharers_renewed(m, FEW);
    record_of(r, "lost", pid, line);
    snprintf(field, sizeof field, "%" PRIi64, pid);
    snprintf(record, sizeof record, "%.11s 0000000000000001 other:0:0123456789abcdef", line);
    redis_do(r, "HSET", "sfid:lost", field, record, NULL);
    for (int i = 0; i < FEW; i++) {
        ok(sharer_moves(&m[i], pid), "the lease is lost: %s goes on with another pid", m[i].name);
    }
    ok(sharers_have(m, FEW, atomic_load(&m[0].pid)), "the same for all");
    const unsigned pids = pids_known(r, "lost", &known);
    ok(one_for_all(pids - 1), "one pid was claimed for all (%u with the lost one)", pids);
    ok(comes_and_goes(&opt, atomic_load(&m[0].pid)), "which a newcomer has, too");
    sharers_are_well(m, FEW, "the lease is lost");
    /* it is told after the record is there for all */
    tap_wait_until(has_leased_again, m, TAP_WAIT_MS);
    const int lost = sharers_events(m, FEW, SFID_EVENT_LOST),
              again = sharers_events(m, FEW, SFID_EVENT_LEASED_AGAIN);
    ok(one_for_all((unsigned)lost) && again < FEW, "the keeper alone reports it (%d, %d)", lost,
       again);
    sharers_end(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "lost");
}

/* ---- a pool
 * ------------------------------------------------------------------------------------ */

enum { SERVERS = 2, RANGE = 3 };

static void pool(void) {
    static struct redis server[SERVERS];
    static char list[600];
    size_t n = (size_t)snprintf(list, sizeof list, "pool:");
    for (int i = 0; i < SERVERS; i++) {
        char name[16], user[16];
        snprintf(name, sizeof name, "server-%d", i);
        snprintf(user, sizeof user, "user-%d", i);
        redis_start(&server[i], servers.installed[0], name, 0, "--user", user, "on", ">pw",
                    "~sfid:*", "+@all", NULL);
        n += (size_t)snprintf(list + n, sizeof list - n,
                              "%d-%d=unix://%s:pw@%s?timeout=1s&connect_timeout=1s&share=1 ",
                              i * RANGE + 1, (i + 1) * RANGE, user, server[i].socket);
    }
    sfid_options opt = sharing(&server[0], "pool");
    opt.share = 0; /* the list says it */
    opt.store = list;
    opt.pid_min = opt.pid_max = 0;
    opt.ttl_ms = POOL_TTL;
    /* each server is told that the app is new: SFID_TRUST reaches only the one that the open
     * asks */
    fleet_app_init(&opt);
    struct member *m = sharers_open(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    const int from = (int)(pid - 1) / RANGE;
    int64_t known;
    sharers_renewed(m, FEW);
    ok(sharers_have(m, FEW, pid), "pool: all have one pid");
    redis_kill(&server[from]);
    ok(comes_and_goes(&opt, pid), "pool: its server is away: a newcomer has it, too");
    for (int i = 0; i < FEW; i++) {
        ok(sharer_moves(&m[i], pid), "pool: %s goes on with another pid", m[i].name);
    }
    const int64_t other = atomic_load(&m[0].pid);
    ok(sharers_have(m, FEW, other) && (int)(other - 1) / RANGE != from,
       "pool: one of the other server");
    const unsigned pids = pids_known(&server[1 - from], "pool", &known);
    ok(one_for_all(pids), "pool: which knows one (%u)", pids);
    sharers_are_well(m, FEW, "pool");
    sharers_end(m, FEW);
    char line[RECORD];
    ok(is_released(record_of(&server[1 - from], "pool", other, line)),
       "pool: the last one out releases it");
    redis_kill(&server[1 - from]);
    opt.open_timeout_ms = 1000;
    struct member *late = members_new(1, &opt);
    is_i64(member_open_in_vain(late), SFID_EREDIS, "pool: no server, no lease: %s", late->text);
    member_end(late);
    judge(LAYOUT, "per-file", UINT64_MAX, "pool");
}

static void test(struct redis *r) {
    forgotten(r);
    away_for_a_while(r);
    away_and_no_lease(r);
    lost(r);
}

int main(void) {
    fleet_begin(LAYOUT);
    on_servers(0, 0, test);
    if (servers.n > 0)
        pool();
    return done_testing();
}
