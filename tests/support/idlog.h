/* SPDX-License-Identifier: MIT */
/**
 * idlog.h - the files that tests/checker reads: one per thread, all IDs that
 * its calls returned, in order; and one per process, the windows that it was
 * granted.
 *
 *     struct idlog log;
 *     idlog_open(&log, path, 1000000, 1, 7);
 *     idlog_put(&log, sfid_next(g));
 *
 * The file is a shared mapping and the count is written after the ID it
 * counts, so that a SIGKILL at any moment loses nothing that was put. The file
 * is sparse: room that is not used costs nothing. Errors are put like IDs: the
 * checker says that they are none.
 */
#ifndef SFID_TESTS_IDLOG_H
#define SFID_TESTS_IDLOG_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IDLOG_MAGIC "sfidlog"
#define WINLOG_MAGIC "sfidwin"
#define IDLOG_ANY_PID UINT64_MAX

/* The first 64 bytes of a file; IDs or windows follow, in the machine's own order. */
struct idlog_head {
    char magic[8];
    uint64_t capacity; /* IDs there is room for */
    uint64_t count;    /* IDs that are there */
    uint64_t lost;     /* IDs that found no room: a fault of the test */
    uint64_t life;     /* which life of its pid wrote it, from 1; files of one life may have been written at once */
    uint64_t pid;      /* what each ID has to carry, or IDLOG_ANY_PID */
    uint64_t process;  /* which process, each with a number of its own; 0: nothing is known of its windows */
    uint64_t reserved; /* zero */
};

/*
 * A window as sfid_status() tells it, each time that may have changed. Windows
 * of one pid, holder and first tick are one lease, which was renewed, shared by
 * forked children, or gone on with by the next process of the slot.
 */
struct winlog_window {
    uint64_t pid, first, limit;
    uint64_t holder; /* of the identity and the slot's directory: two machines may bear one name */
    uint64_t flags;
};

enum { WINLOG_GIVEN_BACK = 1 }; /* from here on the store may lend what was not used to somebody else */

struct idlog {
    struct idlog_head *head;
    int64_t *ids;
    uint64_t count, capacity;
    size_t mapped;
};

struct winlog {
    struct idlog_head *head;
    struct winlog_window *windows;
};

/* Makes the file anew. Returns false, with errno, when it cannot. */
bool idlog_open(struct idlog *log, const char *path, uint64_t capacity, uint64_t life, uint64_t pid);

/* One writer per file. */
void idlog_put(struct idlog *log, int64_t id);
bool idlog_full(const struct idlog *log);

/* How many IDs still fit, at most n. */
size_t idlog_room(const struct idlog *log, size_t n);
void idlog_close(struct idlog *log);

/* The same for windows. */
bool winlog_open(struct winlog *log, const char *path, uint64_t capacity, uint64_t process);

/* One writer at a time. */
void winlog_put(struct winlog *log, const struct winlog_window *window);

#endif
