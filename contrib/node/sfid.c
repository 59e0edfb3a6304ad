/* SPDX-License-Identifier: MIT */
/*
 * sfid.c - libsfid for index.js, and for nobody else: its calls check nothing that index.js has
 * checked.
 *
 * A call takes numbers, typed arrays and generators, and returns a number: all that passes 53 bits
 * goes through arrays. There are no variables. What a call works on belongs to an object of its own
 * environment, so any number of worker threads may load this, and each may be ended at any time. A
 * generator is closed at the latest when its object is collected or its environment ends.
 */
#define NAPI_VERSION 6
#include <node_api.h>
#include <sfid.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What index.js has as lists of numbers, in this order and under these names. */
#define POINTER(member, ...)
#define OPTIONS(ONE) SFID_OPTION_LIST(ONE, POINTER)
#define STATUS(ONE) \
    ONE(open) \
    ONE(last_code) \
    ONE(pid) ONE(window_ms) ONE(ahead_ms) ONE(issued) ONE(waits) ONE(refused) ONE(regressions) \
        ONE(largest_regression_ms) ONE(losses) ONE(renewals) ONE(renew_failures) ONE(keeper_here) \
            ONE(connected) ONE(skew_ms) ONE(first_tick) ONE(limit_tick) ONE(replicas) ONE(shared) \
                ONE(left)
#define CODE(name, value, text) #name " "
#define NAME(member) #member " "
#define OPTION_NAME(member, ...) NAME(member)
static const char names[] = SFID_ERROR_LIST(CODE) "|" OPTIONS(OPTION_NAME) "|" STATUS(NAME);
#define READ(member) *n++ = (int64_t)s.member;
#define OPTION_READ(member, ...) READ(member)

/* In index.js an array of 16 words. */
struct layout {
    bool wide;
    sfid_layout l;
    sfid_wide_layout w;
};
_Static_assert(sizeof(struct layout) <= 128, "an array of 16 words");

struct handle {
    sfid *g;
    struct layout layout;
    sfid_options opt;
    char *text[4];
    int rc; /* of sfid_open() */
    napi_deferred promised;
    napi_async_work work;
};

/* ---- layouts and IDs ------------------------------------------------------ */

static int parse_layout(const char *text, struct layout *l) {
    l->wide = sfid_layout_parse(text, &l->l) < 0;
    return l->wide ? sfid_wide_layout_parse(text, &l->w) : 0;
}

/* Writes the text, epoch, unit, whether it is wide, and name:shift:bits:kind of each field. */
static int describe(const struct layout *l, char *text, size_t size) {
    sfid_field f[SFID_LAYOUT_FIELDS];
    const int count = l->wide ? sfid_wide_layout_fields(&l->w, f, COUNT(f))
                              : sfid_layout_fields(&l->l, f, COUNT(f));
    const int rc = l->wide ? sfid_wide_layout_format(&l->w, text, size)
                           : sfid_layout_format(&l->l, text, size);
    if (count < 0 || rc < 0)
        return SFID_EINVAL;
    size_t length = strlen(text);
    length += (size_t)snprintf(text + length, size - length, " %lld %lu %d",
                               (long long)(l->wide ? l->w.epoch_ms : l->l.epoch_ms),
                               l->wide ? 1ul : l->l.unit_ms, l->wide);
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, size - length, " %s:%u:%u:%d", f[i].name,
                                   f[i].shift, f[i].bits, (int)f[i].kind);
    return (int)length;
}

static int parse(const struct layout *l, const sfid_wide *id, sfid_wide_parts *out) {
    sfid_parts p;
    if (l->wide)
        return sfid_wide_parse(&l->w, *id, out);
    const int rc =
        id->high || id->low > INT64_MAX ? SFID_EINVAL : sfid_parse(&l->l, (int64_t)id->low, &p);
    if (rc == 0)
        *out = (sfid_wide_parts){p.tick, p.pid, p.seq, 0, p.unix_ms};
    return rc;
}

static int compose(const struct layout *l, const sfid_wide_parts *in, sfid_wide *id) {
    int64_t narrow = 0;
    if (l->wide)
        return sfid_wide_compose(&l->w, in, id);
    const int rc = in->random
                       ? SFID_EINVAL
                       : sfid_compose(&l->l, &(sfid_parts){in->tick, in->pid, in->seq, 0}, &narrow);
    *id = (sfid_wide){0, (uint64_t)narrow};
    return rc;
}

/* The lowest ID of a moment's tick, or the highest. */
static int bound(const struct layout *l, bool highest, int64_t ms, sfid_wide *id) {
    if (l->wide)
        *id = highest ? sfid_inline_wide_max_at(&l->w, ms) : sfid_inline_wide_min_at(&l->w, ms);
    else
        *id = (sfid_wide){
            0, (uint64_t)(highest ? sfid_inline_max_at(&l->l, ms) : sfid_inline_min_at(&l->l, ms))};
    return 0;
}

