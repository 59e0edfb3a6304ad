/* SPDX-License-Identifier: MIT */
/*
 * Several clients, two real servers and everything that may go wrong, at random: no two leases ever have the same tick of the
 * same pid.
 *
 * A game is some hundred steps by up to four clients on up to three pids. The servers' clocks stand still and are moved on,
 * forth and back. Requests are lost on the way back, or carried out much later; servers are flushed, restarted from nothing or
 * an old file, superseded by a copy that lags behind, made master again; and a superseded one goes on granting for a while.
 * Clients may issue any tick of a window granted, at any time: that is what windows are compared as. In most games some
 * pids are short, and who holds one asks for an ordinary one. Strangers register pids, and lose that again.
 *
 * What the script assumes is kept to: when a server begins anew, its clock is no further behind than S of any
 * that granted something before; a superseded server is out of reach once its clock is S past its successor's beginning; the
 * operator says that nobody runs only when that is so.
 *
 * Sizes: 60 games each server (long: 3000). $SFID_TEST_GAMES sets another number, $SFID_TEST_SEED another seed.
 */
#include "support/app.h"

enum { CLIENTS = 4, PIDS = 4, STEPS = 400, LATE = 8, LEASES = 4096, TRACE = 60, UNIT = 1000, WINDOW = 6, BUDGET = 2000 };

struct request {
    char op[8], arg[8][40];
};

struct client {
    uint64_t token; /* of the lease, or of the claim that was not answered; 0: none */
    bool held, closing;
    int pid;
    int64_t lo, limit, position; /* position: where it was closed */
    uint64_t nonce, next;        /* next: shown and not answered; 0: none */
    uint64_t move, move_nonce;   /* of the lease that is to follow a short one; 0: none */
};

/* The ticks that a lease may have issued or still may. */
struct window {
    uint64_t token;
    int pid;
    int64_t lo, end;
};

static struct {
    struct app side[2];
    int64_t now, ahead[2];                 /* ms; a server's clock is ahead of now by its own */
    enum { KNOWN, ANEW, SETTLED } anew[2]; /* ANEW: its next exchange begins an era; SETTLED: and its clock is chosen */
    bool saved[2];                         /* there is a file */
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
    uint64_t tokens, random, exchanges, granted, moved, faults;
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
    return s == game.master || (game.split && (game.begun == 0 || clock_of(s) <= game.begun + BUDGET));
}

/* A server that begins anew may have its clock set back: as far as it may, or nearly. */
static void settle(int s) {
    const bool too_far = clock_of(s) + BUDGET < game.latest;
    if (game.anew[s] != KNOWN && (too_far || (game.anew[s] == ANEW && chance(30))))
        game.ahead[s] += game.latest - BUDGET + (chance(50) ? 0 : below(1001)) - clock_of(s);
    if (game.anew[s] == ANEW)
        game.anew[s] = SETTLED;
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
    struct reply *r =
        app_ask(a, q->op, q->arg[0], q->arg[1], q->arg[2], q->arg[3], q->arg[4], q->arg[5], q->arg[6], q->arg[7], NULL);
    game.exchanges++;
    game.latest = clock_of(s) > game.latest ? clock_of(s) : game.latest;
    if (s == game.master && (game.begun == 0 || (game.anew[s] && clock_of(s) < game.begun)))
        game.begun = clock_of(s);
    game.anew[s] = KNOWN;
    note("%d at %" PRId64 ".%03d: %s %s %s %s %s %s %s %s %s: %s", s, tick_of(s), (int)(clock_of(s) % UNIT), q->op, q->arg[0],
         q->arg[1], q->arg[2], q->arg[3], q->arg[4], q->arg[5], q->arg[6], q->arg[7], reply_line(r, line, sizeof line));
    if (r->type != '*' || r->count < 2)
        broken(line);
    return r;
}

/* ---- what must hold ------------------------------------------------------- */

static struct window *window_of(uint64_t token) {
    for (size_t i = game.windows; i-- > 0;)
        if (game.window[i].token == token)
            return &game.window[i];
    return NULL;
}

/* The lease may issue up to end now. */
static void may_issue(uint64_t token, int pid, int64_t lo, int64_t end) {
    struct window *w = window_of(token);
    char text[200];
    if (!w || w->pid != pid) {
        need(game.windows != LEASES, "more than %d leases", LEASES);
        w = &game.window[game.windows++];
        *w = (struct window){token, pid, lo, end};
    }
    w->end = end > w->end ? end : w->end;
    game.granted++;
    for (size_t i = 0; i < game.windows; i++) {
        const struct window *o = &game.window[i];
        if (o != w && o->pid == pid && o->lo < w->end && w->lo < o->end) {
            snprintf(text, sizeof text,
                     "pid %d: T%" PRIu64 " has %" PRId64 " to %" PRId64 ", T%" PRIu64 " has %" PRId64 " to %" PRId64, pid, w->token,
                     w->lo, w->end, o->token, o->lo, o->end);
            broken(text);
        }
    }
}

