/* SPDX-License-Identifier: MIT */
/*
 * The witness: what an asker was answered once proves that an older hash came back, or that a
 * record was deleted, and the script begins an era. One row after the other of doc/protocol.md's
 * table; six ways by which an old copy comes back; and who is told that the pid is another's inside
 * the window.
 */
#include "support/app.h"

#define ERA_SIZE 48

struct seen {
    char text[ERA_SIZE];
};

/* The latest era, as somebody may show it later. */
static struct seen latest(const struct app *a) {
    struct seen s;
    memcpy(s.text, a->latest, sizeof s.text);
    return s;
}

/* Of WHO-B-N: B, and N as text. */
static int64_t b_of(const char *era) { return strtoll(strchr(era, '-') + 1, NULL, 10); }
static const char *n_of(const char *era) { return strrchr(era, '-') + 1; }

/* The answer, and whether an era was begun for it, and why. */
static void told(struct app *a, const char *want, const char *why, const char *name,
                 const char *pid, const char *nonce, const char *base, const char *next,
                 const char *limit) {
    says(a, want, name, "renew", pid, nonce, base, next, limit, NULL);
    is_str(a->why, why, "%s%s: %s", a->about, name, *why ? why : "no era begins for it");
}

/* Lease A on pid 0, answered once; the record of before is in *old. */
static struct app leased(struct redis *r, char old[100]) {
    struct app a = app_ready(r);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    snprintf(old, 100, "%s", redis_text(r, "HGET", a.key, "0", NULL));
    return a;
}

/* ---- the rows -------------------------------------------------------------------------- */

static void hash_went_back(struct redis *r) {
    char old[100];
    struct app a = leased(r, old);
    const struct seen before = latest(&a);
    app_at(&a, T0 + 1, 0);
    says(&a, "OK 1000010 1000011 0", "a renewal", "renew", "0", "n", "m:0:A", "n1", "1000010",
         NULL);
    const struct seen after = latest(&a);
    redis_do(r, "HSET", a.key, "0", old, "n", n_of(before.text), NULL);
    a.witness = before.text;
    told(&a, "OK 1000011 1000011 0", "", "N as in the hash", "0", "n", "m:0:A", "n1", "1000011");
    redis_do(r, "HSET", a.key, "0", old, "n", n_of(before.text), NULL);
    a.witness = after.text;
    told(&a, "OK 1000011 1000011 0", "older", "N above the hash's", "0", "n1", "m:0:A", "n2",
         "1000011");
    ok(strcmp(a.era, after.text) != 0 && b_of(a.latest) > b_of(after.text),
       "it begins above what was seen");
    is_str(n_of(a.latest), "1", "with one record");
    told(&a, "OK 1000011 1000011 0", "", "the next who shows that is of an earlier era", "0", "n2",
         "m:0:A", "n3", "1000011");
    says(&a, "RETRY 1000014 1000014", "nobody begins before q", "claim", "0", "n", "m:0:B", NULL);
}

static void era_went_back(struct redis *r) {
    char old[100], b[24];
    struct app a = leased(r, old);
    struct seen first = latest(&a);
    redis_do(r, "DEL", a.key, NULL);
    app_at(&a, T0 + 1, 0);
    says(&a, "OK 1000010 1000011 0", "another era", "renew", "0", "n", "m:0:A", "n1", "1000010",
         NULL);
    const struct seen second = latest(&a);
    ok(b_of(a.latest) > b_of(first.text), "it is above the one before");
    snprintf(b, sizeof b, "%" PRId64, b_of(first.text));
    redis_do(r, "HSET", a.key, "b", b, "n", "100", NULL);
    a.witness = first.text;
    told(&a, "OK 1000011 1000011 0", "", "B as in the hash", "0", "n", "m:0:A", "n1", "1000011");
    a.witness = second.text;
    told(&a, "OK 1000011 1000011 0", "older", "B above the hash's", "0", "n1", "m:0:A", "n2",
         "1000011");
    /* A clock set back does not make a new era older than one that somebody has seen. */
    const struct seen third = latest(&a);
    redis_do(r, "DEL", a.key, NULL);
    app_at(&a, T0 - 5, 0);
    a.witness = third.text;
    told(&a, "OK 1000011 1000011 0", "", "a flush is no news", "0", "n2", "m:0:A", "n3", "1000011");
    ok(b_of(a.latest) > b_of(third.text), "though the clock is set back, the era is above");
}

