/* SPDX-License-Identifier: MIT */
/* The checker finds what is planted: one that cannot fail would make every other process test
 * worthless. */
#include "support/proc.h"

#define LAYOUT "41:2:12/1ms"

enum { FILES = 8, PER_FILE = 2000, CANNOT = 2 };

static uint64_t rng;
static int64_t ids[FILES][PER_FILE];

static int64_t id_of(uint64_t tick, uint64_t pid, uint64_t seq) {
    return (int64_t)(tick << 14 | pid << 12 | seq);
}

/* FILES increasing files without a common ID: every number of pid 1, at random into one of them. */
static void make_good(void) {
    unsigned filled[FILES] = {0};
    for (uint64_t n = 0, left = FILES * PER_FILE; left > 0; n++) {
        const size_t f = draw_random(&rng) % FILES;
        if (filled[f] == PER_FILE)
            continue;
        ids[f][filled[f]++] = id_of(1000 + n / 4096, 1, n % 4096);
        left--;
    }
}

static void write_file(const char *name, const int64_t *from, size_t n, uint64_t life,
                       uint64_t pid) {
    struct idlog log;
    log_start(&log, n, life, pid, "%s", name);
    for (size_t i = 0; i < n; i++)
        idlog_put(&log, from[i]);
    idlog_close(&log);
}

/* The checker's exit status; its lines as one text in `said`. */
static char said[8192];

