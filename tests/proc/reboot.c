/* SPDX-License-Identifier: MIT */
/*
 * Pages that are older than they look, under the "local" store: after all processes were killed the
 * run directory is that of some moment before, as copies, or, as on a disk that lost what was
 * written last, in the very files, with another boot ID. All of the state directory but the marks
 * is of that moment, too, and the clock comes back a little behind. No page is believed: no
 * duplicate, the IDs of a pid go on increasing, and the first ID comes when the mark has passed.
 *
 * Sizes: 6 reboots each way (long: 100; sanitizer: 4), two processes. Another boot ID takes a mount
 * namespace.
 */
#include "support/disk.h"
#include "worst.h"

#define LAYOUT "41:10:12/1ms"
#define STORE "local?lead_ms=250"
#define APP "reboot"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

enum { PROCESSES = 2, BURST = 20, LOG_ROOM = 1 << 17, LEAD_MS = 250, BACK_MOST_MS = 200 };

enum { OPEN_MS = 500 }; /* an open beside the wait for a mark */
enum way { COPIES, OTHER_BOOT };

static sfid_layout layout;

static struct report {
    _Atomic uint64_t life;
    atomic_int first[PROCESSES];
    _Atomic int64_t errors, an_error, drawn;
    struct worst wait; /* for a first ID */
} * report;

/* ---- a life ------------------------------------------------------------- */

/* The boot ID that the test made up, where there is one. */
static bool boot_anew(void) {
    char path[100];
    struct stat st;
    snprintf(path, sizeof path, "%s/boot", dirs.shm);
    return stat(path, &st) < 0 || (own_mounts() && mount(path, BOOT_ID, NULL, MS_BIND, NULL) == 0);
}

__attribute__((noreturn)) static void live(unsigned number) {
    struct idlog log;
    witness_begin();
    const int64_t begin = tap_now_ms();
    dirs_make();
    report = shared_file("report", sizeof *report);
    layout = layout_of(LAYOUT);
    must(boot_anew(), "no boot ID of its own: %s", strerror(errno));
    sfid_options opt = local_options(APP, STORE, &layout);
    opt.pid_min = 1;
    opt.pid_max = PROCESSES;
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = TAP_WAIT_MS; /* a keeper may be late */
    sfid *g = open_or_die(&opt);
    const uint64_t life = atomic_fetch_add(&report->life, 1) + 1;
    log_start(&log, LOG_ROOM, life, (uint64_t)sfid_pid(g), "%" PRIu64, life);
    int64_t id = next_within(g, TAP_WAIT_MS);
    worst_since(&report->wait, begin);
    for (;; id = sfid_next(g)) {
        if (id < 0) {
            atomic_fetch_add(&report->errors, 1);
            atomic_store(&report->an_error, id);
        } else if (!idlog_full(&log)) {
            idlog_put(&log, id);
        }
        atomic_store(&report->first[number], 1);
        if (atomic_fetch_add(&report->drawn, 1) % BURST == 0)
            nap_us(1000);
    }
}

/* ---- a moment before ---------------------------------------------------- */

struct moment {
    char path[100], state[100];
    /* what there is of them: records come after, and there are but a few */
    struct disk_bytes pages[PROCESSES];
};

static void run_command(const char *fmt, const char *a, const char *b) {
    char command[9000];
    snprintf(command, sizeof command, fmt, a, b);
    must(system(command) == 0, "%s", command);
}

static void page_path(char *path, size_t size, int pid) {
    snprintf(path, size, "%s/%s/pid-%d", dirs.run, APP, pid);
}

static void remember(struct moment *m) {
    char path[200];
    snprintf(m->path, sizeof m->path, "%s/before", dirs.shm);
    snprintf(m->state, sizeof m->state, "%s/before-state", dirs.shm);
    remove_tree(m->path);
    remove_tree(m->state);
    run_command("cp -a --sparse=always '%s' '%s'", dirs.run, m->path);
    run_command("cp -a '%s' '%s'", dirs.state, m->state);
    for (int i = 0; i < PROCESSES; i++) {
        page_path(path, sizeof path, i + 1);
        disk_read(&m->pages[i], path);
    }
}

/* The marks stay; all else is as it was. */
static void bring_back_state(const struct moment *m) {
    run_command("cp -p '%s'/" APP "/pid-* '%s'/" APP "/", dirs.state, m->state);
    remove_tree(dirs.state);
    must(rename(m->state, dirs.state) >= 0, "%s: %s", dirs.state, strerror(errno));
}

