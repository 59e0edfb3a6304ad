/* SPDX-License-Identifier: MIT */
/* chaos.h - a game of chaos.c: its state, its servers and their clocks, and what must hold. */
#ifndef SFID_TESTS_CHAOS_H
#define SFID_TESTS_CHAOS_H

#include "support/app.h"

enum {
    CLIENTS = 4,
    PIDS = 4,
    STEPS = 400,
    LATE = 8,
    LEASES = 4096,
    TRACE = 60,
    UNIT = 1000,
    WINDOW = 6,
    BUDGET = 2000
};

struct request {
    char op[8], arg[9][40], witness[48];
};

struct client {
    uint64_t token;              /* of the lease, or of the claim that was not answered; 0: none */
    bool held, closing, renewed; /* renewed: the nonce is a renewal's */
    int pid;
    int64_t lo, limit, position; /* position: where it was closed */
    uint64_t nonce, next;        /* next: shown and not answered; 0: none */
    uint64_t move, move_nonce;   /* of the lease that is to follow a short one; 0: none */
    char witness[48];
};

/* The ticks that a lease may have issued or still may. */
struct window {
    uint64_t token;
    int pid;
    int64_t lo, end;
    int64_t granted; /* the furthest end, also of what was given back */
    bool doubtful;   /* granted from a damaged hash, or behind such a window */
    bool noticed;    /* the witness has begun an era since, which frees nothing before its time */
};

enum { WHOLE, FLUSHED, GONE_BACK, LACKING };

static struct {
    struct app side[2];
    int64_t now, ahead[2]; /* ms; a server's clock is ahead of now by its own */
    /* ANEW: its next exchange begins an era; SETTLED: and its clock is chosen */
    enum { KNOWN, ANEW, SETTLED } anew[2];
    bool saved[2];         /* there is a file */
    int damage[2];         /* since the server's era began */
    struct reply *copy[2]; /* of the hash, as DUMP tells it; NULL: none */
    bool damages;          /* so it may happen */
    int master;
    bool split;     /* the other server was master and can be reached */
    int64_t begun;  /* clock of the master at its first exchange as such; 0: none so far */
    int64_t latest; /* clock of the latest exchange of any server */
    struct client client[CLIENTS];
    struct request late[LATE];
    size_t late_count;
    int late_often, lost_often, forgets_often; /* per cent */
    int clients, pids;
    struct window window[LEASES];
    size_t windows;
    uint64_t tokens, random, exchanges, granted, moved, faults, alarms, taken;
    char era[2][48]; /* the latest */
    char trace[TRACE][200];
    size_t traced;
    bool broken;
} game;

/* splitmix64 */
static uint64_t draw(void) {
    uint64_t z = game.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int64_t below(int64_t n) { return (int64_t)(draw() % (uint64_t)n); }

static bool chance(int percent) { return below(100) < percent; }

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(game.trace[game.traced++ % TRACE], sizeof game.trace[0], fmt, args);
    va_end(args);
}

static void broken(const char *what) {
    if (!game.broken)
        for (size_t i = game.traced > TRACE ? game.traced - TRACE : 0; i < game.traced; i++)
            diag("%s", game.trace[i % TRACE]);
    diag("%s", what);
    game.broken = true;
}

/* ---- clocks and servers --------------------------------------------------- */

static int64_t clock_of(int s) { return game.now + game.ahead[s]; }

static int64_t tick_of(int s) {
    const int64_t since = clock_of(s) - game.side[s].epoch;
    return since / UNIT - (since % UNIT < 0);
}

static bool within_reach(int s) {
    return s == game.master ||
           (game.split && (game.begun == 0 || clock_of(s) <= game.begun + BUDGET));
}

/* A server that begins anew may have its clock set back: as far as it may, or nearly. */
static void settle(int s) {
    const bool too_far = clock_of(s) + BUDGET < game.latest;
    const bool may_begin = game.anew[s] != KNOWN || game.damage[s] != WHOLE;
    if (may_begin && (too_far || (game.anew[s] == ANEW && chance(30))))
        game.ahead[s] += game.latest - BUDGET + (chance(50) ? 0 : below(1001)) - clock_of(s);
    if (game.anew[s] == ANEW)
        game.anew[s] = SETTLED;
}

static bool is_word(const struct reply *r, const char *word) {
    return r->type == '*' && r->count > 0 && r->list[0].type == '$' &&
           strcmp(r->list[0].text, word) == 0;
}

