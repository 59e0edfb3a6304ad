/* SPDX-License-Identifier: MIT */
/* Every vector of tests/vectors.json both ways, and every refusal: what bindings are held to holds
 * for the library. */
#include "json.h"

#include <sfid.h>
#include <time.h>

static int code_of(const char *name) {
#define CODE(code, value, text) \
    if (strcmp(name, #code) == 0) \
        return SFID_##code;
    SFID_ERROR_LIST(CODE)
#undef CODE
    bail("vectors: %s is no error", name);
}

static sfid_form form_of(const char *name) {
    for (int i = 0; sfid_form_name((sfid_form)i); i++)
        if (strcmp(sfid_form_name((sfid_form)i), name) == 0)
            return (sfid_form)i;
    bail("vectors: %s is no form", name);
}

static sfid_wide number(const char *decimal) {
    sfid_wide v;
    need(sfid_wide_from_text(SFID_DEC, decimal, strlen(decimal), &v, NULL) >= 0,
         "vectors: %s is no number", decimal);
    return v;
}

/* The text of a vector as bytes: those of the form bytes are given in hex. */
struct given {
    char bytes[200];
    size_t len;
};

static struct given given(sfid_form form, const char *text) {
    struct given g = {.len = strlen(text)};
    need(g.len < sizeof g.bytes, "vectors: %s is too long", text);
    memcpy(g.bytes, text, g.len + 1);
    if (form == SFID_BYTES) {
        g.len /= 2;
        for (size_t i = 0; i < g.len; i++) {
            unsigned byte;
            need(sscanf(text + 2 * i, "%2x", &byte) == 1, "vectors: %s are no bytes", text);
            g.bytes[i] = (char)byte;
        }
    }
    return g;
}

/* ---- layouts -------------------------------------------------------------- */

static const char *const kinds[] = {"reserved", "time", "pid", "seq", "fixed", "random"};

static bool fields_agree(const struct json *want, const sfid_field *fields, int count) {
    int i = 0;
    for (const struct json *w = want->first; w; w = w->next, i++) {
        const struct json *shift = w->first->next, *bits = shift->next, *kind = bits->next;
        if (i >= count || strcmp(fields[i].name, w->first->string) != 0 ||
            fields[i].shift != shift->number || fields[i].bits != bits->number ||
            strcmp(kinds[fields[i].kind], kind->string) != 0)
            return false;
    }
    return i == count;
}

static bool order_agrees(const char *want, const sfid_layout_facts *facts) {
    if (strcmp(want, "time, seq") == 0)
        return facts->processes == 1 && facts->order == SFID_ORDER_PID_SEQ;
    return strcmp(want, facts->order == SFID_ORDER_SEQ_PID ? "time, seq, pid" : "time, pid, seq") ==
           0;
}

static void layout(const struct json *v) {
    const char *name = json_text(v, "name");
    sfid_layout l;
    sfid_layout_facts facts;
    sfid_field fields[SFID_LAYOUT_FIELDS];
    if (!ok(sfid_layout_parse(name, &l) == 0 && sfid_layout_describe(&l, &facts) == 0,
            "%s is a layout", name))
        return;
    ok(l.unit_ms == json_i64(v, "unit_ms") && l.epoch_ms == json_i64(v, "epoch_ms"),
       "%s: unit and epoch", name);
    ok(fields_agree(json_need(v, "fields"), fields,
                    sfid_layout_fields(&l, fields, SFID_LAYOUT_FIELDS)),
       "%s: fields", name);
    is_i64(facts.last_ms - l.unit_ms, json_i64(v, "last_ms"), "%s: the last tick", name);
    ok(order_agrees(json_text(v, "order"), &facts) &&
           facts.first_pid == json_u64(v, "first_pid", 99),
       "%s: order and first pid", name);
    is_str(facts.name, name, "%s: is told as this", name);
}

static void wide_layout(const struct json *v) {
    const char *name = json_text(v, "name");
    sfid_wide_layout l;
    sfid_wide_facts f;
    sfid_field fields[SFID_LAYOUT_FIELDS];
    if (!ok(sfid_wide_layout_parse(name, &l) == 0 && sfid_wide_layout_describe(&l, &f) == 0,
            "%s is a wide layout", name))
        return;
    ok(l.epoch_ms == json_i64(v, "epoch_ms") && f.bits == json_i64(v, "bits"), "%s: epoch and bits",
       name);
    ok(strcmp(sfid_form_name(f.form), json_text(v, "form")) == 0 && f.width == json_i64(v, "width"),
       "%s: form", name);
    ok(fields_agree(json_need(v, "fields"), fields,
                    sfid_wide_layout_fields(&l, fields, SFID_LAYOUT_FIELDS)),
       "%s: fields", name);
    ok(order_agrees(json_text(v, "order"), &f.facts), "%s: order", name);
}

static void none_is_missing(const struct json *list, const char *(*name_of)(size_t i),
                            const char *what) {
    size_t i = 0;
    const struct json *v = list->first;
    for (; name_of(i) && v && strcmp(name_of(i), json_text(v, "name")) == 0; i++)
        v = v->next;
    ok(name_of(i) == NULL && v == NULL, "%s: the same ones in the same order as the library lists",
       what);
}

/* ---- texts ---------------------------------------------------------------- */

static void narrow_text(sfid_form form, sfid_wide want, const char *text, unsigned width,
                        bool read_only) {
    const struct given g = given(form, text);
    char buf[SFID_TEXT_LEN];
    int64_t id = -1;
    ok(sfid_from_text(form, g.bytes, g.len, &id) == 0 && id >= 0 && want.high == 0 &&
           (uint64_t)id == want.low,
       "%s %s is read", sfid_form_name(form), text);
    if (!read_only)
        ok(sfid_to_text_padded(form, (int64_t)want.low, width, buf, sizeof buf) == (int)g.len &&
               memcmp(buf, g.bytes, g.len) == 0,
           "%s %s is written", sfid_form_name(form), text);
}

static void wide_text(sfid_form form, sfid_wide want, const char *text, unsigned width,
                      bool read_only) {
    const struct given g = given(form, text);
    char buf[SFID_WIDE_TEXT_LEN];
    sfid_wide id = {1, 2};
    ok(sfid_wide_from_text(form, g.bytes, g.len, &id, NULL) == 0 &&
           sfid_wide_compare(id, want) == 0,
       "wide %s %s is read", sfid_form_name(form), text);
    if (!read_only)
        ok(sfid_wide_to_text(form, want, width, buf, sizeof buf) == (int)g.len &&
               memcmp(buf, g.bytes, g.len) == 0,
           "wide %s %s is written", sfid_form_name(form), text);
}

static void text(const struct json *v) {
    const bool wide = json_i64(v, "bits") == 128;
    (wide ? wide_text : narrow_text)(form_of(json_text(v, "form")), number(json_text(v, "id")),
                                     json_text(v, "text"), (unsigned)json_u64(v, "width", 0),
                                     json_u64(v, "read_only", 0) != 0);
}

/* The texts of an ID: {"base62": "…"}, or {"base62": {"text": "…", "width": N}}. */
static void texts_of(const struct json *v, sfid_wide id, bool wide) {
    const struct json *texts = json_get(v, "texts");
    for (const struct json *t = texts ? texts->first : NULL; t; t = t->next) {
        const bool plain = t->type == JSON_STRING;
        (wide ? wide_text : narrow_text)(form_of(t->key), id,
                                         plain ? t->string : json_text(t, "text"),
                                         plain ? 0 : (unsigned)json_u64(t, "width", 0), false);
    }
}

/* ---- IDs ------------------------------------------------------------------ */

static bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

/* Counted one year and one month at a time: timegm() ends in 2038 where time_t has 32 bits. */
static int64_t days_since_1970(int year, int month, int day) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t days = day - 1 + (is_leap(year) && month > 2);
    for (int y = 1970; y < year; y++)
        days += 365 + is_leap(y);
    for (int m = 1; m < month; m++)
        days += lengths[m - 1];
    return days;
}

/* 2022-06-28T16:07:40.105Z as Unix milliseconds. */
static int64_t moment(const char *text) {
    struct tm tm = {.tm_isdst = 0};
    int ms, end = 0;
    need(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &end) == 7 &&
             text[end] == '\0',
         "vectors: %s is no time", text);
    return days_since_1970(tm.tm_year, tm.tm_mon, tm.tm_mday) * 86400000 +
           ((tm.tm_hour * 60 + tm.tm_min) * 60 + tm.tm_sec) * INT64_C(1000) + ms;
}

