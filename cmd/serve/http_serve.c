/* SPDX-License-Identifier: MIT */
/* http_serve.c - answers requests of HTTP. */
#include "serve/http_serve.h"

#include "io/digits.h"
#include "io/out.h"
#include "io/say.h"
#include "serve/answer.h"
#include "serve/metrics.h"
#include "serve/request.h"
#include "serve/settings.h"
#include "serve/source.h"
#include "text/reader.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_MOST = 128, VALUE = 128, HOST_SHOWN = 64 };

/* ---- parameters -------------------------------------------------------------------- */

enum found { FOUND, ABSENT, WRONG };

/* Answers 400, in the words of awsflake's service up to the value. */
static enum found refuse_value(struct client *client, const struct http_request *r,
                               const char *name, const char *value, const char *wanted) {
    state.rejected[REJECTED_PARSE]++;
    http_error(client, r, 400, "SFID_EINVAL",
               "Failed to convert argument [%s] for value [%.64s] due to: %s", name, value, wanted);
    return WRONG;
}

/* Finds a parameter of at least so many bytes: a shorter one counts as absent. WRONG: 400 is
 * answered. */
static enum found find_parameter(struct client *client, const struct http_request *r,
                                 const char *name, int least, char value[VALUE]) {
    const int len = query_find(r->query, name, value, VALUE);
    if (len != QUERY_BAD)
        return len < least ? ABSENT : FOUND;
    state.rejected[REJECTED_PARSE]++;
    http_error(client, r, 400, "SFID_EINVAL", "the query has a malformed escape; write %% as %%25");
    return WRONG;
}

/* Reads an int of Java's: a sign, digits. */
static bool read_int(const char *text, int64_t *value) {
    uint64_t number;
    const bool minus = text[0] == '-';
    text += minus || text[0] == '+';
    if (!read_u64(text, minus ? UINT64_C(2147483648) : INT32_MAX, &number))
        return false;
    *value = minus ? -(int64_t)number : (int64_t)number;
    return true;
}

/* Returns false after an answer of 400. */
static bool read_least(struct client *client, const struct http_request *r, unsigned *least) {
    char value[VALUE];
    int64_t number = 0;
    const enum found found = find_parameter(client, r, "minLength", 1, value);
    if (found == FOUND && (!read_int(value, &number) || number > LEAST_MOST))
        return refuse_value(client, r, "minLength", value,
                            "expected a whole number of at most 128") == FOUND;
    *least = number > 0 ? (unsigned)number : 0;
    return found != WRONG;
}

static bool read_count(struct client *client, const struct http_request *r, uint32_t *n) {
    char value[VALUE], wanted[64];
    uint64_t number = 1;
    const enum found found = find_parameter(client, r, "n", 0, value);
    if (found == FOUND && (!read_u64(value, settings.max_ids, &number) || number == 0)) {
        snprintf(wanted, sizeof wanted, "expected a number from 1 to %u",
                 (unsigned)settings.max_ids);
        return refuse_value(client, r, "n", value, wanted) == FOUND;
    }
    *n = (uint32_t)number;
    return found != WRONG;
}

static bool read_format(struct client *client, const struct http_request *r, enum answer *answer) {
    char value[VALUE];
    const enum found found = find_parameter(client, r, "format", 0, value);
    *answer = found == FOUND && strcmp(value, "json") == 0 ? ANSWER_JSON : ANSWER_LINES;
    if (found == FOUND && *answer == ANSWER_LINES && strcmp(value, "text") != 0)
        return refuse_value(client, r, "format", value, "expected text or json") == FOUND;
    return found != WRONG;
}

/* ---- paths -------------------------------------------------------------------------- */

/* A HEAD draws nothing, so its length is not known. */
static void begin_ids(struct client *client, const struct http_request *r, enum answer answer,
                      uint32_t n, unsigned least) {
    if (!r->head) {
        answer_begin(client, answer, n, least);
        return;
    }
    char *p = client_room(client, HEAD_ROOM);
    client_end(client,
               http_head(p, client, 200, answer == ANSWER_JSON ? "application/json" : "text/plain",
                         LENGTH_NONE, ""));
}

static void serve_id(struct client *client, const struct http_request *r) {
    unsigned least;
    if (read_least(client, r, &least))
        begin_ids(client, r, ANSWER_ID, 1, least);
}

static void serve_ids(struct client *client, const struct http_request *r) {
    unsigned least;
    uint32_t n = 1;
    enum answer answer;
    if (read_least(client, r, &least) && read_count(client, r, &n) &&
        read_format(client, r, &answer))
        begin_ids(client, r, answer, n, least);
}

static void serve_decode(struct client *client, const struct http_request *r) {
    const size_t before = strlen("/decode/");
    char json[OUT_ROOM], why[READER_WHY];
    const struct slice id = {r->path.at + before, r->path.len - before};
    const char *end = source_decode(json, id, why);
    if (end)
        http_answer(client, r, "application/json", (struct slice){json, (size_t)(end - json)});
    else
        http_error(client, r, 400, "SFID_EINVAL", "%s %s", quote(id.at, id.len).text, why);
}

