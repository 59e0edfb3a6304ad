/* SPDX-License-Identifier: MIT */
/*
 * turns.c - threads take turns, one at a time.
 *
 * A thread has a stack, and is where it last gave way. It gives way when it waits, and now and then
 * in a call, so that any call may be its last one for a while. Kills, stops and copies fall between
 * turns. Between two atomic instructions nothing falls: that is the part of the models and of the
 * tests in real time.
 */
#include "sim.h"
#include "steps.h"

#include <sys/mman.h>

#define STACKS_AT ((char *)0x300000000000)
#define TURN_NS 200
enum { GIVES_WAY = 32, TRIES = 8 };

struct thread *me;
struct thread thread[THREADS];
unsigned threads;
uint64_t turns_taken, calls_made;
static unsigned numbers;

/* ---- the switch: what a called function has to keep, and the stack pointer ------- */

static void *simulator_sp;
void sim_switch(void **save, void *to);
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl sim_switch\n"
        "sim_switch:\n"
        " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        " mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
        " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
        " ret\n");
enum { KEPT = 6 };
#else
#error "the switch knows only x86-64"
#endif

static void body(void);

/* The first switch to a thread returns into body(), whose stack is aligned as behind a call. */
static void *first_sp(char *stack) {
    void **sp = (void **)(void *)(stack + STACK - 64);
    *--sp = NULL;
    void (*entry)(void) = body;
    memcpy(--sp, &entry, sizeof entry);
    for (int i = 0; i < KEPT; i++)
        *--sp = NULL;
    return sp;
}

static void give_way(void) {
    const int e = errno;
    sim_switch(&me->sp, simulator_sp);
    errno = e;
}

void give_turn(void) {
    make_ready(me);
    give_way();
}

/* ---- stacks: relatives have theirs at the same addresses --------------------------- */

static char *stacks;
static unsigned char stack_users[THREADS];

static unsigned char *users_of(const char *stack) { return &stack_users[(stack - stacks) / STACK]; }

void stack_shared(const char *stack) { ++*users_of(stack); }

