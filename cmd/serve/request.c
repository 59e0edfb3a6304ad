/* SPDX-License-Identifier: MIT */
/* request.c - reads requests of HTTP/1.0 and HTTP/1.1, of Redis's protocol and of flakeid's.
 * Strict: what two programs may read differently is refused. */
#include "serve/request.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum protocol protocol_of(char first) {
    return first == '\0'                  ? PROTOCOL_FLAKEID
           : first == '*'                 ? PROTOCOL_RESP
           : first >= 'A' && first <= 'Z' ? PROTOCOL_HTTP
                                          : PROTOCOL_NONE;
}

bool slice_is(struct slice slice, const char *text) {
    size_t i = 0;
    for (; i < slice.len && text[i]; i++) {
        const char c = slice.at[i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != text[i])
            return false;
    }
    return i == slice.len && text[i] == '\0';
}

/* What the lines of a head have said so far. */
struct head {
    struct http_request *request;
    int hosts;
    bool close, keep; /* tokens of Connection */
};

/* A byte of a method or of a field's name (RFC 9110, 5.6.2). */
static bool is_token(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static struct slice trimmed(const char *at, const char *end) {
    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    return (struct slice){at, (size_t)(end - at)};
}

/* ---- HTTP: the request line ------------------------------------------------------ */

/* Removes scheme and host of an absolute target (RFC 9112, 3.2.2), and finds path and query.
 * Returns false if it has no path. */
static bool read_target(struct http_request *request) {
    struct slice rest = request->target;
    static const char *const schemes[] = {"http://", "https://"};
    for (int i = 0; i < 2; i++) {
        const size_t len = strlen(schemes[i]);
        if (rest.len <= len || !slice_is((struct slice){rest.at, len}, schemes[i]))
            continue;
        rest = (struct slice){rest.at + len, rest.len - len};
        request->absolute = true;
        request->host.at = rest.at;
        while (rest.len > 0 && rest.at[0] != '/' && rest.at[0] != '?')
            rest.at++, rest.len--;
        request->host.len = (size_t)(rest.at - request->host.at);
        if (rest.len == 0 || rest.at[0] == '?') { /* http://host is the path "/" */
            request->path = (struct slice){"/", 1};
            request->query = rest.len > 0 ? (struct slice){rest.at + 1, rest.len - 1} : rest;
            return true;
        }
    }
    const char *mark = memchr(rest.at, '?', rest.len);
    request->path = (struct slice){rest.at, mark ? (size_t)(mark - rest.at) : rest.len};
    request->query = mark ? (struct slice){mark + 1, rest.len - request->path.len - 1}
                          : (struct slice){rest.at, 0};
    if (request->path.len > 1 && request->path.at[request->path.len - 1] == '/')
        request->path.len--;
    return rest.at[0] == '/';
}

static int read_version(struct slice version, struct http_request *request) {
    if (version.len != 8 || memcmp(version.at, "HTTP/", 5) != 0 || version.at[6] != '.' ||
        version.at[5] < '0' || version.at[5] > '9' || version.at[7] < '0' || version.at[7] > '9')
        return HTTP_MALFORMED;
    if (version.at[5] != '1' || version.at[7] > '1')
        return HTTP_BAD_VERSION;
    request->old = version.at[7] == '0';
    return 0;
}

static int read_request_line(const char *p, const char *end, struct http_request *request) {
    const char *begin = p;
    while (p < end && is_token(*p))
        p++;
    request->method = (struct slice){begin, (size_t)(p - begin)};
    if (p == begin || p == end || *p++ != ' ')
        return HTTP_MALFORMED;
    begin = p;
    while (p<end && * p> ' ' && *p < 0x7f)
        p++;
    request->target = (struct slice){begin, (size_t)(p - begin)};
    if (p == begin || p == end || *p++ != ' ')
        return HTTP_MALFORMED;
    request->get = request->method.len == 3 && memcmp(request->method.at, "GET", 3) == 0;
    request->head = request->method.len == 4 && memcmp(request->method.at, "HEAD", 4) == 0;
    const int rc = read_version((struct slice){p, (size_t)(end - p)}, request);
    if (rc < 0)
        return rc;
    /* Other methods may have other targets, such as '*', and are answered by 405. */
    return read_target(request) || !(request->get || request->head) ? 0 : HTTP_MALFORMED;
}

/* ---- fields ---------------------------------------------------------------- */

/* Calls for each element of a list, without parameters after ';'. */
static void each_element(struct slice list, void (*see)(struct head *head, struct slice element),
                         struct head *head) {
    const char *p = list.at, *end = list.at + list.len;
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;
        see(head, trimmed(p, stop));
        p = comma ? comma + 1 : end;
    }
}