static int to_text(int64_t form, const sfid_wide *id, int64_t width, bool wide, char *text,
                   size_t size) {
    if (width < 0 || width > UINT32_MAX)
        return SFID_EINVAL;
    if (wide)
        return sfid_wide_to_text((sfid_form)form, *id, (unsigned)width, text, size);
    const bool fits = id->high == 0 && id->low <= INT64_MAX;
    return fits
               ? sfid_to_text_padded((sfid_form)form, (int64_t)id->low, (unsigned)width, text, size)
               : SFID_EINVAL;
}

/* On failure out is the place where the text goes wrong. */
static int from_text(int64_t form, const char *text, size_t length, bool wide, sfid_wide *out) {
    size_t at = 0;
    int64_t narrow = 0;
    const int rc = wide ? sfid_wide_from_text((sfid_form)form, text, length, out, &at)
                        : sfid_from_text_at((sfid_form)form, text, length, &narrow, &at);
    if (rc < 0 || !wide)
        *out = (sfid_wide){0, rc < 0 ? at : (uint64_t)narrow};
    return rc;
}

static int error_text(int code, const struct handle *h, char *text, size_t size) {
    const int n =
        snprintf(text, size, "%s", h && h->g ? sfid_last_error(h->g) : sfid_strerror(code));
    return n < (int)size ? n : (int)size - 1;
}

/* ---- generating ----------------------------------------------------------- */

static int64_t draw(struct handle *h, bool sleeps, sfid_wide *id) {
    if (h->layout.wide)
        return sleeps ? sfid_next_wide(h->g, id) : sfid_try_next_wide(h->g, id);
    const int64_t narrow = sleeps ? sfid_next(h->g) : sfid_try_next(h->g);
    *id = (sfid_wide){0, (uint64_t)narrow};
    return narrow < 0 ? narrow : 0;
}

static int status(const struct handle *h, int64_t *n, char *identity, size_t size) {
    sfid_status_info s;
    const int rc = sfid_status(h->g, &s);
    if (rc < 0)
        return rc;
    STATUS(READ)
    return snprintf(identity, size, "%s", s.identity);
}

/* ---- opening and closing -------------------------------------------------- */

static int defaults(int64_t *n) {
    const sfid_options s = SFID_OPTIONS_INIT;
    OPTIONS(OPTION_READ)
    return 0;
}

/* Returns how many numbers fit their options: all, or as many as come before the first that does
 * not. */
static int set(sfid_options *opt, const int64_t *n) {
    int good = 0;
#define WRITE(member, ...) \
    opt->member = (__typeof__(opt->member))n[good]; \
    if ((int64_t)opt->member != n[good]) \
        return good; \
    good++;
    OPTIONS(WRITE)
    return good;
}

/* A handle whose opening failed is gone after this; one that was open stays, for calls that come
 * late. */
static int end(struct handle *h) {
    sfid_close(h->g);
    if (h->rc < 0)
        h->g = NULL;
    return 0;
}

static void collected(napi_env env, void *data, void *hint) {
    struct handle *h = data;
    (void)env, (void)hint;
    end(h);
    free(h);
}

static void open_now(napi_env env, void *data) {
    struct handle *h = data;
    (void)env;
    h->rc = sfid_open(&h->g, &h->opt);
    for (size_t i = 0; i < COUNT(h->text); i++)
        free(h->text[i]);
}

static napi_value object_of(napi_env env, struct handle *h) {
    napi_value v;
    if (napi_create_external(env, h, collected, NULL, &v) == napi_ok)
        return v;
    collected(env, h, NULL); /* the environment ends */
    return NULL;
}

static void opened(napi_env env, napi_status done, void *data) {
    struct handle *h = data;
    napi_deferred promised = h->promised;
    (void)done;
    napi_delete_async_work(env, h->work);
    const napi_value v = object_of(env, h);
    if (v)
        napi_resolve_deferred(env, promised, v);
}

/* ---- the calls ------------------------------------------------------------ */

struct argument {
    void *data; /* of a typed array, or a generator */
    size_t length;
    int64_t number;
};

static bool arguments(napi_env env, napi_callback_info info, struct argument *a, size_t count) {
    napi_value v[8];
    size_t given = count;
    bool good = napi_get_cb_info(env, info, &given, v, NULL, NULL) == napi_ok;
    for (size_t i = 0; good && i < count; i++) {
        napi_valuetype type;
        a[i] = (struct argument){NULL, 0, 0};
        good = napi_typeof(env, v[i], &type) == napi_ok;
        if (type == napi_object)
            good = napi_get_typedarray_info(env, v[i], NULL, &a[i].length, &a[i].data, NULL,
                                            NULL) == napi_ok;
        else if (type == napi_external)
            good = napi_get_value_external(env, v[i], &a[i].data) == napi_ok;
        else if (type == napi_number)
            good = napi_get_value_int64(env, v[i], &a[i].number) == napi_ok;
    }
    if (!good)
        napi_throw_type_error(env, NULL, "wrong argument");
    return good;
}

static napi_value number(napi_env env, int64_t n) {
    napi_value v;
    return napi_create_int64(env, n, &v) == napi_ok ? v : NULL;
}

