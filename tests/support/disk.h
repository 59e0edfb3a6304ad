/* SPDX-License-Identifier: MIT */
/**
 * disk.h - a power loss, simulated: the state directory is brought back as a
 * disk may have it.
 *
 * What was synced is there (shim_notes.h). Of everything else nothing is
 * certain: each block of a file that was written after may have reached the
 * disk or not, or in part; so may each name that was made after.
 */
#ifndef SFID_TESTS_DISK_H
#define SFID_TESTS_DISK_H

#include "support/local.h"
#include "support/shim.h"
#include "support/shim_notes.h"

enum { DISK_BLOCK = 4096 };

struct disk {
    char notes[200]; /* the directory of them */
    struct shim_control *control;
    uint64_t *rng;
};

extern struct disk disk;

/* From here on programs that are started have the shim. Where it was not built the test is skipped. */
void disk_begin(uint64_t *rng);

/* All that is there now is on the disk. */
void disk_settle(void);

struct disk_bytes {
    char at[SHIM_FILE_MAX];
    size_t size;
};

void disk_read(struct disk_bytes *b, const char *path);
void disk_restore_dir(uint64_t inode, const char *lost, const char *to);

/* Nobody runs any more. The state directory itself was there from the begin. */
void disk_lose_power(void);

#endif
