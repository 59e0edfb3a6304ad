/* SPDX-License-Identifier: MIT */
/*
 * The word that shows whether a thread lives: who has it when threads end, when processes are
 * killed, stopped, forked or replaced by another program, and in PID namespaces, where threads have
 * the same number. Then a storm of all that, in which two never have the word at once, and a word
 * whose thread died can be taken.
 *
 * Sizes: the storm takes 1 s (long: 60).
 */
#include "base/alive.h"

#include "support/scene.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define LIVES FUTEX_TID_MASK /* no thread has this number */

static struct {
    _Alignas(SFID__LINE) _Atomic uint32_t word;
    _Atomic uint32_t beside, other; /* beside: nothing may write there */
    _Atomic int has_it, refused, inside, twice, taken;
} * s;

static bool is_free(void *word) { return !sfid__alive(word); }

static bool has_it(void *unused) { return unused == NULL && atomic_load(&s->has_it) != 0; }

/* ---- threads --------------------------------------------------------------------------- */

static void *take_and_end(void *leaves) {
    const bool got = sfid__alive_take(&s->word);
    if (leaves)
        sfid__alive_leave(&s->word);
    return got ? s : NULL;
}

static bool other_thread_takes(bool leaves) {
    pthread_t t;
    void *got;
    need(pthread_create(&t, NULL, take_and_end, leaves ? s : NULL) == 0 &&
             pthread_join(t, &got) == 0,
         "no thread");
    return got != NULL;
}

static void threads(void) {
    ok(!sfid__alive(&s->word), "a blank word is nobody's");
    ok(sfid__alive_take(&s->word) && sfid__alive(&s->word), "a thread takes it, and that shows");
    is_i64(atomic_load(&s->word), syscall(SYS_gettid), "it is the thread's number");
    ok(!sfid__alive_take(&s->word) && !other_thread_takes(true),
       "nobody else can take it, nor it again");
    ok(sfid__alive(&s->word), "nor leave it");
    sfid__alive_leave(&s->word);
    is_i64(atomic_load(&s->word), 0, "the thread leaves it");
    ok(other_thread_takes(true), "another one can take it then");
    is_i64(atomic_load(&s->word), 0, "and leave it");
    ok(other_thread_takes(false), "and take it again");
    ok(tap_wait_until(is_free, &s->word, TAP_WAIT_MS) && atomic_load(&s->word) == FUTEX_OWNER_DIED,
       "once that has ended it shows");
    ok(sfid__alive_take(&s->word), "and the word can be taken");
    sfid__alive_leave(&s->word);
}

/* Whoever writes the word is believed, and no more comes of that. */
static void *lose_it(void *lie) {
    sfid__alive_take(&s->word);
    atomic_store(&s->word, *(const uint32_t *)lie);
    return NULL;
}

static void lies(void) {
    static uint32_t lie[] = {LIVES, FUTEX_OWNER_DIED | LIVES, FUTEX_WAITERS | 1};
    for (unsigned i = 0; i < COUNT(lie); i++) {
        pthread_t t;
        atomic_store(&s->word, 0);
        need(pthread_create(&t, NULL, lose_it, &lie[i]) == 0 && pthread_join(t, NULL) == 0,
             "no thread");
        is_i64(atomic_load(&s->word), lie[i], "%x: stays when the thread that had the word ends",
               lie[i]);
        const bool dead = lie[i] & FUTEX_OWNER_DIED;
        ok(sfid__alive(&s->word) == !dead && sfid__alive_take(&s->word) == dead, "%x: the word %s",
           lie[i], dead ? "can be taken" : "is taken");
    }
    sfid__alive_leave(&s->word);
    atomic_store(&s->word, LIVES);
    ok(!sfid__alive_take(&s->word) && !other_thread_takes(false) && atomic_load(&s->word) == LIVES,
       "a refusal leaves the word as it is, also at the end of the thread");
    atomic_store(&s->word, 0);
}

/* The thread ends with a number in the word that it has left: another one's, in another PID
 * namespace. */
static void *leave_number(void *unused) {
    const bool got = sfid__alive_take(&s->word);
    sfid__alive_leave(&s->word);
    atomic_store(&s->word, (uint32_t)syscall(SYS_gettid));
    return got ? s : unused;
}

static void left(void) {
    pthread_t t;
    void *got;
    need(pthread_create(&t, NULL, leave_number, NULL) == 0 && pthread_join(t, &got) == 0 &&
             got != NULL,
         "no thread");
    ok(sfid__alive(&s->word), "left: what has the same number then lives on when the thread ends");
    atomic_store(&s->word, 0);
}

/* ---- processes ------------------------------------------------------------------------- */

static int take_and_stay(void *word) {
    atomic_store(&s->has_it, sfid__alive_take(word) ? 1 : -1);
    while (pause() < 0)
        ;
    return 0;
}

static void *stay(void *word) {
    take_and_stay(word);
    return NULL;
}

/* The thread with the word is not the first one. */
static int thread_stays(void *word) {
    pthread_t t;
    pthread_create(&t, NULL, stay, word);
    while (pause() < 0)
        ;
    return 0;
}

static int become_another(void *word) {
    atomic_store(&s->has_it, sfid__alive_take(word) ? 1 : -1);
    execl("/proc/self/exe", "alive", "0", (char *)NULL);
    return 1;
}

static pid_t holder(int (*body)(void *), const char *name) {
    atomic_store(&s->has_it, 0);
    const pid_t child = spawn(body, &s->word);
    need(tap_wait_until(has_it, NULL, TAP_WAIT_MS), "%s: does not begin", name);
    ok(atomic_load(&s->has_it) == 1, "%s: a process has the word", name);
    return child;
}

