/* SPDX-License-Identifier: MIT */
/* kin.c - finds descendants in /proc. */
#include "exec/kin.h"

#include "io/look.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    pid_t id, parent;
    bool kin;
};

struct list {
    struct process *all;
    size_t count, room;
};

/* Reads "ID (NAME) STATE PARENT …"; a name may hold any character. Returns false for a process that
 * has ended. */
static bool read_process(const char *id, struct process *out) {
    char path[64], stat[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", id);
    if (look_read(path, stat, sizeof stat) < 0)
        return false;
    const char *behind = strrchr(stat, ')');
    char state;
    int parent;
    *out = (struct process){.id = (pid_t)strtol(id, NULL, 10)};
    if (behind == NULL || sscanf(behind + 1, " %c %d", &state, &parent) != 2 || state == 'Z' ||
        state == 'X')
        return false;
    out->parent = parent;
    return true;
}

/* Returns false if memory runs out. The processes found by then are signalled, and the caller calls
 * again. */
static bool add(struct list *list, const struct process *process) {
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 256;
        struct process *all = realloc(list->all, room * sizeof *all);
        if (all == NULL)
            return false;
        list->all = all;
        list->room = room;
    }
    list->all[list->count++] = *process;
    return true;
}

static void read_all(struct list *list) {
    DIR *proc = opendir("/proc");
    struct process process;
    for (const struct dirent *e; proc && (e = readdir(proc)) != NULL;)
        if (isdigit((unsigned char)e->d_name[0]) && read_process(e->d_name, &process) &&
            !add(list, &process))
            break;
    if (proc)
        closedir(proc);
}

static bool is_kin(const struct list *list, pid_t id) {
    if (id == getpid())
        return true;
    for (size_t i = 0; i < list->count; i++)
        if (list->all[i].id == id)
            return list->all[i].kin;
    return false;
}

/* Repeats until nothing is added: process numbers wrap around, so a child's may be below its
 * parent's. */
static void find_kin(struct list *list) {
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < list->count; i++)
            if (!list->all[i].kin && is_kin(list, list->all[i].parent))
                more = list->all[i].kin = true;
    }
}

void kin_signal(int signal) {
    struct list list = {NULL, 0, 0};
    read_all(&list);
    find_kin(&list);
    for (size_t i = 0; i < list.count; i++)
        if (list.all[i].kin)
            kill(list.all[i].id, signal);
    free(list.all);
}
