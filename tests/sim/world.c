/* SPDX-License-Identifier: MIT */
/*
 * world.c - time, chance, and what the run says.
 *
 * Time is a number that the simulator raises. What has to happen later lies in a heap, ordered by
 * time and then by number, so that two things of one time have an order.
 */
#include "sim.h"

#include <stdarg.h>

enum { SAID_AT_MOST = 20 };

int64_t now_ns = SECOND, due_ns;
struct streams streams;
bool tracing;
unsigned blamed;
char blamed_first[400];
struct host host[HOSTS];
unsigned hosts;

/* ---- chance ------------------------------------------------------------------- */

/* A counter by a constant that is odd, and a mix of its bits: each value of the counter is another
 * stream of numbers. */
static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t draw64(struct stream *s) {
    s->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(s->state);
}

/* What a fault draws is an argument of its event. */
static uint64_t told(const struct stream *s, enum argument is, uint64_t drawn, uint64_t n) {
    return acting && s == &streams.faults ? (uint64_t)event_argument(is, (int64_t)drawn, (int64_t)n)
                                          : drawn;
}

uint64_t below(struct stream *s, uint64_t n) {
    return n ? told(s, ARGUMENT_COUNT, draw64(s) % n, n) : 0;
}

bool chance(struct stream *s, unsigned permille) {
    return told(s, ARGUMENT_COIN, draw64(s) % 1000 < permille, 2);
}

int64_t up_to(struct stream *s, int64_t ns) {
    return ns > 0 ? (int64_t)told(s, ARGUMENT_SPAN, draw64(s) % (uint64_t)ns, (uint64_t)ns) : 0;
}

void world_begin(uint64_t seed) {
    const uint64_t salted = settings.salt ? seed ^ mix(settings.salt) : seed;
    streams.turns.state = mix(salted ^ 1);
    streams.faults.state = mix(seed ^ UINT64_C(2) << 32);
    streams.network.state = mix(salted ^ UINT64_C(3) << 32);
    for (unsigned h = 0; h < HOSTS; h++)
        host[h].stream.state = mix(salted ^ (uint64_t)(h + 4) << 32);
}

/* Hosts drift within an hour, then a time server sets them right. */
int64_t wall_ns(const struct host *h) {
    return now_ns + h->offset_ns + now_ns % (3600 * SECOND) / 1000000 * h->drift_ppm +
           INT64_C(1795000000000) * MS;
}

/* ---- what comes later ----------------------------------------------------------- */

struct later {
    int64_t at;
    uint64_t number;
    struct thread *thread;
    unsigned thread_number;
    void (*f)(void *);
    void *arg;
    struct event *of; /* follows from that one */
};
static struct later *heap;
static size_t heap_n, heap_room;
static uint64_t numbers;

static bool is_sooner(size_t a, size_t b) {
    return heap[a].at != heap[b].at ? heap[a].at < heap[b].at : heap[a].number < heap[b].number;
}

static void swap(size_t a, size_t b) {
    const struct later x = heap[a];
    heap[a] = heap[b];
    heap[b] = x;
}

static void push(struct later x) {
    if (heap_n == heap_room)
        heap = realloc(heap, (heap_room = heap_room * 2 + 64) * sizeof *heap);
    size_t i = heap_n++;
    heap[i] = x;
    for (; i && is_sooner(i, (i - 1) / 2); i = (i - 1) / 2)
        swap(i, (i - 1) / 2);
}

static struct later pop(void) {
    const struct later first = heap[0];
    heap[0] = heap[--heap_n];
    for (size_t i = 0, k; (k = 2 * i + 1) < heap_n; i = k) {
        if (k + 1 < heap_n && is_sooner(k + 1, k))
            k++;
        if (!is_sooner(k, i))
            break;
        swap(i, k);
    }
    return first;
}

static int64_t not_before_now(int64_t at) { return at > now_ns ? at : now_ns; }

void at_time(int64_t when, void (*f)(void *), void *arg) {
    push((struct later){
        .at = not_before_now(when), .number = ++numbers, .f = f, .arg = arg, .of = acting});
}

uint64_t at_time_wake(int64_t when, struct thread *t, unsigned number) {
    push((struct later){
        .at = not_before_now(when), .number = ++numbers, .thread = t, .thread_number = number});
    return numbers;
}

/* A thread that was woken by something else, or is gone, has another timer or number by now. */
static void wake(const struct later *x) {
    struct thread *t = x->thread;
    if (!t->used || t->number != x->thread_number || t->timer != x->number)
        return;
    if (t->process->stopped_till > now_ns)
        t->timer = at_time_wake(t->process->stopped_till, t, t->number);
    else
        make_ready(t);
}

bool world_due(void) {
    if (heap_n == 0 || heap[0].at > now_ns)
        return false;
    const struct later x = pop();
    due_ns = x.at;
    acting = x.of;
    if (x.f)
        x.f(x.arg);
    else
        wake(&x);
    acting = NULL;
    return true;
}

int64_t world_next(void) { return heap_n ? heap[0].at : FOREVER; }

/* ---- what is said ------------------------------------------------------------------ */

static uint64_t sum;

void digest(uint64_t value) { sum = mix(sum ^ value) + UINT64_C(0x9e3779b97f4a7c15); }

uint64_t digested(void) { return sum; }

static void say(FILE *to, const char *format, va_list ap) {
    fprintf(to, "%14.6f ", (double)now_ns / 1e9);
    if (me)
        fprintf(to, "host %d, process %d, thread %u: ", me->process->host, me->process->pid,
                me->number);
    vfprintf(to, format, ap);
    putc('\n', to);
}

void note(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    if (acting)
        event_says(format, ap);
    va_end(ap);
    if (!tracing)
        return;
    va_start(ap, format);
    say(stdout, format, ap);
    va_end(ap);
}

void blame(const char *format, ...) {
    va_list ap;
    if (blamed == 0) {
        va_start(ap, format);
        vsnprintf(blamed_first, sizeof blamed_first, format, ap);
        va_end(ap);
    }
    va_start(ap, format);
    say(stdout, format, ap);
    va_end(ap);
    blamed++;
}

void excuse(const char *format, ...) {
    static unsigned said;
    va_list ap;
    if (++said > SAID_AT_MOST)
        return;
    va_start(ap, format);
    say(stdout, format, ap);
    va_end(ap);
}

void broken(const char *format, ...) {
    va_list ap;
    fflush(stdout);
    va_start(ap, format);
    fputs("the simulator: ", stderr);
    say(stderr, format, ap);
    va_end(ap);
    abort();
}

void *memory(size_t n) {
    void *at = calloc(1, n);
    if (at == NULL)
        broken("no memory");
    return at;
}