static int run_checker(const char *options) {
    FILE *out = checker_start("%s '%s' 2>&1", options, dirs.logs);
    said[fread(said, 1, sizeof said - 1, out)] = '\0';
    const int status = pclose(out);
    remove_tree(dirs.logs);
    need(mkdir(dirs.logs, 0700) >= 0, "%s: %s", dirs.logs, strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

static int check_all(const char *options) {
    char name[20];
    for (size_t f = 0; f < FILES; f++) {
        snprintf(name, sizeof name, "file-%zu", f);
        write_file(name, ids[f], PER_FILE, 1, 1);
    }
    return run_checker(options);
}

static void expect(const char *options, int status, const char *text, const char *what) {
    const int got = check_all(options);
    is_i64(got, status, "%s: exit status", what);
    if (!ok(strstr(said, text) != NULL, "%s: it says so", what))
        diag("wanted \"%s\" in:\n%s", text, said);
}

static void test_good(void) {
    make_good();
    expect("--layout " LAYOUT, 0,
           "16000 IDs in 8 files, 0 duplicates, 0 order breaks, 0 foreign IDs", "nothing wrong");
    expect("--layout " LAYOUT " --order pid --count 16000", 0, "0 life breaks",
           "nothing wrong, as many as wanted");
    expect("", 0, "0 duplicates", "nothing wrong, any layout");
    expect("--layout " LAYOUT " --count 16001", 1, "16001 IDs wanted", "one ID missing");
}

/* Takes the place of a number that may stand there without breaking its file's order. */
static void plant_duplicate(size_t from, size_t to) {
    const int64_t id = ids[from][draw_random(&rng) % PER_FILE];
    size_t at = 0;
    while (at + 1 < PER_FILE && ids[to][at + 1] <= id)
        at++;
    ids[to][at] = id;
}

static void test_duplicates(void) {
    unsigned missed = 0;
    for (int round = 0; round < 100; round++) {
        make_good();
        const size_t from = draw_random(&rng) % FILES;
        plant_duplicate(from, (from + 1 + draw_random(&rng) % (FILES - 1)) % FILES);
        missed += check_all("--layout " LAYOUT) != 1 || !strstr(said, " 1 duplicates") ||
                  !strstr(said, " twice: ");
    }
    is_u64(missed, 0, "one duplicate in two files at random places, 100 times");
    make_good();
    ids[7][0] = ids[2][0] < ids[7][1] ? ids[2][0] : (ids[2][0] = ids[7][0]);
    expect("--layout " LAYOUT, 1, " 1 duplicates", "the first ID of two files");
    make_good();
    if (ids[3][PER_FILE - 1] < ids[5][PER_FILE - 1])
        ids[3][PER_FILE - 1] = ids[5][PER_FILE - 1];
    else
        ids[5][PER_FILE - 1] = ids[3][PER_FILE - 1];
    expect("--layout " LAYOUT, 1, " 1 duplicates", "the last ID of two files");
    make_good();
    ids[4][100] = ids[4][900];
    expect("--layout " LAYOUT " --order none", 1, "[100] and ",
           "twice in one file, far apart, order not asked for");
    make_good();
    memcpy(ids[6], ids[1], sizeof ids[6]);
    expect("--layout " LAYOUT, 1, " 2000 duplicates", "a whole file again");
}

static void test_order(void) {
    make_good();
    const int64_t swapped = ids[3][500];
    ids[3][500] = ids[3][501], ids[3][501] = swapped;
    expect("--layout " LAYOUT, 1, " 0 duplicates, 1 order breaks",
           "two IDs of a thread the wrong way round");
    expect("--layout " LAYOUT " --order none", 0, " 0 order breaks",
           "the same, order not asked for");
    make_good();
    ids[0][9] = ids[0][8];
    expect("--layout " LAYOUT, 1, " 1 duplicates, 1 order breaks", "an ID twice in a row");
}

static void test_foreign(void) {
    make_good();
    ids[2][PER_FILE - 1] |= INT64_C(1) << 60;
    expect("--layout " LAYOUT, 1, " 1 foreign IDs", "a bit above the layout");
    make_good();
    ids[2][0] = SFID_EAGAIN;
    expect("--layout " LAYOUT, 1, " 1 foreign IDs", "an error taken for an ID");
    ids[2][1] = SFID_ECLOSED;
    expect("", 1, " 2 foreign IDs", "errors taken for IDs, any layout");
    make_good();
    ids[5][10] = (ids[5][9] & ~(INT64_C(3) << 12)) | INT64_C(2) << 12;
    expect("--layout " LAYOUT " --order none", 1, "carries pid 2 instead of 1", "another pid");
}

static void test_lives(void) {
    const int64_t early[] = {id_of(5, 1, 0), id_of(9, 1, 7)},
                  second[] = {id_of(5, 1, 1), id_of(6, 1, 0)};
    const int64_t later[] = {id_of(9, 1, 8), id_of(9, 1, 9)},
                  back[] = {id_of(9, 1, 6), id_of(9, 1, 10)};
    const int64_t other[] = {id_of(1, 2, 0), id_of(2, 2, 0)};
    write_file("a", early, 2, 1, 1);
    write_file("b", second, 2, 1, 1);
    write_file("z-other", other, 2, 9, 2);
    write_file("c", later, 2, 2, 1);
    is_i64(run_checker("--layout " LAYOUT " --order pid"), 0,
           "lives one above the other, files of one life mixed");
    write_file("a", early, 2, 1, 1);
    write_file("c", back, 2, 2, 1);
    is_i64(run_checker("--layout " LAYOUT " --order pid"), 1,
           "a life that begins below the end of the one before");
    ok(strstr(said, " 0 duplicates") && strstr(said, " 1 life breaks"), "it says so");
    write_file("a", early, 2, 1, 1);
    write_file("c", back, 2, 2, 1);
    is_i64(run_checker("--layout " LAYOUT), 0, "the same, lives not asked for");
    write_file("a", early, 2, 3, 1);
    write_file("b", second, 2, 1, 1);
    write_file("c", later, 2, 2, 1);
    is_i64(run_checker("--layout " LAYOUT " --order pid"), 1,
           "lives count by their number, not by file name");
}

/* ---- windows ------------------------------------------------------------- */

/* A process that draws one ID in each of these ticks of pid 1, and was granted these windows. */
static void write_process(uint64_t process, const uint64_t *ticks, size_t n,
                          const struct winlog_window *windows, size_t windows_n) {
    char name[40], path[4300];
    struct idlog log;
    struct winlog granted;
    log_start(&log, n, 1, 1, "ids-%" PRIu64, process);
    log.head->process = process;
    for (size_t i = 0; i < n; i++)
        idlog_put(&log, id_of(ticks[i], 1, process));
    idlog_close(&log);
    snprintf(name, sizeof name, "windows-%" PRIu64, process);
    snprintf(path, sizeof path, "%s/%s", dirs.logs, name);
    need(winlog_open(&granted, path, windows_n, process), "%s: %s", path, strerror(errno));
    for (size_t i = 0; i < windows_n; i++)
        winlog_put(&granted, &windows[i]);
}

static void expect_windows(int status, const char *text, const char *what) {
    is_i64(run_checker("--layout " LAYOUT), status, "%s: exit status", what);
    if (!ok(strstr(said, text) != NULL, "%s: it says so", what))
        diag("wanted \"%s\" in:\n%s", text, said);
}

#define TICKS(...) \
    ((const uint64_t[]){__VA_ARGS__}), sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
#define WINDOWS(...) \
    ((const struct winlog_window[]){__VA_ARGS__}), \
        sizeof((const struct winlog_window[]){__VA_ARGS__}) / sizeof(struct winlog_window)

enum { BACK = WINLOG_GIVEN_BACK, MINE = 70, THEIRS = 80 }; /* flags; holders */

static void test_outside(void) {
    write_process(1, TICKS(10, 15, 19), WINDOWS({1, 10, 20, MINE, 0}));
    expect_windows(0, " 0 IDs outside, 0 overlaps, 1 windows",
                   "IDs from the first to the last tick of a window");
    write_process(1, TICKS(9, 15), WINDOWS({1, 10, 20, MINE, 0}));
    expect_windows(1, " 1 IDs outside", "an ID before its window");
    write_process(1, TICKS(10, 20), WINDOWS({1, 10, 20, MINE, 0}));
    expect_windows(1, "lies in no window of process 1", "an ID at the limit");
    write_process(1, TICKS(10, 25, 39), WINDOWS({1, 10, 20, MINE, 0}, {1, 10, 40, MINE, 0}));
    expect_windows(0, " 0 IDs outside", "a window that was renewed");
    write_process(1, TICKS(10, 25, 30), WINDOWS({1, 10, 20, MINE, 0}, {1, 30, 40, MINE, 0}));
    expect_windows(1, " 1 IDs outside", "an ID in the gap between two windows");
    write_process(1, TICKS(15), WINDOWS({2, 10, 20, MINE, 0}));
    expect_windows(1, " 1 IDs outside", "a window of another pid");
    write_process(1, TICKS(15), WINDOWS({1, 10, 20, MINE, 0}));
    write_process(2, TICKS(35, 15), WINDOWS({1, 30, 40, THEIRS, 0}));
    expect_windows(1, "lies in no window of process 2", "a window of another process");
    write_process(1, TICKS(15), NULL, 0);
    expect_windows(1, " 1 IDs outside", "a process that was granted none");
}

static void test_overlaps(void) {
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, 0}));
    write_process(2, TICKS(20), WINDOWS({1, 20, 30, THEIRS, 0}));
    expect_windows(0, " 0 overlaps", "a lease from the tick where the one before ends");
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, 0}));
    write_process(2, TICKS(25), WINDOWS({1, 19, 30, THEIRS, 0}));
    expect_windows(1, " 1 overlaps",
                   "leases of two processes with a tick in common, though nobody drew from it");
    write_process(1, TICKS(10), WINDOWS({1, 10, 99, MINE, 0}));
    write_process(2, TICKS(20), WINDOWS({2, 20, 30, THEIRS, 0}));
    write_process(3, TICKS(40), WINDOWS({1, 40, 50, THEIRS, 0}));
    expect_windows(1, " 1 overlaps", "a lease inside a longer one of its pid");
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, 0}, {1, 10, 60, MINE, 0}));
    write_process(2, TICKS(12, 70), WINDOWS({1, 10, 60, MINE, 0}, {1, 10, 80, MINE, 0}));
    expect_windows(0, " 0 overlaps", "a lease that the next process of the slot goes on with");
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, 0}));
    write_process(2, TICKS(12), WINDOWS({1, 10, 20, THEIRS, 0}));
    expect_windows(1, " 1 overlaps", "the same window of two slots");
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, 0}, {1, 15, 30, MINE, 0}));
    expect_windows(1, " 1 overlaps", "a process that lost its pid and got it again too early");
    write_process(1, TICKS(10, 12), WINDOWS({1, 10, 20, MINE, 0}, {1, 10, 20, MINE, BACK}));
    write_process(2, TICKS(13), WINDOWS({1, 13, 30, THEIRS, 0}));
    expect_windows(0, " 0 overlaps", "what a lease given back did not use");
    write_process(1, TICKS(10, 13), WINDOWS({1, 10, 20, MINE, BACK}));
    write_process(2, TICKS(14), WINDOWS({1, 13, 30, THEIRS, 0}));
    expect_windows(1, " 1 overlaps", "a tick that a lease given back did use");
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, BACK}));
    write_process(2, TICKS(16), WINDOWS({1, 10, 20, MINE, 0}));
    write_process(3, TICKS(18), WINDOWS({1, 15, 30, THEIRS, 0}));
    expect_windows(1, " 1 overlaps", "a tick that a lease given back did use in another process");
}