static void record_is_gone(struct redis *r) {
    static const char *const damages[] = {"garbage",
                                          "",
                                          "0000100001",
                                          "00001000010 ",
                                          "00001000010  m:0:A",
                                          "00001000010 n",
                                          "00001000010 n ",
                                          "00001000010 n  m:0:A",
                                          "-0001000010 n m:0:A",
                                          "00001000010n m:0:A"};
    char old[100];
    struct app a = leased(r, old);
    struct seen w = latest(&a);
    redis_do(r, "HDEL", a.key, "0", NULL);
    told(&a, "OK 1000010 1000010 0", "", "no record, no witness", "0", "n", "m:0:A", "n1",
         "1000010");
    redis_do(r, "HDEL", a.key, "0", NULL);
    a.witness = w.text;
    told(&a, "OK 1000010 1000010 0", "damaged", "no record", "0", "n1", "m:0:A", "n2", "1000010");
    for (size_t i = 0; i < COUNT(damages); i++) {
        w = latest(&a);
        a.witness = w.text;
        redis_do(r, "HSET", a.key, "0", damages[i], NULL);
        app_say(&a, "init", "", NULL);
        says(&a, "OK 1000000 1000010 1", damages[i], "claim", "0", "n", "m:0:B", NULL);
        told(&a, "OK 1000010 1000010 0", "damaged", damages[i], "0", "n2", "m:0:A", "n2",
             "1000010");
    }
    w = latest(&a);
    redis_do(r, "HDEL", a.key, "0", NULL);
    told(&a, "GONE 1000013", "damaged", "a limit that shows nothing", "0", "n2", "m:0:A", "n3",
         "1000002");
    a.witness = w.text;
    told(&a, "GONE 1000013", "", "in an era that the witness is not of", "0", "n2", "m:0:A", "n3",
         "1000002");
}

/* The pid of A, which gives it back in the era that its witness has begun: another may have been
 * granted it before, and may go on until q. */
static void released_in_it(struct app *a, const char *why) {
    told(a, "OK 1000010 1000011 0", why, "its holder goes on", "0", "n", "m:0:A", "n1", "1000010");
    a->witness = NULL;
    says(a, "OK", "and gives the pid back", "release", "0", "n1", "m:0:A", "n1", "1000002",
         "1000011", "1", NULL);
    says(a, "RETRY 1000014 1000014", "nobody gets it before q", "claim", "0", "n", "m:0:C", NULL);
    app_at(a, T0 + 14, 0);
    says(a, "OK 1000014 1000024 0", "but then", "claim", "0", "n", "m:0:C", NULL);
}

static void two_may_have_had_it(struct redis *r) {
    char old[100];
    struct app a = leased(r, old);
    a.pid_max = 0;
    const struct seen w = latest(&a);
    app_at(&a, T0 + 1, 0);
    redis_do(r, "HSET", a.key, "0", "00001000010 n m:0:A", "n", "0", NULL);
    a.witness = w.text;
    released_in_it(&a, "older");
    a = leased(r, old);
    a.pid_max = 0;
    const struct seen v = latest(&a);
    app_at(&a, T0 + 1, 0);
    redis_do(r, "HDEL", a.key, "0", NULL);
    a.witness = v.text;
    released_in_it(&a, "damaged");
}

static void what_proves_nothing(struct redis *r) {
    static const char *const garbled[] = {"x", "--", "12345678", "zzzzzzzz-1-1"};
    char old[100], text[100];
    struct app a = leased(r, old);
    const struct seen w = latest(&a);
    app_at(&a, T0 + 1, 0);
    app_say(&a, "renew", "0", "n", "m:0:A", "n1", "1000010", NULL);
    redis_do(r, "HSET", a.key, "0", "00001000010 m m:0:A", NULL);
    a.witness = w.text;
    told(&a, "LOST", "", "an older nonce under a lower limit", "0", "n1", "m:0:A", "n2", "1000011");
    redis_do(r, "HSET", a.key, "0", old, NULL);
    for (size_t i = 0; i < COUNT(garbled); i++) {
        a.witness = garbled[i];
        told(&a, "OK 1000010 1000011 0", "", garbled[i], "0", "n", "m:0:A", "n", "1000010");
    }
    a.witness = text;
    snprintf(text, sizeof text, "%.8s-99999999999999999-1", w.text);
    told(&a, "OK 1000011 1000011 0", "", "B of 17 digits", "0", "n", "m:0:A", "n", "1000011");
    snprintf(text, sizeof text, "%.*s-1234567890123456", (int)(n_of(w.text) - w.text) - 1, w.text);
    told(&a, "OK 1000011 1000011 0", "", "N of 16 digits", "0", "n", "m:0:A", "n", "1000011");
    snprintf(text, sizeof text, "00000000%s", w.text + 8);
    strcat(text, "000");
    told(&a, "OK 1000011 1000011 0", "", "another server", "0", "n", "m:0:A", "n", "1000011");
}