static void new_boot_id(uint64_t *rng) {
    char path[100];
    snprintf(path, sizeof path, "%s/boot", dirs.shm);
    FILE *f = fopen(path, "we");
    must(f &&
             fprintf(f, "%08" PRIx64 "-0000-4000-8000-%012" PRIx64 "\n", draw_random(rng) >> 32,
                     draw_random(rng) >> 16) >= 0 &&
             fclose(f) == 0,
         "%s: %s", path, strerror(errno));
}

static void bring_back_run(const struct moment *m, enum way way, uint64_t *rng) {
    char path[200];
    if (way == COPIES) {
        remove_tree(dirs.run);
        must(rename(m->path, dirs.run) >= 0, "%s: %s", dirs.run, strerror(errno));
        return;
    }
    for (int i = 0; i < PROCESSES; i++) {
        page_path(path, sizeof path, i + 1);
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        must(fd >= 0 &&
                 pwrite(fd, m->pages[i].at, m->pages[i].size, 0) == (ssize_t)m->pages[i].size,
             "%s: %s", path, strerror(errno));
        close(fd);
    }
    new_boot_id(rng);
}

/* ---- reboots ------------------------------------------------------------ */

static bool drawn_more(void *arg) { return atomic_load(&report->drawn) >= *(int64_t *)arg; }

static bool let_draw(int64_t more) {
    int64_t until = atomic_load(&report->drawn) + more;
    return tap_wait_until(drawn_more, &until, TAP_WAIT_MS);
}

static bool one_boot(enum way way, uint64_t *rng) {
    static struct moment before;
    pid_t lives[PROCESSES];
    bool good = true;
    for (int i = 0; i < PROCESSES; i++) {
        char number[8];
        snprintf(number, sizeof number, "%d", i);
        atomic_store(&report->first[i], 0);
        lives[i] = self_start("live", number, NULL, NULL, NULL);
    }
    for (int i = 0; i < PROCESSES; i++)
        good = flag_wait(&report->first[i], 1, TAP_WAIT_MS) && good;
    good = good && let_draw((int64_t)(draw_random(rng) % 1000));
    remember(&before);
    good = good && let_draw(200 + (int64_t)(draw_random(rng) % 1000));
    for (int i = 0; i < PROCESSES; i++)
        child_kill(lives[i]);
    atomic_fetch_sub(&disk.control->clock_offset_ns,
                     (int64_t)(draw_random(rng) % BACK_MOST_MS) * NS_PER_MS);
    bring_back_state(&before);
    bring_back_run(&before, way, rng);
    return good;
}

static void test_reboots(enum way way, const char *what, uint64_t *rng) {
    const uint64_t boots = sized(6, 100, 4);
    uint64_t good = 0;
    memset(report, 0, sizeof *report);
    if (way == OTHER_BOOT)
        new_boot_id(rng);
    for (uint64_t i = 0; i < boots; i++)
        good += one_boot(way, rng);
    const struct took wait = worst_of(&report->wait);
    diag("figure: %s: %" PRIu64 " lives, longest wait for a first ID %" PRIi64 " ms", what,
         report->life, wait.ms);
    is_u64(good, boots, "%s: each boot has its IDs", what);
    is_i64(report->errors, 0, "%s: no call fails", what);
    in_time(wait, LEAD_MS + BACK_MOST_MS + OPEN_MS,
            "%s: the first ID comes when the mark has passed", what);
    judge(LAYOUT, "pid", UINT64_MAX, what);
    remove_tree(dirs.run);
}

static int probe_boot(void *arg) {
    uint8_t text[40] = {0}, made[40] = {0};
    char path[100];
    (void)arg;
    snprintf(path, sizeof path, "%s/boot", dirs.shm);
    const bool anew = boot_anew();
    FILE *is = fopen(BOOT_ID, "re"), *wanted = fopen(path, "re");
    return anew && is && wanted && fread(text, 1, 36, is) == 36 &&
                   fread(made, 1, 36, wanted) == 36 && memcmp(text, made, 36) == 0
               ? 0
               : 1;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "live") == 0)
        live((unsigned)atoi(argv[2]));
    uint64_t rng = seed();
    dirs_make();
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm);
    setenv("SFID_TEST_STATE", dirs.state, 1);
    report = shared_file("report", sizeof *report);
    layout = layout_of(LAYOUT);
    disk_begin(&rng);
    test_reboots(COPIES, "copies", &rng);
    new_boot_id(&rng);
    if (child_run(probe_boot, NULL, TAP_WAIT_MS) == 0)
        test_reboots(OTHER_BOOT, "another boot", &rng);
    else
        skip(4, "cannot mount a file system here");
    return done_testing();
}
