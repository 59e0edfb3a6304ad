/* SPDX-License-Identifier: MIT */
/* The search for a free number: each is tried once, whatever the hints say, and with good hints few
 * are tried. */
#include "host/hints.h"

#include "host/files.h"

#include "support/scene.h"

enum { MOST = 300 };

static struct sfid__dir app;
static bool held[MOST]; /* what the locks would say */

static void write_file(const void *bytes, size_t n) {
    char name[4400];
    snprintf(name, sizeof name, "%s/lock", app.path);
    FILE *f = fopen(name, "we");
    need(f != NULL && fwrite(bytes, 1, n, f) == n && fclose(f) == 0, "%s: %s", name,
         strerror(errno));
}

/* Takes a number as slots and pids are. Returns it, or -1; *tries: how many were looked at. */
static int64_t take(uint64_t first, uint64_t last, unsigned *tries) {
    struct sfid__search s;
    int64_t got = -1;
    *tries = 0;
    sfid__search_begin(&s, &app, first, last);
    for (uint64_t n; got < 0 && sfid__search_next(&s, &n); ++*tries) {
        need(n >= first && n <= last && n < MOST, "%" PRIu64 " is out of range", n);
        sfid__search_taken(&s, n);
        if (!held[n])
            got = (int64_t)n;
    }
    sfid__search_end(&s);
    if (got >= 0)
        held[got] = true;
    return got;
}

static void leave(uint64_t n) {
    held[n] = false;
    sfid__hint_free(app.path, n);
}

static void reset(const void *bytes, size_t n) {
    memset(held, 0, sizeof held);
    write_file(bytes, n);
}

/* Goes through a whole search. Returns how many numbers came, 0 if one came twice or one is
 * missing. */
static unsigned whole(uint64_t first, uint64_t last) {
    struct sfid__search s;
    bool seen[MOST] = {false};
    unsigned count = 0;
    sfid__search_begin(&s, &app, first, last);
    for (uint64_t n; sfid__search_next(&s, &n); count++) {
        if (n < first || n > last || n >= MOST || seen[n])
            return 0;
        seen[n] = true;
    }
    sfid__search_end(&s);
    return count == last - first + 1 ? count : 0;
}

/* ---- tests ------------------------------------------------------------------ */

static void test_once_each(void) {
    unsigned char bytes[MOST];
    is_u64(whole(0, 99), 100, "without a file each number comes once");
    for (int how = 0; how < 200; how++) {
        uint64_t x = 0x9e3779b97f4a7c15u * (unsigned)(how + 1);
        for (size_t i = 0; i < sizeof bytes;
             i++, x = x * 6364136223846793005u + 1442695040888963407u)
            bytes[i] = (unsigned char)(how % 5 == 0 ? x >> 56 : (x >> 56) % 100 < (unsigned)how);
        const size_t size = (size_t)(how * 37 % MOST);
        const uint64_t first = (uint64_t)(how % 7 * 20), last = first + (uint64_t)(how % 11 * 13);
        write_file(bytes, size);
        if (whole(first, last) == 0) {
            ok(false, "each number comes once: file %d of %zu bytes, %" PRIu64 " to %" PRIu64, how,
               size, first, last);
            return;
        }
    }
    ok(true, "each number comes once, whatever 200 files say");
}

static void test_few_tries(void) {
    unsigned tries, most = 0;
    int64_t worst = 0;
    reset("", 0);
    for (int i = 0; i < 250; i++) {
        const int64_t n = take(0, MOST - 1, &tries);
        worst = n > worst ? n : worst;
        most = tries > most ? tries : most;
    }
    is_i64(worst, 249, "250 processes have the numbers 0 to 249");
    ok(most <= 66, "none looked at more than 66 (%u)", most);
    is_i64(take(0, MOST - 1, &tries), 250, "the next one has 250");
    ok(tries <= 4, "after four tries at most (%u)", tries);
    leave(100);
    is_i64(take(0, MOST - 1, &tries), 100, "one that was given back is had");
    ok(tries <= 4, "after four at most (%u)", tries);
    held[0] = false; /* killed */
    is_i64(take(0, MOST - 1, &tries), 0, "the first one is had though its holder was killed");
    is_u64(tries, 1, "at once");
    held[200] = false;
    int64_t got = -1;
    int rounds = 0;
    for (; got != 200 && rounds < 20000; rounds++)
        if ((got = take(0, MOST - 1, &tries)) >= 0 && got != 200)
            leave((uint64_t)got);
    is_i64(got, 200, "so is another one, in time (%d opens)", rounds);
}

