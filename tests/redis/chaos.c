/* SPDX-License-Identifier: MIT */
/*
 * Several clients, two real servers and everything that may go wrong, at random: no two leases ever
 * have the same tick of the same pid.
 *
 * A game is some hundred steps by up to four clients on up to three pids. The servers' clocks stand
 * still and are moved on, forth and back. Requests are lost on the way back, or carried out much
 * later; servers are flushed, restarted from nothing or an old file, superseded by a copy that lags
 * behind, made master again; and a superseded one goes on granting for a while. Clients may issue
 * any tick of a window granted, at any time: that is what windows are compared as. In most games
 * some pids are short, and who holds one asks for an ordinary one. Strangers register pids, and
 * lose that again.
 *
 * In half of the games the hash is damaged, too: an older copy is put back, or a record is deleted,
 * while the server runs. What it grants from then until it begins an era may be another's, and is
 * not compared. But that era begins only then.
 *
 * What the script assumes is kept to: when a server begins anew, its clock is no further behind
 * than S of any that granted something before; a superseded server is out of reach once its clock
 * is S past its successor's beginning; the operator says that nobody runs only when that is so.
 *
 * Sizes: 60 games each server (long: 3000). $SFID_TEST_GAMES sets another number, $SFID_TEST_SEED
 * another seed.
 */
#include "chaos.h"

/* ---- clients -------------------------------------------------------------- */

static void answered(struct client *c, const char *op, const struct reply *r, bool doubtful) {
    const bool claim = strcmp(op, "claim") == 0;
    const bool moved = strcmp(op, "renew") == 0 && is_word(r, "MOVED");
    game.moved += moved;
    if (moved) /* the short window may be used up */
        *c = (struct client){.token = c->move, .nonce = c->move_nonce};
    if (is_word(r, "OK") || moved || is_word(r, "RETRY")) {
        const char *era = era_in(r);
        snprintf(c->witness, sizeof c->witness, "%.*s", (int)strcspn(era, " "), era);
    }
    if (is_word(r, "OK") || moved) {
        const int64_t lo = number(r, 2), limit = number(r, 3);
        if (lo > limit || (claim || moved ? lo >= limit : limit < c->limit))
            broken("an impossible window");
        if (claim || moved)
            c->held = true, c->pid = (int)number(r, 4), c->lo = lo;
        else
            c->nonce = c->next, c->next = 0, c->renewed = true;
        c->limit = limit;
        may_issue(c->token, c->pid, c->lo, c->limit, doubtful);
    } else if (is_word(r, "LOST") || is_word(r, "GONE") || is_word(r, "FOREIGN") ||
               is_word(r, "TAKEN")) {
        if (is_word(r, "TAKEN") && game.damage[0] == WHOLE && game.damage[1] == WHOLE &&
            !game.split)
            game.taken++;
        /* what was granted may be used up, but the lease is not shown again */
        *c = (struct client){0};
    } else if (!is_word(r, "RETRY")) {
        broken("an answer that should not be");
    }
}

static void write_request(const struct client *c, const char *op, struct request *q) {
    const uint64_t shown = c->next ? c->next : c->nonce;
    memset(q, 0, sizeof *q);
    snprintf(q->op, sizeof q->op, "%s", op);
    snprintf(q->witness, sizeof q->witness, "%s", c->witness);
    if (strcmp(op, "claim") == 0) {
        snprintf(q->arg[0], sizeof q->arg[0], "%" PRId64, below(game.pids));
        snprintf(q->arg[1], sizeof q->arg[1], "%012" PRIu64, c->nonce);
    } else {
        snprintf(q->arg[0], sizeof q->arg[0], "%d", c->pid);
        snprintf(q->arg[1], sizeof q->arg[1], "%012" PRIu64, c->nonce);
        snprintf(q->arg[3], sizeof q->arg[3], "%012" PRIu64, shown);
        snprintf(q->arg[4], sizeof q->arg[4], "%" PRId64, c->closing ? c->position : c->limit);
        snprintf(q->arg[5], sizeof q->arg[5], "%" PRId64, c->limit);
        snprintf(q->arg[6], sizeof q->arg[6], "%d", c->renewed);
    }
    snprintf(q->arg[2], sizeof q->arg[2], "m:0:%016" PRIx64, c->token);
    if (strcmp(op, "renew") != 0)
        return;
    q->arg[5][0] = q->arg[6][0] = '\0';
    snprintf(q->arg[8], sizeof q->arg[8], "%d", c->renewed);
    if (c->move != 0) {
        snprintf(q->arg[5], sizeof q->arg[5], "%" PRId64, below(game.pids));
        snprintf(q->arg[6], sizeof q->arg[6], "%012" PRIu64, c->move_nonce);
        snprintf(q->arg[7], sizeof q->arg[7], "m:0:%016" PRIx64, c->move);
    }
}

static void keep_for_later(const struct request *q) {
    if (game.late_count < LATE)
        game.late[game.late_count++] = *q;
}

/* Asks the master, or whom the client takes for it; the answer may get lost, or the request be
 * late. */
