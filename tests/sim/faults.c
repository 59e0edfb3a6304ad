/* SPDX-License-Identifier: MIT */
/*
 * faults.c - what befalls the fleet.
 *
 * A world is a list of faults, each with a weight, and the mean time between two. Faults have a stream of numbers of their own.
 */
#include "sim.h"
#include "steps.h"

static struct stream *const dice = &streams.faults;

static int64_t any_ns(int64_t ns) { return up_to(dice, ns); }

struct host *any_host(void) {
    argument_is_called("host");
    return &host[below(dice, hosts)];
}

static int number_of(const struct host *h) { return (int)(h - host); }

struct process *any_process(const struct host *h) {
    struct process *there[PROCESSES];
    uint64_t n = 0, chosen = 0;
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].host == number_of(h)) {
            there[n++] = &process[i];
            if (draw64(dice) % n == 0)
                chosen = n - 1;
        }
    argument_is_called("process");
    return n == 0 ? NULL : there[acting ? (uint64_t)event_argument(ARGUMENT_COUNT, (int64_t)chosen, (int64_t)n) : chosen];
}

void kill_all(const struct host *h) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].host == number_of(h))
            process_kill(&process[i]);
}

/* ---- on a host ------------------------------------------------------------------------- */

static int64_t killed_ns[HOSTS]; /* the last one of a host; its successor comes within SUCCESSOR */
#define SUCCESSOR (10 * SECOND)

static void kill_one(void) {
    const struct host *h = any_host();
    struct process *p = any_process(h);
    if (p == NULL)
        return;
    cause_begins(p->pageless ? CAUSE_POWER : CAUSE_KILL, number_of(h), now_ns);
    killed_ns[number_of(h)] = now_ns;
    note("process %d is killed", p->pid);
    process_kill(p);
    kills++;
}

/* What is told to end and has not ended when its time is over is killed, as service managers do; here or there it starts again. */
struct term {
    int place;
    unsigned born;
};

static void start_again(const struct process *p) {
    if (p->parent == 1)
        fleet_start(p->host, now_ns + any_ns(100 * MS));
}

static void time_is_over(void *arg) {
    struct term *t = arg;
    struct process *p = &process[t->place];
    if (p->used && p->born == t->born) {
        note("process %d has not ended in time and is killed", p->pid);
        start_again(p);
        process_kill(p);
        kills++;
    }
    free(t);
}

static void end_on(const struct host *h, int64_t grace) {
    struct process *p = any_process(h);
    if (p == NULL || p->told_at)
        return;
    struct term *t = memory(sizeof *t);
    *t = (struct term){(int)(p - process), p->born};
    note("process %d is told to end", p->pid);
    cause_begins(CAUSE_END, number_of(h), now_ns);
    process_tell(p);
    at_time(now_ns + grace, time_is_over, t);
}

static void end_one(void) { end_on(any_host(), 10 * SECOND); }

/* Killed inside the close, or before. */
static void end_briefly(void) {
    const int64_t grace = any_ns(50 * MS);
    end_on(any_host(), grace);
}

/* The next one starts before it has ended. */
static void end_beside(void) {
    const struct host *h = any_host();
    end_on(h, 10 * SECOND);
    fleet_start(number_of(h), now_ns + any_ns(20 * MS));
}

static void kill_and_start(void) {
    const struct host *h = any_host();
    struct process *p = any_process(h);
    if (p == NULL)
        return;
    cause_begins(p->pageless ? CAUSE_POWER : CAUSE_KILL, number_of(h), now_ns);
    note("process %d is killed, and starts again", p->pid);
    start_again(p);
    process_kill(p);
    kills++;
}

static void stop_for(int64_t ns) {
    const struct host *h = any_host();
    struct process *p = any_process(h);
    if (p == NULL)
        return;
    process_stop(p, now_ns + any_ns(ns));
    note("process %d is stopped", p->pid);
    cause_begins(CAUSE_STOPPED, number_of(h), p->stopped_till);
}

static void stop_one(void) { stop_for(250 * SECOND); }

/*
 * With the drift of an hour and the step of a server it stays below max_skew_ms, so that the server takes it. Without a server the
 * clocks of two hosts may differ by the skew budget.
 */
static void step_clock(void) {
    struct host *h = any_host();
    const int64_t before = h->offset_ns, most = has_kind("ordinal") ? terms.skew - 800 * MS : 2400 * MS;
    h->offset_ns = any_ns(most) - most / 2;
    cause_begins(CAUSE_CLOCK, number_of(h), now_ns + (before > h->offset_ns ? before - h->offset_ns : 0));
}

