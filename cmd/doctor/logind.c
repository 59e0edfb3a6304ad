/* SPDX-License-Identifier: MIT */
/* logind.c - finds out whether systemd-logind removes a user's shared memory at the last logout
 * (RemoveIPC in logind.conf(5)). */
#include "doctor/logind.h"

#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_UID_MAX 999 /* logind keeps what these users have */

/* Directories of the file and its drop-ins, highest priority first. */
static const char *const places[] = {"/etc/systemd", "/run/systemd", "/usr/local/lib/systemd",
                                     "/usr/lib/systemd"};

/* Returns the last RemoveIPC setting in a file, or `before` if it has none. */
static bool read_setting(const char *path, bool before) {
    char line[512], value[16];
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, " RemoveIPC = %15s", value) == 1)
            before = strcasecmp(value, "no") != 0 && strcasecmp(value, "false") != 0 &&
                     strcasecmp(value, "off") != 0 && strcmp(value, "0") != 0 &&
                     strcasecmp(value, "n") != 0 && strcasecmp(value, "f") != 0;
    if (f)
        fclose(f);
    return before;
}

/* Finds the first drop-in after `after`, in the order of names over all directories. Returns false
 * if there is none. */
static bool next_name(const char *after, char *out, size_t size) {
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/logind.conf.d", places[i]);
        DIR *list = opendir(path);
        for (const struct dirent *e; list && (e = readdir(list)) != NULL;) {
            const char *dot = strrchr(e->d_name, '.');
            if (dot == NULL || strcmp(dot, ".conf") != 0 || strcmp(e->d_name, after) <= 0 ||
                strlen(e->d_name) >= size || (found && strcmp(e->d_name, out) >= 0))
                continue;
            snprintf(out, size, "%s", e->d_name);
            found = true;
        }
        if (list)
            closedir(list);
    }
    return found;
}

/* Reads `name` from the first directory that has it. */
static bool read_first(const char *name, bool before) {
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", places[i], name);
        if (access(path, F_OK) == 0)
            return read_setting(path, before);
    }
    return before;
}

static bool is_set(void) {
    char name[256] = "", next[256], path[300];
    bool is = read_first("logind.conf", true); /* systemd's default */
    while (next_name(name, next, sizeof next)) {
        snprintf(name, sizeof name, "%s", next);
        snprintf(path, sizeof path, "logind.conf.d/%s", name);
        is = read_first(path, is);
    }
    return is;
}

/* A lingering user never counts as logged out. */
static bool lingers(uid_t user) {
    char path[300];
    const struct passwd *entry = getpwuid(user);
    if (entry == NULL)
        return false;
    snprintf(path, sizeof path, "/var/lib/systemd/linger/%s", entry->pw_name);
    return access(path, F_OK) == 0;
}

bool logind_removes(uid_t user) {
    return user > SYSTEM_UID_MAX && access("/run/systemd/users", F_OK) == 0 && is_set() &&
           !lingers(user);
}
