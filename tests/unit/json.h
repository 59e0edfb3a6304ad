/* SPDX-License-Identifier: MIT */
/*
 * json.h - a small reader of JSON, for files of our own: whole numbers only,
 * no \u, bad input ends the test. One file a program, held in static memory.
 */
#ifndef SFID_TESTS_JSON_H
#define SFID_TESTS_JSON_H

#include "support/tap.h"

struct json {
    enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } type;
    int64_t number;     /* of a bool 0 or 1 */
    const char *string; /* unescaped */
    const char *key;    /* within an object */
    struct json *first; /* of an array or object */
    struct json *next;  /* in the array or object that holds it */
};

struct json_text {
    char *p;
    const char *begin;
};

static inline void json_bad(const struct json_text *t, const char *what) {
    bail("JSON: %s at byte %ld", what, (long)(t->p - t->begin));
}

static inline char json_peek(struct json_text *t) {
    while (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r')
        t->p++;
    return *t->p;
}

static inline void json_expect(struct json_text *t, char c) {
    if (json_peek(t) != c)
        json_bad(t, "another character was expected");
    t->p++;
}

/* Unescapes in place: what comes out is never longer. */
static inline const char *json_string(struct json_text *t) {
    json_expect(t, '"');
    char *begin = t->p, *out = t->p;
    while (*t->p != '"') {
        if ((unsigned char)*t->p < ' ')
            json_bad(t, "a string is not ended");
        if (*t->p != '\\') {
            *out++ = *t->p++;
            continue;
        }
        static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const char *e = t->p[1] ? strchr(escapes, t->p[1]) : NULL;
        if (e == NULL)
            json_bad(t, "an unknown escape");
        *out++ = meant[e - escapes];
        t->p += 2;
    }
    t->p++;
    *out = '\0';
    return begin;
}

static inline struct json *json_value(struct json_text *t, int depth);

static inline void json_members(struct json_text *t, struct json *v, char end, int depth) {
    struct json **last = &v->first;
    t->p++;
    if (json_peek(t) == end) {
        t->p++;
        return;
    }
    for (;;) {
        json_peek(t);
        const char *key = NULL;
        if (v->type == JSON_OBJECT) {
            key = json_string(t);
            json_expect(t, ':');
        }
        *last = json_value(t, depth + 1);
        (*last)->key = key;
        last = &(*last)->next;
        if (json_peek(t) == end)
            break;
        json_expect(t, ',');
    }
    t->p++;
}

static inline bool json_word(struct json_text *t, const char *word) {
    const size_t len = strlen(word);
    if (strncmp(t->p, word, len) != 0)
        return false;
    t->p += len;
    return true;
}

static inline struct json *json_value(struct json_text *t, int depth) {
    static struct json pool[1 << 14];
    static size_t used;
    need(used != sizeof pool / sizeof pool[0] && depth <= 20, "JSON: too many values, or too deep");
    struct json *v = &pool[used++];
    switch (json_peek(t)) {
    case '{':
        v->type = JSON_OBJECT;
        json_members(t, v, '}', depth);
        return v;
    case '[':
        v->type = JSON_ARRAY;
        json_members(t, v, ']', depth);
        return v;
    case '"':
        v->type = JSON_STRING;
        v->string = json_string(t);
        return v;
    }
    if (json_word(t, "null"))
        return v;
    v->type = JSON_BOOL;
    v->number = *t->p == 't';
    if (json_word(t, "true") || json_word(t, "false"))
        return v;
    char *end;
    v->type = JSON_NUMBER;
    v->number = strtoll(t->p, &end, 10);
    if (end == t->p || *end == '.' || *end == 'e' || *end == 'E')
        json_bad(t, "no value, or no whole number");
    t->p = end;
    return v;
}

/* Reads a file below the source directory. */
static inline struct json *json_file(const char *name) {
    char path[4096];
    const char *dir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/%s", dir ? dir : "..", name);
    FILE *f = fopen(path, "rb");
    need(f != NULL, "cannot open %s (by hand: srcdir=… in the environment)", path);
    static char text[1 << 20];
    const size_t len = fread(text, 1, sizeof text - 1, f);
    need(len != 0 && feof(f), "cannot read %s", path);
    fclose(f);
    text[len] = '\0';
    struct json_text t = {text, text};
    struct json *v = json_value(&t, 0);
    if (json_peek(&t) != '\0')
        json_bad(&t, "something follows");
    return v;
}

/* A member of an object; NULL where there is none. */
static inline const struct json *json_get(const struct json *v, const char *key) {
    for (const struct json *m = v->first; m; m = m->next)
        if (m->key && strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

static inline const struct json *json_need(const struct json *v, const char *key) {
    const struct json *m = json_get(v, key);
    need(m != NULL, "JSON: an object lacks \"%s\"", key);
    return m;
}

static inline const char *json_text(const struct json *v, const char *key) {
    const struct json *m = json_need(v, key);
    need(m->type == JSON_STRING, "JSON: \"%s\" is no string", key);
    return m->string;
}

/* A number, also one in quotes; otherwise where the member is missing. */
static inline uint64_t json_u64(const struct json *v, const char *key, uint64_t otherwise) {
    const struct json *m = json_get(v, key);
    return m == NULL                ? otherwise
           : m->type == JSON_STRING ? strtoull(m->string, NULL, 10)
                                    : (uint64_t)m->number;
}

static inline int64_t json_i64(const struct json *v, const char *key) {
    const struct json *m = json_need(v, key);
    return m->type == JSON_STRING ? strtoll(m->string, NULL, 10) : m->number;
}

#endif
