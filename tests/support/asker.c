/* SPDX-License-Identifier: MIT */
#include "support/asker.h"

/* ---- asking -------------------------------------------------------------- */

struct sfid__error err;
struct sfid__redis_reply reply;
int64_t took_ms;
int64_t worst_overrun_ms;

struct sfid__connection *new_connection(const char *url) {
    struct sfid__uri uri;
    struct sfid__connection *c;
    need(sfid__uri_parse(url, &uri, &err) >= 0 && sfid__connection_new(&c, &uri, SFID__PEER_SERVER, "orders", &err) >= 0, "%s: %s",
         url, err.text);
    return c;
}

void end_asking(struct sfid__connection *c, struct peer *p) {
    sfid__connection_drop(c);
    stop_peer(p);
}

int ask_with(struct sfid__connection *c, int64_t within_ms, const _Atomic int *stop, int argc, const char *const *argv) {
    const int64_t began = sfid__deadline_now_ms();
    size_t lengths[SFID__COMMAND_ARGS];
    for (int i = 0; i < argc; i++)
        lengths[i] = strlen(argv[i]);
    err = (struct sfid__error){.code = 0};
    memset(&reply, 0x55, sizeof reply);
    const int rc = sfid__connection_exchange(c, &(struct sfid__question){argc, argv, lengths, began + within_ms, stop}, &reply, &err);
    took_ms = sfid__deadline_now_ms() - began;
    if (within_ms > 0)
        worst_overrun_ms = SFID__MAX(worst_overrun_ms, took_ms - within_ms);
    return rc;
}

int ask(struct sfid__connection *c, int64_t within_ms, const char *a, const char *b, const char *d, const char *e, const char *f,
        const char *g) {
    const char *const argv[] = {a, b, d, e, f, g};
    int argc = 0;
    while (argc < (int)COUNT(argv) && argv[argc])
        argc++;
    return ask_with(c, within_ms, NULL, argc, argv);
}

int ping(struct sfid__connection *c, int64_t within_ms) { return ask(c, within_ms, "PING", NULL, NULL, NULL, NULL, NULL); }

bool said(int rc, const char *want) {
    if (rc == 0 && reply.class == SFID__REPLY_OK && reply.count == 1 && strcmp(reply.strings[0], want) == 0)
        return true;
    diag("code %d, class %d, %u strings, \"%.60s\"\n%s", rc, (int)reply.class, reply.count, reply.count ? reply.strings[0] : "",
         err.text);
    return false;
}

bool failed_with(int rc, int code, enum sfid__reply_class class, const char *words) {
    if (rc == code && err.code == code && reply.class == class && strstr(err.text, words))
        return true;
    diag("code %d, class %d, \"%s\"\nwant %d, %d, \"...%s...\"", rc, (int)reply.class, err.text, code, (int)class, words);
    return false;
}

bool within(int64_t least_ms, int64_t most_ms) {
    if (took_ms >= least_ms && took_ms <= most_ms + SLACK_MS)
        return true;
    diag("took %lld ms, want %lld to %lld", (long long)took_ms, (long long)least_ms, (long long)most_ms);
    return false;
}

/* ---- looking at this process --------------------------------------------- */

bool memory_is_own(void) {
    const char *preload = getenv("LD_PRELOAD"); /* set by valgrind for the program it runs */
    return !SANITIZED && (preload == NULL || strstr(preload, "vgpreload") == NULL);
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
