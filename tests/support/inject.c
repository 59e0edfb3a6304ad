/* SPDX-License-Identifier: MIT */
/* inject.c - which call fails, and what the library has; inject_calls.c has the calls. */
#include "support/inject_parts.h"

#include "host/mapping.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct inject_shared *inject;

const char *const inject_names[INJECT_KINDS] = {
#define INJECT_NAME(name, a, b, c, d, e, f) #name,
    INJECT_LIST(INJECT_NAME)
#undef INJECT_NAME
};

const int inject_errors[INJECT_KINDS][INJECT_ERRORS] = {
#define INJECT_SIX(name, a, b, c, d, e, f) {a, b, c, d, e, f},
    INJECT_LIST(INJECT_SIX)
#undef INJECT_SIX
};

static atomic_bool begun, armed;
static _Thread_local int inside;
static _Thread_local bool of_library; /* a thread that the library made */

void inject_enter(void) { inside++; }
void inject_leave(void) { inside--; }
void inject_arm(void) { atomic_store(&armed, true); }
void inject_disarm(void) { atomic_store(&armed, false); }

void inject_is_of_library(void) { of_library = true; }

bool inject_is_inside(void) { return inside > 0 || of_library; }
bool inject_counts(void) { return inject_is_inside() && atomic_load(&begun); }
int64_t inject_clock_moved_ns(void) {
    return inject && inject_is_inside() ? atomic_load(&inject->clock_ns) : 0;
}

static bool is_planned(const struct inject_plan *p, enum inject_side side, enum inject_kind kind,
                       uint32_t call) {
    return p->call != 0 && p->side == side && p->kind == kind &&
           (p->all ? call >= p->call : call == p->call);
}

/* What asks the disk. What an open file is stands in memory. */
static bool is_of_files(enum inject_kind kind) {
    return kind >= INJECT_open64 && kind <= INJECT_unlinkat && kind != INJECT_fstat64;
}

/* Which error the call has by the plans; 0: none. */
static int planned(enum inject_side side, enum inject_kind kind, uint32_t call) {
    const struct inject_plan *p = &inject->plan, *second = &inject->second;
    if (is_planned(p, side, kind, call)) {
        if (atomic_fetch_add(&inject->hits, 1) == 0)
            memcpy(inject->before, (const void *)inject->calls, sizeof inject->before);
        return p->error;
    }
    if (atomic_load(&inject->hits) == 0)
        return 0;
    if (is_planned(second, side, kind, call)) {
        atomic_fetch_add(&inject->second_hits, 1);
        return second->error;
    }
    return p->dead && is_of_files(kind) ? EIO : 0;
}

/* Returns 0, or the error that this call has, also in errno. */
int inject_fails(enum inject_kind kind) {
    if (!inject_counts() || !atomic_load(&armed))
        return 0;
    const enum inject_side side = of_library ? INJECT_KEEPER : INJECT_CALLER;
    const int error = planned(side, kind, atomic_fetch_add(&inject->calls[side][kind], 1) + 1);
    if (error > 0)
        errno = error;
    else if (error == EAI_SYSTEM)
        errno = EINVAL;
    return error;
}

/* ---- what a message has to say ---------------------------------------------- */

/* In place of a path. */
static const char *const words[INJECT_KINDS] = {
    [INJECT_stat64] = "root directory",
    [INJECT_getcwd] = "working directory",
    [INJECT_gethostname] = "host's name",
    [INJECT_clock_gettime] = "clock",
    [INJECT_pthread_create] = "thread",
    [INJECT_pthread_attr_init] = "thread",
    [INJECT_getaddrinfo] = "look up",
    [INJECT_socket] = "connect",
    [INJECT_connect] = "connect",
    [INJECT_getsockopt] = "connect",
    [INJECT_send] = "send",
    [INJECT_recv] = "receive",
    [INJECT_poll] = "wait",
};

const char *inject_shown(int error) {
    return error == INJECT_PART  ? "a part of the bytes"
           : error == EAI_SYSTEM ? strerror(EINVAL)
           : error < 0           ? gai_strerror(error)
                                 : strerror(error);
}