#define CALL(name, count, expression) \
    static napi_value js_##name(napi_env env, napi_callback_info info) { \
        struct argument a[count]; \
        return arguments(env, info, a, count) ? number(env, expression) : NULL; \
    }
CALL(layout, 2, parse_layout(a[1].data, a[0].data))
CALL(describe, 2, describe(a[0].data, a[1].data, a[1].length))
CALL(parse, 3, parse(a[0].data, a[1].data, a[2].data))
CALL(compose, 3, compose(a[0].data, a[1].data, a[2].data))
CALL(bound, 4, bound(a[0].data, a[1].number, *(int64_t *)a[2].data, a[3].data))
CALL(toText, 5, to_text(a[0].number, a[1].data, a[2].number, a[3].number, a[4].data, a[4].length))
CALL(fromText, 4,
     from_text(a[0].number, a[1].data ? a[1].data : "", a[1].length, a[2].number, a[3].data))
CALL(errorText, 3, error_text((int)a[0].number, a[1].data, a[2].data, a[2].length))
CALL(defaults, 1, defaults(a[0].data))
CALL(fit, 1, set(&(sfid_options){0}, a[0].data))
CALL(opened, 1, ((struct handle *)a[0].data)->rc)
CALL(close, 1, end(a[0].data))
CALL(draw, 3, draw(a[0].data, a[1].number, a[2].data))
CALL(nextN, 2, sfid_next_n(((struct handle *)a[0].data)->g, a[1].data, a[1].length))
CALL(pid, 1, sfid_pid(((struct handle *)a[0].data)->g))
CALL(retryMs, 1, sfid_retry_ms(((struct handle *)a[0].data)->g))
CALL(ready, 1, sfid_ready(((struct handle *)a[0].data)->g))
CALL(status, 3, status(a[0].data, a[1].data, a[2].data, a[2].length))

/* next(generator): an ID of 64 bits as a BigInt, or an error's code as a number. This one is to be
 * fast. */
static napi_value js_next(napi_env env, napi_callback_info info) {
    napi_value v;
    void *h;
    size_t given = 1;
    if (napi_get_cb_info(env, info, &given, &v, NULL, NULL) != napi_ok ||
        napi_get_value_external(env, v, &h) != napi_ok)
        return NULL;
    const int64_t id = sfid_next(((struct handle *)h)->g);
    return id < 0 ? number(env, id) : napi_create_bigint_int64(env, id, &v) == napi_ok ? v : NULL;
}

/* open(numbers, layout, app, store, run_dir, state_dir, later): a generator that was opened or not,
 * or the promise of one. */
static napi_value js_open(napi_env env, napi_callback_info info) {
    struct argument a[7];
    napi_value name, promise;
    struct handle *h = arguments(env, info, a, COUNT(a)) ? calloc(1, sizeof *h) : NULL;
    if (h == NULL)
        return NULL;
    h->opt = (sfid_options)SFID_OPTIONS_INIT;
    set(&h->opt, a[0].data);
    memcpy(&h->layout, a[1].data, sizeof h->layout);
    if (h->layout.wide)
        h->opt.wide = &h->layout.w;
    else
        h->opt.layout = &h->layout.l;
    for (size_t i = 0; i < COUNT(h->text); i++)
        h->text[i] = a[i + 2].data ? strdup(a[i + 2].data) : NULL;
    h->opt.app = h->text[0], h->opt.store = h->text[1], h->opt.run_dir = h->text[2],
    h->opt.state_dir = h->text[3];
    if (a[6].number && napi_create_string_utf8(env, "sfid", NAPI_AUTO_LENGTH, &name) == napi_ok &&
        napi_create_promise(env, &h->promised, &promise) == napi_ok &&
        napi_create_async_work(env, NULL, name, open_now, opened, h, &h->work) == napi_ok &&
        napi_queue_async_work(env, h->work) == napi_ok)
        return promise;
    open_now(env, h);
    return object_of(env, h);
}

NAPI_MODULE_INIT() {
    static const struct {
        const char *name;
        napi_callback call;
    } calls[] = {
#define ONE(name) {#name, js_##name}
        ONE(layout),   ONE(describe),  ONE(parse),    ONE(compose), ONE(bound), ONE(toText),
        ONE(fromText), ONE(errorText), ONE(defaults), ONE(fit),     ONE(open),  ONE(opened),
        ONE(close),    ONE(draw),      ONE(next),     ONE(nextN),   ONE(pid),   ONE(retryMs),
        ONE(ready),    ONE(status)
#undef ONE
    };
    napi_value v;
    for (size_t i = 0; i < COUNT(calls); i++)
        if (napi_create_function(env, calls[i].name, NAPI_AUTO_LENGTH, calls[i].call, NULL, &v) !=
                napi_ok ||
            napi_set_named_property(env, exports, calls[i].name, v) != napi_ok)
            return NULL;
    const bool named = napi_create_string_utf8(env, names, NAPI_AUTO_LENGTH, &v) == napi_ok;
    return named && napi_set_named_property(env, exports, "names", v) == napi_ok ? exports : NULL;
}
