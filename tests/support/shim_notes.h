/* SPDX-License-Identifier: MIT */
/**
 * shim_notes.h - how the preloaded shim and tests write down what a disk is certain to have.
 *
 * $SFID_SHIM_STATE and $SFID_SHIM_DISK name two directories: whatever is
 * synced in the first is noted in the second, as it was when the call began,
 * once the call has come back. Only what is noted there has to survive a power
 * loss: of a file (data-INODE) what it held, of a directory (dir-INODE) its
 * names, in lines of inode, kind and name.
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

/* The shim has these of its own, and the test does. */
#define SHIM_HIDDEN __attribute__((visibility("hidden")))

enum { SHIM_FILE_MAX = 65536, SHIM_PATH = 4400 };

/* What was there when a sync began. */
struct shim_note {
    char name[40]; /* data-INODE or dir-INODE */
    char *bytes;
    size_t size;
    int lock; /* of directories: two notes of one must not overtake each other */
};

/* False when there is nothing to note. */
bool shim_note_begin(struct shim_note *note, int fd, const char *disk) SHIM_HIDDEN;

/* Writes it down, whole or not at all. */
void shim_note_end(struct shim_note *note, const char *disk, bool synced) SHIM_HIDDEN;

#endif