static void cut_for(int64_t ns) {
    struct host *h = any_host();
    if (wire_is_stated())
        return;
    h->cut_till = now_ns + any_ns(ns);
    cause_begins(CAUSE_AWAY, number_of(h), h->cut_till + 2 * SECOND);
}

static void cut_long(void) { cut_for(400 * SECOND); }

/* Shorter than W - H - D - 0.5 s: this costs nothing, and is no cause. */
static void cut_short(void) {
    struct host *h = any_host();
    h->cut_till = now_ns + any_ns(5 * SECOND);
    note("host %d is cut off for a while", number_of(h));
}

#define LAST_PAUSE (500 * MS)   /* between the last tries of a window */
#define ARRIVES_BY (2 * SECOND) /* what was sent when a cut is over */

void faults_bounds(void) { bound_print("last-pause", LAST_PAUSE); }

/* For W - H - D - 0.5 s: this costs nothing, but for newcomers, who wait, and whose first window may be a short one. */
static void cut_to_the_brink(void) {
    struct host *h = any_host();
    if (settings.life_ns < (int64_t)(settings.hours * 3600) * SECOND)
        broken("the world brink wants processes that outlive it, and --life= so many seconds");
    if (now_ns < 3 * terms.window || now_ns < h->cut_till + terms.window)
        return;
    h->cut_till = now_ns + terms.window - terms.heartbeat - terms.deadline - LAST_PAUSE - ARRIVES_BY;
    note("host %d is cut off for as long as costs nothing", number_of(h));
}

static void end_there(void *arg) { end_on(arg, 10 * SECOND); }

/* Each renewal that is due meanwhile is under way for as long as an exchange may take, and then tried again. */
static void end_cut_off(void) {
    struct host *h = any_host();
    if (wire_is_stated())
        return;
    h->cut_till = now_ns + any_ns(60 * SECOND);
    cause_begins(CAUSE_AWAY, number_of(h), h->cut_till + 2 * SECOND);
    at_time(now_ns + any_ns(60 * SECOND), end_there, h);
}

static void lose_power(void) {
    struct host *h = any_host();
    cause_begins(CAUSE_POWER, number_of(h), now_ns);
    kill_all(h);
    if (!kind_has_servers() && !has_kind("ordinal") && chance(dice, 600)) {
        const int64_t back = any_ns(40 * SECOND);
        h->offset_ns -= back;
        cause_begins(CAUSE_CLOCK, number_of(h), now_ns + back);
    }
    h->files_gone_till = 0;
    host_boot(h, true);
}

static void lose_run(void) {
    struct host *h = any_host();
    const bool orphaned = killed_ns[number_of(h)] && now_ns < killed_ns[number_of(h)] + SUCCESSOR;
    cause_begins(orphaned ? CAUSE_POWER : CAUSE_RUN_GONE, number_of(h), now_ns);
    for (int i = 0; i < PROCESSES; i++)
        process[i].pageless |= process[i].host == number_of(h);
    host_lose_run(h);
}

/* Who waits for a disk that hangs already goes on when that is over. */
static void hang_for(struct host *h, int64_t ns) {
    const int64_t till = now_ns + any_ns(ns);
    if (till > h->disk_hangs_till)
        h->disk_hangs_till = till;
}

static void disk_hangs(void) {
    struct host *h = any_host();
    hang_for(h, 20 * SECOND);
    cause_begins(CAUSE_DISK, number_of(h), h->disk_hangs_till);
}

static void end_with_disk(void) {
    struct host *h = any_host();
    hang_for(h, 20 * SECOND);
    cause_begins(CAUSE_DISK, number_of(h), h->disk_hangs_till);
    at_time(now_ns + any_ns(20 * SECOND), end_there, h);
}

static void disk_is_slow(void) {
    struct host *h = any_host();
    hang_for(h, SECOND);
    note("the disk of host %d is slow", number_of(h));
}

static void disk_fails(void) {
    struct host *h = any_host();
    if (chance(dice, 500)) {
        h->disk_full_till = now_ns + any_ns(60 * SECOND);
        cause_begins(CAUSE_DISK, number_of(h), h->disk_full_till);
    } else {
        h->disk_bad_till = now_ns + any_ns(20 * SECOND);
        cause_begins(CAUSE_DISK, number_of(h), h->disk_bad_till);
    }
}

static void open_no_files(void) {
    struct host *h = any_host();
    h->files_gone_till = now_ns + any_ns(60 * SECOND);
    cause_begins(CAUSE_DISK, number_of(h), h->files_gone_till);
}

