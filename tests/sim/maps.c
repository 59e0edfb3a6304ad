/* SPDX-License-Identifier: MIT */
/*
 * maps.c - mappings are real ones, so that loads and stores of the library need no help.
 *
 * A shared mapping shows an extent of the memory file; it keeps the open file description, and so
 * the locks. A word in it has one key for all who map it. A private mapping belongs to a process:
 * its bytes are saved while a relative is there.
 */
#include "sim.h"

#include <sys/mman.h>
#include <sys/uio.h>

#define MAPS_AT ((char *)0x500000000000)
#define GAP ((size_t)1 << 16)

static char *next_at = MAPS_AT;

static size_t whole_pages(size_t n) { return (n + PAGE - 1) & ~(size_t)(PAGE - 1); }

static bool holds(const struct mapping *m, const char *at) {
    return m->len && at >= m->at && at < m->at + m->len;
}

static struct mapping *free_place(struct process *p) {
    for (int i = 0; i < MAPPINGS; i++)
        if (p->map[i].len == 0)
            return &p->map[i];
    broken("too many mappings");
}

static struct mapping *map_at(const char *at) {
    for (int i = 0; i < MAPPINGS; i++)
        if (holds(&me->process->map[i], at))
            return &me->process->map[i];
    return NULL;
}

/* ---- removing ------------------------------------------------------------------------------ */

/* Shared memory without a file is gone once no process maps it. */
static bool is_last(const struct mapping *m) {
    for (int i = 0; i < PROCESSES; i++)
        for (int k = 0; process[i].used && k < MAPPINGS; k++) {
            const struct mapping *o = &process[i].map[k];
            if (o != m && o->len && o->extent == m->extent && o->file == NULL)
                return false;
        }
    return true;
}

static void drop(struct mapping *m) {
    if (m->file)
        file_put(m->file);
    else if (m->kind == MAP_SHARING && is_last(m))
        extent_drop(m->extent);
    free(m->saved);
    *m = (struct mapping){.len = 0};
}

/* The part of m that lies in between goes; what lies behind becomes a mapping of its own. */
static void cut(struct process *p, struct mapping *m, char *at, size_t len) {
    char *end = m->at + m->len;
    if (m->at >= at && end <= at + len) {
        drop(m);
    } else if (m->at >= at) {
        m->len = (size_t)(end - (at + len));
        m->at = at + len;
    } else {
        const struct mapping whole = *m;
        m->len = (size_t)(at - m->at);
        if (end > at + len) {
            struct mapping *tail = free_place(p);
            *tail = whole;
            tail->at = at + len;
            tail->len = (size_t)(end - tail->at);
            tail->saved = NULL;
            if (tail->file)
                tail->file->refs++;
        }
    }
}

static void clear(struct process *p, char *at, size_t len) {
    for (int i = 0; i < MAPPINGS; i++) {
        struct mapping *m = &p->map[i];
        if (m->len && m->at < at + len && m->at + m->len > at)
            cut(p, m, at, len);
    }
}

void maps_end(struct process *p) {
    const bool there = p->space->resident == p;
    for (int i = 0; i < MAPPINGS; i++) {
        struct mapping *m = &p->map[i];
        if (m->len == 0)
            continue;
        if (there)
            munmap(m->at, m->len);
        drop(m);
    }
}

/* ---- making
 * ----------------------------------------------------------------------------------- */