static void see_connection(struct head *head, struct slice token) {
    head->close = head->close || slice_is(token, "close");
    head->keep = head->keep || slice_is(token, "keep-alive");
}

/* Is the weight of a media range 0? Its parameters: ";q=0", ";q=0.0". */
static bool has_no_weight(struct slice range) {
    for (size_t i = 0; i + 1 < range.len; i++) {
        if ((range.at[i] | 0x20) != 'q' || range.at[i + 1] != '=' || i == 0 ||
            (range.at[i - 1] != ';' && !is_blank(range.at[i - 1])))
            continue;
        for (i += 2; i < range.len && (range.at[i] == '0' || range.at[i] == '.'); i++)
            ;
        return i == range.len || range.at[i] < '0' || range.at[i] > '9';
    }
    return false;
}

static void see_accept(struct head *head, struct slice range) {
    const char *mark = memchr(range.at, ';', range.len);
    const struct slice type = mark ? trimmed(range.at, mark) : range;
    if (slice_is(type, "application/openmetrics-text") && !has_no_weight(range))
        head->request->openmetrics = true;
    if (slice_is(type, "text/html") && !has_no_weight(range))
        head->request->html = true;
}

static int see_length(struct head *head, struct slice value) {
    bool zero = true;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return HTTP_MALFORMED;
        zero = zero && value.at[i] == '0';
    }
    head->request->body = head->request->body || !zero;
    return value.len > 0 ? 0 : HTTP_MALFORMED;
}

static int see_host(struct head *head, struct slice value) {
    for (size_t i = 0; i < value.len; i++)
        if (strchr(" \t,/@?#\\", value.at[i]))
            return HTTP_MALFORMED;
    if (!head->request->absolute)
        head->request->host = value;
    return ++head->hosts > 1 ? HTTP_MALFORMED : 0;
}

static int see_field(struct head *head, struct slice name, struct slice value) {
    if (slice_is(name, "host"))
        return see_host(head, value);
    if (slice_is(name, "content-length"))
        return see_length(head, value);
    if (slice_is(name, "transfer-encoding"))
        head->request->body = true;
    else if (slice_is(name, "connection"))
        each_element(value, see_connection, head);
    else if (slice_is(name, "accept"))
        each_element(value, see_accept, head);
    return 0;
}

