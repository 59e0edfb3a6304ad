/* SPDX-License-Identifier: MIT */
/* records.c - what a server has of an app, for fleet.h. */
#include "support/fleet.h"

static uint64_t count_in(const char *stats, const char *name) {
    const char *at = strstr(stats, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

uint64_t evals(struct redis *r) {
    char eval[200], sha[200];
    redis_info(r, "commandstats", "cmdstat_eval", eval, sizeof eval);
    redis_info(r, "commandstats", "cmdstat_evalsha", sha, sizeof sha);
    return count_in(eval, "calls=") + count_in(sha, "calls=") - count_in(sha, ",failed_calls=");
}

const char *record_of(struct redis *r, const char *app, int64_t pid, char line[RECORD]) {
    char key[100], field[24];
    snprintf(key, sizeof key, "sfid:%s", app);
    snprintf(field, sizeof field, "%" PRId64, pid);
    snprintf(line, RECORD, "%s", redis_text(r, "HGET", key, field, NULL));
    return line;
}

bool is_released(const char *record) {
    const size_t n = strspn(record, "0123456789");
    return n >= 11 && record[n] == 0;
}

char *files_text(const char *const *names) {
    char *text = NULL, path[4400];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (; out && *names; names++) {
        snprintf(path, sizeof path, "%s/%s", getenv("srcdir") ? getenv("srcdir") : "..", *names);
        FILE *in = fopen(path, "re");
        need(in != NULL, "%s: %s", path, strerror(errno));
        for (int c = getc(in); c != EOF; c = getc(in))
            putc(c, out);
        fclose(in);
    }
    need(out != NULL && fclose(out) == 0, "out of memory");
    return text;
}

size_t registration_of(const char *app, int64_t pid, char key[100]) {
    const int n = snprintf(key, 98, "sfid:%s:", app);
    key[n] = (char)(pid & 0xff);
    key[n + 1] = (char)(pid >> 8 & 0xff);
    return (size_t)n + 2;
}

const char *registration_text(struct redis *r, const char *command, const char *app, int64_t pid) {
    char key[100];
    const size_t sizes[] = {strlen(command), registration_of(app, pid, key)};
    return redis_text_n(r, 2, (const char *const[]){command, key}, sizes);
}
