/* SPDX-License-Identifier: MIT */
/* first_id.c - one ID. cc first_id.c $(pkg-config --cflags --libs sfid) */
#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>

int main(void) {
    sfid *g = NULL;
    /* "orders" is the ID space: no two IDs in it are equal. "local": only this host issues them. */
    if (sfid_open_app(&g, "orders", "local") < 0) {
        fprintf(stderr, "%s\n", sfid_last_error(g));
        sfid_close(g);
        return 1;
    }
    const int64_t id = sfid_next(g); /* >= 0 an ID, < 0 an error code */
    if (id < 0)
        fprintf(stderr, "%s\n", sfid_last_error(g));
    else
        printf("%" PRId64 "\n", id);
    sfid_close(g);
    return id < 0;
}
