/* SPDX-License-Identifier: MIT */
/*
 * UUIDs of processes on different hosts, with pids leased from a server: none equal, random bits
 * aside; also when one is killed and starts again, and when one loses its pid to another while it
 * is stopped and goes on with a new one: each UUID carries the pid under which its number was
 * drawn.
 *
 * Sizes: 100,000 by each of three processes (long: a million; sanitizer: 10,000), against each
 * server.
 */
#include "support/fleet.h"
#include "support/wide.h"

enum { HOSTS = 3, PIDS = 16, ROOM = 1 << 22 };

static sfid_wide_layout uuid7;

struct host {
    sfid_options opt;
    struct drawn *drawn;
    uint64_t most;
    atomic_int opened, may_end, stays, losses, again;
    int64_t pid;
    int rc;
};

static sfid_options uuid_options(const struct redis *r, const char *app, unsigned host) {
    sfid_options opt = fleet_options(r, app, &SFID_LAYOUT_DEFAULT);
    opt.layout = NULL;
    opt.wide = &uuid7;
    opt.pid_max = PIDS;
    on_host(&opt, host);
    return opt;
}

static void listen(void *user, const sfid_event *e) {
    struct host *h = user;
    if (e->kind == SFID_EVENT_LOST)
        atomic_fetch_add(&h->losses, 1);
    if (e->kind == SFID_EVENT_LEASED_AGAIN)
        atomic_fetch_add(&h->again, 1);
}

/* Draws as many as it is to, or until it may end. Closes no earlier than it may. */
static int live(void *arg) {
    struct host *h = arg;
    sfid *g = NULL;
    h->opt.on_event = listen;
    h->opt.user = h;
    h->rc = sfid_open(&g, &h->opt);
    if (h->rc != 0)
        fprintf(stderr, "# %s\n", sfid_last_error(g));
    h->pid = sfid_pid(g);
    atomic_store(&h->opened, 1);
    while (h->rc == 0 && h->drawn->count < h->most && !atomic_load(&h->may_end) &&
           drawn_add(h->drawn, g))
        if (h->most == UINT64_MAX)
            nap_us(200);
    while (atomic_load(&h->stays))
        nap_us(200);
    sfid_close(g);
    return h->rc == 0 && h->drawn->error == 0 ? 0 : 1;
}

static struct host *host_new(const struct redis *r, const char *app, unsigned number,
                             uint64_t most) {
    struct host *h = shared_memory(sizeof *h);
    h->opt = uuid_options(r, app, number);
    h->most = most;
    h->drawn = drawn_new(ROOM);
    return h;
}

static pid_t host_start(struct host *h) {
    const int before = atomic_load(&h->opened);
    const pid_t child = child_start(live, h);
    must(before != 0 || flag_wait(&h->opened, 1, TAP_WAIT_MS), "a process does not open");
    return child;
}

/* Until it has drawn so many. */
static void wait_for(struct host *h, uint64_t count) {
    struct patience p = {0};
    while (atomic_load(&h->drawn->count) < count && patient(&p, TAP_WAIT_MS))
        nap_us(100);
    must(atomic_load(&h->drawn->count) >= count, "a process does not draw");
}

/* How many pids the UUIDs of a list have. */
static int pids_in(const struct drawn *d) {
    uint64_t seen = 0;
    for (uint64_t i = 0; i < d->count; i++) {
        sfid_wide_parts p;
        if (sfid_wide_parse(&uuid7, d->ids[i], &p) == 0 && p.pid <= PIDS)
            seen |= UINT64_C(1) << p.pid;
    }
    return __builtin_popcountll(seen);
}

/* ---- at once, and killed -------------------------------------------------- */

