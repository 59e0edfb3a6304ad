/* SPDX-License-Identifier: MIT */
/* ids.c - IDs as they are, one a line. */
#include "view.h"

enum { DEC, HEX, BASE62, BASE32, BASE58, BYTES, JSON };
const char *const id_formats[] = {[DEC] = "dec",       [HEX] = "hex",     [BASE62] = "base62", [BASE32] = "base32",
                                  [BASE58] = "base58", [BYTES] = "bytes", [JSON] = "json",     NULL};

static const sfid_form forms[] = {
    [HEX] = SFID_HEX, [BASE62] = SFID_BASE62, [BASE32] = SFID_BASE32, [BASE58] = SFID_BASE58, [BYTES] = SFID_BYTES};

void ids_begin(struct ids *ids, const sfid_layout *layout, int format) {
    *ids = (struct ids){.format = format};
    view_begin(&ids->view, layout, VIEW_JSON);
}

/* Bytes have one length and no line ends: a newline may be one of them. */
static char *put_id(struct ids *ids, char *p, int64_t id) {
    if (ids->format == DEC) {
        p = put_dec(&ids->cache, p, (uint64_t)id);
    } else {
        const int len = sfid_to_text(forms[ids->format], id, p, SFID_TEXT_LEN);
        p += len > 0 ? len : 0;
    }
    if (ids->format != BYTES)
        *p++ = '\n';
    return p;
}

void ids_show(struct ids *ids, const int64_t *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (ids->format == JSON)
            view_id(&ids->view, list[i]);
        else
            out_until(put_id(ids, out_room(SFID_TEXT_LEN + 1), list[i]));
}
