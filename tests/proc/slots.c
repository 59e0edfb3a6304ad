/* SPDX-License-Identifier: MIT */
/*
 * Files of a process that died are spoilt before the next one attaches: cut to every length, any
 * byte changed, copied back, exchanged, removed; slot files and those of the state directory. Each
 * time the next process gets a clear error or IDs above all that were issued, never a signal, and
 * leaves no second file behind. The layout has ticks of a second, so that a process that forgets
 * what was issued repeats it.
 *
 * Sizes: each third byte of a slot file's first 832 and of the first 96 of both blocks of a state
 * file is changed once (long: each, 4 times; sanitizer: each 8th); lengths are each third to 512,
 * then steps of 64 (long: each; sanitizer: each 37th).
 */
#include "support/proc.h"

enum { IDS = 10, HEADER_AND_RECORDS = 832, BLOCK = 4096, BLOCK_HEAD = 96, FAULTS_SHOWN = 10 };

static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;

/* What lives tell the test. */
static struct told {
    int64_t highest; /* ID issued under this app and pid */
    int rc;          /* of the successor's open */
    bool waits;      /* it would have to wait for its first ID */
    char text[300];
    atomic_int drawn, go_on;
} * told;

struct life {
    char app[32];
    int64_t pid;
    bool closing;
};

/* ---- lives -------------------------------------------------------------- */

static bool draw_above(sfid *g, int64_t pid, struct told *t) {
    sfid_parts parts;
    for (int i = 0; i < IDS; i++) {
        const int64_t id = next_within(g, TAP_WAIT_MS);
        if (id <= t->highest || sfid_parse(layout, id, &parts) != 0 || parts.pid != (uint64_t)pid) {
            fprintf(stderr, "# got %" PRId64 ", issued before %" PRId64 ", pid %" PRId64 "\n", id,
                    t->highest, pid);
            return false;
        }
        t->highest = id;
    }
    return true;
}

/* Draws, and ends with or without closing. */
static int first_life(void *arg) {
    const struct life *life = arg;
    const sfid_options opt = options_of(life->app, life->pid, layout);
    sfid *g = open_or_die(&opt);
    if (!draw_above(g, life->pid, told))
        return 1;
    if (life->closing)
        sfid_close(g);
    return 0;
}

/* Draws, is copied, draws more and waits for its end. */
static int copied_life(void *arg) {
    const struct life *life = arg;
    const sfid_options opt = options_of(life->app, life->pid, layout);
    sfid *g = open_or_die(&opt);
    for (;;) {
        if (!draw_above(g, life->pid, told))
            return 1;
        atomic_fetch_add(&told->drawn, 1);
        flag_wait(&told->go_on, atomic_load(&told->drawn), TAP_WAIT_MS);
    }
}

/* May be refused, with a reason; where it is not, its IDs are above. A far mark is not waited for,
 * but borrowed, or let be. */
static int next_life(void *arg) {
    const struct life *life = arg;
    sfid_options opt = options_of(life->app, life->pid, layout);
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 3600000;
    const int fds = count_fds();
    int threads = count_threads();
    sfid *g = NULL;
    told->rc = sfid_open(&g, &opt);
    snprintf(told->text, sizeof told->text, "%s", sfid_last_error(g));
    told->waits = told->rc == 0 && postponed(g, sfid_try_next(g));
    const bool good =
        told->rc == 0 ? told->waits || draw_above(g, life->pid, told) : strlen(told->text) > 10;
    sfid_close(g);
    if (count_fds() != fds || !tap_wait_until(threads_are, &threads, TAP_WAIT_MS)) {
        fprintf(stderr, "# %d descriptors, %d threads were left\n", count_fds() - fds,
                count_threads() - threads);
        return 2;
    }
    return good ? 0 : 1;
}

/* ---- files -------------------------------------------------------------- */

enum place { SLOT, STATE };

/* The n-th regular file of an app, by name, the doors of slots left out; false when there are
 * fewer. */
