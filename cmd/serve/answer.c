/* SPDX-License-Identifier: MIT */
/*
 * answer.c - answers with IDs, in the forms of all protocols.
 *
 * All or none: an answer is made behind those that may be sent, and counts as
 * one only when it is complete. A refused one is cut off again; its IDs are
 * thrown away.
 */
#include "serve/answer.h"

#include "io/digits.h"
#include "serve/http_write.h"
#include "serve/log.h"
#include "serve/request.h"
#include "serve/settings.h"
#include "serve/source.h"

#include <inttypes.h>
#include <string.h>

enum { SMALL = 4096 }; /* answers up to this size, with what is pending, do not wait for memory */

/* What clients read; the reason is in the log alone, since it may name hosts of the store. */
static const struct {
    const char *code, *text;
} refusals[] = {
    [REFUSED_AGAIN] = {"SFID_EAGAIN", "the sequence is used up for now; try again"},
    [REFUSED_LEASE] =
        {"SFID_ELEASE",
         "no right to issue IDs now, the lease could not be renewed; the log says why"},
    [REFUSED_CLOCK] =
        {"SFID_ECLOCK",
         "no IDs now, the clock is out of range or the layout has ended; the log says why"},
    [REFUSED_STOPPING] = {"STOPPING", "the server is stopping"},
    [REFUSED_MEMORY] = {"SFID_EAGAIN", "too many answers are under way; try again"},
    [REFUSED_CONNECTIONS] = {"SFID_EAGAIN", "too many requests wait; try again"},
};

const char answer_waits[] =
    "no IDs yet, earlier ones of this pid may be dated ahead of the clock; the log says why";

static uint64_t refused; /* requests since the last that was answered */

static bool is_http(enum answer answer) { return answer >= ANSWER_ID && answer <= ANSWER_JSON; }

void answer_begin(struct client *client, enum answer answer, uint32_t n, unsigned least) {
    client_room(client, 1); /* moves what is pending before its place is noted */
    client->job = (struct job){.answer = answer, .n = n, .least = least, .start = client->out.len};
}

/* ---- IDs ------------------------------------------------------------------------ */

/* The most bytes that one ID takes, with what surrounds it. */
static size_t most_bytes(const struct job *job) {
    enum { AROUND = 16 };
    return (job->least > SOURCE_ROOM ? job->least : SOURCE_ROOM) + AROUND;
}

static char *put_bulk(char *p, size_t i, unsigned least) {
    enum { HEAD_MOST = 16 }; /* $NNN\r\n, and what put_dec() writes behind its digits */
    char *text = p + HEAD_MOST, *end = source_put(text, i, least);
    const size_t len = (size_t)(end - text);
    char *head = put_text(put_dec(put_text(p, "$"), len), "\r\n");
    memmove(head, text, len);
    return put_text(head + len, "\r\n");
}

static char *put_one(char *p, const struct job *job, size_t i, bool first) {
    switch (job->answer) {
    case ANSWER_FLAKEID:
        return source_put_hex(first ? p : put_text(p, "\n"), i);
    case ANSWER_LINES:
        return put_text(source_put(p, i, job->least), "\n");
    case ANSWER_JSON:
        return put_text(source_put(put_text(p, first ? "\"" : ",\""), i, job->least), "\"");
    case ANSWER_BULK:
    case ANSWER_ARRAY:
        return put_bulk(p, i, job->least);
    case ANSWER_INTEGER:
        return put_text(put_dec(put_text(p, ":"), (uint64_t)source_integer(i)), "\r\n");
    default:
        return source_put(p, i, job->least);
    }
}

static void put_drawn(struct client *client, size_t count) {
    struct job *job = &client->job;
    char *p = client->out.at + client->out.len; /* begin_answer() made room for all */
    for (size_t i = 0; i < count; i++)
        p = put_one(p, job, i, job->drawn + i == 0);
    client_end(client, p);
    job->drawn += (uint32_t)count;
}

/* ---- what surrounds them ---------------------------------------------------------- */