static void ask(struct client *c, const char *op) {
    struct request q;
    const int s = game.split && chance(40) ? 1 - game.master : game.master;
    write_request(c, op, &q);
    if (chance(game.late_often)) {
        keep_for_later(&q);
        return;
    }
    const int damage = game.damage[s];
    struct reply *r = carry_out(s, &q);
    if (r && !chance(game.lost_often) && strcmp(op, "release") != 0)
        answered(c, op, r, damage >= GONE_BACK && game.damage[s] >= GONE_BACK);
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
    game.damage[s] = FLUSHED;
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
    const char key[] = {
        's', 'f', 'i', 'd', ':', '{', 'a', 'p', 'p', '}', ':', (char)below(game.pids), 0};
    const bool comes = game.side[s].registration && chance(50);
    const char *const args[] = {comes ? "SET" : "DEL", key, "stranger:1:ab"};
    reply_free(redis_ask_n(game.side[s].redis, comes ? 3 : 2, args,
                           (const size_t[]){3, sizeof key, strlen(args[2])}));
    note("%d: a registration of pid %d %s", s, key[11], comes ? "is a stranger's" : "is gone");
}

/* An operator puts back what was dumped. What nobody has changed since is no older copy. */
static void copy_or_put_back(int s) {
    const struct app *a = &game.side[s];
    struct reply *now = redis_ask(a->redis, "DUMP", a->key, NULL), *then = game.copy[s];
    if (then == NULL && now->type == '$') {
        game.copy[s] = now;
        note("%d: the hash is copied", s);
        return;
    }
    if (then && (now->type != '$' || now->size != then->size ||
                 memcmp(now->text, then->text, now->size) != 0)) {
        const char *const args[] = {"RESTORE", a->key, "0", then->text, "REPLACE"};
        const size_t sizes[] = {7, strlen(a->key), 1, then->size, 7};
        reply_free(redis_ask_n(a->redis, 5, args, sizes));
        game.damage[s] = GONE_BACK;
        note("%d: an older copy of the hash is put back", s);
        reply_free(then);
        game.copy[s] = NULL;
    }
    reply_free(now);
}

static void lose_record(int s) {
    const struct app *a = &game.side[s];
    const char pid[] = {(char)('0' + below(game.pids)), 0};
    if (redis_do(a->redis, "HDEL", a->key, pid, NULL) > 0 && game.damage[s] < GONE_BACK)
        game.damage[s] = LACKING;
    note("%d: the record of pid %s is deleted", s, pid);
}

static void something_happens(void) {
    const int s = game.master;
    game.faults++;
    if (game.damages && chance(40)) {
        if (chance(70))
            copy_or_put_back(s);
        else
            lose_record(s);
        return;
    }
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

/* The operator may say that nobody runs, when nobody does, and nobody can begin on a server that
 * was superseded. */
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
        reply_free(
            carry_out(game.split && chance(50) ? 1 - game.master : game.master, &game.late[i]));
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
    const uint64_t random = game.random, exchanges = game.exchanges, granted = game.granted,
                   faults = game.faults, moved = game.moved, alarms = game.alarms,
                   taken = game.taken;
    for (int s = 0; s < 2; s++)
        reply_free(game.copy[s]);
    memset(&game, 0, sizeof game);
    game.alarms = alarms, game.taken = taken;
    game.random = random, game.exchanges = exchanges, game.granted = granted, game.faults = faults,
    game.moved = moved;
    const int registration = chance(25), short_ticks = chance(70) ? 2 + (int)below(2) : 0;
    game.clients = 2 + (int)below(CLIENTS - 1);
    game.pids = 1 + (int)below(PIDS);
    game.damages = chance(50);
    for (int s = 0; s < 2; s++) {
        struct app *a = &game.side[s];
        *a = app_new(&pair[s]);
        a->unit = UNIT, a->window = WINDOW * UNIT, a->slack = BUDGET, a->pid_max = game.pids - 1,
        a->registration = registration;
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
    game.exchanges = game.granted = game.faults = game.moved = game.alarms = game.taken = 0;
    game.broken = false;
    while (played < games && !game.broken) {
        seed = game.random;
        play(pair);
        played++;
    }
    if (game.broken)
        diag("this game alone: SFID_TEST_SEED=%" PRIu64 " SFID_TEST_GAMES=1", seed);
    diag("%" PRIu64 " games, %" PRIu64 " exchanges, %" PRIu64 " windows granted, %" PRIu64
         " moves, %" PRIu64 " faults, %" PRIu64 " damaged hashes noticed, %" PRIu64
         " times TAKEN without damage",
         played, game.exchanges, game.granted, game.moved, game.faults, game.alarms, game.taken);
    ok(!game.broken, "%s: no tick of a pid is granted twice", r->program);
    ok(game.granted > games && game.moved > games / 4, "%s: and many were granted", r->program);
    ok(game.broken || games < 20 || game.alarms > 0, "%s: damage is noticed", r->program);
    redis_kill(&pair[1]);
    *r = pair[0];
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
