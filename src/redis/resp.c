/* SPDX-License-Identifier: MIT */
#include "redis/resp.h"

#include <hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- called by hiredis's reader -------------------------------------------- */

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

/* The reader takes NULL for lack of memory; sfid__resp_take() looks at r->why first. */
static void *resp_refuse(struct sfid__resp *r, const char *why) {
    r->why = why;
    return NULL;
}

/* Room for one more string of at most size bytes with its NUL, or NULL. */
static char *next_string(struct sfid__resp *r, size_t size) {
    struct sfid__redis_reply *reply = r->reply;
    if (reply->count == reply->most)
        return resp_refuse(r, "too many elements");
    if (size > reply->size - reply->used)
        return resp_refuse(r, "it is too long");
    char *out = reply->bytes + reply->used;
    reply->strings[reply->count++] = out;
    reply->used += size;
    return out;
}

static void use(struct sfid__redis_reply *reply, const char **strings, unsigned most, char *bytes,
                size_t size) {
    reply->strings = strings;
    reply->most = most;
    reply->bytes = bytes;
    reply->size = size;
    sfid__reply_empty(reply);
}

void sfid__reply_of_few(struct sfid__redis_reply *reply, struct sfid__reply_few *few) {
    use(reply, few->strings, SFID__REPLY_FEW, few->bytes, sizeof few->bytes);
}

void sfid__reply_of_many(struct sfid__redis_reply *reply, struct sfid__reply_many *many) {
    use(reply, many->strings, SFID__REPLY_STRINGS, many->bytes, sizeof many->bytes);
}

void sfid__reply_empty(struct sfid__redis_reply *reply) {
    reply->count = 0;
    reply->used = 0;
    reply->strings[0] = "";
    reply->redirect.to = SFID__STAY;
}

/* The length of a secret that begins at text; 0: none. A user counts only as a whole word: it may
 * be a word like "app". */
static size_t secret_at(const struct sfid__uri *uri, const char *text, size_t len,
                        bool word_begins) {
    const size_t password = strlen(uri->password), user = strlen(uri->user);
    if (password > 0 && password <= len && memcmp(text, uri->password, password) == 0)
        return password;
    if (word_begins && user > 0 && user <= len && memcmp(text, uri->user, user) == 0 &&
        (user == len || !sfid__is_ascii_alnum(text[user])))
        return user;
    return 0;
}

/* Copies an error's line for people: without secrets, whatever the server repeats, and without
 * control characters. */
static void take_line(struct sfid__resp *r, const char *text, size_t len, char *out) {
    size_t n = 0;
    bool word_begins = true;
    const bool secrets = r->uri->user[0] || r->uri->password[0];
    for (size_t i = 0; i < len && n + 1 < SFID__REPLY_STRING;) {
        const size_t secret = !secrets ? 0 : secret_at(r->uri, text + i, len - i, word_begins);
        const char *shown = secret ? "***" : text + i;
        for (size_t k = 0; k < (secret ? 3 : 1) && n + 1 < SFID__REPLY_STRING; k++)
            out[n++] = shown[k];
        i += secret ? secret : 1;
        word_begins = secrets && !sfid__is_ascii_alnum(text[i - 1]);
    }
    sfid__printable(out, SFID__REPLY_STRING, out, n);
}

/* "MOVED slot host:port" ("Redis cluster specification"). No host, or "?": the node that was asked.
 * ASK is not followed. */
