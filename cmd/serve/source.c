/* SPDX-License-Identifier: MIT */
/* source.c - the generator, and its IDs as text. */
#include "serve/source.h"

#include "io/digits.h"
#include "io/out.h"
#include "serve/settings.h"
#include "text/reader.h"
#include "text/show.h"
#include "text/source.h"

#include <stdio.h>
#include <string.h>

enum { OPENING_RETRY_MS = 50 };

static struct {
    sfid *g; /* NULL: not yet */
    struct view view;
    struct reader reader;
    union {
        int64_t ids[SOURCE_TURN];
        sfid_wide wide[SOURCE_TURN];
    } drawn;
} source;

/* ---- the generator ------------------------------------------------------------- */

void source_prepare(void) {
    view_begin(&source.view, &settings.layout, VIEW_JSON);
    if (settings.layout.wide && settings.form == source.view.form)
        reader_begin_wide(&source.reader, &settings.layout.wide_layout);
    else
        reader_begin(&source.reader, settings.form, settings.layout.wide);
}

int source_open(sfid **g, uint64_t spent_ms,
                void (*on_event)(void *user, const sfid_event *event)) {
    sfid_options opt = settings.opt;
    sfid_close(*g);
    opt.on_event = on_event;
    opt.open_timeout_ms =
        spent_ms < opt.open_timeout_ms ? opt.open_timeout_ms - (uint32_t)spent_ms : 1;
    return sfid_open(g, &opt);
}

void source_use(sfid *g) { source.g = g; }

const char *source_error(void) { return source.g ? sfid_last_error(source.g) : ""; }

bool source_waits_for_app(uint32_t within_ms, bool *waits) {
    sfid_options opt = settings.opt;
    sfid_app_info info;
    char why[SFID_WHY_LEN];
    opt.open_timeout_ms = within_ms < opt.open_timeout_ms ? within_ms : opt.open_timeout_ms;
    const bool known = sfid_app_look(&opt, &info, NULL, NULL, why, sizeof why) == 0;
    *waits = known && (info.state != SFID_APP_KNOWN || info.open_unix_ms > info.server_unix_ms);
    return known;
}

bool source_status(sfid_status_info *info) {
    *info = (sfid_status_info){.pid = -1};
    return source.g && sfid_status(source.g, info) == 0;
}

int64_t source_pid(void) { return sfid_pid(source.g); }

bool source_ready(void) { return !state.stopping && sfid_ready(source.g); }

const char *source_waits(void) {
    sfid_status_info info;
    if (source.g == NULL)
        return "no IDs yet, a pid is waited for; the log says why";
    if (!source_ready() && source_status(&info) && info.ahead_ms > 0 && source_retry_ms() > 0)
        return "no IDs yet, earlier ones of this pid may be dated ahead of the clock; the log says why";
    return NULL;
}

/* ---- drawing --------------------------------------------------------------------- */

int64_t source_draw(size_t n) {
    n = n < SOURCE_TURN ? n : SOURCE_TURN;
    if (source.g == NULL)
        return SFID_EAGAIN;
    return settings.layout.wide ? sfid_next_n_wide(source.g, source.drawn.wide, n)
                                : sfid_next_n(source.g, source.drawn.ids, n);
}

int source_retry_ms(void) { return source.g ? sfid_retry_ms(source.g) : OPENING_RETRY_MS; }

static sfid_wide drawn(size_t i) {
    return settings.layout.wide ? source.drawn.wide[i]
                                : (sfid_wide){0, (uint64_t)source.drawn.ids[i]};
}

int64_t source_integer(size_t i) { return source.drawn.ids[i]; }

char *source_put(char *p, size_t i, unsigned least) {
    const sfid_wide id = drawn(i);
    char *end = p;
    if (!settings.layout.wide && settings.form == SFID_DEC) {
        end = put_dec(p, id.low);
    } else {
        const int len = settings.layout.wide
                            ? sfid_wide_to_text(settings.form, id, settings.width, p, SOURCE_ROOM)
                            : sfid_to_text(settings.form, (int64_t)id.low, p, SOURCE_ROOM);
        end += len > 0 ? len : 0;
    }
    const size_t len = (size_t)(end - p), pad = least > len ? least - len : 0;
    if (pad > 0) {
        memmove(p + pad, p, len);
        memset(p, settings.form == SFID_BASE58 ? '1' : '0', pad);
    }
    return end + pad;
}

char *source_put_hex(char *p, size_t i) {
    enum { DIGITS = 32 };
    const int len = sfid_wide_to_text(SFID_HEX, drawn(i), DIGITS, p, SOURCE_ROOM);
    return p + (len > 0 ? len : 0);
}

/* ---- the layout ------------------------------------------------------------------- */

const char *source_layout(void) { return source.view.name; }

uint64_t source_rate(void) {
    enum { SHARED_RATE = 4096 * 1000 }; /* of a process whose worker others share */
    sfid_layout_facts facts;
    sfid_wide_facts wide;
    if (host_is_named(&settings.layout))
        return SHARED_RATE;
    if (settings.layout.wide)
        return sfid_wide_layout_describe(&settings.layout.wide_layout, &wide) < 0
                   ? 0
                   : wide.facts.ids_per_second;
    return sfid_layout_describe(&settings.layout.layout, &facts) < 0 ? 0 : facts.ids_per_second;
}

unsigned source_bits(void) {
    sfid_wide_facts facts;
    const sfid_layout *l = &settings.layout.layout;
    if (settings.layout.wide)
        return sfid_wide_layout_describe(&settings.layout.wide_layout, &facts) < 0 ? 128
                                                                                   : facts.bits;
    const unsigned bits = l->time_shift + l->time_bits;
    return bits < 64 ? bits : 63; /* the top bit stays 0 */
}

char *source_decode(char *p, struct slice text, char why[READER_WHY]) {
    sfid_wide id;
    struct taken taken;
    if (!reader_read(&source.reader, text.at, text.len, &id)) {
        reader_explain(&source.reader, text.at, text.len, why);
        return NULL;
    }
    if (!view_take(&source.view, id, &taken)) {
        snprintf(why, READER_WHY, "is no ID of layout %s", source.view.name);
        return NULL;
    }
    return view_put_json(&source.view, p, &taken);
}
