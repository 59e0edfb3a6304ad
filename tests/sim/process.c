/* SPDX-License-Identifier: MIT */
/*
 * process.c - processes are images that are swapped, and relatives share addresses.
 *
 * The library is loaded once, or two builds of it are (world upgrades): a process has one of them
 * for its life. A process has a copy of its writable statics, a thread one of its thread-local
 * data; whoever has the turn has them in place. A fresh process gets them as they were loaded,
 * which is what exec does. Its heap lies in a space of its own, so that to forget the space is to
 * free all of it: a process may be killed anywhere.
 *
 * A forked child shares the space of its parent. When the turn goes from one relative to another,
 * heap, stacks and the mappings that differ are exchanged; shared ones stay. So pointers stay true
 * on both sides, and shared memory is shared.
 */
#include "sim.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#define SPACES_AT ((char *)0x200000000000)
enum { HEAP = 8 << 20, HEAP_BEGINS = 4096, SPACES = 128 };

struct process process[PROCESSES];
uint64_t forks, kills;
static int pids = 1000;
static unsigned births;

/* ---- the library's statics -------------------------------------------------------- */

static struct build {
    void *library;
    char *statics, *pristine, *own;
    size_t statics_bytes, own_bytes;
    struct process *present; /* whose statics are in place */
} build[BUILDS];
unsigned builds;

static struct build *build_of(const struct process *p) { return &build[p->build]; }

void *library_symbol(unsigned which, const char *name) {
    void *at = dlsym(build[which].library, name);
    if (at == NULL)
        broken("%s", dlerror());
    return at;
}

/* What is read-only once the loader is done is no part of an image. */
static int find_statics(struct dl_phdr_info *info, size_t size, void *base) {
    struct build *b = &build[builds];
    uintptr_t readonly = 0;
    (void)size;
    if (info->dlpi_addr != *(const ElfW(Addr) *)base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            readonly = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
        if (part->p_type == PT_TLS) {
            b->own = info->dlpi_tls_data;
            b->own_bytes = part->p_memsz;
        } else if (part->p_type == PT_LOAD && (part->p_flags & PF_W)) {
            b->statics = (char *)(readonly > from ? readonly : from);
            b->statics_bytes = to - (uintptr_t)b->statics;
        }
    }
    return 1;
}

void library_load(const char *path) {
    struct build *b = &build[builds];
    struct link_map *map;
    b->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (b->library == NULL)
        broken("%s", dlerror());
    if (builds > 0 && b->library == build[0].library)
        broken("%s is the first library again; a copy of the file is another one", path);
    void (*touch)(void); /* or the thread-local data are not there yet */
    *(void **)&touch = library_symbol(builds, "sim_touch");
    touch();
    if (dlinfo(b->library, RTLD_DI_LINKMAP, &map) != 0)
        broken("%s", dlerror());
    dl_iterate_phdr(find_statics, &map->l_addr);
    if (b->statics == NULL || b->own == NULL || b->own_bytes > OWN_BYTES)
        broken("%s has %zu bytes of statics, %zu of each thread's", path, b->statics_bytes,
               b->own_bytes);
    b->pristine = memory(b->statics_bytes);
    memcpy(b->pristine, b->statics, b->statics_bytes);
    builds++;
}

void own_in(const struct thread *t) {
    const struct build *b = build_of(t->process);
    memcpy(b->own, t->own, b->own_bytes);
}

void own_out(struct thread *t) {
    const struct build *b = build_of(t->process);
    memcpy(t->own, b->own, b->own_bytes);
}

char *own_copy(struct thread *t, const char *at) {
    const struct build *b = build_of(t->process);
    return at >= b->own && at < b->own + b->own_bytes ? t->own + (at - b->own) : NULL;
}

/* ---- the heap: powers of two; a freed block is in a list that its process keeps ------ */

struct head {
    uint32_t size, back; /* the logarithm of the block's; how far back it begins */
};

static char *block_of(void *at, struct head *head) {
    memcpy(head, (char *)at - sizeof *head, sizeof *head);
    return (char *)at - head->back;
}