/* Who is told so closes its record: the pid's next holder may be issuing its ticks. */
static void taken(struct redis *r) {
    char old[100];
    struct app a = leased(r, old);
    redis_do(r, "HSET", a.key, "0", "00001000020 n m:0:B", NULL);
    told(&a, "TAKEN", "", "another's, inside the window", "0", "n", "m:0:A", "n1", "1000010");
    says(&a, "TAKEN", "nor is it released", "release", "0", "n", "m:0:A", "n1", "1000003",
         "1000010", NULL);
    redis_do(r, "HSET", a.key, "0", "00001000005", NULL);
    told(&a, "TAKEN", "", "released, inside the window", "0", "n", "m:0:A", "n1", "1000010");
    redis_do(r, "HSET", a.key, "0", "00001000020 m m:0:A", NULL);
    told(&a, "LOST", "", "another nonce of the same lease", "0", "n", "m:0:A", "n1", "1000010");
    redis_do(r, "HSET", a.key, "0", "00001000020 n renamed:0:A", NULL);
    told(&a, "LOST", "", "the same lease, of a host with another name", "0", "n", "m:0:A", "n1",
         "1000010");
    redis_do(r, "HSET", a.key, "0", "00001000020 n m:0:B", NULL);
    app_at(&a, T0 + 9, 999);
    told(&a, "TAKEN", "", "in the last tick of the window", "0", "n", "m:0:A", "n1", "1000010");
    app_at(&a, T0 + 10, 0);
    told(&a, "LOST", "", "past it", "0", "n", "m:0:A", "n1", "1000010");
}

/* ---- how far an era has come ------------------------------------------------------------ */

static int64_t last_n;

static void counts(const struct app *a, int64_t by, const char *name) {
    const int64_t n = strtoll(n_of(a->latest), NULL, 10);
    is_i64(n - last_n, by, "%s", name);
    last_n = n;
}

static void each_record_counts(struct redis *r) {
    struct app a = app_ready(r);
    a.short_ms = 4000, a.share = 2, a.pid_max = 3, a.registration = 1;
    redis_do(r, "DEL", a.key, NULL);
    app_say(&a, "init", "", NULL);
    last_n = 0;
    counts(&a, 1, "init");
    app_say(&a, "claim", "0", "n", "m:0:000000000000000a", NULL);
    counts(&a, 1, "a claim");
    app_say(&a, "claim", "2", "n", "m:0:000000000000000b", NULL);
    app_say(&a, "claim", "1", "n", "m:0:000000000000000c", NULL);
    counts(&a, 2, "two more");
    app_say(&a, "claim", "1", "n", "m:0:000000000000000d", NULL);
    app_say(&a, "claim", "1", "n", "m:0:000000000000000e", NULL);
    counts(&a, 1, "one that gets none does not");
    app_say(&a, "renew", "0", "n", "m:0:000000000000000a", "n1", "1000004", NULL);
    counts(&a, 1, "a renewal");
    app_say(&a, "renew", "0", "x", "m:0:000000000000000a", "y", "1000004", NULL);
    counts(&a, 0, "one that is lost does not");
    app_say(&a, "release", "0", "n1", "m:0:000000000000000a", "n1", "1000000", "1000010", NULL);
    counts(&a, 1, "a release");
    says(&a, "MOVED 1000000 1000004 0", "a move", "renew", "1", "n", "m:0:000000000000000c", "n1",
         "1000004", "0", "n", "m:0:000000000000000f", NULL);
    counts(&a, 2, "counts twice");
    app_say(&a, "finish", "3", "m:0:000000000000000d", NULL);
    counts(&a, 1, "a lease that is finished");
    redis_do(r, "SET", "sfid:{app}:\x02", "somebody", NULL);
    app_say(&a, "look", "0", NULL);
    app_say(&a, "init", "", NULL);
    counts(&a, 1, "init again, and looking does not");
}

