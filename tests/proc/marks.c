/* SPDX-License-Identifier: MIT */
/*
 * The durable mark, of which a part is lost, and no page: the next process generates above all that
 * was generated, or refuses.
 *
 * A process is killed while it writes its mark, so is the next one while it writes its first,
 * second or third; then power is lost, and each block of the mark that was under way is as it was
 * synced, as it was written last, or torn. The clock comes back behind, and the next process may
 * not borrow, so that its window is as short as can be: it cannot hide a mark that was lost behind
 * its own.
 *
 * A mark that was just made: power is lost after the first ID, and what was not synced is gone,
 * names as well; or power is lost before the first ID, and what was not synced is torn.
 *
 * A mark of which a block was damaged, at the moment of a kill, and a next process with the same
 * settings.
 *
 * The killed processes borrow as far as their windows allow: an ID lies just below what is durable.
 */
#include "support/disk.h"

#define LAYOUT "41:10:2/1ms"
#define APP "marks"
#define MARK APP "/pid-1"

enum { AHEAD_MS = 900, BACK_MS = 500, STEP_MS = 20, ENTRIES = 4, FATES = 3, BLOCKS_MOST = 4 };
enum fate { SYNCED, WRITTEN, TORN };

static sfid_layout layout;

static int64_t died_ns; /* when the last process was killed */

static struct report {
    _Atomic int64_t highest;      /* ID that was generated */
    atomic_int at_limit, refused; /* nothing more may be generated; could not be opened */
    int64_t first;                /* ID of the last process, or its error */
    char text[300];
} * report;

/* ---- processes ----------------------------------------------------------- */

static sfid *open_here(bool borrows) {
    sfid_options opt = local_options(APP, "local?lead_ms=100", &layout);
    opt.pid_min = opt.pid_max = 1;
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = borrows ? AHEAD_MS : 0;
    opt.max_wait_ms = 0;
    sfid *g = NULL;
    const int rc = sfid_open(&g, &opt);
    if (rc == 0)
        return g;
    snprintf(report->text, sizeof report->text, "%s", sfid_last_error(g));
    report->first = rc;
    sfid_close(g);
    return NULL;
}

/* Generates all that may be generated, until it is killed. */
__attribute__((noreturn)) static void use_up(void) {
    sfid *g = open_here(true);
    must(g != NULL, "no generator: %s", report->text);
    for (;;) {
        const int64_t id = sfid_try_next(g);
        if (id >= 0)
            raise_to(&report->highest, id);
        else if (id == SFID_ELEASE)
            atomic_store(&report->at_limit, 1);
        if (id < 0)
            nap_us(200);
    }
}

/* One ID, for which the clock is moved on instead of waiting. */
static int succeed(bool borrows) {
    sfid *g = open_here(borrows);
    if (g == NULL)
        return 0;
    struct patience p = {0};
    while (((report->first = sfid_try_next(g)) == SFID_EAGAIN || report->first == SFID_ECLOCK ||
            report->first == SFID_ELEASE) &&
           patient(&p, TAP_WAIT_MS)) {
        if (report->first != SFID_ELEASE) /* that takes the keeper no time of this clock */
            atomic_fetch_add(&disk.control->clock_fixed_ns, STEP_MS * NS_PER_MS);
        nap_us(200);
    }
    snprintf(report->text, sizeof report->text, "%s", sfid_last_error(g));
    return 0;
}

/* ---- what is left of a mark ------------------------------------------------ */

static struct {
    char lost[sizeof dirs.state + 8]; /* the state directory as it was */
    uint64_t inode;                   /* of the former */
    struct disk_bytes synced, last;   /* of the mark */
    size_t dirty[BLOCKS_MOST];        /* blocks that were under way */
    unsigned dirty_count;
} left;