static void ends_by(int signal, int (*body)(void *), const char *name) {
    const pid_t child = holder(body, name);
    kill(child, SIGSTOP);
    int status;
    need(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "%s: does not stop",
         name);
    ok(sfid__alive(&s->word), "%s: stopped, it still has it", name);
    kill(child, signal);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    ok(!sfid__alive(&s->word), "%s: dead, it has not", name);
}

static int leave_in_child(void *unused) {
    (void)unused;
    sfid__alive_leave(&s->word);
    return !sfid__alive(&s->word) || sfid__alive_take(&s->word);
}

static void processes(void) {
    ends_by(SIGKILL, take_and_stay, "killed");
    ends_by(SIGTERM, take_and_stay, "terminated");
    ends_by(SIGKILL, thread_stays, "killed, another thread");
    status_of(holder(become_another, "exec"));
    ok(!sfid__alive(&s->word), "exec: the word is free");
    ok(sfid__alive_take(&s->word), "fork: a thread has the word");
    is_i64(status_of(spawn(leave_in_child, NULL)), 0,
           "fork: its child has not, and cannot leave it");
    ok(sfid__alive(&s->word), "fork: when the child ends, it still has it");
    sfid__alive_leave(&s->word);
    is_i64(atomic_load(&s->beside), 0, "nothing was written beside the word");
}

/* ---- PID namespaces ---------------------------------------------------------------------- */

static int stay_with_parent(void *word) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return take_and_stay(word);
}

/* The first process of a namespace has number 1. */
static int in_namespace(void *word) {
    if (unshare(CLONE_NEWPID) < 0)
        return 1;
    return -status_of(spawn(stay_with_parent, word));
}

static int probe(void *unused) { return unused != NULL || unshare(CLONE_NEWPID) < 0; }

static void namespaces(void) {
    _Atomic uint32_t *const word[] = {&s->word, &s->other};
    pid_t child[2];
    if (status_of(spawn(probe, NULL)) != 0) {
        skip(1, "cannot make a PID namespace here");
        return;
    }
    for (int i = 0; i < 2; i++) {
        atomic_store(&s->has_it, 0);
        child[i] = spawn(in_namespace, word[i]);
        need(tap_wait_until(has_it, NULL, TAP_WAIT_MS), "namespaces: does not begin");
    }
    ok(atomic_load(&s->word) == 1 && atomic_load(&s->other) == 1,
       "namespaces: two threads have one number, and a word each");
    ok(!sfid__alive_take(&s->word), "namespaces: whose words they are is seen from outside");
    char path[80], line[20] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)child[0], (int)child[0]);
    const int fd = open(path, O_RDONLY);
    need(fd >= 0 && read(fd, line, sizeof line - 1) > 0, "no %s", path);
    close(fd);
    kill(atoi(line), SIGKILL);
    is_i64(status_of(child[0]), SIGKILL, "namespaces: one is killed");
    ok(!sfid__alive(&s->word) && sfid__alive(&s->other), "namespaces: only its word shows that");
    kill(child[1], SIGKILL);
    status_of(child[1]);
}

/* ---- all at once --------------------------------------------------------------------------- */

/* Takes and leaves the word, and looks whether somebody else has it meanwhile. */
static int storms(void *number) {
    const int us = *(const int *)number;
    for (unsigned round = 1; round > 0; round++) { /* until it is killed */
        if (!sfid__alive_take(&s->word))
            continue;
        atomic_store(&s->inside, us);
        for (volatile int i = 0; i < 50; i++)
            ;
        if (round % 64 == 0) { /* a fork while it has the word */
            const pid_t child = fork();
            if (child == 0)
                _exit(0);
            waitpid(child, NULL, 0);
        }
        if (us % 5 == 0 && round % 128 == 1)
            execl("/proc/self/exe", "alive", "0", (char *)NULL);
        if (atomic_load(&s->inside) != us)
            atomic_fetch_add(&s->twice, 1);
        atomic_fetch_add(&s->taken, 1);
        sfid__alive_leave(&s->word);
    }
    return 0;
}

static void storm(void) {
    enum { AT_ONCE = 4 };
    const int64_t end = tap_now_ms() + (getenv("SFID_TEST_LONG") ? 60000 : 1000);
    int number[AT_ONCE] = {0}, deaths = 0, stuck = 0, dead_in_it = 0;
    pid_t child[AT_ONCE];
    srandom(1);
    atomic_store(&s->word, 0);
    do {
        for (int i = 0; i < AT_ONCE; i++) {
            number[i] = deaths + i + 1;
            child[i] = spawn(storms, &number[i]);
        }
        usleep((useconds_t)(random() % 5000));
        for (int i = 0; i < AT_ONCE; i++) {
            if (random() % 3 == 0) {
                kill(child[i], SIGSTOP);
                usleep(200);
            }
            kill(child[i], SIGKILL);
        }
        for (int i = 0; i < AT_ONCE; i++)
            waitpid(child[i], NULL, 0);
        deaths += AT_ONCE;
        stuck += sfid__alive(&s->word);
        dead_in_it += (atomic_load(&s->word) & FUTEX_OWNER_DIED) != 0;
    } while (tap_now_ms() < end);
    diag("%d processes, %d takes, %d ends left a mark", deaths, atomic_load(&s->taken), dead_in_it);
    is_i64(atomic_load(&s->twice), 0, "storm: two never have the word at once");
    is_i64(stuck, 0, "storm: no word stays with a thread that is dead");
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) /* the program that another one becomes */
        return 0;
    s = shared_memory(sizeof *s);
    threads();
    lies();
    left();
    processes();
    namespaces();
    storm();
    return done_testing();
}
