/* SPDX-License-Identifier: MIT */
/* bench.c - sfid bench: measures what IDs of a layout cost here, and how many there are. */
#include "args/args.h"
#include "io/json.h"
#include "io/out.h"
#include "io/say.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LAYOUT, THREADS, LANES, SECONDS, FORMAT };
enum { BATCH = 4096, BURST = 200000, THREADS_MAX = 64, ROUNDS_MAX = 400 };

static const struct option_spec options[] = {
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the layout of the IDs (sfid)"},
    [THREADS] = {"threads", 0, "N", NULL, "how many threads share a generator, 1 to 64 (2)"},
    [LANES] = {"lanes", 0, NULL, NULL,
               "compare lanes with one word that all threads share, by 1, 2, 4 … threads"},
    [SECONDS] = {"seconds", 0, "N", NULL, "how many seconds to measure each line, 1 to 60 (1)"},
    [FORMAT] = {"format", 0, "FORMAT", NULL, "text or json (text)"},
    {NULL, 0, NULL, NULL, NULL},
};

enum way { WAY_CLOCK, WAY_NEXT, WAY_MANY, WAY_LANE, WAYS };
static const char *const way_names[WAYS] = {"reading the clock", "sfid_next", "sfid_next_n of 4096",
                                            "sfid_lane_next"};

/* A burst ends when the sequence of its tick is used up, since waiting is not part of an ID's
 * cost. */
struct bench {
    sfid *g;
    enum way way;
    unsigned threads;
    unsigned lag_ms; /* of the clock that shows the begin of a tick */
    bool json, stop;
    pthread_barrier_t start, end;
};

/* A generating thread; the first is the caller. Its memory lasts for one line of output, so only
 * the first burst finds it cold. */
struct worker {
    struct bench *bench;
    pthread_t thread;
    sfid_lane *lane;
    uint64_t ids, begin_ns, end_ns;
    int64_t batch[BATCH];
};

