/* SPDX-License-Identifier: MIT */
/*
 * words.c - threads of the library, and the words on which they wait: mutexes, conditions, futexes,
 * and the word that shows whether a thread lives (base/alive.h).
 */
#include "sim.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>

/* ---- threads -------------------------------------------------------------------------- */

IMPORT(int, pthread_create, pthread_t *t, const pthread_attr_t *attr, void *(*f)(void *),
       void *arg) {
    (void)attr;
    point(1000);
    *t = thread_start(me->process, f, arg)->number;
    return 0;
}

IMPORT(int, pthread_join, pthread_t t, void **result) {
    (void)result;
    while (thread_by_number((unsigned)t))
        wait_on(key_of(t, KEY_JOIN), FOREVER);
    return 0;
}

IMPORT(int, pthread_detach, pthread_t t) { return t ? 0 : ESRCH; }
IMPORT(pthread_t, pthread_self, void) { return me->number; }
IMPORT(int, pthread_attr_init, pthread_attr_t *a) { return a ? 0 : EINVAL; }
IMPORT(int, pthread_attr_destroy, pthread_attr_t *a) { return a ? 0 : EINVAL; }
IMPORT(int, pthread_attr_setstacksize, pthread_attr_t *a, size_t n) {
    return a && n <= STACK ? 0 : EINVAL;
}
IMPORT(int, pthread_attr_setdetachstate, pthread_attr_t *a, int n) {
    return a && n >= 0 ? 0 : EINVAL;
}
IMPORT(int, pthread_setname_np, pthread_t t, const char *name) { return t && name ? 0 : EINVAL; }

IMPORT(int, pthread_setcancelstate, int state, int *before) {
    (void)state;
    if (before)
        *before = 0;
    return 0;
}

IMPORT(int, pthread_once, pthread_once_t *once, void (*f)(void)) {
    if (*once == 0) {
        *once = 1;
        f();
    }
    return 0;
}

IMPORT(int, pthread_key_create, pthread_key_t *key, void (*end)(void *)) {
    struct process *p = me->process;
    if (p->keys == KEYS)
        return EAGAIN;
    p->key_end[p->keys] = end;
    *key = p->keys++;
    return 0;
}

IMPORT(void *, pthread_getspecific, pthread_key_t key) { return me->value[key]; }

IMPORT(int, pthread_setspecific, pthread_key_t key, const void *value) {
    memcpy(&me->value[key], &value, sizeof value);
    return 0;
}

IMPORT(int, pthread_atfork, void (*before)(void), void (*parent)(void), void (*child)(void)) {
    struct process *p = me->process;
    if (p->handlers == HANDLERS)
        return ENOMEM;
    p->handler[p->handlers].before = before;
    p->handler[p->handlers].parent = parent;
    p->handler[p->handlers++].child = child;
    return 0;
}

IMPORT(int, __register_atfork, void (*before)(void), void (*parent)(void), void (*child)(void),
       void *dso) {
    (void)dso;
    return sim_pthread_atfork(before, parent, child);
}

/* ---- signals: none is ever sent ------------------------------------------------------------ */

IMPORT(int, pthread_sigmask, int how, const sigset_t *set, sigset_t *before) {
    (void)how, (void)set;
    if (before)
        sigemptyset(before);
    return 0;
}

IMPORT(int, sigpending, sigset_t *set) { return sigemptyset(set); }

IMPORT(int, sigtimedwait, const sigset_t *set, siginfo_t *info, const struct timespec *t) {
    (void)set, (void)info, (void)t;
    errno = EAGAIN;
    return -1;
}

/* ---- mutexes of one process: the first word is the owner's number
 * ------------------------------ */

static unsigned *owner(pthread_mutex_t *m) { return (unsigned *)(void *)m; }

IMPORT(int, pthread_mutex_init, pthread_mutex_t *m, const pthread_mutexattr_t *attr) {
    if (attr)
        broken("a mutex with attributes is not simulated");
    memset(m, 0, sizeof *m);
    return 0;
}

IMPORT(int, pthread_mutex_destroy, pthread_mutex_t *m) { return m ? 0 : EINVAL; }

IMPORT(int, pthread_mutex_trylock, pthread_mutex_t *m) {
    point(60);
    if (*owner(m))
        return EBUSY;
    *owner(m) = me->number;
    return 0;
}

IMPORT(int, pthread_mutex_lock, pthread_mutex_t *m) {
    point(60);
    if (*owner(m) == me->number)
        broken("a thread waits for a mutex that it has");
    while (*owner(m))
        wait_on(word_key(m, KEY_MUTEX), FOREVER);
    *owner(m) = me->number;
    return 0;
}

