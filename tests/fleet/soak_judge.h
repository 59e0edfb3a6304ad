/* SPDX-License-Identifier: MIT */
/**
 * soak_judge.h - part of tests/fleet/soak: the checker judges the logs of a round, app by app. All
 * IDs of earlier rounds are judged with them: they stay in a sorted file a round, 8 bytes an ID. So
 * no duplicate is missed, however far apart its two IDs are, and an hour takes about 220 MB.
 * Windows and the order in a process are judged within the round; no process lives longer.
 */
#ifndef SFID_TESTS_SOAK_JUDGE_H
#define SFID_TESTS_SOAK_JUDGE_H

#include "soak_life.h"

struct verdict {
    /* ids: of all rounds */
    uint64_t ids, duplicates, order_breaks, foreign, lost, outside, overlaps, windows;
    unsigned unjudged;
};

struct pile {
    int64_t *ids;
    size_t n, room;
};

/* Returns how many IDs a log has whose head is read; 0 for windows, and for one that was not
 * begun. */
static size_t ids_in(const struct idlog_head *head) {
    return memcmp(head->magic, IDLOG_MAGIC, sizeof head->magic) == 0 ? (size_t)head->count : 0;
}

static void pile_up(struct pile *p, const char *path) {
    struct idlog_head head;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const size_t n = fd >= 0 && read(fd, &head, sizeof head) == sizeof head ? ids_in(&head) : 0;
    if (p->n + n > p->room) {
        p->room = 2 * p->room + n;
        p->ids = realloc(p->ids, p->room * sizeof *p->ids);
        need(p->ids != NULL, "out of memory");
    }
    need(n == 0 || read(fd, &p->ids[p->n], n * sizeof *p->ids) == (ssize_t)(n * sizeof *p->ids),
         "%s: cut off", path);
    p->n += n;
    if (fd >= 0)
        close(fd);
}

/* Writes each ID once. */
static void keep_pile(struct pile *p, const char *path) {
    struct idlog log;
    qsort(p->ids, p->n, sizeof *p->ids, by_i64);
    need(idlog_open(&log, path, p->n, 1, IDLOG_ANY_PID), "%s: %s", path, strerror(errno));
    for (size_t i = 0; i < p->n; i++)
        if (i == 0 || p->ids[i] != p->ids[i - 1])
            idlog_put(&log, p->ids[i]);
    log.head->capacity = log.count;
    need(truncate(path, (off_t)(sizeof *log.head + log.count * sizeof *log.ids)) == 0, "%s: %s",
         path, strerror(errno));
    idlog_close(&log);
    free(p->ids);
}

/* Replaces the logs of the round by one file. */
static void fold_logs(const char *dir, unsigned round) {
    struct pile p = {NULL, 0, 0};
    char path[4600];
    DIR *d = opendir(dir);
    need(d != NULL, "%s: %s", dir, strerror(errno));
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] == '.' || strncmp(e->d_name, "past-", 5) == 0)
            continue;
        pile_up(&p, path);
        unlink(path);
    }
    closedir(d);
    snprintf(path, sizeof path, "%s/past-%u", dir, round);
    if (p.n > 0)
        keep_pile(&p, path);
}

static bool read_verdict(struct verdict *v, const char *line) {
    struct verdict now = {0};
    if (sscanf(line,
               "%" SCNu64 " IDs in %*u files, %" SCNu64 " duplicates, %" SCNu64
               " order breaks, %" SCNu64 " foreign IDs, %*u life breaks, %" SCNu64
               " lost IDs, %" SCNu64 " IDs outside, %" SCNu64 " overlaps, %" SCNu64,
               &now.ids, &now.duplicates, &now.order_breaks, &now.foreign, &now.lost, &now.outside,
               &now.overlaps, &now.windows) < 7)
        return false;
    v->ids = now.ids - now.duplicates;
    v->duplicates += now.duplicates;
    v->order_breaks += now.order_breaks;
    v->foreign += now.foreign;
    v->lost += now.lost;
    v->outside += now.outside;
    v->overlaps += now.overlaps;
    v->windows += now.windows;
    return true;
}

/* $SFID_SOAK_KEEP names a directory for the logs of rounds with findings. */
static void keep_logs(const char *app, const char *dir, unsigned round) {
    char command[9000];
    if (getenv("SFID_SOAK_KEEP") == NULL)
        return;
    snprintf(command, sizeof command, "cp -r --sparse=always '%s' '%s/%s-%u'", dir,
             getenv("SFID_SOAK_KEEP"), app, round);
    if (system(command) != 0)
        diag("the logs were not kept");
}

/* order: "none" where the handle's own comparison counts, see draw_one(). */
static void judge_round(const char *app, const char *layout_text, const char *order,
                        const char *dir, unsigned round, bool tells_overlaps, struct verdict *v) {
    char line[400];
    bool judged = false;
    FILE *out = checker_start("--layout '%s' --order %s %s", layout_text, order, dir);
    while (fgets(line, sizeof line, out)) {
        const bool counts = read_verdict(v, line);
        judged = judged || counts;
        line[strcspn(line, "\n")] = '\0';
        if (!counts && (tells_overlaps || !strstr(line, " overlap")))
            diag("%s, round %u: %s", app, round, line);
    }
    if (pclose(out) != 0)
        keep_logs(app, dir, round);
    v->unjudged += !judged;
    fold_logs(dir, round);
}

#endif