static void test_lowest(void) {
    unsigned tries;
    reset("", 0);
    for (int i = 0; i < 8; i++)
        need(take(1, 20, &tries) == i + 1, "not %d", i + 1);
    held[5] = held[7] = false; /* killed */
    is_i64(take(1, 20, &tries), 5,
           "of a few the lowest free one is had, though its holder was killed");
    is_i64(take(1, 20, &tries), 7, "then the next");
    is_i64(take(1, 20, &tries), 9, "then a new one");
}

static void test_wrong(void) {
    unsigned tries;
    unsigned char all[MOST];
    memset(all, 1, sizeof all);
    reset(all, sizeof all);
    memset(held, 1, sizeof held);
    held[123] = false;
    is_i64(take(0, MOST - 1, &tries), 123, "a number that passes for taken is found");
    is_i64(take(0, MOST - 1, &tries), -1, "where all are taken there is none");
    is_u64(tries, MOST, "and all were tried");
    reset("", 0);
    memset(held, 1, sizeof held);
    held[MOST - 1] = false;
    is_i64(take(0, MOST - 1, &tries), MOST - 1, "so it is where all pass for free");
    need(take(0, MOST - 1, &tries) == -1 && tries == MOST, "not all were tried");
    leave(MOST - 1);
    take(0, MOST - 1, &tries);
    ok(tries <= 4, "and, once it is given back, after four tries at most (%u)", tries);
    is_i64(take(7, 7, &tries), -1, "of one number");
    is_u64(tries, 1, "that one is tried");
}

/*
 * Who begin at once find the same hints, and note what they found before they try again. One by one
 * they would look at half of all the numbers each.
 */
static void test_herd(void) {
    static struct sfid__search s[MOST];
    static bool has[MOST];
    static bool gone[9 * MOST + 1];
    static uint64_t n[MOST];
    unsigned left = MOST, tries = 0, highest = 0;
    reset("", 0);
    for (int i = 0; i < MOST; i++)
        sfid__search_begin(&s[i], &app, 0, 9 * MOST);
    while (left > 0) {
        for (int i = 0; i < MOST; i++)
            need(has[i] || sfid__search_next(&s[i], &n[i]),
                 "a search ends though numbers are free");
        for (int i = 0; i < MOST; i++) {
            if (has[i])
                continue;
            tries++;
            sfid__search_taken(&s[i], n[i]);
            if (!gone[n[i]]) {
                gone[n[i]] = has[i] = true;
                left--;
                highest = (unsigned)n[i] > highest ? (unsigned)n[i] : highest;
            }
        }
    }
    for (int i = 0; i < MOST; i++)
        sfid__search_end(&s[i]);
    ok(tries < MOST * 7,
       "%d that search at once have a number each after less than 7 tries, on average (%u in all)",
       MOST, tries);
    ok(highest < MOST * 5, "and they leave few numbers out (the highest is %u)", highest);
}

/* A number whose door was not waited for comes once more, and only where its door will be waited
 * for. */
static void test_again(void) {
    struct sfid__search s;
    uint64_t n = 0;
    unsigned char hints[] = {0, 0, 1, 0, 0};
    reset(hints, sizeof hints);
    sfid__search_begin(&s, &app, 0, 4);
    ok(sfid__search_next(&s, &n) && n == 0 && !sfid__search_may_pass(&s, n),
       "the first number: nothing is known of it");
    sfid__search_again(&s, n);
    ok(sfid__search_next(&s, &n) && n == 0 && sfid__search_may_pass(&s, n),
       "it comes again with those that were taken");
    sfid__search_again(&s, n);
    ok(sfid__search_next(&s, &n) && n == 2 && sfid__search_may_pass(&s, n),
       "one that was taken may be passed by");
    sfid__search_again(&s, n);
    ok(sfid__search_next(&s, &n) && n == 1 && sfid__search_may_pass(&s, n),
       "and so may one that was not");
    sfid__search_again(&s, n);
    uint64_t sum = 0;
    for (int i = 0; i < 2; i++, sum += n)
        need(sfid__search_next(&s, &n) && sfid__search_may_pass(&s, n), "no number");
    is_u64(sum, 3 + 4, "those that were not taken come before them");
    for (uint64_t i = 0; i < 3; i++)
        ok(sfid__search_next(&s, &n) && n == i && !sfid__search_may_pass(&s, n),
           "then %" PRIu64 " comes once more, to be waited for", i);
    ok(!sfid__search_next(&s, &n), "and no more");
    sfid__search_end(&s);
    char name[4400];
    snprintf(name, sizeof name, "%s/lock", app.path);
    need(unlink(name) >= 0, "%s: %s", name, strerror(errno));
    sfid__search_begin(&s, &app, 0, 1);
    need(sfid__search_next(&s, &n) && n == 0, "no number");
    sfid__search_again(&s, n);
    ok(sfid__search_next(&s, &n) && n == 1 && !sfid__search_may_pass(&s, n),
       "without hints each is waited for");
    ok(sfid__search_next(&s, &n) && n == 0, "and the first one comes again");
    ok(!sfid__search_next(&s, &n), "once");
    sfid__search_end(&s);
    reset("", 0);
}