static int64_t number(const struct reply *r, size_t i) {
    return i < r->count && r->list[i].type == '$' ? strtoll(r->list[i].text, NULL, 10) : INT64_MIN;
}

static bool is_word(const struct reply *r, const char *word) {
    return r->type == '*' && r->count > 0 && r->list[0].type == '$' && strcmp(r->list[0].text, word) == 0;
}

/* ---- clients -------------------------------------------------------------- */

static void answered(struct client *c, const char *op, const struct reply *r) {
    const bool claim = strcmp(op, "claim") == 0;
    const bool moved = strcmp(op, "renew") == 0 && is_word(r, "MOVED");
    game.moved += moved;
    if (moved) /* the short window may be used up */
        *c = (struct client){.token = c->move, .nonce = c->move_nonce};
    if (is_word(r, "OK") || moved) {
        const int64_t lo = number(r, 2), limit = number(r, 3);
        if (lo > limit || (claim || moved ? lo >= limit : limit < c->limit))
            broken("an impossible window");
        if (claim || moved)
            c->held = true, c->pid = (int)number(r, 4), c->lo = lo;
        else
            c->nonce = c->next, c->next = 0;
        c->limit = limit;
        may_issue(c->token, c->pid, c->lo, c->limit);
    } else if (is_word(r, "LOST") || is_word(r, "GONE") || is_word(r, "FOREIGN")) {
        *c = (struct client){0}; /* what was granted may be used up, but the lease is not shown again */
    } else if (!is_word(r, "RETRY")) {
        broken("an answer that should not be");
    }
}

static void write_request(const struct client *c, const char *op, struct request *q) {
    const uint64_t shown = c->next ? c->next : c->nonce;
    memset(q, 0, sizeof *q);
    snprintf(q->op, sizeof q->op, "%s", op);
    if (strcmp(op, "claim") == 0) {
        snprintf(q->arg[0], sizeof q->arg[0], "%" PRId64, below(game.pids));
        snprintf(q->arg[1], sizeof q->arg[1], "%012" PRIu64, c->nonce);
    } else {
        snprintf(q->arg[0], sizeof q->arg[0], "%d", c->pid);
        snprintf(q->arg[1], sizeof q->arg[1], "%012" PRIu64, c->nonce);
        snprintf(q->arg[3], sizeof q->arg[3], "%012" PRIu64, shown);
        snprintf(q->arg[4], sizeof q->arg[4], "%" PRId64, c->closing ? c->position : c->limit);
        snprintf(q->arg[5], sizeof q->arg[5], "%" PRId64, c->limit);
    }
    snprintf(q->arg[2], sizeof q->arg[2], "m:0:%016" PRIx64, c->token);
    if (strcmp(op, "renew") == 0 && c->move != 0) {
        snprintf(q->arg[5], sizeof q->arg[5], "%" PRId64, below(game.pids));
        snprintf(q->arg[6], sizeof q->arg[6], "%012" PRIu64, c->move_nonce);
        snprintf(q->arg[7], sizeof q->arg[7], "m:0:%016" PRIx64, c->move);
    }
}

static void keep_for_later(const struct request *q) {
    if (game.late_count < LATE)
        game.late[game.late_count++] = *q;
}

/* Asks the master, or whom the client takes for it; the answer may get lost, or the request be late. */
static void ask(struct client *c, const char *op) {
    struct request q;
    const int s = game.split && chance(40) ? 1 - game.master : game.master;
    write_request(c, op, &q);
    if (chance(game.late_often)) {
        keep_for_later(&q);
        return;
    }
    struct reply *r = carry_out(s, &q);
    if (r && !chance(game.lost_often) && strcmp(op, "release") != 0)
        answered(c, op, r);
    reply_free(r);
    if (chance(game.late_often) && strcmp(op, "release") != 0)
        keep_for_later(&q); /* the one before, which had timed out */
}

/* Closed first, then sent, once: what it says it has issued is all it ever will. */
static void give_back(struct client *c) {
    struct window *w = window_of(c->token);
    need(w, "a lease without a window");
    const int64_t end = w->lo + below(w->end - w->lo + 1);
    w->end = end;
    c->closing = true;
    c->position = end;
    ask(c, "release");
    *c = (struct client){0};
}

