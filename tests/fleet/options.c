/* SPDX-License-Identifier: MIT */
/*
 * Options hold, in each store and each kind of open that tests/options names this test for. Each
 * scene is a store and a kind. It opens once with a value of its own for each option, and compares
 * what it sees with all of them: the IDs it gets, how long a call sleeps, the mark on the disk,
 * what the server has recorded. tests/fleet/flags tries the commands.
 *
 * The time of day stands, the server's a little before that of the scenes. So what they see is
 * exact, on any machine.
 *
 * One size.
 */
#include "support/cells.h"
#include "support/fleet.h"
#include "support/own_clock.h"

/* What the options say, beside two defaults. */
enum {
    WAIT_MS = 150,
    AHEAD_MS = 40,
    DEFAULT_AHEAD_MS = 10000,
    DEFAULT_LEAD_MS = 30000,
    BUDGET_MS = 700,
    TTL_MS = 27000,
    SHORT_MS = 9000,
    HEARTBEAT_MS = 300,
    /* between renewals, together: one may seem shorter, as answers take different times */
    PAUSES = 8,
    LATE_MS = 1000 /* what a call or a keeper may be late, with all scenes beside it */
};

/* How far this host's clock is ahead of the server's, or behind. Then what may be allowed: less,
 * and more. */
enum { EARLY_MS = 1000, BEHIND_MS = 100000, SKEW_LESS_MS = 50000, SKEW_MORE_MS = 200000 };

/* IN_TICK: what the layout has of a tick. */
enum { FIRST_IDS = 3, IN_TICK = 8, BACK_MS = 25000 };

/* The clock goes back by BACK_MS under a generator, or before the next one; its page is there, or
 * lost. */
enum back { RUNNING, KILLED_THERE, KILLED_LOST };
static const char *const backs[] = {"under a generator", "after a kill",
                                    "after a kill, the page lost"};

enum kind { ALONE, SHARE, FORK, LANE, WIDE, RESUME, KINDS };
static const char *const kinds[KINDS] = {"alone", "share", "fork", "lane", "wide", "resume"};

/* A scene, in memory that its processes share. The first part says what it is, the rest what was
 * seen. Times are Unix milliseconds. */
struct scene {
    const struct cell_store *store;
    enum kind kind;
    char app[40], text[400];
    _Atomic int64_t clock_ns;
    sfid_options opt;
    pid_t child;

    enum back back;
    int rc, code, less, more, retry_ms; /* of opens and of the last call */
    int64_t clock_ms;                   /* the scene's clock */
    /* the tick of the last ID, the mark, and the one of a pid that had none */
    int64_t last_ms, mark_ms, no_mark_ms;
    /* the tick of an ID with a clock that is behind the server's */
    int64_t behind_ms;
    int64_t claimed_ms, renewed_ms; /* where windows end */
    uint64_t ids;
    struct took waited, beat;
    char error[600];
};

static sfid_wide_layout uuids;
static unsigned uuid_seq_bits;
static struct redis server;
static int64_t server_ms; /* its clock */

static void set_clock(struct scene *s, int64_t ms) {
    own_clock = &s->clock_ns;
    own_clock_stands = true;
    atomic_store(own_clock, ms * NS_PER_MS);
}

static void run_clock(int64_t ms) {
    own_clock_stands = false;
    atomic_store(own_clock, 0);
    atomic_store(own_clock, ms * NS_PER_MS - wall_ns());
}

static int64_t lead_of(const struct scene *s) {
    return s->store->text ? CELL_LEAD_MS : DEFAULT_LEAD_MS;
}

static bool is_wide(const struct scene *s) { return s->kind == WIDE; }

static int64_t ms_of_tick(const struct scene *s, uint64_t tick) {
    return (int64_t)tick + (is_wide(s) ? 0 : layout.epoch_ms);
}

static int64_t mark_ms(const struct scene *s, const char *app) {
    sfid_layout l = layout;
    l.seq_bits = (uint8_t)(is_wide(s) ? uuid_seq_bits : l.seq_bits);
    return ms_of_tick(s, mark_tick(app, CELL_PID, &l));
}

