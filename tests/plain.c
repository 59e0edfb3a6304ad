/* SPDX-License-Identifier: MIT */
/*
 * plain - what sfid decode and sfid gen should write, by printf() and gmtime_r(), for
 * tests/sh/cli-plain.test.
 *
 *     plain ids SEED COUNT BITS                    numbers below 2^BITS, of all sizes
 *     plain follows BITS <lines                    succeeds if each is a number as printf() writes
 *                                                  it, and is one more than that before, or has a
 *                                                  new tick's zeros in its lowest BITS
 *     plain text|json|csv|tsv NAME TIME PID SEQ UNIT_MS EPOCH_MS [OWN KIND SHIFT BITS]... <ids
 *
 * OWN is a maker's name of a field, KIND the field of which it is a part: time, pid or seq.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OWNS = 4, LINE = 64 };

struct own {
    const char *name, *kind;
    int shift, bits;
};

struct plain {
    const char *name;
    int time_bits, pid_bits, seq_bits;
    uint64_t unit_ms;
    int64_t epoch_ms;
    struct own own[OWNS];
    int owns, width;
    bool later;
};

static uint64_t random_number(void) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int write_ids(uint64_t seed, long count, unsigned bits) {
    for (uint64_t i = 0; i < seed; i++)
        random_number();
    for (long i = 0; i < count; i++) {
        /* two of three have about all bits */
        const unsigned size = 1 + (unsigned)(i % 3 ? bits : random_number() % bits);
        printf("%" PRIu64 "\n",
               random_number() >> 1 & ((UINT64_C(1) << (size < bits ? size : bits)) - 1));
    }
    return 0;
}

static int follows(unsigned bits) {
    char line[LINE], want[LINE];
    uint64_t last = 0;
    for (bool first = true; fgets(line, sizeof line, stdin); first = false) {
        const uint64_t id = strtoull(line, NULL, 10);
        snprintf(want, sizeof want, "%" PRIu64 "\n", id);
        const bool next = id == last + 1 || (id > last && (id & ((UINT64_C(1) << bits) - 1)) == 0);
        if (strcmp(line, want) != 0 || (!first && !next)) {
            printf("after %" PRIu64 ": %s", last, line);
            return 1;
        }
        last = id;
    }
    return 0;
}

static uint64_t part(uint64_t id, int shift, int bits) {
    return id >> shift & ((UINT64_C(1) << bits) - 1);
}

static void put_time(int64_t unix_ms) {
    time_t second = (time_t)(unix_ms / 1000);
    int64_t ms = unix_ms % 1000;
    struct tm tm;
    if (ms < 0) {
        ms += 1000;
        second--;
    }
    gmtime_r(&second, &tm);
    printf("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
           tm.tm_hour, tm.tm_min, tm.tm_sec, (int)ms);
}

static void put_row(const struct plain *p, const char *label, uint64_t value) {
    printf("%-*s  %" PRIu64 "\n", p->width, label, value);
}

static void put_own_rows(const struct plain *p, uint64_t id, const char *kind) {
    for (int i = 0; i < p->owns; i++)
        if (strcmp(p->own[i].kind, kind) == 0)
            put_row(p, p->own[i].name, part(id, p->own[i].shift, p->own[i].bits));
}

static void show(struct plain *p, char format, uint64_t id) {
    const uint64_t seq = part(id, 0, p->seq_bits), pid = part(id, p->seq_bits, p->pid_bits),
                   tick = part(id, p->seq_bits + p->pid_bits, p->time_bits);
    const int64_t unix_ms = p->epoch_ms + (int64_t)(tick * p->unit_ms);
    const bool future = unix_ms / 1000 > (int64_t)time(NULL) + 60;
    if (format == 't') {
        printf("%s%-*s  %" PRIu64 "\n%-*s  %s\n%-*s  ", p->later ? "\n" : "", p->width, "id", id,
               p->width, "layout", p->name, p->width, "time");
        put_time(unix_ms);
        printf("%s\n%-*s  %" PRId64 "\n", future ? " (in the future)" : "", p->width, "unix_ms",
               unix_ms);
        put_row(p, "tick", tick);
        put_own_rows(p, id, "time");
        put_row(p, "pid", pid);
        put_own_rows(p, id, "pid");
        put_row(p, "seq", seq);
        put_own_rows(p, id, "seq");
    } else if (format == '{') {
        printf("{\"id\":\"%" PRIu64 "\",\"layout\":\"%s\",\"time\":\"", id, p->name);
        put_time(unix_ms);
        printf("\",\"unix_ms\":%" PRId64 ",\"tick\":%" PRIu64 ",\"pid\":%" PRIu64
               ",\"seq\":%" PRIu64,
               unix_ms, tick, pid, seq);
        for (int i = 0; i < p->owns; i++)
            printf(",\"%s\":%" PRIu64, p->own[i].name, part(id, p->own[i].shift, p->own[i].bits));
        printf("%s}\n", future ? ",\"future\":true" : "");
    } else {
        printf("%" PRIu64 "%c", id, format);
        put_time(unix_ms);
        printf("%c%" PRId64 "%c%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "\n", format, unix_ms, format,
               tick, format, pid, format, seq);
    }
    p->later = true;
}

int main(int argc, char **argv) {
    enum { FIRST_OWN = 8, OWN = 4, LEAST = 10 };
    char line[LINE];
    if (argc == 5 && strcmp(argv[1], "ids") == 0)
        return write_ids(strtoull(argv[2], NULL, 10), atol(argv[3]), (unsigned)atoi(argv[4]));
    if (argc == 3 && strcmp(argv[1], "follows") == 0)
        return follows((unsigned)atoi(argv[2]));
    if (argc < FIRST_OWN || argc > FIRST_OWN + OWNS * OWN || (argc - FIRST_OWN) % OWN != 0) {
        fprintf(stderr, "plain: see its source\n");
        return 2;
    }
    const char format = strcmp(argv[1], "text") == 0   ? 't'
                        : strcmp(argv[1], "json") == 0 ? '{'
                        : strcmp(argv[1], "csv") == 0  ? ','
                                                       : '\t';
    struct plain p = {.name = argv[2],
                      .time_bits = atoi(argv[3]),
                      .pid_bits = atoi(argv[4]),
                      .seq_bits = atoi(argv[5])};
    p.unit_ms = strtoull(argv[6], NULL, 10);
    p.epoch_ms = strtoll(argv[7], NULL, 10);
    p.width = LEAST;
    for (char **a = argv + FIRST_OWN; *a; a += OWN) {
        p.own[p.owns++] = (struct own){a[0], a[1], atoi(a[2]), atoi(a[3])};
        p.width = (int)strlen(a[0]) > p.width ? (int)strlen(a[0]) : p.width;
    }
    while (fgets(line, sizeof line, stdin))
        show(&p, format, strtoull(line, NULL, 10));
    return 0;
}
