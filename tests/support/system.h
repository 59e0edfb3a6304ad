/* SPDX-License-Identifier: MIT */
/*
 * system.h - what tests/proc/kernel.c asks of the system that it runs on, beside the calls of the
 * library: the kernel (system.c) or the simulated one (tests/sim/kernel.c).
 */
#ifndef SFID_TESTS_SYSTEM_H
#define SFID_TESTS_SYSTEM_H

#include <stdbool.h>
#include <netinet/in.h>

/* As fork(2). A child ends with task_end(). */
int task_begin(void);
void task_end(void);
/* Returns once the child is gone, or stopped. One that is stopped goes on after task_go_on(),
 * within ms at the latest. */
void task_kill(int pid);
void task_wait(int pid);
void task_stop(int pid, int ms);
void task_go_on(int pid);

/* A directory on a disk, for one run. */
const char *system_dir(void);

/* Is it on overlayfs, where a mapping keeps no lock of the file that it maps? The library keeps a
 * descriptor there. */
bool system_is_layered(void);

/*
 * A server that answers "+OK\r\n" to PING, and to QUIT the same before it sends no more; one that
 * is not there; one whose connections are not made.
 */
enum serving { SERVES, REFUSES, HANGS };
struct sockaddr_in system_server(enum serving how);

#endif