static void copy_machine(void) {
    struct host *from = any_host(), *to = any_host();
    if (from == to || !has_kind("copy"))
        return;
    kill_all(to);
    if (!machine_copy(number_of(from), number_of(to)))
        return;
    check_copied(has_kind("hidden"));
    causes_copied(number_of(from), number_of(to));
    if (!has_kind("hidden"))
        to->slept_ns += SECOND + any_ns(5 * SECOND);
    cause_begins(CAUSE_COPY, number_of(from), now_ns);
    cause_begins(CAUSE_COPY, number_of(to), now_ns);
}

/* ---- worlds --------------------------------------------------------------------------------- */

struct fault {
    void (*happens)(void);
    unsigned weight;
};
static const struct fault all[] = {
    {kill_one, 20},       {stop_one, 10},   {step_clock, 10}, {cut_long, 10},     {restart_with_data, 10},
    {restart_without, 2}, {save, 10},       {fail_over, 2},   {flush, 2},         {lose_power, 3},
    {lose_run, 3},        {disk_hangs, 10}, {disk_fails, 10}, {copy_machine, 10}, {NULL, 0}};
static const struct fault harmless[] = {{kill_one, 10}, {cut_short, 10}, {step_clock, 10}, {disk_is_slow, 10}, {NULL, 0}};
static const struct fault at_servers[] = {{cut_long, 20}, {fail_over, 10},        {save, 10}, {kill_one, 10}, {stop_one, 10},
                                          {flush, 4},     {restart_with_data, 5}, {NULL, 0}};
static const struct fault on_one_host[] = {{kill_one, 20}, {lose_power, 20}, {lose_run, 10}, {disk_hangs, 10}, {NULL, 0}};
static const struct fault without_files[] = {{open_no_files, 10}, {lose_power, 10}, {NULL, 0}};
static const struct fault at_brink[] = {{cut_to_the_brink, 1}, {NULL, 0}};
static const struct fault held_up[] = {{cut_long, 10},       {stop_one, 5}, {kill_one, 10},
                                       {kill_and_start, 10}, {lose_run, 5}, {NULL, 0}};
static const struct fault denied[] = {{deny, 10}, {kill_and_start, 5}, {NULL, 0}};
static const struct fault at_ends[] = {{end_one, 20},      {end_briefly, 10}, {kill_and_start, 20}, {end_cut_off, 10},
                                       {end_with_disk, 5}, {disk_is_slow, 5}, {stop_one, 2},        {NULL, 0}};
static const struct fault at_deploys[] = {
    {end_beside, 10},  {end_one, 20},          {kill_and_start, 20}, {end_briefly, 10}, {end_cut_off, 5}, {cut_long, 3},
    {restart_soon, 5}, {restart_with_data, 3}, {fail_over, 3},       {flush, 3},        {save, 5},        {start_over, 6},
    {lose_run, 2},     {kill_one, 5},          {copy_machine, 5},    {NULL, 0}};
static const struct fault at_replica[] = {{kill_one, 10}, {kill_and_start, 10}, {lose_run, 3}, {stop_one, 5},
                                          {cut_long, 5},  {reach_replica, 10},  {NULL, 0}};
static const struct fault at_old_copy[] = {{kill_one, 10}, {kill_and_start, 10}, {lose_run, 3}, {stop_one, 5},
                                           {cut_long, 5},  {save, 10},           {put_back, 5}, {NULL, 0}};
static const struct fault at_masters[] = {{kill_one, 10}, {kill_and_start, 10}, {lose_run, 3}, {stop_one, 5},
                                          {cut_long, 5},  {split, 10},          {NULL, 0}};
static const struct fault at_restarts[] = {{restart_soon, 10},   {restart_with_data, 10}, {restart_late, 3}, {kill_one, 10},
                                           {kill_and_start, 10}, {lose_run, 5},           {stop_one, 5},     {NULL, 0}};
static const struct fault in_cluster[] = {{cluster_moves, 10},
                                          {cluster_fails_over, 10},
                                          {cluster_raises_epoch, 3},
                                          {cluster_owner_restarts, 5},
                                          {end_one, 10},
                                          {kill_one, 10},
                                          {kill_and_start, 10},
                                          {lose_run, 3},
                                          {stop_one, 5},
                                          {cut_long, 5},
                                          {NULL, 0}};
static const struct fault in_steps[] = {{end_in_step, 10}, {end_in_exchange, 20}, {end_in_close, 10},
                                        {end_in_open, 10}, {end_one, 3},          {NULL, 0}};
