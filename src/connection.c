/* SPDX-License-Identifier: MIT */
#include "connection.h"

#include "process.h"
#include "wire.h"

#include <hiredis.h>
#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sfid__connection {
    struct sfid__uri uri;
    char name[SFID__URI_TEXT];   /* CLIENT SETNAME */
    char shown[SFID__URI_SHOWN]; /* the server, for errors */
    uint64_t process;            /* whose descriptor and question these are: */
    struct sfid__wire wire;
    struct sfid__resolver resolver;
    unsigned turn; /* of the name's addresses, which to begin with */
};

/* One exchange, from connecting to its reply. hiredis's reader lives no longer: between two there is nothing left over. */
struct exchange {
    struct sfid__connection *c;
    struct sfid__deadline deadline;
    int64_t began_ms;
    redisReader *reader;
    struct sfid__redis_reply *reply;
    bool is_error;                      /* the reply is an error line, */
    struct sfid__reply_meaning meaning; /* and this is what it asks for */
    const char *refused;                /* why a reply was not taken in */
    struct sfid__error *err;
};

/* ---- replies: what hiredis's reader calls -------------------------------- */

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

/* The reader takes NULL for the end of memory; take_reply() looks here first. */
static void *refuse(struct exchange *x, const char *why) {
    x->refused = why;
    return NULL;
}

/* Room for one more string of at most size bytes, its NUL included; or NULL. */
static char *next_string(struct exchange *x, size_t size) {
    struct sfid__redis_reply *reply = x->reply;
    if (reply->count == SFID__REPLY_STRINGS)
        return refuse(x, "too many elements");
    if (size > sizeof reply->bytes - reply->used)
        return refuse(x, "it is too long");
    char *out = reply->bytes + reply->used;
    reply->strings[reply->count++] = out;
    reply->used += size;
    return out;
}

static void take_nothing(struct sfid__redis_reply *reply) {
    reply->count = 0;
    reply->used = 0;
    reply->strings[0] = "";
}

/* The length of a secret that begins at text; 0: none does. A user only as a whole word: it may well be one like "app". */
static size_t secret_at(const struct sfid__uri *uri, const char *text, size_t len, bool word_begins) {
    const size_t password = strlen(uri->password), user = strlen(uri->user);
    if (password > 0 && password <= len && memcmp(text, uri->password, password) == 0)
        return password;
    if (word_begins && user > 0 && user <= len && memcmp(text, uri->user, user) == 0 &&
        (user == len || !sfid__is_ascii_alnum(text[user])))
        return user;
    return 0;
}

/* An error's line, made fit to show: without secrets, whatever the server repeats, and without control characters. */
static void take_line(struct exchange *x, const char *text, size_t len, char *out) {
    size_t n = 0;
    bool word_begins = true;
    for (size_t i = 0; i < len && n + 1 < SFID__REPLY_STRING;) {
        const size_t secret = secret_at(&x->c->uri, text + i, len - i, word_begins);
        const char *shown = secret ? "***" : text + i;
        for (size_t k = 0; k < (secret ? 3 : 1) && n + 1 < SFID__REPLY_STRING; k++)
            out[n++] = shown[k] >= ' ' && shown[k] <= '~' ? shown[k] : '?';
        i += secret ? secret : 1;
        word_begins = !sfid__is_ascii_alnum(text[i - 1]);
    }
    out[n] = '\0';
}

static void *take_error(struct exchange *x, const char *text, size_t len) {
    char line[SFID__REPLY_STRING];
    char *out = next_string(x, SFID__REPLY_STRING);
    if (out == NULL)
        return NULL;
    snprintf(line, sizeof line, "%.*s", (int)SFID__MIN(len, sizeof line - 1), text);
    x->is_error = true;
    x->meaning = sfid__reply_classify(line); /* before a user by the name of OOM is blotted out */
    take_line(x, text, len, out);
    return x;
}

static void *take_string(const redisReadTask *task, char *text, size_t len) {
    struct exchange *x = task->privdata;
    if (task->type != REDIS_REPLY_STRING && (memchr(text, '\r', len) || memchr(text, '\n', len)))
        return refuse(x, "half a line end inside a line"); /* which hiredis 1.x finds by itself */
    if (task->type == REDIS_REPLY_ERROR)
        return task->parent ? refuse(x, "an error inside an array") : take_error(x, text, len);
    if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_STATUS)
        return refuse(x, "a type that RESP2 has not");
    if (len >= SFID__REPLY_STRING)
        return refuse(x, "a string that is too long");
    if (memchr(text, '\0', len))
        return refuse(x, "a string with a NUL in it");
    if (memcmp(text + len, "\r\n", 2) != 0) /* of a string with a length the reader skips them unseen */
        return refuse(x, "a string without its end");
    char *out = next_string(x, len + 1);
    if (out == NULL)
        return NULL;
    memcpy(out, text, len);
    out[len] = '\0';
    return x;
}