static bool parts_agree(const struct json *v, uint64_t tick, uint64_t pid, uint64_t seq,
                        int64_t unix_ms) {
    return tick == json_u64(v, "tick", ~tick) && pid == json_u64(v, "pid", ~pid) &&
           seq == json_u64(v, "seq", ~seq) && unix_ms == json_i64(v, "unix_ms") &&
           (json_get(v, "time") == NULL || moment(json_text(v, "time")) == unix_ms);
}

/* Those fields that a vector names have the values it says. */
static bool named_fields_agree(const struct json *v, sfid_wide id, const sfid_field *fields,
                               int count) {
    const struct json *want = json_get(v, "fields");
    for (const struct json *w = want ? want->first : NULL; w; w = w->next) {
        bool found = false;
        for (int i = 0; i < count; i++)
            if (strcmp(fields[i].name, w->key) == 0) {
                const unsigned shift = fields[i].shift;
                const uint64_t from = shift >= 64
                                          ? id.high >> (shift - 64)
                                          : id.low >> shift | (shift ? id.high << (64 - shift) : 0);
                found = (from & ((UINT64_C(1) << fields[i].bits) - 1)) == (uint64_t)w->number;
            }
        if (!found)
            return false;
    }
    return true;
}

static void narrow_id(const struct json *v, const sfid_layout *l) {
    const char *name = json_text(v, "layout"), *decimal = json_text(v, "id");
    sfid_field fields[SFID_LAYOUT_FIELDS];
    sfid_parts p = {0, 0, 0, 0};
    int64_t id = -1, back = -1;
    uint64_t tick = UINT64_MAX;
    ok(sfid_from_text(SFID_DEC, decimal, strlen(decimal), &id) == 0 && sfid_parse(l, id, &p) == 0 &&
           parts_agree(v, p.tick, p.pid, p.seq, p.unix_ms),
       "%s %s is taken apart", name, decimal);
    ok(sfid_compose(l, &p, &back) == 0 && back == id && sfid_tick_at(l, p.unix_ms, &tick) == 0 &&
           tick == p.tick,
       "%s %s is put together", name, decimal);
    const int count = sfid_layout_fields(l, fields, SFID_LAYOUT_FIELDS);
    ok(named_fields_agree(v, (sfid_wide){0, (uint64_t)id}, fields, count), "%s %s: fields by name",
       name, decimal);
    texts_of(v, (sfid_wide){0, (uint64_t)id}, false);
}

