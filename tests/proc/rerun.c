/* SPDX-License-Identifier: MIT */
/*
 * A program that draws 1000 IDs and ends is run again and again, within the same second: no
 * duplicate, and the IDs go on increasing; when it ends without closing, when it closes, and when
 * it does now one, now the other.
 *
 * Size: 100 runs each (the only size; 20 with a sanitizer).
 */
#include "support/proc.h"

enum { IDS = 1000 };

static const struct series {
    const char *name, *layout;
    int close; /* 1: always, 0: never, -1: at random */
} series[] = {
    {"ended", "36:11:17/1s", 0},      {"closed", "36:11:17/1s", 1},
    {"mixed", "36:11:17/1s", -1},     {"ended-ms", "41:10:12/1ms", 0},
    {"closed-ms", "41:10:12/1ms", 1}, {"mixed-ms", "41:10:12/1ms", -1},
};

/* What the runs of a series report. */
struct report {
    _Atomic int64_t first_ns; /* longest time from main() to an ID */
    _Atomic int64_t close_ns; /* longest close */
};

static int draw_and_end(const struct series *s, uint64_t life, bool closing) {
    const int64_t begin = mono_ns();
    struct idlog log;
    int64_t some[100];
    dirs_make();
    struct report *report = shared_file("report", sizeof *report);
    const sfid_layout layout = layout_of(s->layout);
    const sfid_options opt = options_of(s->name, 3, &layout);
    log_start(&log, IDS, life, 3, "%" PRIu64, life);
    static sfid *g; /* a leak checker should see that it is not lost at exit */
    g = open_or_die(&opt);
    idlog_put(&log, next_within(g, 20000));
    raise_to(&report->first_ns, mono_ns() - begin);
    while (log.count < IDS) {
        const size_t left = IDS - log.count;
        const int64_t n =
            life % 3 == 0 ? sfid_next_n(g, some, left < COUNT_OF(some) ? left : COUNT_OF(some)) : 0;
        log_ids(&log, some, n);
        if (n == 0)
            idlog_put(&log, sfid_next(g));
    }
    if (closing) {
        const int64_t before = mono_ns();
        sfid_close(g);
        raise_to(&report->close_ns, mono_ns() - before);
    }
    return 0;
}

static void run_series(const struct series *s, uint64_t runs, uint64_t *rng) {
    char index[12], life[24];
    unsigned failed = 0;
    struct report *report = shared_file("report", sizeof *report);
    memset(report, 0, sizeof *report);
    snprintf(index, sizeof index, "%d", (int)(s - series));
    const int64_t begin = mono_ns();
    for (uint64_t i = 1; i <= runs; i++) {
        const bool closing = s->close > 0 || (s->close < 0 && draw_random(rng) % 2 == 0);
        snprintf(life, sizeof life, "%" PRIu64, i);
        failed += child_wait(self_start("draw", index, life, closing ? "close" : "end", NULL),
                             TAP_WAIT_MS) != 0;
    }
    diag("figure: %s: %" PRIu64
         " runs in %.2f s; main() to first ID at most %.2f ms, close at most %.2f ms",
         s->name, runs, (double)(mono_ns() - begin) / 1e9, (double)report->first_ns / 1e6,
         (double)report->close_ns / 1e6);
    is_u64(failed, 0, "%s: each run ends well", s->name);
    judge(s->layout, "pid", runs * IDS, s->name);
}

int main(int argc, char **argv) {
    if (argc > 4 && strcmp(argv[1], "draw") == 0)
        return draw_and_end(&series[atoi(argv[2])], strtoull(argv[3], NULL, 10),
                            strcmp(argv[4], "close") == 0);
    uint64_t rng = seed();
    dirs_make();
    for (size_t i = 0; i < COUNT_OF(series); i++)
        run_series(&series[i], sized(100, 100, 20), &rng);
    return done_testing();
}
