/* SPDX-License-Identifier: MIT */
/*
 * What a holder of a lease has room for: each answer that the lease script gives it, and each
 * refusal of a server. More is refused as a whole, as with the room of operators, and writes
 * nothing past the end.
 */
#include "redis/resp.h"

#include "support/scene.h"

#include <stdlib.h>

static struct sfid__uri uri;
static const char *why;

/* Takes an array of n strings of len bytes in. */
static enum sfid__resp_taken take(struct sfid__redis_reply *reply, unsigned n, unsigned len) {
    struct sfid__resp r;
    char *bytes = malloc(64 + (size_t)n * (len + 16));
    need(bytes != NULL && sfid__resp_begin(&r, reply, &uri, 1, (const char *const[]){"PING"}, NULL),
         "out of memory");
    size_t size = (size_t)sprintf(bytes, "*%u\r\n", n);
    for (unsigned i = 0; i < n; i++)
        size += (size_t)sprintf(bytes + size, "$%u\r\n%0*u\r\n", len, (int)len, i);
    const enum sfid__resp_taken taken = sfid__resp_take(&r, bytes, size);
    why = r.why ? r.why : "";
    sfid__resp_end(&r);
    free(bytes);
    return taken;
}

static bool has(const struct sfid__redis_reply *reply, unsigned n, unsigned len) {
    bool all = reply->count == n;
    for (unsigned i = 0; all && i < n; i++)
        all = strlen(reply->strings[i]) == len && strtoul(reply->strings[i], NULL, 10) == i;
    return all;
}

/* Behind the room lies what has to stay. */
static struct {
    struct sfid__reply_few few;
    unsigned char behind[64];
} small;

static void test_few(void) {
    struct sfid__redis_reply reply;
    memset(&reply, 0x55, sizeof reply);
    memset(&small, 0x55, sizeof small);
    sfid__reply_of_few(&reply, &small.few);
    ok(reply.count == 0 && strcmp(reply.strings[0], "") == 0, "room is empty at first");
    ok(take(&reply, 7, 48) == SFID__RESP_WHOLE && has(&reply, 7, 48),
       "seven strings, each as long as an era, are taken in");
    ok(take(&reply, 4, 255) == SFID__RESP_WHOLE && has(&reply, 4, 255), "four of the longest are");
    ok(take(&reply, 8, 127) == SFID__RESP_WHOLE && has(&reply, 8, 127),
       "and as many as there is room for");
    ok(take(&reply, 9, 1) == SFID__RESP_WRONG && strcmp(why, "too many elements") == 0,
       "more are not (%s)", why);
    ok(take(&reply, 5, 255) == SFID__RESP_WRONG && strcmp(why, "it is too long") == 0,
       "nor are longer ones (%s)", why);
    ok(take(&reply, 8, 128) == SFID__RESP_WRONG, "by one byte each");
    bool stays = true;
    for (size_t i = 0; i < sizeof small.behind; i++)
        stays = stays && small.behind[i] == 0x55;
    ok(stays, "nothing is written past the end");
    ok(take(&reply, 1, 2) == SFID__RESP_WHOLE && has(&reply, 1, 2), "the next one is taken in");
}

static void test_many(void) {
    static struct sfid__reply_many many;
    struct sfid__redis_reply reply;
    sfid__reply_of_few(&reply, &small.few);
    sfid__reply_of_many(&reply, &many);
    ok(take(&reply, SFID__REPLY_STRINGS, 80) == SFID__RESP_WHOLE &&
           has(&reply, SFID__REPLY_STRINGS, 80),
       "operators have room for %d strings", SFID__REPLY_STRINGS);
    ok(take(&reply, SFID__REPLY_STRINGS + 1, 1) == SFID__RESP_WRONG, "and for no more");
    sfid__reply_of_few(&reply, &small.few);
    ok(reply.count == 0 && strcmp(reply.strings[0], "") == 0, "room that changes is empty");
    ok(take(&reply, 9, 1) == SFID__RESP_WRONG, "and small again");
}

int main(void) {
    test_few();
    test_many();
    return done_testing();
}