/* At its address, as the kernel's mapping. */
static void show(const struct mapping *m) {
    const int fd = m->kind == MAP_SHARING ? store_fd : -1;
    const int flags =
        MAP_FIXED | (fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    if (mmap(m->at, m->len, m->prot, flags, fd, fd >= 0 ? m->extent * EXTENT : 0) != m->at)
        broken("a mapping of %zu bytes does not fit", m->len);
}

static char *address_for(void *want, size_t len, int flags) {
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        return want;
    char *at = next_at + settings.moved;
    next_at += len + GAP;
    return at;
}

IMPORT(void *, mmap, void *want, size_t len, int prot, int flags, int fd, off_t offset) {
    struct file *f = NULL;
    point(500);
    if (offset != 0)
        broken("a mapping from within a file is not simulated");
    if (fd >= 0 && (f = file_use(fd)) == NULL)
        return MAP_FAILED;
    len = whole_pages(len);
    char *at = address_for(want, len, flags);
    for (int i = 0; (flags & MAP_FIXED_NOREPLACE) && i < MAPPINGS; i++) {
        const struct mapping *m = &me->process->map[i];
        if (m->len && m->at < at + len && m->at + m->len > at) {
            file_done();
            errno = EEXIST;
            return MAP_FAILED;
        }
    }
    clear(me->process, at, len);
    struct mapping *m = free_place(me->process);
    *m = (struct mapping){.at = at, .len = len, .prot = prot, .extent = -1};
    m->kind = flags & MAP_SHARED ? MAP_SHARING : prot == PROT_NONE ? MAP_NOTHING : MAP_PRIVATELY;
    if (m->kind == MAP_SHARING && f) {
        f->refs++;
        m->file = f;
        node_bytes(f->node);
        m->extent = f->node->extent;
    } else if (m->kind == MAP_SHARING) {
        if (len > EXTENT)
            broken("shared memory of %zu bytes is not simulated", len);
        m->extent = extent_take();
    } else if (f) {
        broken("a private mapping of a file is not simulated");
    }
    file_done();
    show(m);
    return at;
}

IMPORT(int, munmap, void *at, size_t len) {
    point(300);
    clear(me->process, at, whole_pages(len));
    return munmap(at, whole_pages(len));
}

/* Moves a mapping as a whole. */
IMPORT(void *, mremap, void *old, size_t old_len, size_t len, int flags, ...) {
    __builtin_va_list ap;
    __builtin_va_start(ap, flags);
    char *to = __builtin_va_arg(ap, void *);
    __builtin_va_end(ap);
    struct mapping *m = map_at(old);
    len = whole_pages(len);
    if (m == NULL || m->at != old || m->len != len || whole_pages(old_len) != len ||
        !(flags & MREMAP_FIXED))
        broken("this mremap is not simulated");
    clear(me->process, to, len);
    m->at = to;
    return mremap(old, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

IMPORT(int, madvise, void *at, size_t len, int how) {
    (void)len;
    point(100);
    struct mapping *m = map_at(at);
    if (how != MADV_WIPEONFORK)
        return 0;
    if (m == NULL)
        broken("memory of the heap that is to be wiped on fork is not simulated");
    if (m->kind == MAP_SHARING) {
        errno = EINVAL;
        return -1;
    }
    m->wipe = true;
    return 0;
}

IMPORT(int, msync, void *at, size_t len, int flags) {
    (void)len, (void)flags;
    const struct mapping *m = map_at(at);
    if (m == NULL) {
        errno = ENOMEM;
        return -1;
    }
    struct node *n = m->file ? m->file->node : NULL;
    if (n == NULL)
        return 0;
    disk_takes(n, 3 * MS); /* whoever unmaps it meanwhile breaks a rule of its own */
    if (disk_is_bad(n))
        return -1;
    node_sync(n);
    return 0;
}

/* The kernel copies, but not where the file behind a mapping has ended. */
static bool has_ended(const void *at, size_t len) {
    const struct mapping *m = map_at(at);
    if (m == NULL || m->file == NULL ||
        (const char *)at + len <= m->at + whole_pages((size_t)m->file->node->size))
        return false;
    errno = EFAULT;
    return true;
}

IMPORT(ssize_t, process_vm_readv, pid_t pid, const struct iovec *to, unsigned long n,
       const struct iovec *from, unsigned long m, unsigned long flags) {
    (void)pid, (void)n, (void)m, (void)flags;
    point(100);
    if (has_ended(from->iov_base, from->iov_len))
        return -1;
    memcpy(to->iov_base, from->iov_base, to->iov_len);
    return (ssize_t)to->iov_len;
}

IMPORT(ssize_t, process_vm_writev, pid_t pid, const struct iovec *from, unsigned long n,
       const struct iovec *to, unsigned long m, unsigned long flags) {
    (void)pid, (void)n, (void)m, (void)flags;
    point(100);
    if (has_ended(to->iov_base, to->iov_len))
        return -1;
    memcpy(to->iov_base, from->iov_base, from->iov_len);
    return (ssize_t)from->iov_len;
}

/* ---- words
 * --------------------------------------------------------------------------------------- */

uint64_t word_key(const void *at, enum key_kind kind) {
    const struct mapping *m = map_at(at);
    if (m && m->kind == MAP_SHARING)
        return key_of((uint64_t)(m->extent * EXTENT + ((const char *)at - m->at)), kind);
    return key_of((uint64_t)(uintptr_t)at ^ (uint64_t)me->process->born << 48,
                  kind == KEY_SHARED_WORD ? KEY_OWN_WORD : kind);
}

char *shared_bytes(const struct process *p, const char *at) {
    for (int i = 0; i < MAPPINGS; i++)
        if (holds(&p->map[i], at) && p->map[i].kind == MAP_SHARING)
            return extent_bytes(p->map[i].extent) + (at - p->map[i].at);
    return NULL;
}

/* A file in the run directory that has a share of its lock. What is left of a closed generator has
 * none. */
static bool is_page(const struct mapping *m) {
    if (m->len == 0 || m->kind != MAP_SHARING || m->file == NULL || !m->file->node->tmp)
        return false;
    const struct node *n = m->file->node;
    bool shares = n->exclusive == m->file;
    for (unsigned i = 0; i < n->sharers; i++)
        shares |= n->sharer[i] == m->file;
    return shares;
}

bool pages_met(const struct process *p, const struct process *of) {
    for (int i = 0; i < MAPPINGS; i++)
        for (int k = 0; is_page(&of->map[i]) && k < MAPPINGS; k++)
            if (is_page(&p->map[k]) && p->map[k].extent == of->map[i].extent)
                return true;
    return false;
}

bool has_page(const struct process *p) {
    for (int i = 0; i < MAPPINGS; i++)
        if (is_page(&p->map[i]) && p->map[i].file->node->links)
            return true;
    return false;
}

/* ---- families
 * -------------------------------------------------------------------------------------- */

void maps_fork(struct process *child) {
    for (int i = 0; i < MAPPINGS; i++) {
        struct mapping *m = &child->map[i];
        if (m->len == 0)
            continue;
        if (m->file)
            m->file->refs++;
        m->saved = NULL;
        if (m->kind != MAP_PRIVATELY)
            continue;
        m->saved = memory(m->len);
        if (!m->wipe)
            memcpy(m->saved, m->at, m->len);
    }
}

/* Does the other one show the same memory at the same place? */
static bool is_common(const struct mapping *m, const struct process *p) {
    for (int i = 0; p && m->kind == MAP_SHARING && i < MAPPINGS; i++) {
        const struct mapping *o = &p->map[i];
        if (o->len == m->len && o->at == m->at && o->kind == m->kind && o->extent == m->extent &&
            o->prot == m->prot)
            return true;
    }
    return false;
}

void maps_change(struct process *leaves, struct process *comes) {
    for (int i = 0; leaves && i < MAPPINGS; i++) {
        struct mapping *m = &leaves->map[i];
        if (m->len == 0 || is_common(m, comes))
            continue;
        if (m->kind == MAP_PRIVATELY) {
            m->saved = realloc(m->saved, m->len);
            memcpy(m->saved, m->at, m->len);
        }
        munmap(m->at, m->len);
    }
    for (int i = 0; i < MAPPINGS; i++) {
        struct mapping *m = &comes->map[i];
        if (m->len == 0 || is_common(m, leaves))
            continue;
        show(m);
        if (m->saved)
            memcpy(m->at, m->saved, m->len);
        free(m->saved);
        m->saved = NULL;
    }
}