static bool find_file(enum place place, const char *app, int n, char *path, size_t size) {
    char dir[4300];
    struct dirent **names = NULL;
    snprintf(dir, sizeof dir, "%s/%s", place == SLOT ? dirs.run : dirs.state, app);
    const int all = scandir(dir, &names, NULL, alphasort);
    bool found = false;
    for (int i = 0; i < all; i++) {
        struct stat st;
        char candidate[4600];
        snprintf(candidate, sizeof candidate, "%s/%s", dir, names[i]->d_name);
        const bool wanted = place == STATE || strcmp(names[i]->d_name, "lock") != 0;
        if (!found && wanted && lstat(candidate, &st) == 0 && S_ISREG(st.st_mode) && n-- == 0) {
            found = true;
            snprintf(path, size, "%s", candidate);
        }
        free(names[i]);
    }
    free(names);
    return found;
}

/* Begin of the state word: the eight bytes that hold the last ID's tick and the next number. */
static off_t word_at(int fd, int64_t last) {
    uint64_t words[BLOCK / 8];
    const uint64_t next = ((uint64_t)last >> layout->time_shift << layout->seq_bits |
                           ((uint64_t)last & layout->max_seq)) +
                          1;
    const ssize_t n = pread(fd, words, sizeof words, 0);
    for (ssize_t i = 0; i < n / 8; i++)
        if (words[i] == next)
            return i * 8;
    return -1;
}

enum how { CUT, CHANGE, WORD_ONES, WORD_ZERO, REMOVE, EMPTY_NEW };

struct spoil {
    enum place place;
    int file; /* of the app */
    enum how how;
    off_t at;
    uint8_t change;
    bool slot_lost; /* as well */
};

/* False when there is nothing to spoil: no such file, past its end, the word's own bytes. */
static bool spoil(const struct life *life, const struct spoil *s) {
    char path[4600];
    uint8_t byte;
    static const uint64_t ones = UINT64_MAX, zero;
    struct stat st;
    if (!find_file(s->place, life->app, s->file, path, sizeof path))
        return false;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    must(fd >= 0 && fstat(fd, &st) >= 0, "%s: %s", path, strerror(errno));
    const off_t word = word_at(fd, told->highest);
    bool done = false;
    switch (s->how) {
    case CUT:
        done = s->at < st.st_size && ftruncate(fd, s->at) == 0;
        break;
    case CHANGE:
        if (s->place == SLOT && s->at >= word && s->at < word + 8 && !life->closing)
            break;
        done = pread(fd, &byte, 1, s->at) == 1;
        byte ^= s->change;
        done = done && pwrite(fd, &byte, 1, s->at) == 1;
        break;
    case WORD_ONES:
    case WORD_ZERO:
        done = word >= 0 && pwrite(fd, s->how == WORD_ONES ? &ones : &zero, 8, word) == 8;
        break;
    case REMOVE:
        done = unlink(path) == 0;
        break;
    case EMPTY_NEW:
        done = unlink(path) == 0 && close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == 0;
    }
    close(fd);
    if (done && s->slot_lost && find_file(SLOT, life->app, 0, path, sizeof path))
        unlink(path);
    return done;
}

/* ---- trials ------------------------------------------------------------- */

struct group {
    const char *name;
    unsigned trials, faults, attached, waiting, refused;
};

/* The page, under two names if processes share it, and the doors. */
static int page_files(void) { return 2 + shares(); }

static void fault(struct group *g, const char *what, const struct spoil *s, int status) {
    if (++g->faults <= FAULTS_SHOWN)
        diag("%s: %s (file %d of %s, way %d at %lld, change %02x): status %d, open %d %s", g->name,
             what, s->file, s->place == SLOT ? "slots" : "state", (int)s->how, (long long)s->at,
             s->change, status, told->rc, told->text);
}

