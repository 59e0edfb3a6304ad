/* SPDX-License-Identifier: MIT */
/*
 * checker - judges the IDs that tests drew.
 *
 *     checker [--layout TEXT] [--order none|per-file|pid] [--count N] FILE-OR-DIRECTORY…
 *
 * The files are those of tests/support/idlog.h. It finds
 *     duplicates      equal IDs, in one file or in two
 *     order breaks    an ID not above the one before it in its file (not with --order none)
 *     foreign IDs     errors that were logged as IDs, IDs that do not decode to the layout, IDs of
 *                     another pid than the file names
 *     life breaks     with --order pid: an ID of a pid not above all IDs of the pid's earlier lives
 *     lost IDs        a log was too short
 * and where the files of windows are there, too (they need --layout),
 *     IDs outside     of every window that their process was granted
 *     overlaps        of the windows of one pid: checker_windows.c says which these are
 * prints up to ten of each with their places, then one line of counts. Exits 0 when there are IDs
 * (N of them, if given) and no finding, 1 with findings, 2 when it cannot judge. "No IDs" is a
 * finding: a test that drew none showed nothing.
 *
 * Duplicates are found by merging the files, each sorted already unless something is wrong with it:
 * no memory beyond the files' own pages, and time in proportion to their IDs.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sfid.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "checker.h"

enum { GOOD = 0, FINDINGS = 1, CANNOT_JUDGE = 2, SHOWN = 10 };
enum order { ORDER_NONE, ORDER_PER_FILE, ORDER_PID };

static const char *const finding_names[KINDS] = {"duplicates",  "order breaks", "foreign IDs",
                                                 "life breaks", "lost IDs",     "IDs outside",
                                                 "overlaps"};

struct source {
    const char *path;
    const struct idlog_head *head;
    const int64_t *ids;
    int64_t *sorted; /* own copy, where the file is out of order */
    size_t count, at;
};

/* What one life of one pid spans. */
struct span {
    uint64_t pid, life;
    int64_t lowest, highest;
    const char *path;
};

static struct {
    enum order order;
    /* plain: tick above pid above seq, checked by arithmetic of our own as well */
    bool decode, plain;
    unsigned time_bits, pid_bits, seq_bits;
    sfid_layout layout;
    uint64_t want_count;
    struct source *sources;
    size_t sources_n;
    struct span *spans;
    size_t spans_n;
    uint64_t found[KINDS];
} checker = {.order = ORDER_PER_FILE, .want_count = UINT64_MAX};

void give_up(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fputs("checker: ", stdout);
    vprintf(fmt, args);
    putchar('\n');
    va_end(args);
    exit(CANNOT_JUDGE);
}

bool found(enum finding kind) { return ++checker.found[kind] <= SHOWN; }

void *grown(void *array, size_t n, size_t size) {
    if ((n & (n - 1)) != 0)
        return array;
    void *more = realloc(array, (n ? 2 * n : 1) * size);
    if (!more)
        give_up("out of memory");
    return more;
}

/* ---- reading ------------------------------------------------------------ */

/* A writer may have been killed before it began: nothing there, or a head that was not finished by
 * its magic. */
static bool not_begun(const struct idlog_head *head) {
    static const char nothing[sizeof head->magic];
    return head->count == 0 && memcmp(head->magic, nothing, sizeof nothing) == 0;
}

static void add_windows(const char *path, const struct idlog_head *head, size_t size) {
    const uint64_t room = (size - sizeof *head) / sizeof(struct winlog_window);
    if (head->capacity != room || head->count > room || head->lost > 0)
        give_up("%s: too small for its windows, or cut off", path);
    if (!checker.decode)
        give_up("%s: windows need --layout", path);
    windows_add((const struct winlog_window *)(head + 1), head->count, head->process, path);
}

/* How much of a file there is to see: many logs are mostly room, and 32 bits of addresses do not
 * hold them all. */
static size_t used_bytes(int fd, size_t size) {
    struct idlog_head head;
    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.magic, IDLOG_MAGIC, sizeof head.magic) != 0 ||
        head.count > (size - sizeof head) / sizeof(int64_t))
        return size;
    return sizeof head + (size_t)head.count * sizeof(int64_t);
}

