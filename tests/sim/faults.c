/* SPDX-License-Identifier: MIT */
/*
 * faults.c - what befalls the fleet, by the name of a world.
 *
 * A world is a list of faults, each with a weight, and the mean time between two. Faults have a
 * stream of numbers of their own.
 */
#include "host_faults.h"
#include "sim.h"
#include "steps.h"

static struct stream *const dice = &streams.faults;

struct fault {
    void (*happens)(void);
    unsigned weight;
};
static const struct fault all[] = {{kill_one, 20},   {stop_one, 10},          {step_clock, 10},
                                   {cut_long, 10},   {restart_with_data, 10}, {restart_without, 2},
                                   {save, 10},       {fail_over, 2},          {flush, 2},
                                   {lose_power, 3},  {lose_run, 3},           {disk_hangs, 10},
                                   {disk_fails, 10}, {copy_machine, 10},      {NULL, 0}};
static const struct fault harmless[] = {
    {kill_one, 10}, {cut_short, 10}, {step_clock, 10}, {disk_is_slow, 10}, {NULL, 0}};
static const struct fault at_servers[] = {{cut_long, 20},         {fail_over, 10}, {save, 10},
                                          {kill_one, 10},         {stop_one, 10},  {flush, 4},
                                          {restart_with_data, 5}, {NULL, 0}};
static const struct fault on_one_host[] = {
    {kill_one, 20}, {lose_power, 20}, {lose_run, 10}, {disk_hangs, 10}, {NULL, 0}};
static const struct fault without_files[] = {{open_no_files, 10}, {lose_power, 10}, {NULL, 0}};
static const struct fault at_brink[] = {{cut_to_the_brink, 1}, {NULL, 0}};
static const struct fault held_up[] = {{cut_long, 10},       {stop_one, 5}, {kill_one, 10},
                                       {kill_and_start, 10}, {lose_run, 5}, {NULL, 0}};
static const struct fault denied[] = {{deny, 10}, {kill_and_start, 5}, {NULL, 0}};
static const struct fault at_ends[] = {{end_one, 20},     {end_briefly, 10},  {kill_and_start, 20},
                                       {end_cut_off, 10}, {end_with_disk, 5}, {disk_is_slow, 5},
                                       {stop_one, 2},     {NULL, 0}};
static const struct fault at_deploys[] = {{end_beside, 10},
                                          {end_one, 20},
                                          {kill_and_start, 20},
                                          {end_briefly, 10},
                                          {end_cut_off, 5},
                                          {cut_long, 3},
                                          {restart_soon, 5},
                                          {restart_with_data, 3},
                                          {fail_over, 3},
                                          {flush, 3},
                                          {save, 5},
                                          {start_over, 6},
                                          {lose_run, 2},
                                          {kill_one, 5},
                                          {copy_machine, 5},
                                          {NULL, 0}};
static const struct fault at_replica[] = {{kill_one, 10}, {kill_and_start, 10}, {lose_run, 3},
                                          {stop_one, 5},  {cut_long, 5},        {reach_replica, 10},
                                          {NULL, 0}};
static const struct fault at_old_copy[] = {
    {kill_one, 10}, {kill_and_start, 10}, {lose_run, 3}, {stop_one, 5},
    {cut_long, 5},  {save, 10},           {put_back, 5}, {NULL, 0}};
static const struct fault at_masters[] = {{kill_one, 10}, {kill_and_start, 10}, {lose_run, 3},
                                          {stop_one, 5},  {cut_long, 5},        {split, 10},
                                          {NULL, 0}};
