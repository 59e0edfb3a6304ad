/* SPDX-License-Identifier: MIT */
#include "support/local.h"

sfid_options local_options(const char *app, const char *store, const sfid_layout *l) {
    sfid_options opt = options_of(app, -1, l);
    opt.store = store;
    return opt;
}

int64_t pid_of_open(const sfid_options *opt) {
    sfid *g = NULL;
    const int rc = sfid_open(&g, opt);
    const int64_t pid = rc == 0 ? sfid_pid(g) : rc;
    sfid_close(g);
    return pid;
}

uint64_t tick_now(const sfid_layout *l) {
    return (uint64_t)(wall_ns() / NS_PER_MS - l->epoch_ms) / l->unit_ms;
}

uint64_t id_tick(const sfid_layout *l, int64_t id) { return (uint64_t)id >> l->time_shift; }

int64_t id_pid(const sfid_layout *l, int64_t id) {
    return (int64_t)((uint64_t)id >> l->pid_shift & l->max_pid);
}

bool tick_passes(const sfid_layout *l, uint64_t tick, unsigned limit_ms) {
    const int64_t end = mono_ns() + (int64_t)limit_ms * NS_PER_MS;
    while (tick_now(l) <= tick && mono_ns() < end)
        nap_us(1000);
    return tick_now(l) > tick;
}

/* ---- a child that holds a pid ------------------------------------------- */

static int hold(void *arg) {
    struct holder *h = arg;
    sfid *g = NULL;
    h->rc = sfid_open(&g, h->opt);
    h->pid = sfid_pid(g);
    snprintf(h->text, sizeof h->text, "%s", sfid_last_error(g));
    if (h->rc == 0)
        h->first = h->last = next_within(g, TAP_WAIT_MS);
    atomic_store(&h->held, 1);
    while (!flag_wait(&h->may_end, 1, TAP_WAIT_MS)) /* it ends with its parent */
        ;
    if (h->rc == 0)
        h->last = sfid_next(g);
    if (h->closing)
        sfid_close(g);
    return 0;
}

struct holder *holder_start(const sfid_options *opt, bool closing) {
    struct holder *h = shared_memory(sizeof *h);
    h->opt = opt;
    h->closing = closing;
    h->pid = h->first = h->last = -1;
    let_threads_start();
    h->child = child_start(hold, h);
    must(flag_wait(&h->held, 1, TAP_WAIT_MS), "a child does not open");
    return h;
}

int holder_end(struct holder *h, bool killing) {
    if (killing) {
        child_kill(h->child);
        return 0;
    }
    atomic_store(&h->may_end, 1);
    return child_wait(h->child, TAP_WAIT_MS);
}

/* ---- the mark ----------------------------------------------------------- */

static bool counts_before(const struct mark_entry *a, const struct mark_entry *b) {
    if (a->life >> 1 != b->life >> 1)
        return a->life >> 1 > b->life >> 1;
    return a->position != b->position ? a->position > b->position : a->serial > b->serial;
}

static struct mark_entry newest_entry(int fd) {
    struct mark_entry newest = {.serial = 0}, e;
    for (int i = 0; i < MARK_ENTRIES; i++)
        if (pread(fd, &e, sizeof e, i * MARK_BLOCK) == sizeof e &&
            memcmp(e.magic, "sfidmrk2", 8) == 0 && counts_before(&e, &newest))
            newest = e;
    return newest;
}

uint64_t mark_tick_of(int fd, const sfid_layout *l) {
    struct mark_entry was, is = {0};
    do { /* a read may see a half-written entry */
        was = is;
        is = newest_entry(fd);
    } while (memcmp(&was, &is, sizeof is) != 0);
    return is.position >> l->seq_bits;
}