static void test_window_files(void) {
    char path[4300];
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, 0}));
    is_i64(run_checker(""), CANNOT, "windows without a layout are not judged");
    write_process(1, TICKS(10), WINDOWS({1, 20, 10, MINE, 0}));
    is_i64(run_checker("--layout " LAYOUT), CANNOT, "a window that ends before it begins is none");
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, 0}));
    snprintf(path, sizeof path, "%s/windows-1", dirs.logs);
    is_i64(truncate(path, 80), 0, "a file of windows is cut off");
    is_i64(run_checker("--layout " LAYOUT), CANNOT, "windows cut off are not judged");
    struct winlog short_one;
    const struct winlog_window window = {1, 10, 20, MINE, 0};
    write_process(1, TICKS(10), WINDOWS({1, 10, 20, MINE, 0}));
    snprintf(path, sizeof path, "%s/short", dirs.logs);
    need(winlog_open(&short_one, path, 1, 1), "%s: %s", path, strerror(errno));
    winlog_put(&short_one, &window);
    winlog_put(&short_one, &window);
    is_i64(run_checker("--layout " LAYOUT), CANNOT, "nor where there was no room for them all");
}

/* ---- files --------------------------------------------------------------- */

static void test_files(void) {
    struct idlog log;
    char path[4300];
    is_i64(run_checker("--layout " LAYOUT), 1, "no file: no IDs is a finding");
    log_start(&log, 10, 1, 1, "empty");
    is_i64(run_checker("--layout " LAYOUT), 1, "an empty file: no IDs is a finding");
    log_start(&log, 10, 1, 1, "not-begun");
    memset(log.head->magic, 0, sizeof log.head->magic);
    log_start(&log, 10, 1, 1, "nothing");
    snprintf(path, sizeof path, "%s/nothing", dirs.logs);
    is_i64(truncate(path, 0), 0, "writers are killed before they begin");
    log_start(&log, 10, 1, 1, "good");
    idlog_put(&log, id_of(1, 1, 0));
    is_i64(run_checker("--layout " LAYOUT " --count 1"), 0,
           "their files are no reason to judge nothing");
    log_start(&log, 2, 1, 1, "short");
    for (uint64_t i = 0; i < 3; i++)
        idlog_put(&log, id_of(i, 1, 0));
    is_i64(run_checker("--layout " LAYOUT), 1, "a log that was too short");
    ok(strstr(said, " 1 lost IDs") != NULL, "it says so");
    log_start(&log, 100, 1, 1, "cut");
    snprintf(path, sizeof path, "%s/cut", dirs.logs);
    is_i64(truncate(path, 200), 0, "a log is cut off");
    is_i64(run_checker("--layout " LAYOUT), CANNOT, "a log cut off is not judged");
    log_start(&log, 100, 1, 1, "magic");
    log.head->magic[0] = 'S';
    is_i64(run_checker("--layout " LAYOUT), CANNOT, "a file that is no log is not judged");
    is_i64(run_checker("--layout 99:99:99"), CANNOT, "what is no layout is refused");
    is_i64(run_checker("--order sideways"), CANNOT, "what is no order is refused");
    is_i64(run_checker("--order pid"), CANNOT, "lives need a layout");
}

