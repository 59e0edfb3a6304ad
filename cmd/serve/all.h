/* SPDX-License-Identifier: MIT */
/* all.h - sfid serve: what each file of this folder offers. The parsers are in parse.h. */
#ifndef CMD_SERVE_ALL_H
#define CMD_SERVE_ALL_H

#include "serve/parse.h"
#include "text/all.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <uv.h>

/* ---- serve.c: sfid serve --------------------------------------------------- */

extern const struct command command_serve;

/* ---- state.c: what is counted, and what all files may ask ------------------- */

enum protocol { PROTOCOL_HTTP, PROTOCOL_RESP, PROTOCOL_FLAKEID, PROTOCOLS, PROTOCOL_NONE };
enum refusal { REFUSED_AGAIN, REFUSED_LEASE, REFUSED_CLOCK, REFUSED_STOPPING, REFUSED_MEMORY, REFUSED_CONNECTIONS, REFUSALS };
enum rejection {
    REJECTED_PARSE,
    REJECTED_LIMIT,
    REJECTED_TIMEOUT,
    REJECTED_PROTOCOL,
    REJECTED_CONNECTIONS,
    REJECTED_ADDRESS,
    REJECTED_HOST,
    REJECTIONS
};

/* Names as in metrics and in --protocols; NULL ends each list. */
extern const char *const protocol_names[], *const refusal_names[], *const rejection_names[];

struct state {
    uint64_t issued, waits;
    uint64_t requests[PROTOCOLS], refused[REFUSALS], rejected[REJECTIONS];
    _Atomic uint64_t events[SFID_EVENT_KINDS]; /* by kind: counted in the library's thread, read in the loop's */
    uint64_t connections;                      /* open now */
    uint64_t memory;                           /* bytes of answers under way */
    bool stopping;
};
extern struct state state;

/* ---- settings.c: the options ------------------------------------------------ */

#define LISTEN_MOST ARGS_LIST
enum integers { INTEGERS_AUTO, INTEGERS_ALWAYS, INTEGERS_NEVER };

struct settings {
    struct any_layout layout;
    sfid_options opt;
    sfid_form form; /* of IDs as text */
    unsigned width; /* least number of digits; 0: the form's own */
    const char *listen[LISTEN_MOST];
    int listen_count;
    bool expose, access_log, local; /* local: IDs are unique on this host only */
    unsigned protocols;             /* bits by enum protocol */
    unsigned mode;                  /* of Unix sockets */
    enum integers integers;
    uint32_t max_ids, max_connections, max_per_address, wait_ms, request_ms, idle_ms, grace_ms;
    uint64_t max_memory;
};
extern struct settings settings;
extern const struct option_spec serve_options[];

/* Returns STATUS_GOOD, or the status to end with, after a message. */
int settings_read(const struct args *args);

/* ---- log.c: lines on standard error ----------------------------------------- */

enum { LOG_ERROR = 3, LOG_WARNING = 4, LOG_NOTICE = 5, LOG_INFO = 6 }; /* as syslog(3) */

void log_begin(void);

/* Writes a line. The same key (or, without one, the same format) is written at most once in 10 s; what was left out is counted. */
void log_line(int level, const char *fmt, ...) CLI_PRINTF(2, 3);
void log_keyed(int level, const void *key, const char *fmt, ...) CLI_PRINTF(3, 4);

/* Writes a line of --access-log: never left out. */
void log_access(const char *fmt, ...) CLI_PRINTF(1, 2);

/* Says what was left out, once its 10 s are over. Called each second. */
void log_tick(void);

/* ---- notify.c: messages to the service manager ------------------------------ */

/* Reads $NOTIFY_SOCKET and $WATCHDOG_USEC. Returns how often WATCHDOG=1 is to be sent, in milliseconds; 0: never. */
uint64_t notify_begin(void);
void notify(const char *fmt, ...) CLI_PRINTF(1, 2); /* without $NOTIFY_SOCKET it does nothing */

/* ---- address.c: addresses to listen on, as text ------------------------------ */

struct listen_address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    };
    socklen_t len;
};

/* Returns NULL, or what is wrong, to follow the text in a message. */
const char *listen_address_read(const char *text, struct listen_address *address);

/* Can programs of this host alone reach it? */
bool listen_address_is_local(const struct listen_address *address);

#define ADDRESS_ROOM 128
void listen_address_show(const struct listen_address *address, char text[ADDRESS_ROOM]);

/* ---- listen.c: the sockets that are listened on ------------------------------ */

struct listener {
    int fd;
    bool passed; /* by the service manager */
    bool tcp;
    bool local;   /* programs of this host alone are to be served */
    dev_t device; /* of a Unix socket's path that we bound; inode 0: none */
    ino_t inode;
    char name[ADDRESS_ROOM];
};
extern struct listener listeners[2 * LISTEN_MOST];
extern int listener_count;

/* Opens all addresses, and takes sockets that were passed. Returns STATUS_GOOD, or the status to end with, after a message. */
int listen_open(void);

/* Closes a listener, and removes the path of a Unix socket that is still ours. */
void listen_close(struct listener *listener);

