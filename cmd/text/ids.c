/* SPDX-License-Identifier: MIT */
/* ids.c - writes plain IDs, one a line. */
#include "text/ids.h"

#include "io/say.h"
#include "text/show.h"

enum { DEC, HEX, BASE62, BASE32, BASE58, BYTES, JSON, UUID };
static const char *const formats[] = {"dec",    "hex",   "base62", "base32",
                                      "base58", "bytes", "json",   NULL};
static const char *const wide_formats[] = {"dec",   "hex",  "base62", "base32", "base58",
                                           "bytes", "json", "uuid",   NULL};

static const sfid_form forms[] = {
    [DEC] = SFID_DEC,       [HEX] = SFID_HEX,     [BASE62] = SFID_BASE62, [BASE32] = SFID_BASE32,
    [BASE58] = SFID_BASE58, [BYTES] = SFID_BYTES, [UUID] = SFID_UUID};

/* Returns the usual format of a layout's IDs. */
static int usual(const struct view *view) {
    int format = DEC;
    while (format == JSON || forms[format] != view->form)
        format++;
    return format;
}

/* True if IDs can be written with so many digits. */
static bool has_width(int form, bool wide, unsigned width) {
    char room[SFID_WIDE_TEXT_LEN];
    if (form == NO_FORM)
        return false;
    return (wide ? sfid_wide_to_text((sfid_form)form, (sfid_wide){0, 0}, width, room, sizeof room)
                 : sfid_to_text_padded((sfid_form)form, 0, width, room, sizeof room)) >= 0;
}

bool read_width(const struct args *args, int i, const char *name, int form, bool wide,
                unsigned *width) {
    enum { MOST = 64 };
    uint64_t number = 0;
    if (!args_number(args, i, MOST, &number))
        return false;
    *width = (unsigned)number;
    if (has_width(form, wide, *width))
        return true;
    unsigned most = *width;
    while (most > 0 && !has_width(form, wide, most))
        most--;
    if (most > 0)
        say("%s: IDs in %s have at most %u digits, not %s", args->label[i], name, most,
            args->value[i]);
    else
        say("%s: IDs in %s have no digits to add; leave it out", args->label[i], name);
    return false;
}

/* JSON of 64 bits has numbers. */
static bool read_length(struct ids *ids, const struct args *args, int length) {
    const bool wide = ids->view.wide;
    const int form = ids->format != JSON ? (int)forms[ids->format]
                     : wide              ? (int)ids->view.form
                                         : NO_FORM;
    if (args->value[length] == NULL)
        return true;
    if (!read_width(args, length, wide_formats[ids->format], form, wide, &ids->width))
        return false;
    if (wide && ids->width > 0)
        ids->view.width = ids->width; /* for JSON */
    return true;
}

bool ids_read(struct ids *ids, const struct args *args, int format, int length,
              const struct any_layout *any) {
    *ids = (struct ids){.format = args_choice(args, format, any->wide ? wide_formats : formats)};
    view_begin(&ids->view, any, VIEW_JSON);
    if (any->wide && args->value[format] == NULL) {
        ids->format = usual(&ids->view);
        ids->width = ids->view.width;
    }
    return ids->format >= 0 && read_length(ids, args, length);
}

/* Bytes have a fixed length and no line ends, since a newline may be part of an ID. */
static void put_end(const struct ids *ids, char *p) {
    if (ids->format != BYTES)
        *p++ = '\n';
    out_until(p);
}

static char *put_id(const struct ids *ids, char *p, int64_t id) {
    const int len = sfid_to_text_padded(forms[ids->format], id, ids->width, p, SFID_TEXT_LEN);
    return p + (len > 0 ? len : 0);
}

/* Neighbours share all but their last four digits. */
static char *put_lines(char *p, const int64_t *list, size_t n) {
    char shared[DEC_ROOM] = "";
    size_t len = 0;
    uint64_t base = 0; /* the lowest number that begins like this; 0: none does */
    for (size_t i = 0; i < n; i++) {
        const uint64_t id = (uint64_t)list[i];
        if (id - base >= 10000 || base == 0) {
            base = id / 10000 * 10000;
            len = base == 0 ? 0 : (size_t)(put_dec(shared, id / 10000) - shared);
        }
        /* a constant length takes two moves; the excess is overwritten */
        memcpy(p, shared, sizeof shared);
        p = base == 0 ? put_dec(p, id) : put_four(p + len, (unsigned)(id - base));
        *p++ = '\n';
    }
    return p;
}

static void show_decimals(const int64_t *list, size_t n) {
    enum { LINES = OUT_ROOM / DEC_ROOM };
    for (size_t i = 0; i < n; i += LINES)
        out_until(put_lines(out_room(OUT_ROOM), list + i, n - i < LINES ? n - i : LINES));
}

void ids_show(struct ids *ids, const int64_t *list, size_t n) {
    if (ids->format == DEC && ids->width == 0) {
        show_decimals(list, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (ids->format == JSON)
            view_id(&ids->view, list[i]);
        else
            put_end(ids, put_id(ids, out_room(SFID_TEXT_LEN + 1), list[i]));
}

void ids_show_wide(struct ids *ids, const sfid_wide *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct taken taken;
        if (ids->format == JSON) {
            if (view_take(&ids->view, list[i], &taken))
                view_show(&ids->view, &taken);
            continue;
        }
        char *p = out_room(SFID_WIDE_TEXT_LEN + 1);
        const int len =
            sfid_wide_to_text(forms[ids->format], list[i], ids->width, p, SFID_WIDE_TEXT_LEN);
        put_end(ids, p + (len > 0 ? len : 0));
    }
}