static const struct fault at_successors[] = {{kill_for_successor, 1}, {NULL, 0}};
static const struct fault at_skew[] = {{behind_and_empty, 1}, {NULL, 0}};
static const struct fault at_silent[] = {{fall_silent, 1}, {NULL, 0}};
static const struct fault at_replaced[] = {{split, 1}, {NULL, 0}};
static const struct fault at_strangers[] = {{evict_registrations, 10}, {kill_and_start, 3}, {NULL, 0}};
static const struct fault at_jumps[] = {{jump, 10}, {step_server, 10}, {kill_and_start, 5}, {end_one, 5}, {NULL, 0}};
static const struct fault at_refusals[] = {{refuse, 10}, {kill_and_start, 5}, {end_one, 5}, {stop_one, 1}, {NULL, 0}};
static const struct fault at_sentinels[] = {{master_fails, 5}, {sentinel_is_away, 10}, {sentinel_is_wrong, 10},
                                            {kill_one, 10},    {end_one, 10},          {kill_and_start, 10},
                                            {lose_run, 3},     {cut_long, 3},          {NULL, 0}};
static const struct fault at_names[] = {{master_fails, 5},    {name_is_lost, 5}, {kill_one, 10}, {end_one, 10},
                                        {kill_and_start, 10}, {lose_run, 3},     {cut_long, 3},  {NULL, 0}};
static const struct fault at_upgrades[] = {{upgrade_host, 20}, {kill_and_start, 10}, {end_one, 10}, {end_beside, 5},
                                           {kill_one, 10},     {stop_one, 3},        {cut_long, 3}, {restart_soon, 3},
                                           {flush, 1},         {lose_run, 2},        {NULL, 0}};
static const struct fault at_limits[] = {{half_away, 1}, {NULL, 0}};

static const struct world {
    const char *name;
    const struct fault *fault;
    int64_t between;
    enum faulty wire;
    void (*begins)(void);
    bool notices, two_builds;
    const char *breaks, *store;
} worlds[] = {
    {.name = "none"},
    {.name = "all", .fault = all, .between = 30 * SECOND, .wire = WIRE_LONG},
    {.name = "harmless", .fault = harmless, .between = 15 * SECOND, .wire = WIRE_SHORT},
    {.name = "servers", .fault = at_servers, .between = 60 * SECOND, .wire = WIRE_STUCK},
    {.name = "host", .fault = on_one_host, .between = 60 * SECOND},
    {.name = "files", .fault = without_files, .between = 30 * SECOND},
    {.name = "brink", .fault = at_brink, .between = 5 * SECOND},
    {.name = "stuck", .fault = held_up, .between = 15 * SECOND, .wire = WIRE_STUCK},
    {.name = "denied", .fault = denied, .between = 60 * SECOND},
    {.name = "silent", .fault = at_silent, .between = 900 * SECOND, .begins = silent_begins},
    {.name = "skew", .fault = at_skew, .between = 175 * SECOND},
    {.name = "outages", .wire = WIRE_GOOD}, /* a table: outages.c */
    {.name = "limits", .fault = at_limits, .between = 30 * SECOND},
    {.name = "ends", .fault = at_ends, .between = 10 * SECOND, .wire = WIRE_LONG},
    {.name = "deploys", .fault = at_deploys, .between = 15 * SECOND, .wire = WIRE_LONG},
    {.name = "strangers", .fault = at_strangers, .between = 40 * SECOND},
    {.name = "jumps", .fault = at_jumps, .between = 20 * SECOND, .wire = WIRE_SHORT},
    {.name = "refusals", .fault = at_refusals, .between = 20 * SECOND, .wire = WIRE_SHORT},
    {.name = "sentinels",
     .fault = at_sentinels,
     .between = 20 * SECOND,
     .wire = WIRE_SHORT,
     .begins = sentinels_begin,
     .store = "redis+sentinel://server-3:26379,server-4:26379/mymaster"},
    {.name = "names", .fault = at_names, .between = 30 * SECOND, .wire = WIRE_SHORT, .begins = names_begin},
    {.name = "upgrades", .fault = at_upgrades, .between = 20 * SECOND, .wire = WIRE_SHORT, .two_builds = true},
    {.name = "successors", .fault = at_successors, .between = 5 * SECOND},
    {.name = "steps", .fault = in_steps, .between = 5 * SECOND},
    {.name = "restarts", .fault = at_restarts, .between = 60 * SECOND, .wire = WIRE_LONG},
    {.name = "cluster",
     .fault = in_cluster,
     .between = 30 * SECOND,
     .wire = WIRE_LONG,
     .begins = cluster_begins,
     .store = "redis+cluster://server-1:6379,server-2:6379,server-3:6379"},
    {.name = "replica", .fault = at_replica, .between = 30 * SECOND, .wire = WIRE_LONG, .begins = replica_begins},
    {.name = "oldcopy",
     .fault = at_old_copy,
     .between = 30 * SECOND,
     .wire = WIRE_LONG,
     .notices = true,
     .breaks = "A script runs as a whole; only scripts write the app's hash; nobody puts an old copy into a running server"},
    {.name = "masters", .fault = at_masters, .between = 30 * SECOND, .wire = WIRE_LONG, .begins = masters_begin},
    {.name = "replaced", .fault = at_replaced, .between = 30 * SECOND, .begins = replaced_begins},
    {.name = "superseded",
     .fault = at_masters,
     .between = 30 * SECOND,
     .wire = WIRE_LONG,
     .begins = superseded_begins,
     .breaks = "A superseded master stops granting within S"},
};
static const struct world *world;
const char *world_breaks, *world_store;
bool world_notices;