static void wide_id(const struct json *v, const sfid_wide_layout *l) {
    const char *name = json_text(v, "layout"), *decimal = json_text(v, "id");
    sfid_field fields[SFID_LAYOUT_FIELDS];
    sfid_wide_parts p = {0, 0, 0, 0, 0};
    const sfid_wide id = number(decimal);
    sfid_wide back = {1, 2};
    ok(sfid_wide_parse(l, id, &p) == 0 && parts_agree(v, p.tick, p.pid, p.seq, p.unix_ms) &&
           p.random == json_u64(v, "random", 0),
       "%s %s is taken apart", name, decimal);
    ok(sfid_wide_compose(l, &p, &back) == 0 && sfid_wide_compare(back, id) == 0,
       "%s %s is put together", name, decimal);
    const int count = sfid_wide_layout_fields(l, fields, SFID_LAYOUT_FIELDS);
    ok(named_fields_agree(v, id, fields, count), "%s %s: fields by name", name, decimal);
    texts_of(v, id, true);
}

static void id(const struct json *v) {
    sfid_layout l;
    sfid_wide_layout wide;
    const char *name = json_text(v, "layout");
    if (sfid_layout_parse(name, &l) == 0)
        narrow_id(v, &l);
    else if (sfid_wide_layout_parse(name, &wide) == 0)
        wide_id(v, &wide);
    else
        ok(false, "%s is no layout", name);
}

