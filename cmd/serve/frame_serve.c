/* SPDX-License-Identifier: MIT */
/* frame_serve.c - answers commands of Redis's protocol, RESP2 and RESP3, and flakeid's frames. */
#include "serve/frame_serve.h"

#include "io/digits.h"
#include "io/out.h"
#include "serve/answer.h"
#include "serve/request.h"
#include "serve/settings.h"
#include "serve/source.h"
#include "text/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The Redis version that clients see. They send only commands that it has, and those are answered
 * here. */
#define SERVER_VERSION "7.0.0"

struct resp_command {
    const char *name;
    int least, most; /* arguments, the name included */
    void (*serve)(struct client *client, const struct resp_request *r);
};

static void write_text(struct client *client, const char *text) {
    client_write(client, text, strlen(text));
}

static void write_bulk(struct client *client, struct slice text) {
    client_print(client, "$%zu\r\n", text.len);
    client_write(client, text.at, text.len);
    write_text(client, "\r\n");
}

static void write_pair(struct client *client, const char *key, const char *value) {
    write_bulk(client, (struct slice){key, strlen(key)});
    write_bulk(client, (struct slice){value, strlen(value)});
}

static void write_nil(struct client *client) {
    write_text(client, client->resp3 ? "_\r\n" : "$-1\r\n");
}

/* A client's word in an error, as one line. */
struct shown {
    char text[65];
};
static struct shown show_word(struct slice word) {
    struct shown shown;
    size_t i = 0;
    for (; i < word.len && i < sizeof shown.text - 1; i++) {
        const char c = word.at[i];
        shown.text[i] = c < ' ' || c > '~' || c == '\'' || c == '"' ? '?' : c;
    }
    shown.text[i] = '\0';
    return shown;
}

static bool read_word(struct slice word, uint64_t most, uint64_t *number) {
    char text[24];
    if (word.len == 0 || word.len >= sizeof text || memchr(word.at, '\0', word.len))
        return false;
    memcpy(text, word.at, word.len);
    text[word.len] = '\0';
    return read_u64(text, most, number);
}

/* ---- IDs --------------------------------------------------------------------------- */

static void serve_next(struct client *client, const struct resp_request *r) {
    uint64_t n = 1;
    if (r->argc == 2 && (!read_word(r->argv[1], settings.max_ids, &n) || n == 0)) {
        state.rejected[REJECTED_PARSE]++;
        client_print(client, "-ERR '%s' is not a number of IDs from 1 to %u\r\n",
                     show_word(r->argv[1]).text, (unsigned)settings.max_ids);
        return;
    }
    answer_begin(client, r->argc == 2 ? ANSWER_ARRAY : ANSWER_BULK, (uint32_t)n, 0);
}

static bool is_app(struct slice key) {
    const char *app = settings.opt.app;
    return app && strlen(app) == key.len && memcmp(app, key.at, key.len) == 0;
}

/* Many clients read an integer reply as a double: above 2^53 IDs would be rounded, and two become
 * one. */
static void serve_incr(struct client *client, const struct resp_request *r) {
    enum { EXACT_BITS = 53, INTEGER_BITS = 63 };
    const unsigned bits = source_bits();
    if (settings.integers == INTEGERS_NEVER)
        write_text(client, "-ERR INCR is turned off here; use SFID.NEXT\r\n");
    else if (bits > INTEGER_BITS)
        client_print(client,
                     "-ERR IDs of layout %s have %u bits and are no integers; use SFID.NEXT\r\n",
                     source_layout(), bits);
    else if (bits > EXACT_BITS && settings.integers == INTEGERS_AUTO)
        client_print(
            client,
            "-ERR IDs of layout %s have %u bits, and clients may round integers above 53; use SFID.NEXT\r\n",
            source_layout(), bits);
    else if (!is_app(r->argv[1]))
        client_print(client, "-ERR the only key is '%s'; use SFID.NEXT\r\n",
                     settings.opt.app ? settings.opt.app : "");
    else
        answer_begin(client, ANSWER_INTEGER, 1, 0);
}

static void serve_incrby(struct client *client, const struct resp_request *r) {
    (void)r;
    write_text(client, "-ERR INCRBY is refused: IDs are no range; use SFID.NEXT n\r\n");
}

static void serve_decode(struct client *client, const struct resp_request *r) {
    char json[OUT_ROOM], why[READER_WHY];
    const char *end = source_decode(json, r->argv[1], why);
    if (end)
        /* without the line end */
        write_bulk(client, (struct slice){json, (size_t)(end - json) - 1});
    else
        client_print(client, "-ERR '%s' %s\r\n", show_word(r->argv[1]).text, why);
}

/* ---- the connection ---------------------------------------------------------------- */

static void serve_ok(struct client *client, const struct resp_request *r) {
    (void)r;
    write_text(client, "+OK\r\n");
}

static void serve_ping(struct client *client, const struct resp_request *r) {
    if (r->argc == 2)
        write_bulk(client, r->argv[1]);
    else
        write_text(client, "+PONG\r\n");
}

static void serve_echo(struct client *client, const struct resp_request *r) {
    write_bulk(client, r->argv[1]);
}

static void serve_quit(struct client *client, const struct resp_request *r) {
    serve_ok(client, r);
    client->closing = true;
}

static void serve_reset(struct client *client, const struct resp_request *r) {
    (void)r;
    client->resp3 = false;
    write_text(client, "+RESET\r\n");
}

