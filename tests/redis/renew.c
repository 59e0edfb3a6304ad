/* SPDX-License-Identifier: MIT */
/* Renewals and releases: whose, how far, and what a lease that was forgotten may still do. */
#include "support/app.h"

/* A lease of pid 0, until T0 + 10, under base m:0:A and nonce n1; nothing else is to be had. */
static struct app leased(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_max = 0;
    need(says(&a, "OK 1000000 1000010 0", "a lease", "claim", "0", "n1", "m:0:A", NULL),
         "there is none");
    return a;
}

static void windows(struct redis *r) {
    struct app a = leased(r);
    app_at(&a, T0 + 2, 999);
    says(&a, "OK 1000010 1000012 0", "a renewal goes on where the window ended", "renew", "0", "n1",
         "m:0:A", "n2", "1000010", NULL);
    has(&a, a.key, "0", "00001000012 n2 m:0:A", "the record has the new limit and nonce");
    app_at(&a, T0 + 30, 0);
    says(&a, "OK 1000012 1000040 0", "also when it had run out", "renew", "0", "n2", "m:0:A", "n3",
         "1000012", NULL);
    app_at(&a, T0, 0);
    says(&a, "OK 1000040 1000040 0", "the clock set back: no shorter", "renew", "0", "n3", "m:0:A",
         "n4", "1000040", NULL);
    says(&a, "OK 1000038 1000040 0", "the record's limit counts: an answer was lost", "renew", "0",
         "n4", "m:0:A", "n5", "1000038", NULL);
    says(&a, "OK 1000050 1000050 0", "the holder's limit counts", "renew", "0", "n5", "m:0:A", "n6",
         "1000050", NULL);
    has(&a, a.key, "0", "00001000050 n6 m:0:A", "and is recorded");
    says(&a, "RETRY 1000050 0", "nobody else before", "claim", "0", "n", "m:0:B", NULL);
}

static void nonces(struct redis *r) {
    struct app a = leased(r);
    app_say(&a, "renew", "0", "n1", "m:0:A", "n2", "1000010", NULL);
    app_at(&a, T0 + 1, 0);
    says(&a, "OK 1000010 1000011 0", "the answer was lost: the same nonces again", "renew", "0",
         "n1", "m:0:A", "n2", "1000010", NULL);
    app_at(&a, T0 + 2, 0);
    says(&a, "OK 1000011 1000012 0", "the next", "renew", "0", "n2", "m:0:A", "n3", "1000011",
         NULL);
    says(&a, "LOST", "a copy that knows the nonces of before", "renew", "0", "n1", "m:0:A", "nx",
         "1000010", NULL);
    says(&a, "LOST", "it may not release either", "release", "0", "n1", "m:0:A", "nx", "1000003",
         "1000010", NULL);
    says(&a, "TAKEN", "another lease of the same nonces", "renew", "0", "n3", "m:0:B", "n4",
         "1000012", NULL);
    says(&a, "TAKEN", "which may not release either", "release", "0", "n3", "m:0:B", "n4",
         "1000003", "1000010", NULL);
    has(&a, a.key, "0", "00001000012 n3 m:0:A", "the record is as it was");
}

static void ours_no_more(struct redis *r) {
    struct app a = leased(r);
    app_at(&a, T0 + 10, 0);
    says(&a, "OK 1000010 1000020 0", "another has the pid", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "LOST", "renewed by the first", "renew", "0", "n1", "m:0:A", "n2", "1000010", NULL);
    says(&a, "LOST", "released by the first", "release", "0", "n1", "m:0:A", "n2", "1000004",
         "1000010", NULL);
    has(&a, a.key, "0", "00001000020 n m:0:B", "the record is the other's");
}

/*
 * A claim of the first, held up on its way, is carried out when the other has had the pid: the
 * record looks as if it were the first's still. It has not renewed since, and must not take the
 * ticks between for its own.
 */
static void granted_once_more(struct redis *r) {
    struct app a = leased(r);
    app_at(&a, T0 + 10, 0);
    says(&a, "OK 1000010 1000020 0", "another has the pid", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "OK", "and gives it back, having used a tick", "release", "0", "n", "m:0:B", "",
         "1000011", "1000020", NULL);
    says(&a, "OK 1000011 1000020 0", "a claim that comes late", "claim", "0", "n1", "m:0:A", NULL);
    says(&a, "LOST", "the first renews, by the window of before", "renew", "0", "n1", "m:0:A", "n2",
         "1000010", NULL);
    says(&a, "LOST", "and releases it", "release", "0", "n1", "m:0:A", "n2", "1000004", "1000010",
         NULL);
    has(&a, a.key, "0", "00001000020 n1 m:0:A", "the record is as it was");
    a = leased(r);
    app_at(&a, T0 + 9, 0);
    says(&a, "OK 1000009 1000019 0", "a claim that comes late, but before the limit", "claim", "0",
         "n1", "m:0:A", NULL);
    says(&a, "OK 1000010 1000019 0", "does no harm", "renew", "0", "n1", "m:0:A", "n2", "1000010",
         NULL);
}