static const struct fault at_restarts[] = {
    {restart_soon, 10},   {restart_with_data, 10}, {restart_late, 3}, {kill_one, 10},
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
static const struct fault in_steps[] = {{end_in_step, 10},  {end_in_exchange, 20},
                                        {end_in_close, 10}, {end_in_open, 10},
                                        {end_one, 3},       {NULL, 0}};
static const struct fault at_successors[] = {{kill_for_successor, 1}, {NULL, 0}};
static const struct fault at_skew[] = {{behind_and_empty, 1}, {NULL, 0}};
static const struct fault at_silent[] = {{fall_silent, 1}, {NULL, 0}};
static const struct fault at_replaced[] = {{split, 1}, {NULL, 0}};
static const struct fault at_strangers[] = {
    {evict_registrations, 10}, {kill_and_start, 3}, {NULL, 0}};
static const struct fault at_jumps[] = {
    {jump, 10}, {step_server, 10}, {kill_and_start, 5}, {end_one, 5}, {NULL, 0}};
static const struct fault at_refusals[] = {
    {refuse, 10}, {kill_and_start, 5}, {end_one, 5}, {stop_one, 1}, {NULL, 0}};
static const struct fault at_sentinels[] = {
    {master_fails, 5}, {sentinel_is_away, 10}, {sentinel_is_wrong, 10},
    {kill_one, 10},    {end_one, 10},          {kill_and_start, 10},
    {lose_run, 3},     {cut_long, 3},          {NULL, 0}};
static const struct fault at_names[] = {
    {master_fails, 5},    {name_is_lost, 5}, {kill_one, 10}, {end_one, 10},
    {kill_and_start, 10}, {lose_run, 3},     {cut_long, 3},  {NULL, 0}};
static const struct fault at_upgrades[] = {
    {upgrade_host, 20}, {kill_and_start, 10}, {end_one, 10}, {end_beside, 5},
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
    {.name = "names",
     .fault = at_names,
     .between = 30 * SECOND,
     .wire = WIRE_SHORT,
     .begins = names_begin},
    {.name = "upgrades",
     .fault = at_upgrades,
     .between = 20 * SECOND,
     .wire = WIRE_SHORT,
     .two_builds = true},
    {.name = "successors", .fault = at_successors, .between = 5 * SECOND},
    {.name = "steps", .fault = in_steps, .between = 5 * SECOND},
    {.name = "restarts", .fault = at_restarts, .between = 60 * SECOND, .wire = WIRE_LONG},
    {.name = "cluster",
     .fault = in_cluster,
     .between = 30 * SECOND,
     .wire = WIRE_LONG,
     .begins = cluster_begins,
     .store = "redis+cluster://server-1:6379,server-2:6379,server-3:6379"},
    {.name = "replica",
     .fault = at_replica,
     .between = 30 * SECOND,
     .wire = WIRE_LONG,
     .begins = replica_begins},
    {.name = "oldcopy",
     .fault = at_old_copy,
     .between = 30 * SECOND,
     .wire = WIRE_LONG,
     .notices = true,
     .breaks =
         "A script runs as a whole; only scripts write the app's hash; nobody puts an old copy into a running server"},
    {.name = "masters",
     .fault = at_masters,
     .between = 30 * SECOND,
     .wire = WIRE_LONG,
     .begins = masters_begin},
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
    X(kill_one), X(end_one), X(end_briefly), X(end_beside), X(kill_and_start), X(stop_one), \
        X(step_clock), X(cut_long), X(cut_short), X(cut_to_the_brink), X(end_cut_off), \
        X(lose_power), X(lose_run), X(disk_hangs), X(end_with_disk), X(disk_is_slow), \
        X(disk_fails), X(open_no_files), X(copy_machine), X(deny), X(restart_with_data), \
        X(restart_soon), X(restart_late), X(restart_without), X(save), X(flush), X(fail_over), \
        X(put_back), X(reach_replica), X(split), X(behind_and_empty), X(half_away), X(start_over), \
        X(fall_silent), X(cluster_moves), X(cluster_fails_over), X(cluster_raises_epoch), \
        X(cluster_owner_restarts), X(exchange_numbers), X(one_is_away), X(end_in_step), \
        X(end_in_open), X(end_in_exchange), X(end_in_close), X(kill_for_successor), \
        X(evict_registrations), X(jump), X(step_server), X(refuse), X(upgrade_host), \
        X(change_password), X(master_fails), X(sentinel_is_away), X(sentinel_is_wrong), \
        X(name_is_lost)
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
    at_time(now_ns + up_to(dice, 2 * world->between), next_fault, arg);
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