/* ---- an old copy comes back ---------------------------------------------------------------- */

struct way {
    const char *name;
    void (*away)(struct app *a), (*back)(struct app *a);
};

static struct reply *dumped;

static void rename_away(struct app *a) { redis_do(a->redis, "RENAME", a->key, "kept", NULL); }
static void rename_back(struct app *a) { redis_do(a->redis, "RENAME", "kept", a->key, NULL); }
static void swap(struct app *a) { redis_do(a->redis, "SWAPDB", "0", "1", NULL); }
static void move_away(struct app *a) { redis_do(a->redis, "MOVE", a->key, "1", NULL); }
static void move_back(struct app *a) {
    redis_do(a->redis, "DEL", a->key, NULL);
    redis_do(a->redis, "SELECT", "1", NULL);
    redis_do(a->redis, "MOVE", a->key, "0", NULL);
    redis_do(a->redis, "SELECT", "0", NULL);
}
static void dump(struct app *a) {
    dumped = redis_ask(a->redis, "DUMP", a->key, NULL);
    redis_do(a->redis, "DEL", a->key, NULL);
}
static void restore(struct app *a) {
    const char *const args[] = {"RESTORE", a->key, "0", dumped->text, "REPLACE"};
    const size_t sizes[] = {7, strlen(a->key), 1, dumped->size, 7};
    reply_free(redis_ask_n(a->redis, 5, args, sizes));
    reply_free(dumped);
}
static void save(struct app *a) { redis_do(a->redis, "SAVE", NULL); }
static void reload(struct app *a) { redis_do(a->redis, "DEBUG", "RELOAD", "NOSAVE", NULL); }
static void copy_away(struct app *a) {
    redis_do(a->redis, "COPY", a->key, "kept", NULL);
    redis_do(a->redis, "DEL", a->key, NULL);
}
static void copy_back(struct app *a) {
    redis_do(a->redis, "COPY", "kept", a->key, "REPLACE", NULL);
}

static bool knows_copy(struct redis *r) {
    char version[32];
    unsigned major, minor;
    return sscanf(redis_info(r, "server", "redis_version", version, sizeof version), "%u.%u",
                  &major, &minor) == 2 &&
           major * 100 + minor >= 602;
}

/* The hash is kept, a pid is granted, the hash comes back: the holder's next question makes an era
 * of it, and no claim gets the pid. */
static void comes_back(struct redis *r, const struct way *way) {
    char about[100];
    struct app a = app_ready(r);
    snprintf(about, sizeof about, "%s: ", way->name);
    a.about = about;
    way->away(&a);
    app_at(&a, T0 + 1, 0);
    app_say(&a, "init", "", NULL);
    says(&a, "OK 1000001 1000011 0", "a pid is granted", "claim", "0", "n", "m:0:A", NULL);
    const struct seen w = latest(&a);
    way->back(&a);
    a.witness = w.text;
    told(&a, "OK 1000011 1000011 0", "older", "its holder goes on", "0", "n", "m:0:A", "n1",
         "1000011");
    a.witness = NULL;
    says(&a, "RETRY 1000014 1000014", "a newcomer waits", "claim", "0", "n", "m:0:B", NULL);
}

static void six_ways(struct redis *r) {
    static const struct way ways[] = {
        {"RENAME", rename_away, rename_back}, {"SWAPDB", swap, swap},
        {"MOVE", move_away, move_back},       {"RESTORE", dump, restore},
        {"DEBUG RELOAD", save, reload},       {"COPY", copy_away, copy_back}};
    struct redis debugged;
    /* Redis 7 and later want to be told */
    struct reply *option = redis_ask(r, "CONFIG", "GET", "enable-debug-command", NULL);
    redis_start(&debugged, r->program, "debugged", REDIS_CLOCK,
                option->count > 0 ? "--enable-debug-command" : NULL, "yes", NULL);
    reply_free(option);
    for (size_t i = 0; i < COUNT(ways); i++)
        if (ways[i].back == copy_back && !knows_copy(r))
            skip(4, "no COPY before Redis 6.2");
        else
            comes_back(&debugged, &ways[i]);
    redis_kill(&debugged);
}

static void test(struct redis *r) {
    hash_went_back(r);
    era_went_back(r);
    record_is_gone(r);
    two_may_have_had_it(r);
    what_proves_nothing(r);
    taken(r);
    each_record_counts(r);
    six_ways(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