static void add_file(const char *path) {
    static const struct idlog_head empty;
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        give_up("%s: %s", path, strerror(errno));
    checker.sources = grown(checker.sources, checker.sources_n, sizeof *checker.sources);
    checker.sources[checker.sources_n++] = (struct source){.path = path, .head = &empty};
    if (st.st_size == 0) {
        close(fd);
        return;
    }
    if ((size_t)st.st_size < sizeof empty)
        give_up("%s: too short for a log", path);
    const struct idlog_head *head =
        mmap(NULL, used_bytes(fd, (size_t)st.st_size), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (head == MAP_FAILED)
        give_up("%s: %s", path, strerror(errno));
    const uint64_t room = ((uint64_t)st.st_size - sizeof *head) / sizeof(int64_t);
    if (not_begun(head))
        return;
    if (memcmp(head->magic, WINLOG_MAGIC, sizeof head->magic) == 0) {
        add_windows(path, head, (size_t)st.st_size);
        return;
    }
    if (memcmp(head->magic, IDLOG_MAGIC, sizeof head->magic) != 0 || head->capacity != room ||
        head->count > room)
        give_up("%s: not a log, or cut off", path);
    checker.sources[checker.sources_n - 1] = (struct source){
        .path = path, .head = head, .ids = (const int64_t *)(head + 1), .count = head->count};
}

static void add(const char *path) {
    DIR *dir = opendir(path);
    if (!dir) {
        add_file(path);
        return;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        char *inside = NULL;
        if (e->d_name[0] == '.')
            continue;
        if (asprintf(&inside, "%s/%s", path, e->d_name) < 0)
            give_up("out of memory");
        add_file(inside);
    }
    closedir(dir);
}

/* ---- one file ----------------------------------------------------------- */

/* What an ID says, by sfid_parse() and, for plain layouts, by shifts written here: both have to
 * agree. */
static bool decodes(int64_t id, sfid_parts *parts) {
    if (id < 0 || sfid_parse(&checker.layout, id, parts) != 0)
        return false;
    if (!checker.plain)
        return true;
    const uint64_t bits = (uint64_t)id, low = checker.pid_bits + checker.seq_bits;
    return bits >> low < UINT64_C(1) << checker.time_bits && parts->tick == bits >> low &&
           parts->pid == (bits >> checker.seq_bits & ((UINT64_C(1) << checker.pid_bits) - 1)) &&
           parts->seq == (bits & ((UINT64_C(1) << checker.seq_bits) - 1));
}

static struct span *span_of(uint64_t pid, uint64_t life, const char *path) {
    static size_t last;
    for (size_t i = 0; i <= checker.spans_n; i++) {
        const size_t at = i == 0 ? last : i - 1;
        if (at < checker.spans_n && checker.spans[at].pid == pid && checker.spans[at].life == life)
            return &checker.spans[last = at];
    }
    checker.spans = grown(checker.spans, checker.spans_n, sizeof *checker.spans);
    last = checker.spans_n++;
    checker.spans[last] = (struct span){pid, life, INT64_MAX, INT64_MIN, path};
    return &checker.spans[last];
}

static void inspect_id(const struct source *s, size_t i) {
    const int64_t id = s->ids[i];
    sfid_parts parts = {0};
    if (checker.decode ? !decodes(id, &parts) : id < 0) {
        if (found(FOREIGN))
            printf("%" PRId64 " is no ID of the layout: %s[%zu]\n", id, s->path, i);
        return;
    }
    if (checker.decode && s->head->pid != IDLOG_ANY_PID && parts.pid != s->head->pid &&
        found(FOREIGN))
        printf("%" PRId64 " carries pid %" PRIu64 " instead of %" PRIu64 ": %s[%zu]\n", id,
               parts.pid, s->head->pid, s->path, i);
    if (checker.decode && s->head->process != 0 &&
        !windows_cover(s->head->process, parts.pid, parts.tick) && found(OUTSIDE))
        printf("%" PRId64 ", tick %" PRIu64 " of pid %" PRIu64
               ", lies in no window of process %" PRIu64 ": %s[%zu]\n",
               id, parts.tick, parts.pid, s->head->process, s->path, i);
    if (checker.order == ORDER_PID) {
        struct span *span = span_of(parts.pid, s->head->life, s->path);
        if (id < span->lowest)
            span->lowest = id;
        if (id > span->highest)
            span->highest = id;
    }
}

static int by_value(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void inspect(struct source *s) {
    bool sorted = true;
    for (size_t i = 0; i < s->count; i++) {
        inspect_id(s, i);
        if (i == 0 || s->ids[i] > s->ids[i - 1])
            continue;
        sorted = sorted && s->ids[i] == s->ids[i - 1];
        if (checker.order != ORDER_NONE && found(ORDER_BREAK))
            printf("%" PRId64 " follows %" PRId64 ": %s[%zu]\n", s->ids[i], s->ids[i - 1], s->path,
                   i);
    }
    if (s->head->lost > 0) {
        checker.found[LOST] += s->head->lost;
        printf("%" PRIu64 " IDs found no room: %s\n", s->head->lost, s->path);
    }
    if (sorted)
        return;
    s->sorted = malloc(s->count * sizeof *s->sorted);
    if (!s->sorted)
        give_up("out of memory");
    memcpy(s->sorted, s->ids, s->count * sizeof *s->sorted);
    qsort(s->sorted, s->count, sizeof *s->sorted, by_value);
    s->ids = s->sorted;
}

/* ---- all files together ------------------------------------------------- */

static inline int64_t front(const struct source *s) { return s->ids[s->at]; }

static int by_front(const void *a, const void *b) {
    const int64_t x = front(a), y = front(b);
    return (x > y) - (x < y);
}

/* Where an ID stands in the file itself, which may be sorted otherwise; the last such place before
 * `before`. */
static size_t place_of(const struct source *s, int64_t id, size_t before) {
    const int64_t *raw = (const int64_t *)(s->head + 1);
    for (size_t i = before; i-- > 0;)
        if (raw[i] == id)
            return i;
    return SIZE_MAX;
}

static void report_duplicate(int64_t id, const struct source *a, const struct source *b) {
    if (!found(DUPLICATE))
        return;
    const size_t second = place_of(b, id, b->count);
    const size_t first = place_of(a, id, a == b ? second : a->count);
    printf("%" PRId64 " twice: %s[%zu] and %s[%zu]\n", id, a->path, first, b->path, second);
}

/* A heap of the sources that have begun, the one with the lowest front on top. */
static void sift_down(struct source **heap, size_t n) {
    for (size_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && front(heap[child + 1]) < front(heap[child]))
            child++;
        if (front(heap[i]) <= front(heap[child]))
            return;
        struct source *s = heap[i];
        heap[i] = heap[child], heap[child] = s;
    }
}

static void push(struct source **heap, size_t n, struct source *s) {
    size_t i = n;
    for (; i > 0 && front(heap[(i - 1) / 2]) > front(s); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = s;
}

/* Up to which ID the top of the heap may go on alone. */
static int64_t top_bound(struct source *const *heap, size_t n, const struct source *next) {
    int64_t bound = next ? front(next) : INT64_MAX;
    for (size_t child = 1; child <= 2 && child < n; child++)
        if (front(heap[child]) < bound)
            bound = front(heap[child]);
    return bound;
}

static void merge(struct source *sources, size_t n) {
    struct source **heap = malloc((n + 1) * sizeof(struct source *));
    if (!heap)
        give_up("out of memory");
    qsort(sources, n, sizeof *sources, by_front);
    const struct source *last = NULL;
    int64_t last_id = 0;
    for (size_t begun = 0, active = 0; begun < n || active > 0;) {
        while (begun < n && (active == 0 || front(&sources[begun]) <= front(heap[0])))
            push(heap, active++, &sources[begun++]);
        struct source *s = heap[0];
        const int64_t bound = top_bound(heap, active, begun < n ? &sources[begun] : NULL);
        do {
            if (last && front(s) == last_id)
                report_duplicate(last_id, last, s);
            last = s, last_id = front(s);
        } while (++s->at < s->count && front(s) <= bound);
        if (s->at == s->count)
            heap[0] = heap[--active];
        sift_down(heap, active);
    }
    free(heap);
}

static int by_pid_and_life(const void *a, const void *b) {
    const struct span *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->life > y->life) - (x->life < y->life);
}

static void check_lives(void) {
    int64_t highest = INT64_MIN;
    if (checker.spans_n > 0)
        qsort(checker.spans, checker.spans_n, sizeof *checker.spans, by_pid_and_life);
    for (size_t i = 0; i < checker.spans_n; i++) {
        const struct span *s = &checker.spans[i];
        if (i == 0 || s->pid != s[-1].pid)
            highest = INT64_MIN;
        if (s->lowest <= highest && found(LIFE_BREAK))
            printf("pid %" PRIu64 ", life %" PRIu64 ": %" PRId64 " is not above %" PRId64
                   " of an earlier life: %s\n",
                   s->pid, s->life, s->lowest, highest, s->path);
        if (s->highest > highest)
            highest = s->highest;
    }
}

/* ---- main --------------------------------------------------------------- */

static void use_layout(const char *text) {
    if (sfid_layout_parse(text, &checker.layout) != 0)
        give_up("no layout: %s", text);
    checker.decode = true;
    checker.plain =
        sscanf(text, "%u:%u:%u", &checker.time_bits, &checker.pid_bits, &checker.seq_bits) == 3;
}

static void use_order(const char *text) {
    if (strcmp(text, "none") == 0)
        checker.order = ORDER_NONE;
    else if (strcmp(text, "per-file") == 0)
        checker.order = ORDER_PER_FILE;
    else if (strcmp(text, "pid") == 0)
        checker.order = ORDER_PID;
    else
        give_up("no order: %s", text);
}

/* Returns the index of the first file. */
static int options(int argc, char **argv) {
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--layout") == 0)
            use_layout(argv[i + 1]);
        else if (strcmp(argv[i], "--order") == 0)
            use_order(argv[i + 1]);
        else if (strcmp(argv[i], "--count") == 0)
            checker.want_count = strtoull(argv[i + 1], NULL, 10);
        else
            give_up("unknown option %s", argv[i]);
    }
    if (i >= argc)
        give_up(
            "usage: checker [--layout TEXT] [--order none|per-file|pid] [--count N] FILE-OR-DIRECTORY...");
    if (checker.order == ORDER_PID && !checker.decode)
        give_up("--order pid needs --layout");
    return i;
}