static int read_field(struct head *head, const char *p, const char *end) {
    const char *begin = p;
    while (p < end && is_token(*p))
        p++;
    if (p == begin || p == end || *p != ':') /* also a folded line, and a blank before the colon */
        return HTTP_MALFORMED;
    const struct slice name = {begin, (size_t)(p - begin)};
    for (const char *c = ++p; c < end; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
            return HTTP_MALFORMED;
    return see_field(head, name, trimmed(p, end));
}

/* ---- the head -------------------------------------------------------------- */

static int finish_head(struct head *head, int used) {
    struct http_request *request = head->request;
    if (head->hosts == 0 && !request->old)
        return HTTP_MALFORMED;
    request->keep = !head->close && (!request->old || head->keep);
    return used;
}

int http_read(const char *bytes, size_t len, struct http_request *request) {
    struct head head = {.request = request};
    const char *p = bytes, *end = bytes + (len > HTTP_HEAD_MOST ? HTTP_HEAD_MOST : len);
    bool first = true;
    *request = (struct http_request){.method = {bytes, 0},
                                     .target = {bytes, 0},
                                     .path = {bytes, 0},
                                     .query = {bytes, 0},
                                     .host = {bytes, 0}};
    for (;;) {
        const char *line = p, *newline = memchr(p, '\n', (size_t)(end - p));
        if (newline == NULL)
            return len >= HTTP_HEAD_MOST ? HTTP_TOO_LONG : 0;
        if (newline == line || newline[-1] != '\r')
            return HTTP_MALFORMED;
        p = newline + 1;
        const char *stop = newline - 1;
        if (stop == line) {
            if (!first)
                return finish_head(&head, (int)(p - bytes));
            if (line != bytes)
                return HTTP_MALFORMED;
            continue; /* one empty line before a request is passed over (RFC 9112, 2.2) */
        }
        const int rc =
            first ? read_request_line(line, stop, request) : read_field(&head, line, stop);
        if (rc < 0)
            return rc;
        first = false;
    }
}

/* ---- hosts ------------------------------------------------------------------- */

static struct slice without_port(struct slice host) {
    size_t len = host.len;
    while (len > 0 && host.at[len - 1] >= '0' && host.at[len - 1] <= '9')
        len--;
    return (struct slice){host.at, len > 0 && host.at[len - 1] == ':' ? len - 1 : host.len};
}

bool host_is_local(struct slice host) {
    char text[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    struct in_addr v4;
    struct slice name = without_port(host);
    const bool brackets = name.len > 2 && name.at[0] == '[' && name.at[name.len - 1] == ']';
    if (brackets)
        name = (struct slice){name.at + 1, name.len - 2};
    else if (name.len > 0 && name.at[name.len - 1] == '.')
        name.len--; /* the root's dot */
    if (name.len >= sizeof text)
        return false;
    memcpy(text, name.at, name.len);
    text[name.len] = '\0';
    if (brackets)
        return inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
    return slice_is(name, "localhost") ||
           (inet_pton(AF_INET, text, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/* ---- the parameters of a URL -------------------------------------------------- */

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the byte at p, which may be an escape. Returns it and moves p, or returns -1. */
static int next_byte(const char **p, const char *end) {
    const char c = *(*p)++;
    if (c == '+')
        return ' ';
    if (c != '%')
        return (unsigned char)c;
    if (end - *p < 2 || hex((*p)[0]) < 0 || hex((*p)[1]) < 0)
        return -1;
    const int value = hex((*p)[0]) << 4 | hex((*p)[1]);
    *p += 2;
    return value;
}

/* Reads up to `stop` or the end of the parameter. name: compares with it, else writes to value.
 * Returns false at a bad escape. */
static bool read_part(const char **p, const char *end, const char *stops, const char *name,
                      bool *same, char *value, size_t size, int *len) {
    size_t n = 0;
    *same = name != NULL;
    while (*p < end && strchr(stops, **p) == NULL) {
        const int byte = next_byte(p, end);
        if (byte < 0)
            return false;
        if (name)
            *same = *same && name[n] && (unsigned char)name[n] == byte, n += *same;
        else if (n + 1 < size)
            value[n++] = (char)byte;
    }
    *same = *same && name[n] == '\0';
    *len = (int)n;
    return true;
}

int query_find(struct slice query, const char *name, char *value, size_t size) {
    char ignored[1];
    const char *p = query.at, *end = query.at + query.len;
    int found = QUERY_ABSENT;
    while (p < end) {
        bool same, none;
        int len = 0, skipped;
        if (!read_part(&p, end, "=&", name, &same, NULL, 0, &skipped))
            return QUERY_BAD;
        const bool wanted = same && found == QUERY_ABSENT;
        if (wanted)
            value[0] = '\0';
        if (p < end && *p == '=') {
            p++;
            if (!read_part(&p, end, "&", NULL, &none, wanted ? value : ignored, wanted ? size : 1,
                           &len))
                return QUERY_BAD;
        }
        if (wanted) {
            value[len] = '\0';
            found = len;
        }
        p += p < end; /* the '&' */
    }
    return found;
}

/* ---- RESP, without inline commands -------------------------------------------- */

struct reader {
    const char *at, *end;
    const char *fault;
};

enum { MORE = -1, FAULT = -2 };

static int64_t refuse_bytes(struct reader *r, const char *fault) {
    r->fault = fault;
    return FAULT;
}

/* Reads a mark, a number and a line end. Returns the number (0 for -1), MORE or FAULT. */
static int64_t read_length(struct reader *r, char mark, const char *unmarked, const char *invalid) {
    enum { DIGITS = 9 };
    int64_t value = 0;
    const char *p = r->at;
    if (p == r->end)
        return MORE;
    if (*p++ != mark)
        return refuse_bytes(r, unmarked);
    const bool negative = p < r->end && *p == '-';
    p += negative;
    const char *digits = p;
    for (; p < r->end && *p >= '0' && *p <= '9'; p++) {
        if (p - digits == DIGITS)
            return refuse_bytes(r, invalid);
        value = value * 10 + (*p - '0');
    }
    if (p == r->end)
        return MORE;
    if (p == digits || *p != '\r' || (negative && (mark == '$' || value != 1)))
        return refuse_bytes(r, invalid);
    if (++p == r->end)
        return MORE;
    if (*p++ != '\n')
        return refuse_bytes(r, invalid);
    r->at = p;
    return negative ? 0 : value; /* *-1 is an array of none */
}

/* Reads one bulk string. Returns 0, MORE or FAULT. */
static int64_t read_bulk(struct reader *r, struct slice *out) {
    const int64_t len = read_length(r, '$', "expected '$'", "invalid bulk length");
    if (len < 0)
        return len;
    if (len > RESP_ARG_MOST)
        return refuse_bytes(r, "invalid bulk length: more than 1024 bytes");
    if (r->end - r->at < len + 2) {
        const int64_t left = r->end - r->at;
        return left > len && r->at[len] != '\r'
                   ? refuse_bytes(r, "a bulk string does not end in CRLF")
                   : MORE;
    }
    if (memcmp(r->at + len, "\r\n", 2) != 0)
        return refuse_bytes(r, "a bulk string does not end in CRLF");
    *out = (struct slice){r->at, (size_t)len};
    r->at += len + 2;
    return 0;
}

int resp_read(const char *bytes, size_t len, struct resp_request *request) {
    struct reader r = {bytes, bytes + (len > RESP_MOST ? RESP_MOST : len), NULL};
    int64_t count = read_length(&r, '*', "expected '*'", "invalid multibulk length");
    if (count > RESP_ARGS)
        count = refuse_bytes(&r, "invalid multibulk length: more than 16 arguments");
    request->argc = 0;
    int64_t rc = count < 0 ? count : 0;
    while (rc == 0 && request->argc < count)
        if ((rc = read_bulk(&r, &request->argv[request->argc])) == 0)
            request->argc++;
    if (rc == MORE && len >= RESP_MOST)
        rc = refuse_bytes(&r, "the command has more than 8192 bytes");
    request->fault = r.fault;
    return rc == 0 ? (int)(r.at - bytes) : rc == MORE ? 0 : -1;
}

/* ---- flakeid ------------------------------------------------------------------- */

int flakeid_read(const char *bytes, size_t len, uint32_t *count) {
    enum { SIZE = 4 };
    if (len < SIZE)
        return len > 0 && bytes[0] != 0 ? -1 : 0;
    *count = 0;
    for (int i = 0; i < SIZE; i++)
        *count = *count << 8 | (unsigned char)bytes[i];
    return *count > FLAKEID_MOST ? -1 : SIZE;
}