bool inject_is_fault(int error) {
    return error != EINTR && error != INJECT_PART && error != EWOULDBLOCK && error != EEXIST &&
           error != ENOENT && error != ESTALE;
}

bool inject_is_told(const char *text, enum inject_kind kind, int error) {
    if (error == ENOMEM && strstr(text, "out of memory"))
        return true;
    if (kind == INJECT_linkat && (error == EPERM || error == EOPNOTSUPP) &&
        strstr(text, "hard link") == NULL)
        return false;
    return strstr(text, inject_shown(error)) && (kind <= INJECT_asprintf || strchr(text, '/') ||
                                                 (words[kind] && strstr(text, words[kind])));
}

/* ---- what the library has --------------------------------------------------- */

enum { THINGS = 4096 };

static struct thing {
    enum inject_thing what;
    const char *by;
    const void *at, *from;
    size_t size;
} things[THINGS];
static size_t things_end;
static pthread_mutex_t things_lock = PTHREAD_MUTEX_INITIALIZER;

static void put(enum inject_thing what, const void *at, size_t size, const char *by,
                const void *from) {
    size_t i = 0;
    while (i < things_end && things[i].what != INJECT_NOTHING)
        i++;
    if (i < THINGS)
        things[i] = (struct thing){what, by, at, from, size};
    if (i == things_end && i < THINGS)
        things_end++;
}

void *inject_keep(enum inject_thing what, void *at, size_t size, const char *by, const void *from) {
    if (at == NULL || !inject_counts())
        return at;
    pthread_mutex_lock(&things_lock);
    put(what, at, size, by, from);
    pthread_mutex_unlock(&things_lock);
    return at;
}

/* Whoever gives it back. */
void inject_lose(const void *at) {
    if (at == NULL || !atomic_load(&begun))
        return;
    pthread_mutex_lock(&things_lock);
    for (size_t i = 0; i < things_end; i++)
        if (things[i].at == at && things[i].what != INJECT_MAP)
            things[i] = (struct thing){.what = INJECT_NOTHING};
    pthread_mutex_unlock(&things_lock);
}

/* Cuts a piece of addresses out of all mappings. */
void inject_cut(const void *piece, size_t size) {
    const char *from = piece, *to = from + size;
    if (!atomic_load(&begun))
        return;
    pthread_mutex_lock(&things_lock);
    for (size_t i = 0, end = things_end; i < end; i++) {
        const struct thing t = things[i];
        if (t.what != INJECT_MAP)
            continue;
        const char *at = t.at, *last = at + t.size;
        if (last <= from || at >= to)
            continue;
        things[i] = (struct thing){.what = INJECT_NOTHING};
        if (at < from)
            put(INJECT_MAP, at, (size_t)(from - at), t.by, t.from);
        if (last > to)
            put(INJECT_MAP, to, (size_t)(last - to), t.by, t.from);
    }
    pthread_mutex_unlock(&things_lock);
}

void inject_forget(void) {
    pthread_mutex_lock(&things_lock);
    things_end = 0;
    pthread_mutex_unlock(&things_lock);
}

void inject_begin(void) {
    /* a forked child may have found it locked */
    things_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&begun, true);
}

struct inject_live inject_live(void) {
    struct inject_live n = {0, 0, 0, 0};
    pthread_mutex_lock(&things_lock);
    for (size_t i = 0; i < things_end; i++) {
        const bool notes_page =
            things[i].what == INJECT_BLOCK && things[i].size == sizeof(struct sfid__mapping);
        n.pages += notes_page;
        n.blocks += things[i].what == INJECT_BLOCK && !notes_page;
        n.map_bytes += things[i].what == INJECT_MAP ? (int)things[i].size : 0;
        n.streams += things[i].what == INJECT_STREAM;
    }
    pthread_mutex_unlock(&things_lock);
    return n;
}

/* of the linker: addr2line(1) reads what is counted from here */
extern const char __executable_start;

void inject_list(char *out, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < things_end; i++)
        if (things[i].what != INJECT_NOTHING && used < size)
            used += (size_t)snprintf(out + used, size - used, " %s(%zu)@%#tx", things[i].by,
                                     things[i].size,
                                     (const char *)things[i].from - &__executable_start);
}
