/* SPDX-License-Identifier: MIT */
/*
 * Generators of wide IDs: flake, awsflake, uuid7, flake-go. Each alone: no duplicate, increasing,
 * also as text, of the tick and pid that they say; the random bits of UUIDs as if thrown. Then two
 * processes at once, a process killed at any moment and the next, a forked family, threads: none
 * equal, whatever the random bits of a UUID are, and all of one generator increasing; nor when a
 * signal handler draws as well.
 *
 * Sizes: a million of each alone, 200,000 by each of two processes, 30 kills (long: ten times as
 * many of the latter two; sanitizer: 100,000, 20,000, 6).
 */
#include "support/wide.h"

#include <sys/time.h>

enum { BATCH = 1000, FAMILY = 4, THREADS = 4, ROOM = 1 << 18 };

static const struct kind *kind; /* the one that is tested */
static sfid_wide_layout layout;
static sfid_wide_facts facts;

/* ---- alone -------------------------------------------------------------- */

enum { ABOUT_MS = 60000 };

/* Tick and pid as they should be, at about the time when it was drawn. */
static bool is_right(sfid *g, sfid_wide id, int64_t from_ms, int64_t to_ms) {
    sfid_wide_parts p;
    return sfid_wide_parse(&layout, id, &p) == 0 && p.pid == (uint64_t)sfid_pid(g) &&
           p.unix_ms > from_ms - ABOUT_MS && p.unix_ms < to_ms + ABOUT_MS;
}

static uint64_t text_faults(const sfid_wide *ids, uint64_t n) {
    const unsigned width = kind->name[0] == 'a' ? 13 : facts.width;
    char last[SFID_WIDE_TEXT_LEN] = "", text[SFID_WIDE_TEXT_LEN];
    uint64_t faults = 0;
    for (uint64_t i = 0; i < n; i++) {
        sfid_wide back;
        const int len = sfid_wide_to_text(facts.form, ids[i], width, text, sizeof text);
        faults += len < 0 || strcmp(last, text) >= 0 ||
                  sfid_wide_from_text(facts.form, text, (size_t)len, &back, NULL) < 0 ||
                  sfid_wide_compare(back, ids[i]) != 0;
        memcpy(last, text, sizeof last);
    }
    return faults;
}