static void try_spoil(struct group *g, const struct spoil *s, bool closing) {
    static unsigned number;
    struct life life = {.closing = closing, .pid = number % 2048};
    char dir[120];
    snprintf(life.app, sizeof life.app, "app-%u", ++number);
    memset(told, 0, sizeof *told);
    int status = child_run(first_life, &life, TAP_WAIT_MS);
    if (status != 0) {
        fault(g, "the first life failed", s, status);
        return;
    }
    if (!spoil(&life, s))
        return;
    g->trials++;
    status = child_run(next_life, &life, TAP_WAIT_MS);
    if (status != 0)
        fault(g, "the next life failed", s, status);
    snprintf(dir, sizeof dir, "%s/%s", dirs.run, life.app);
    if (told->rc == 0 && count_entries(dir) != page_files())
        fault(g, "files are left behind", s, count_entries(dir));
    g->attached += told->rc == 0 && !told->waits;
    g->waiting += told->waits;
    g->refused += told->rc != 0;
    remove_tree(dir);
}

static void end_group(const struct group *g) {
    ok(g->trials > 0 && g->faults == 0, "%s: a clear error, or IDs above all before", g->name);
    diag("figure: %s: %u trials, %u went on, %u would wait first, %u were refused", g->name,
         g->trials, g->attached, g->waiting, g->refused);
}

static off_t cut_step(enum place place, off_t at) {
    return SANITIZED || (at < 512 && (place == SLOT || at < BLOCK_HEAD)) ? (off_t)sized(3, 1, 37)
                                                                         : 64;
}

static void test_cut(enum place place, int file, bool slot_lost, const char *name) {
    struct group g = {.name = name};
    /* An empty state file is that of a process that died before it issued anything, if no slot file
     * says otherwise. */
    for (off_t at = slot_lost ? 1 : 0; at <= BLOCK; at += cut_step(place, at)) {
        const struct spoil s = {
            .place = place, .file = file, .how = CUT, .at = at, .slot_lost = slot_lost};
        const unsigned before = g.trials;
        try_spoil(&g, &s, at % 4 == 3);
        if (place == STATE && g.trials == before)
            break; /* past its end */
    }
    end_group(&g);
}

static void test_bytes(enum place place, int file, bool slot_lost, uint64_t *rng,
                       const char *name) {
    struct group g = {.name = name};
    const off_t end = place == SLOT ? HEADER_AND_RECORDS : BLOCK + BLOCK_HEAD;
    for (uint64_t round = 0; round < sized(1, 4, 1); round++)
        for (off_t at = 0; at < end; at += (off_t)sized(3, 1, 8)) {
            if (place == STATE && at == BLOCK_HEAD)
                at = BLOCK;
            const struct spoil s = {.place = place,
                                    .file = file,
                                    .how = CHANGE,
                                    .at = at,
                                    .change = (uint8_t)(1 + draw_random(rng) % 255),
                                    .slot_lost = slot_lost};
            try_spoil(&g, &s, (at + (off_t)round) % 4 == 3);
        }
    end_group(&g);
}

static void test_whole(enum place place, int file, bool slot_lost, const char *name) {
    struct group g = {.name = name};
    for (int i = 0; i < 20; i++) {
        const struct spoil s = {.place = place,
                                .file = file,
                                .how = i % 4 < 2 ? REMOVE : EMPTY_NEW,
                                .slot_lost = slot_lost};
        try_spoil(&g, &s, i % 2);
    }
    end_group(&g);
}

static void test_word(void) {
    struct group g = {.name = "the state word"};
    for (int i = 0; i < 10; i++) {
        const struct spoil s = {.place = SLOT, .how = i % 2 ? WORD_ONES : WORD_ZERO};
        try_spoil(&g, &s, false);
    }
    end_group(&g);
}

/* ---- whole files in the wrong place ------------------------------------- */

static void copy_file(const char *from, const char *to) {
    char buffer[BLOCK];
    ssize_t n;
    const int in = open(from, O_RDONLY | O_CLOEXEC),
              out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(in >= 0 && out >= 0, "%s: %s", from, strerror(errno));
    while ((n = read(in, buffer, sizeof buffer)) > 0)
        must(write(out, buffer, (size_t)n) == n, "%s: %s", to, strerror(errno));
    close(in);
    close(out);
}

/* A copy made while the file was in use takes its place after the process died: it knows less than
 * was issued. */