static void test_hosts(struct redis *r) {
    const uint64_t most = sized(100000, 1000000, 10000);
    struct host *hosts[HOSTS];
    struct drawn *lists[HOSTS];
    pid_t children[HOSTS];
    int faults = 0;
    for (unsigned i = 0; i < HOSTS; i++) {
        /* the first does not come to its end */
        hosts[i] = host_new(r, "hosts", i, i == 0 ? ROOM : most);
        lists[i] = hosts[i]->drawn;
        atomic_store(&hosts[i]->stays, 1); /* or the next one may have its pid */
        children[i] = host_start(hosts[i]);
    }
    for (unsigned i = 0; i < HOSTS; i++)
        atomic_store(&hosts[i]->stays, 0);
    wait_for(hosts[0], most / 10);
    child_kill(children[0]);
    const uint64_t before = lists[0]->count;
    diag("killed after %" PRIu64, before);
    hosts[0]->most = before + most;
    children[0] = child_start(live, hosts[0]);
    for (int i = 0; i < HOSTS; i++)
        faults += child_wait(children[i], 2 * TAP_WAIT_MS) != 0;
    is_i64(faults, 0, "three hosts: all draw, one of them again after a kill");
    for (int i = 0; i < HOSTS; i++)
        faults += !increases(lists[i]->ids, lists[i]->count) || pids_in(lists[i]) != 1;
    is_i64(faults, 0, "three hosts: each increasing, with one pid");
    is_u64(repeated(lists, HOSTS, &uuid7), 0, "three hosts: none equal, random bits aside");
    ok(hosts[0]->pid != hosts[1]->pid && hosts[1]->pid != hosts[2]->pid &&
           hosts[0]->pid != hosts[2]->pid,
       "three hosts: three pids");
}

/* ---- lost ----------------------------------------------------------------- */

static void test_lost(struct redis *r) {
    struct host *slow = host_new(r, "lost", 3, UINT64_MAX),
                *taker = host_new(r, "lost", 4, UINT64_MAX);
    struct drawn *const lists[] = {slow->drawn, taker->drawn};
    slow->opt.ttl_ms = taker->opt.ttl_ms = 2000;
    slow->opt.heartbeat_ms = taker->opt.heartbeat_ms = 300;
    fleet_timeout(&slow->opt, r, 500);
    taker->opt.store = slow->opt.store;
    const pid_t one = host_start(slow);
    wait_for(slow, 100);
    kill(one, SIGSTOP);
    taker->opt.pid_min = taker->opt.pid_max = slow->pid;
    const pid_t two = host_start(taker);
    is_i64(taker->rc, 0, "a stopped process's pid is taken when its lease is over");
    is_i64(taker->pid, slow->pid, "by another host");
    const uint64_t then = slow->drawn->count;
    kill(one, SIGCONT);
    ok(flag_wait(&slow->again, 1, TAP_WAIT_MS), "it finds another when it goes on");
    wait_for(slow, slow->drawn->count + 100);
    atomic_store(&slow->may_end, 1);
    atomic_store(&taker->may_end, 1);
    is_i64(child_wait(one, TAP_WAIT_MS), 0, "and draws, without an error on the way");
    is_i64(child_wait(two, TAP_WAIT_MS), 0, "as does the other");
    diag("%" PRIu64 " before it was stopped, %" PRIu64 " after", then, slow->drawn->count - then);
    is_i64(pids_in(slow->drawn), 2, "its UUIDs have the old pid, then the new");
    ok(increases(slow->drawn->ids, slow->drawn->count) &&
           increases(taker->drawn->ids, taker->drawn->count),
       "and increase");
    is_u64(repeated(lists, 2, &uuid7), 0, "none is equal to one of the other's, random bits aside");
}

static void test(struct redis *r) {
    test_hosts(r);
    test_lost(r);
}

int main(void) {
    dirs_make();
    servers_find();
    uuid7 = wide_layout("uuid7");
    const bool all_at_once = getenv("SFID_TEST_LONG") != NULL;
    for (unsigned i = 0; i < (all_at_once ? 1 : servers.n); i++)
        on_servers(i, 0, test);
    return done_testing();
}
