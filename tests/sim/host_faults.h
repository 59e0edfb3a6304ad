/* SPDX-License-Identifier: MIT */
/* host_faults.h - faults of hosts, disks and processes (host_faults.c). */
#ifndef SIM_HOST_FAULTS_H
#define SIM_HOST_FAULTS_H

/* Processes. */
void kill_one(void), kill_and_start(void), stop_one(void), end_one(void), end_briefly(void),
    end_beside(void);
/* The way to the servers, and the clock. */
void cut_long(void), cut_short(void), cut_to_the_brink(void), end_cut_off(void), step_clock(void);
/* Disks, directories, and the machine. */
void disk_hangs(void), disk_is_slow(void), disk_fails(void), end_with_disk(void),
    open_no_files(void);
void lose_power(void), lose_run(void), copy_machine(void);

#endif
