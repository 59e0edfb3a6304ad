/* SPDX-License-Identifier: MIT */
/*
 * mark_file.h - the entries of a mark, in and out of its file: by a descriptor,
 * or through the mapping where none can be had (mark.h). Each returns 0 or an
 * errno.
 */
#ifndef SFID_HOST_MARK_FILE_H
#define SFID_HOST_MARK_FILE_H

#include "host/files.h"
#include "host/mark_entries.h"

/* As in struct sfid__mark. */
struct sfid__disk;

/* All entries; what the file lacks is zero. fd -1: by the mapping. */
int sfid__mark_file_read(int fd, struct sfid__disk *map,
                         struct sfid__mark_entry all[SFID__MARK_ENTRIES]);

/* Whether all of the file is blank. */
int sfid__mark_file_blank(int fd, bool *blank);

/* Writes the whole file. */
int sfid__mark_file_fill(int fd, struct sfid__mark_entry all[SFID__MARK_ENTRIES], bool synced);

/* Makes the file with all entries like the first, whole before it has its name, so that a blank one
 * means damage. Inside the door. Returns 0, SFID_EBUSY or SFID_ESTATE. */
int sfid__mark_file_make(const struct sfid__dir *app, const char *name,
                         struct sfid__mark_entry first, struct sfid__error *err);

/* Writes one entry. fd -1: by the mapping. */
int sfid__mark_file_put(int fd, struct sfid__disk *map, int which, const struct sfid__mark_entry *e,
                        bool synced);

#endif
