/* SPDX-License-Identifier: MIT */
/*
 * Threads that generate by the inline form and by the calls, on layouts whose ticks are used up as
 * soon as they begin: the number that a thread has added for is often of no tick any more, and goes
 * to the library in hand. No duplicate, each thread's IDs increase, and the path in question was
 * taken. A layout has a short sequence, at which each call looks. The other has a long one, at
 * which a process looks once a tick; a batch takes most of each tick.
 *
 * A tick of the inline form is a second, and it is used up once in each; so the seconds of this
 * program go by faster. It has clocks of its own, which the library reads instead of the system's.
 * And a signal stops a thread at any instruction, where its handler uses up the tick: so the path
 * is taken on a machine with one processor, too.
 *
 * Sizes: 4 threads, until 20 numbers were in hand and at least 40,000 IDs each (long: 5000 and a
 * million; sanitizer: 20 and 5000).
 */

/* The inline form calls this program's function, which counts and passes the number on. */
#define sfid__next_in_hand counted_in_hand
#include <sfid.h>
#undef sfid__next_in_hand
int64_t sfid__next_in_hand(sfid *g, void *record, uint64_t n);

#include "support/proc.h"

#include "support/kernel_clock.h"

#include <sys/time.h>

SFID_DEFINE(shorter, SFID_LAYOUT(36, 4, 2, 1000, SFID_EPOCH_MS))
SFID_DEFINE(longer, SFID_LAYOUT(36, 4, 16, 1000, SFID_EPOCH_MS))

enum { THREADS = 4, PID = 9 };

static int64_t next_shorter(sfid *g) { return shorter_next((shorter *)(void *)g); }
static int64_t next_longer(sfid *g) { return longer_next((longer *)(void *)g); }

static const struct kind {
    const char *name, *text;
    const sfid_layout *layout;
    int64_t (*next)(sfid *);
    uint64_t left; /* IDs of a tick that are generated one by one */
} kinds[] = {{"a short sequence", "36:4:2/1s", &shorter_layout, next_shorter, 4},
             {"a long sequence", "36:4:16/1s", &longer_layout, next_longer, 8}};

static const struct kind *kind;
static sfid *g;

/* ---- seconds ------------------------------------------------------------- */

/* the time of day; it stands still but for what the threads do to it */
static _Atomic int64_t now_s;

int clock_gettime(clockid_t clock, struct timespec *t) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return kernel_clock(clock, t);
    *t = (struct timespec){.tv_sec = atomic_load(&now_s)};
    return 0;
}

time_t time(time_t *out) {
    const time_t now = (time_t)atomic_load(&now_s);
    if (out)
        *out = now;
    return now;
}

static uint64_t seq_of(int64_t id) { return (uint64_t)id & kind->layout->max_seq; }

static int64_t second_of(int64_t id) {
    return SFID_EPOCH_MS / 1000 + (id >> kind->layout->time_shift);
}

/* After an ID: the one that was the last of its tick lets the next begin. */
static void passed(int64_t id) {
    if (seq_of(id) == kind->layout->max_seq)
        raise_to(&now_s, second_of(id) + 1);
}

/* After an ID of a long tick: takes those that are not generated one by one, and logs none of
 * them. */
static void shorten(int64_t id) {
    static __thread int64_t taken[65536];
    const uint64_t after = kind->layout->max_seq - seq_of(id);
    const int64_t n = after > kind->left ? sfid_next_n(g, taken, after - kind->left) : 0;
    if (n > 0)
        raise_to(&now_s, second_of(taken[n - 1]));
}

/* ---- threads ------------------------------------------------------------- */

static _Atomic uint64_t in_hand, other_ids;

int64_t counted_in_hand(sfid *handle, void *record, uint64_t n) {
    const int64_t id = sfid__next_in_hand(handle, record, n);
    atomic_fetch_add(&in_hand, 1);
    /* The number is one of the tick after: where that has begun by now it is issued as it is. */
    atomic_fetch_add(&other_ids, id >= 0 && seq_of(id) != (n & kind->layout->max_seq));
    return id;
}