int main(int argc, char **argv) {
    uint64_t ids = 0;
    size_t used = 0;
    for (int i = options(argc, argv); i < argc; i++)
        add(argv[i]);
    windows_sort();
    for (size_t i = 0; i < checker.sources_n; i++) {
        inspect(&checker.sources[i]);
        ids += checker.sources[i].count;
        if (checker.sources[i].count > 0) {
            const struct source empty = checker.sources[used];
            checker.sources[used++] = checker.sources[i];
            checker.sources[i] = empty;
        }
    }
    if (used > 0)
        merge(checker.sources, used);
    check_lives();
    windows_judge_overlaps();
    bool good = ids > 0 && (checker.want_count == UINT64_MAX || ids == checker.want_count);
    if (ids == 0)
        printf("no IDs at all\n");
    else if (!good)
        printf("%" PRIu64 " IDs wanted\n", checker.want_count);
    printf("%" PRIu64 " IDs in %zu files", ids, checker.sources_n);
    for (int kind = 0; kind < KINDS; kind++) {
        printf(", %" PRIu64 " %s", checker.found[kind], finding_names[kind]);
        good = good && checker.found[kind] == 0;
    }
    if (windows_count() > 0)
        printf(", %zu windows", windows_count());
    printf("\n");
    return good ? GOOD : FINDINGS;
}
