/* SPDX-License-Identifier: MIT */
/*
 * A fleet of ours beside as many processes of the Rust crate sfid, through each fault, all with registration=mixed: whose IDs
 * repeat whose. Ours never repeat each other. Ours and the crate's do so only by what doc/protocol.md lists as the crate's
 * doing, (a) to (f); such a row has the letter.
 *
 * The crate's algorithm: it takes the first pid without a registration (SET NX EX 600), or its own; it shows it by a plain SET;
 * it begins at sequence 0 of its clock's second, and borrows seconds when the sequence is used up.
 */
#include "support/fleet.h"
#include "support/own_clock.h"

#define LAYOUT "36:11:17/1s"

enum { TTL = 200000, HEARTBEAT = 1000, EACH = 4, MORE = 2, PIDS = 2 * EACH + MORE, ROOM = 1 << 20 };
enum { BEFORE_MS = 500, AFTER_MS = 1500, FEW = 8 };

struct crate {
    bool lives;
    int64_t pid, ahead; /* ahead: its clock, in ticks */
    uint64_t tick, seq;
};

struct world {
    struct redis *r;
    char app[24]; /* one a row: records of the row before are no part of it */
    struct member *ours;
    struct crate crates[EACH + MORE];
    int64_t theirs[ROOM], all[2 * ROOM];
    size_t their_count, our_count;
};

static struct world world;

/* ---- the crate ------------------------------------------------------------------ */

static void crate_value(const struct world *w, const struct crate *c, char value[24]) {
    snprintf(value, 24, "crate-%d\1\2", (int)(c - w->crates));
}

static bool crate_set(struct world *w, struct crate *c, int64_t pid, bool only_new) {
    char key[100], value[24];
    crate_value(w, c, value);
    const char *const args[] = {"SET", key, value, "EX", "600", "NX"};
    const size_t sizes[] = {3, registration_of(w->app, pid, key), strlen(value), 2, 3, 2};
    return strcmp(redis_text_n(w->r, only_new ? 6 : 5, args, sizes), "OK") == 0;
}

static bool crate_has(struct world *w, struct crate *c, int64_t pid) {
    char value[24];
    crate_value(w, c, value);
    return strcmp(registration_text(w->r, "GET", w->app, pid), value) == 0;
}

static void crate_begin(struct world *w, struct crate *c, int64_t first) {
    *c = (struct crate){.ahead = c->ahead};
    for (int64_t pid = first; pid <= PIDS && !c->lives; pid++)
        if (crate_set(w, c, pid, true) || crate_has(w, c, pid))
            c->lives = true, c->pid = pid;
}

static void crate_draw(struct world *w, struct crate *c, int n) {
    for (; c->lives && n > 0 && w->their_count < ROOM; n--) {
        const uint64_t now = tick_now(&layout) + (uint64_t)c->ahead;
        if (now > c->tick)
            c->tick = now, c->seq = 0;
        else if (++c->seq > layout.max_seq)
            c->tick++, c->seq = 0;
        w->theirs[w->their_count++] = (int64_t)((c->tick << layout.pid_bits | (uint64_t)c->pid) << layout.seq_bits | c->seq);
    }
}

/* ---- counting ------------------------------------------------------------------- */

static size_t sort_out(int64_t *ids, size_t n) {
    size_t kept = 0;
    qsort(ids, n, sizeof *ids, by_i64);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    return kept;
}

