/* SPDX-License-Identifier: MIT */
/*
 * sim.c - runs a fleet for some hours of its own time, and says what it saw.
 *
 *   sim [--seed=N] [--hours=H] [--hosts=N] [--processes=N] [--pids=N] [--silent=N] [--world=NAME]
 *       [--kinds=A,B] [--life=S] [--gap=MS] [--trace] [--library=FILE] [--second-library=FILE]
 *       [--redis=FILE] [--script=FILE]
 *   sim --events=FILE [--record=FILE]   plays what the file lists (events.c) with the options in
 *                                       it; writes what happened
 *   sim OPTION… --shrink=FILE           a run that fails becomes a short list there (shrink.c)
 *   sim --bounds=1                   what the checks hold by the default settings, in seconds
 *   sim --kernel=FILE --redis=FILE   tests/proc/kernel.c, joined as the library is (kernel.c)
 *   sim OPTION… --moved=N            what the fleet has in memory lies N pages higher
 *
 * Prints the seed first, and one line last; its status is 1 if a check failed. One seed is one run,
 * wherever the simulator, the library and the memory of the fleet lie, and whoever compiled them:
 * nothing may have an order by address or hash one, and no expression may draw twice where a
 * compiler chooses what comes first.
 */
#include "sim.h"

#include <getopt.h>
#include <sys/random.h>
#include <sys/resource.h>

struct settings settings = {.hours = 1,
                            .hosts = 8,
                            .per_host = 2,
                            .pids = 40,
                            .silent = 3,
                            .world = "all",
                            .kinds = "",
                            .gap_ns = 2 * SECOND,
                            .life_ns = 900 * SECOND};

static uint64_t fresh_seed(void) {
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        broken("no random number here");
    return seed;
}

enum { ONE_SERVER = 9 };

/* A seed without kinds chooses them, too: of the first ones, which have one server, where the world
 * has servers of its own. */
static const char *kinds_of(uint64_t seed) {
    static const char *const all[] = {"brief",
                                      "brief,share",
                                      "brief,fork",
                                      "brief,copy",
                                      "brief,lanes",
                                      "brief,share,fork",
                                      "brief,share,copy",
                                      "brief,share2",
                                      "brief,wide",
                                      "brief,pool",
                                      "brief,mixed",
                                      "fixed",
                                      "ordinal",
                                      "local",
                                      "brief,pool,share",
                                      "brief,lanes,fork",
                                      "brief,auth"};
    return all[seed % (world_has_servers() ? ONE_SERVER : sizeof all / sizeof *all)];
}

static bool set(const char *name, const char *value) {
    if (strcmp(name, "seed") == 0)
        settings.seed = *value ? strtoull(value, NULL, 0) : fresh_seed();
    else if (strcmp(name, "hours") == 0)
        settings.hours = atof(value);
    else if (strcmp(name, "hosts") == 0)
        settings.hosts = (unsigned)atoi(value);
    else if (strcmp(name, "processes") == 0)
        settings.per_host = (unsigned)atoi(value);
    else if (strcmp(name, "pids") == 0)
        settings.pids = (unsigned)atoi(value);
    else if (strcmp(name, "silent") == 0)
        settings.silent = (unsigned)atoi(value);
    else if (strcmp(name, "life") == 0)
        settings.life_ns = atoi(value) * SECOND;
    else if (strcmp(name, "gap") == 0)
        settings.gap_ns = atoi(value) * MS;
    else if (strcmp(name, "world") == 0)
        settings.world = value;
    else if (strcmp(name, "kinds") == 0)
        settings.kinds = value;
    else if (strcmp(name, "library") == 0)
        settings.library = value;
    else if (strcmp(name, "second-library") == 0)
        settings.second = value;
    else if (strcmp(name, "redis") == 0)
        settings.redis = value;
    else if (strcmp(name, "script") == 0)
        settings.planted = value;
    else if (strcmp(name, "salt") == 0)
        settings.salt = strtoull(value, NULL, 0);
    else if (strcmp(name, "events") == 0)
        events_read(value);
    else if (strcmp(name, "record") == 0)
        settings.record = value;
    else if (strcmp(name, "shrink") == 0)
        settings.shrink = value;
    else if (strcmp(name, "bounds") == 0)
        settings.bounds = atoi(value);
    else if (strcmp(name, "moved") == 0)
        settings.moved = (size_t)atoi(value) * PAGE;
    else if (strcmp(name, "kernel") == 0)
        settings.library = settings.kernel = value;
    else
        return false;
    return true;
}