/* All faults, of worlds and of kinds. */
#define FAULTS(X) \
    X(kill_one), X(end_one), X(end_briefly), X(end_beside), X(kill_and_start), X(stop_one), X(step_clock), X(cut_long), \
        X(cut_short), X(cut_to_the_brink), X(end_cut_off), X(lose_power), X(lose_run), X(disk_hangs), X(end_with_disk), \
        X(disk_is_slow), X(disk_fails), X(open_no_files), X(copy_machine), X(deny), X(restart_with_data), X(restart_soon), \
        X(restart_late), X(restart_without), X(save), X(flush), X(fail_over), X(put_back), X(reach_replica), X(split), \
        X(behind_and_empty), X(half_away), X(start_over), X(fall_silent), X(cluster_moves), X(cluster_fails_over), \
        X(cluster_raises_epoch), X(cluster_owner_restarts), X(exchange_numbers), X(one_is_away), X(end_in_step), X(end_in_open), \
        X(end_in_exchange), X(end_in_close), X(kill_for_successor), X(evict_registrations), X(jump), X(step_server), X(refuse), \
        X(upgrade_host), X(change_password), X(master_fails), X(sentinel_is_away), X(sentinel_is_wrong), X(name_is_lost)
#define NAMED(f) \
    { #f, f }
static const struct named {
    const char *name;
    void (*happens)(void);
} named[] = {FAULTS(NAMED)};

static const struct named *find_name(const char *name) {
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(named[i].name, name) == 0)
            return &named[i];
    broken("there is no fault %s", name);
}

static const char *name_of(void (*happens)(void)) {
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].happens == happens)
            return named[i].name;
    broken("a fault is not named in faults.c");
}

static bool is_of_kinds(void (*happens)(void)) {
    return happens == exchange_numbers || happens == one_is_away || happens == change_password;
}

void fault_happens(const char *name) {
    const struct named *fault = find_name(name);
    if (!is_of_kinds(fault->happens)) {
        argument_is_called("server");
        struck = servers > 1 ? (unsigned)below(dice, servers) : 0;
        argument_is_called(NULL);
    }
    fault->happens();
}

static void next_fault(void *arg) {
    unsigned sum = 0;
    for (const struct fault *f = world->fault; f->happens; f++)
        sum += f->weight;
    uint64_t at = below(dice, sum);
    const struct fault *f = world->fault;
    for (; at >= f->weight; f++)
        at -= f->weight;
    event_now(name_of(f->happens));
    at_time(now_ns + any_ns(2 * world->between), next_fault, arg);
}

static const struct world *find_world(void) {
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        if (strcmp(worlds[i].name, settings.world) == 0)
            return &worlds[i];
    broken("there is no world %s", settings.world);
}

bool world_has_servers(void) { return find_world()->begins != NULL; }

void faults_begin(void) {
    world = find_world();
    if (world->begins && (has_kind("pool") || has_kind("mixed") || !kind_has_servers()))
        broken("the world %s has servers of its own, and not those of these kinds", settings.world);
    wire_faulty = world->wire;
    world_breaks = world->breaks;
    world_notices = world->notices;
    world_store = world->store;
    if (world->begins)
        world->begins();
    if (world->two_builds)
        upgrades_begin();
    events_begin(settings.record != NULL);
    if (world->fault && !events_are_played())
        at_time(now_ns + 60 * SECOND, next_fault, NULL);
}