/* The most that any random bit is off from being set in half of the IDs, in thousandths. */
static uint64_t random_faults(const sfid_wide *ids, uint64_t n) {
    uint64_t worst = 0;
    for (uint64_t bit = 1; bit <= facts.max_random; bit <<= 1) {
        uint64_t set = 0, changed = 0;
        for (uint64_t i = 0; i < n; i++) {
            set += (ids[i].low & bit) != 0;
            changed += i > 0 && ((ids[i].low ^ ids[i - 1].low) & bit) != 0;
        }
        const uint64_t off = 2 * set > n ? 2 * set - n : n - 2 * set,
                       twice = 2 * changed > n ? 2 * changed - n : n - 2 * changed;
        worst = off * 1000 / n > worst ? off * 1000 / n : worst;
        worst = twice * 1000 / n > worst ? twice * 1000 / n : worst;
    }
    return worst;
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many have the random bits of another. By chance: three of half a million in one of a million
 * runs. */
static uint64_t random_repeats(const sfid_wide *ids, uint64_t n) {
    uint64_t *bits = malloc(n * sizeof *bits), same = 0;
    for (uint64_t i = 0; bits && i < n; i++)
        bits[i] = ids[i].low & facts.max_random;
    if (bits)
        qsort(bits, n, sizeof *bits, by_value);
    for (uint64_t i = 1; bits && i < n; i++)
        same += bits[i] == bits[i - 1];
    free(bits);
    return bits ? same : UINT64_MAX;
}

static void random_bits(const sfid_wide *ids, uint64_t n) {
    ok(random_faults(ids, n / 2) < 30 && random_faults(ids + n / 2, n - n / 2) < 30,
       "%s: each random bit is set in half of them, and changes as often", kind->name);
    const uint64_t same = random_repeats(ids, n / 2) + random_repeats(ids + n / 2, n - n / 2);
    ok(same < 3, "%s: no two of them have the same (%" PRIu64 " have)", kind->name, same);
}

static void alone(void) {
    const uint64_t n = sized(1000000, 1000000, 100000);
    const sfid_options opt = wide_options(kind, &layout);
    struct drawn *d = drawn_new(n);
    sfid *g = open_or_die(&opt);
    uint64_t wrong = 0;
    const int64_t begin = mono_ns(), from_ms = wall_ns() / NS_PER_MS;
    while (d->count < n / 2 && drawn_add(d, g))
        ;
    for (int64_t got = 1; d->count < n && got > 0; d->count += got > 0 ? (uint64_t)got : 0)
        got = sfid_next_n_wide(g, d->ids + d->count, n - d->count < BATCH ? n - d->count : BATCH);
    const int64_t took = mono_ns() - begin, to_ms = wall_ns() / NS_PER_MS;
    is_u64(d->count, n, "%s: as many as were asked for", kind->name);
    for (uint64_t i = 0; i < d->count; i++)
        wrong += !is_right(g, d->ids[i], from_ms, to_ms);
    is_u64(wrong, 0, "%s: each of the tick and pid that it should be", kind->name);
    ok(increases(d->ids, d->count), "%s: increasing", kind->name);
    is_u64(text_faults(d->ids, d->count), 0, "%s: as text as well, and read back as they were",
           kind->name);
    if (facts.max_random)
        random_bits(d->ids, d->count);
    is_u64(repeated(&d, 1, &layout), 0, "%s: none twice", kind->name);
    diag("figure: %s: %.1f million a second", kind->name, (double)n * 1000 / (double)took);
    sfid_close(g);
    is_i64(sfid_next_wide(g, d->ids), SFID_ECLOSED, "%s: closed, it gives none", kind->name);
    is_i64(sfid_pid(g), SFID_ECLOSED, "%s: and has no pid", kind->name);
}

/* Two generators of one process, at the same positions: each has a nonce, so their random bits have
 * nothing in common. */
static void two_handles(void) {
    enum { EACH = 1000 };
    const sfid_options opt = wide_options(kind, &layout);
    struct drawn *d[2] = {drawn_new(EACH), drawn_new(EACH)};
    sfid *g[2] = {open_or_die(&opt), open_or_die(&opt)};
    uint64_t met = 0, same = 0;
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < 2; k++)
            drawn_add(d[k], g[k]);
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < EACH; k++) {
            sfid_wide_parts a, b;
            if (sfid_wide_parse(&layout, d[0]->ids[i], &a) < 0 ||
                sfid_wide_parse(&layout, d[1]->ids[k], &b) < 0)
                die("no ID of the layout");
            met += a.tick == b.tick && a.seq == b.seq;
            same += a.random == b.random;
        }
    ok(met > 0, "%s: two generators meet at one position (%" PRIu64 " times)", kind->name, met);
    is_u64(same, 0, "%s: and each handle has other random bits there", kind->name);
    sfid_close(g[0]);
    sfid_close(g[1]);
}

/* ---- two at once --------------------------------------------------------- */

struct one {
    struct drawn *drawn;
    atomic_int opened, *go;
};

static int draw_all(void *arg) {
    struct one *one = arg;
    const sfid_options opt = wide_options(kind, &layout);
    sfid *g = open_or_die(&opt);
    atomic_store(&one->opened, 1);
    if (!flag_wait(one->go, 1, TAP_WAIT_MS))
        return DIED;
    while (drawn_add(one->drawn, g))
        ;
    sfid_close(g);
    return 0;
}

