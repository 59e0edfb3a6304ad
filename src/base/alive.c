/* SPDX-License-Identifier: MIT */
#include "base/alive.h"

#include <sys/syscall.h>
#include <unistd.h>

/*
 * What the kernel reads when this thread dies. It marks the word that list_op_pending leads to if
 * the word has the thread's number by then, and takes the list, which stays empty, for the C
 * library's.
 */
static _Thread_local struct robust_list_head own;

/* The kernel reads it in this thread, or once it is dead: so only the compiler has to keep the
 * order of this and the word. */
static void note(_Atomic uint32_t *word) {
    atomic_signal_fence(memory_order_seq_cst);
    own.list_op_pending = (struct robust_list *)(uintptr_t)word;
    atomic_signal_fence(memory_order_seq_cst);
}

/* A sandbox may refuse to tell it. Then the kernel will not mark the word, and nobody else takes
 * it: no thread has this number. */
static uint32_t own_number(void) {
    const long number = syscall(SYS_gettid);
    return number < 0 ? FUTEX_TID_MASK : (uint32_t)number;
}

bool sfid__alive_take(_Atomic uint32_t *word) {
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed); /* the exchange decides */
    if (seen != 0 && (seen & FUTEX_OWNER_DIED) == 0)
        return false;
    const uint32_t us = own_number();
    own.list.next = &own.list;
    syscall(SYS_set_robust_list, &own, sizeof own); /* refused: see the head of alive.h */
    /* first: a thread that dies behind the exchange has it noted */
    note(word);
    /* Acquire, with the release in sfid__alive_leave() and the kernel's mark, as in
     * sfid__alive(). */
    if (atomic_compare_exchange_strong_explicit(word, &seen, us, memory_order_acquire,
                                                memory_order_relaxed))
        return true;
    note(NULL);
    return false;
}

void sfid__alive_leave(_Atomic uint32_t *word) {
    uint32_t us = own_number();
    if (atomic_compare_exchange_strong_explicit(word, &us, 0, memory_order_release,
                                                memory_order_relaxed))
        note(NULL); /* behind it, for the same reason */
}
