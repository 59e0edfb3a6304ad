/* SPDX-License-Identifier: MIT */
/*
 * A rolling upgrade: processes with the lease script of before (before.lua) and with today's lease from one hash at the same time,
 * without short windows. Each claims, renews and releases what the other granted; nobody is refused, and no tick of a pid is
 * granted to two. A process with today's library is among them.
 *
 * Sizes: 6 s (long: 60 s), and on until enough of each was done.
 */
#include "support/fleet.h"

#define LAYOUT "39:6:14/10ms"
#define APP "upgrade"

enum { CLIENTS = 6, PIDS = 8, TTL = 4000, BUDGET = 50, OWN_MOST = 6, BEARS_MS = 1500 };
enum version { BEFORE, NOW, VERSIONS };

static char *scripts[VERSIONS];
static uint64_t rng;

/* ---- asking ------------------------------------------------------------------ */

/* One lease, as a client has it. */
struct client {
    char base[60];
    uint64_t nonces, nonce, pid, limit; /* nonce: the last one answered */
    bool holds;
};

struct game {
    struct redis *r;
    struct client clients[CLIENTS];
    uint64_t free_from[PIDS + 1]; /* nobody was granted a tick of the pid from here on */
    unsigned asked[VERSIONS], claims, renewals, releases, waits, wrong, overlaps, tokens;
    char word[16];
    uint64_t number[3]; /* the answer's third to fifth string */
};

static void ask(struct game *g, enum version v, const char *op, const char *const own[OWN_MOST]) {
    char epoch[24], now[24];
    snprintf(epoch, sizeof epoch, "%" PRIi64, layout.epoch_ms);
    snprintf(now, sizeof now, "%" PRIi64, wall_ns() / NS_PER_MS);
    const char *args[32] = {"EVAL", scripts[v], "1", "sfid:" APP, op,  "39:6:14", epoch, "10",
                            "4000", "50",       now, "0",         "1", "8",       "1"};
    size_t n = 15;
    if (v == NOW)
        for (int i = 0; i < 3; i++)
            args[n++] = "0";
    for (int i = 0; i < OWN_MOST && own[i]; i++)
        args[n++] = own[i];
    struct reply *reply = redis_ask_n(g->r, n, args, NULL);
    const bool good = reply->type == '*' && reply->count >= 2;
    snprintf(g->word, sizeof g->word, "%.15s", good ? reply->list[0].text : "?");
    for (size_t i = 0; i < 3; i++)
        g->number[i] = good && i + 2 < reply->count ? strtoull(reply->list[i + 2].text, NULL, 10) : 0;
    if (!good)
        diag("%s: %s", op, reply->text ? reply->text : "no text");
    reply_free(reply);
    g->asked[v]++;
}

static bool said(struct game *g, const char *word, const char *op, enum version v) {
    if (strcmp(g->word, word) == 0)
        return true;
    if (g->wrong++ < 5)
        diag("%s, script of %s: %s", op, v == NOW ? "now" : "before", g->word);
    return false;
}

/* ---- a client's steps ---------------------------------------------------------- */

static const char *hex(uint64_t n, char out[20]) {
    snprintf(out, 20, "%016" PRIx64, n);
    return out;
}

static const char *decimal(uint64_t n, char out[24]) {
    snprintf(out, 24, "%" PRIu64, n);
    return out;
}

static void claim(struct game *g, struct client *c, enum version v) {
    char start[24], nonce[20];
    snprintf(c->base, sizeof c->base, "host:%d:%016x", (int)(c - g->clients), ++g->tokens);
    c->nonce = ++c->nonces;
    ask(g, v, "claim", (const char *const[OWN_MOST]){decimal(1 + draw_random(&rng) % PIDS, start), hex(c->nonce, nonce), c->base});
    if (strcmp(g->word, "RETRY") == 0) {
        g->waits++;
        return;
    }
    if (!said(g, "OK", "claim", v))
        return;
    c->holds = true;
    c->limit = g->number[1];
    c->pid = g->number[2] % (PIDS + 1);
    g->overlaps += g->number[0] < g->free_from[c->pid];
    g->free_from[c->pid] = c->limit;
    g->claims++;
}