static void two_at_once(void) {
    const uint64_t n = sized(200000, 2000000, 20000);
    struct one *ones = shared_memory(2 * sizeof *ones);
    atomic_int *go = shared_memory(sizeof *go);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        ones[i] = (struct one){.drawn = drawn_new(n), .go = go};
        children[i] = child_start(draw_all, &ones[i]);
        must(flag_wait(&ones[i].opened, 1, TAP_WAIT_MS), "a process does not open");
    }
    atomic_store(go, 1);
    for (int i = 0; i < 2; i++)
        is_i64(child_wait(children[i], TAP_WAIT_MS), 0, "%s: two at once: process %d draws",
               kind->name, i);
    struct drawn *const lists[] = {ones[0].drawn, ones[1].drawn};
    is_u64(lists[0]->count + lists[1]->count, 2 * n, "%s: two at once: all there", kind->name);
    is_u64(repeated(lists, 2, &layout), 0, "%s: two at once: none equal", kind->name);
    ok(increases(lists[0]->ids, n) && increases(lists[1]->ids, n),
       "%s: two at once: those of each increase", kind->name);
}

/* ---- killed -------------------------------------------------------------- */

static int draw_until_killed(void *arg) {
    struct drawn *d = arg;
    const sfid_options opt = wide_options(kind, &layout);
    sfid *g = open_or_die(&opt);
    while (drawn_add(d, g))
        ;
    return d->count == d->room ? 0 : 1;
}

static void killed(void) {
    const uint64_t kills = sized(30, 300, 6);
    uint64_t rng = seed(), faults = 0, first = 0;
    struct drawn *d = drawn_new(ROOM);
    for (uint64_t i = 0; i < kills; i++) {
        const pid_t child = child_start(draw_until_killed, d);
        struct patience p = {0};
        while (atomic_load(&d->count) == first && patient(&p, TAP_WAIT_MS))
            nap_us(100);
        nap_us((long)(draw_random(&rng) % 3000));
        child_kill(child);
        faults += atomic_load(&d->count) == first || d->error != 0;
        first = atomic_load(&d->count);
        if (first > ROOM / 2 && i + 1 < kills) { /* what went before lies below the last of it */
            d->ids[0] = d->ids[first - 1];
            faults += !increases(d->ids + 1, first - 1);
            atomic_store(&d->count, first = 1);
        }
    }
    is_u64(faults, 0, "%s: killed %" PRIu64 " times: each life draws", kind->name, kills);
    is_u64(repeated(&d, 1, &layout), 0, "%s: killed: none equal", kind->name);
    ok(increases(d->ids, d->count), "%s: killed: the next goes on above", kind->name);
}

/* ---- forked, threads ------------------------------------------------------ */

struct member {
    sfid *g;
    struct drawn *drawn;
};

static int draw_inherited(void *arg) {
    struct member *m = arg;
    while (drawn_add(m->drawn, m->g))
        ;
    sfid_close(m->g);
    return m->drawn->count == m->drawn->room ? 0 : 1;
}

static void forked(void) {
    const uint64_t n = sized(50000, 500000, 5000);
    const sfid_options opt = wide_options(kind, &layout);
    struct drawn *lists[FAMILY];
    struct member members[FAMILY];
    pid_t children[FAMILY];
    uint64_t faults = 0, same = 0;
    sfid *g = open_or_die(&opt);
    sfid_wide before;
    /* so that there are random bits which a child would inherit */
    faults += wide_within(g, &before, TAP_WAIT_MS) != 0;
    for (int i = 0; i < FAMILY; i++) {
        lists[i] = drawn_new(n);
        members[i] = (struct member){g, lists[i]};
        if (i > 0)
            children[i] = child_start(draw_inherited, &members[i]);
    }
    while (drawn_add(lists[0], g))
        ;
    for (int i = 1; i < FAMILY; i++)
        faults += child_wait(children[i], TAP_WAIT_MS) != 0;
    for (int i = 0; i < FAMILY; i++)
        faults += !increases(lists[i]->ids, lists[i]->count) || lists[i]->count != n;
    is_u64(faults, 0, "%s: forked: parent and children draw, each increasing", kind->name);
    is_u64(repeated(lists, FAMILY, &layout), 0, "%s: forked: none equal", kind->name);
    for (uint64_t i = 0; i < 100 && facts.max_random; i++)
        same +=
            (lists[0]->ids[i].low & facts.max_random) == (lists[1]->ids[i].low & facts.max_random);
    is_u64(same, 0, "%s: forked: a child has random bits of its own", kind->name);
    sfid_close(g);
}