static void find_dirty(void) {
    char path[SHIM_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/" MARK, left.lost);
    must(stat(path, &st) >= 0, "%s: %s", path, strerror(errno));
    disk_read(&left.last, path);
    snprintf(path, sizeof path, "%s/data-%" PRIu64, disk.notes, (uint64_t)st.st_ino);
    disk_read(&left.synced, path);
    left.dirty_count = 0;
    for (size_t at = 0; at < SHIM_FILE_MAX && left.dirty_count < BLOCKS_MOST; at += DISK_BLOCK)
        if (memcmp(left.synced.at + at, left.last.at + at, DISK_BLOCK) != 0)
            left.dirty[left.dirty_count++] = at;
}

/* Nobody runs any more. */
static void lose_power(void) {
    struct stat st;
    snprintf(left.lost, sizeof left.lost, "%s-lost", dirs.state);
    must(stat(dirs.state, &st) >= 0 && rename(dirs.state, left.lost) >= 0, "%s: %s", dirs.state,
         strerror(errno));
    left.inode = st.st_ino;
    find_dirty();
}

static void write_mark(const struct disk_bytes *b) {
    char path[SHIM_PATH];
    snprintf(path, sizeof path, "%s/" MARK, dirs.state);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, b->at, b->size) == (ssize_t)b->size, "%s: %s", path, strerror(errno));
    close(fd);
}

/* Each block of the mark that was under way as `fates` has it, in base 3. */
static void restore_blocks(unsigned fates) {
    static struct disk_bytes b;
    b = left.synced;
    b.size = left.last.size > left.synced.size ? left.last.size : left.synced.size;
    for (unsigned i = 0; i < left.dirty_count; i++, fates /= FATES) {
        const enum fate fate = (enum fate)(fates % FATES);
        if (fate != SYNCED)
            memcpy(b.at + left.dirty[i], left.last.at + left.dirty[i],
                   fate == TORN ? 40 : DISK_BLOCK);
    }
    write_mark(&b);
}

/* The state directory as it was synced, and the mark. */
static void restore(unsigned fates) {
    disk_restore_dir(left.inode, left.lost, dirs.state);
    restore_blocks(fates);
}

/* The state directory as it was synced, and nothing else. Returns whether the mark has a name
 * there. */
static bool restore_synced(void) {
    char path[SHIM_PATH];
    disk.loses_all = true;
    disk_restore_dir(left.inode, left.lost, dirs.state);
    disk.loses_all = false;
    snprintf(path, sizeof path, "%s/" MARK, dirs.state);
    return access(path, F_OK) == 0;
}

/* ---- judging --------------------------------------------------------------- */

static struct { unsigned trials, repeated, refused; } tally;

/*
 * The next process, without a page, at the moment of the last one's death as its clock has it, or
 * so long before. That clock stands, so that a machine that takes long to start a process does not
 * hide a mark that was lost.
 */
static void judge_next(const char *settings, int64_t back_ms, const char *what, unsigned which) {
    remove_tree(dirs.run);
    atomic_store(&disk.control->clock_fixed_ns, died_ns - back_ms * NS_PER_MS);
    report->first = -1;
    const pid_t child = self_start("succeed", settings, NULL, NULL, NULL);
    must(child_wait(child, TAP_WAIT_MS) == 0, "the next process does not come to its end");
    tally.trials++;
    tally.refused += report->first < 0;
    if (report->first >= 0 && report->first <= atomic_load(&report->highest) &&
        tally.repeated++ == 0)
        diag("%s, %u: %" PRIi64 " after %" PRIi64, what, which, report->first,
             atomic_load(&report->highest));
    if (report->first < 0)
        diag("%s, %u: refused: %s", what, which, report->text);
}

static void told(const char *what) {
    diag("figure: %s: %u next processes, %u refused", what, tally.trials, tally.refused);
    is_u64(tally.repeated, 0, "%s: none generates what was generated", what);
    ok(tally.trials > tally.refused, "%s: and not all refuse", what);
    memset(&tally, 0, sizeof tally);
}

/* ---- losses ---------------------------------------------------------------- */

static bool hangs(void *arg) {
    (void)arg;
    return atomic_load(&disk.control->mark_begun) >= atomic_load(&disk.control->mark_hangs);
}

/* A process that has renewed a few times, and generated up to its limit, while a sync of the mark
 * hangs. */
static void die_in_sync(uint64_t syncs) {
    atomic_store(&report->at_limit, 0);
    atomic_store(&disk.control->mark_hangs, atomic_load(&disk.control->mark_begun) + syncs);
    const pid_t child = self_start("use-up", NULL, NULL, NULL, NULL);
    must(tap_wait_until(hangs, NULL, TAP_WAIT_MS), "no sync of a mark");
    must(syncs != ENTRIES || flag_wait(&report->at_limit, 1, TAP_WAIT_MS),
         "the window does not end");
    died_ns = wall_ns();
    child_kill(child);
}

