/* SPDX-License-Identifier: MIT */
/*
 * A process and a copy of it, as in two machines that were resumed from one image: forked, with a
 * private copy of its page and of the hypervisor's. Both generate the same IDs while nothing shows
 * the copy. Once its machine shows other signs, the copy generates none of the original's, under
 * another pid; and the original, which notices nothing, keeps its own.
 *
 * The ticks are long, so that both generate in one. The program's open() and clock_gettime() stand
 * in for the machine.
 */
#include "support/fleet.h"
#include "support/kernel_clock.h"

#include "draw/page.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define LAYOUT "39:3:14/5000ms"

enum { TICK = 5000, TTL = 20000, HEARTBEAT = 1000, N = 100, AFTER = 2 * N, BEARS_MS = 1500 };

enum sign { COUNTER, MARKER, SLEPT, BOOT, CLOSES, LOCAL, SIGNS };
static const char *const names[SIGNS] = {"counter", "marker", "suspended",
                                         "boot",    "closed", "local store"};

/* ---- the machine ---------------------------------------------------------------- */

static char vmclock_path[200], boot_path[200];
static int64_t slept_ns;
static bool booted;

struct vmclock_page {
    uint32_t magic, size, skipped[2];
    uint64_t marker, flags, of_clocks[9], generation;
};

static int open_instead(const char *path, int flags, mode_t mode) {
    if (vmclock_path[0] && strcmp(path, "/dev/vmclock0") == 0)
        path = vmclock_path;
    else if (booted && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0)
        path = boot_path;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* The library and this program call the one or the other. */
int open64(const char *path, int flags, ...);
int open64(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_instead(path, flags, mode);
}

int clock_gettime(clockid_t id, struct timespec *to) {
    const int rc = kernel_clock(id, to);
    if (rc == 0 && id == CLOCK_BOOTTIME)
        to->tv_sec += slept_ns / 1000000000;
    return rc;
}

static void write_file(const char *path, const void *bytes, size_t n) {
    const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n, "%s: %s", path, strerror(errno));
    close(fd);
}

static void make_machine(enum sign sign) {
    const struct vmclock_page page = {.magic = 0x4b4c4356,
                                      .size = sizeof page,
                                      .marker = 77,
                                      .flags = sign == MARKER ? 0 : 1u << 8,
                                      .generation = 5};
    static const char boot_id[] = "01234567-89ab-4def-8123-456789abcdef\n";
    static_assert(offsetof(struct vmclock_page, generation) == 104, "as the kernel has it");
    snprintf(vmclock_path, sizeof vmclock_path, "%s/vmclock", dirs.shm);
    snprintf(boot_path, sizeof boot_path, "%s/boot", dirs.shm);
    write_file(vmclock_path, &page, sizeof page);
    write_file(boot_path, boot_id, sizeof boot_id - 1);
}

/* Replaces all mappings of files whose name has the text by private copies. Returns the largest:
 * others are there for a lock. */
static void *make_private(const char *text) {
    static struct { uintptr_t from, to; } at[16];
    unsigned n = 0, largest = 0;
    char line[4400];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && n < COUNT(at) && fgets(line, sizeof line, maps))
        if (strstr(line, text) &&
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &at[n].from, &at[n].to) == 2)
            n++;
    if (maps)
        fclose(maps);
    must(n > 0, "no mapping of %s", text);
    for (unsigned i = 0; i < n; i++) {
        const size_t size = at[i].to - at[i].from;
        largest = size > at[largest].to - at[largest].from ? i : largest;
        void *copy = malloc(size), *place = (void *)at[i].from;
        must(copy != NULL, "out of memory");
        memcpy(copy, place, size);
        must(mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                  0) == place,
             "mmap");
        memcpy(place, copy, size);
        free(copy);
    }
    return (void *)at[largest].from;
}

/* ---- the two -------------------------------------------------------------------- */

enum { ORIGINAL, COPY };

static struct shared {
    sfid_options opt;
    enum sign sign;
    atomic_int made, drew[2], done[2];
    int64_t ids[2][AFTER], pid[2][2], losses[2];
    uint64_t mark, noticed; /* local: ticks */
    pid_t original;
} * s;

