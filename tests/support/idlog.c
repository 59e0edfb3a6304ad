/* SPDX-License-Identifier: MIT */
#include "support/idlog.h"

/* Makes a new file of this many bytes after its head. Returns NULL, with errno, on failure. */
static struct idlog_head *idlog_make(const char *path, size_t size) {
    size += sizeof(struct idlog_head);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *at = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? NULL : at;
}

bool idlog_open(struct idlog *log, const char *path, uint64_t capacity, uint64_t life,
                uint64_t pid) {
    const size_t size = capacity * sizeof(int64_t);
    struct idlog_head *at = idlog_make(path, size);
    if (at == NULL)
        return false;
    *log = (struct idlog){
        .head = at, .ids = (int64_t *)(at + 1), .capacity = capacity, .mapped = sizeof *at + size};
    log->head->capacity = capacity;
    log->head->life = life;
    log->head->pid = pid;
    /* keeps this write last: a process killed before has not begun */
    __atomic_signal_fence(__ATOMIC_RELEASE);
    memcpy(log->head->magic, IDLOG_MAGIC, sizeof log->head->magic);
    return true;
}

void idlog_put(struct idlog *log, int64_t id) {
    if (log->count == log->capacity) {
        log->head->lost++;
        return;
    }
    log->ids[log->count++] = id;
    __atomic_store_n(&log->head->count, log->count, __ATOMIC_RELEASE);
}

bool idlog_full(const struct idlog *log) { return log->count == log->capacity; }

size_t idlog_room(const struct idlog *log, size_t n) {
    return log->capacity - log->count < n ? (size_t)(log->capacity - log->count) : n;
}

void idlog_close(struct idlog *log) {
    if (log->head)
        munmap(log->head, log->mapped);
    *log = (struct idlog){0};
}

bool winlog_open(struct winlog *log, const char *path, uint64_t capacity, uint64_t process) {
    log->head = idlog_make(path, capacity * sizeof *log->windows);
    if (log->head == NULL)
        return false;
    log->windows = (struct winlog_window *)(log->head + 1);
    log->head->capacity = capacity;
    log->head->process = process;
    __atomic_signal_fence(__ATOMIC_RELEASE);
    memcpy(log->head->magic, WINLOG_MAGIC, sizeof log->head->magic);
    return true;
}

void winlog_put(struct winlog *log, const struct winlog_window *window) {
    const uint64_t n = log->head->count;
    if (n == log->head->capacity) {
        log->head->lost++;
        return;
    }
    log->windows[n] = *window;
    __atomic_store_n(&log->head->count, n + 1, __ATOMIC_RELEASE);
}