static void *take_integer(const redisReadTask *task, long long value) {
    struct exchange *x = task->privdata;
    enum { DIGITS = 24 };
    char *out = next_string(x, DIGITS);
    if (out == NULL)
        return NULL;
    snprintf(out, DIGITS, "%lld", value);
    return x;
}

static void *take_array(const redisReadTask *task, element_count n) {
    struct exchange *x = task->privdata;
    if (task->type != REDIS_REPLY_ARRAY)
        return refuse(x, "a type that RESP2 has not");
    if (task->parent)
        return refuse(x, "an array inside an array");
    return n <= SFID__REPLY_STRINGS ? x : refuse(x, "too many elements");
}

static void *take_nil(const redisReadTask *task) {
    struct exchange *x = task->privdata;
    if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_ARRAY)
        return refuse(x, "a type that RESP2 has not");
    return task->parent ? refuse(x, "a nil inside an array") : x;
}

#if HIREDIS_MAJOR >= 1
static void *take_double(const redisReadTask *task, double value, char *text, size_t len) {
    (void)value, (void)text, (void)len;
    return refuse(task->privdata, "a type that RESP2 has not");
}

static void *take_bool(const redisReadTask *task, int value) {
    (void)value;
    return refuse(task->privdata, "a type that RESP2 has not");
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

/* ---- failing ------------------------------------------------------------- */

static int fail(struct exchange *x, enum sfid__reply_class class, int code, const char *what, const char *why) {
    x->reply->class = class;
    return sfid__fail(x->err, code, "%s: %s: %s", x->c->shown, what, why);
}

/* What stopped the wire, with how long that took. */
static int fail_wire(struct exchange *x, enum sfid__reply_class class, const struct sfid__error *why, const char *what) {
    char text[SFID__ERROR_TEXT];
    take_nothing(x->reply);
    snprintf(text, sizeof text, "%.200s (after %" PRId64 " ms)", why->text, sfid__deadline_now_ms() - x->began_ms);
    return fail(x, class, why->code, what, text);
}

#define UNASKED "it came before the command was sent"

static int fail_protocol(struct exchange *x, const char *what, const char *why) {
    char text[160];
    take_nothing(x->reply);
    snprintf(text, sizeof text, "not a reply as a Redis server would send it: %.100s", why);
    return fail(x, SFID__REPLY_CONFIG, SFID_EREDIS, what, text);
}

/*
 * The answer to AUTH: in words of our own, since a server that does not know
 * the command repeats a part of what it was sent.
 */
static int fail_auth(struct exchange *x) {
    const struct sfid__reply_meaning *m = &x->meaning;
    char text[160];
    if (m->class != SFID__REPLY_CONFIG)
        return fail(x, m->class, m->code, "AUTH", m->known);
    snprintf(text, sizeof text, "user or password of the URL was refused%s%s", m->known[0] ? ": " : "", m->known);
    return fail(x, m->class, SFID_EAUTH, "AUTH", text);
}

/* The reply is an error line: shows the server's words. */
static int fail_reply(struct exchange *x, const char *what) {
    const struct sfid__reply_meaning *m = &x->meaning;
    char text[SFID__REPLY_STRING + 80];
    if (strcmp(what, "AUTH") == 0)
        return fail_auth(x);
    const bool hint = strcmp(m->known, "NOAUTH") == 0 && x->c->uri.password[0] == '\0';
    snprintf(text, sizeof text, "%s%s", x->reply->strings[0], hint ? " (the URL has no user:password@ before the host)" : "");
    return fail(x, m->class, m->code, what, text);
}

/* ---- sending and receiving ----------------------------------------------- */

struct command {
    const char *name; /* for errors */
    int argc;
    const char *const *argv;
    const size_t *lengths; /* or NULL: the arguments end with NUL */
};

/* 0, or a code with the error filled in; *cut when the server closed the connection, and may have said why. */
static int send_command(struct exchange *x, const struct command *command, bool *cut) {
    const char *args[SFID__COMMAND_ARGS];
    struct sfid__error why;
    char *bytes = NULL;
    const int argc = command->argc;
    *cut = false;
    if (argc < 1 || argc > SFID__COMMAND_ARGS)
        return fail(x, SFID__REPLY_CONFIG, SFID_EINVAL, command->name, "no arguments, or too many");
    memcpy(args, command->argv, (size_t)argc * sizeof *args); /* hiredis takes pointers that are not const themselves */
    const long long n = redisFormatCommandArgv(&bytes, argc, args, command->lengths);
    if (n < 0)
        return fail(x, SFID__REPLY_RETRY, SFID_ENOMEM, command->name, "out of memory");
    const enum sfid__reply_class class = sfid__wire_send(&x->c->wire, bytes, (size_t)n, &x->deadline, &why);
    redisFreeCommand(bytes);
    *cut = class != SFID__REPLY_OK;
    return *cut ? fail_wire(x, class, &why, command->name) : 0;
}

/*
 * Why what is not yet a reply never will be one, or NULL. The reader stands
 * behind the type of what it could not finish; a whole line there is the length
 * of a string that has not arrived yet.
 */
static const char *hopeless(const redisReader *reader, size_t received) {
    if (received > SFID__REPLY_BYTES)
        return "it is too long";
    const char *at = reader->buf + reader->pos;
    const char *end = memmem(at, reader->len - reader->pos, "\r\n", 2);
    return end && (end - at > 3 || strtol(at, NULL, 10) >= SFID__REPLY_STRING) ? "a string that is too long" : NULL;
}

/* Takes in one reply. 0, error replies included. */
static int take_reply(struct exchange *x, const char *what) {
    char chunk[4096];
    struct sfid__error why;
    size_t received = 0, n;
    take_nothing(x->reply);
    x->is_error = false;
    for (;;) {
        void *taken = NULL;
        if (redisReaderGetReply(x->reader, &taken) != REDIS_OK) {
            if (x->refused == NULL && x->reader->err == REDIS_ERR_OOM)
                return fail(x, SFID__REPLY_RETRY, SFID_ENOMEM, what, "out of memory");
            return fail_protocol(x, what, x->refused ? x->refused : x->reader->errstr);
        }
        if (taken)
            return 0;
        const char *no = hopeless(x->reader, received);
        if (no)
            return fail_protocol(x, what, no);
        const enum sfid__reply_class class = sfid__wire_receive(&x->c->wire, chunk, sizeof chunk, &n, &x->deadline, &why);
        if (class != SFID__REPLY_OK)
            return fail_wire(x, class, &why, what);
        received += n;
        redisReaderFeed(x->reader, chunk, n); /* fails as the next redisReaderGetReply does */
    }
}

/* What is left in the reader would be taken for the answer to the next command. */
static int check_nothing_left(struct exchange *x, const char *what) {
    return x->reader->pos < x->reader->len ? fail_protocol(x, what, "more than one reply") : 0;
}

/* ---- connecting ---------------------------------------------------------- */

struct step {
    const char *name;
    int argc;
    const char *argv[4];
    bool optional;
};

enum { STEPS = 5 };

static unsigned list_steps(const struct sfid__connection *c, const char *db, struct step steps[STEPS]) {
    const struct sfid__uri *uri = &c->uri;
    unsigned n = 0;
    if (uri->user[0])
        steps[n++] = (struct step){"AUTH", 3, {"AUTH", uri->user, uri->password}, false};
    else if (uri->password[0])
        steps[n++] = (struct step){"AUTH", 2, {"AUTH", uri->password}, false};
    steps[n++] = (struct step){"CLIENT SETNAME", 3, {"CLIENT", "SETNAME", c->name}, false};
    /* Redis 7.2 and later know these. */
    steps[n++] = (struct step){"CLIENT SETINFO", 4, {"CLIENT", "SETINFO", "LIB-NAME", "libsfid"}, true};
    steps[n++] = (struct step){"CLIENT SETINFO", 4, {"CLIENT", "SETINFO", "LIB-VER", SFID_VERSION_STRING}, true};
    if (uri->db > 0)
        steps[n++] = (struct step){"SELECT", 2, {"SELECT", db}, false};
    return n;
}

static int take_greeting(struct exchange *x, const struct step *s) {
    if (take_reply(x, s->name) < 0)
        return x->err->code;
    if (s->optional)
        return 0;
    if (x->is_error)
        return fail_reply(x, s->name);
    const bool good = x->reply->count == 1 && strcmp(x->reply->strings[0], "OK") == 0;
    return good ? 0 : fail_protocol(x, s->name, "something else than OK");
}

/* Who we are and which database: all sent at once, then all answered. A command goes out only when all is well. */
static int greet(struct exchange *x) {
    struct step steps[STEPS];
    char db[12];
    bool cut = false;
    snprintf(db, sizeof db, "%" PRIu32, x->c->uri.db);
    const unsigned count = list_steps(x->c, db, steps);
    for (unsigned i = 0; i < count && !cut; i++) {
        const struct command command = {steps[i].name, steps[i].argc, steps[i].argv, NULL};
        if (send_command(x, &command, &cut) < 0 && !cut)
            return x->err->code;
    }
    for (unsigned i = 0; i < count; i++)
        if (take_greeting(x, &steps[i]) < 0)
            return x->err->code;
    return cut ? fail_protocol(x, "connecting", UNASKED) : check_nothing_left(x, "connecting");
}

static int connect_and_greet(struct exchange *x) {
    struct sfid__connection *c = x->c;
    struct sfid__error why;
    const int64_t whole = x->deadline.at_ms;
    x->deadline.at_ms = SFID__MIN(whole, sfid__deadline_now_ms() + (int64_t)c->uri.connect_timeout_ms);
    const enum sfid__reply_class class = sfid__wire_open(&c->wire, &c->uri, &c->resolver, c->turn, &x->deadline, &why);
    x->deadline.at_ms = whole;
    if (class != SFID__REPLY_OK)
        return fail_wire(x, class, &why, "connecting");
    const int rc = greet(x);
    take_nothing(x->reply); /* the command was not answered */
    return rc;
}

/* ---- the whole ----------------------------------------------------------- */

int sfid__connection_new(struct sfid__connection **out, const struct sfid__uri *uri, const char *app, struct sfid__error *err) {
    struct sfid__connection *c = calloc(1, sizeof *c);
    *out = c;
    if (c == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    c->uri = *uri;
    if (uri->client_name[0])
        snprintf(c->name, sizeof c->name, "%s", uri->client_name);
    else
        snprintf(c->name, sizeof c->name, "sfid-%.64s", app);
    sfid__uri_describe(uri, c->shown, sizeof c->shown);
    c->process = sfid__process();
    c->wire = SFID__WIRE_NONE;
    return 0;
}

/* In a forked child: what is the parent's stays the parent's. */
static void disown(struct sfid__connection *c) {
    if (c->process == sfid__process())
        return;
    sfid__wire_leave(&c->wire);
    sfid__resolver_forget(&c->resolver);
    c->process = sfid__process();
}

/* Sends the command and takes its reply in. */
static int converse(struct exchange *x, int argc, const char *const *argv, const size_t *lengths) {
    const struct command command = {argv[0], argc, argv, lengths};
    bool cut;
    if (x->c->wire.fd < 0 && connect_and_greet(x) < 0)
        return x->err->code;
    if (send_command(x, &command, &cut) < 0 && !cut)
        return x->err->code;
    if (take_reply(x, argv[0]) < 0 || check_nothing_left(x, argv[0]) < 0)
        return x->err->code;
    if (x->is_error)
        return fail_reply(x, argv[0]);
    return cut ? fail_protocol(x, argv[0], UNASKED) : 0;
}

int sfid__connection_exchange(struct sfid__connection *c, int argc, const char *const *argv, const size_t *lengths,
                              int64_t deadline_ms, const _Atomic int *stop, struct sfid__redis_reply *reply,
                              struct sfid__error *err) {
    struct exchange x = {
        .c = c, .deadline = {deadline_ms, stop, 0}, .began_ms = sfid__deadline_now_ms(), .reply = reply, .err = err};
    reply->class = SFID__REPLY_OK;
    take_nothing(reply);
    sfid__connection_is_up(c); /* closes what cannot be used any more */
    x.reader = redisReaderCreateWithFunctions(&functions);
    if (x.reader == NULL)
        return fail(&x, SFID__REPLY_RETRY, SFID_ENOMEM, argv[0], "out of memory");
    x.reader->privdata = &x;
    const int rc = converse(&x, argc, argv, lengths);
    redisReaderFree(x.reader);
    /* After an error that passes by itself, as BUSY does, the connection is as good as before. */
    if (rc < 0 && !(x.is_error && reply->count > 0 && reply->class == SFID__REPLY_RETRY)) {
        sfid__wire_close(&c->wire);
        c->turn++;
    }
    return rc;
}

bool sfid__connection_is_up(struct sfid__connection *c) {
    disown(c);
    if (sfid__wire_is_quiet(&c->wire))
        return true;
    sfid__wire_close(&c->wire);
    return false;
}

void sfid__connection_forget(struct sfid__connection *c) {
    if (c)
        disown(c);
}

void sfid__connection_drop(struct sfid__connection *c) {
    if (c == NULL)
        return;
    disown(c);
    sfid__wire_close(&c->wire);
    sfid__resolver_drop(&c->resolver);
    free(c);
}