/* And the library's hint of the clock, which may lag by a few milliseconds, is in it. */
static bool tick_is_young(void *arg) {
    (void)arg;
    const int64_t ms = (wall_ns() / 1000000 - layout.epoch_ms) % TICK;
    return ms > 200 && ms < TICK / 5;
}

static bool is_set(void *flag) { return atomic_load((atomic_int *)flag) != 0; }

static void draw(sfid *g, int who, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        s->ids[who][i] = next_within(g, TAP_WAIT_MS);
        must(s->ids[who][i] >= 0, "%s, ID %u: %s", who == COPY ? "copy" : "original", i,
             sfid_last_error(g));
    }
    s->pid[who][from != 0] = sfid_pid(g);
}

static bool has_moved(void *g) {
    sfid_status_info info;
    return sfid_status(g, &info) == 0 && info.pid != s->pid[COPY][0];
}

/* So is the hint. */
static bool later_tick(void *first) {
    return id_ns(&layout, *(int64_t *)first) + (TICK + 200) * INT64_C(1000000) <= wall_ns();
}

static void show_copy(struct vmclock_page *page) {
    page->generation += s->sign == COUNTER || s->sign == CLOSES || s->sign == LOCAL;
    page->marker += s->sign == MARKER;
    slept_ns = s->sign == SLEPT ? INT64_C(3600000000000) : 0;
    booted = s->sign == BOOT;
}

static bool is_orphan(void *parent) { return getppid() != *(pid_t *)parent; }

/* One that closes in place of the last process of its slot would release the lease; so that one has
 * ended then. */
static void be_copy(sfid *g) {
    struct vmclock_page *vmclock = make_private("/vmclock");
    struct sfid__page *page = make_private("/resumed-");
    atomic_store(&page->watch, 0);    /* the copy of the crew's thread is not there: */
    atomic_store(&page->asked_ms, 1); /* a call is to start another */
    atomic_store(&s->made, 1);
    draw(g, COPY, 0, N);
    atomic_store(&s->drew[COPY], 1);
    must(tap_wait_until(is_set, &s->drew[ORIGINAL], TAP_WAIT_MS), "the original does not draw");
    must(s->sign != CLOSES || tap_wait_until(is_orphan, &s->original, TAP_WAIT_MS),
         "the original does not end");
    s->mark = s->sign == LOCAL ? mark_tick(s->opt.app, sfid_pid(g), &layout) : 0;
    s->noticed = tick_now(&layout);
    show_copy(vmclock);
    if (s->sign != CLOSES) {
        must(s->sign != BOOT || tap_wait_until(has_moved, g, TAP_WAIT_MS),
             "the keeper notices nothing");
        must(tap_wait_until(later_tick, &s->ids[COPY][0], TAP_WAIT_MS), "the tick does not pass");
        draw(g, COPY, N, AFTER);
    }
    sfid_close(g);
    atomic_store(&s->done[COPY], 1);
    _exit(0);
}

static bool has_renewed(void *g) {
    sfid_status_info info;
    return sfid_status(g, &info) == 0 && info.renewals > 2;
}

/* With a server. */
static void go_on(sfid *g) {
    must(tap_wait_until(later_tick, &s->ids[ORIGINAL][0], TAP_WAIT_MS), "the tick does not pass");
    draw(g, ORIGINAL, N, AFTER - 1);
    must(tap_wait_until(is_set, &s->done[COPY], TAP_WAIT_MS), "the copy does not end");
    must(tap_wait_until(has_renewed, g, TAP_WAIT_MS), "no renewals");
    draw(g, ORIGINAL, AFTER - 1, AFTER);
}

