/* SPDX-License-Identifier: MIT */
/*
 * Old meets new, on one host and one server: each format as another version of the library leaves
 * it, and what this one makes of it. The table of doc/upgrade.md says what to expect: its first
 * word, and the words that it quotes.
 *
 * One size. What an older library left is planted as the library of that time wrote it; a newer
 * one's with the next number in the place of the version. Two libraries with one lease script each:
 * tests/fleet/upgrade.
 */
#include "draw/page.h"
#include "support/fleet.h"

#include <sys/file.h>

#define LAYOUT "41:4:12/1ms"
#define APP "formats"

enum side { OLDER, NEWER, SIDES };
enum { PID = 3, OLDER_MAP_SIZE = 1 << 20, WINDOW_MS = 60000, SHORT_MS = 300 };

static const char *const sides[SIDES] = {"older", "newer"};
static char *page_of_upgrade;

/* ---- what the table says ------------------------------------------------------ */

struct cell {
    char outcome[16], words[240]; /* words "": it quotes none */
};

static struct cell cell_of(const char *row, enum side side) {
    char begin[100];
    struct cell cell = {"", ""};
    snprintf(begin, sizeof begin, "\n| %s |", row);
    const char *at = strstr(page_of_upgrade, begin);
    must(at != NULL, "doc/upgrade.md has no row \"%s\"", row);
    at += strlen(begin);
    if (side == NEWER)
        at += strcspn(at, "|") + 1;
    const size_t size = strcspn(at, "|\n");
    sscanf(at, " %15[a-z]", cell.outcome);
    const char *quote = memchr(at, '"', size);
    if (quote)
        sscanf(quote, "\"%239[^\"]", cell.words);
    return cell;
}

/* ---- what happens ------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char seen[4000];

static void note(const char *text) {
    pthread_mutex_lock(&lock);
    const size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, "%s\n", text);
    pthread_mutex_unlock(&lock);
}

static void note_event(void *unused, const sfid_event *e) {
    (void)unused;
    note(e->text);
}

/* A server's pid that is not to be had yet may come free; this library asks until its time is
 * over. */
static const char *outcome_of(const sfid_options *opt, int opened, int64_t id) {
    if (id > 0)
        return "works";
    return opened == 0 || (opened == SFID_ENOPID && strcmp(opt->store, "local") != 0) ? "waits"
                                                                                      : "refuses";
}

static void meet(const char *row, enum side side, sfid_options opt) {
    const struct cell want = cell_of(row, side);
    sfid *g = NULL;
    seen[0] = '\0';
    opt.on_event = note_event;
    opt.max_wait_ms = 20;
    const int rc = sfid_open(&g, &opt);
    const int64_t id = rc < 0 ? rc : sfid_next(g);
    const char *outcome = outcome_of(&opt, rc, id);
    if (id < 0)
        note(sfid_last_error(g));
    sfid_close(g);
    is_str(outcome, want.outcome, "%s of the %s library", row, sides[side]);
    if (!ok(strstr(seen, want.words) != NULL, "%s of the %s library: \"%s\"", row, sides[side],
            want.words) ||
        strcmp(outcome, want.outcome) != 0)
        diag("%s", seen);
}

/* ---- files -------------------------------------------------------------------- */

static sfid_options of_host(void) {
    sfid_options opt = local_options(APP, "local", &layout);
    opt.pid_min = opt.pid_max = PID;
    return opt;
}

static int use_and_close(void *opt) {
    sfid *g = open_or_die(opt);
    const bool good = sfid_next(g) > 0;
    sfid_close(g);
    return good ? 0 : 1;
}

static int use_and_die(void *opt) {
    sfid *g = open_or_die(opt);
    return sfid_next(g) > 0 ? 0 : 1;
}

static void used(sfid_options opt, int (*use)(void *)) {
    must(child_run(use, &opt, TAP_WAIT_MS) == 0, "a process could not generate");
}

static int opened(const char *dir, const char *name, int flags) {
    char path[4400];
    snprintf(path, sizeof path, "%s/" APP "/%s", dir, name);
    const int fd = open(path, flags | O_CLOEXEC, 0600);
    must(fd >= 0, "%s: %s", path, strerror(errno));
    return fd;
}

static void forget(void) {
    remove_tree(dirs.run);
    remove_tree(dirs.state);
}