static char *put_before(char *p, const struct job *job) {
    if (job->answer == ANSWER_ARRAY)
        return put_text(put_dec(put_text(p, "*"), job->n), "\r\n");
    if (is_http(job->answer))
        p += HEAD_ROOM; /* the head follows at the end, when the length is known */
    return job->answer == ANSWER_JSON ? put_text(p, "{\"ids\":[") : p;
}

static bool begin_answer(struct client *client) {
    const size_t need = client->job.n * most_bytes(&client->job) + HEAD_ROOM + SOURCE_ROOM;
    if (need + client_pending(client) > SMALL && state.memory + need > settings.max_memory)
        return false;
    client_end(client, put_before(client_room(client, need), &client->job));
    client->job.begun = true;
    return true;
}

static void put_head(struct client *client) {
    char head[HEAD_ROOM], *start = client->out.at + client->job.start, *body = start + HEAD_ROOM;
    const size_t len = (size_t)(client->out.at + client->out.len - body);
    const char *type = client->job.answer == ANSWER_JSON ? "application/json" : "text/plain";
    client->closing = client->closing || !client->keep;
    client->status = 200;
    const size_t used = (size_t)(http_head(head, client, 200, type, (int64_t)len, "") - head);
    memmove(start + used, body, len);
    memcpy(start, head, used);
    client_end(client, start + used + len);
}

static void finish_answer(struct client *client) {
    if (client->job.answer == ANSWER_JSON)
        client_end(client, put_text(client->out.at + client->out.len, "]}"));
    if (is_http(client->job.answer))
        put_head(client);
    state.issued += client->job.n;
    client->job.answer = ANSWER_NONE;
    if (refused > 0)
        log_line(LOG_NOTICE, "requests are answered again; %" PRIu64 " were refused", refused);
    refused = 0;
}

/* ---- refusing ----------------------------------------------------------------------- */

static void write_refusal(struct client *client, enum answer answer, enum refusal why,
                          const char *text, struct slice request) {
    struct http_request http;
    if (answer == ANSWER_FLAKEID) { /* the protocol has no errors */
        client->closing = client->linger = true;
    } else if (is_http(answer)) {
        if (http_read(request.at, request.len, &http) <= 0)
            http = (struct http_request){.target = {"", 0}};
        client->keep = client->keep && why != REFUSED_STOPPING;
        http_error(client, &http, 503, refusals[why].code, "%s", text);
    } else {
        client_print(client, "-%s %s\r\n",
                     strcmp(refusals[why].code, "SFID_EAGAIN") == 0 ? "TRYAGAIN" : "UNAVAILABLE",
                     text);
    }
}

void answer_refuse(struct client *client, enum refusal why, struct slice request) {
    const enum answer answer = client->job.answer;
    const bool waits = why == REFUSED_AGAIN && source_waits();
    const char *reason =
        why == REFUSED_LEASE || why == REFUSED_CLOCK || waits ? source_error() : "";
    const char *text = waits ? answer_waits : refusals[why].text;
    client->out.len = client->job.start;
    client->job.answer = ANSWER_NONE;
    state.refused[why]++;
    refused += why != REFUSED_STOPPING;
    write_refusal(client, answer, why, text, request);
    log_keyed(LOG_WARNING, text, "requests are refused: %s%s%s", text, reason[0] ? ": " : "",
              reason);
}

/* ---- making it ---------------------------------------------------------------------- */

static enum progress progress_of(int64_t code) {
    return code == SFID_EAGAIN                             ? PROGRESS_DRY
           : code == SFID_ECLOCK || code == SFID_EOVERFLOW ? PROGRESS_CLOCK
                                                           : PROGRESS_LEASE;
}

enum progress answer_go(struct client *client) {
    struct job *job = &client->job;
    if (!job->begun && !begin_answer(client))
        return PROGRESS_MEMORY;
    for (uint32_t turn = SOURCE_TURN; job->drawn < job->n;) {
        const uint32_t left = job->n - job->drawn;
        if (turn == 0)
            return PROGRESS_TURN;
        const int64_t got = source_draw(left < turn ? left : turn);
        if (got < 0)
            return progress_of(got);
        put_drawn(client, (size_t)got);
        turn -= (uint32_t)got;
    }
    finish_answer(client);
    return PROGRESS_DONE;
}
