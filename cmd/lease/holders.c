/* SPDX-License-Identifier: MIT */
/*
 * holders.c - finds the holder of each pid, without touching a lock.
 *
 * A shared mapping of a mark's file holds its lock. Forked children inherit it.
 * So every process with that mapping holds the lock; /proc/PID/maps shows it.
 * /proc/locks names only the process that took the lock. It may have ended.
 */
#include "lease/holders.h"

#include "io/look.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define BATCH 256

/* ---- /proc/PID/maps ------------------------------------------------------ */

struct mapping {
    uint64_t begin, inode;
    unsigned major, minor;
    bool shared;
    const char *path; /* "" for memory without a file */
};

struct maps {
    FILE *file;
    char *line;
    size_t size;
};

/* Opens the maps of a process; 0: of this one. Returns false with errno set. */
static bool maps_open(struct maps *maps, int64_t process) {
    char path[64] = "/proc/self/maps";
    if (process)
        snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", process);
    *maps = (struct maps){.file = fopen(path, "re")};
    return maps->file != NULL;
}

/* Reads the next mapping. Returns false at the end, or with errno set if reading is not
 * permitted. */
static bool maps_next(struct maps *maps, struct mapping *m) {
    char sharing;
    int path = 0;
    errno = 0;
    while (getline(&maps->line, &maps->size, maps->file) > 0) {
        maps->line[strcspn(maps->line, "\n")] = '\0';
        if (sscanf(maps->line, "%" SCNx64 "-%*x %*3s%c %*x %x:%x %" SCNu64 " %n", &m->begin,
                   &sharing, &m->major, &m->minor, &m->inode, &path) < 5)
            continue;
        m->shared = sharing == 's';
        m->path = path ? maps->line + path : "";
        return true;
    }
    return false;
}

static void maps_close(struct maps *maps) {
    free(maps->line);
    fclose(maps->file);
}

/* ---- the kernel's names of a file ---------------------------------------- */

static void learn_from(struct maps *maps, struct slot **slots, void *const *at, size_t count) {
    struct mapping m;
    while (maps_next(maps, &m))
        for (size_t i = 0; i < count; i++)
            if (m.begin == (uintptr_t)at[i]) {
                slots[i]->map_inode = m.inode;
                slots[i]->map_major = m.major;
                slots[i]->map_minor = m.minor;
            }
}

/*
 * For one file, stat(2) may report another device, and even another inode, than
 * /proc does (btrfs, overlayfs). So the files are mapped here, without access
 * to the contents, to see what /proc reports. If that fails, the answer of
 * stat(2) counts.
 */
static void learn_names(struct slot **slots, size_t count) {
    void *at[BATCH];
    struct maps maps;
    for (size_t i = 0; i < count; i++) {
        const int fd = look_open(slots[i]->path, 0);
        at[i] = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE, fd, 0);
        if (fd >= 0)
            close(fd);
    }
    if (maps_open(&maps, 0)) {
        learn_from(&maps, slots, at, count);
        maps_close(&maps);
    }
    for (size_t i = 0; i < count; i++)
        if (at[i] != MAP_FAILED)
            munmap(at[i], PAGE);
}

/* ---- slots by inode ------------------------------------------------------ */

struct index {
    struct slot **slots;
    size_t count;
};

static int by_inode(const void *a, const void *b) {
    const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;
    return x->map_inode < y->map_inode ? -1 : x->map_inode > y->map_inode;
}

static struct index make_index(struct survey *survey) {
    struct index index = {NULL, 0};
    for (size_t a = 0; a < survey->app_count; a++)
        for (size_t i = 0; i < survey->apps[a].slot_count; i++) {
            index.slots = grown(index.slots, index.count, sizeof *index.slots);
            index.slots[index.count++] = &survey->apps[a].slots[i];
        }
    for (size_t i = 0; i < index.count; i += BATCH)
        learn_names(index.slots + i, index.count - i < BATCH ? index.count - i : BATCH);
    if (index.count > 0)
        qsort(index.slots, index.count, sizeof *index.slots, by_inode);
    return index;
}

static struct slot *slot_of(const struct index *index, const struct mapping *m) {
    size_t low = 0, high = index->count;
    while (low < high) { /* find the first one that is not below */
        const size_t mid = low + (high - low) / 2;
        if (index->slots[mid]->map_inode < m->inode)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < index->count && index->slots[low]->map_inode == m->inode; low++)
        if (index->slots[low]->map_major == m->major && index->slots[low]->map_minor == m->minor)
            return index->slots[low];
    return NULL;
}

/* ---- processes ----------------------------------------------------------- */

struct holder holder_of(int64_t process) {
    char path[64];
    struct holder holder = {.process = process};
    snprintf(path, sizeof path, "/proc/%" PRId64 "/comm", process);
    if (look_read(path, holder.name, sizeof holder.name) < 0)
        snprintf(holder.name, sizeof holder.name, "?");
    return holder;
}

static void add_holder(struct slot *slot, int64_t process) {
    if (slot->holder_count > 0 && slot->holders[slot->holder_count - 1].process == process)
        return; /* mapped more than once */
    const struct holder holder = holder_of(process);
    slot->holders = grown(slot->holders, slot->holder_count, sizeof holder);
    slot->holders[slot->holder_count++] = holder;
}

