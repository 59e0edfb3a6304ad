/* SPDX-License-Identifier: MIT */
/*
 * uuids.c - UUIDs of version 7, for a uuid column. They increase, and the leased
 * pid makes them unique, not chance.
 *
 * Prints three UUIDs, then three generated at once, each with its parts.
 *
 * cc uuids.c $(pkg-config --cflags --libs sfid)
 */
#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>

#define BATCH 3

static int show(const sfid_wide_layout *layout, sfid_wide id) {
    char text[SFID_WIDE_TEXT_LEN];
    sfid_wide_parts parts;
    if (sfid_wide_to_text(SFID_UUID, id, 0, text, sizeof text) < 0 ||
        sfid_wide_parse(layout, id, &parts) < 0)
        return 1;
    printf("%s unix_ms %" PRId64 " pid %" PRIu64 " seq %" PRIu64 "\n", text, parts.unix_ms,
           parts.pid, parts.seq);
    return 0;
}

static int draw(sfid *g, const sfid_wide_layout *layout) {
    sfid_wide id, batch[BATCH];
    int failed = 0;
    for (int i = 0; i < BATCH; i++)
        failed += sfid_next_wide(g, &id) < 0 || show(layout, id) != 0;
    const int64_t got = sfid_next_n_wide(g, batch, BATCH); /* may be fewer, see sfid_next_n() */
    for (int64_t i = 0; i < got; i++)
        failed += show(layout, batch[i]);
    return failed > 0 || got < 0;
}

int main(void) {
    sfid *g = NULL;
    sfid_wide_layout uuid7;
    if (sfid_wide_layout_parse("uuid7", &uuid7) < 0)
        return 1;
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.wide = &uuid7;
    opt.app = "documents";
    /* only this host generates them; for several hosts: the URL of a Redis server */
    opt.store = "local";
    int failed = 1;
    if (sfid_open(&g, &opt) == 0)
        failed = draw(g, &uuid7);
    if (failed)
        fprintf(stderr, "%s\n", sfid_last_error(g));
    sfid_close(g);
    return failed;
}