static struct sfid__redirect read_redirect(const char *line) {
    struct sfid__redirect r = {.to = SFID__STAY};
    char host[SFID__HOST_TEXT];
    uint64_t hash_slot, port;
    if (strncmp(line, "MOVED ", 6) != 0)
        return r;
    struct sfid__part rest = {line, strlen(line)};
    sfid__part_cut(&rest, " ");
    rest = sfid__part_behind(rest, 1);
    const struct sfid__part number = sfid__part_cut(&rest, " ");
    const char *colon = strrchr(line, ':');
    if (rest.len == 0 || colon == NULL || colon <= rest.at ||
        !sfid__part_number(number, UINT16_MAX, &hash_slot))
        return r;
    const size_t len = (size_t)(colon - rest.at) - 1;
    if (len >= sizeof host ||
        !sfid__part_number((struct sfid__part){colon + 1, strlen(colon + 1)}, UINT16_MAX, &port) ||
        port == 0)
        return r;
    memcpy(host, rest.at + 1, len);
    host[len] = '\0';
    r.node.port = (uint16_t)port;
    if (len > 0 && strcmp(host, "?") != 0 && !sfid__endpoint_take(host, colon + 1, &r.node))
        return r;
    r.hash_slot = (uint32_t)hash_slot;
    r.to = SFID__MOVED;
    return r;
}

static void *take_error(struct sfid__resp *r, const char *text, size_t len) {
    char line[SFID__REPLY_STRING];
    char *out = r->leaves_out_errors ? NULL : next_string(r, SFID__REPLY_STRING);
    if (out == NULL)
        return r->leaves_out_errors ? r : NULL;
    snprintf(line, sizeof line, "%.*s", (int)SFID__MIN(len, sizeof line - 1), text);
    r->is_error = true;
    /* Both go by the line as it was sent: in what take_line() keeps, a password like 127 or a user
     * called OOM may be blotted out. */
    r->reply->redirect = read_redirect(line);
    take_line(r, text, len, out);
    r->meaning = sfid__reply_classify(line);
    return r;
}

/* Is the task an array inside an array, or in one, and to be left out? */
static bool is_deeper(const struct sfid__resp *r, const redisReadTask *task) {
    return r->leaves_out_deeper && task->parent &&
           (task->type == REDIS_REPLY_ARRAY || task->parent->parent);
}

static void *take_string(const redisReadTask *task, char *text, size_t len) {
    struct sfid__resp *r = task->privdata;
    if (is_deeper(r, task))
        return r;
    if (task->type != REDIS_REPLY_STRING && (memchr(text, '\r', len) || memchr(text, '\n', len)))
        return resp_refuse(r, "a CR or LF inside a line"); /* hiredis 1.x finds this by itself */
    if (task->type == REDIS_REPLY_ERROR)
        return task->parent ? resp_refuse(r, "an error inside an array") : take_error(r, text, len);
    if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_STATUS)
        return resp_refuse(r, "a type that RESP2 does not have");
    if (len >= SFID__REPLY_STRING)
        return resp_refuse(r, "a string that is too long");
    if (memchr(text, '\0', len))
        return resp_refuse(r, "a string with a NUL in it");
    /* the reader does not look at them after a string with a length */
    if (memcmp(text + len, "\r\n", 2) != 0)
        return resp_refuse(r, "a string without CR LF at its end");
    char *out = next_string(r, len + 1);
    if (out == NULL)
        return NULL;
    memcpy(out, text, len);
    out[len] = '\0';
    return r;
}

static void *take_integer(const redisReadTask *task, long long value) {
    struct sfid__resp *r = task->privdata;
    enum { DIGITS = 24 };
    if (is_deeper(r, task))
        return r;
    char *out = next_string(r, DIGITS);
    if (out == NULL)
        return NULL;
    snprintf(out, DIGITS, "%lld", value);
    return r;
}

static void *take_array(const redisReadTask *task, element_count n) {
    struct sfid__resp *r = task->privdata;
    if (task->type != REDIS_REPLY_ARRAY)
        return resp_refuse(r, "a type that RESP2 does not have");
    if (task->parent && !is_deeper(r, task))
        return resp_refuse(r, "an array inside an array");
    return n <= (element_count)r->reply->most ? r : resp_refuse(r, "too many elements");
}

static void *take_nil(const redisReadTask *task) {
    struct sfid__resp *r = task->privdata;
    if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_ARRAY)
        return resp_refuse(r, "a type that RESP2 does not have");
    return task->parent && !is_deeper(r, task) ? resp_refuse(r, "a nil inside an array") : r;
}