static int be_original(void *arg) {
    (void)arg;
    sfid *g = open_or_die(&s->opt);
    next_within(g, TAP_WAIT_MS);
    must(tap_wait_until(tick_is_young, NULL, TAP_WAIT_MS), "no tick begins");
    next_within(g, TAP_WAIT_MS);
    s->original = getpid();
    const pid_t copy = fork();
    if (copy == 0)
        be_copy(g);
    must(tap_wait_until(is_set, &s->made, TAP_WAIT_MS), "no copy is made");
    draw(g, ORIGINAL, 0, N);
    must(tap_wait_until(is_set, &s->drew[COPY], TAP_WAIT_MS), "the copy does not draw");
    atomic_store(&s->drew[ORIGINAL], 1);
    if (s->sign == CLOSES)
        _exit(0);
    if (s->sign == LOCAL)
        must(tap_wait_until(is_set, &s->done[COPY], 2 * TAP_WAIT_MS), "the copy does not end");
    else
        go_on(g);
    sfid_status_info info;
    sfid_status(g, &info);
    s->losses[ORIGINAL] = (int64_t)info.losses;
    sfid_close(g);
    return waitpid(copy, NULL, 0) != copy;
}

static unsigned equal(unsigned from, unsigned to) {
    unsigned n = 0;
    for (unsigned i = from; i < to; i++)
        for (unsigned j = 0; j < AFTER; j++)
            n += s->ids[COPY][i] == s->ids[ORIGINAL][j];
    return n;
}

static void judge_leased(const char *name) {
    is_u64(equal(N, AFTER), 0, "%s: none is once the machine shows it", name);
    ok(s->pid[COPY][1] >= 0 && s->pid[COPY][1] != s->pid[ORIGINAL][0],
       "%s: the copy has another pid", name);
    ok(s->pid[ORIGINAL][1] == s->pid[ORIGINAL][0] && s->losses[ORIGINAL] == 0,
       "%s: the original keeps its own", name);
}

static void judge_closed(struct redis *r, const char *app, const char *name) {
    char line[RECORD];
    ok(tap_wait_until(is_set, &s->done[COPY], TAP_WAIT_MS), "%s: the copy closes", name);
    record_of(r, app, s->pid[COPY][0], line);
    ok(strcmp(line, "nil") != 0 && !is_released(line),
       "%s: and releases nothing, though it is the last", name);
}

/* One tick ahead of the clock is the least: no borrowing. */
static void judge_local(const char *name) {
    const uint64_t first = id_tick(&layout, s->ids[COPY][N]);
    is_u64(equal(N, AFTER), 0, "%s: none is once the machine shows it", name);
    is_i64(s->pid[COPY][1], s->pid[ORIGINAL][0], "%s: the copy has the same pid", name);
    ok(s->mark > s->noticed && first >= s->mark, "%s: and goes on above the mark", name);
    ok(first > s->noticed, "%s: and above what the clock has allowed", name);
}

static void test_sign(struct redis *r, enum sign sign) {
    const char *name = names[sign];
    char app[32];
    snprintf(app, sizeof app, "resumed-%d", (int)sign);
    make_machine(sign);
    *s = (struct shared){.opt = fleet_lease(r, app, TTL, HEARTBEAT), .sign = sign};
    if (sign == LOCAL) {
        s->opt = local_options(app, "local?lead_ms=100", &layout);
        s->opt.max_ahead_ms = 0;
        s->opt.max_wait_ms = TAP_WAIT_MS;
    }
    is_i64(child_run(be_original, NULL, 4 * TAP_WAIT_MS), 0, "%s: a process and its copy end well",
           name);
    is_u64(equal(0, N), N, "%s: all IDs of the copy are the original's while nothing shows it",
           name);
    is_i64(s->pid[COPY][0], s->pid[ORIGINAL][0], "%s: under its pid", name);
    if (sign == LOCAL)
        judge_local(name);
    else if (sign == CLOSES)
        judge_closed(r, app, name);
    else
        judge_leased(name);
}

static void test_resumed(struct redis *r) {
    for (int sign = 0; sign < SIGNS; sign++)
        test_sign(r, (enum sign)sign);
}

int main(void) {
    s = shared_memory(sizeof *s);
    fleet_begin(LAYOUT);
    on_running_servers(1, 0, BEARS_MS, test_resumed);
    return done_testing();
}
