/* SPDX-License-Identifier: MIT */
/*
 * bench - measures every row beside its floor, and prints a table or JSON.
 *
 *     bench [--rounds N] [--only TEXT] [--store URL] [--json]
 *
 * With a store, rows that generate IDs are also measured with a pid from there,
 * beside the same with a fixed pid.
 */
#include "rows.h"
#include "subjects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (strcmp(argv[i], "--json") == 0)
            settings.json = true;
        else if (more && strcmp(argv[i], "--only") == 0)
            settings.only = argv[++i];
        else if (more && strcmp(argv[i], "--store") == 0)
            settings.store = argv[++i];
        else if (more && strcmp(argv[i], "--rounds") == 0)
            settings.rounds = atoi(argv[++i]);
        else
            return false;
    }
    return settings.rounds >= 7 && settings.rounds <= ROUNDS_MAX;
}

int main(int argc, char **argv) {
    if (!read_arguments(argc, argv)) {
        fprintf(stderr,
                "usage: bench [--rounds N (7 to %d)] [--only TEXT] [--store URL] [--json]\n",
                ROUNDS_MAX);
        return 2;
    }
    if (!make_directory()) {
        fprintf(stderr, "bench: no directory on /dev/shm: %s\n", strerror(errno));
        return 1;
    }
    begin_rows();
    bench_draw();
    bench_wide();
    bench_shared();
    bench_lanes();
    bench_pack();
    bench_saturated();
    bench_restart();
    end_rows();
    return 0;
}
