/* SPDX-License-Identifier: MIT */
/* files.h - what a host stores and maps; part of sim.h. */
#ifndef SIM_FILES_H
#define SIM_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- files.c, disk.c, calls.c, names.c: what a host stores --------------------- */

struct entry {
    char name[96];
    struct node *node;
};
struct names {
    struct entry *entry;
    unsigned n;
};
enum { SHARERS = 16, RANGES = 32 };
struct node {
    mode_t mode;
    uint64_t inode;
    unsigned links, refs, dev;
    bool tmp;
    int64_t extent, size, born_ns;
    struct node *dir; /* where its name was made last */
    struct names names, durable_names;
    char *durable;
    int64_t durable_size;
    struct file *exclusive, *sharer[SHARERS];
    unsigned sharers;
    struct {
        struct file *file;
        int64_t at;
    } range[RANGES];
};
/* An open file description. */
struct file {
    unsigned refs;
    struct node *node;
    struct socket *socket;
    int64_t at;
    int flags, pid;
};

#define EXTENT ((int64_t)1 << 21)
extern int store_fd;
int64_t extent_take(void);
void extent_drop(int64_t extent);
char *extent_bytes(int64_t extent);
char *node_bytes(struct node *n);
struct node *node_new(struct host *h, mode_t mode, bool tmp);
void node_put(struct node *n);
struct entry *entry_find(const struct names *names, const char *name, size_t len);
void entry_add(struct node *dir, const char *name, size_t len, struct node *n);
void entry_drop(struct node *dir, struct entry *e);
/* Where a path leads to, from a directory or the root. The last name and its directory are there,
 * too, if that one exists. */
struct place {
    struct node *dir, *node;
    const char *name;
    size_t len;
};
bool path_find(struct node *from, const char *path, struct place *at);

void host_boot(struct host *h, bool power_lost);
void host_lose_run(struct host *h);
enum { FIRST_PASSWORD = 1 };
void host_has_password(struct host *h, unsigned which);
/* For good. */
void host_lose_state(struct host *h);
void node_sync(struct node *n);
/* disk.c: what is in a directory, by what has been synced. */
void tree_lose_unsynced(struct host *h, struct node *dir);
struct node *state_of(const struct host *h);
/* What statx(2) says about when a file was made. */
struct statx;
int file_born(int fd, struct statx *told);
void host_write_back(struct host *h);
/* A call of the disk takes up to ns, or for as long as it hangs. */
void disk_takes(const struct node *n, int64_t ns);
bool disk_is_bad(const struct node *n);
bool disk_is_full(const struct node *n);

struct file *file_new(struct node *n, int flags);
void file_put(struct file *f);
/* The one behind a descriptor, kept until file_done(); NULL and EBADF if there is none. */
struct file *file_use(int fd);
void file_done(void);
int descriptor_new(struct file *f, int from, bool cloexec);

/* maps.c */
void maps_end(struct process *p);
void maps_fork(struct process *child);
void maps_change(struct process *leaves, struct process *comes);
/* A key for the word at that address: the same in all processes that share it. */
uint64_t word_key(const void *at, enum key_kind kind);
/* The bytes of a shared mapping behind an address of p's, which may be away; or NULL. */
char *shared_bytes(const struct process *p, const char *at);
/* Do two processes have a shared page in common? Has one a page that others can find? */
bool pages_met(const struct process *p, const struct process *of);
bool has_page(const struct process *p);
void node_synced_mapped(struct node *n);

#endif
