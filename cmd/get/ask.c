/* SPDX-License-Identifier: MIT */
/* ask.c - one request for IDs by HTTP, RESP or flakeid's frames, and its answer. Nothing is taken
 * of an answer that is not whole. */
#include "get/ask.h"

#include "io/digits.h"
#include "io/say.h"

#include <stdio.h>
#include <string.h>

static int failed_answer(struct peer *peer, int status, const char *what, const char *text,
                         size_t len) {
    snprintf(peer->why, sizeof peer->why, "%s%s%s", what, len ? " " : "",
             len ? quote(text, len).text : "");
    return status;
}

static int garbled(struct peer *peer) {
    return failed_answer(peer, STATUS_UNREACHABLE, "the answer is not of this protocol", "", 0);
}

/* The room for an answer is full, or the connection ended in the middle. */
static int unfinished(struct peer *peer, int64_t got) {
    if (got < 0)
        return STATUS_UNREACHABLE;
    return failed_answer(peer, STATUS_UNREACHABLE,
                         got == 0 ? "the answer ends too soon" : "the answer is too long", "", 0);
}

/* Returns whether there are n lines, each of them an ID. */
static bool are_ids(const struct lines *lines, unsigned n) {
    const char *p = lines->text, *end = p + lines->len;
    for (; n > 0 && p < end; n--) {
        const char *line = p;
        while (p<end && * p> ' ' && *p < 0x7f)
            p++;
        if (p == line || p - line > GET_ID || p == end || *p++ != '\n')
            return false;
    }
    return n == 0 && p == end;
}

/* ---- HTTP -------------------------------------------------------------------- */

static int refused_http(struct peer *peer, const struct http_answer *answer) {
    const char *code = strstr(answer->body, "\"code\":\"");
    char what[64];
    code = code ? code + strlen("\"code\":\"") : "";
    const bool again = strncmp(code, "SFID_EAGAIN\"", 12) == 0 || answer->status == 429;
    const bool denied = answer->status == 401 || answer->status == 403;
    snprintf(what, sizeof what, "the answer has status %d", answer->status);
    return failed_answer(peer,
                         again    ? STATUS_BUSY
                         : denied ? STATUS_AUTH
                                  : STATUS_UNREACHABLE,
                         what, code, strcspn(code, "\""));
}

int ask_http(struct peer *peer, const struct service *service, unsigned n, struct lines *lines) {
    char what[sizeof service->path + 32];
    struct http_answer answer;
    snprintf(what, sizeof what, "GET %s/ids?n=%u", service->path, n);
    if (!http_ask(peer, &service->address, what, "Accept: text/plain\r\n", lines->text,
                  sizeof lines->text, &answer))
        return STATUS_UNREACHABLE;
    if (answer.status != 200)
        return refused_http(peer, &answer);
    memmove(lines->text, answer.body, lines->len = answer.len);
    return are_ids(lines, n) ? STATUS_GOOD : garbled(peer);
}

/* ---- RESP --------------------------------------------------------------------- */

static int refused_resp(struct peer *peer, const char *error, size_t len) {
    static const struct {
        const char *code;
        int status;
    } codes[] = {{"TRYAGAIN ", STATUS_BUSY},
                 {"NOAUTH ", STATUS_AUTH},
                 {"NOPERM ", STATUS_AUTH},
                 {"WRONGPASS ", STATUS_AUTH}};
    int status = STATUS_UNREACHABLE;
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (len > strlen(codes[i].code) && memcmp(error, codes[i].code, strlen(codes[i].code)) == 0)
            status = codes[i].status;
    return failed_answer(peer, status, "the answer is", error, len);
}

/* Reads "X123\r\n" at *p, which moves on. Returns the number, -1 if more bytes are needed, or -2 if
 * it is none. */