static void begin_state(void) {
    remove_tree(dirs.run);
    remove_tree(dirs.state);
    remove_tree(left.lost);
    disk_settle();
    atomic_store(&report->highest, -1);
    atomic_store(&disk.control->mark_hangs, 0);
    atomic_store(&disk.control->clock_fixed_ns, 0);
}

static void test_losses(uint64_t second) {
    char what[80];
    unsigned count = 1;
    snprintf(what, sizeof what, "killed in sync %" PRIu64 " after a kill", second);
    begin_state();
    die_in_sync(ENTRIES);
    die_in_sync(second);
    lose_power();
    for (unsigned i = 0; i < left.dirty_count; i++)
        count *= FATES;
    for (unsigned fates = 0; fates < count; fates++) {
        restore(fates);
        judge_next("other", BACK_MS, what, fates);
        remove_tree(dirs.state);
    }
    ok(left.dirty_count > 0, "%s: %u blocks were under way", what, left.dirty_count);
    told(what);
}

static bool has_id(void *arg) {
    (void)arg;
    return atomic_load(&report->highest) >= 0;
}

/* The name of the mark has to be durable by then, not only its content, even if a process before
 * was killed between the two. */
static void test_first_id(bool killed_before) {
    begin_state();
    if (killed_before) {
        die_in_sync(1);
        atomic_store(&disk.control->mark_hangs, 0);
    }
    const pid_t child = self_start("use-up", NULL, NULL, NULL, NULL);
    must(tap_wait_until(has_id, NULL, TAP_WAIT_MS), "no ID");
    child_kill(child);
    died_ns = wall_ns();
    lose_power();
    ok(restore_synced(), "the first ID of a pid: the name of its mark is durable");
    judge_next("other", BACK_MS, "first ID", 0);
    told("after the first ID of a pid, what was not synced is lost");
}

/* A name that is durable has content that is: a block of it that is torn leaves the mark
 * damaged. */
static void test_before_id(void) {
    const unsigned all_torn = TORN * (1 + FATES + FATES * FATES + FATES * FATES * FATES);
    begin_state();
    die_in_sync(1);
    lose_power();
    if (restore_synced())
        restore_blocks(all_torn);
    judge_next("other", BACK_MS, "no ID yet", 0);
    told("before the first ID of a pid, what was not synced is torn");
}

static void test_damage(void) {
    static struct disk_bytes whole, bad;
    unsigned used = 0;
    begin_state();
    die_in_sync(ENTRIES);
    lose_power();
    whole = left.synced; /* what lies beyond it was never used */
    for (size_t at = 0; at < whole.size; at += DISK_BLOCK) {
        unsigned filled = 0;
        for (size_t i = 0; i < DISK_BLOCK && at + i < whole.size; i++)
            filled += whole.at[at + i] != 0;
        used += filled > 0;
        /* one bit, zeros, the rest of the file as well */
        for (unsigned how = 0; filled > 0 && how < 3; how++) {
            disk_restore_dir(left.inode, left.lost, dirs.state);
            bad = whole;
            if (how == 0)
                bad.at[at + 33] = (char)(bad.at[at + 33] ^ 1);
            else
                memset(bad.at + at, how == 1 ? 0 : 0x55, how == 1 ? DISK_BLOCK : whole.size - at);
            write_mark(&bad);
            judge_next("same", 0, "damaged", (unsigned)(at / DISK_BLOCK * 3 + how));
            remove_tree(dirs.state);
        }
    }
    ok(used > 1, "damaged: %u blocks of a mark", used);
    told("damaged");
}

int main(int argc, char **argv) {
    const char *role = argc > 1 ? argv[1] : "";
    dirs_make();
    layout = layout_of(LAYOUT);
    report = shared_file("report", sizeof *report);
    disk.control = shared_file("control", sizeof *disk.control);
    if (strcmp(role, "use-up") == 0)
        use_up();
    if (strcmp(role, "succeed") == 0)
        return succeed(argc > 2 && strcmp(argv[2], "same") == 0);
    uint64_t rng = seed();
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm);
    setenv("SFID_TEST_STATE", dirs.state, 1);
    disk_begin(&rng);
    test_first_id(false);
    test_first_id(true);
    test_before_id();
    for (uint64_t second = 1; second <= 3; second++)
        test_losses(second);
    test_damage();
    is_u64(disk.control->not_simulated, 0, "nothing is synced in a way that is not simulated");
    return done_testing();
}