/* ---- unix.c: Unix sockets with a path ---------------------------------------- */

/* Binds a socket where none, or only a dead one, is. Returns STATUS_GOOD, or the status to end with, after a message. */
int unix_bind(const struct listen_address *address, struct listener *listener);

/* ---- source.c: the generator -------------------------------------------------- */

/* Opens it; may take the time that the options say, less what was spent of that. Returns as sfid_open(). */
int source_open(uint64_t spent_ms, void (*on_event)(void *user, const sfid_event *event));
void source_close(void);
const char *source_error(void);

/* Asks the app's server, for so long. False if it does not answer. *waits: it does not know the app, so a later open may find a pid. */
bool source_waits_for_app(uint32_t within_ms, bool *waits);

#define SOURCE_TURN 4096

/* Draws up to n IDs, at most SOURCE_TURN. Returns how many, or an SFID_E… code. */
int64_t source_draw(size_t n);
int source_retry_ms(void);

/* Writes ID i of the last draw at p, padded to `least` digits. SOURCE_ROOM bytes, or `least` if more, are enough. */
#define SOURCE_ROOM 48
char *source_put(char *p, size_t i, unsigned least);
char *source_put_hex(char *p, size_t i); /* 32 digits */
int64_t source_integer(size_t i);        /* of a 64-bit layout */

/* May IDs be drawn now? */
bool source_ready(void);

/* Not yet, because the pid goes on ahead of the clock: a mark or page says so? */
bool source_waits(void);
bool source_status(sfid_status_info *info);
int64_t source_pid(void);

/* What the layout allows: IDs a second; the highest ID as a number of bits. */
uint64_t source_rate(void);
unsigned source_bits(void);
const char *source_layout(void);

/* Writes the JSON line of sfid decode (OUT_ROOM bytes). Returns its end; NULL, with a reason, if the text is no ID. */
char *source_decode(char *p, struct slice text, char why[READER_WHY]);

/* ---- client.c: one connection's answers, without its socket ------------------- */

struct bytes {
    char *at;
    size_t sent, len, size; /* at[sent..len) is to be sent */
};

enum answer { ANSWER_NONE, ANSWER_FLAKEID, ANSWER_ID, ANSWER_LINES, ANSWER_JSON, ANSWER_BULK, ANSWER_ARRAY, ANSWER_INTEGER };

/* A request for IDs whose answer is being made. Nothing of it is sent before it is complete. */
struct job {
    enum answer answer;
    unsigned least;    /* digits */
    uint32_t n, drawn; /* n IDs are wanted */
    size_t start;      /* of the answer in out */
    bool begun;        /* there is room for all of it */
};

struct client {
    struct bytes out;
    struct job job;
    uint64_t id;
    uint8_t protocol; /* enum protocol */
    bool old, keep;   /* HTTP: the current request's version, and whether the connection stays open */
    bool resp3;
    bool local;   /* it has to ask for this host by a local name */
    bool closing; /* no further request is read; close once the answers are sent */
    bool linger;  /* the client may still be sending */
    int status;   /* HTTP: of the last answer */
};

/* Makes room for n bytes behind the answers, and returns it; client_end() sets where they end. Ends the program without memory. */
char *client_room(struct client *client, size_t n);
void client_end(struct client *client, const char *end);
void client_write(struct client *client, const char *text, size_t len);
void client_print(struct client *client, const char *fmt, ...) CLI_PRINTF(2, 3); /* at most 2048 bytes */

/* Drops bytes that were sent. */
void client_sent(struct client *client, size_t n);
void client_free(struct client *client);

/* Returns how many bytes may be sent now: those of a job may not. */
size_t client_pending(const struct client *client);

/* ---- http_write.c: heads and errors of HTTP ------------------------------------ */

#define HEAD_ROOM 384
#define LENGTH_NONE (-1) /* no Content-Length */

/* Writes a head at p. extra: more lines, each with its CRLF, or "". */
char *http_head(char *p, const struct client *client, int status, const char *type, int64_t length, const char *extra);

/* Writes a whole answer. with_body false: its head alone. */
void http_answer(struct client *client, int status, const char *type, struct slice body, bool with_body);

/* Writes the page, with a head that lets it load nothing and stand in no frame; or its head alone. */
void http_page(struct client *client, bool with_body);

/* Writes an error as JSON. target: what the client asked for; shown escaped. */
void http_error(struct client *client, int status, const char *code, struct slice target, bool with_body, const char *fmt, ...)
    CLI_PRINTF(6, 7);

/* Begins with the next second; sets what Date says. */
void http_clock(void);

/* ---- page_html.c: made from page.html ------------------------------------------- */

extern const char page_html[], page_policy[]; /* what the page may do is a Content-Security-Policy */

/* ---- answer.c: answers with IDs -------------------------------------------------- */

/* What clients read while source_waits(). */
extern const char answer_waits[];

/* Begins the answer to a request for IDs; answer_go() then makes it. */
void answer_begin(struct client *client, enum answer answer, uint32_t n, unsigned least);

