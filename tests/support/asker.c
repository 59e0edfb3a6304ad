/* SPDX-License-Identifier: MIT */
#include "support/asker.h"

/* ---- asking -------------------------------------------------------------- */

struct sfid__error err;
static struct sfid__reply_many room;
struct sfid__redis_reply reply = {.strings = room.strings,
                                  .most = SFID__REPLY_STRINGS,
                                  .bytes = room.bytes,
                                  .size = SFID__REPLY_BYTES};
struct took last_took;

struct sfid__connection *new_connection(const char *url) {
    struct sfid__uri uri;
    struct sfid__connection *c;
    need(sfid__uri_parse(url, &uri, &err) >= 0, "%s: %s", url, err.text);
    if (!strstr(url, "connect_timeout="))
        uri.connect_timeout_ms = LONG_MS;
    need(sfid__connection_new(&c, &uri, SFID__PEER_SERVER, "orders", &err) >= 0, "%s: %s", url,
         err.text);
    return c;
}

void end_asking(struct sfid__connection *c, struct peer *p) {
    sfid__connection_drop(c);
    stop_peer(p);
}

int ask_with(struct sfid__connection *c, int64_t within_ms, const _Atomic int *stop, int argc,
             const char *const *argv) {
    const int64_t began = tap_now_ms();
    size_t lengths[SFID__COMMAND_ARGS];
    for (int i = 0; i < argc; i++)
        lengths[i] = strlen(argv[i]);
    err = (struct sfid__error){.code = 0};
    memset(&reply, 0x55, sizeof reply);
    memset(&room, 0x55, sizeof room);
    sfid__reply_of_many(&reply, &room);
    const int rc = sfid__connection_exchange(
        c, &(struct sfid__question){argc, argv, lengths, began + within_ms, stop}, &reply, &err);
    last_took = took_since(began);
    return rc;
}

int ask(struct sfid__connection *c, int64_t within_ms, const char *a, const char *b, const char *d,
        const char *e, const char *f, const char *g) {
    const char *const argv[] = {a, b, d, e, f, g};
    int argc = 0;
    while (argc < (int)COUNT(argv) && argv[argc])
        argc++;
    return ask_with(c, within_ms, NULL, argc, argv);
}

int ping(struct sfid__connection *c, int64_t within_ms) {
    return ask(c, within_ms, "PING", NULL, NULL, NULL, NULL, NULL);
}

bool said(int rc, const char *want) {
    if (rc == 0 && reply.class == SFID__REPLY_OK && reply.count == 1 &&
        strcmp(reply.strings[0], want) == 0)
        return true;
    diag("code %d, class %d, %u strings, \"%.60s\"\n%s", rc, (int)reply.class, reply.count,
         reply.count ? reply.strings[0] : "", err.text);
    return false;
}

bool failed_with(int rc, int code, enum sfid__reply_class class, const char *words) {
    if (rc == code && err.code == code && reply.class == class && strstr(err.text, words))
        return true;
    diag("code %d, class %d, \"%s\"\nwant %d, %d, \"...%s...\"", rc, (int)reply.class, err.text,
         code, (int)class, words);
    return false;
}

bool ends_at_once(const char *what) { return in_time(last_took, AT_ONCE_MS, "%s: at once", what); }

bool ends_after(int64_t ms, const char *what) {
    const bool late = lasted(last_took, ms, "%s: not before %" PRId64 " ms", what, ms);
    return in_time(last_took, ms + OVERRUN_MS, "%s: then", what) && late;
}

int socket_fd(void) {
    int found = -1;
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_storage at;
        socklen_t len = sizeof at;
        if (getpeername(fd, (struct sockaddr *)&at, &len) == 0)
            found = fd;
    }
    return found;
}