/*
 * A renewal that comes late, a second time, raises the limit behind its holder's back: the answer
 * was that of the first time. What the holder renewed is its own all the same.
 */
static void renewed_once_more(struct redis *r) {
    struct app a = leased(r);
    app_say(&a, "renew", "0", "n1", "m:0:A", "n2", "1000010", NULL);
    app_at(&a, T0 + 10, 0);
    says(&a, "OK 1000010 1000020 0", "a renewal that comes once more", "renew", "0", "n1", "m:0:A",
         "n2", "1000010", NULL);
    says(&a, "LOST", "its nonce may be a claim's, and the record is of after the limit", "renew",
         "0", "n2", "m:0:A", "n3", "1000010", NULL);
    says(&a, "LOST", "nor is it released", "release", "0", "n2", "m:0:A", "n3", "1000004",
         "1000010", NULL);
    says(&a, "OK 1000010 1000020 0", "it is a renewal's: renewed", "renew", "0", "n2", "m:0:A",
         "n3", "1000010", "", "", "", "1", NULL);
    says(&a, "OK", "and released", "release", "0", "n3", "m:0:A", "", "1000011", "1000010", "1",
         NULL);
    says(&a, "TAKEN", "a renewal's nonce of what was released", "renew", "0", "n3", "m:0:A", "n4",
         "1000020", "", "", "", "1", NULL);
}

static void releases(struct redis *r) {
    struct app a = leased(r);
    says(&a, "OK", "released", "release", "0", "n1", "m:0:A", "", "1000001", "1000010", NULL);
    has(&a, a.key, "0", "00001000001", "the record is the position alone");
    says(&a, "TAKEN", "a renewal that comes later", "renew", "0", "n1", "m:0:A", "n2", "1000010",
         NULL);
    says(&a, "TAKEN", "a release that comes twice", "release", "0", "n1", "m:0:A", "", "1000000",
         "1000010", NULL);
    has(&a, a.key, "0", "00001000001", "the position stays");
    a = leased(r);
    app_say(&a, "renew", "0", "n1", "m:0:A", "n2", "1000010", NULL);
    says(&a, "OK", "the last renewal's answer was lost: its nonce will do", "release", "0", "n1",
         "m:0:A", "n2", "1000001", "1000010", NULL);
}

/* The server has forgotten everything at T0: g is T0 + 3, q is T0 + 13. */
static void forgotten(struct redis *r) {
    struct app a = app_new(r);
    a.pid_max = 0;
    says(&a, "GONE 1000013", "a limit one tick too low to show anything", "renew", "0", "n",
         "m:0:A", "n1", "1000002", NULL);
    has(&a, a.key, "0", "nil", "leaves no record");
    says(&a, "OK 1000003 1000010 0", "a limit at g: nobody else can have begun", "renew", "0", "n",
         "m:0:A", "n1", "1000003", NULL);
    has(&a, a.key, "0", "00001000010 n1 m:0:A", "and is on record");
    says(&a, "OK 1000002 1000010 0", "with a record, that counts alone", "renew", "0", "n1",
         "m:0:A", "n2", "1000002", NULL);
    a = app_new(r);
    app_say(&a, "look", "0", NULL);
    app_say(&a, "claim", "0", "n", "m:0:B", NULL);
    app_at(&a, T0 + 500, 0);
    says(&a, "GONE 0", "g is of when the server forgot, not of now", "renew", "0", "n", "m:0:A",
         "n1", "1000002", NULL);
    says(&a, "OK 1000003 1000510 0", "and stays", "renew", "0", "n", "m:0:A", "n1", "1000003",
         NULL);
}

/* A release proves nothing of a lease that was forgotten: it may be one that comes late, and the
 * pid another's by now. */
static void forgotten_and_released(struct redis *r) {
    struct app a = app_new(r);
    a.pid_max = 0;
    says(&a, "GONE 1000013", "released", "release", "0", "n", "m:0:A", "", "1000009", "1000010",
         NULL);
    has(&a, a.key, "0", "nil", "leaves no record");
    says(&a, "RETRY 1000013 1000013", "and no claim before q", "claim", "0", "n", "m:0:B", NULL);
}

static void test(struct redis *r) {
    windows(r);
    nonces(r);
    ours_no_more(r);
    granted_once_more(r);
    renewed_once_more(r);
    releases(r);
    forgotten(r);
    forgotten_and_released(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