/* The page's version is its second word of 32 bits, its size the third one. */
static void plant_page(const char *name, enum side side) {
    const int fd = opened(dirs.run, name, O_RDWR);
    uint32_t head[2] = {side == OLDER ? SFID__PAGE_VERSION - 1 : SFID__PAGE_VERSION + 1,
                        side == OLDER ? OLDER_MAP_SIZE : SFID__MAP_SIZE};
    must(ftruncate(fd, head[1]) == 0 && pwrite(fd, head, sizeof head, 8) == sizeof head,
         "pwrite: %s", strerror(errno));
    close(fd);
}

static void pages(enum side side) {
    const sfid_options opt = of_host();
    used(opt, use_and_close);
    plant_page("pid-3", side);
    meet("page, after a close", side, opt);
    forget();
    used(opt, use_and_die);
    plant_page("pid-3", side);
    meet("page, after a kill", side, opt);
    forget();
}

/* A process of the other library holds the pid: the locks are the same for all. */
static void pages_in_use(enum side side) {
    sfid_options opt = of_host();
    used(opt, use_and_close);
    plant_page("pid-3", side);
    const int page = opened(dirs.run, "pid-3", O_RDWR), mark = opened(dirs.state, "pid-3", O_RDWR);
    must(flock(page, LOCK_EX | LOCK_NB) == 0 && flock(mark, LOCK_EX | LOCK_NB) == 0, "flock: %s",
         strerror(errno));
    meet("page in use, no other pid", side, opt);
    opt.pid_max++;
    meet("page in use, others free", side, opt);
    close(page), close(mark);
    forget();
}

static void shared_pages_in_use(enum side side) {
    char name[40];
    sfid_options opt = of_host();
    used(opt, use_and_close);
    snprintf(name, sizeof name, "share%d%s.0", SFID__PAGE_VERSION + (side == OLDER ? -1 : 1),
             side == OLDER ? "g40" : "");
    const int page = opened(dirs.run, name, O_RDWR | O_CREAT),
              mark = opened(dirs.state, "pid-3", O_RDWR);
    must(flock(page, LOCK_SH | LOCK_NB) == 0 && flock(mark, LOCK_SH | LOCK_NB) == 0, "flock: %s",
         strerror(errno));
    opt.share = 1;
    meet("shared page in use, no other pid", side, opt);
    opt.pid_max++;
    meet("shared page in use, others free", side, opt);
    close(page), close(mark);
    forget();
}

