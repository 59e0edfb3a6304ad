/* SPDX-License-Identifier: MIT */
/* http.c - a client of HTTP/1.0: one request on a connection, and its whole answer. */
#include "net/http.h"

#include "io/digits.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool failed(struct peer *peer, const char *why) {
    snprintf(peer->why, sizeof peer->why, "%s", why);
    return false;
}

static bool send_request(struct peer *peer, const struct address *address, const char *method_path,
                         const char *more) {
    char request[HTTP_HEAD];
    const bool v6 = strchr(address->host, ':') != NULL, local = address->port[0] == '\0';
    const int len = snprintf(request, sizeof request, "%s HTTP/1.0\r\nHost: %s%s%s%s%s\r\n%s\r\n",
                             method_path, v6 ? "[" : "", local ? "localhost" : address->host,
                             v6 ? "]" : "", local ? "" : ":", address->port, more);
    if (len < 0 || (size_t)len >= sizeof request)
        return failed(peer, "the request is too long");
    return peer_send(peer, request, (size_t)len);
}

/* Returns the value of a header line in a head that ends in a NUL, or NULL. */
static const char *header(const char *head, const char *name) {
    const size_t len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, len) == 0 && line[2 + len] == ':')
            return line + 3 + len + strspn(line + 3 + len, " \t");
    return NULL;
}

/* Reads the head. *length becomes the body's, or SIZE_MAX if it ends with the connection. */
static bool read_head(struct peer *peer, const char *head, int *status, size_t *length) {
    uint64_t number = SIZE_MAX;
    char digits[24];
    if (sscanf(head, "HTTP/1.%*1[01] %3d", status) != 1 || *status < 100)
        return failed(peer, "the answer is not HTTP/1");
    if (header(head, "Transfer-Encoding"))
        return failed(peer, "the answer has a transfer encoding");
    const char *value = header(head, "Content-Length");
    if (value) {
        snprintf(digits, sizeof digits, "%.*s", (int)strcspn(value, " \t\r"), value);
        if (!read_u64(digits, SIZE_MAX / 2, &number))
            return failed(peer, "the answer has no valid length");
    }
    *length = (size_t)number;
    return true;
}

bool http_ask(struct peer *peer, const struct address *address, const char *method_path,
              const char *more, char *room, size_t size, struct http_answer *answer) {
    size_t filled = 0, length = SIZE_MAX;
    char *body = NULL;
    if (!send_request(peer, address, method_path, more))
        return false;
    for (;;) {
        if (body && filled - (size_t)(body - room) >= length)
            break;
        if (filled + 1 >= size || (body == NULL && filled >= HTTP_HEAD + 4))
            return failed(peer, "the answer is too long");
        const int64_t n = peer_receive(peer, room + filled, size - 1 - filled);
        if (n < 0)
            return false;
        if (n == 0 && (body == NULL || length != SIZE_MAX))
            return failed(peer, "the answer ends too soon");
        if (n == 0)
            break;
        filled += (size_t)n;
        room[filled] = '\0';
        char *end = body ? NULL : strstr(room, "\r\n\r\n");
        if (end && end - room > HTTP_HEAD)
            return failed(peer, "the answer is too long");
        if (end) {
            *end = '\0';
            body = end + 4;
            if (!read_head(peer, room, &answer->status, &length))
                return false;
        }
    }
    answer->body = body;
    answer->len = length != SIZE_MAX ? length : filled - (size_t)(body - room);
    body[answer->len] = '\0';
    return true;
}
