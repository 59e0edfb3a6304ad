/* SPDX-License-Identifier: MIT */
/* get.c - sfid get: gets IDs from a service. */
#include "args/args.h"
#include "get/ask.h"
#include "io/out.h"
#include "io/say.h"
#include "net/peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COUNT, TIMEOUT };

static const struct option_spec options[] = {
    [COUNT] = {"count", 'n', "COUNT", NULL, "how many IDs (1)"},
    [TIMEOUT] = {"timeout-ms", 0, "MS", NULL, "how long to wait for each answer (5000)"},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct protocol {
    const char *scheme;
    int (*ask)(struct peer *peer, const struct service *service, unsigned n, struct lines *lines);
} protocols[] = {
    {"http", ask_http}, {"resp", ask_resp}, {"redis", ask_resp}, {"flakeid", ask_flakeid}};

/* Reads [SCHEME://]ADDRESS[/PATH]. Without a scheme it is HTTP. Returns NULL if it is no such
 * text. */
static const struct protocol *read_service(const char *text, struct service *service) {
    static const char unix_socket[] = "unix:/";
    const struct protocol *protocol = protocols;
    const char *mark = strstr(text, "://"), *address = text;
    if (mark && strncmp(text, unix_socket, strlen(unix_socket)) != 0) {
        for (protocol = protocols; protocol < protocols + COUNT_OF(protocols); protocol++)
            if (strlen(protocol->scheme) == (size_t)(mark - text) &&
                strncmp(text, protocol->scheme, strlen(protocol->scheme)) == 0)
                break;
        if (protocol == protocols + COUNT_OF(protocols))
            return NULL;
        address = mark + 3;
    }
    const bool local = strncmp(address, unix_socket, strlen(unix_socket)) == 0;
    const size_t len = local ? strlen(address) : strcspn(address, "/");
    size_t path = strlen(address + len);
    while (path > 0 && address[len + path - 1] == '/')
        path--;
    if (path >= sizeof service->path || (path > 0 && protocol->ask != ask_http))
        return NULL;
    for (size_t i = 0; i < path; i++)
        if (address[len + i] <= ' ' || address[len + i] >= 0x7f || strchr("?#", address[len + i]))
            return NULL;
    snprintf(service->path, sizeof service->path, "%.*s", (int)path, address + len);
    return address_read(address, len, "3525", &service->address) ? protocol : NULL;
}

static int fail_get(const struct service *service, const struct peer *peer, int status,
                    uint64_t done, uint64_t count) {
    char before[64] = "";
    if (done > 0)
        snprintf(before, sizeof before, "%" PRIu64 " of %" PRIu64 " IDs came; ", done, count);
    return fail(status, "%s%s%s%s: %s", before, QUOTE(service->address.host),
                service->address.port[0] ? " port " : "", service->address.port, peer->why);
}

static int run_get(const struct args *args) {
    static struct lines lines;
    struct service service;
    uint64_t count = 1;
    uint32_t timeout_ms = 5000;
    if (args->operand_count != 1)
        return misuse(args,
                      args->operand_count == 0 ? "get: no address" : "get: unexpected argument %s",
                      args->operand_count == 0 ? "" : QUOTE(args->operands[1]));
    if (!args_number(args, COUNT, UINT64_MAX, &count) ||
        !args_between(args, TIMEOUT, 1, 3600000, &timeout_ms))
        return STATUS_USAGE;
    const struct protocol *protocol = read_service(args->operands[0], &service);
    if (protocol == NULL)
        return fail(
            STATUS_USAGE,
            "get: %s is not an address; use one such as http://127.0.0.1:3525, resp://[::1]:3525 or flakeid://unix:/run/sfid.sock",
            QUOTE(args->operands[0]));
    for (uint64_t done = 0; done < count;) {
        const unsigned n = count - done < GET_BATCH ? (unsigned)(count - done) : GET_BATCH;
        struct peer peer;
        if (!peer_open(&peer, &service.address, (int)timeout_ms))
            return fail_get(&service, &peer, STATUS_UNREACHABLE, done, count);
        const int status = protocol->ask(&peer, &service, n, &lines);
        peer_close(&peer);
        if (status != STATUS_GOOD)
            return fail_get(&service, &peer, status, done, count);
        out_bytes(lines.text, lines.len);
        done += n;
        if (!out_flush())
            break; /* close_output() reports why */
    }
    return STATUS_GOOD;
}

const struct command command_get = {
    .name = "get",
    .synopsis = "ADDRESS [-n COUNT] [--timeout-ms MS]",
    .summary = "get IDs from a service",
    .about =
        "Gets COUNT IDs from a service, and prints them one per line. ADDRESS is HOST[:PORT],\n"
        "[IPV6][:PORT] or unix:/PATH, with http:// (the default), resp:// or redis://, or\n"
        "flakeid:// before it. The default port is 3525. A request asks for at most 1000 IDs. If an\n"
        "answer is incomplete, none of its IDs is printed.\n",
    .options = options,
    .run = run_get,
};
