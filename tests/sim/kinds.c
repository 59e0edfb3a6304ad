/* SPDX-License-Identifier: MIT */
/*
 * kinds.c - how a process opens a generator and draws from it, by the kinds of the run.
 *
 *   (none)  a pid of its own from a server, with the default settings
 *   brief   windows and heartbeats are shorter, so that more happens in an hour
 *   share   the processes of a host use one page
 *   share2  the same, but some only as guests of those that keep it
 *   local   the pids of a host, by marks
 *   fork    processes have children, see fleet.c
 *   copy    machines are copied, see host_faults.c
 *   hidden  with copy: a copy shows nothing, so that both go on until one of them renews
 *   fixed   the caller names the pid of each process; of two that name one, the second gets none
 *   ordinal the pid is the number in the host's name, store "ordinal:"; now and then two hosts exchange theirs, and lose all else
 *   wide    IDs are UUIDs of version 7
 *   flake, awsflake  IDs are of these wide layouts; the worker is the host
 *   pool    several servers, each with pids of its own; where no server forgets, one at a time is
 *           away, which costs nothing
 *   mixed   programs of the Rust crate lease from the same server, in the default layout
 *   twins   all hosts have one machine ID
 *   kept    with brief: a short pid is kept, too, keep_pid
 *   even    with brief: no window is shorter than others
 *   spoilt  some answers of servers have a pid or a limit that no server can grant
 *   auth    each connection begins with a password, which is changed now and then (refusals.c)
 *   lanes   several threads of a process draw, each from a lane of its own, too
 *   batch   ticks have 1024 IDs, and now and then a process uses up more than one, so that it waits
 *           with a position in hand
 */
#include "kinds.h"
#include "steps.h"

#define BETWEEN_MOVES (300 * SECOND)
#define LONGEST_AWAY (400 * SECOND)
#define SMALL "42:11:10/1s"
/* more IDs than a run of a lane ever has; more than a tick has */
enum { LONG_RUN = 700, BATCH = 1024 + 64 };
enum { LONG_RUNS = 4, USE_UP = 20, GUESTS = 600 }; /* how often in a thousand calls, and opens */
enum { POOL = 3 };

struct library library_of[BUILDS];
static sfid_wide_layout wide;
static sfid_layout small;

static void library_functions(unsigned which) {
    struct library *l = &library_of[which];
    *(void **)&l->open = library_symbol(which, "sfid_open");
    *(void **)&l->next = library_symbol(which, "sfid_next");
    *(void **)&l->try_next = library_symbol(which, "sfid_try_next");
    *(void **)&l->next_n = library_symbol(which, "sfid_next_n");
    *(void **)&l->pid = library_symbol(which, "sfid_pid");
    *(void **)&l->close = library_symbol(which, "sfid_close");
    *(void **)&l->last_error = library_symbol(which, "sfid_last_error");
    *(void **)&l->lane_open = library_symbol(which, "sfid_lane_open");
    *(void **)&l->lane_next = library_symbol(which, "sfid_lane_next");
    *(void **)&l->next_wide = library_symbol(which, "sfid_next_wide");
    *(void **)&l->try_next_wide = library_symbol(which, "sfid_try_next_wide");
    *(void **)&l->wide_parse = library_symbol(which, "sfid_wide_parse");
    *(void **)&l->min_at = library_symbol(which, "sfid_min_at");
    *(void **)&l->layout_parse = library_symbol(which, "sfid_layout_parse");
    *(void **)&l->lane_close = library_symbol(which, "sfid_lane_close");
}

