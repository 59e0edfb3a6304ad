/* SPDX-License-Identifier: MIT */
/* answer.c - one connection's answers until they are sent: their bytes, heads and errors of HTTP,
 * and IDs in the forms of all protocols. */
#include "serve/answer.h"

#include "io/digits.h"
#include "io/say.h"
#include "serve/log.h"
#include "serve/source.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_ROOM = 512, PRINT_ROOM = 2048 };

static void resize(struct bytes *out, size_t size) {
    char *at = realloc(out->at, size);
    if (at == NULL) {
        say("out of memory for %zu bytes of answers", size);
        exit(STATUS_INTERNAL); /* the lease is taken up where it was at the next start */
    }
    state.memory += size;
    state.memory -= out->size;
    out->at = at;
    out->size = size;
}

char *client_room(struct client *client, size_t n) {
    struct bytes *out = &client->out;
    /* sent bytes would never go while more follows */
    if (client->job.answer == ANSWER_NONE && out->sent > 0) {
        memmove(out->at, out->at + out->sent, out->len - out->sent);
        out->len -= out->sent;
        out->sent = 0;
    }
    if (out->size - out->len < n) {
        size_t size = out->size ? out->size : FIRST_ROOM;
        while (size - out->len < n)
            size += size / 2;
        resize(out, size);
    }
    return out->at + out->len;
}

void client_end(struct client *client, const char *end) {
    client->out.len = (size_t)(end - client->out.at);
}

void client_write(struct client *client, const char *text, size_t len) {
    char *p = client_room(client, len);
    memcpy(p, text, len);
    client_end(client, p + len);
}

void client_print(struct client *client, const char *fmt, ...) {
    char *p = client_room(client, PRINT_ROOM);
    va_list args;
    va_start(args, fmt);
    const int len = vsnprintf(p, PRINT_ROOM, fmt, args);
    va_end(args);
    client_end(client, p + (len < 0 ? 0 : len < PRINT_ROOM ? len : PRINT_ROOM - 1));
}

size_t client_pending(const struct client *client) {
    return (client->job.answer == ANSWER_NONE ? client->out.len : client->job.start) -
           client->out.sent;
}

void client_sent(struct client *client, size_t n) {
    client->out.sent += n;
    if (client->out.sent == client->out.len && client->job.answer == ANSWER_NONE)
        client_free(client);
}

void client_free(struct client *client) {
    state.memory -= client->out.size;
    free(client->out.at);
    client->out = (struct bytes){.at = NULL};
}

/* ---- heads and errors of HTTP ------------------------------------------------------ */

enum { HREF_MOST = 256, DATE = 30 };

static char date[DATE];

