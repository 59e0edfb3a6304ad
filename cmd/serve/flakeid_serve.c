/* SPDX-License-Identifier: MIT */
/* flakeid_serve.c - answers flakeid's requests, and tells the protocols apart. */
#include "serve/flakeid_serve.h"

#include "serve/answer.h"
#include "serve/flakeid.h"
#include "serve/settings.h"

enum protocol protocol_of(char first) {
    return first == '\0'                  ? PROTOCOL_FLAKEID
           : first == '*'                 ? PROTOCOL_RESP
           : first >= 'A' && first <= 'Z' ? PROTOCOL_HTTP
                                          : PROTOCOL_NONE;
}

size_t flakeid_serve(struct client *client, const char *bytes, size_t len) {
    uint32_t count;
    const int used = flakeid_read(bytes, len, &count);
    if (used == 0)
        return 0;
    state.requests[PROTOCOL_FLAKEID]++;
    if (used < 0 || count > settings.max_ids) {
        state.rejected[used < 0 && bytes[0] != 0 ? REJECTED_PARSE : REJECTED_LIMIT]++;
        client->closing = client->linger = true;
        return len;
    }
    if (count > 0) /* 0 has no answer */
        answer_begin(client, ANSWER_FLAKEID, count, 0);
    return (size_t)used;
}