/* 3000 files, most of them one after the other, as many short lives leave them. */
static void test_many_files(void) {
    enum { MANY = 3000, EACH = 20 };
    char name[20];
    int64_t few[EACH];
    for (int with = 0; with <= 1; with++) {
        for (uint64_t f = 0; f < MANY; f++) {
            for (uint64_t i = 0; i < EACH; i++)
                few[i] = id_of(1000 + f / 4, 1, i * 4 + f % 4);
            if (with && f == 2000)
                few[EACH - 1] = id_of(1000 + 2999 / 4, 1, 7 * 4 + 2999 % 4);
            snprintf(name, sizeof name, "%" PRIu64, f * 7919 % 3001);
            write_file(name, few, EACH, 1 + f / 4, 1);
        }
        is_i64(run_checker("--layout " LAYOUT " --order per-file"), with, "3000 files %s",
               with ? "with one duplicate" : "without one");
        ok(strstr(said, with ? " 1 duplicates" : " 0 duplicates") != NULL, "it says so");
    }
}

int main(void) {
    rng = seed();
    dirs_make();
    test_good();
    test_duplicates();
    test_order();
    test_foreign();
    test_lives();
    test_outside();
    test_overlaps();
    test_window_files();
    test_files();
    test_many_files();
    return done_testing();
}