/* In English, whatever the locale. */
void http_clock(void) {
    static const char days[] = "SunMonTueWedThuFriSat",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    snprintf(date, sizeof date, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT", days + 3 * tm.tm_wday,
             (unsigned)tm.tm_mday % 100, months + 3 * tm.tm_mon,
             (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
             (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}

static const char *reason_of(int status) {
    static const struct {
        int status;
        const char *text;
    } reasons[] = {{200, "200 OK"},
                   {404, "404 Not Found"},
                   {405, "405 Method Not Allowed"},
                   {413, "413 Content Too Large"},
                   {421, "421 Misdirected Request"},
                   {431, "431 Request Header Fields Too Large"},
                   {503, "503 Service Unavailable"},
                   {505, "505 HTTP Version Not Supported"}};
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "400 Bad Request";
}

char *http_head(char *p, struct client *client, int status, const char *type, int64_t length,
                const char *extra) {
    client->status = status;
    client->closing = client->closing || !client->keep;
    const bool keep = !client->closing && !state.stopping;
    p = put_text(put_text(p, "HTTP/1.1 "), reason_of(status));
    p = put_text(put_text(p, "\r\nDate: "), date);
    p = put_text(put_text(p, "\r\nContent-Type: "), type);
    if (length >= 0)
        p = put_dec(put_text(p, "\r\nContent-Length: "), (uint64_t)length);
    p = put_text(put_text(p, "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"),
                 extra);
    if (!keep)
        p = put_text(p, "Connection: close\r\n");
    else if (client->old)
        p = put_text(p, "Connection: keep-alive\r\n");
    return put_text(p, "\r\n");
}

static void write_answer(struct client *client, const struct http_request *r, int status,
                         const char *type, const char *extra, struct slice body) {
    char *p = client_room(client, HEAD_ROOM + strlen(extra) + body.len);
    p = http_head(p, client, status, type, (int64_t)body.len, extra);
    if (!r->head) {
        memcpy(p, body.at, body.len);
        p += body.len;
    }
    client_end(client, p);
}

void http_answer(struct client *client, const struct http_request *r, const char *type,
                 struct slice body) {
    write_answer(client, r, 200, type, "", body);
}

void http_page(struct client *client, const struct http_request *r) {
    char extra[768];
    snprintf(
        extra, sizeof extra,
        "Content-Security-Policy: %s\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
        "Vary: Accept\r\n",
        page_policy);
    write_answer(client, r, 200, "text/html; charset=utf-8", extra,
                 (struct slice){page_html, strlen(page_html)});
}

/* Writes a text as the inside of a JSON string, at most `most` bytes of it. */
static char *json_put(char *p, struct slice text, size_t most) {
    for (size_t i = 0; i < text.len && i < most; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c == '"' || c == '\\')
            *p++ = '\\';
        if (c >= ' ' && c < 0x7f)
            *p++ = (char)c;
        else
            p += sprintf(p, "\\u%04x", c);
    }
    return p;
}

/* The line of a status. IDs may be there again, as far as the generator knows, after a second to an
 * hour. */
static const char *extra_of(int status, char room[40]) {
    enum { MOST_S = 3600 };
    const int ms = status != 503 || state.stopping ? 0 : source_retry_ms();
    snprintf(room, 40, "Retry-After: %d\r\n",
             ms <= 1000            ? 1
             : ms / 1000 >= MOST_S ? MOST_S
                                   : (ms + 999) / 1000);
    return status == 405 ? "Allow: GET, HEAD\r\n" : status == 503 ? room : "";
}

void http_error(struct client *client, const struct http_request *r, int status, const char *code,
                const char *fmt, ...) {
    char message[512], body[6 * (sizeof message + HREF_MOST) + 128], extra[40];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    char *p = put_text(body, "{\"message\":\"");
    p = json_put(p, (struct slice){message, strlen(message)}, sizeof message);
    p = put_text(put_text(put_text(p, "\",\"code\":\""), code),
                 "\",\"_links\":{\"self\":{\"href\":\"");
    p = json_put(p, r->target, HREF_MOST);
    p = put_text(p, "\",\"templated\":false}}}");
    write_answer(client, r, status, "application/json", extra_of(status, extra),
                 (struct slice){body, (size_t)(p - body)});
}

/* ---- IDs: all or none --------------------------------------------------------------- */

/*
 * An answer with IDs is made behind those that may be sent, and counts as one
 * only when it is complete. A refused one is cut off again; its IDs are thrown
 * away.
 */
enum { SMALL = 4096 }; /* answers up to this size, with what is pending, do not wait for memory */

/* What clients read; the reason is in the log alone, since it may name hosts of the store. */
static const struct {
    const char *code, *text;
} refusals[] = {
    [REFUSED_AGAIN] = {"SFID_EAGAIN", "the sequence is used up for now; try again"},
    [REFUSED_LEASE] =
        {"SFID_ELEASE",
         "no right to issue IDs now, the lease could not be renewed; the log says why"},
    [REFUSED_CLOCK] =
        {"SFID_ECLOCK",
         "no IDs now, the clock is out of range or the layout has ended; the log says why"},
    [REFUSED_STOPPING] = {"STOPPING", "the server is stopping"},
    [REFUSED_MEMORY] = {"SFID_EAGAIN", "too many answers are under way; try again"},
    [REFUSED_CONNECTIONS] = {"SFID_EAGAIN", "too many requests wait; try again"},
};

static uint64_t refused; /* requests since the last that was answered */

static bool is_http(enum answer answer) { return answer >= ANSWER_ID && answer <= ANSWER_JSON; }

void answer_begin(struct client *client, enum answer answer, uint32_t n, unsigned least) {
    client_room(client, 1); /* moves what is pending before its place is noted */
    client->job = (struct job){.answer = answer, .n = n, .least = least, .start = client->out.len};
}

/* The most bytes that one ID takes, with what surrounds it. */
static size_t most_bytes(const struct job *job) {
    enum { AROUND = 16 };
    return (job->least > SOURCE_ROOM ? job->least : SOURCE_ROOM) + AROUND;
}

static char *put_bulk(char *p, size_t i, unsigned least) {
    enum { HEAD_MOST = 16 }; /* $NNN\r\n, and what put_dec() writes behind its digits */
    char *text = p + HEAD_MOST, *end = source_put(text, i, least);
    const size_t len = (size_t)(end - text);
    char *head = put_text(put_dec(put_text(p, "$"), len), "\r\n");
    memmove(head, text, len);
    return put_text(head + len, "\r\n");
}

static char *put_one(char *p, const struct job *job, size_t i, bool first) {
    switch (job->answer) {
    case ANSWER_FLAKEID:
        return source_put_hex(first ? p : put_text(p, "\n"), i);
    case ANSWER_LINES:
        return put_text(source_put(p, i, job->least), "\n");
    case ANSWER_JSON:
        return put_text(source_put(put_text(p, first ? "\"" : ",\""), i, job->least), "\"");
    case ANSWER_BULK:
    case ANSWER_ARRAY:
        return put_bulk(p, i, job->least);
    case ANSWER_INTEGER:
        return put_text(put_dec(put_text(p, ":"), (uint64_t)source_integer(i)), "\r\n");
    default:
        return source_put(p, i, job->least);
    }
}

static void put_drawn(struct client *client, size_t count) {
    struct job *job = &client->job;
    char *p = client->out.at + client->out.len; /* begin_answer() made room for all */
    for (size_t i = 0; i < count; i++)
        p = put_one(p, job, i, job->drawn + i == 0);
    client_end(client, p);
    job->drawn += (uint32_t)count;
}

/* ---- what surrounds them ---------------------------------------------------------- */

static char *put_before(char *p, const struct job *job) {
    if (job->answer == ANSWER_ARRAY)
        return put_text(put_dec(put_text(p, "*"), job->n), "\r\n");
    if (is_http(job->answer))
        p += HEAD_ROOM; /* the head follows at the end, when the length is known */
    return job->answer == ANSWER_JSON ? put_text(p, "{\"ids\":[") : p;
}

static bool begin_answer(struct client *client) {
    const size_t need = client->job.n * most_bytes(&client->job) + HEAD_ROOM + SOURCE_ROOM;
    if (need + client_pending(client) > SMALL && state.memory + need > settings.max_memory)
        return false;
    client_end(client, put_before(client_room(client, need), &client->job));
    client->job.begun = true;
    return true;
}

static void put_head(struct client *client) {
    char head[HEAD_ROOM], *start = client->out.at + client->job.start, *body = start + HEAD_ROOM;
    const size_t len = (size_t)(client->out.at + client->out.len - body);
    const char *type = client->job.answer == ANSWER_JSON ? "application/json" : "text/plain";
    const size_t used = (size_t)(http_head(head, client, 200, type, (int64_t)len, "") - head);
    memmove(start + used, body, len);
    memcpy(start, head, used);
    client_end(client, start + used + len);
}

static void finish_answer(struct client *client) {
    if (client->job.answer == ANSWER_JSON)
        client_end(client, put_text(client->out.at + client->out.len, "]}"));
    if (is_http(client->job.answer))
        put_head(client);
    state.issued += client->job.n;
    client->job.answer = ANSWER_NONE;
    if (refused > 0)
        log_line(LOG_NOTICE, "requests are answered again; %" PRIu64 " were refused", refused);
    refused = 0;
}

/* ---- refusing ----------------------------------------------------------------------- */

static void write_refusal(struct client *client, enum answer answer, enum refusal why,
                          const char *text, struct slice request) {
    struct http_request http;
    if (answer == ANSWER_FLAKEID) { /* the protocol has no errors */
        client->closing = client->linger = true;
    } else if (is_http(answer)) {
        if (http_read(request.at, request.len, &http) <= 0)
            http = (struct http_request){.target = {"", 0}};
        client->keep = client->keep && why != REFUSED_STOPPING;
        http_error(client, &http, 503, refusals[why].code, "%s", text);
    } else {
        client_print(client, "-%s %s\r\n",
                     strcmp(refusals[why].code, "SFID_EAGAIN") == 0 ? "TRYAGAIN" : "UNAVAILABLE",
                     text);
    }
}

void answer_refuse(struct client *client, enum refusal why, struct slice request) {
    const enum answer answer = client->job.answer;
    const char *waits = why == REFUSED_AGAIN ? source_waits() : NULL;
    const char *reason =
        why == REFUSED_LEASE || why == REFUSED_CLOCK || waits ? source_error() : "";
    const char *text = waits ? waits : refusals[why].text;
    client->out.len = client->job.start;
    client->job.answer = ANSWER_NONE;
    state.refused[why]++;
    refused += why != REFUSED_STOPPING;
    write_refusal(client, answer, why, text, request);
    log_keyed(LOG_WARNING, text, "requests are refused: %s%s%s", text, reason[0] ? ": " : "",
              reason);
}

/* ---- making it ---------------------------------------------------------------------- */

static enum progress progress_of(int64_t code) {
    return code == SFID_EAGAIN                             ? PROGRESS_DRY
           : code == SFID_ECLOCK || code == SFID_EOVERFLOW ? PROGRESS_CLOCK
                                                           : PROGRESS_LEASE;
}

enum progress answer_go(struct client *client) {
    struct job *job = &client->job;
    if (!job->begun && !begin_answer(client))
        return PROGRESS_MEMORY;
    for (uint32_t turn = SOURCE_TURN; job->drawn < job->n;) {
        const uint32_t left = job->n - job->drawn;
        if (turn == 0)
            return PROGRESS_TURN;
        const int64_t got = source_draw(left < turn ? left : turn);
        if (got < 0)
            return progress_of(got);
        put_drawn(client, (size_t)got);
        turn -= (uint32_t)got;
    }
    finish_answer(client);
    return PROGRESS_DONE;
}