static char *stack_take(void) {
    if (stacks == NULL)
        stacks = mmap(STACKS_AT + settings.moved, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (stacks == MAP_FAILED)
        broken("no memory for stacks");
    for (int i = 0; i < THREADS; i++)
        if (stack_users[i] == 0) {
            stack_users[i] = 1;
            return stacks + (size_t)i * STACK;
        }
    broken("too many threads");
}

/* ---- ready threads --------------------------------------------------------------------- */

static struct thread *ready[THREADS];
static unsigned ready_n;

void make_ready(struct thread *t) {
    if (t->ready_at >= 0)
        return;
    t->ready_at = (int)ready_n;
    ready[ready_n++] = t;
    t->key = t->timer = 0;
}

static void unready(struct thread *t) {
    if (t->ready_at < 0)
        return;
    struct thread *last = ready[--ready_n];
    ready[t->ready_at] = last;
    last->ready_at = t->ready_at;
    t->ready_at = -1;
}

/* ---- threads ------------------------------------------------------------------------------ */

static unsigned free_place[THREADS], free_places;

struct thread *thread_new(struct process *p, char *stack) {
    if (free_places == 0 && threads == THREADS)
        broken("too many threads");
    struct thread *t = &thread[free_places ? free_place[--free_places] : threads++];
    *t = (struct thread){
        .used = true, .number = ++numbers, .process = p, .stack = stack, .ready_at = -1};
    return t;
}

struct thread *thread_start(struct process *p, void *(*f)(void *), void *arg) {
    struct thread *t = thread_new(p, stack_take());
    t->main = f;
    t->arg = arg;
    t->sp = first_sp(t->stack);
    make_ready(t);
    return t;
}

void thread_delay(struct thread *t, int64_t at) {
    unready(t);
    t->timer = at_time_wake(at, t, t->number);
}

/* Numbers are those of a host: a copy of the machine has the same ones. */
struct thread *thread_by_number(unsigned number) {
    for (unsigned i = 0; i < threads; i++)
        if (thread[i].used && !thread[i].ended && thread[i].number == number &&
            (me == NULL || thread[i].process->host == me->process->host))
            return &thread[i];
    return NULL;
}

void thread_free(struct thread *t) {
    unready(t);
    word_of_dead(t);
    if (t->held)
        file_put(t->held);
    free(t->stack_copy);
    --*users_of(t->stack);
    t->used = false;
    t->key = 0;
    free_place[free_places++] = (unsigned)(t - thread);
}

static void end_values(void) {
    struct process *p = me->process;
    for (bool again = true; again;) {
        again = false;
        for (unsigned k = 0; k < p->keys; k++) {
            void *value = me->value[k];
            me->value[k] = NULL;
            if (value && p->key_end[k]) {
                p->key_end[k](value);
                again = true;
            }
        }
    }
}

static void body(void) {
    me->main(me->arg);
    end_values();
    me->ended = true;
    wake_on(key_of(me->number, KEY_JOIN), THREADS);
    give_way();
}

/* ---- waiting
 * ---------------------------------------------------------------------------------- */

void wait_on(uint64_t key, int64_t till) {
    me->key = key;
    me->wake = till;
    me->woken = false;
    me->timer = till == FOREVER ? 0 : at_time_wake(till, me, me->number);
    give_way();
    me->key = 0;
}

void nap(int64_t ns) { wait_on(0, now_ns + (ns > 0 ? ns : 1)); }

/* One that is stopped does not sleep at a word: process_stop(). */
static bool can_be_woken(const struct thread *t, uint64_t key) {
    return t->used && !t->ended && t->key == key &&
           (me == NULL || t->process->host == me->process->host) &&
           (t->process->stopped_till <= now_ns || !is_futex(key));
}

/* Those that wait for one thing go on in any order. */
int wake_on(uint64_t key, int n) {
    struct thread *waits[64];
    unsigned k = 0;
    int woken = 0;
    for (unsigned i = 0; key && i < threads && k < 64; i++)
        if (can_be_woken(&thread[i], key))
            waits[k++] = &thread[i];
    for (; k && woken < n; woken++) {
        const unsigned i = (unsigned)below(chances(), k);
        waits[i]->woken = true;
        make_ready(waits[i]);
        waits[i] = waits[--k];
    }
    return woken;
}

void point(int64_t ns) {
    now_ns += ns;
    calls_made++;
    if (me && me->process->calls_left && --me->process->calls_left == 0)
        step_ends();
    if (me)
        check_calls();
    if (me == NULL || below(&here()->stream, GIVES_WAY))
        return;
    const bool was = me->busy;
    me->busy = true;
    give_turn();
    me->busy = was;
}

/* ---- the loop
 * ------------------------------------------------------------------------------------ */

static void turn(struct thread *t) {
    struct process *p = t->process;
    unready(t);
    process_enter(p);
    me = t;
    own_in(t);
    turns_taken++;
    sim_switch(&simulator_sp, t->sp);
    own_out(t);
    fork_finish(t);
    me = NULL;
    if (p->exits)
        process_kill(p);
    else if (t->ended)
        thread_free(t);
}

/* One of the ready ones whose process is not stopped; those of stopped ones wait. */
static struct thread *whose_turn(void) {
    for (int tries = 0; ready_n && tries < TRIES; tries++) {
        struct thread *t = ready[below(&streams.turns, ready_n)];
        if (t->process->stopped_till <= now_ns)
            return t;
        thread_delay(t, t->process->stopped_till);
    }
    return NULL;
}

void turns_run(int64_t end_ns) {
    while (now_ns < end_ns && blamed == 0) {
        while (world_due())
            ;
        struct thread *t = whose_turn();
        if (t) {
            turn(t);
            now_ns += TURN_NS;
        } else if (ready_n == 0) {
            if (world_next() == FOREVER)
                return;
            if (world_next() > now_ns)
                now_ns = world_next();
        }
    }
}