static void prepare(struct scene *s, const struct cell_store *store, enum kind kind) {
    *s = (struct scene){.store = store, .kind = kind};
    snprintf(s->app, sizeof s->app, "%s-%s", store->name, kinds[kind]);
    snprintf(s->text, sizeof s->text, store->text ? store->text : "", server.socket);
    sfid_options *o = &s->opt;
    *o = options_of(s->app, store->text ? -1 : CELL_PID, is_wide(s) ? NULL : &layout);
    o->store = store->text ? s->text : NULL;
    o->wide = is_wide(s) ? &uuids : NULL;
    o->share = kind == SHARE;
    o->exhaustion = SFID_BORROW;
    o->max_wait_ms = WAIT_MS;
    o->max_ahead_ms = AHEAD_MS;
    o->skew_budget_ms = BUDGET_MS;
    o->ttl_ms = TTL_MS;
    o->short_ms = SHORT_MS;
    o->heartbeat_ms = HEARTBEAT_MS;
    o->open_timeout_ms = TAP_WAIT_MS;
    o->on_unknown = SFID_TRUST;
}

/* ---- a generator -------------------------------------------------------------- */

/* One ID, or some; the time of the last one. */
static int64_t draw(struct scene *s, sfid *g, sfid_lane *lane) {
    static sfid_wide wide[4096];
    sfid_wide_parts parts;
    if (is_wide(s)) {
        const int64_t n = sfid_next_n_wide(g, wide, COUNT_OF(wide));
        if (n > 0 && sfid_wide_parse(&uuids, wide[n - 1], &parts) == 0)
            s->last_ms = parts.unix_ms;
        return n;
    }
    const int64_t id = lane ? sfid_lane_next(lane) : sfid_next(g);
    if (id < 0)
        return id;
    s->last_ms = ms_of_tick(s, id_tick(&layout, id));
    return 1;
}

/* All that may be issued while the clock stands, and the call after that. */
static void draw_all(struct scene *s, sfid *g) {
    sfid_lane *lane = NULL;
    int64_t n, began;
    must(s->kind != LANE || sfid_lane_open(&lane, g) == 0, "no lane");
    do {
        began = tap_now_ms();
        n = draw(s, g, lane);
        s->waited = took_since(began);
        s->ids += n > 0 ? (uint64_t)n : 0;
    } while (n > 0);
    s->code = (int)n;
    sfid_lane_close(lane);
}

struct counted {
    sfid *g;
    uint64_t least;
    struct scene *s;
};

static bool has_renewed(void *arg) {
    struct counted *c = arg;
    sfid_status_info st;
    return sfid_status(c->g, &st) == 0 && st.renewals >= c->least;
}

static void watch_lease(struct scene *s, sfid *g) {
    sfid_status_info st;
    sfid_status(g, &st);
    s->claimed_ms = st.renewals == 0 ? ms_of_tick(s, st.limit_tick) : 0;
    draw_all(s, g);
    if (!s->store->served)
        return;
    /* The first may come at once: a process that joins a page can ask for it. */
    struct counted c = {g, st.renewals + 1, s};
    tap_wait_until(has_renewed, &c, TAP_WAIT_MS);
    const int64_t began = tap_now_ms();
    sfid_status(g, &st);
    c.least = st.renewals + PAUSES;
    tap_wait_until(has_renewed, &c, TAP_WAIT_MS);
    s->beat = took_since(began);
    sfid_status(g, &st);
    s->renewed_ms = ms_of_tick(s, st.limit_tick);
}

static bool draws_one(void *arg) {
    const struct counted *c = arg;
    return draw(c->s, c->g, NULL) > 0;
}

static struct scene *scene;

static int in_child(void *g) {
    witness_begin();
    watch_lease(scene, g);
    return 0;
}

static void draw_first(struct scene *s, sfid *g) {
    for (int i = 0; i < FIRST_IDS; i++)
        must(draw(s, g, NULL) > 0, "%s: no first ID: %s", s->app, sfid_last_error(g));
}

static int live_and_die(void *arg) {
    struct scene *s = arg;
    draw_first(s, open_or_die(&s->opt));
    raise(SIGKILL);
    return 0;
}

/* What a pid without a mark waits for, which its mark says. */
static void open_unmarked(struct scene *s) {
    char app[60];
    sfid *g = NULL;
    sfid_options opt = s->opt;
    snprintf(app, sizeof app, "%s-new", s->app);
    opt.app = app;
    opt.on_unknown = SFID_WAIT_OUT;
    s->rc = sfid_open(&g, &opt);
    s->no_mark_ms = mark_ms(s, app);
    sfid_close(g);
}