enum progress { PROGRESS_DONE, PROGRESS_TURN, PROGRESS_DRY, PROGRESS_MEMORY, PROGRESS_LEASE, PROGRESS_CLOCK };

/*
 * Draws at most SOURCE_TURN IDs. TURN: more are wanted. DRY: there are none for
 * now. MEMORY: too many answers are under way. LEASE, CLOCK: to be refused.
 */
enum progress answer_go(struct client *client);

/* Refuses the job. request: its bytes. */
void answer_refuse(struct client *client, enum refusal why, struct slice request);

/* ---- metrics.c -------------------------------------------------------------------- */

void metrics_write(struct client *client, bool openmetrics);

/* ---- http_serve.c, resp_serve.c, flakeid_serve.c: requests and their answers ------ */

/*
 * Each reads one request from the front of the bytes, and answers it, or begins
 * a job, or closes. Returns the bytes used; 0: more are wanted.
 */
size_t http_serve(struct client *client, const char *bytes, size_t len);
size_t resp_serve(struct client *client, const char *bytes, size_t len);
size_t flakeid_serve(struct client *client, const char *bytes, size_t len);

/* Reads the first byte of a connection. Returns its protocol, or PROTOCOL_NONE. */
enum protocol protocol_of(char first);

/* ---- origin.c: connections by their other end ------------------------------------------ */

struct origin {
    uint64_t key;
    uint32_t open, waiting; /* connections; those with a request that waits */
};

/* What tells addresses apart: of IPv4 the address, of IPv6 its first 64 bits. */
uint64_t origin_key(const struct listen_address *from);

/* Counts a connection. NULL: a Unix socket, whose other end has no address, or no memory. */
struct origin *origin_enter(const struct listen_address *from);
void origin_leave(struct origin *origin);

/* May one more request wait for IDs? Places are kept, so that a new connection always finds an idle one to replace. */
bool origin_may_wait(const struct origin *origin);

/* ---- queue.c: connections by what they wait for ------------------------------------- */

/* Those of one queue have one time limit, so the first ends first. A connection is in one, and in QUEUE_UNREAD as well. */
enum queue { QUEUE_IDLE, QUEUE_REQUEST, QUEUE_UNREAD, QUEUE_WAIT, QUEUE_LINGER, QUEUE_TURN, QUEUES };

#define DEADLINE_NONE UINT64_MAX

struct place {
    struct place *before, *after;
    uint64_t deadline;     /* by the loop's clock */
    enum queue queue;      /* QUEUES: in none */
    struct origin *origin; /* or NULL */
};

/* on_deadline: moves the place, or takes it away. */
void queues_begin(uv_loop_t *loop, void (*on_deadline)(struct place *place));
uint64_t queues_now(void); /* milliseconds, by the loop's clock */
void queue_move(struct place *place, enum queue queue, uint64_t deadline);
void queue_leave(struct place *place);
struct place *queue_first(enum queue queue);
struct place *queue_next(const struct place *place);
size_t queue_length(enum queue queue);

/* Do requests wait there for IDs or memory? */
bool queue_is_wait(enum queue queue);

/* Returns the connection, of this origin or (NULL) of any, that has had no request under way for the longest time; NULL: there is none. */
struct place *queue_longest_idle(const struct origin *origin);

/* ---- socket.c: a connection's socket ------------------------------------------------- */

/* Until its client has all that was sent, a connection is in QUEUE_UNREAD as well. */
struct connection {
    struct place place, unread;
    uv_poll_t poll;
    struct client client;
    char *in;
    uint32_t in_len, used;
    uint64_t since;    /* when the current request's first byte came */
    int64_t sent, got; /* bytes: to the kernel; of these the client's host had at the last look */
    uint64_t got_at;
    int fd, events; /* what poll waits for */
    bool eof, waited;
    bool polled; /* poll is in the loop; a client that sends at once and closes never comes that far */
};

void sockets_begin(uv_loop_t *loop, uv_poll_cb on_events, void (*on_empty)(void));
struct connection *connection_of(struct place *place);
bool connection_has_job(const struct connection *c);
void connection_drop(struct connection *c);

/* The same, before the client has all. */
void connection_cut(struct connection *c);

/* Does so much wait to be sent that no further request is taken? */
bool connection_is_full(const struct connection *c);

/* Tells the loop what to wait for. The last call on a connection, which it may close. */
void connection_watch(struct connection *c);

/* Sends what may be sent. Returns false if the client is gone. */
bool connection_flush(struct connection *c);

/* Is there anything that the client's host has not got? */
bool connection_has_unread(const struct connection *c);

/* Cuts a client that has taken no byte for --request-ms, whatever it has asked for besides. */
void connection_look(struct connection *c);

/* ---- connection.c: connections, their requests and deadlines ----------------------- */

void connections_begin(uv_loop_t *loop, void (*on_empty)(void));

/* Takes an accepted socket. If there is no place for it, the longest idle connection is closed. */
void connection_open(int fd, const struct listen_address *from, bool local);

/* Closes idle connections, refuses waiters, and lets the others get their answers. */
void connections_finish(void);
void connections_drop(void);

#endif
