/* SPDX-License-Identifier: MIT */
/*
 * signs.h - what shows that this machine is a copy of another, or was suspended.
 *
 * A virtual machine that is saved once and resumed twice has two copies of each
 * process. Neither copy notices by itself. These signs differ in a copy from
 * what they were before it was made:
 *
 *   generation  A hypervisor shows its guests a page, /dev/vmclock0. It counts
 *               there how often the machine was loaded from a saved state. One
 *               that does not count changes a marker there instead, also when a
 *               machine moves to another host.
 *   slept_ms    CLOCK_BOOTTIME counts on while the machine is suspended, and
 *               CLOCK_MONOTONIC does not. So a machine that goes on from an
 *               image on its disk shows a jump between them.
 *   boot        The boot ID: containers can be resumed under another kernel.
 *               Reading it takes system calls, so the caller reads it.
 *
 * A member that is 0 is not known, and equals all others. Two time namespaces
 * differ in slept_ms, so it is compared only where `clocks` is the same.
 */
#ifndef SFID_BASE_SIGNS_H
#define SFID_BASE_SIGNS_H

#include "base/compiler.h"

struct sfid__signs {
    uint64_t generation;
    uint64_t slept_ms; /* plus 1: 0 is not known */
    uint64_t clocks;   /* the time namespace */
    uint64_t boot;
};

/* Looks for the page and at the time namespace, once in a process: what is left for a call is to
 * read, without a system call. */
void sfid__signs_prepare(void);

/* Reads all but the boot, which becomes 0. */
void sfid__signs_read(struct sfid__signs *out);

/* True if the machine shows other signs now. boot: the present one, or 0. Two loads and two
 * readings of clocks. Without sfid__signs_prepare() in this process, or a parent of it, there is no
 * generation to compare. */
bool sfid__signs_changed(const struct sfid__signs *then, uint64_t boot);

/* Where the page of the hypervisor is looked for, once in a process. Tests put another name here
 * before the first open. */
extern const char *sfid__signs_path;

#endif