static void *draw_in_thread(void *arg) {
    struct member *m = arg;
    while (drawn_add(m->drawn, m->g))
        ;
    return NULL;
}

static void threads(void) {
    const uint64_t n = sized(50000, 500000, 5000);
    const sfid_options opt = wide_options(kind, &layout);
    struct drawn *lists[THREADS];
    struct member members[THREADS];
    pthread_t all[THREADS];
    uint64_t faults = 0;
    sfid *g = open_or_die(&opt);
    for (int i = 0; i < THREADS; i++) {
        lists[i] = drawn_new(n);
        members[i] = (struct member){g, lists[i]};
        start_thread(&all[i], draw_in_thread, &members[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i], NULL);
        faults += !increases(lists[i]->ids, lists[i]->count) || lists[i]->count != n;
    }
    is_u64(faults, 0, "%s: threads: each draws, increasing", kind->name);
    is_u64(repeated(lists, THREADS, &layout), 0, "%s: threads: none equal", kind->name);
    sfid_close(g);
}

/* ---- interrupted ---------------------------------------------------------- */

static sfid *interrupted_gen;
static struct drawn *in_handler;

static void draw_in_handler(int sig) {
    const uint64_t n = atomic_load_explicit(&in_handler->count, memory_order_relaxed);
    (void)sig;
    if (n < in_handler->room && sfid_try_next_wide(interrupted_gen, &in_handler->ids[n]) == 0)
        atomic_store_explicit(&in_handler->count, n + 1, memory_order_relaxed);
}

/* A handler draws wherever the thread it interrupts happens to be. */
static void interrupted(void) {
    const uint64_t n = sized(100000, 1000000, 10000), wanted = 100;
    const sfid_options opt = wide_options(kind, &layout);
    const struct itimerval often = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
    struct drawn *d = drawn_new(20 * n);
    struct drawn *const lists[] = {d, in_handler = drawn_new(ROOM)};
    sfid *g = interrupted_gen = open_or_die(&opt);
    struct sigaction on_alarm = {.sa_handler = draw_in_handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &on_alarm, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while ((d->count < n || in_handler->count < wanted) && drawn_add(d, g))
        ;
    setitimer(ITIMER_REAL, &off, NULL);
    signal(SIGALRM, SIG_IGN);
    ok(d->count >= n && in_handler->count >= wanted,
       "%s: interrupted: it draws, and so does the handler", kind->name);
    ok(increases(d->ids, d->count) && increases(in_handler->ids, in_handler->count),
       "%s: interrupted: each increasing", kind->name);
    is_u64(repeated(lists, 2, &layout), 0, "%s: interrupted: none equal", kind->name);
    diag("figure: %s: %" PRIu64 " in the handler, %" PRIu64 " outside", kind->name,
         in_handler->count, d->count);
    sfid_close(g);
}

int main(void) {
    dirs_make();
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        kind = &kinds[i];
        layout = wide_layout(kind->name);
        need(sfid_wide_layout_describe(&layout, &facts) >= 0, "no facts of %s", kind->name);
        alone();
        if (facts.max_random)
            two_handles();
        two_at_once();
        killed();
        let_threads_start();
        forked();
        threads();
        interrupted();
    }
    return done_testing();
}
