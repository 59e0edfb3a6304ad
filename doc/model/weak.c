/* SPDX-License-Identifier: MIT */
/*
 * weak.c - explores RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing
 * Sequential Consistency in C/C++11, 2017), which is C11 with the repairs that
 * C++20 took over.
 *
 * An execution is a graph: events, for each read the write that it reads from,
 * and for each location an order of its writes (mo). The explorer adds one event
 * at a time to a graph, in every way that keeps it consistent, and forgets what
 * it has seen already. A thread is run again from its beginning for each event:
 * calls that the graph has return what stands there, the next one is what is to
 * be added. So what has no effect on other threads (control flow, variables)
 * needs no representation.
 *
 *   - Happens-before of an event is complete when it is added: what synchronizes
 *     with it are events already there. A release sequence is a write and the
 *     read-modify-writes that continue it, as in C++20; C11's also has later
 *     writes of the same thread, so it allows less.
 *   - Coherence: an event reads, and is placed in mo, not before what happens
 *     before it. A read-modify-write stands next to the write it reads.
 *   - Sequential consistency: RC11's psc has no cycle.
 *   - A race of plain accesses is a failure, and so is a want() that does not
 *     hold in a graph, complete or not.
 *
 * A read finds writes that were added before it, so there are no cycles of
 * program order and reads-from: a load is not seen to happen after a store that
 * follows it (load buffering), which C11's text allows, and RC11 forbids. Nor is
 * anything said of waiting: await() drops executions in which a thread goes on
 * waiting.
 */
#include "weak_graph.h"

#include <setjmp.h>
#include <string.h>

/* What a thread asks for. */
struct request {
    enum kind kind;
    int location, order, failing; /* failing: the order of an exchange that fails */
    long operand, expected;
    char op;
};

static const struct program *program;
static int tail[THREADS]; /* the last event of each thread */
static struct outcome outcome;

static struct {
    /* the thread's events, and how many of them this run has passed */
    int thread, depth, length, chain[EVENTS];
    struct request next;
    long note[NOTES];
    jmp_buf out;
} run;

enum how { ENDED, ASKS, WAITS, FAILED };

/* ---- threads --------------------------------------------------------------- */

static struct event *reach(struct request r) {
    if (run.depth < run.length)
        return &event[run.chain[run.depth++]];
    run.next = r;
    longjmp(run.out, ASKS);
}

static int order_of(int at, enum call call) {
    return at >= FIRST_SITE ? order_at(at, call) : call == FAILS ? RLX : at;
}

long load(int l, int at) {
    return reach((struct request){.kind = READ, .location = l, .order = order_of(at, LOADS)})->read;
}
void store(int l, long v, int at) {
    reach((struct request){
        .kind = WRITE, .location = l, .order = order_of(at, STORES), .operand = v});
}
static long change(int l, long v, int at, char op) {
    return reach((struct request){.kind = UPDATE,
                                  .location = l,
                                  .order = order_of(at, CHANGES),
                                  .operand = v,
                                  .op = op})
        ->read;
}
long add(int l, long v, int at) { return change(l, v, at, '+'); }
long set_bits(int l, long v, int at) { return change(l, v, at, '|'); }
long exchange(int l, long v, int at) { return change(l, v, at, '='); }
bool swap(int l, long *expected, long v, int at) {
    const struct event *e = reach(
        (struct request){UPDATE, l, order_of(at, SWAPS), order_of(at, FAILS), v, *expected, '?'});
    *expected = e->read;
    return e->kind == UPDATE;
}
void fence(int at) {
    const int order = order_of(at, FENCES);
    if (order != RLX)
        reach((struct request){.kind = FENCE, .order = order});
}
long read_plain(int l) {
    return reach((struct request){.kind = READ | PLAIN, .location = l})->read;
}
void write_plain(int l, long v) {
    reach((struct request){.kind = WRITE | PLAIN, .location = l, .operand = v});
}

static void fail(const char *text) {
    if (outcome.failed == NULL)
        outcome.failed = text;
}

void want(bool good, const char *text) {
    if (good)
        return;
    fail(text);
    longjmp(run.out, FAILED);
}

void await(bool good) {
    if (!good)
        longjmp(run.out, WAITS);
}

void note(int i, long v) { run.note[i] = v; }
long noted(int i) { return run.note[i]; }
long last(int l) { return event[mo[l][mo_count[l] - 1]].wrote; }
int arg(int i) { return program->arg[i]; }

static enum how run_thread(int t) {
    run.thread = t;
    run.depth = run.length = 0;
    for (int e = tail[t]; e >= 0; e = event[e].before)
        run.length++;
    for (int e = tail[t], i = run.length; e >= 0; e = event[e].before)
        run.chain[--i] = e;
    switch (setjmp(run.out)) {
    case ENDED:
        program->thread[t]();
        return ENDED;
    case ASKS:
        return ASKS;
    case WAITS:
        return WAITS;
    default:
        return FAILED;
    }
}

/* ---- what has been seen ------------------------------------------------------- */

enum { ROOM = 1 << 14 };
static uint64_t seen[ROOM];