/* The app has windows that reach over the difference. */
static void open_behind(struct scene *s) {
    static const sfid_options defaults = SFID_OPTIONS_INIT;
    char app[60];
    sfid_options opt = s->opt;
    snprintf(app, sizeof app, "%s-behind", s->app);
    struct counted c = {.s = s};
    const int64_t last_ms = s->last_ms;
    opt.app = app;
    opt.ttl_ms = defaults.ttl_ms;
    opt.short_ms = defaults.short_ms;
    set_clock(s, server_ms + EARLY_MS);
    if (s->kind == RESUME)
        child_run(live_and_die, &(struct scene){.store = s->store, .kind = RESUME, .opt = opt},
                  TAP_WAIT_MS);
    set_clock(s, server_ms - BEHIND_MS);
    opt.max_skew_ms = SKEW_LESS_MS;
    s->less = try_open(&opt);
    opt.max_skew_ms = SKEW_MORE_MS;
    run_clock(server_ms -
              /* how far it is behind is known to the time that an exchange takes: a call may have
               * to wait */
              BEHIND_MS);
    s->more = sfid_open(&c.g, &opt);
    s->behind_ms = s->more == 0 && tap_wait_until(draws_one, &c, TAP_WAIT_MS) ? s->last_ms : 0;
    s->last_ms = last_ms;
    sfid_close(c.g);
}

static int play(void *arg) {
    struct scene *s = scene = arg;
    struct holder *other = NULL;
    witness_begin();
    s->clock_ms = server_ms + EARLY_MS;
    set_clock(s, s->clock_ms);
    if (s->kind == RESUME) { /* so much later that the mark moves */
        child_run(live_and_die, s, TAP_WAIT_MS);
        set_clock(s, s->clock_ms += lead_of(s));
    }
    if (s->kind == SHARE)
        other = holder_start(&s->opt, true);
    sfid *g = NULL;
    s->rc = sfid_open(&g, &s->opt);
    snprintf(s->error, sizeof s->error, "%s", sfid_last_error(g));
    if (s->rc == 0 && s->kind == FORK)
        must(child_run(in_child, g, 2 * TAP_WAIT_MS) == 0, "%s: the child failed", s->app);
    else if (s->rc == 0)
        watch_lease(s, g);
    s->mark_ms = s->store->served ? 0 : mark_ms(s, s->app);
    sfid_close(g);
    if (other)
        holder_end(other, false);
    if (s->rc == 0 && s->store->served)
        open_behind(s);
    else if (s->rc == 0)
        open_unmarked(s);
    return 0;
}

/* First lives do not borrow, so that they leave a rest of their tick. */
static int set_back(void *arg) {
    struct scene *s = scene = arg;
    const sfid_exhaustion then = s->opt.exhaustion;
    sfid *g = NULL;
    witness_begin();
    s->clock_ms = server_ms + EARLY_MS;
    set_clock(s, s->clock_ms + BACK_MS);
    s->opt.exhaustion = s->back == RUNNING ? then : SFID_WAIT;
    if (s->back == RUNNING)
        draw_first(s, g = open_or_die(&s->opt));
    else
        child_run(live_and_die, s, TAP_WAIT_MS);
    if (s->back == KILLED_LOST)
        remove_tree(s->opt.run_dir);
    set_clock(s, s->clock_ms);
    s->opt.exhaustion = then;
    s->last_ms = 0;
    if (s->back != RUNNING)
        g = open_or_die(&s->opt);
    draw_all(s, g);
    s->retry_ms = sfid_retry_ms(g);
    sfid_close(g);
    return 0;
}

/* A page of this host that processes share. Its mark lies as far ahead as it can at least, and IDs
 * at most half as far. */
static void judge_half(void) {
    enum { FAR_MS = 1000, LEAST_LEAD_MS = 100 };
    struct scene *s = shared_memory(sizeof *s);
    prepare(s, &cell_stores[1], SHARE);
    snprintf(s->app, sizeof s->app, "half");
    snprintf(s->text, sizeof s->text, "local?lead_ms=%d", LEAST_LEAD_MS);
    s->opt.max_ahead_ms = FAR_MS;
    is_i64(child_run(play, s, 4 * TAP_WAIT_MS), 0, "half a window: a scene ends well");
    is_i64(s->last_ms - s->clock_ms, (FAR_MS + LEAST_LEAD_MS) / 2,
           "max_ahead_ms: at most half of a window that processes share");
}

/* ---- what was seen ---------------------------------------------------------------- */

static bool given(const char *option, const struct scene *s) {
    return cell_given(option, s->store->name, kinds[s->kind]);
}

#define OF "%s, %s"
#define NAMES(s) (s)->store->name, kinds[(s)->kind]

