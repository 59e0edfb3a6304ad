/* SPDX-License-Identifier: MIT */
/**
 * disk.h - simulates a power loss: the state directory comes back as a disk may
 * have it.
 *
 * What was synced is there (shim_notes.h). Nothing else is certain. Each block
 * written later may have reached the disk, or not, or in part. So may each name
 * made later.
 */
#ifndef SFID_TESTS_DISK_H
#define SFID_TESTS_DISK_H

#include "support/local.h"
#include "support/shim.h"
#include "support/shim_notes.h"

enum { DISK_BLOCK = 4096 };

struct disk {
    char notes[200]; /* directory of the notes */
    struct shim_control *control;
    uint64_t *rng;
    bool loses_all; /* nothing survives but what was synced */
};

extern struct disk disk;

/* Preloads the shim into programs started from here on. Skips the test if the shim was not
 * built. */
void disk_begin(uint64_t *rng);

/* Notes that all files are on the disk now. */
void disk_settle(void);

struct disk_bytes {
    char at[SHIM_FILE_MAX];
    size_t size;
};

void disk_read(struct disk_bytes *b, const char *path);
void disk_restore_dir(uint64_t inode, const char *lost, const char *to);

#endif
