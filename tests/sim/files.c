/* SPDX-License-Identifier: MIT */
/*
 * files.c - each host has a tree of files in memory.
 *
 * /run and /proc are a tmpfs, /state is on a disk. The bytes of all files lie in one memory file,
 * an extent of it each, so that a mapping of one can be a real one: loads and stores of the library
 * need no help.
 */
#include "sim.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXTENTS = 8192 };
#define STORE_AT ((char *)0x400000000000)

int store_fd = -1;
static char *store;
static int64_t unused[EXTENTS];
static unsigned unused_n;
static int64_t extents;
static uint64_t inodes = 100;

/* ---- bytes ---------------------------------------------------------------------- */

static void store_make(void) {
    store_fd = memfd_create("sim", MFD_CLOEXEC);
    if (store_fd < 0 || ftruncate(store_fd, EXTENT * EXTENTS) < 0)
        broken("no memory file");
    store = mmap(STORE_AT + settings.moved, (size_t)EXTENT * EXTENTS, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, store_fd, 0);
    if (store == MAP_FAILED)
        broken("no memory for files");
}

int64_t extent_take(void) {
    if (store_fd < 0)
        store_make();
    if (unused_n)
        return unused[--unused_n];
    if (extents == EXTENTS)
        broken("too many files");
    return extents++;
}

void extent_drop(int64_t extent) {
    if (extent < 0)
        return;
    fallocate(store_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, extent * EXTENT, EXTENT);
    unused[unused_n++] = extent;
}

char *extent_bytes(int64_t extent) { return store + extent * EXTENT; }

char *node_bytes(struct node *n) {
    if (n->extent < 0)
        n->extent = extent_take();
    return extent_bytes(n->extent);
}

/* ---- nodes and names -------------------------------------------------------------- */

struct node *node_new(struct host *h, mode_t mode, bool tmp) {
    struct node *n = memory(sizeof *n);
    *n = (struct node){.mode = mode,
                       .inode = ++inodes,
                       .dev = h->dev + tmp,
                       .tmp = tmp,
                       .extent = -1,
                       .born_ns = wall_ns(h)};
    return n;
}

/* A node stays while it has a name, a durable name, or somebody who has it open. */
void node_put(struct node *n) {
    if (n->links || n->refs)
        return;
    for (unsigned i = 0; i < n->durable_names.n; i++) {
        n->durable_names.entry[i].node->refs--;
        node_put(n->durable_names.entry[i].node);
    }
    extent_drop(n->extent);
    free(n->durable);
    free(n->names.entry);
    free(n->durable_names.entry);
    free(n);
}

struct entry *entry_find(const struct names *names, const char *name, size_t len) {
    for (unsigned i = 0; i < names->n; i++)
        if (strlen(names->entry[i].name) == len && memcmp(names->entry[i].name, name, len) == 0)
            return &names->entry[i];
    return NULL;
}

void entry_add(struct node *dir, const char *name, size_t len, struct node *n) {
    struct names *names = &dir->names;
    names->entry = realloc(names->entry, (names->n + 1) * sizeof *names->entry);
    struct entry *e = &names->entry[names->n++];
    if (len >= sizeof e->name)
        broken("the name %.*s is too long", (int)len, name);
    memcpy(e->name, name, len);
    e->name[len] = '\0';
    e->node = n;
    n->dir = dir;
    n->links++;
}

void entry_drop(struct node *dir, struct entry *e) {
    struct node *n = e->node;
    *e = dir->names.entry[--dir->names.n];
    n->links--;
    node_put(n);
}

/* ---- paths --------------------------------------------------------------------------- */

bool path_find(struct node *from, const char *path, struct place *at) {
    struct node *n = *path == '/' ? here()->root : from;
    *at = (struct place){n, n, ".", 1};
    for (;;) {
        while (*path == '/')
            path++;
        const size_t len = strcspn(path, "/");
        if (len == 0)
            break;
        if (n == NULL || !S_ISDIR(n->mode)) {
            errno = n ? ENOTDIR : ENOENT;
            *at = (struct place){.dir = NULL};
            return false;
        }
        if (len != 1 || *path != '.') {
            const struct entry *e = entry_find(&n->names, path, len);
            *at = (struct place){n, e ? e->node : NULL, path, len};
            n = at->node;
        }
        path += len;
    }
    if (n == NULL)
        errno = ENOENT;
    return n != NULL;
}

/* ---- what a host boots with ------------------------------------------------------------- */

static struct node *dirs_make(struct host *h, const char *path, bool tmp) {
    struct node *at = h->root;
    for (;;) {
        while (*path == '/')
            path++;
        const size_t len = strcspn(path, "/");
        if (len == 0)
            return at;
        const struct entry *e = entry_find(&at->names, path, len);
        struct node *n = e ? e->node : node_new(h, S_IFDIR | 0700, tmp);
        if (e == NULL)
            entry_add(at, path, len, n);
        at = n;
        path += len;
    }
}

static void text_make(struct host *h, const char *dir, const char *name, const char *text) {
    struct node *n = node_new(h, S_IFREG | 0444, true);
    strcpy(node_bytes(n), text);
    n->size = (int64_t)strlen(text);
    entry_add(dirs_make(h, dir, true), name, strlen(name), n);
}

/* As one that is renamed over the one before. */
void host_has_password(struct host *h, unsigned which) {
    struct node *etc = dirs_make(h, "/etc", true);
    struct entry *before = entry_find(&etc->names, "secret", strlen("secret"));
    char text[24];
    if (before)
        entry_drop(etc, before);
    snprintf(text, sizeof text, "secret-%u\n", which);
    text_make(h, "/etc", "secret", text);
}

static void tree_drop(struct node *dir) {
    while (dir->names.n) {
        struct entry *e = &dir->names.entry[0];
        if (S_ISDIR(e->node->mode))
            tree_drop(e->node);
        entry_drop(dir, e);
    }
}

void host_lose_run(struct host *h) {
    const struct entry *e = entry_find(&h->root->names, "run", 3);
    if (e)
        tree_drop(e->node);
}

struct node *state_of(const struct host *h) {
    const struct entry *e = entry_find(&h->root->names, "state", 5);
    if (e == NULL)
        broken("/state is gone");
    return e->node;
}

void host_lose_state(struct host *h) {
    tree_drop(state_of(h));
    node_sync(state_of(h));
}

static void first_boot(struct host *h, unsigned number) {
    char text[64];
    h->root = node_new(h, S_IFDIR | 0755, false);
    h->root->links = 1;
    dirs_make(h, "/state", false);
    snprintf(text, sizeof text, "%032x\n", (has_kind("twins") ? 0 : number) + 0xabc001);
    text_make(h, "/etc", "machine-id", text);
    if (has_kind("auth"))
        host_has_password(h, FIRST_PASSWORD);
}

void host_boot(struct host *h, bool power_lost) {
    const unsigned number = (unsigned)(h - host);
    char text[64];
    h->dev = number * 16 + 64;
    h->boots++;
    if (h->root == NULL)
        first_boot(h, number);
    if (power_lost)
        tree_lose_unsynced(h, state_of(h));
    for (int i = 0; i < 2; i++) {
        struct entry *e = entry_find(&h->root->names, i ? "proc" : "run", i ? 4 : 3);
        if (e) {
            tree_drop(e->node);
            entry_drop(h->root, e);
        }
    }
    dirs_make(h, "/run", true);
    snprintf(text, sizeof text, "%08x-0000-4000-8000-%012x\n", h->boots, number + 1);
    text_make(h, "/proc/sys/kernel/random", "boot_id", text);
    text_make(h, "/proc/self/ns", "time", "x");
}