static uint64_t now_ns(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Generates until a call fails, or there are enough IDs. */
static uint64_t draw(struct worker *w) {
    sfid *g = w->bench->g;
    uint64_t n = 0, sum = 0;
    int64_t got;
    switch (w->bench->way) {
    case WAY_CLOCK:
        for (; n < BURST; n++)
            sum |= now_ns(CLOCK_REALTIME);
        return sum ? n : 0;
    case WAY_NEXT:
        while (n < BURST && sfid_next(g) >= 0)
            n++;
        return n;
    case WAY_MANY:
        while (n < BURST && (got = sfid_next_n(g, w->batch, BATCH)) > 0)
            n += (uint64_t)got;
        return n;
    default:
        while (n < BURST && sfid_lane_next(w->lane) >= 0)
            n++;
        return n;
    }
}

static void burst(struct worker *w) {
    w->begin_ns = now_ns(CLOCK_MONOTONIC);
    w->ids = draw(w);
    w->end_ns = now_ns(CLOCK_MONOTONIC);
}

static void *work(void *arg) {
    struct worker *w = arg;
    for (;;) {
        pthread_barrier_wait(&w->bench->start);
        if (w->bench->stop)
            return NULL;
        burst(w);
        pthread_barrier_wait(&w->bench->end);
    }
}

/* Runs one burst in all threads, in a tick with room. Returns nanoseconds an ID; 0 if there were
 * none. */
static double run_burst(struct bench *b, struct worker *workers) {
    const int ms = b->way == WAY_CLOCK ? 0 : sfid_retry_ms(b->g);
    uint64_t ids = 0, begin = UINT64_MAX, end = 0;
    if (ms > 0)
        nanosleep(&(struct timespec){(ms + (int)b->lag_ms) / 1000,
                                     (ms + (int)b->lag_ms) % 1000 * 1000000L},
                  NULL);
    pthread_barrier_wait(&b->start);
    burst(&workers[0]);
    pthread_barrier_wait(&b->end);
    for (unsigned i = 0; i < b->threads; i++) {
        ids += workers[i].ids;
        begin = workers[i].begin_ns < begin ? workers[i].begin_ns : begin;
        end = workers[i].end_ns > end ? workers[i].end_ns : end;
    }
    return ids > 0 ? (double)(end - begin) / (double)ids : 0;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median of the bursts in this many seconds. */
static double median_of_bursts(struct bench *b, struct worker *workers, uint64_t seconds) {
    double rounds[ROUNDS_MAX];
    size_t n = 0;
    const uint64_t end = now_ns(CLOCK_MONOTONIC) + seconds * 1000000000;
    run_burst(b, workers); /* cold: not counted */
    for (size_t tries = 0; tries < ROUNDS_MAX && (n < 3 || now_ns(CLOCK_MONOTONIC) < end);
         tries++) {
        const double ns = run_burst(b, workers);
        if (ns > 0)
            rounds[n++] = ns;
    }
    qsort(rounds, n, sizeof *rounds, by_value);
    return n > 0 ? rounds[n / 2] : -1;
}

/* Returns a negative number if there is no result. */
static double cost_ns(struct bench *b, uint64_t seconds) {
    struct worker *workers = calloc(b->threads, sizeof *workers);
    const unsigned wanted = b->threads;
    double ns = -1;
    if (workers == NULL)
        return ns;
    pthread_barrier_init(&b->start, NULL, wanted);
    pthread_barrier_init(&b->end, NULL, wanted);
    b->stop = false;
    unsigned made = 0;
    for (; made < wanted; made++) {
        workers[made].bench = b;
        if (sfid_lane_open(&workers[made].lane, b->g) < 0 ||
            (made > 0 && pthread_create(&workers[made].thread, NULL, work, &workers[made]) != 0))
            break;
    }
    if (made < wanted)
        return ns; /* threads that were made wait until the process ends */
    ns = median_of_bursts(b, workers, seconds);
    b->stop = true;
    pthread_barrier_wait(&b->start);
    for (unsigned i = 1; i < made; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < wanted; i++)
        sfid_lane_close(workers[i].lane);
    pthread_barrier_destroy(&b->start);
    pthread_barrier_destroy(&b->end);
    free(workers);
    return ns;
}

/* ---- the full sequence ------------------------------------------------------- */

struct fill {
    double per_second, processor; /* for one thread; both 0 if the layout ended meanwhile */
};

/* Returns the lowest ID of a tick, or a negative number if the layout has ended. */
static int64_t first_id(const sfid_layout *l, uint64_t tick) {
    int64_t id;
    return sfid_compose(l, &(sfid_parts){.tick = tick}, &id) < 0 ? -1 : id;
}

/* Generates until an ID is not below `end`. Returns how many were below. On failure, *last is
 * negative. */
static uint64_t draw_up_to(sfid *g, int64_t end, int64_t *last) {
    uint64_t n = 0;
    while ((*last = sfid_next(g)) >= 0 && *last < end)
        n++;
    return n;
}

/*
 * Counts all IDs that one thread gets of whole ticks. The tick in the ID
 * counts, not the time of the call: a moment of a tick is enough for all its
 * IDs.
 */
static struct fill fill_up(sfid *g, const sfid_layout *l, uint64_t seconds) {
    const struct fill none = {0, 0};
    const uint64_t ticks = (seconds * 1000 + l->unit_ms - 1) / l->unit_ms;
    int64_t id = sfid_next(g);
    sfid_parts parts;
    if (id < 0 || sfid_parse(l, id, &parts) < 0)
        return none;
    const int64_t begin = first_id(l, parts.tick + 1), end = first_id(l, parts.tick + 1 + ticks);
    if (begin < 0 || end < 0)
        return none;
    draw_up_to(g, begin, &id);
    const uint64_t ns = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t n = id >= begin && id < end; /* the first ID of the first tick */
    if (id >= 0 && id < end)
        n += draw_up_to(g, end, &id);
    if (id < 0)
        return none;
    return (struct fill){(double)n * 1000 / (double)(ticks * l->unit_ms),
                         (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) /
                             (double)(now_ns(CLOCK_MONOTONIC) - ns)};
}

/* ---- output ------------------------------------------------------------------ */

static void tell(const struct bench *b, double ns) {
    char name[64];
    snprintf(name, sizeof name, b->threads > 1 ? "%s, %u threads" : "%s", way_names[b->way],
             b->threads);
    if (b->json) {
        json_open(NULL, '{');
        json_text("what", way_names[b->way]);
        json_uint("threads", b->threads);
        json_int("picoseconds", ns < 0 ? -1 : (int64_t)(ns * 1000));
        json_close('}');
    } else if (ns < 0) {
        out_print("  %-34s          -\n", name);
    } else {
        out_print("  %-34s %10.2f\n", name, ns);
    }
    out_flush();
}

/* Writes a rate; slow layouts have less than one ID a second. */
static void put_rate(char text[32], double rate) {
    snprintf(text, 32, rate < 1000 && rate != (double)(uint64_t)rate ? "%.3f" : "%.0f", rate);
}

static void tell_fill(const struct bench *b, struct fill f, const sfid_layout *l) {
    char got[32], all[32];
    const double most = ((double)l->max_seq + 1) * 1000 / (double)l->unit_ms;
    if (b->json) {
        json_close(']');
        json_uint("ids_per_second", (uint64_t)f.per_second);
        json_uint("most_per_second", (uint64_t)most);
        json_uint("processor_percent", (uint64_t)(100 * f.processor + 0.5));
        json_end();
        return;
    }
    put_rate(got, f.per_second);
    put_rate(all, most);
    out_print(
        "\none thread at full speed: %s IDs per second, %.1f %% of the layout's %s for one pid,\n"
        "using %.0f %% of a processor\n",
        got, 100 * f.per_second / most, all, 100 * f.processor);
}

static sfid *open_generator(const sfid_layout *layout, sfid_exhaustion exhaustion, int *status) {
    sfid *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid_layout_facts facts;
    opt.layout = layout;
    opt.exhaustion = exhaustion;
    opt.pid =
        /* no app: no other process is asked or blocked */
        sfid_layout_describe(layout, &facts) == 0 ? (int64_t)facts.first_pid : 0;
    opt.max_wait_ms = layout->unit_ms > 120000 ? layout->unit_ms : 120000;
    const int code = sfid_open(&g, &opt);
    if (code == 0)
        return g;
    say("%s", sfid_last_error(g));
    sfid_close(g);
    *status = status_of(code);
    return NULL;
}

static void measure(struct bench *b, enum way way, unsigned threads, uint64_t seconds) {
    b->way = way;
    b->threads = threads;
    tell(b, cost_ns(b, seconds));
}

static void measure_costs(struct bench *b, unsigned threads, uint64_t seconds) {
    for (int way = 0; way < WAYS && out_good(); way++)
        measure(b, (enum way)way, 1, seconds);
    for (int way = WAY_NEXT; way < WAYS && threads > 1 && out_good(); way++)
        measure(b, (enum way)way, threads, seconds);
}

/* Threads that share the generator's word, and as many with a lane each. */
static void measure_lanes(struct bench *b, unsigned threads, uint64_t seconds) {
    static const enum way ways[] = {WAY_NEXT, WAY_LANE};
    for (unsigned n = 1; n <= threads; n = n < threads && 2 * n > threads ? threads : 2 * n)
        for (size_t i = 0; i < COUNT_OF(ways) && out_good(); i++)
            measure(b, ways[i], n, seconds);
}

static int run_bench(const struct args *args) {
    static const char *const formats[] = {"text", "json", NULL};
    struct bench b = {.g = NULL};
    uint32_t threads = 2, seconds = 1;
    sfid_layout layout;
    int status = STATUS_GOOD;
    const int format = args_choice(args, FORMAT, formats);
    if (!args_no_operands(args, ""))
        return usage(args->command);
    if (format < 0 || !args_layout(args, LAYOUT, &layout) ||
        !args_between(args, THREADS, 1, THREADS_MAX, &threads) ||
        !args_between(args, SECONDS, 1, 60, &seconds))
        return STATUS_USAGE;
    b.json = format == 1;
    b.lag_ms = layout.unit_ms >= 1000 ? 10 : 0;
    b.g = open_generator(&layout, SFID_FAIL, &status);
    if (b.g == NULL)
        return status;
    if (b.json) {
        char text[SFID_LAYOUT_STR_LEN];
        json_open(NULL, '{');
        json_text("layout", sfid_layout_format(&layout, text, sizeof text) < 0 ? "" : text);
        json_open("costs", '[');
    } else {
        out_print(
            "nanoseconds per ID, median of bursts; with several threads: the time until all are done, per ID\n\n");
    }
    if (args->value[LANES])
        measure_lanes(&b, threads, seconds);
    else
        measure_costs(&b, threads, seconds);
    sfid_close(b.g);
    b.g = open_generator(&layout, SFID_WAIT, &status);
    if (b.g)
        tell_fill(&b, fill_up(b.g, &layout, seconds), &layout);
    sfid_close(b.g);
    return status;
}

const struct command command_bench = {
    .name = "bench",
    .synopsis = "[--layout LAYOUT] [--threads N] [--lanes] [--seconds N] [--format text|json]",
    .summary = "measure what IDs of a layout cost on this machine",
    .about =
        "Generates in memory, without app and store: these do not change what an ID costs. Reading\n"
        "the clock is measured for comparison. Costs are measured while a tick has room. The last\n"
        "line shows how many IDs one thread generates at full speed, waiting for ticks in between.\n"
        "With --lanes, only threads that share a generator's word and threads with a lane each.\n",
    .options = options,
    .run = run_bench,
};
