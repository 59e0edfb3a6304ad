/* SPDX-License-Identifier: MIT */
/*
 * own_layout.c - a layout of your own. The compiler checks it and folds it into
 * the caller. The generator has its own type, so a generator of another layout
 * cannot be passed by mistake.
 *
 * cc own_layout.c $(pkg-config --cflags --libs sfid)
 */
#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>

/*
 * 34 bits of seconds since 2026, 8 of pid, 21 of sequence: 256 processes, each
 * with two million IDs a second, for 544 years. `sfid layout check
 * 34:8:21/1s@1767225600000` shows what follows from the layout.
 */
#define EPOCH_MS INT64_C(1767225600000)
SFID_DEFINE(invoices, SFID_LAYOUT(34, 8, 21, 1000, EPOCH_MS))

static int draw(invoices *g) {
    sfid_parts parts;
    const int64_t id = invoices_next(g); /* with this layout, one atomic add in the caller */
    if (id < 0) {
        fprintf(stderr, "%s\n", sfid_last_error(invoices_sfid(g)));
        return 1;
    }
    if (invoices_parse(id, &parts) < 0) /* never happens to an ID of the layout */
        return 1;
    printf("%" PRId64 " tick %" PRIu64 " pid %" PRIu64 " seq %" PRIu64 "\n", id, parts.tick,
           parts.pid, parts.seq);
    return 0;
}

int main(void) {
    invoices *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT; /* invoices_open() sets the layout */
    opt.app = "invoices";
    opt.store = "local";
    if (invoices_open(&g, &opt) < 0) {
        fprintf(stderr, "%s\n", sfid_last_error(invoices_sfid(g)));
        invoices_close(g);
        return 1;
    }
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++)
        failed = draw(g);
    invoices_close(g); /* accepts NULL, as sfid_close() does */
    return failed;
}