static void judge_calls(const struct scene *s) {
    if (given("max_ahead_ms", s))
        is_i64(s->last_ms - s->clock_ms, AHEAD_MS,
               "max_ahead_ms: the last ID lies so far ahead of the clock: " OF, NAMES(s));
    if (given("max_wait_ms", s)) {
        is_i64(s->code, SFID_EAGAIN, "max_wait_ms: the call after the last ID fails: " OF,
               NAMES(s));
        lasted(s->waited, WAIT_MS, "max_wait_ms: the call after the last ID sleeps so long: " OF,
               NAMES(s));
        in_time(s->waited, WAIT_MS + LATE_MS,
                "max_wait_ms: the call after the last ID sleeps no longer: " OF, NAMES(s));
    }
}

/* The mark covers what may be borrowed, and the tick itself. */
static void judge_mark(const struct scene *s) {
    if (given("lead_ms", s))
        is_i64(s->mark_ms - s->clock_ms, lead_of(s) + AHEAD_MS + 1,
               "lead_ms: the mark is so far ahead of the clock: " OF, NAMES(s));
    if (!s->store->served && given("skew_budget_ms", s))
        is_i64(s->no_mark_ms - s->clock_ms, lead_of(s) + AHEAD_MS + 1 + BUDGET_MS,
               "skew_budget_ms: a pid without a mark waits for so much: " OF, NAMES(s));
}

/* The server's own record of an app's settings: the layout, ttl_ms, skew_budget_ms, short_ms and
 * which pids are short. */
static void judge_record(const struct scene *s) {
    char key[60], lay[200], *at = lay;
    snprintf(key, sizeof key, "sfid:%s", s->app);
    snprintf(lay, sizeof lay, "%s", redis_text(&server, "HGET", key, "lay", NULL));
    long got[3] = {0};
    if ((at = strchr(lay, '@')) != NULL && (at = strchr(at, ' ')) != NULL)
        sscanf(at, " %ld %ld %ld/", &got[0], &got[1], &got[2]);
    if (given("ttl_ms", s))
        is_i64(got[0], TTL_MS, "ttl_ms: the server has it: " OF, NAMES(s));
    if (given("skew_budget_ms", s))
        is_i64(got[1], BUDGET_MS, "skew_budget_ms: the server has it: " OF, NAMES(s));
    if (given("short_ms", s))
        is_i64(got[2], SHORT_MS, "short_ms: the server has it: " OF, NAMES(s));
}

static void judge_lease(const struct scene *s) {
    judge_record(s);
    if (given("ttl_ms", s))
        is_i64(s->renewed_ms - server_ms, TTL_MS, "ttl_ms: a renewed window is so long: " OF,
               NAMES(s));
    if (given("short_ms", s) && s->claimed_ms)
        is_i64(s->claimed_ms - server_ms, SHORT_MS, "short_ms: the first window is so long: " OF,
               NAMES(s));
    /* a host that is ahead renews sooner by that, but not within an eighth: doc/protocol.md */
    if (given("heartbeat_ms", s)) {
        lasted(s->beat, (PAUSES - 2) * HEARTBEAT_MS / 8 * 9 / 10,
               "heartbeat_ms: renewals come no more often: " OF, NAMES(s));
        in_time(s->beat, PAUSES * HEARTBEAT_MS + LATE_MS,
                "heartbeat_ms: renewals come so often: " OF, NAMES(s));
    }
    if (given("max_skew_ms", s)) {
        is_i64(s->less, SFID_ECLOCK, "max_skew_ms: a clock that is further off is refused: " OF,
               NAMES(s));
        is_i64(s->more, 0, "max_skew_ms: one within it is not: " OF, NAMES(s));
        ok(s->behind_ms >= server_ms,
           "max_skew_ms: the server's time counts then, above max_ahead_ms: " OF, NAMES(s));
    }
}

static void judge_scene(const struct scene *s) {
    if (!is_i64(s->rc, 0, "opens: " OF, NAMES(s)))
        diag("%s", s->error);
    judge_calls(s);
    judge_mark(s);
    if (s->store->served)
        judge_lease(s);
}

/*
 * What sfid.h says of max_ahead_ms: the rest of the highest tick that the clock has shown is
 * issued, however far ahead that is now, and nothing further ahead than max_ahead_ms. Where the
 * page is lost, there is no such rest.
 */