static uint64_t mixed(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* The same for one graph, in whatever order its events were added: an event's name is its thread
 * and its number there. */
static uint64_t key_of_graph(void) {
    uint64_t h = 1;
    uint8_t name[EVENTS];
    for (int e = 0; e < LOCATIONS; e++)
        name[e] = (uint8_t)e;
    for (int t = 0; t < THREADS; t++) {
        int n = 0;
        for (int e = tail[t]; e >= 0; e = event[e].before)
            n++;
        for (int e = tail[t]; e >= 0; e = event[e].before)
            name[e] = (uint8_t)(64 * t + --n + LOCATIONS);
    }
    for (int t = 0; t < THREADS; t++) {
        h = mixed(h, 1000);
        for (int e = tail[t]; e >= 0; e = event[e].before)
            h = mixed(h, (uint64_t)(event[e].kind << 8 |
                                    (event[e].kind & READ ? name[event[e].from] : 0)));
    }
    for (int l = 0; l < LOCATIONS; l++)
        for (int i = 1; i <= mo_count[l]; i++)
            h = mixed(h, i < mo_count[l] ? name[mo[l][i]] : 2000);
    return h ? h : 1;
}

static bool is_new(void) {
    const uint64_t key = key_of_graph();
    size_t i = key % ROOM;
    while (seen[i] && seen[i] != key)
        i = (i + 1) % ROOM;
    if (seen[i] == key)
        return false;
    seen[i] = key;
    return true;
}

/* ---- the search ---------------------------------------------------------------- */

static void search(void);

static void place(int l, int at) {
    memmove(&mo[l][at + 1], &mo[l][at], (size_t)(mo_count[l]++ - at));
    mo[l][at] = (uint8_t)count;
}

static void unplace(int l, int at) {
    memmove(&mo[l][at], &mo[l][at + 1], (size_t)(--mo_count[l] - at));
}

/* Goes on with the event, which is complete. */
static void go_on(const struct event *e) {
    if (count == EVENTS) {
        fail("the program is too long");
        return;
    }
    const int before = tail[e->thread];
    event[count] = *e;
    tail[e->thread] = count++;
    if (!sc_cycle())
        search();
    count--;
    tail[e->thread] = before;
}

static void add_write(struct event e, const struct request *r) {
    const int l = r->location;
    e.wrote = r->operand;
    e.hb = happens_before(&e);
    for (int at = floor_of(e.hb, l) + 1; at <= mo_count[l] && outcome.failed == NULL; at++) {
        place(l, at);
        event[count] = e; /* parted() looks at it */
        if (!parted(l))
            go_on(&e);
        unplace(l, at);
    }
}

static void add_read_of(struct event e, const struct request *r, int from_place) {
    const int l = r->location;
    e.from = mo[l][from_place];
    e.read = event[e.from].wrote;
    if (r->kind == UPDATE && r->op == '?' && e.read != r->expected) {
        e.kind = READ;
        e.order = (uint8_t)r->failing;
    }
    e.hb = happens_before(&e);
    if (floor_of(e.hb, l) > from_place)
        return;
    if (e.kind == READ) {
        go_on(&e);
        return;
    }
    e.wrote = r->op == '+' ? e.read + r->operand : r->op == '|' ? e.read | r->operand : r->operand;
    place(l, from_place + 1);
    event[count] = e;
    if (!parted(l))
        go_on(&e);
    unplace(l, from_place + 1);
}

static void add_plain(struct event e, const struct request *r) {
    const int l = r->location, newest = mo_count[l];
    e.hb = happens_before(&e);
    for (int b = LOCATIONS; b < count; b++)
        if (!(event[b].kind & FENCE) && event[b].location == l &&
            ((e.kind | event[b].kind) & WRITE) && !(e.hb & BIT(b))) {
            fail("a race");
            return;
        }
    e.from = mo[l][newest - 1];
    e.read = event[e.from].wrote;
    e.wrote = r->operand;
    if (e.kind & WRITE)
        place(l, newest);
    go_on(&e);
    if (e.kind & WRITE)
        unplace(l, newest);
}

static void add_event(int t, const struct request *r) {
    const struct event e = {.kind = (uint8_t)r->kind,
                            .order = (uint8_t)r->order,
                            .location = (uint8_t)r->location,
                            .thread = (uint8_t)t,
                            .from = NOBODY,
                            .before = tail[t]};
    if (r->kind & FENCE) {
        struct event f = e;
        f.hb = happens_before(&f);
        go_on(&f);
    } else if (r->kind & PLAIN) {
        add_plain(e, r);
    } else if (r->kind & READ) {
        for (int at = mo_count[r->location]; at-- > 0 && outcome.failed == NULL;)
            add_read_of(e, r, at);
    } else {
        add_write(e, r);
    }
}

/* What does not read an atomic is added before the rest, of one thread: nothing that others do
 * changes what it may be. */
static void search(void) {
    struct request next[THREADS];
    enum how how[THREADS];
    bool ended = true;
    if (outcome.failed || !is_new())
        return;
    if (++outcome.states > ROOM / 2)
        fail("the program is too long");
    memset(run.note, 0, sizeof run.note);
    for (int t = 0; t < THREADS && outcome.failed == NULL; t++) {
        how[t] = program->thread[t] ? run_thread(t) : ENDED;
        next[t] = run.next;
        ended = ended && how[t] == ENDED;
        if (how[t] == ASKS && ((next[t].kind & (READ | PLAIN)) != READ)) {
            add_event(t, &next[t]);
            return;
        }
    }
    if (outcome.failed)
        return;
    if (ended) {
        outcome.ends++;
        if (program->after && setjmp(run.out) == ENDED)
            program->after();
        return;
    }
    for (int t = 0; t < THREADS && outcome.failed == NULL; t++)
        if (how[t] == ASKS)
            add_event(t, &next[t]);
}

struct outcome explore(const struct program *p) {
    program = p;
    outcome = (struct outcome){0};
    memset(seen, 0, sizeof seen);
    for (count = 0; count < LOCATIONS; count++) {
        event[count] = (struct event){.kind = WRITE,
                                      .location = (uint8_t)count,
                                      .thread = NOBODY,
                                      .wrote = p->start[count],
                                      .before = -1};
        mo[count][0] = (uint8_t)count;
        mo_count[count] = 1;
    }
    for (int t = 0; t < THREADS; t++)
        tail[t] = -1;
    search();
    return outcome;
}
