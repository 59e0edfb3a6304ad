/* SPDX-License-Identifier: MIT */
/* http_write.c - heads and errors of HTTP. */
#include "serve/http_write.h"

#include "io/digits.h"
#include "serve/settings.h"
#include "serve/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

char *http_head(char *p, const struct client *client, int status, const char *type, int64_t length,
                const char *extra) {
    const bool keep = client->keep && !client->closing && !state.stopping;
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

static void answer(struct client *client, const struct http_request *r, int status,
                   const char *type, const char *extra, struct slice body) {
    char *p = client_room(client, HEAD_ROOM + strlen(extra) + body.len);
    client->closing = client->closing || !client->keep;
    client->status = status;
    p = http_head(p, client, status, type, (int64_t)body.len, extra);
    if (!r->head) {
        memcpy(p, body.at, body.len);
        p += body.len;
    }
    client_end(client, p);
}

void http_answer(struct client *client, const struct http_request *r, const char *type,
                 struct slice body) {
    answer(client, r, 200, type, "", body);
}

void http_page(struct client *client, const struct http_request *r) {
    char extra[768];
    snprintf(
        extra, sizeof extra,
        "Content-Security-Policy: %s\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
        "Vary: Accept\r\n",
        page_policy);
    answer(client, r, 200, "text/html; charset=utf-8", extra,
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
    answer(client, r, status, "application/json", extra_of(status, extra),
           (struct slice){body, (size_t)(p - body)});
}
