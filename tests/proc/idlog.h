/* SPDX-License-Identifier: MIT */
/**
 * idlog.h - the files that tests/checker reads: one per thread, all IDs that
 * its calls returned, in order.
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
#define IDLOG_ANY_PID UINT64_MAX

/* The first 64 bytes of a file; IDs follow, 8 bytes each, in the machine's own order. */
struct idlog_head {
    char magic[8];
    uint64_t capacity;    /* IDs there is room for */
    uint64_t count;       /* IDs that are there */
    uint64_t lost;        /* IDs that found no room: a fault of the test */
    uint64_t life;        /* which life of its pid wrote it, from 1; files of one life may have been written at once */
    uint64_t pid;         /* what each ID has to carry, or IDLOG_ANY_PID */
    uint64_t reserved[2]; /* zero */
};

struct idlog {
    struct idlog_head *head;
    int64_t *ids;
    uint64_t count, capacity;
    size_t mapped;
};

/* Makes the file anew. Returns false, with errno, when it cannot. */
static inline bool idlog_open(struct idlog *log, const char *path, uint64_t capacity, uint64_t life, uint64_t pid) {
    const size_t size = sizeof(struct idlog_head) + capacity * sizeof(int64_t);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *at = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return false;
    *log = (struct idlog){.head = at, .ids = (int64_t *)((struct idlog_head *)at + 1), .capacity = capacity, .mapped = size};
    log->head->capacity = capacity;
    log->head->life = life;
    log->head->pid = pid;
    __atomic_signal_fence(__ATOMIC_RELEASE); /* the compiler leaves it last: who is killed before has not begun */
    memcpy(log->head->magic, IDLOG_MAGIC, sizeof log->head->magic);
    return true;
}

/* One writer per file. */
static inline void idlog_put(struct idlog *log, int64_t id) {
    if (log->count == log->capacity) {
        log->head->lost++;
        return;
    }
    log->ids[log->count++] = id;
    __atomic_store_n(&log->head->count, log->count, __ATOMIC_RELEASE);
}

static inline bool idlog_full(const struct idlog *log) {
    return log->count == log->capacity;
}

/* How many IDs still fit, at most n. */
static inline size_t idlog_room(const struct idlog *log, size_t n) {
    return log->capacity - log->count < n ? (size_t)(log->capacity - log->count) : n;
}

static inline void idlog_close(struct idlog *log) {
    if (log->head)
        munmap(log->head, log->mapped);
    *log = (struct idlog){0};
}

#endif