static void test_copied(void) {
    for (int i = 0; i < 10; i++) {
        struct life life = {.pid = 5};
        char path[4600], copy[200], dir[120];
        snprintf(life.app, sizeof life.app, "copied-%d", i);
        memset(told, 0, sizeof *told);
        const pid_t child = child_start(copied_life, &life);
        bool good = flag_wait(&told->drawn, 1, TAP_WAIT_MS) &&
                    find_file(SLOT, life.app, 0, path, sizeof path);
        snprintf(copy, sizeof copy, "%s/copy", dirs.shm);
        copy_file(path, copy);
        atomic_store(&told->go_on, 5);
        good = good && flag_wait(&told->drawn, 6, TAP_WAIT_MS);
        child_kill(child);
        good = good && rename(copy, path) == 0;
        const int status = child_run(next_life, &life, TAP_WAIT_MS);
        snprintf(dir, sizeof dir, "%s/%s", dirs.run, life.app);
        if (!ok(good && status == 0 && (told->rc != 0 || count_entries(dir) == page_files()),
                "a copy in the place of the original"))
            diag("status %d, open %d %s, %d files", status, told->rc, told->text,
                 count_entries(dir));
    }
}

/* Two slot files change names, as pids of one app or as apps with the same pid. Both are what their
 * inode says they are. */
static void test_exchanged(bool apps) {
    struct life lives[2] = {{.app = "exchanged-a", .pid = 1}, {.app = "exchanged-a", .pid = 2}};
    int64_t highest[2];
    char path[2][4600];
    if (apps) {
        snprintf(lives[0].app, sizeof lives[0].app, "exchanged-b");
        snprintf(lives[1].app, sizeof lives[1].app, "exchanged-c");
        lives[0].pid = lives[1].pid = 3;
    }
    for (int i = 0; i < 2; i++) {
        memset(told, 0, sizeof *told);
        is_i64(child_run(first_life, &lives[i], TAP_WAIT_MS), 0, "a first life");
        if (i == 1)
            is_i64(child_run(first_life, &lives[i], TAP_WAIT_MS), 0,
                   "its second life: the other file is behind now");
        highest[i] = told->highest;
    }
    const bool found = find_file(SLOT, lives[0].app, 0, path[0], sizeof path[0]) &&
                       find_file(SLOT, lives[1].app, apps ? 0 : 1, path[1], sizeof path[1]);
    ok(found && renameat2(AT_FDCWD, path[0], AT_FDCWD, path[1], RENAME_EXCHANGE) == 0,
       "their slot files change places");
    for (int i = 0; i < 2; i++) {
        memset(told, 0, sizeof *told);
        told->highest = highest[i];
        if (!is_i64(child_run(next_life, &lives[i], TAP_WAIT_MS), 0,
                    "slot files exchanged between %s: no ID repeated", apps ? "apps" : "pids"))
            diag("open %d %s", told->rc, told->text);
    }
}

int main(void) {
    uint64_t rng = seed();
    char name[80], path[4600];
    dirs_make();
    /* thousands of files: not a test of the disk */
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm);
    told = shared_memory(sizeof *told);
    test_cut(SLOT, 0, false, "slot file cut off");
    test_bytes(SLOT, 0, false, &rng, "slot file with a byte changed");
    test_whole(SLOT, 0, false, "slot file removed or empty");
    test_word();
    for (int file = 0; find_file(STATE, "app-1", file, path, sizeof path); file++) {
        snprintf(name, sizeof name, "state file %s", strrchr(path, '/') + 1);
        diag("%s", name);
        test_whole(STATE, file, false, "state file removed or empty");
        struct stat st;
        if (stat(path, &st) == 0 && st.st_size == 0)
            continue; /* the file of locks: there is nothing in it to change */
        test_cut(STATE, file, false, "state file cut off");
        test_bytes(STATE, file, false, &rng, "state file with a byte changed");
        test_cut(STATE, file, true, "state file cut off, slot file lost");
        test_bytes(STATE, file, true, &rng, "state file with a byte changed, slot file lost");
    }
    test_copied();
    test_exchanged(false);
    test_exchanged(true);
    return done_testing();
}