void *heap_get(size_t n, size_t align) {
    struct process *p = me->process;
    const size_t need = n + 16 + (align > 16 ? align : 0);
    unsigned size = 5;
    while (((size_t)1 << size) < need)
        size++;
    char *block = p->free_block[size];
    if (block)
        memcpy(&p->free_block[size], block, sizeof(void *));
    else {
        if (p->heap_top + ((size_t)1 << size) > HEAP)
            broken("no memory left for %zu bytes", n);
        block = p->space->at + p->heap_top;
        p->heap_top += (size_t)1 << size;
    }
    p->heap_used += (size_t)1 << size;
    char *at = block + 16;
    if (align > 16)
        at = (char *)(((uintptr_t)at + align - 1) & ~(uintptr_t)(align - 1));
    const struct head head = {size, (uint32_t)(at - block)};
    memcpy(at - sizeof head, &head, sizeof head);
    return at;
}

size_t heap_size(void *at) {
    struct head head;
    block_of(at, &head);
    return ((size_t)1 << head.size) - head.back;
}

void heap_put(void *at) {
    struct head head;
    if (at == NULL)
        return;
    char *block = block_of(at, &head);
    me->process->heap_used -= (size_t)1 << head.size;
    memcpy(block, &me->process->free_block[head.size], sizeof(void *));
    me->process->free_block[head.size] = block;
}

/* ---- spaces -------------------------------------------------------------------------------- */

static struct space space[SPACES];