/* WHO-B-N and what may stand behind it; nothing else in an answer has a dash. */
static const char *era_in(const struct reply *r) {
    for (size_t i = r->count; r->type == '*' && i-- > 1;)
        if (r->list[i].type == '$' && strchr(r->list[i].text, '-'))
            return r->list[i].text;
    return "";
}

/* Another server's, or one that has begun later: one of before is that of a copy. */
static bool is_new(const char *era, const char *known) {
    const size_t who = strcspn(era, "-") + 1;
    return strncmp(era, known, who) != 0 ||
           strtoull(era + who, NULL, 10) > strtoull(known + who, NULL, 10);
}

/*
 * An era that the witness had begun is one of a damaged hash, or of a server that was flushed with
 * its clock set back: what it began then looks older than what it had. A new era has no damage.
 */
static void heed_era(int s, const char *era) {
    const size_t why = strcspn(era, " ");
    if (era[why]) {
        game.alarms++;
        for (size_t i = 0; i < game.windows; i++)
            game.window[i].noticed = true;
        if (game.damage[s] == WHOLE)
            broken("a false alarm");
    }
    if (*era && is_new(era, game.era[s])) {
        snprintf(game.era[s], sizeof game.era[s], "%.*s", (int)why, era);
        game.damage[s] = WHOLE;
    }
}

/* NULL: the server is out of reach. */
static struct reply *carry_out(int s, const struct request *q) {
    struct app *a = &game.side[s];
    char line[400];
    if (!within_reach(s))
        return NULL;
    settle(s);
    a->now = clock_of(s);
    redis_clock_fix(a->redis, a->now);
    a->witness = q->witness;
    struct reply *r = app_ask(a, q->op, q->arg[0], q->arg[1], q->arg[2], q->arg[3], q->arg[4],
                              q->arg[5], q->arg[6], q->arg[7], q->arg[8], NULL);
    game.exchanges++;
    game.latest = clock_of(s) > game.latest ? clock_of(s) : game.latest;
    if (s == game.master && (game.begun == 0 || (game.anew[s] && clock_of(s) < game.begun)))
        game.begun = clock_of(s);
    game.anew[s] = KNOWN;
    note("%d at %" PRId64 ".%03d: (%s) %s %s %s %s %s %s %s %s %s: %s", s, tick_of(s),
         (int)(clock_of(s) % UNIT), q->witness, q->op, q->arg[0], q->arg[1], q->arg[2], q->arg[3],
         q->arg[4], q->arg[5], q->arg[6], q->arg[7], reply_line(r, line, sizeof line));
    if (r->type != '*' || r->count < 2)
        broken(line);
    heed_era(s, era_in(r));
    return r;
}

/* ---- what must hold ------------------------------------------------------- */

static struct window *window_of(uint64_t token) {
    for (size_t i = game.windows; i-- > 0;)
        if (game.window[i].token == token)
            return &game.window[i];
    return NULL;
}

static bool is_behind_doubt(int pid, int64_t lo) {
    for (size_t i = 0; i < game.windows; i++)
        if (game.window[i].doubtful && game.window[i].pid == pid &&
            (game.window[i].noticed ? game.window[i].end : game.window[i].granted) >= lo)
            return true;
    return false;
}

/* The lease may issue up to end now. */
static void may_issue(uint64_t token, int pid, int64_t lo, int64_t end, bool doubtful) {
    struct window *w = window_of(token);
    char text[200];
    if (!w || w->pid != pid) {
        need(game.windows != LEASES, "more than %d leases", LEASES);
        doubtful = doubtful || is_behind_doubt(pid, lo);
        w = &game.window[game.windows++];
        *w =
            (struct window){.token = token, .pid = pid, .lo = lo, .end = end, .doubtful = doubtful};
    }
    w->doubtful = w->doubtful || (doubtful && end > w->end);
    w->end = end > w->end ? end : w->end;
    w->granted = w->end > w->granted ? w->end : w->granted;
    game.granted++;
    for (size_t i = 0; i < game.windows; i++) {
        const struct window *o = &game.window[i];
        if (o != w && o->pid == pid && o->lo < w->end && w->lo < o->end && !o->doubtful &&
            !w->doubtful) {
            snprintf(text, sizeof text,
                     "pid %d: T%" PRIu64 " has %" PRId64 " to %" PRId64 ", T%" PRIu64
                     " has %" PRId64 " to %" PRId64,
                     pid, w->token, w->lo, w->end, o->token, o->lo, o->end);
            broken(text);
        }
    }
}

static int64_t number(const struct reply *r, size_t i) {
    return i < r->count && r->list[i].type == '$' ? strtoll(r->list[i].text, NULL, 10) : INT64_MIN;
}

#endif