static void client_step(struct client *c) {
    if (c->held && chance(12)) {
        give_back(c);
    } else if (chance(4)) {
        *c = (struct client){0}; /* a crash, its slot file lost */
    } else if (c->held) {
        const int share = game.side[0].share;
        if (c->next == 0)
            c->next = ++game.tokens;
        if (c->move == 0 && share > 0 && c->pid % share == share - 1)
            c->move = ++game.tokens, c->move_nonce = ++game.tokens;
        ask(c, "renew");
    } else {
        if (c->token == 0)
            c->token = ++game.tokens, c->nonce = ++game.tokens;
        ask(c, "claim");
    }
}

/* ---- what goes wrong ------------------------------------------------------ */

static void promote(int s) {
    redis_do(game.side[s].redis, "REPLICAOF", "127.0.0.1", "1", NULL);
    redis_promote(game.side[s].redis);
    game.anew[s] = ANEW;
}

/* What a replica has: the hash as it is now, whatever comes later. */
static void replicate(void) {
    const struct app *from = &game.side[game.master], *to = &game.side[1 - game.master];
    struct reply *dump = redis_ask(from->redis, "DUMP", from->key, NULL);
    game.split = false;
    redis_do(to->redis, "FLUSHALL", NULL);
    if (dump->type == '$') {
        const char *const args[] = {"RESTORE", to->key, "0", dump->text};
        const size_t sizes[] = {7, strlen(to->key), 1, dump->size};
        reply_free(redis_ask_n(to->redis, 4, args, sizes));
    }
    reply_free(dump);
    note("the replica is up to date");
}

static void fail_over(void) {
    game.master = 1 - game.master;
    game.begun = 0;
    game.split = chance(60);
    promote(game.master);
    note("%d is master%s", game.master, game.split ? ", the other goes on for a while" : "");
}

static void forget_on(int s) {
    const struct app *a = &game.side[s];
    const bool all = chance(50);
    if (all)
        redis_do(a->redis, "FLUSHALL", NULL);
    else
        redis_do(a->redis, "DEL", a->key, NULL);
    game.anew[s] = ANEW;
    note("%d %s", s, all ? "is flushed" : "loses the hash");
}

static void restart(int s) {
    const bool empty = !game.saved[s] || chance(30);
    redis_restart(game.side[s].redis, empty);
    game.saved[s] &= !empty;
    game.anew[s] = ANEW;
    note("%d is restarted %s", s, empty ? "empty" : "from a file");
}

static void save(int s) {
    redis_do(game.side[s].redis, "SAVE", NULL);
    game.saved[s] = true;
    note("%d is saved", s);
}

/* Any size, either way: within an era the records bear it. */
static void step_clock(int s) {
    static const int64_t sizes[] = {1, 999, 1000, 2000, 6000, 9000, 30000};
    const int64_t by = sizes[below(7)] * (chance(50) ? 1 : -1);
    game.ahead[s] += by;
    note("%d has its clock set by %" PRId64 " ms", s, by);
}

/* A program that goes by registrations alone; or one of ours is evicted. */
static void stranger_comes_or_goes(int s) {
    const char key[] = {'s', 'f', 'i', 'd', ':', '{', 'a', 'p', 'p', '}', ':', (char)below(game.pids), 0};
    const bool comes = game.side[s].registration && chance(50);
    const char *const args[] = {comes ? "SET" : "DEL", key, "stranger:1:ab"};
    reply_free(redis_ask_n(game.side[s].redis, comes ? 3 : 2, args, (const size_t[]){3, sizeof key, strlen(args[2])}));
    note("%d: a registration of pid %d %s", s, key[11], comes ? "is a stranger's" : "is gone");
}

static void something_happens(void) {
    const int s = game.master;
    game.faults++;
    switch (chance(game.forgets_often) ? below(10) : 10) {
    case 0:
    case 1:
        forget_on(s);
        break;
    case 2:
    case 3:
        fail_over();
        break;
    case 4:
    case 5:
        replicate();
        break;
    case 6:
        save(s);
        break;
    case 7:
        if (chance(game.saved[s] ? 80 : 30))
            restart(s);
        break;
    case 8:
        promote(s);
        break;
    case 9:
        stranger_comes_or_goes(s);
        break;
    default:
        step_clock(below(2) ? s : 1 - s);
    }
}