/* Notes a mark of ours that was deleted: its inode belongs to no slot. */
static void look_for_stray(struct survey *survey, const char *state, const struct mapping *m,
                           int64_t process) {
    static const char gone[] = " (deleted)";
    const size_t len = strlen(state), path = strlen(m->path), tail = sizeof gone - 1;
    if (strncmp(m->path, state, len) != 0 || m->path[len] != '/' || path < len + tail ||
        strcmp(m->path + path - tail, gone) != 0)
        return;
    const char *name = m->path + len + 1;
    const char *slash = strchr(name, '/');
    if (slash == NULL || strncmp(slash, "/pid-", 5) != 0)
        return;
    survey->strays = grown(survey->strays, survey->stray_count, sizeof *survey->strays);
    struct stray *stray = &survey->strays[survey->stray_count++];
    *stray = (struct stray){strndup(name, path - len - 1 - tail), holder_of(process)};
}

static void look_into(struct survey *survey, const struct index *index, const char *state,
                      int64_t process) {
    struct maps maps;
    struct mapping m;
    if (!maps_open(&maps, process)) {
        survey->hidden += errno == EACCES || errno == EPERM;
        return;
    }
    while (maps_next(&maps, &m)) {
        if (!m.shared || m.path[0] == '\0')
            continue;
        struct slot *slot = slot_of(index, &m);
        if (slot)
            add_holder(slot, process);
        else
            look_for_stray(survey, state, &m, process);
    }
    survey->hidden += errno == EACCES || errno == EPERM;
    maps_close(&maps);
}

static void look_into_all(struct survey *survey, const struct index *index) {
    char *state = realpath(survey->state, NULL); /* in the kernel's spelling */
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        survey->hidden = 1;
    for (const struct dirent *e; proc && state && (e = readdir(proc)) != NULL;)
        if (isdigit((unsigned char)e->d_name[0]))
            look_into(survey, index, state, strtoll(e->d_name, NULL, 10));
    if (proc)
        closedir(proc);
    free(state);
}

bool has_ended(int64_t process) {
    char path[64], stat[512];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", process);
    if (look_read(path, stat, sizeof stat) < 0)
        return errno == ENOENT || errno == ESRCH;
    const char *state = strrchr(stat, ')'); /* the name before may hold any character */
    return state && state[1] && (state[2] == 'Z' || state[2] == 'X');
}

/* ---- locks --------------------------------------------------------------- */

/* In a PID namespace, /proc/locks leaves out locks whose taker has ended or is outside. */
static bool sees_every_lock(void) {
    static const char first[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO in the kernel */
    char name[64];
    const ssize_t n = readlink("/proc/self/ns/pid", name, sizeof name);
    return n == (ssize_t)sizeof first - 1 && memcmp(name, first, sizeof first - 1) == 0;
}

static void read_locks(struct survey *survey, const struct index *index) {
    FILE *locks = fopen("/proc/locks", "re");
    char *line = NULL, kind[8];
    size_t size = 0;
    int64_t taker;
    unsigned major, minor;
    uint64_t inode;
    survey->locks_told = locks && sees_every_lock();
    while (locks && getline(&line, &size, locks) > 0) {
        if (sscanf(line, "%*u: %7s %*s %*s %" SCNd64 " %x:%x:%" SCNu64, kind, &taker, &major,
                   &minor, &inode) != 5 ||
            strcmp(kind, "FLOCK") != 0)
            continue; /* a waiting process: its line has an arrow */
        for (size_t i = 0; i < index->count; i++) {
            struct slot *slot = index->slots[i];
            const bool as_told =
                slot->inode == inode && slot->major == major && slot->minor == minor;
            const bool as_mapped =
                slot->map_inode == inode && slot->map_major == major && slot->map_minor == minor;
            if (as_told || as_mapped) {
                slot->locked = true;
                slot->taker = taker;
            }
        }
    }
    free(line);
    if (locks)
        fclose(locks);
}

/* ---- the survey ---------------------------------------------------------- */

static void forget(struct survey *survey, const struct index *index) {
    for (size_t i = 0; i < index->count; i++) {
        struct slot *slot = index->slots[i];
        free(slot->holders);
        slot->holders = NULL;
        slot->holder_count = 0;
        slot->locked = false;
        slot->taker = 0;
    }
    for (size_t i = 0; i < survey->stray_count; i++)
        free(survey->strays[i].name);
    survey->stray_count = survey->hidden = 0;
}

/* Returns whether locks and mappings match. They do not while a pid is being taken or released. */
static bool fits(const struct survey *survey, const struct index *index) {
    for (size_t i = 0; i < index->count; i++)
        if (index->slots[i]->locked != (index->slots[i]->holder_count > 0) && survey->locks_told)
            return false;
    return true;
}

void holders_find(struct survey *survey) {
    enum { ROUNDS = 5 };
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20000000};
    struct index index = make_index(survey);
    for (int round = 1;; round++) {
        read_locks(survey, &index);
        look_into_all(survey, &index);
        if (fits(survey, &index) || round == ROUNDS)
            break;
        nanosleep(&pause, NULL);
        forget(survey, &index);
    }
    free(index.slots);
}