static void let_go(pthread_mutex_t *m) {
    if (*owner(m) != me->number)
        broken("a thread unlocks a mutex that it does not have");
    *owner(m) = 0;
    wake_on(word_key(m, KEY_MUTEX), 1);
}

IMPORT(int, pthread_mutex_unlock, pthread_mutex_t *m) {
    let_go(m);
    point(60);
    return 0;
}

/* ---- conditions
 * ------------------------------------------------------------------------------- */

IMPORT(int, pthread_condattr_init, pthread_condattr_t *a) { return a ? 0 : EINVAL; }
IMPORT(int, pthread_condattr_destroy, pthread_condattr_t *a) { return a ? 0 : EINVAL; }

IMPORT(int, pthread_condattr_setclock, pthread_condattr_t *a, clockid_t clock) {
    if (a == NULL || clock != CLOCK_MONOTONIC)
        broken("a condition of another clock is not simulated");
    return 0;
}

IMPORT(int, pthread_cond_init, pthread_cond_t *c, const pthread_condattr_t *a) {
    (void)a;
    memset(c, 0, sizeof *c);
    return 0;
}

IMPORT(int, pthread_cond_destroy, pthread_cond_t *c) { return c ? 0 : EINVAL; }

IMPORT(int, pthread_cond_signal, pthread_cond_t *c) {
    wake_on(word_key(c, KEY_CONDITION), 1);
    return 0;
}

IMPORT(int, pthread_cond_broadcast, pthread_cond_t *c) {
    wake_on(word_key(c, KEY_CONDITION), THREADS);
    return 0;
}

IMPORT(int, pthread_cond_timedwait, pthread_cond_t *c, pthread_mutex_t *m,
       const struct timespec *t) {
    const int64_t till = t ? t->tv_sec * SECOND + t->tv_nsec : FOREVER;
    let_go(m);
    wait_on(word_key(c, KEY_CONDITION), till);
    sim_pthread_mutex_lock(m);
    return now_ns >= till ? ETIMEDOUT : 0;
}

IMPORT(int, pthread_cond_wait, pthread_cond_t *c, pthread_mutex_t *m) {
    return sim_pthread_cond_timedwait(c, m, NULL);
}

/* ---- futexes
 * ------------------------------------------------------------------------------------ */

enum { SPURIOUS = 10 };

static long fails(int why) {
    errno = why;
    return -1;
}

/* Whoever was stopped in it, or copied, begins anew; the end stays. */
static long sleep_at(const uint32_t *word, uint32_t value, int64_t till) {
    for (;;) {
        if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
            return fails(EAGAIN);
        if (now_ns >= till)
            return fails(ETIMEDOUT);
        if (chance(chances(), SPURIOUS))
            return 0;
        wait_on(word_key(word, KEY_SHARED_WORD), till);
        if (me->woken)
            return 0;
    }
}

static long futex(uint32_t *word, int what, uint32_t value, const struct timespec *t) {
    point(100);
    switch (what & ~FUTEX_PRIVATE_FLAG) {
    case FUTEX_WAIT:
        return sleep_at(word, value, t ? now_ns + t->tv_sec * SECOND + t->tv_nsec : FOREVER);
    case FUTEX_WAKE:
        return wake_on(word_key(word, KEY_SHARED_WORD), (int)value);
    default:
        broken("futex %d is not simulated", what);
    }
}

/* ---- the word of a thread
 * ------------------------------------------------------------------------- */

/* As the kernel does: only if the word has the thread's number by then. */
void word_of_dead(struct thread *t) {
    struct robust_list_head head;
    const char *told = t->robust ? own_copy(t, t->robust) : NULL;
    if (told == NULL)
        return;
    memcpy(&head, told, sizeof head);
    uint32_t *word =
        head.list_op_pending
            ? (uint32_t *)(void *)shared_bytes(t->process, (char *)head.list_op_pending)
            : NULL;
    if (word && (*word & FUTEX_TID_MASK) == t->number)
        *word = (*word & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
}

/* ---- what the library asks the kernel for by number
 * --------------------------------------------------- */

IMPORT(long, syscall, long number, ...) {
    long arg[5];
    va_list ap;
    va_start(ap, number);
    for (int i = 0; i < 5; i++)
        arg[i] = va_arg(ap, long);
    va_end(ap);
    switch (number) {
    case SYS_gettid:
        return me->number;
    case SYS_set_robust_list:
        me->robust = (char *)arg[0];
        return 0;
    case SYS_statx:
        return file_born((int)arg[0], (struct statx *)arg[4]);
    case SYS_futex:
        return futex((uint32_t *)arg[0], (int)arg[1], (uint32_t)arg[2],
                     (const struct timespec *)arg[3]);
    default:
        broken("the system call %ld is not simulated", number);
    }
}