static void judge_back(const struct scene *s) {
    const int64_t ahead = s->last_ms - s->clock_ms, most = s->opt.max_ahead_ms;
    char name[200];
    snprintf(name, sizeof name, "%s, 25 s back %s, %s %" PRId64 " ms", s->store->name,
             backs[s->back], s->opt.exhaustion == SFID_BORROW ? "borrows" : "waits", most);
    if (s->back == KILLED_LOST) {
        ok(s->last_ms == 0 || ahead <= most,
           "max_ahead_ms: %s: %" PRIu64 " IDs, none further ahead", name, s->ids);
        return;
    }
    is_u64(s->ids, IN_TICK - FIRST_IDS, "max_ahead_ms: %s: the rest of the highest tick", name);
    is_i64(ahead, BACK_MS, "max_ahead_ms: %s: which bears that time", name);
    is_i64(s->code, SFID_ECLOCK, "max_ahead_ms: %s: then none", name);
    is_i64(s->retry_ms, BACK_MS + 1 - most, "max_ahead_ms: %s: until the next tick is near", name);
}

static void clocks_back(void) {
    enum { EACH = 10 };
    static const struct {
        enum back back;
        sfid_exhaustion exhaustion;
        uint32_t ahead_ms;
    } all[EACH] = {{RUNNING, SFID_WAIT, 0},        {RUNNING, SFID_WAIT, DEFAULT_AHEAD_MS},
                   {KILLED_THERE, SFID_WAIT, 0},   {KILLED_THERE, SFID_WAIT, DEFAULT_AHEAD_MS},
                   {KILLED_THERE, SFID_BORROW, 0}, {KILLED_THERE, SFID_BORROW, DEFAULT_AHEAD_MS},
                   {KILLED_LOST, SFID_WAIT, 0},    {KILLED_LOST, SFID_WAIT, DEFAULT_AHEAD_MS},
                   {KILLED_LOST, SFID_BORROW, 0},  {KILLED_LOST, SFID_BORROW, DEFAULT_AHEAD_MS}};
    static char run[CELL_STORES * EACH][200];
    static const sfid_options defaults = SFID_OPTIONS_INIT;
    struct scene *s = shared_memory(sizeof *s * CELL_STORES * EACH);
    for (size_t i = 0; i < CELL_STORES * EACH; i++) {
        prepare(&s[i], &cell_stores[i / EACH], RESUME);
        snprintf(s[i].app, sizeof s[i].app, "back-%zu", i);
        snprintf(run[i], sizeof run[i], "%s/%s", dirs.shm, s[i].app);
        s[i].opt.run_dir = run[i];
        s[i].opt.ttl_ms = defaults.ttl_ms; /* a window longer than the clock goes back */
        s[i].opt.short_ms = 0;
        s[i].back = all[i % EACH].back;
        s[i].opt.exhaustion = all[i % EACH].exhaustion;
        s[i].opt.max_ahead_ms = all[i % EACH].ahead_ms;
        s[i].child = child_start(set_back, &s[i]);
    }
    for (size_t i = 0; i < CELL_STORES * EACH; i++) {
        is_i64(child_wait(s[i].child, 4 * TAP_WAIT_MS), 0, "a scene ends well: %s", s[i].app);
        judge_back(&s[i]);
    }
}

static void generators(struct scene *all) {
    for (size_t i = 0; i < CELL_STORES * KINDS; i++) {
        prepare(&all[i], &cell_stores[i / KINDS], (enum kind)(i % KINDS));
        all[i].child = child_start(play, &all[i]);
    }
    for (size_t i = 0; i < CELL_STORES * KINDS; i++)
        is_i64(child_wait(all[i].child, 4 * TAP_WAIT_MS), 0, "a scene ends well: " OF,
               NAMES(&all[i]));
    for (size_t i = 0; i < CELL_STORES * KINDS; i++)
        judge_scene(&all[i]);
}

int main(void) {
    fleet_begin(cell_layout);
    cells_begin("tests/fleet/options");
    sfid_wide_facts facts;
    need(sfid_wide_layout_parse("uuid7", &uuids) == 0 &&
             sfid_wide_layout_describe(&uuids, &facts) == 0,
         "no uuid7");
    for (uint64_t n = facts.max_seq; n > 0; n >>= 1)
        uuid_seq_bits++;
    setenv("SFID_TEST_NUMBER", "3", 1);
    redis_start(&server, servers.installed[0], "fleet", REDIS_CLOCK, "--user", "low", "on", ">pw",
                "~sfid:*", "+@all", "--user", "high", "on", ">pw", "~sfid:*", "+@all", NULL);
    server_ms = wall_ns() / NS_PER_MS;
    redis_clock_fix(&server, server_ms);
    struct scene *all = shared_memory((CELL_STORES * KINDS) * sizeof *all);
    generators(all);
    clocks_back();
    judge_half();
    redis_kill(&server);
    cells_end();
    return done_testing();
}