/* Reads what ours have logged. */
static void read_ours(struct world *w) {
    DIR *dir = opendir(dirs.logs);
    struct dirent *e;
    w->our_count = 0;
    while (dir && (e = readdir(dir)) != NULL) {
        char path[sizeof dirs.logs + 260];
        struct idlog_head head;
        snprintf(path, sizeof path, "%s/%s", dirs.logs, e->d_name);
        FILE *f = strncmp(e->d_name, "ids-", 4) == 0 ? fopen(path, "re") : NULL;
        if (f && fread(&head, sizeof head, 1, f) == 1 && head.count <= 2 * ROOM - w->our_count)
            w->our_count += fread(w->all + w->our_count, sizeof *w->all, head.count, f);
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
}

static void count(struct world *w, const char *what, char cause) {
    size_t both = 0;
    read_ours(w);
    const size_t drawn = w->their_count, ours = w->our_count;
    const size_t a = sort_out(w->theirs, drawn), b = sort_out(w->all, ours);
    for (size_t i = 0, k = 0; i < a && k < b;)
        if (w->theirs[i] == w->all[k])
            both++, i++, k++;
        else if (w->theirs[i] < w->all[k])
            i++;
        else
            k++;
    diag("figure: %s: %zu IDs of ours, %zu of the crate's; twice: %zu ours, %zu the crate's, %zu of both%s%c", what, ours, drawn,
         ours - b, drawn - a, both, cause ? ", by its doing " : "", cause ? cause : ' ');
    if (cause == 0)
        is_u64(both, 0, "%s: none of ours is one of the crate's", what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

/* ---- the faults ----------------------------------------------------------------- */

static void draw_for(struct world *w, int ms) {
    for (const int64_t end = mono_ns() + ms * (int64_t)NS_PER_MS; mono_ns() < end; nap_us(2000))
        for (size_t i = 0; i < COUNT_OF(w->crates); i++)
            crate_draw(w, &w->crates[i], FEW);
}

/* One looks from the first pid on, the other from one of ours on. */
static void more_crates(struct world *w) {
    crate_begin(w, &w->crates[EACH], 1);
    crate_begin(w, &w->crates[EACH + 1], atomic_load(&w->ours[0].pid));
}

static void nothing(struct world *w) { more_crates(w); }

static void restarted(struct world *w) {
    for (int i = 0; i < EACH; i++)
        member_end(&w->ours[i]);
    for (int i = 0; i < EACH; i++)
        member_open_or_die(&w->ours[i]);
}

static void killed(struct world *w) {
    for (int i = 0; i < EACH; i++)
        member_kill(&w->ours[i]);
    more_crates(w);
    for (int i = 0; i < EACH; i++)
        member_open_or_die(&w->ours[i]);
}

static void closed(struct world *w) {
    for (int i = 0; i < EACH; i++)
        member_end(&w->ours[i]);
    more_crates(w);
}

static void crate_restarted(struct world *w) {
    for (int i = 0; i < EACH; i++)
        crate_begin(w, &w->crates[i], 1);
}

static void flushed(struct world *w) {
    redis_do(w->r, "FLUSHALL", NULL);
    more_crates(w);
}

static void emptied(struct world *w) {
    redis_restart(w->r, true);
    more_crates(w);
}

static void evicted(struct world *w) {
    for (int64_t pid = 1; pid <= PIDS; pid++)
        registration_text(w->r, "DEL", w->app, pid);
    more_crates(w);
}

static void server_stopped(struct world *w) {
    redis_pause(w->r);
    draw_for(w, AFTER_MS);
    redis_resume(w->r);
    more_crates(w);
}

static void jumped(struct world *w) {
    for (int i = 0; i < EACH; i++)
        atomic_store(&w->ours[i].clock_offset_ns, (i % 2 ? -3000 : 3000) * (int64_t)NS_PER_MS);
    more_crates(w);
}

/* One of ours takes what was the first crate's pid. */
static void succeed(struct world *w, bool goes_on) {
    struct crate *c = &w->crates[0];
    struct member *m = &w->ours[EACH];
    m->opt.pid_min = m->opt.pid_max = c->pid;
    c->lives = goes_on;
    registration_text(w->r, "DEL", w->app, c->pid);
    member_open_or_die(m);
}

static void expired(struct world *w) {
    succeed(w, true);
    draw_for(w, AFTER_MS / 2);
    crate_set(w, &w->crates[0], w->crates[0].pid, false); /* its heartbeat */
}

static void borrowed(struct world *w) {
    crate_draw(w, &w->crates[0], (int)(3 * (layout.max_seq + 1)));
    succeed(w, false);
}

/* Its clock is behind by more than S, on a pid that ours gave back. */
static void behind(struct world *w) {
    const int64_t pid = atomic_load(&w->ours[0].pid);
    const uint64_t tick = id_tick(&layout, atomic_load(&w->ours[0].last_id));
    struct crate *c = &w->crates[EACH];
    member_end(&w->ours[0]);
    registration_text(w->r, "DEL", w->app, pid); /* it has run out: S past the position */
    crate_begin(w, c, pid);
    c->ahead = (int64_t)tick - (int64_t)tick_now(&layout);
}

/* ---- rows ----------------------------------------------------------------------- */

static void take_clock(struct member *m) { own_clock = &m->clock_offset_ns; }

static void begin(struct world *w, bool stops) {
    static char store[240];
    static int rows;
    snprintf(w->app, sizeof w->app, "beside-%d", ++rows);
    sfid_options opt = fleet_lease(w->r, w->app, TTL, HEARTBEAT);
    snprintf(store, sizeof store, "unix://%s?timeout=%s&registration=mixed", w->r->socket, stops ? "300ms" : "20s");
    opt.store = store;
    opt.pid_max = PIDS;
    opt.skew_budget_ms = 1000;
    redis_do(w->r, "FLUSHALL", NULL);
    w->their_count = 0;
    w->ours = members_new(EACH + 1, &opt);
    memset(w->crates, 0, sizeof w->crates);
    for (unsigned i = 0; i <= EACH; i++) {
        on_host(&w->ours[i].opt, i);
        w->ours[i].prepare = take_clock;
    }
    for (int i = 0; i < EACH; i++) {
        member_open_or_die(&w->ours[i]);
        crate_begin(w, &w->crates[i], 1);
    }
}

static void row(struct world *w, const char *what, void (*fault)(struct world *w), char cause) {
    begin(w, fault == server_stopped);
    draw_for(w, BEFORE_MS);
    fault(w);
    draw_for(w, AFTER_MS);
    for (int i = 0; i <= EACH; i++)
        if (w->ours[i].child)
            member_kill(&w->ours[i]);
    count(w, what, cause);
}

static void test_beside(struct redis *r) {
    world.r = r;
    row(&world, "nothing", nothing, 0);
    row(&world, "ours end and begin again", restarted, 0);
    row(&world, "ours are killed and begin again", killed, 0);
    row(&world, "ours close", closed, 0);
    row(&world, "the server is stopped", server_stopped, 0);
    row(&world, "the clocks of ours jump", jumped, 0);
    row(&world, "FLUSHALL", flushed, 'a');
    row(&world, "the server comes back empty", emptied, 'a');
    row(&world, "registrations evicted", evicted, 'a');
    row(&world, "a registration of the crate runs out", expired, 'b');
    row(&world, "the crate's clock is behind", behind, 'c');
    row(&world, "the crate borrows", borrowed, 'd');
    row(&world, "the crate's begin again", crate_restarted, 'e');
}

int main(void) { return fleet_main(LAYOUT, 1, REDIS_CLOCK, test_beside); }