/* One for each thread, of what its handler generates. */
static __thread struct idlog *stolen;

static void use_up_the_tick(int sig) {
    (void)sig;
    for (uint64_t i = 0; stolen && i < kind->left && idlog_room(stolen, 1) == 1; i++) {
        const int64_t id = sfid_try_next(g);
        if (id < 0)
            continue;
        idlog_put(stolen, id);
        passed(id);
    }
}

static void interrupt_often(void) {
    const struct itimerval often = {{0, 50}, {0, 50}};
    struct sigaction action = {.sa_handler = use_up_the_tick, .sa_flags = SA_RESTART};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL); /* the threads take it, not this one */
    setitimer(ITIMER_REAL, &often, NULL);
}

struct worker {
    pthread_t thread;
    struct idlog log, stolen;
    uint64_t least, most, in_hand_wanted, disorders, errors;
    int64_t code; /* of an error */
    bool by_call;
};

static bool goes_on(const struct worker *w) {
    return w->log.count < w->most &&
           (w->log.count < w->least || atomic_load(&in_hand) < w->in_hand_wanted);
}

static void *work(void *arg) {
    struct worker *w = arg;
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    stolen = &w->stolen;
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    for (int64_t last = -1; goes_on(w);) {
        const int64_t id = w->by_call && w->log.count % 4 == 0 ? sfid_next(g) : kind->next(g);
        /* a thread that lost the processor in the call: a day has passed for the others since it
         * looked */
        if (id == SFID_EAGAIN)
            continue;
        if (id < 0) {
            w->errors++;
            w->code = id;
            break;
        }
        w->disorders += id <= last;
        last = id;
        idlog_put(&w->log, id);
        passed(id);
        shorten(id);
    }
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    return NULL;
}

static void race(const struct kind *of) {
    struct worker workers[THREADS] = {0};
    uint64_t ids = 0, disorders = 0, errors = 0;
    sfid_options opt = SFID_OPTIONS_INIT;
    const uint64_t wanted = sized(20, 5000, 20), least = sized(40000, 1000000, 5000),
                   most = least * 200;
    kind = of;
    atomic_store(&in_hand, 0);
    atomic_store(&other_ids, 0);
    opt.layout = of->layout;
    opt.pid = PID;
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 86400000;
    is_i64(sfid_open(&g, &opt), 0, "%s: opens", of->name);
    interrupt_often();
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            .by_call = i % 2, .least = least, .most = most, .in_hand_wanted = wanted};
        log_start(&workers[i].log, most, 1, PID, "thread-%d", i);
        log_start(&workers[i].stolen, most, 1, PID, "handler-%d", i);
        start_thread(&workers[i].thread, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        ids += workers[i].log.count + workers[i].stolen.count;
        disorders += workers[i].disorders;
        errors += workers[i].errors;
        if (workers[i].errors)
            diag("a call gives %s", sfid_strerror((int)workers[i].code));
        idlog_close(&workers[i].log);
        idlog_close(&workers[i].stolen);
    }
    diag("figure: %s: %" PRIu64 " IDs, %" PRIu64 " numbers in hand, %" PRIu64
         " of them given another ID",
         of->name, ids, in_hand, other_ids);
    is_u64(errors, 0, "%s: no call fails", of->name);
    is_u64(disorders, 0, "%s: each thread's IDs increase", of->name);
    ok(in_hand >= wanted, "%s: numbers went to the library in hand (%" PRIu64 ")", of->name,
       in_hand);
    is_u64(other_ids, 0, "%s: and came back as IDs", of->name);
    sfid_close(g);
    judge(of->text, "per-file", ids, of->name);
}

int main(void) {
    dirs_make();
    atomic_store(&now_s, SFID_EPOCH_MS / 1000 + 1000000);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        race(&kinds[i]);
    return done_testing();
}
