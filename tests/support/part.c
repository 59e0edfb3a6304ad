/* SPDX-License-Identifier: MIT */
#include "support/part.h"

#include "draw/page.h"

#include "support/proc.h"

enum { COMPLAINTS = 12 };

/* ---- what is there ----------------------------------------------------------- */

struct has {
    int fds, threads;
    struct inject_live live;
};

static struct has has(void) { return (struct has){count_fds(), count_threads(), inject_live()}; }

static unsigned total, bad;

static void complain(const struct part *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void complain(const struct part *p, const char *format, ...) {
    const struct inject_plan *plan = &inject->plan, *second = &inject->second;
    char text[700], then[120] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (second->call)
        snprintf(then, sizeof then, ", then %s %u %s", inject_names[second->kind], second->call,
                 inject_shown(second->error));
    if (bad++ < COMPLAINTS || getenv("SFID_TEST_VERBOSE"))
        diag("%s: %s %u%s has %s%s%s: %s", p->name,
             plan->call ? inject_names[plan->kind] : "no call", plan->call,
             plan->all ? " and later ones" : "", inject_shown(plan->error),
             plan->dead ? ", then the disk is dead" : "", then, text);
}

/* Complains of what is left. */
static void compare(const struct part *p, bool good, const struct has *then) {
    struct has now = has();
    /* One that was joined is counted for a moment longer; one that looks up a name gives back what
     * it has at its end. */
    if (now.threads > then->threads &&
        tap_wait_until(threads_are, &(int){then->threads}, TAP_WAIT_MS))
        now = (struct has){count_fds(), then->threads, inject_live()};
    /* one that was there before, and was about to end, is no loss */
    const int fds = now.fds - then->fds, more = SFID__MAX(now.threads - then->threads, 0);
    int blocks = now.live.blocks - then->live.blocks,
        bytes = now.live.map_bytes - then->live.map_bytes;
    const int streams = now.live.streams - then->live.streams;
    int pages = now.live.pages - then->live.pages;
    if (p->stays && pages <= p->stays &&
        /* up to its last record; the next open of the file uses it again */
        bytes < (int)SFID__MAP_SIZE)
        pages = bytes = 0;
    blocks -= p->stays && good && blocks > 0;
    if (fds != 0 || blocks != 0 || pages != 0 || bytes != 0 || streams != 0 || more != 0)
        complain(
            p, "%+d descriptors, %+d blocks, %+d pages, %+d mapped bytes, %+d streams, %+d threads",
            fds, blocks, pages, bytes, streams, more);
}

/* ---- what was said ------------------------------------------------------------ */

static bool first_is_fatal; /* without a second one */

/* That a second way is not known here is no cause: that stands before it. */
static bool second_may_be_told(const char *text) {
    const struct inject_plan *plan = &inject->plan, *second = &inject->second;
    const bool no_way =
        second->kind == INJECT_renameat2 && (second->error == EINVAL || second->error == ENOSYS);
    if (first_is_fatal)
        return false;
    return (atomic_load(&inject->second_hits) > 0 && !no_way &&
            inject_is_told(text, second->kind, second->error)) ||
           (plan->dead && strstr(text, strerror(EIO)));
}

static void look_at_text(const struct part *p, const struct sfid__error *err) {
    const struct inject_plan *plan = &inject->plan;
    if (getenv("SFID_TEST_VERBOSE"))
        diag("text: %s: %s %u %s: %d %s", p->name, inject_names[plan->kind], plan->call,
             inject_shown(plan->error), err->code, err->text);
    if (err->text[0] == '\0')
        complain(p, "code %d has no text", err->code);
    if (!inject_is_fault(plan->error) || inject_is_told(err->text, plan->kind, plan->error) ||
        second_may_be_told(err->text))
        return;
    complain(p, "code %d says \"%s\"", err->code, err->text);
}

/* What the library does without. */
static bool is_survived(const struct part *p, const struct inject_plan *plan) {
    switch (plan->kind) {
    case INJECT_linkat:
        return !p->links && (plan->error == EPERM || plan->error == EOPNOTSUPP);
    case INJECT_statx:
        return plan->error == EPERM || plan->error == ENOSYS;
    case INJECT_clock_gettime:
        return !plan->all;
    case INJECT_getrandom:
    case INJECT_gethostname:
    case INJECT_unlinkat:
        return true;
    default:
        return false;
    }
}

/* ---- one after the other ------------------------------------------------------- */

static int usual;    /* what a run without a failure returns */
static bool is_warm; /* what a process keeps for good is there after the first run */
static int threads;  /* that are there before */

/* Runs it once. Returns whether the call came. */
static bool trial(const struct part *p, const struct inject_plan *plan,
                  const struct inject_plan *second) {
    struct sfid__error err = {.code = 0}, next = {.code = 0};
    memset((void *)inject->calls, 0, sizeof inject->calls);
    atomic_store(&inject->hits, 0);
    atomic_store(&inject->second_hits, 0);
    inject->plan = *plan;
    inject->second = second ? *second : (struct inject_plan){.call = 0};
    inject_enter();
    if (p->set)
        p->set();
    if (bad == 0) /* a name is looked up by a thread that nobody joins */
        tap_wait_until(threads_are, &threads, TAP_WAIT_MS);
    const struct has then = has();
    inject_arm();
    p->run(&err);
    inject_disarm();
    if (p->undo)
        p->undo();
    const bool hit = atomic_load(&inject->hits) > 0;
    if (is_warm)
        compare(p, err.code == 0, &then);
    if (hit && err.code != 0 && err.code != usual)
        look_at_text(p, &err);
    if (hit && !plan->dead && second == NULL && err.code != usual && is_survived(p, plan))
        complain(p, "it is not done without: %s", err.text);
    if (hit && err.code != 0) {
        p->run(&next);
        if (next.code != usual)
            complain(p, "the next run has code %d: %s", next.code, next.text);
        if (p->undo)
            p->undo();
    }
    if (plan->call == 0)
        usual = err.code;
    if (p->end)
        p->end();
    inject_leave();
    total += hit;
    if (second == NULL && !plan->dead)
        first_is_fatal = err.code != usual;
    return hit;
}

static uint32_t calls[INJECT_KINDS];

static void note_calls(const struct part *p) {
    for (int kind = 0; kind < INJECT_KINDS; kind++)
        calls[kind] = p->keeps && kind == INJECT_fstat64
                          ? 0
                          : atomic_load(&inject->calls[INJECT_CALLER][kind]);
}

/*
 * Whether more than one call of the kind may fail. No clock fails for ever. If a process gets no
 * mapping at all, a page that it closes stays locked until the process ends; and a descriptor that
 * cannot be looked at stays open, as it may be the program's by now.
 */
static bool lasts(enum inject_kind kind) {
    return kind != INJECT_clock_gettime && kind != INJECT_mmap64 && kind != INJECT_fstat64;
}

/* Each call that came after the first failure fails, too. */
static unsigned test_second(const struct part *p, const struct inject_plan *first, unsigned step) {
    uint32_t from[INJECT_KINDS], to[INJECT_KINDS];
    unsigned trials = 0, at = 0;
    for (int kind = 0; kind < INJECT_KINDS; kind++) {
        from[kind] = inject->before[INJECT_CALLER][kind] + 1;
        to[kind] =
            lasts((enum inject_kind)kind) ? atomic_load(&inject->calls[INJECT_CALLER][kind]) : 0;
    }
    for (int kind = 0; kind < INJECT_KINDS; kind++)
        for (uint32_t call = from[kind]; call <= to[kind]; call++) {
            const int *errors = inject_errors[kind],
                      error = errors[errors[0] == first->error && errors[1]];
            const struct inject_plan second = {.side = INJECT_CALLER,
                                               .kind = (enum inject_kind)kind,
                                               .call = call,
                                               .error = error};
            if (at++ % step == 0)
                trials += trial(p, first, &second);
        }
    return trials;
}

static unsigned test_call(const struct part *p, enum inject_kind kind, uint32_t call,
                          unsigned step) {
    unsigned trials = 0;
    for (int i = 0; i < INJECT_ERRORS && inject_errors[kind][i] != 0; i++) {
        struct inject_plan plan = {
            .side = INJECT_CALLER, .kind = kind, .call = call, .error = inject_errors[kind][i]};
        trials += trial(p, &plan, NULL);
        if (i == 0)
            trials += test_second(p, &plan, step);
        plan.dead = true;
        trials += trial(p, &plan, NULL);
        plan.dead = false;
        plan.all = plan.error != EINTR && plan.error != INJECT_PART && lasts(kind);
        trials += plan.all && trial(p, &plan, NULL);
    }
    return trials;
}

/* By /proc/locks, which stops all locks of the host while it is read: so only once for a part. -1:
 * it cannot be read. */
static int count_locks(void) {
    char line[256];
    int n = 0, process;
    FILE *list = fopen("/proc/locks", "re");
    while (list && fgets(line, sizeof line, list))
        n += sscanf(line, "%*s %*s %*s %*s %d", &process) == 1 && process == getpid();
    if (list)
        fclose(list);
    return list ? n : -1;
}

void part_test(const struct part *p, unsigned step) {
    const char *only = getenv("SFID_TEST_ONLY");
    unsigned trials = 0, at = 0;
    if (only && strcmp(only, p->name) != 0)
        return;
    diag("%s", p->name);
    usual = 0;
    is_warm = false;
    threads = count_threads();
    trial(p, &(struct inject_plan){.call = 0}, NULL);
    is_warm = true;
    bad = 0;
    trial(p, &(struct inject_plan){.call = 0}, NULL);
    is_i64(bad, 0, "%s: nothing is left", p->name);
    const int locks = count_locks();
    note_calls(p);
    for (int kind = 0; kind < INJECT_KINDS; kind++) {
        inject_forget();
        for (uint32_t call = 1; call <= calls[kind]; call++)
            if (at++ % step == 0)
                trials += test_call(p, (enum inject_kind)kind, call, step);
    }
    const int more = count_locks() - locks;
    if (more != 0)
        complain(p, "%+d locks", more);
    ok(bad == 0 && trials > 0, "%s: %u failures leave nothing either, and say what failed", p->name,
       trials);
    if (bad)
        diag("%s: %u complaints", p->name, bad);
}

void parts_end(void) { diag("%u calls failed", total); }
