/* SPDX-License-Identifier: MIT */
/*
 * twin.c - a host becomes a copy of another one, as a virtual machine that is copied with its
 * memory.
 *
 * Files, open file descriptions and shared memory are there twice, processes and threads go on
 * twice, with the same numbers. Connections end. The two share addresses, as relatives do. It
 * happens while no thread of the host is inside a call that holds a pointer of the simulator.
 */
#include "sim.h"

enum { TWINS = 16384, EXTENT_TWINS = 4096 };
static struct {
    const void *from;
    void *to;
} twin[TWINS];
static struct { int64_t from, to; } extent_twin[EXTENT_TWINS];
static unsigned twins, extent_twins;

static void *twin_of(const void *from) {
    for (unsigned i = 0; i < twins; i++)
        if (twin[i].from == from)
            return twin[i].to;
    return NULL;
}

static void remember(const void *from, void *to) {
    if (twins == TWINS)
        broken("too much to copy");
    twin[twins].from = from;
    twin[twins++].to = to;
}

static int64_t copy_extent(int64_t from) {
    for (unsigned i = 0; i < extent_twins; i++)
        if (extent_twin[i].from == from)
            return extent_twin[i].to;
    if (from < 0)
        return from;
    if (extent_twins == EXTENT_TWINS)
        broken("too much to copy");
    const int64_t to = extent_take();
    memcpy(extent_bytes(to), extent_bytes(from), EXTENT);
    extent_twin[extent_twins].from = from;
    extent_twin[extent_twins++].to = to;
    return to;
}

/* ---- files ------------------------------------------------------------------------------ */

static struct node *copy_node(const struct node *n);

static struct file *copy_file(const struct file *f) {
    struct file *t = f ? twin_of(f) : NULL;
    if (f == NULL || t)
        return t;
    t = memory(sizeof *t);
    *t = *f;
    remember(f, t);
    t->refs = 0;
    t->node = f->node ? copy_node(f->node) : NULL;
    if (t->node)
        t->node->refs++;
    t->socket = f->socket ? socket_ended() : NULL;
    return t;
}

static struct names copy_names(const struct names *from) {
    struct names to = {memory((from->n + 1) * sizeof *to.entry), from->n};
    for (unsigned i = 0; i < from->n; i++) {
        to.entry[i] = from->entry[i];
        to.entry[i].node = copy_node(from->entry[i].node);
    }
    return to;
}

static struct node *copy_node(const struct node *n) {
    struct node *t = twin_of(n);
    if (t)
        return t;
    t = memory(sizeof *t);
    *t = *n;
    remember(n, t);
    t->links = t->refs = 0;
    t->dir = NULL;
    t->extent = copy_extent(n->extent);
    if (n->durable) {
        t->durable = memory((size_t)n->durable_size + 1);
        memcpy(t->durable, n->durable, (size_t)n->durable_size);
    }
    t->names = copy_names(&n->names);
    for (unsigned i = 0; i < t->names.n; i++) {
        t->names.entry[i].node->links++;
        t->names.entry[i].node->dir = t;
    }
    t->durable_names = copy_names(&n->durable_names);
    for (unsigned i = 0; i < t->durable_names.n; i++)
        t->durable_names.entry[i].node->refs++;
    t->exclusive = copy_file(n->exclusive);
    for (unsigned i = 0; i < n->sharers; i++)
        t->sharer[i] = copy_file(n->sharer[i]);
    for (int i = 0; i < RANGES; i++)
        t->range[i].file = copy_file(n->range[i].file);
    return t;
}

/* ---- processes ------------------------------------------------------------------------------ */

static void copy_files_of(const struct process *p, struct process *k) {
    const bool there = p->space->resident == p;
    for (int i = 0; i < DESCRIPTORS; i++)
        if (p->file[i]) {
            k->file[i] = copy_file(p->file[i]);
            k->file[i]->refs++;
        }
    for (int i = 0; i < MAPPINGS; i++) {
        const struct mapping *from = &p->map[i];
        struct mapping *m = &k->map[i];
        m->saved = NULL;
        if (m->len == 0)
            continue;
        if (m->file) {
            m->file = copy_file(from->file);
            m->file->refs++;
        }
        if (m->kind == MAP_SHARING)
            m->extent = copy_extent(from->extent);
        if (m->kind == MAP_PRIVATELY) {
            m->saved = memory(m->len);
            memcpy(m->saved, there || from->saved == NULL ? from->at : from->saved, m->len);
        }
    }
}

/* What a thread waits for, if it is a word in shared memory, is in the copy of that memory. */
static uint64_t copied_key(uint64_t key) {
    const uint64_t at = key >> 3;
    const enum key_kind kind = key_kind(key);
    if ((kind != KEY_SHARED_WORD && kind != KEY_MUTEX && kind != KEY_CONDITION) || at >> 40)
        return key;
    return key_of((uint64_t)(copy_extent((int64_t)at / EXTENT) * EXTENT + (int64_t)at % EXTENT),
                  kind);
}

static void copy_thread(const struct thread *t, struct process *k, bool there) {
    struct thread *c = thread_new(k, t->stack);
    const size_t used = stack_used(t);
    *c = *t;
    c->process = k;
    c->ready_at = -1;
    c->stack_copy = memory(used);
    memcpy(c->stack_copy, there || t->stack_copy == NULL ? t->sp : t->stack_copy, used);
    c->key = copied_key(t->key);
    stack_shared(t->stack);
    if (t->ready_at >= 0 || key_kind(t->key) == KEY_SOCKET)
        make_ready(c);
    else if (t->timer)
        c->timer = at_time_wake(t->wake, c, c->number);
}

static bool is_calm(int at) {
    for (unsigned i = 0; i < threads; i++)
        if (thread[i].used && thread[i].process->host == at &&
            (thread[i].busy || thread[i].held || thread[i].ended || thread[i].process->exits))
            return false;
    return true;
}

bool machine_copy(int from, int to) {
    struct process *old[PROCESSES];
    unsigned n = 0;
    if (!is_calm(from))
        return false;
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].host == from)
            old[n++] = &process[i];
    twins = extent_twins = 0;
    const struct stream stream = host[to].stream;
    host[to] = host[from];
    host[to].stream = stream;
    host[to].root = copy_node(host[from].root);
    host[to].root->links = 1;
    for (unsigned j = 0; j < n; j++) {
        struct process *p = old[j], *k = process_twin(p);
        const unsigned top = threads;
        const bool there = p->space->resident == p;
        k->host = to;
        copy_files_of(p, k);
        for (unsigned i = 0; i < top; i++)
            if (thread[i].used && thread[i].process == p)
                copy_thread(&thread[i], k, there);
    }
    return true;
}
