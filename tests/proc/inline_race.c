/* SPDX-License-Identifier: MIT */
/*
 * Threads that generate by the inline form and by the calls, on a layout whose ticks are used up as soon as they begin: the
 * number that a thread has added for is often of no tick any more, and goes to the library in hand. No duplicate, each
 * thread's IDs increase, and the path in question was taken.
 *
 * A tick of the inline form is a second, and it is used up once in each; so the seconds of this program go by faster. It
 * has clocks of its own, which the library reads instead of the system's. And a signal stops a thread at any instruction,
 * where its handler uses up the tick: so the path is taken on a machine with one processor, too.
 *
 * Sizes: 4 threads, until 50 numbers were in hand and at least 40,000 IDs each (long: 5000 and a million; sanitizer: 20
 * and 5000).
 */

/* The inline form calls this program's function, which counts and passes the number on. */
#define sfid__next_in_hand counted_in_hand
#include <sfid.h>
#undef sfid__next_in_hand
int64_t sfid__next_in_hand(sfid *g, void *record, uint64_t n);

#include "support/proc.h"

#include "support/kernel_clock.h"

#include <sys/time.h>

#define LAYOUT "36:4:2/1s"
SFID_DEFINE(narrow, SFID_LAYOUT(36, 4, 2, 1000, SFID_EPOCH_MS))

enum { THREADS = 4, IDS_OF_A_TICK = 4 };

/* ---- seconds ------------------------------------------------------------- */

static _Atomic int64_t now_s; /* the time of day; it stands still but for what the threads do to it */

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

/* After an ID: the one that was the last of its tick lets the next begin. */
static void passed(int64_t id) {
    const int64_t seq = id & (IDS_OF_A_TICK - 1), next_s = SFID_EPOCH_MS / 1000 + (id >> narrow_layout.time_shift) + 1;
    if (seq == IDS_OF_A_TICK - 1)
        raise_to(&now_s, next_s);
}

/* ---- threads ------------------------------------------------------------- */

static narrow *stolen_from;
static _Atomic uint64_t in_hand, other_ids;

int64_t counted_in_hand(sfid *g, void *record, uint64_t n) {
    const int64_t id = sfid__next_in_hand(g, record, n);
    atomic_fetch_add(&in_hand, 1);
    /* The number is one of the tick after: where that has begun by now it is issued as it is. */
    atomic_fetch_add(&other_ids, id >= 0 && ((uint64_t)id & (IDS_OF_A_TICK - 1)) != (n & (IDS_OF_A_TICK - 1)));
    return id;
}

/* One for each thread, of what its handler generates. */
static __thread struct idlog *stolen;

static void use_up_the_tick(int sig) {
    (void)sig;
    for (int i = 0; stolen && i < IDS_OF_A_TICK && idlog_room(stolen, 1) == 1; i++) {
        const int64_t id = sfid_try_next(narrow_sfid(stolen_from));
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
    narrow *g;
    pthread_t thread;
    struct idlog log, stolen;
    uint64_t least, most, in_hand_wanted, disorders, errors;
    int64_t code; /* of an error */
    bool by_call;
};

static bool goes_on(const struct worker *w) {
    return w->log.count < w->most && (w->log.count < w->least || atomic_load(&in_hand) < w->in_hand_wanted);
}

static void *work(void *arg) {
    struct worker *w = arg;
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    stolen = &w->stolen;
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    for (int64_t last = -1; goes_on(w);) {
        const int64_t id = w->by_call && w->log.count % 4 == 0 ? sfid_next(narrow_sfid(w->g)) : narrow_next(w->g);
        if (id == SFID_EAGAIN) /* a thread that lost the processor in the call: a day has passed for the others since it looked */
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
    }
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    return NULL;
}

int main(void) {
    struct worker workers[THREADS] = {0};
    uint64_t ids = 0, disorders = 0, errors = 0;
    sfid_options opt = SFID_OPTIONS_INIT;
    narrow *g = NULL;
    dirs_make();
    atomic_store(&now_s, SFID_EPOCH_MS / 1000 + 1000000);
    const uint64_t wanted = sized(50, 5000, 20), least = sized(40000, 1000000, 5000), most = least * 200;
    opt.pid = 9;
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 86400000;
    is_i64(narrow_open(&g, &opt), 0, "opens");
    stolen_from = g;
    interrupt_often();
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.g = g, .by_call = i % 2, .least = least, .most = most, .in_hand_wanted = wanted};
        log_start(&workers[i].log, most, 1, 9, "thread-%d", i);
        log_start(&workers[i].stolen, most, 1, 9, "handler-%d", i);
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
    diag("figure: %" PRIu64 " IDs, %" PRIu64 " numbers in hand, %" PRIu64 " of them given another ID", ids, in_hand, other_ids);
    is_u64(errors, 0, "no call fails");
    is_u64(disorders, 0, "each thread's IDs increase");
    ok(in_hand >= wanted, "numbers went to the library in hand (%" PRIu64 ")", in_hand);
    is_u64(other_ids, 0, "and came back as IDs");
    narrow_close(g);
    judge(LAYOUT, "per-file", ids, "inline and calls");
    return done_testing();
}
