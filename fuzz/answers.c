/* SPDX-License-Identifier: MIT */
/* answers.c - any bytes as a service's answer to sfid get: alike in one piece and in many, and no
 * ID that the answer has not. */
#include "get/ask.h"

#include "fuzz.h"
#include "io/say.h"

static struct {
    const uint8_t *bytes;
    size_t len, piece;
    bool deaf;   /* takes no request */
    bool broken; /* ends with an error */
    char behind; /* what the room has behind what came: nothing may depend on it */
} answer;

bool peer_send(struct peer *peer, const void *bytes, size_t len) {
    HOLDS(peer->fd == 7 && bytes && len > 0);
    if (answer.deaf)
        snprintf(peer->why, sizeof peer->why, "deaf");
    return !answer.deaf;
}

int64_t peer_receive(struct peer *peer, void *room, size_t size) {
    HOLDS(size > 0);
    size_t len = answer.len < answer.piece ? answer.len : answer.piece;
    len = len < size ? len : size;
    memcpy(room, answer.bytes, len);
    memset((char *)room + len, answer.behind, size - len < 64 ? size - len : 64);
    answer.bytes += len;
    answer.len -= len;
    if (len == 0 && answer.broken)
        snprintf(peer->why, sizeof peer->why, "broken");
    return len == 0 && answer.broken ? -1 : (int64_t)len;
}

/* ---- sfid get ---------------------------------------------------------------- */

struct result {
    int status;
    char why[PEER_WHY];
    struct lines lines;
};

typedef int asker(struct peer *peer, const struct service *service, unsigned n,
                  struct lines *lines);

static void get(asker *ask, unsigned n, struct result *result) {
    const struct service service = {.address = {"h", "80"}, .path = ""};
    struct peer peer = {.fd = 7};
    result->status = ask(&peer, &service, n, &result->lines);
    HOLDS(strlen(peer.why) < sizeof peer.why);
    memcpy(result->why, peer.why, sizeof peer.why);
    if (result->status != STATUS_GOOD)
        HOLDS(peer.why[0] && (result->status == STATUS_UNREACHABLE ||
                              result->status == STATUS_BUSY || result->status == STATUS_AUTH));
}

/* As many IDs as asked for, each to be found in the answer behind the one before. */
static void check_lines(const struct lines *lines, unsigned n, const uint8_t *bytes, size_t len) {
    const char *line = lines->text, *const all = line + lines->len,
               *from = (const char *)bytes, *const end = from + len;
    for (; n > 0; n--) {
        const char *stop = memchr(line, '\n', (size_t)(all - line));
        HOLDS(stop && stop > line && stop - line <= GET_ID);
        for (const char *p = line; p < stop; p++)
            HOLDS(*p > ' ' && *p < 0x7f);
        from = memmem(from, (size_t)(end - from), line, (size_t)(stop - line));
        HOLDS(from != NULL);
        from += stop - line;
        line = stop + 1;
    }
    HOLDS(line == all);
}

static void check_get(asker *ask, unsigned n, const uint8_t *data, size_t size, size_t piece) {
    static struct result whole, parts;
    answer.bytes = data, answer.len = size, answer.piece = SIZE_MAX, answer.behind = '\n';
    get(ask, n, &whole);
    answer.bytes = data, answer.len = size, answer.piece = piece, answer.behind = '0';
    get(ask, n, &parts);
    HOLDS(whole.status == parts.status && strcmp(whole.why, parts.why) == 0);
    if (whole.status != STATUS_GOOD)
        return;
    HOLDS(whole.lines.len == parts.lines.len &&
          memcmp(whole.lines.text, parts.lines.text, whole.lines.len) == 0);
    check_lines(&whole.lines, n, data, size);
}

/* ---- HTTP, into any room ----------------------------------------------------- */

static bool read_http(char *room, size_t size, struct http_answer *read) {
    const struct address address = {"h", "80"};
    struct peer peer = {.fd = 7};
    const bool good = http_ask(&peer, &address, "GET /", "", room, size, read);
    HOLDS(good || peer.why[0]);
    if (good) {
        HOLDS(read->status >= 100 && read->status <= 999);
        HOLDS(read->body >= room + 4 && read->body + read->len < room + size &&
              read->body[read->len] == '\0');
        HOLDS(memcmp(room, "HTTP/1.", 7) == 0);
    }
    return good;
}

static void check_http(const uint8_t *data, size_t size, size_t room, size_t piece) {
    struct http_answer whole, parts;
    char *one = fuzz_copy(NULL, room, 0), *other = fuzz_copy(NULL, room, 0);
    answer.bytes = data, answer.len = size, answer.piece = SIZE_MAX, answer.behind = '\n';
    const bool good = read_http(one, room, &whole);
    answer.bytes = data, answer.len = size, answer.piece = piece, answer.behind = '0';
    HOLDS(read_http(other, room, &parts) == good);
    if (good)
        HOLDS(whole.status == parts.status && whole.len == parts.len &&
              memcmp(whole.body, parts.body, whole.len) == 0);
    free(one);
    free(other);
}

/* A byte for the protocol and the end, one for the number of IDs or the room, one for the
 * pieces. */
int fuzz_answers(const uint8_t *data, size_t size) {
    static asker *const asks[] = {ask_http, ask_resp, ask_flakeid};
    const unsigned kind = (unsigned)fuzz_take(&data, &size, 1);
    const unsigned n = (unsigned)fuzz_take(&data, &size, 1);
    const size_t piece = 1 + (size_t)fuzz_take(&data, &size, 1) % 64;
    answer.broken = kind & 4;
    answer.deaf = kind & 8;
    if (kind % 4 < 3)
        check_get(asks[kind % 4], n == 255 ? GET_BATCH : 1 + n % 8, data, size, piece);
    else
        check_http(data, size, 2 + (size_t)n * 8, piece);
    return 0;
}

FUZZ_TARGET(answers)
