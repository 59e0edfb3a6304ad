/* SPDX-License-Identifier: MIT */
/* inject.c - which call fails, and what the library has; inject_calls.c has the calls. */
#include "support/inject_parts.h"

#include "host/mapping.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct inject_shared *inject;

const char *const inject_names[INJECT_KINDS] = {
#define INJECT_NAME(name, a, b, c) #name,
    INJECT_LIST(INJECT_NAME)
#undef INJECT_NAME
};

const int inject_errors[INJECT_KINDS][INJECT_ERRORS] = {
#define INJECT_THREE(name, a, b, c) {a, b, c},
    INJECT_LIST(INJECT_THREE)
#undef INJECT_THREE
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
int64_t inject_clock_moved_ns(void) { return inject && inject_is_inside() ? atomic_load(&inject->clock_ns) : 0; }

/* Returns 0, or the error that this call has, also in errno. */
int inject_fails(enum inject_kind kind) {
    if (!inject_counts() || !atomic_load(&armed))
        return 0;
    const enum inject_side side = of_library ? INJECT_KEEPER : INJECT_CALLER;
    const struct inject_plan *p = &inject->plan;
    const uint32_t call = atomic_fetch_add(&inject->calls[side][kind], 1) + 1;
    if (p->call == 0 || p->side != side || p->kind != kind || (p->all ? call < p->call : call != p->call))
        return 0;
    atomic_fetch_add(&inject->hits, 1);
    if (p->error > 0)
        errno = p->error;
    return p->error;
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

static void put(enum inject_thing what, const void *at, size_t size, const char *by, const void *from) {
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

void inject_begin(void) {
    things_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* a forked child may have found it locked */
    atomic_store(&begun, true);
}

struct inject_live inject_live(void) {
    struct inject_live n = {0, 0, 0, 0};
    pthread_mutex_lock(&things_lock);
    for (size_t i = 0; i < things_end; i++) {
        const bool notes_page = things[i].what == INJECT_BLOCK && things[i].size == sizeof(struct sfid__mapping);
        n.pages += notes_page;
        n.blocks += things[i].what == INJECT_BLOCK && !notes_page;
        n.map_bytes += things[i].what == INJECT_MAP ? (int)things[i].size : 0;
        n.streams += things[i].what == INJECT_STREAM;
    }
    pthread_mutex_unlock(&things_lock);
    return n;
}

extern const char __executable_start; /* of the linker: addr2line(1) reads what is counted from here */

void inject_list(char *out, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < things_end; i++)
        if (things[i].what != INJECT_NOTHING && used < size)
            used += (size_t)snprintf(out + used, size - used, " %s(%zu)@%#tx", things[i].by, things[i].size,
                                     (const char *)things[i].from - &__executable_start);
}
