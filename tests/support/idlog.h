/* SPDX-License-Identifier: MIT */
/**
 * idlog.h - writes the files that tests/checker reads: for each thread, all IDs
 * that its calls returned, in order; for each process, its windows.
 *
 *     struct idlog log;
 *     idlog_open(&log, path, 1000000, 1, 7);
 *     idlog_put(&log, sfid_next(g));
 *
 * The file is a shared mapping, and the count follows the ID that it counts. So
 * a SIGKILL at any moment loses no ID. The file is sparse: unused room costs
 * nothing. Errors are logged like IDs, and the checker reports them.
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

/* The first 64 bytes of a file. IDs or windows follow, in the machine's byte order. */
struct idlog_head {
    char magic[8];
    uint64_t capacity; /* IDs that fit */
    uint64_t count;    /* IDs so far */
    uint64_t lost;     /* IDs without room: the test is at fault */
    /* which life of the pid wrote it, from 1; files of one life may be concurrent */
    uint64_t life;
    uint64_t pid;      /* the pid in each ID, or IDLOG_ANY_PID */
    uint64_t process;  /* unique number of the process; 0: its windows are unknown */
    uint64_t reserved; /* zero */
};

/*
 * A window from sfid_status(), each time that it may have changed. Windows with
 * the same pid, holder and first tick are one lease, which was renewed, shared
 * by forked children, or resumed by the next process of the slot.
 */
struct winlog_window {
    uint64_t pid, first, limit;
    /* hash of the identity and the slot's directory, since two machines may share a name */
    uint64_t holder;
    uint64_t flags;
};

enum { WINLOG_GIVEN_BACK = 1 }; /* from here on, the store may lend unused IDs to another process */

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

/* Creates or replaces the file. Returns false, with errno, on failure. */
bool idlog_open(struct idlog *log, const char *path, uint64_t capacity, uint64_t life,
                uint64_t pid);

/* One writer for each file. */
void idlog_put(struct idlog *log, int64_t id);
bool idlog_full(const struct idlog *log);

/* Returns how many IDs still fit, at most n. */
size_t idlog_room(const struct idlog *log, size_t n);
void idlog_close(struct idlog *log);

/* As idlog_open(), for windows. */
bool winlog_open(struct winlog *log, const char *path, uint64_t capacity, uint64_t process);

/* One writer at a time. */
void winlog_put(struct winlog *log, const struct winlog_window *window);

#endif