/* A word of the list. */
bool has_kind(const char *name) {
    const size_t len = strlen(name);
    for (const char *at = settings.kinds; (at = strstr(at, name)) != NULL; at += len)
        if ((at == settings.kinds || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static bool has_workers(void) { return has_kind("flake") || has_kind("awsflake"); }

bool kind_has_servers(void) {
    return !has_kind("local") && !has_kind("fixed") && !has_kind("ordinal") && !has_workers();
}

unsigned kind_seq_bits(void) { return has_kind("batch") ? 10 : 17; }

static bool is_wide(void) { return has_kind("wide") || has_workers(); }

/* ---- how it is opened ---------------------------------------------------------------------- */

/* There is one more than a host has processes. */
static void fix_pid(sfid_options *o) {
    const unsigned n = settings.per_host + 1;
    o->pid = me ? me->process->host * (int64_t)n + (int64_t)below(chances(), n) : 0;
    o->pid_max = 0;
    o->store = NULL;
}

/* Such an app is the host. */
static void name_worker(sfid_options *o) {
    o->pid = me ? me->process->host + 1 : 1;
    o->pid_max = 0;
    o->app = o->store = NULL;
}

/* Each has a part of the pids, and an address and a user of its own. */
static const char *pool(void) {
    static char text[POOL * 60];
    size_t n = (size_t)snprintf(text, sizeof text, "pool:");
    for (unsigned i = 0; i < POOL; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u-%u=redis://user%u:x@server-%u:6379",
                              i ? " " : "", settings.pids * i / POOL,
                              settings.pids * (i + 1) / POOL - 1, i, i + 1);
    return text;
}

static const char *store(void) {
    if (has_kind("pool"))
        return pool();
    if (has_kind("mixed"))
        return "redis://server-1:6379?registration=mixed";
    if (has_kind("auth") && world_store)
        broken("the kind auth has a URL of its own, and so has the world %s", settings.world);
    if (has_kind("auth"))
        return "redis://fleet@server-1:6379?password_file=/etc/secret";
    return has_kind("ordinal") ? "ordinal:"
           : has_kind("local") ? "local"
           : world_store       ? world_store
                               : "redis://server-1:6379";
}

static sfid_options options_of_kind(void) {
    sfid_options o = SFID_OPTIONS_INIT;
    o.app = world_store ? "{sim}" : "sim"; /* in a cluster the app's keys need a tag */
    o.store = store();
    o.pid_max = has_kind("pool") ? 0 : settings.pids - 1;
    o.pid_min = has_kind("spoilt");
    o.run_dir = RUN_DIR;
    o.state_dir = STATE_DIR;
    o.open_timeout_ms = 60000;
    o.share = has_kind("share") || has_kind("share2");
    if (me && (me->process->guest = has_kind("share2") && chance(chances(), GUESTS)))
        o.share = 2;
    if (has_kind("fixed"))
        fix_pid(&o);
    if (has_workers())
        name_worker(&o);
    if (is_wide())
        o.wide = &wide;
    if (has_kind("batch"))
        o.layout = &small;
    if (has_kind("brief") && kind_has_servers()) {
        o.ttl_ms = has_kind("mixed") ? 195000 : 90000;
        o.heartbeat_ms = 15000;
        o.short_ms = has_kind("even") ? 0 : 20000;
        o.skew_budget_ms = 5000;
        o.max_skew_ms = world_is_table() ? o.max_skew_ms : 4000;
    }
    o.keep_pid = has_kind("kept");
    return o;
}

static void terms_begin(void) {
    const sfid_options o = options_of_kind();
    terms = (struct terms){.window = o.ttl_ms * MS,
                           .brief = o.short_ms * MS,
                           .skew = o.skew_budget_ms * MS,
                           .heartbeat = o.heartbeat_ms * MS,
                           .deadline = 2 * SECOND,
                           .ahead = o.max_ahead_ms * MS};
}

void bound_print(const char *name, int64_t ns) { printf("%s %.3f\n", name, (double)ns / 1e9); }

void bounds_print(void) {
    settings.kinds = "default";
    terms_begin();
    causes_bounds();
    outages_bounds();
    steps_bounds();
    silent_bounds();
    host_faults_bounds();
}

/* ---- numbers that move
 * --------------------------------------------------------------------------- */

static void take_down(struct host *h) {
    kill_all(h);
    host_lose_state(h);
    host_boot(h, false);
    cause_begins(CAUSE_NUMBERS_MOVED, (int)(h - host), now_ns);
}

void exchange_numbers(void) {
    struct host *a = any_host(), *b = any_host();
    const unsigned number = a->number;
    if (a != b) {
        take_down(a);
        take_down(b);
        a->number = b->number;
        b->number = number;
    }
}

static void numbers_move(void *arg) {
    event_now("exchange_numbers");
    at_time(now_ns + up_to(&streams.faults, BETWEEN_MOVES), numbers_move, arg);
}

static void numbers_begin(void) {
    for (unsigned i = 0; i < hosts; i++) {
        host[i].number = i;
        cause_begins(CAUSE_NUMBERS_MOVED, (int)i, now_ns);
    }
    if (!events_are_played())
        at_time(now_ns + up_to(&streams.faults, BETWEEN_MOVES), numbers_move, NULL);
}

/* ---- a pool that lacks a server
 * ------------------------------------------------------------------- */

static int64_t back_at;

void one_is_away(void) {
    argument_is_called("which");
    const unsigned which = (unsigned)below(&streams.faults, servers);
    back_at = server[which].down_till = now_ns + up_to(&streams.faults, LONGEST_AWAY);
    note("server %u is away until %.3f", which, (double)back_at / 1e9);
}

static void go_away(void *arg) {
    event_now("one_is_away");
    at_time(back_at + up_to(&streams.faults, BETWEEN_MOVES), go_away, arg);
}

static void pool_begin(void) {
    servers = POOL;
    if (events_are_played())
        return;
    if (strcmp(settings.world, "none") == 0 || strcmp(settings.world, "harmless") == 0 ||
        strcmp(settings.world, "host") == 0)
        at_time(now_ns + 2 * (terms.window + terms.skew), go_away, NULL);
}

void kinds_begin(void) {
    for (unsigned i = 0; i < builds; i++)
        library_functions(i);
    hosts = settings.hosts;
    wide = (sfid_wide_layout){has_kind("flake")      ? SFID_FLAKE
                              : has_kind("awsflake") ? SFID_AWSFLAKE
                                                     : SFID_UUID7,
                              0, has_kind("awsflake") ? SFID_AWSFLAKE_EPOCH_MS : 0};
    if (lib.layout_parse(SMALL, &small) < 0)
        broken("no layout");
    terms_begin();
    if (has_kind("pool"))
        pool_begin();
    if (has_kind("mixed"))
        crates_begin();
    if (has_kind("ordinal"))
        numbers_begin();
    if (has_kind("auth"))
        passwords_begin();
}

/* Opens one, and checks what comes. `wants_since`: a pid. */
sfid *kind_open(int64_t wants_since) {
    const sfid_options o = options_of_kind();
    sfid *g = NULL;
    me->process->pageless = false;
    remains_before();
    const bool fixed = has_kind("fixed") || has_kind("ordinal");
    me->process->fixed.pid = has_kind("ordinal") ? here()->number : o.pid;
    me->process->fixed.is = PID_WANTED;
    const bool taken = fixed && fixed_is_taken(false), alone = guest_finds_none(),
               first = nobody_shares();
    opens++;
    me->process->opens++;
    opens_of_second += me->process->build;
    const int rc = lib.open(&g, &o);
    if (rc < 0) {
        opens_failed++;
        if (!(rc == SFID_EBUSY && (taken || fixed_is_taken(false))) &&
            !(rc == SFID_ELEASE && (alone || guest_finds_none())))
            check_open_failed(wants_since, rc, lib.last_error(g));
        lib.close(g);
        check_remains();
        me->process->fixed.is = PID_NONE;
        return NULL;
    }
    note("opened, pid %" PRId64, lib.pid(g));
    check_successor(lib.pid(g));
    meets_stopped();
    me->process->holds = lib.pid(g);
    me->process->opened_at = now_ns;
    if (fixed)
        check_fixed();
    if (o.share == 1)
        guests_are_kept();
    if (o.share == 2)
        check_guest(first);
    return g;
}

void kind_close(sfid *g) {
    const int64_t began = now_ns, pid = lib.pid(g);
    me->process->opened_at = 0;
    if (me->process->fixed.is == PID_HELD)
        me->process->fixed.is = PID_WANTED; /* from some step of it on another one may have it */
    lib.close(g);
    if (me->process->pageless)
        pid_is_left(pid);
    check_closed(began);
    check_remains();
    if (strcmp(settings.world, "none") == 0) /* elsewhere an answer may have been late */
        check_hoard(me->process->host, true);
    me->process->keeps = false;
    me->process->fixed.is = PID_NONE;
}

/* ---- a thread that draws --------------------------------------------------------------------- */

unsigned kind_helpers(void) {
    return has_kind("lanes") ? (unsigned)below(chances(), HELPERS + 1) : 0;
}

void drawer_begin(struct drawer *d, sfid *g, int64_t *newest) {
    *d = (struct drawer){.g = g,
                         .pid = lib.pid(g),
                         .newest = newest,
                         .seen = {.got_at = now_ns, .opened_at = now_ns},
                         .seen_of_lane = {.got_at = now_ns, .opened_at = now_ns}};
    if (has_kind("lanes") && !is_wide() && lib.lane_open(&d->lane, g) < 0)
        broken("no lane");
}

void drawer_end(struct drawer *d) { lib.lane_close(d->lane); }

/* Ticks are short: all draw in the first one of a second by their clock, so that IDs of one second
 * meet. */
void drawer_meet(void) {
    if (is_wide())
        nap(SECOND - wall_ns(here()) % SECOND);
}

static void draw_wide(struct drawer *d, bool waits) {
    sfid_wide id;
    sfid_wide_parts parts;
    const int rc = waits ? lib.next_wide(d->g, &id) : lib.try_next_wide(d->g, &id);
    if (rc < 0)
        check_refusal(&d->seen, rc, lib.last_error(d->g));
    else if (lib.wide_parse(&wide, id, &parts) < 0)
        broken("an ID of another layout");
    else
        check_wide(&d->seen, &id, &parts);
}

static void look_at(const struct drawer *d, struct seen *s, int64_t id) {
    if (id < 0) {
        check_refusal(s, (int)id, lib.last_error(d->g));
        return;
    }
    check_id(s, id);
    check_stranger((uint64_t)id >> kind_seq_bits() & ((1 << 11) - 1));
    *d->newest = id > *d->newest ? id : *d->newest;
}

/* A run of a lane ends with its tick, or is used up. */
static void draw_of_lane(struct drawer *d) {
    const int64_t newest = *d->newest, clock = lib.min_at(NULL, wall_ns(here()) / MS);
    const int64_t id = lib.lane_next(d->lane);
    look_at(d, &d->seen_of_lane, id);
    if (id >= 0)
        check_tick(id, newest < clock ? newest : clock);
}

static void use_up(struct drawer *d) {
    int64_t ids[BATCH];
    const int64_t n = lib.next_n(d->g, ids, BATCH);
    for (int64_t i = 0; i < n; i++)
        look_at(d, &d->seen, ids[i]);
    if (n < 0)
        look_at(d, &d->seen, n);
}

void drawer_draw(struct drawer *d) {
    const bool waits = chance(chances(), 500);
    const int64_t may_sleep_at = waits ? now_ns : me->process->may_sleep_at;
    if (is_wide())
        draw_wide(d, waits);
    else if (has_kind("batch") && chance(chances(), USE_UP))
        use_up(d);
    else if (d->lane && chance(chances(), 800))
        for (int n = chance(chances(), LONG_RUNS) ? LONG_RUN : 1; n > 0; n--)
            draw_of_lane(d);
    else
        look_at(d, &d->seen, waits ? lib.next(d->g) : lib.try_next(d->g));
    me->process->may_sleep_at = may_sleep_at;
    if (has_kind("kept") && lib.pid(d->g) != d->pid)
        blame("MOVED from pid %" PRId64 " to %" PRId64, d->pid, lib.pid(d->g));
}
