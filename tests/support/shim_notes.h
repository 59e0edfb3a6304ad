/* SPDX-License-Identifier: MIT */
/**
 * shim_notes.h - records what a disk is certain to have, for the preloaded shim and tests.
 *
 * $SFID_SHIM_STATE and $SFID_SHIM_DISK name two directories. Each sync in the
 * first one leaves a note in the second once the call has returned, of the
 * contents when it began. Only what is noted has to survive a power loss: the
 * bytes of a file (data-INODE), and the names in a directory (dir-INODE), in
 * lines of inode, kind and name.
 */
#ifndef SFID_TESTS_SHIM_NOTES_H
#define SFID_TESTS_SHIM_NOTES_H

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The shim and the test have their own copies. */
#define SHIM_HIDDEN __attribute__((visibility("hidden")))

enum { SHIM_FILE_MAX = 65536, SHIM_PATH = 4400 };

/* The contents when a sync began. */
struct shim_note {
    char name[40]; /* data-INODE or dir-INODE */
    char *bytes;
    size_t size;
    int lock; /* for directories: notes of one must not overtake each other */
};

/* Returns false if there is nothing to note. */
bool shim_note_begin(struct shim_note *note, int fd, const char *disk) SHIM_HIDDEN;

/* Writes the note, whole or not at all. */
void shim_note_end(struct shim_note *note, const char *disk, bool synced) SHIM_HIDDEN;

#endif