#if HIREDIS_MAJOR >= 1
static void *take_double(const redisReadTask *task, double value, char *text, size_t len) {
    (void)value, (void)text, (void)len;
    return resp_refuse(task->privdata, "a type that RESP2 does not have");
}

static void *take_bool(const redisReadTask *task, int value) {
    (void)value;
    return resp_refuse(task->privdata, "a type that RESP2 does not have");
}
#endif

static void free_nothing(void *reply) { (void)reply; }

static redisReplyObjectFunctions functions = {
    .createString = take_string,
    .createArray = take_array,
    .createInteger = take_integer,
#if HIREDIS_MAJOR >= 1
    .createDouble = take_double,
    .createBool = take_bool,
#endif
    .createNil = take_nil,
    .freeObject = free_nothing,
};

/* ---- taking a reply in ----------------------------------------------------- */

bool sfid__resp_begin(struct sfid__resp *r, struct sfid__redis_reply *reply,
                      const struct sfid__uri *uri, int argc, const char *const *argv,
                      const size_t *lengths) {
    const char *args[SFID__COMMAND_ARGS];
    *r = (struct sfid__resp){.reply = reply, .uri = uri};
    sfid__reply_empty(reply);
    redisReader *reader = redisReaderCreateWithFunctions(&functions);
    if (reader)
        reader->privdata = r;
    r->reader = reader;
    /* hiredis wants an array of pointers that are not const */
    memcpy(args, argv, (size_t)argc * sizeof *args);
    const long long length = redisFormatCommandArgv(&r->command, argc, args, lengths);
    r->length = length < 0 ? 0 : (size_t)length;
    return reader && r->length > 0;
}

void sfid__resp_end(struct sfid__resp *r) {
    if (r->reader)
        redisReaderFree(r->reader);
    if (r->length > 0)
        redisFreeCommand(r->command);
    r->reader = NULL;
    r->length = 0;
}

/*
 * Why these bytes can never become a reply, or NULL. The reader stands after the type of the part
 * that it could not finish. A whole line there is the length of a string that has not arrived yet.
 */
static const char *hopeless(const struct sfid__resp *r) {
    const redisReader *reader = r->reader;
    if (r->received > SFID__REPLY_BYTES)
        return "it is too long";
    const char *at = reader->buf + reader->pos;
    const char *end = memmem(at, reader->len - reader->pos, "\r\n", 2);
    return end && (end - at > 3 || strtol(at, NULL, 10) >= SFID__REPLY_STRING)
               ? "a string that is too long"
               : NULL;
}

static enum sfid__resp_taken resp_look(struct sfid__resp *r) {
    redisReader *reader = r->reader;
    void *taken = NULL;
    if (redisReaderGetReply(reader, &taken) != REDIS_OK) {
        if (r->why == NULL && reader->err == REDIS_ERR_OOM)
            return SFID__RESP_NO_MEMORY;
        if (r->why == NULL)
            r->why = reader->errstr;
        return SFID__RESP_WRONG;
    }
    r->rest = reader->len - reader->pos;
    if (taken)
        return SFID__RESP_WHOLE;
    r->why = hopeless(r);
    return r->why ? SFID__RESP_WRONG : SFID__RESP_MORE;
}

enum sfid__resp_taken sfid__resp_take(struct sfid__resp *r, const char *bytes, size_t n) {
    if (r->last == SFID__RESP_WHOLE) {
        sfid__reply_empty(r->reply);
        r->is_error = false;
        r->received = 0;
    }
    r->received += n;
    if (n > 0)
        redisReaderFeed(r->reader, bytes, n); /* if this fails, so does the look */
    return r->last = resp_look(r);
}

const char *sfid__resp_version(void) {
    return SFID__TEXT_OF(HIREDIS_MAJOR) "." SFID__TEXT_OF(HIREDIS_MINOR) "." SFID__TEXT_OF(
        HIREDIS_PATCH);
}