/* The length is known once the text is there: it is moved behind its head. */
static void serve_metrics(struct client *client, const struct http_request *r) {
    struct client text = {.keep = true};
    metrics_write(&text, r->openmetrics);
    http_answer(client, r,
                r->openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                               : "text/plain; version=0.0.4; charset=utf-8",
                (struct slice){text.out.at, text.out.len});
    client_free(&text);
}

static void serve_health(struct client *client, const struct http_request *r) {
    http_answer(client, r, "text/plain", (struct slice){"ok\n", 3});
}

static void serve_ready(struct client *client, const struct http_request *r) {
    const char *waits = source_waits();
    if (source_ready())
        http_answer(client, r, "text/plain", (struct slice){"ready\n", 6});
    else if (state.stopping)
        http_error(client, r, 503, "STOPPING", "the server is stopping");
    else if (waits)
        http_error(client, r, 503, "SFID_EAGAIN", "%s", waits);
    else
        http_error(client, r, 503, "SFID_ELEASE", "no right to issue IDs now; the log says why");
}

/* An answer of this size waits for no memory: it is refused. */
static void serve_page(struct client *client, const struct http_request *r) {
    if (r->head || state.memory + strlen(page_html) <= settings.max_memory) {
        http_page(client, r);
        return;
    }
    state.refused[REFUSED_MEMORY]++;
    http_error(client, r, 503, "SFID_EAGAIN", "too many answers are under way; try again");
}

static const struct route {
    const char *path;
    void (*serve)(struct client *client, const struct http_request *r);
} routes[] = {{"/id", serve_id},          {"/ids", serve_ids},      {"/metrics", serve_metrics},
              {"/healthz", serve_health}, {"/readyz", serve_ready}, {"/decode/", serve_decode}};

static const struct route page = {"/", serve_page};

static const struct route *route_of(const struct http_request *r) {
    const struct slice path = r->path;
    if (r->html &&
        path.len == 1) /* a browser's; programs that ask for "/" are told what there is */
        return &page;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        const size_t len = strlen(routes[i].path);
        const bool below = routes[i].path[len - 1] == '/';
        if ((below ? path.len > len : path.len == len) && memcmp(routes[i].path, path.at, len) == 0)
            return &routes[i];
    }
    return NULL;
}

/* ---- requests ------------------------------------------------------------------------ */

static void reject(struct client *client, struct http_request *r, int fault) {
    r->head = false; /* the answer has a body, whatever was asked */
    client->keep = false;
    client->linger = true;
    state.rejected[fault == HTTP_TOO_LONG ? REJECTED_LIMIT : REJECTED_PARSE]++;
    if (fault == HTTP_TOO_LONG)
        http_error(client, r, 431, "HEAD_TOO_LONG", "the head has more than %d bytes",
                   HTTP_HEAD_MOST);
    else if (fault == HTTP_BAD_VERSION)
        http_error(client, r, 505, "VERSION",
                   "the version is not supported; use HTTP/1.0 or HTTP/1.1");
    else
        http_error(client, r, 400, "MALFORMED", "the head of the request is malformed");
}

/* A body is never read, so what follows an announced one is no request. */
static void refuse_body(struct client *client, const struct http_request *r) {
    client->keep = client->keep && !r->body;
    client->linger = r->body;
}

static void serve_path(struct client *client, const struct http_request *r) {
    const struct route *route = route_of(r);
    refuse_body(client, r);
    if (r->body && (r->get || r->head)) {
        state.rejected[REJECTED_LIMIT]++;
        http_error(client, r, 413, "BODY", "requests with a body are not accepted");
    } else if (client->local && r->host.len > 0 && !host_is_local(r->host)) {
        state.rejected[REJECTED_HOST]++;
        http_error(
            client, r, 421, "HOST",
            "%.*s is no name of this host; ask for localhost or 127.0.0.1, or start the service with --expose",
            r->host.len < HOST_SHOWN ? (int)r->host.len : HOST_SHOWN, r->host.at);
    } else if (route == NULL) {
        http_error(client, r, 404, "NOT_FOUND",
                   "Page Not Found; use /id, /ids, /decode/ID, /metrics, /healthz or /readyz");
    } else if (!r->get && !r->head) {
        http_error(client, r, 405, "METHOD",
                   "Method [%.*s] not allowed. Allowed methods: [GET, HEAD]",
                   r->method.len < 32 ? (int)r->method.len : 32, r->method.at);
    } else {
        route->serve(client, r);
    }
}

size_t http_serve(struct client *client, const char *bytes, size_t len) {
    struct http_request request;
    const int used = http_read(bytes, len, &request);
    if (used == 0)
        return 0;
    state.requests[PROTOCOL_HTTP]++;
    client->old = request.old;
    client->keep = request.keep;
    client->status = 0;
    if (used < 0) {
        reject(client, &request, used);
        return len;
    }
    serve_path(client, &request);
    return client->linger ? len : (size_t)used;
}
