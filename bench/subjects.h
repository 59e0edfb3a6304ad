/* SPDX-License-Identifier: MIT */
/* subjects.h - what is measured. Each function runs its rows. */
#ifndef SFID_BENCH_SUBJECTS_H
#define SFID_BENCH_SUBJECTS_H

void bench_draw(void);
void bench_wide(void);
void bench_shared(void);
void bench_lanes(void);
void bench_saturated(void);
void bench_pack(void);
void bench_restart(void);

#endif