static int64_t read_count(const char **p, const char *end, char mark, uint64_t max) {
    char digits[24];
    uint64_t number;
    const size_t room = (size_t)(end - *p);
    const char *line = memchr(*p, '\n', room);
    if (room > 0 && **p != mark)
        return -2;
    if (line == NULL)
        return room < sizeof digits ? -1 : -2;
    const size_t len = (size_t)(line - *p);
    if (len < 3 || len >= sizeof digits || line[-1] != '\r' || memchr(*p, '\0', len))
        return -2;
    snprintf(digits, sizeof digits, "%.*s", (int)len - 2, *p + 1);
    *p = line + 1;
    return read_u64(digits, max, &number) ? (int64_t)number : -2;
}

/* Reads an array of n bulk strings into lines. Returns as read_count(), or 0. */
static int read_array(const char *p, const char *end, unsigned n, struct lines *lines) {
    const int64_t count = read_count(&p, end, '*', GET_BATCH);
    lines->len = 0;
    if (count != n)
        return count == -1 ? -1 : -2;
    for (unsigned i = 0; i < n; i++) {
        const int64_t len = read_count(&p, end, '$', GET_ID);
        if (len < 0)
            return (int)len;
        if (end - p < len + 2)
            return -1;
        if (p[len] != '\r' || p[len + 1] != '\n')
            return -2;
        memcpy(lines->text + lines->len, p, (size_t)len);
        lines->len += (size_t)len;
        lines->text[lines->len++] = '\n';
        p += len + 2;
    }
    return 0;
}

int ask_resp(struct peer *peer, const struct service *service, unsigned n, struct lines *lines) {
    static char room[sizeof lines->text];
    char request[80], digits[12];
    size_t filled = 0;
    int rc = -1;
    (void)service;
    const int width = snprintf(digits, sizeof digits, "%u", n);
    const int len =
        snprintf(request, sizeof request, "*2\r\n$9\r\nSFID.NEXT\r\n$%d\r\n%s\r\n", width, digits);
    if (!peer_send(peer, request, (size_t)len))
        return STATUS_UNREACHABLE;
    while (rc == -1) {
        const int64_t got =
            filled < sizeof room ? peer_receive(peer, room + filled, sizeof room - filled) : 1;
        if (got <= 0 || filled == sizeof room)
            return unfinished(peer, got);
        filled += (size_t)got;
        const char *error_end = room[0] == '-' ? memchr(room, '\r', filled) : NULL;
        if (error_end)
            return refused_resp(peer, room + 1, (size_t)(error_end - room - 1));
        rc = room[0] == '-' ? -1 : read_array(room, room + filled, n, lines);
    }
    return rc == 0 && are_ids(lines, n) ? STATUS_GOOD : garbled(peer);
}

/* ---- flakeid -------------------------------------------------------------------- */

/* The server of the Go program closes where it has none, and answers once on a connection. */
int ask_flakeid(struct peer *peer, const struct service *service, unsigned n, struct lines *lines) {
    enum { DIGITS = 32 };
    const unsigned char request[] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                                     (unsigned char)(n >> 8), (unsigned char)n};
    const size_t whole = (size_t)n * (DIGITS + 1) - 1;
    (void)service;
    if (!peer_send(peer, request, sizeof request))
        return STATUS_UNREACHABLE;
    for (lines->len = 0; lines->len < whole;) {
        const int64_t got = peer_receive(peer, lines->text + lines->len, whole - lines->len);
        if (got == 0 && lines->len == 0)
            return failed_answer(peer, STATUS_UNREACHABLE,
                                 "the server closes the connection without an answer", "", 0);
        if (got <= 0)
            return unfinished(peer, got);
        lines->len += (size_t)got;
    }
    lines->text[lines->len++] = '\n';
    for (size_t i = 0; i < lines->len; i++)
        if (i % (DIGITS + 1) == DIGITS ? lines->text[i] != '\n'
                                       : strchr("0123456789abcdef", lines->text[i]) == NULL)
            return garbled(peer);
    return are_ids(lines, n) ? STATUS_GOOD : garbled(peer);
}