/* ---- refusals ------------------------------------------------------------- */

static int refused_text(const struct json *v, size_t *at) {
    const sfid_form form = form_of(json_text(v, "form"));
    const struct given g = given(form, json_text(v, "text"));
    int64_t narrow = 77;
    sfid_wide wide = {77, 77};
    const int rc = json_i64(v, "bits") == 64 ? sfid_from_text_at(form, g.bytes, g.len, &narrow, at)
                                             : sfid_wide_from_text(form, g.bytes, g.len, &wide, at);
    return narrow == 77 && wide.high == 77 && wide.low == 77 ? rc : 1;
}

static int refused_call(const struct json *v, const char *call) {
    sfid_layout l;
    sfid_wide_layout w;
    const char *name = json_text(v, strcmp(call, "layout_parse") == 0 ? "text" : "layout");
    const int narrow = sfid_layout_parse(name, &l), wide = sfid_wide_layout_parse(name, &w);
    if (strcmp(call, "layout_parse") == 0)
        return narrow == wide ? narrow : 1;
    const uint64_t tick = json_u64(v, "tick", 0), pid = json_u64(v, "pid", 0),
                   seq = json_u64(v, "seq", 0);
    const sfid_wide_parts parts = {tick, pid, seq, json_u64(v, "random", 0), 0};
    int64_t id;
    sfid_wide wide_id;
    sfid_parts out;
    sfid_wide_parts wide_out;
    uint64_t any;
    need(narrow >= 0 || wide >= 0, "vectors: %s is no layout", name);
    if (strcmp(call, "tick_at") == 0 && narrow == 0)
        return sfid_tick_at(&l, json_i64(v, "unix_ms"), &any);
    if (strcmp(call, "compose") == 0)
        return narrow == 0 ? sfid_compose(&l, &(sfid_parts){tick, pid, seq, 0}, &id)
                           : sfid_wide_compose(&w, &parts, &wide_id);
    if (strcmp(call, "parse") == 0)
        return narrow == 0 ? sfid_parse(&l, json_i64(v, "id"), &out)
                           : sfid_wide_parse(&w, number(json_text(v, "id")), &wide_out);
    bail("vectors: %s is no call", call);
}

static void refused(const struct json *v) {
    const char *call = json_text(v, "call"), *error = json_text(v, "error");
    size_t at = 999;
    if (strcmp(call, "from_text") == 0) {
        is_i64(refused_text(v, &at), code_of(error), "%s %s: %s (%s)", json_text(v, "form"),
               json_text(v, "text"), error, json_text(v, "why"));
        is_u64(at, json_u64(v, "at", 998), "at this place");
    } else {
        const struct json *why = json_get(v, "why"), *layout = json_get(v, "layout");
        is_i64(refused_call(v, call), code_of(error), "%s %s: %s (%s)", call,
               layout ? layout->string : "", error, why ? why->string : json_text(v, "text"));
    }
}

int main(void) {
    const struct json *all = json_file("tests/vectors.json");
    const struct {
        const char *list;
        void (*run)(const struct json *v);
    } lists[] = {{"layouts", layout},
                 {"wide_layouts", wide_layout},
                 {"ids", id},
                 {"texts", text},
                 {"refused", refused}};
    is_i64(json_i64(all, "format"), 1, "the file's format is known");
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const struct json *list = json_need(all, lists[i].list);
        ok(list->type == JSON_ARRAY && list->first, "there are %s", lists[i].list);
        for (const struct json *v = list->first; v; v = v->next)
            lists[i].run(v);
    }
    none_is_missing(json_need(all, "layouts"), sfid_layout_preset, "layouts");
    none_is_missing(json_need(all, "wide_layouts"), sfid_wide_layout_preset, "wide layouts");
    return done_testing();
}