/* What others take meanwhile is known to a search that was refused. */
static void test_read_anew(void) {
    struct sfid__search s;
    uint64_t n = 0;
    unsigned char hints[200];
    memset(hints, 1, sizeof hints);
    reset("", 0);
    sfid__search_begin(&s, &app, 0, 5000);
    need(sfid__search_next(&s, &n) && sfid__search_next(&s, &n) && n == 1, "not the first two");
    write_file(hints, sizeof hints);
    ok(sfid__search_next(&s, &n) && n >= 200 && n <= 203,
       "after a refusal the hints are read anew (%" PRIu64 ")", n);
    uint64_t most = n;
    for (int i = 0; i < 40; i++) {
        need(sfid__search_next(&s, &n) && n >= 200, "a number that is taken");
        most = n > most ? n : most;
    }
    ok(most > 240 && most < 200 + 40 + 1024, "and each time the next one lies among more numbers");
    sfid__search_end(&s);
}

/* Whoever has the first number has neither read nor written a hint. */
static void test_alone(void) {
    unsigned char byte = 0;
    unsigned tries;
    struct sfid__search s;
    uint64_t n;
    struct stat st;
    char name[4400];
    snprintf(name, sizeof name, "%s/lock", app.path);
    reset("", 0);
    is_i64(take(0, MOST - 1, &tries), 0, "a process alone has the first number");
    ok(stat(name, &st) == 0 && st.st_size == 0, "and notes nothing");
    reset("\1\1", 2);
    sfid__search_begin(&s, &app, 0, MOST - 1);
    ok(sfid__search_next(&s, &n) && n == 0 && s.taken == NULL,
       "the first number is tried before a hint is read");
    ok(sfid__search_next(&s, &n) && n == 1 && s.taken != NULL, "the next one by the hints");
    sfid__search_end(&s);
    reset("", 0);
    take(0, MOST - 1, &tries);
    take(0, MOST - 1, &tries);
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    ok(pread(fd, &byte, 1, 1) == 1 && byte == 1, "the second process notes its own");
    ok(pread(fd, &byte, 1, 0) == 1 && byte == 0, "and not the first number");
    close(fd);
}

/* A file that cannot be used costs tries, and nothing else. */
static void test_no_file(void) {
    char name[4400];
    unsigned tries;
    reset("", 0);
    snprintf(name, sizeof name, "%s/lock", app.path);
    need(unlink(name) >= 0 && mkdir(name, 0700) >= 0, "%s: %s", name, strerror(errno));
    held[0] = true;
    is_i64(take(0, MOST - 1, &tries), 1, "with a directory in its place");
    char other[4400];
    struct stat st;
    snprintf(other, sizeof other, "%s/other", app.path);
    const int fd = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    need(fd >= 0 && rmdir(name) >= 0 && symlink(other, name) >= 0, "%s: %s", name, strerror(errno));
    is_i64(take(0, MOST - 1, &tries), 2, "with a link");
    leave(2);
    ok(fstat(fd, &st) == 0 && st.st_size == 0, "with a link nothing is written where it leads");
    close(fd);
    unlink(name);
    unlink(other);
}

int main(void) {
    struct sfid__error err;
    struct sfid__dir run = SFID__DIR_NONE;
    char path[4300];
    snprintf(path, sizeof path, "%s/run", tap_tmpdir());
    need(sfid__dir_open_run(&run, path, &err) >= 0 &&
             sfid__dir_open_sub(&app, &run, "orders", &err) >= 0,
         "%s", err.text);
    test_once_each();
    test_few_tries();
    test_lowest();
    test_wrong();
    test_herd();
    test_again();
    test_read_anew();
    test_alone();
    test_no_file();
    sfid__dir_close(&app);
    sfid__dir_close(&run);
    return done_testing();
}