static struct space *space_take(void) {
    for (int i = 0; i < SPACES; i++) {
        struct space *s = &space[i];
        if (s->used)
            continue;
        if (s->at == NULL)
            s->at =
                mmap(SPACES_AT + settings.moved + (size_t)i * HEAP, HEAP, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        if (s->at == MAP_FAILED)
            broken("no memory for a heap");
        *s = (struct space){.at = s->at, .used = true, .members = 1};
        return s;
    }
    broken("too many families");
}

/* ---- whose turn it is
 * ------------------------------------------------------------------------- */

static void leave_space(struct process *p) {
    p->heap_copy = realloc(p->heap_copy, p->heap_top);
    memcpy(p->heap_copy, p->space->at, p->heap_top);
    for (unsigned i = 0; i < threads; i++) {
        struct thread *t = &thread[i];
        if (!t->used || t->process != p)
            continue;
        t->stack_copy = realloc(t->stack_copy, stack_used(t));
        memcpy(t->stack_copy, t->sp, stack_used(t));
    }
}

static void come_to_space(struct process *p) {
    if (p->heap_copy)
        memcpy(p->space->at, p->heap_copy, p->heap_top);
    for (unsigned i = 0; i < threads; i++) {
        struct thread *t = &thread[i];
        if (!t->used || t->process != p || t->stack_copy == NULL)
            continue;
        memcpy(t->sp, t->stack_copy, stack_used(t));
        free(t->stack_copy);
        t->stack_copy = NULL;
    }
}

void process_enter(struct process *p) {
    struct process *before = p->space->resident;
    struct build *b = build_of(p);
    if (b->present != p) {
        if (b->present)
            memcpy(b->present->image, b->statics, b->statics_bytes);
        memcpy(b->statics, p->image, b->statics_bytes);
        b->present = p;
    }
    if (before == p)
        return;
    if (before)
        leave_space(before);
    maps_change(before, p);
    come_to_space(p);
    p->space->resident = p;
}

/* ---- begin and end
 * --------------------------------------------------------------------------------- */

static struct process *place_take(void) {
    for (int i = 0; i < PROCESSES; i++)
        if (!process[i].used)
            return &process[i];
    broken("too many processes");
}

struct process *process_start(int on, void *(*f)(void *), void *arg, int64_t at) {
    struct process *p = place_take();
    *p = (struct process){.used = true,
                          .pid = ++pids,
                          .born = ++births,
                          .build = host[on].build,
                          .host = on,
                          .parent = 1,
                          .heap_top = HEAP_BEGINS};
    const struct build *b = build_of(p);
    p->space = space_take();
    p->image = memory(b->statics_bytes);
    memcpy(p->image, b->pristine, b->statics_bytes);
    thread_delay(thread_start(p, f, arg), at);
    return p;
}

void process_tell(struct process *p) {
    p->told_at = now_ns;
    wake_on(key_of((uint64_t)p->pid, KEY_END), THREADS);
}

void process_kill(struct process *p) {
    for (unsigned i = 0; i < threads; i++)
        if (thread[i].used && thread[i].process == p)
            thread_free(&thread[i]);
    maps_end(p);
    for (int i = 0; i < DESCRIPTORS; i++)
        if (p->file[i])
            file_put(p->file[i]);
    if (build_of(p)->present == p)
        build_of(p)->present = NULL;
    if (p->space->resident == p)
        p->space->resident = NULL;
    if (--p->space->members == 0)
        p->space->used = false;
    free(p->image);
    free(p->heap_copy);
    p->used = false;
}

/* The signal ends each sleep at a word; the thread looks at the word again when it may go on. Who
 * is stopped already goes on when both are over. */
void process_stop(struct process *p, int64_t till) {
    p->stopped_till = till = till > p->stopped_till ? till : p->stopped_till;
    for (unsigned i = 0; i < threads; i++) {
        struct thread *t = &thread[i];
        if (t->used && t->process == p && is_futex(t->key))
            t->timer = at_time_wake(t->wake = till, t, t->number);
    }
}

struct process *process_twin(struct process *p) {
    struct process *k = place_take();
    const struct build *b = build_of(p);
    const bool there = p->space->resident == p;
    if (!there && p->heap_copy == NULL)
        leave_space(p); /* it has not run yet: what lies there is its own until its twin runs */
    *k = *p;
    k->image = memory(b->statics_bytes);
    memcpy(k->image, b->present == p ? b->statics : p->image, b->statics_bytes);
    k->heap_copy = memory(p->heap_top);
    memcpy(k->heap_copy, there ? p->space->at : p->heap_copy, p->heap_top);
    p->space->members++;
    return k;
}

/* ---- fork: the library never calls it; the program that uses it does
 * ----------------------------------- */

static struct thread *forked;

static int child_begin(struct process *p) {
    struct process *k = process_twin(p);
    k->pid = ++pids;
    k->born = ++births;
    k->parent = p->pid;
    k->files_before = 0; /* what another thread has open stays open here: doc/design.md, "Fork" */
    for (int i = 0; i < DESCRIPTORS; i++)
        if (k->file[i]) {
            k->file[i]->refs++;
            k->files_before += k->file[i]->node != NULL;
        }
    maps_fork(k);
    struct thread *t = thread_new(k, me->stack);
    stack_shared(me->stack);
    memcpy(t->value, me->value, sizeof t->value);
    memcpy(t->own, build_of(p)->own, build_of(p)->own_bytes);
    t->main = me->main;
    t->arg = me->arg;
    make_ready(t);
    forked = t;
    forks++;
    return k->pid;
}

/* Both go on behind the turn, the child with a copy of this stack. */
int process_fork(void) {
    struct process *p = me->process;
    for (unsigned i = p->handlers; i-- > 0;)
        if (p->handler[i].before)
            p->handler[i].before();
    const struct thread *parent = me;
    const int pid = child_begin(p);
    give_turn();
    const bool is_child = me != parent;
    for (unsigned i = 0; i < me->process->handlers; i++) {
        void (*f)(void) = is_child ? me->process->handler[i].child : me->process->handler[i].parent;
        if (f)
            f();
    }
    return is_child ? 0 : pid;
}

void fork_finish(struct thread *t) {
    if (forked == NULL)
        return;
    forked->sp = t->sp;
    forked->stack_copy = memory(stack_used(t));
    memcpy(forked->stack_copy, t->sp, stack_used(t));
    forked = NULL;
}
