/* SPDX-License-Identifier: MIT */
/* names.c - directories: names that are made, moved and removed, what a directory lists, and who
 * has locks. */
#include "sim.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { LISTED = 256 };

/* The directory of a descriptor, and the entry of that name in it. NULL: errno says why. */
static struct node *dir_of(int fd) {
    const struct file *f = fd >= 0 && fd < DESCRIPTORS ? me->process->file[fd] : NULL;
    if (f == NULL || f->node == NULL) {
        errno = EBADF;
        return NULL;
    }
    return f->node;
}

static struct entry *entry_in(struct node *dir, const char *name) {
    struct entry *e = entry_find(&dir->names, name, strlen(name));
    if (e == NULL)
        errno = ENOENT;
    return e;
}

/* ---- names ------------------------------------------------------------------------------- */

IMPORT(int, linkat, int from_fd, const char *from, int to_fd, const char *to, int flags) {
    (void)flags;
    struct node *a = dir_of(from_fd), *b = dir_of(to_fd);
    if (a == NULL || b == NULL)
        return -1;
    disk_takes(b, 100000); /* a directory that somebody has open stays */
    const struct entry *e = entry_in(a, from);
    if (e == NULL || disk_is_bad(b) || disk_is_full(b))
        return -1;
    if (entry_find(&b->names, to, strlen(to))) {
        errno = EEXIST;
        return -1;
    }
    entry_add(b, to, strlen(to), e->node);
    return 0;
}

IMPORT(int, unlinkat, int fd, const char *name, int flags) {
    (void)flags;
    struct node *dir = dir_of(fd);
    if (dir == NULL)
        return -1;
    disk_takes(dir, 0);
    struct entry *e = entry_in(dir, name);
    if (e == NULL)
        return -1;
    entry_drop(dir, e);
    return 0;
}

IMPORT(int, renameat, int from_fd, const char *from, int to_fd, const char *to) {
    struct node *a = dir_of(from_fd), *b = dir_of(to_fd);
    if (a == NULL || b == NULL)
        return -1;
    disk_takes(b, 100000);
    struct entry *e = entry_in(a, from);
    if (e == NULL || disk_is_bad(b))
        return -1;
    struct node *n = e->node;
    struct entry *replaced = entry_find(&b->names, to, strlen(to));
    if (replaced && replaced->node == n)
        return 0;
    n->refs++;
    entry_drop(a, e);
    replaced = entry_find(&b->names, to, strlen(to)); /* it may have moved */
    if (replaced)
        entry_drop(b, replaced);
    entry_add(b, to, strlen(to), n);
    n->refs--;
    return 0;
}

IMPORT(int, mkdirat, int fd, const char *path, mode_t mode) {
    struct place at;
    struct node *from = *path == '/' || fd == AT_FDCWD ? here()->root : dir_of(fd);
    point(300);
    if (from == NULL)
        return -1;
    if (path_find(from, path, &at)) {
        errno = EEXIST;
        return -1;
    }
    if (at.dir == NULL || disk_is_bad(at.dir) || disk_is_full(at.dir))
        return -1;
    entry_add(at.dir, at.name, at.len, node_new(here(), S_IFDIR | (mode & 0777), at.dir->tmp));
    return 0;
}

IMPORT(char *, getcwd, char *to, size_t size) {
    char *at = to ? to : heap_get(size ? size : 2, 16);
    return strcpy(at, "/");
}

/* ---- what a directory lists ------------------------------------------------------------------ */

struct listing {
    int fd;
    unsigned next;
    struct dirent entry;
};

IMPORT(DIR *, fdopendir, int fd) {
    struct listing *l = heap_get(sizeof *l, 16);
    l->fd = fd;
    l->next = 0;
    return (DIR *)l;
}

IMPORT(struct dirent *, readdir, DIR *dir) {
    struct listing *l = (struct listing *)dir;
    const struct node *n = dir_of(l->fd);
    if (n == NULL || l->next >= n->names.n)
        return NULL;
    const struct entry *e = &n->names.entry[l->next++];
    l->entry = (struct dirent){.d_ino = e->node->inode,
                               .d_type = S_ISDIR(e->node->mode) ? DT_DIR : DT_REG};
    strcpy(l->entry.d_name, e->name);
    return &l->entry;
}

int sim_close(int fd);
IMPORT(int, closedir, DIR *dir) {
    struct listing *l = (struct listing *)dir;
    const int rc = sim_close(l->fd);
    heap_put(l);
    return rc;
}

/* ---- /proc/locks
 * --------------------------------------------------------------------------------- */

static bool has_lock(const struct file *f) {
    if (f == NULL || f->node == NULL)
        return false;
    for (unsigned i = 0; i < f->node->sharers; i++)
        if (f->node->sharer[i] == f)
            return true;
    return f->node->exclusive == f;
}

struct list {
    FILE *out;
    const struct file *listed[LISTED];
    unsigned n;
};

static void list_file(struct list *l, const struct file *f) {
    if (!has_lock(f) || l->n == LISTED)
        return;
    for (unsigned i = 0; i < l->n; i++)
        if (l->listed[i] == f)
            return;
    l->listed[l->n++] = f;
    fprintf(l->out, "%u: FLOCK  ADVISORY  %s %d %02x:%02x:%" PRIu64 " 0 EOF\n", l->n,
            f->node->exclusive == f ? "WRITE" : "READ", f->pid, f->node->dev >> 8,
            f->node->dev & 0xff, f->node->inode);
}

/* In memory: if the process is killed before it closes it, no descriptor of the simulator is
 * lost. */
IMPORT(FILE *, fopen, const char *path, const char *mode) {
    (void)mode;
    point(300);
    if (strcmp(path, "/proc/locks") != 0) {
        errno = ENOENT;
        return NULL;
    }
    struct list l = {.out = fmemopen(NULL, LISTED * 80, "w+")};
    for (int i = 0; l.out && i < PROCESSES; i++) {
        const struct process *p = &process[i];
        if (!p->used || p->host != me->process->host)
            continue;
        for (int k = 0; k < DESCRIPTORS; k++)
            list_file(&l, p->file[k]);
        for (int k = 0; k < MAPPINGS; k++)
            if (p->map[k].len)
                list_file(&l, p->map[k].file);
    }
    if (l.out == NULL)
        return NULL;
    rewind(l.out);
    me->busy = true; /* a copy of the machine would close it twice */
    return l.out;
}

IMPORT(int, fclose, FILE *f) {
    me->busy = false;
    return fclose(f);
}