void setting_take(const char *word) {
    char name[32];
    const char *value = strchr(word, '=');
    if (strcmp(word, "--trace") == 0) {
        tracing = true;
        return;
    }
    snprintf(name, sizeof name, "%.*s", value ? (int)(value - word) - 2 : 0, word + 2);
    if (value == NULL || strncmp(word, "--", 2) != 0 || !set(name, strdup(value + 1))) {
        fprintf(stderr, "sim: what is %s? The head of tests/sim/sim.c has the options.\n", word);
        exit(2);
    }
}

void settings_print(FILE *to) {
    fprintf(
        to,
        "--seed=%" PRIu64
        " --world=%s --kinds=%s --hours=%.4f --hosts=%u --processes=%u --pids=%u --silent=%u --life=%" PRId64
        " --gap=%" PRId64 " --salt=%" PRIu64 "\n",
        settings.seed, settings.world, settings.kinds, settings.hours, settings.hosts,
        settings.per_host, settings.pids, settings.silent, settings.life_ns / SECOND,
        settings.gap_ns / MS, settings.salt);
}

static void read_words(char **argv) {
    settings.seed = fresh_seed();
    for (char **word = argv + 1; *word; word++)
        setting_take(*word);
    if (settings.bounds)
        return;
    if (settings.hosts == 0 || settings.hosts > HOSTS || settings.library == NULL ||
        settings.redis == NULL) {
        fprintf(stderr, "%s: wants 1 to %d hosts, --library and --redis\n", argv[0], HOSTS);
        exit(2);
    }
    if (*settings.kinds == '\0')
        settings.kinds = world_is_table() ? "default" : kinds_of(settings.seed);
}

static void report(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    const double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    if (settings.record)
        events_write(settings.record, blamed ? blamed_first : "no check failed");
    if (blamed)
        printf("failed: %s\n", blamed_first);
    causes_report();
    silent_report();
    if (world_breaks)
        printf("excused: this world breaks an assumption, \"%s\"\n", world_breaks);
    if (settings.second)
        printf("%" PRIu64 " opens with the second library\n", opens_of_second);
    printf("%" PRIu64 " opens, %" PRIu64 " without a pid, %" PRIu64 " closes, %" PRIu64
           " forks, %" PRIu64 " exchanges, %" PRIu64 " answers too late, %" PRIu64
           " calls, %" PRIu64 " turns, run %016" PRIx64 "\n",
           opens, opens_failed, closes, forks, exchanges, counts.late, calls_made, turns_taken,
           digested());
    printf("seed %" PRIu64 ": %.2f fleet hours, %" PRIu64 " IDs, %" PRIu64 " duplicates, %" PRIu64
           " out of order, %" PRIu64 " outside, %" PRIu64 " leases lost without a cause, %" PRIu64
           " calls refused without a cause, %.2f CPU seconds\n",
           settings.seed, (double)now_ns / (3600.0 * 1e9), counts.ids, counts.duplicates,
           counts.out_of_order, counts.outside, counts.lost, counts.refused, cpu);
}

static int run_kernel(void) {
    world_begin(settings.seed);
    library_load(settings.library);
    servers_begin(settings.redis, NULL);
    return kernel_compare();
}

int main(int argc, char **argv) {
    (void)argc;
    read_words(argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (settings.bounds) {
        bounds_print();
        return 0;
    }
    if (settings.shrink)
        return shrink(settings.shrink);
    if (settings.kernel)
        return run_kernel();
    printf("seed %" PRIu64 ", world %s, kinds %s, %u hosts, %u processes each, %u pids\n",
           settings.seed, settings.world, settings.kinds, settings.hosts, settings.per_host,
           settings.pids);
    world_begin(settings.seed);
    library_load(settings.library);
    if (settings.second)
        library_load(settings.second);
    servers_begin(settings.redis, settings.planted);
    checks_begin();
    if (world_is_table()) {
        outages_table();
    } else {
        fleet_begin();
        faults_begin();
        turns_run((int64_t)(settings.hours * 3600) * SECOND);
    }
    report();
    return blamed != 0;
}