/* FNV-1a of all but the sum itself. */
static uint64_t sum_of(const struct mark_entry *e) {
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < offsetof(struct mark_entry, checksum); i++)
        sum = (sum ^ ((const unsigned char *)e)[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* The format before had two entries, with a flag for a clean close in the place of `life`. */
static void plant_mark(enum side side) {
    const int fd = opened(dirs.state, "pid-3", O_RDWR), entries = side == OLDER ? 2 : MARK_ENTRIES;
    must(ftruncate(fd, (off_t)entries * MARK_BLOCK) == 0, "ftruncate: %s", strerror(errno));
    for (int i = 0; i < entries; i++) {
        struct mark_entry e;
        must(pread(fd, &e, sizeof e, (off_t)i * MARK_BLOCK) == sizeof e, "pread: %s",
             strerror(errno));
        memcpy(e.magic, side == OLDER ? "sfidmrk1" : "sfidmrk3", sizeof e.magic);
        e.life = side == OLDER ? e.life & 1 : e.life;
        e.checksum = sum_of(&e);
        must(pwrite(fd, &e, sizeof e, (off_t)i * MARK_BLOCK) == sizeof e, "pwrite: %s",
             strerror(errno));
    }
    close(fd);
}

static void marks(enum side side) {
    for (int others = 0; others < 2; others++) {
        sfid_options opt = of_host();
        used(opt, use_and_close);
        plant_mark(side);
        opt.pid_max += others;
        meet(others ? "mark, others free" : "mark, no other pid", side, opt);
        forget();
    }
}

static void put(const char *path, const char *text) {
    const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0,
         "%s: %s", path, strerror(errno));
}

/* Neither has changed so far. */
static void names(void) {
    char path[4400];
    const sfid_options opt = of_host();
    used(opt, use_and_close);
    snprintf(path, sizeof path, "%s/" APP "/layout", dirs.state);
    put(path, "2:0123456789abcdef 41:4:12/1ms\n");
    meet("layout of an app", NEWER, opt);
    forget();
    used(opt, use_and_close);
    snprintf(path, sizeof path, "%s/machine_id", dirs.state);
    put(path, "2: host-0123\n");
    meet("machine ID", NEWER, opt);
    forget();
}

/* ---- a server -------------------------------------------------------------------- */

static sfid_options of_server(const struct redis *r) {
    sfid_options opt = fleet_options(r, APP, &layout);
    opt.pid_min = opt.pid_max = PID;
    opt.ttl_ms = WINDOW_MS;
    opt.skew_budget_ms = 500;
    opt.open_timeout_ms = TAP_WAIT_MS;
    opt.on_unknown = SFID_TRUST;
    fleet_timeout(&opt, r, 2000);
    return opt;
}

static void afresh(struct redis *r) {
    redis_do(r, "FLUSHALL", NULL);
    forget();
}

/* Another pid, if there is one, is had at once; the only one is taken for longer than this library
 * asks. */
static void meet_server(const char *row, enum side side, sfid_options opt, bool others,
                        bool waits) {
    char whole[100];
    opt.pid_max += others;
    opt.open_timeout_ms = waits && !others ? SHORT_MS : TAP_WAIT_MS;
    snprintf(whole, sizeof whole, "%s, %s", row, others ? "others free" : "no other pid");
    meet(whole, side, opt);
}

static void server_pages(struct redis *r, enum side side, bool others) {
    const sfid_options opt = of_server(r);
    used(opt, use_and_die);
    plant_page("0", side);
    meet_server("page with a server's lease", side, opt, others, true);
    afresh(r);
}

static void records(struct redis *r, bool others) {
    const sfid_options opt = of_server(r);
    used(opt, use_and_close);
    redis_do(r, "HSET", "sfid:" APP, "3",
             "v2 00029576804582 0000014a1aba85fb host:0:c97228a861ee5e8f", NULL);
    meet_server("record in the hash", NEWER, opt, others, true);
    afresh(r);
}

/* The older one ends as ours does, in a colon and a token of 16 digits. */
static void registrations(struct redis *r, enum side side, bool others) {
    char key[100];
    const char *const who =
        side == OLDER ? "host:0:c97228a861ee5e8f" : "host/0/c97228a861ee5e8f/v2";
    const size_t size = registration_of(APP, PID, key);
    redis_text_n(r, 3, (const char *const[]){"SET", key, who},
                 (const size_t[]){3, size, strlen(who)});
    meet_server("registration", side, of_server(r), others, side == NEWER);
    afresh(r);
}

/* min_good came later than the first settings. And a setting that this library does not know. */
static void hashes(struct redis *r) {
    char lay[200], own[200], store[300];
    const sfid_options opt = of_server(r);
    sfid_options later = opt;
    snprintf(store, sizeof store, "unix://%s?timeout=2s&min_good=1", r->socket);
    later.store = store;
    used(opt, use_and_close);
    meet("settings in the hash", OLDER, later);
    redis_do(r, "HSET", "sfid:" APP, "later", "2", NULL);
    meet("a field of the hash", NEWER, opt);
    snprintf(own, sizeof own, "%s", redis_text(r, "HGET", "sfid:" APP, "lay", NULL));
    redis_do(r, "HSET", "sfid:" APP, "lay", strchr(own, ' ') + 1, NULL);
    meet("lease rules of the hash", OLDER, opt);
    snprintf(lay, sizeof lay, "3%s", strchr(own, ' '));
    redis_do(r, "HSET", "sfid:" APP, "lay", lay, NULL);
    meet("lease rules of the hash", NEWER, opt);
    redis_do(r, "HSET", "sfid:" APP, "lay", own, NULL);
    snprintf(lay, sizeof lay, "%s new 2", redis_text(r, "HGET", "sfid:" APP, "lay", NULL));
    redis_do(r, "HSET", "sfid:" APP, "lay", lay, NULL);
    meet("settings in the hash", NEWER, opt);
    afresh(r);
}

static void test_server(struct redis *r) {
    for (int others = 0; others < 2; others++) {
        for (enum side side = OLDER; side < SIDES; side++) {
            server_pages(r, side, others);
            registrations(r, side, others);
        }
        records(r, others);
    }
    hashes(r);
}

int main(void) {
    fleet_begin(LAYOUT);
    page_of_upgrade = files_text((const char *const[]){"doc/upgrade.md", NULL});
    for (enum side side = OLDER; side < SIDES; side++) {
        pages(side);
        pages_in_use(side);
        shared_pages_in_use(side);
        marks(side);
    }
    names();
    on_servers(0, 0, test_server);
    free(page_of_upgrade);
    return done_testing();
}