/* The operator may say that nobody runs, when nobody does, and nobody can begin on a server that was superseded. */
static void init_when_true(void) {
    const struct request q = {.op = "init"};
    if (game.split)
        return;
    settle(game.master); /* by its clock, not by the one before, every window has ended */
    for (size_t i = 0; i < CLIENTS; i++)
        if (game.client[i].token != 0)
            return;
    for (size_t i = 0; i < game.windows; i++)
        if (game.window[i].end > tick_of(game.master))
            return;
    game.late_count = 0;
    reply_free(carry_out(game.master, &q));
}

/* The operator may take a pid away at any time, also from who has it no more. */
static void operator_finishes(void) {
    const struct client *c = &game.client[below(game.clients)];
    struct request q = {.op = "finish"};
    snprintf(q.arg[0], sizeof q.arg[0], "%d", c->held ? c->pid : (int)below(game.pids));
    snprintf(q.arg[1], sizeof q.arg[1], "m:0:%016" PRIx64, c->token);
    if (chance(game.late_often))
        keep_for_later(&q);
    else
        reply_free(carry_out(game.split && chance(40) ? 1 - game.master : game.master, &q));
}

/* ---- games ---------------------------------------------------------------- */

static void time_passes(void) {
    static const int64_t ms[] = {1, 200, 500, 999, 1000, 1001, 3000, 6000};
    game.now += ms[below(8)];
    if (chance(30)) /* to the edge of a tick, or beside it */
        game.now += below(3) - 1 - game.now % UNIT;
}

static void step(void) {
    const int64_t what = below(100);
    if (what < 60) {
        client_step(&game.client[below(game.clients)]);
    } else if (what < 82) {
        time_passes();
    } else if (what < 88 && game.late_count > 0) {
        const size_t i = (size_t)below((int64_t)game.late_count);
        reply_free(carry_out(game.split && chance(50) ? 1 - game.master : game.master, &game.late[i]));
        game.late[i] = game.late[--game.late_count];
    } else if (what < 94) {
        something_happens();
    } else if (what < 96) {
        init_when_true();
    } else if (what < 97) {
        operator_finishes();
    }
}

/* Games differ in what they have most of: some faults show only where others are rare. */
static int few_or_many(int few, int many) { return chance(50) ? few : many; }

static void play(struct redis *pair) {
    const uint64_t random = game.random, exchanges = game.exchanges, granted = game.granted, faults = game.faults,
                   moved = game.moved;
    memset(&game, 0, sizeof game);
    game.random = random, game.exchanges = exchanges, game.granted = granted, game.faults = faults, game.moved = moved;
    const int registration = chance(25), short_ticks = chance(70) ? 2 + (int)below(2) : 0;
    game.clients = 2 + (int)below(CLIENTS - 1);
    game.pids = 1 + (int)below(PIDS);
    for (int s = 0; s < 2; s++) {
        struct app *a = &game.side[s];
        *a = app_new(&pair[s]);
        a->unit = UNIT, a->window = WINDOW * UNIT, a->slack = BUDGET, a->pid_max = game.pids - 1, a->registration = registration;
        a->short_ms = short_ticks * UNIT, a->share = short_ticks ? 2 : 0;
        game.now = a->now;
    }
    game.late_often = few_or_many(3, 25);
    game.lost_often = few_or_many(5, 30);
    game.forgets_often = few_or_many(15, 80);
    init_when_true();
    for (int i = 0; i < STEPS && !game.broken; i++)
        step();
}

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *given = getenv(name);
    return given && *given ? strtoull(given, NULL, 0) : otherwise;
}

static void test(struct redis *r) {
    struct redis pair[2] = {*r};
    const uint64_t games = setting("SFID_TEST_GAMES", getenv("SFID_TEST_LONG") ? 3000 : 60);
    game.random = setting("SFID_TEST_SEED", 20251222);
    diag("seed %" PRIu64 " (SFID_TEST_SEED changes it)", game.random);
    redis_start(&pair[1], r->program, "other", REDIS_CLOCK, NULL);
    uint64_t played = 0, seed = 0;
    game.exchanges = game.granted = game.faults = game.moved = 0;
    game.broken = false;
    while (played < games && !game.broken) {
        seed = game.random;
        play(pair);
        played++;
    }
    if (game.broken)
        diag("this game alone: SFID_TEST_SEED=%" PRIu64 " SFID_TEST_GAMES=1", seed);
    diag("%" PRIu64 " games, %" PRIu64 " exchanges, %" PRIu64 " windows granted, %" PRIu64 " moves, %" PRIu64 " faults", played,
         game.exchanges, game.granted, game.moved, game.faults);
    ok(!game.broken, "%s: no tick of a pid is granted twice", r->program);
    ok(game.granted > games && game.moved > games / 4, "%s: and many were granted", r->program);
    redis_kill(&pair[1]);
    *r = pair[0];
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