static void serve_select(struct client *client, const struct resp_request *r) {
    uint64_t db;
    write_text(client, read_word(r->argv[1], 0, &db)
                           ? "+OK\r\n"
                           : "-ERR DB index is out of range; the only one is 0\r\n");
}

/* Reads the arguments after HELLO's version. Returns false after an error. */
static bool read_hello(struct client *client, const struct resp_request *r) {
    for (int i = 2; i < r->argc; i++) {
        if (slice_is(r->argv[i], "auth")) {
            write_text(client,
                       "-WRONGPASS there are no users and passwords here; connect without\r\n");
            return false;
        }
        if (!slice_is(r->argv[i], "setname") || ++i == r->argc) {
            client_print(client, "-ERR Syntax error in HELLO option '%s'\r\n",
                         show_word(r->argv[i == r->argc ? i - 1 : i]).text);
            return false;
        }
    }
    return true;
}

static void serve_hello(struct client *client, const struct resp_request *r) {
    uint64_t version = client->resp3 ? 3 : 2;
    if (r->argc > 1 && (!read_word(r->argv[1], 3, &version) || version < 2)) {
        write_text(client, "-NOPROTO unsupported protocol version; use 2 or 3\r\n");
        return;
    }
    if (!read_hello(client, r))
        return;
    client->resp3 = version == 3;
    write_text(client, client->resp3 ? "%7\r\n" : "*14\r\n");
    write_pair(client, "server", "sfid");
    write_pair(client, "version", SERVER_VERSION);
    client_print(client, "$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:%" PRIu64 "\r\n",
                 client->resp3 ? 3 : 2, client->id);
    write_pair(client, "mode", "standalone");
    write_pair(client, "role", "master");
    write_text(client, "$7\r\nmodules\r\n*0\r\n");
}

static void serve_client(struct client *client, const struct resp_request *r) {
    static const char *const taken[] = {"setname", "setinfo", "no-evict", "no-touch"};
    for (size_t i = 0; i < COUNT_OF(taken); i++)
        if (slice_is(r->argv[1], taken[i])) {
            write_text(client, "+OK\r\n");
            return;
        }
    if (slice_is(r->argv[1], "id"))
        client_print(client, ":%" PRIu64 "\r\n", client->id);
    else if (slice_is(r->argv[1], "getname"))
        write_nil(client);
    else
        client_print(client, "-ERR unknown subcommand '%s' of CLIENT\r\n",
                     show_word(r->argv[1]).text);
}

static void serve_empty(struct client *client, const struct resp_request *r) {
    if (slice_is(r->argv[0], "config") && !slice_is(r->argv[1], "get"))
        client_print(client, "-ERR unknown subcommand '%s' of CONFIG\r\n",
                     show_word(r->argv[1]).text);
    else
        write_text(client, "*0\r\n");
}

static void serve_info(struct client *client, const struct resp_request *r) {
    char text[256];
    (void)r;
    snprintf(text, sizeof text,
             "# Server\r\nredis_version:" SERVER_VERSION
             "\r\nsfid_version:%s\r\n# Replication\r\nrole:master\r\n"
             "# Persistence\r\nloading:0\r\n",
             sfid_version());
    write_bulk(client, (struct slice){text, strlen(text)});
}

/* ---- commands ----------------------------------------------------------------------- */

static const struct resp_command resp_commands[] = {
    {"sfid.next", 1, 2, serve_next},
    {"incr", 2, 2, serve_incr},
    {"ping", 1, 2, serve_ping},
    {"sfid.decode", 2, 2, serve_decode},
    {"incrby", 3, 3, serve_incrby},
    {"echo", 2, 2, serve_echo},
    {"quit", 1, 1, serve_quit},
    {"select", 2, 2, serve_select},
    {"readonly", 1, 1, serve_ok},
    {"reset", 1, 1, serve_reset},
    {"hello", 1, RESP_ARGS, serve_hello},
    {"client", 2, RESP_ARGS, serve_client},
    {"command", 1, RESP_ARGS, serve_empty},
    {"config", 2, RESP_ARGS, serve_empty},
    {"info", 1, RESP_ARGS, serve_info},
};

static void serve_command(struct client *client, const struct resp_request *r) {
    for (size_t i = 0; i < COUNT_OF(resp_commands); i++) {
        const struct resp_command *command = &resp_commands[i];
        if (!slice_is(r->argv[0], command->name))
            continue;
        if (r->argc < command->least || r->argc > command->most)
            client_print(client, "-ERR wrong number of arguments for '%s' command\r\n",
                         command->name);
        else
            command->serve(client, r);
        return;
    }
    client_print(client, "-ERR unknown command '%s'\r\n", show_word(r->argv[0]).text);
}

size_t resp_serve(struct client *client, const char *bytes, size_t len) {
    struct resp_request request;
    const int used = resp_read(bytes, len, &request);
    if (used == 0 || (used > 0 && request.argc == 0))
        return (size_t)used;
    state.requests[PROTOCOL_RESP]++;
    if (used > 0) {
        serve_command(client, &request);
        return (size_t)used;
    }
    state.rejected[REJECTED_PARSE]++;
    client_print(client, "-ERR Protocol error: %s\r\n", request.fault);
    client->closing = client->linger = true;
    return len;
}

/* ---- flakeid ------------------------------------------------------------------------ */

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
