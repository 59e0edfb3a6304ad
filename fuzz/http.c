/* SPDX-License-Identifier: MIT */
/* http.c - any bytes as heads of HTTP requests, and as queries: within the bytes, and alike
 * whatever part has come. */
#include "serve/request.h"

#include "fuzz.h"

static bool inside(struct slice slice, const char *bytes, size_t size) {
    return slice.at >= bytes && slice.at + slice.len <= bytes + size;
}

static void check_value(struct slice query, const char *name, size_t room) {
    char *value = fuzz_copy(NULL, room, 0);
    memset(value, 'x', room);
    const int len = query_find(query, name, value, room);
    HOLDS(len >= QUERY_BAD && (len < 0 || ((size_t)len < room && value[len] == '\0')));
    free(value);
}

static void check_query(struct slice query) {
    static const char *const names[] = {"minLength", "n", "format", ""};
    char room[16];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check_value(query, names[i], 1);
        check_value(query, names[i], 130);
        HOLDS((query_find(query, names[i], room, sizeof room) == QUERY_BAD) ==
              (query_find(query, "n", room, sizeof room) == QUERY_BAD));
    }
}

static void check_request(const char *bytes, int used, const struct http_request *request) {
    const size_t size = (size_t)used;
    HOLDS(size <= HTTP_HEAD_MOST && memcmp(bytes + size - 2, "\r\n", 2) == 0);
    HOLDS(request->method.len > 0 && inside(request->method, bytes, size) &&
          inside(request->target, bytes, size));
    HOLDS(memchr(bytes, '\0', size) == NULL && inside(request->host, bytes, size));
    if (host_is_local(request->host))
        HOLDS(memchr(request->host.at, '@', request->host.len) == NULL);
    if (request->get || request->head)
        HOLDS(request->path.len > 0 && request->path.at[0] == '/');
    HOLDS(!(request->get && request->head));
    check_query(request->query);
}

int fuzz_http(const uint8_t *data, size_t size) {
    char *bytes = fuzz_copy(data, size, 0);
    struct http_request request, part;
    check_query((struct slice){bytes, size});
    for (size_t at = 0; at < size;) {
        const int used = http_read(bytes + at, size - at, &request);
        HOLDS(used >= 0 || used == HTTP_MALFORMED || used == HTTP_TOO_LONG ||
              used == HTTP_BAD_VERSION);
        HOLDS(inside(request.method, bytes + at, size - at) &&
              inside(request.target, bytes + at, size - at));
        if (used == 0)
            HOLDS(size - at < HTTP_HEAD_MOST);
        if (used <= 0)
            break;
        check_request(bytes + at, used, &request);
        HOLDS(http_read(bytes + at, (size_t)used - 1, &part) == 0);
        HOLDS(http_read(bytes + at, (size_t)used / 2, &part) == 0);
        HOLDS(http_read(bytes + at, (size_t)used, &part) == used && part.keep == request.keep &&
              part.body == request.body);
        at += (size_t)used;
    }
    free(bytes);
    return 0;
}

FUZZ_TARGET(http)
