/* SPDX-License-Identifier: MIT */
/*
 * disk.c - what a disk keeps.
 *
 * Durable are the bytes of a file at its last sync, and the names of a directory at its last one.
 * In between, the system may write any block back at any time. When power is lost, each block and
 * each name that differs from the durable ones is there or not. So writes reorder, and a file may
 * be torn. A disk may also be full, bad, or not answer for a while.
 */
#include "sim.h"

#include <sys/stat.h>

enum { BLOCK = 512, BOTH = 500, WRITTEN_BACK = 300, BAD = 500 };

/* ---- sync ---------------------------------------------------------------------------- */

static void names_sync(struct node *dir) {
    struct names before = dir->durable_names, *now = &dir->durable_names;
    *now = (struct names){memory((dir->names.n + 1) * sizeof *now->entry), dir->names.n};
    for (unsigned i = 0; i < now->n; i++) {
        now->entry[i] = dir->names.entry[i];
        now->entry[i].node->refs++;
    }
    for (unsigned i = 0; i < before.n; i++) {
        before.entry[i].node->refs--;
        node_put(before.entry[i].node);
    }
    free(before.entry);
}

static void bytes_sync(struct node *n) {
    free(n->durable);
    n->durable = memory((size_t)n->size + 1);
    memcpy(n->durable, node_bytes(n), (size_t)n->size);
    n->durable_size = n->size;
}

void node_sync(struct node *n) {
    if (n->tmp)
        return;
    if (S_ISDIR(n->mode)) {
        names_sync(n);
        return;
    }
    bytes_sync(n);
    if (here()->names_follow && n->links && n->dir)
        names_sync(n->dir);
}

/* ---- power loss ------------------------------------------------------------------------ */

static size_t block_len(const struct node *n, int64_t at) {
    return (size_t)(n->size - at < BLOCK ? n->size - at : BLOCK);
}

static void durable_block(const struct node *n, int64_t at, char block[BLOCK]) {
    memset(block, 0, BLOCK);
    if (at < n->durable_size)
        memcpy(block, n->durable + at,
               (size_t)(n->durable_size - at < BLOCK ? n->durable_size - at : BLOCK));
}

static void file_lose(struct stream *s, struct node *n) {
    if (n->size != n->durable_size && chance(s, BOTH)) {
        if (n->durable_size < n->size)
            memset(node_bytes(n) + n->durable_size, 0, (size_t)(n->size - n->durable_size));
        n->size = n->durable_size;
    }
    for (int64_t at = 0; at < n->size; at += BLOCK) {
        char block[BLOCK];
        durable_block(n, at, block);
        if (memcmp(block, node_bytes(n) + at, block_len(n, at)) != 0 && chance(s, BOTH))
            memcpy(node_bytes(n) + at, block, block_len(n, at));
    }
    bytes_sync(n);
}

static bool is_durable(const struct node *dir, const struct entry *e) {
    const struct entry *d = entry_find(&dir->durable_names, e->name, strlen(e->name));
    return d && d->node == e->node;
}

static void names_lose(struct stream *s, struct node *dir) {
    for (unsigned i = dir->names.n; i-- > 0;)
        if (!is_durable(dir, &dir->names.entry[i]) && chance(s, BOTH))
            entry_drop(dir, &dir->names.entry[i]);
    for (unsigned i = 0; i < dir->durable_names.n; i++) {
        const struct entry *d = &dir->durable_names.entry[i];
        if (!entry_find(&dir->names, d->name, strlen(d->name)) && chance(s, BOTH))
            entry_add(dir, d->name, strlen(d->name), d->node);
    }
}

void tree_lose_unsynced(struct host *h, struct node *dir) {
    names_lose(&h->stream, dir);
    for (unsigned i = 0; i < dir->names.n; i++) {
        struct node *n = dir->names.entry[i].node;
        if (S_ISDIR(n->mode))
            tree_lose_unsynced(h, n);
        else if (!n->tmp)
            file_lose(&h->stream, n);
    }
    names_sync(dir);
}

/* ---- written back in between ---------------------------------------------------------------- */

static void file_write_back(struct stream *s, struct node *n) {
    if (n->durable_size < n->size) { /* as zeros; then the blocks */
        n->durable = realloc(n->durable, (size_t)n->size);
        memset(n->durable + n->durable_size, 0, (size_t)(n->size - n->durable_size));
        n->durable_size = n->size;
    }
    for (int64_t at = 0; at < n->size; at += BLOCK)
        if (memcmp(n->durable + at, node_bytes(n) + at, block_len(n, at)) != 0 &&
            chance(s, WRITTEN_BACK))
            memcpy(n->durable + at, node_bytes(n) + at, block_len(n, at));
}

static void tree_write_back(struct stream *s, struct node *dir) {
    for (unsigned i = 0; i < dir->names.n; i++) {
        struct node *n = dir->names.entry[i].node;
        if (S_ISDIR(n->mode))
            tree_write_back(s, n);
        else if (chance(s, WRITTEN_BACK))
            file_write_back(s, n);
    }
}

void host_write_back(struct host *h) { tree_write_back(&h->stream, state_of(h)); }

/* ---- faults
 * ------------------------------------------------------------------------------------ */

void disk_takes(const struct node *n, int64_t ns) {
    point(300);
    if (n && n->tmp)
        return;
    const bool was = me->busy;
    me->busy = true;
    if (ns)
        nap(up_to(chances(), ns));
    if (now_ns < here()->disk_hangs_till)
        nap(here()->disk_hangs_till - now_ns);
    me->busy = was;
}

bool disk_is_bad(const struct node *n) {
    if (n == NULL || n->tmp || now_ns >= here()->disk_bad_till || !chance(chances(), BAD))
        return false;
    errno = EIO;
    return true;
}

bool disk_is_full(const struct node *n) {
    if (n == NULL || n->tmp || now_ns >= here()->disk_full_till)
        return false;
    errno = ENOSPC;
    return true;
}