static void renew(struct game *g, struct client *c, enum version v) {
    char pid[24], old[20], next[20], limit[24];
    ask(g, v, "renew",
        (const char *const[OWN_MOST]){decimal(c->pid, pid), hex(c->nonce, old), c->base, hex(++c->nonces, next),
                                      decimal(c->limit, limit)});
    if (!said(g, "OK", "renew", v))
        return;
    g->overlaps += g->number[1] < c->limit || g->free_from[c->pid] != c->limit;
    c->nonce = c->nonces;
    c->limit = g->free_from[c->pid] = g->number[1];
    g->renewals++;
}

/* All ticks before the next one may have been used. */
static void release(struct game *g, struct client *c, enum version v) {
    char pid[24], nonce[20], position[24], limit[24];
    const uint64_t unused = tick_now(&layout) + 1;
    ask(g, v, "release",
        (const char *const[OWN_MOST]){decimal(c->pid, pid), hex(c->nonce, nonce), c->base, "-", decimal(unused, position),
                                      decimal(c->limit, limit)});
    c->holds = false;
    if (!said(g, "OK", "release", v))
        return;
    g->free_from[c->pid] = unused;
    g->releases++;
}

static void step(struct game *g) {
    const uint64_t random = draw_random(&rng);
    struct client *c = &g->clients[random % CLIENTS];
    const enum version v = random >> 8 & 1;
    const unsigned what = random >> 16 & 255;
    if (c->holds && tick_now(&layout) + 20 >= c->limit)
        c->holds = false; /* it has run out */
    else if (!c->holds)
        claim(g, c, v);
    else if (what < 160)
        renew(g, c, v);
    else if (what < 254)
        release(g, c, v);
    else
        c->holds = false; /* it was killed */
}

static bool has_played(const struct game *g) { return g->claims > 20 && g->renewals > 100 && g->releases > 20; }

/* ---- all of them ------------------------------------------------------------------ */

static void test_upgrade(struct redis *r) {
    static struct game g;
    char line[RECORD];
    g = (struct game){.r = r};
    sfid_options opt = fleet_lease(r, APP, TTL, 1000);
    opt.pid_max = PIDS;
    opt.skew_budget_ms = BUDGET;
    opt.on_unknown = SFID_WAIT_OUT;
    ask(&g, BEFORE, "init", (const char *const[OWN_MOST]){""});
    said(&g, "OK", "init", BEFORE);
    struct member *m = member_drawing(&opt);
    g.free_from[atomic_load(&m->pid) % (PIDS + 1)] = UINT64_MAX; /* not to be granted: it is renewed */
    const int64_t end = mono_ns() + (int64_t)sized(6, 60, 6) * 1000 * NS_PER_MS;
    const int64_t last = mono_ns() + TAP_WAIT_MS * INT64_C(1000000);
    while (mono_ns() < end || (!has_played(&g) && mono_ns() < last)) {
        step(&g);
        nap_us(2000);
    }
    diag("figure: %u questions with the script of before and %u with today's; %u claims, %u renewals, %u releases, %u told to wait",
         g.asked[BEFORE], g.asked[NOW], g.claims, g.renewals, g.releases, g.waits);
    ok(has_played(&g), "there were many claims, renewals and releases");
    is_u64(g.wrong, 0, "nobody was refused or told that a pid is lost");
    is_u64(g.overlaps, 0, "no tick of a pid was granted to two");
    member_is_well(m, "today's library");
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "and it lost nothing");
    const int64_t pid = atomic_load(&m->pid);
    is_i64(member_end(m), 0, "it ends well");
    ok(is_released(record_of(r, APP, pid, line)), "and has released its pid");
    judge(LAYOUT, "per-file", UINT64_MAX, "upgrade");
}

int main(void) {
    rng = fleet_begin(LAYOUT);
    scripts[BEFORE] = files_text((const char *const[]){"tests/fleet/before.lua", NULL});
    scripts[NOW] = files_text(LEASE_SCRIPT);
    on_running_servers(0, 0, BEARS_MS, test_upgrade);
    for (int v = 0; v < VERSIONS; v++)
        free(scripts[v]);
    return done_testing();
}
