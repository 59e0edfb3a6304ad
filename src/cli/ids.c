/* SPDX-License-Identifier: MIT */
/* ids.c - IDs as they are, one a line. */
#include "cli.h"

enum { DEC, HEX, JSON };
const char *const id_formats[] = {[DEC] = "dec", [HEX] = "hex", [JSON] = "json", NULL};

void ids_begin(struct ids *ids, const sfid_layout *layout, int format) {
    *ids = (struct ids){.format = format};
    view_begin(&ids->view, layout, VIEW_JSON);
}

void ids_show(struct ids *ids, const int64_t *list, size_t n) {
    enum { ROOM = DEC_ROOM + 1 };
    for (size_t i = 0; i < n; i++) {
        if (ids->format == JSON) {
            view_id(&ids->view, list[i]);
            continue;
        }
        char *p = out_room(ROOM);
        p = ids->format == HEX ? put_hex(p, (uint64_t)list[i]) : put_dec(&ids->cache, p, (uint64_t)list[i]);
        *p++ = '\n';
        out_until(p);
    }
}
