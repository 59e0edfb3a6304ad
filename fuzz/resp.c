/* SPDX-License-Identifier: MIT */
/* resp.c - any bytes as commands of Redis's protocol: within limits and within the bytes, whatever
 * part has come. */
#include "serve/request.h"

#include "fuzz.h"

static void check_command(const char *bytes, int used, const struct resp_request *request) {
    HOLDS(used >= 4 && used <= RESP_MOST && request->argc >= 0 && request->argc <= RESP_ARGS);
    const char *at = bytes;
    for (int i = 0; i < request->argc; i++) {
        const struct slice arg = request->argv[i];
        HOLDS(arg.len <= RESP_ARG_MOST && arg.at > at && arg.at + arg.len + 2 <= bytes + used);
        HOLDS(memcmp(arg.at + arg.len, "\r\n", 2) == 0);
        at = arg.at + arg.len;
    }
    HOLDS(bytes[used - 1] == '\n');
}

int fuzz_resp(const uint8_t *data, size_t size) {
    char *bytes = fuzz_copy(data, size, 0);
    struct resp_request request, part;
    for (size_t at = 0; at < size;) {
        const int used = resp_read(bytes + at, size - at, &request);
        HOLDS(used >= -1 && (used == -1) == (request.fault != NULL));
        if (used == 0)
            HOLDS(size - at < RESP_MOST);
        if (used <= 0)
            break;
        check_command(bytes + at, used, &request);
        HOLDS(resp_read(bytes + at, (size_t)used - 1, &part) == 0);
        HOLDS(resp_read(bytes + at, (size_t)used / 2, &part) == 0);
        HOLDS(resp_read(bytes + at, (size_t)used, &part) == used && part.argc == request.argc);
        at += (size_t)used;
    }
    free(bytes);
    return 0;
}

FUZZ_TARGET(resp)