int mark_open(const char *app, int64_t pid) {
    char path[4400];
    snprintf(path, sizeof path, "%s/%s/pid-%" PRId64, dirs.state, app, pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

uint64_t mark_tick(const char *app, int64_t pid, const sfid_layout *l) {
    const int fd = mark_open(app, pid);
    const uint64_t tick = fd < 0 ? 0 : mark_tick_of(fd, l);
    if (fd >= 0)
        close(fd);
    return tick;
}

/* ---- locks, threads ----------------------------------------------------- */

static struct {
    struct {
        dev_t device;
        ino_t inode;
        bool locked;
    } files[4096];
    size_t n;
    const char *prefix;
} below;

static int note_below(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)kind;
    if (below.n < COUNT_OF(below.files) &&
        strncmp(path + walk->base, below.prefix, strlen(below.prefix)) == 0) {
        below.files[below.n].device = st->st_dev;
        below.files[below.n].locked = false;
        below.files[below.n++].inode = st->st_ino;
    }
    return 0;
}

/* The kernel shows its locks piece by piece. One that changes hands meanwhile may be there
 * twice. */
int count_locked(const char *dir, const char *prefix) {
    char line[300];
    int n = 0;
    below.n = 0;
    below.prefix = prefix;
    nftw(dir, note_below, 16, FTW_PHYS | FTW_MOUNT);
    FILE *f = fopen("/proc/locks", "re");
    while (f && fgets(line, sizeof line, f)) {
        unsigned major_number, minor_number;
        unsigned long inode;
        if (sscanf(line, "%*d: %*s %*s %*s %*d %x:%x:%lu", &major_number, &minor_number, &inode) !=
            3)
            continue;
        for (size_t i = 0; i < below.n; i++)
            below.files[i].locked |= below.files[i].inode == inode &&
                                     below.files[i].device == makedev(major_number, minor_number);
    }
    if (f)
        fclose(f);
    for (size_t i = 0; i < below.n; i++)
        n += below.files[i].locked;
    return n;
}

pid_t thread_named(pid_t process, const char *name, int *count) {
    char path[400], comm[40];
    pid_t found = 0;
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    for (const struct dirent *e; tasks && (e = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)process, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (f && fgets(comm, sizeof comm, f) && strncmp(comm, name, strlen(name)) == 0 &&
            comm[strlen(name)] == '\n') {
            found = (pid_t)atoi(e->d_name);
            n++;
        }
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    if (count)
        *count = n;
    return found;
}

char task_state(pid_t process, pid_t thread) {
    char path[80], line[300];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)process, (int)thread);
    FILE *f = fopen(path, "re");
    const char *state = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    const char letter = state && state[1] == ' ' ? state[2] : '?';
    if (f)
        fclose(f);
    return letter;
}

bool others_sleep(void *unused) {
    (void)unused;
    bool sleep = true;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *e; tasks && (e = readdir(tasks)) != NULL;) {
        const pid_t thread = (pid_t)atoi(e->d_name);
        sleep = sleep && (thread <= 0 || thread == gettid() ||
                          strchr("S?", task_state(getpid(), thread)) != NULL);
    }
    if (tasks)
        closedir(tasks);
    return sleep;
}

void let_threads_start(void) {
    if (SANITIZED)
        tap_wait_until(others_sleep, NULL, TAP_WAIT_MS);
}

/* ---- mounts ------------------------------------------------------------- */

bool own_mounts(void) {
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

bool mount_tmpfs(const char *where, const char *flags) {
    mkdir(where, 0700);
    return mount("tmpfs", where, "tmpfs", MS_NOSUID | MS_NODEV, flags) == 0 &&
           chmod(where, 0700) == 0;
}

static int probe_mount(void *arg) {
    (void)arg;
    char where[100];
    snprintf(where, sizeof where, "%s/probe", dirs.shm);
    return own_mounts() && mount_tmpfs(where, "size=64k") ? 0 : 1;
}

bool can_mount(void) { return child_run(probe_mount, NULL, TAP_WAIT_MS) == 0; }
