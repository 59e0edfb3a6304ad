/* SPDX-License-Identifier: MIT */
/*
 * A holder that comes upon another server than its own: one that says nothing, or what no Redis
 * server would, or that it is loading. Each time it is told so by an event, draws on, and is
 * renewed when its own server is back in its place.
 *
 * A name (a symbolic link to a socket) leads to whoever is there.
 */
#include "support/faults.h"
#include "support/peer.h"

struct impostor {
    const char *name;
    serve_function *serve;
    const char *says, *words; /* words: in the event's text */
};

#define PROTOCOL "the reply does not follow the Redis protocol"

static const struct impostor impostors[] = {
    {"silence", serve_nothing, "", "no answer in time"},
    {"a byte each 100 ms", serve_drip, "", "no answer in time"},
    {"an end", serve_end, "", "closed the connection"},
    {"a reset", serve_reset, "", ""},
    {"garbage", serve_words, "\1\2\3 what is this\r\n", PROTOCOL},
    {"a string of 2 GB", serve_words, "$2147483647\r\n", PROTOCOL},
    {"a push", serve_words, ">3\r\n$10\r\ninvalidate\r\n$1\r\na\r\n$1\r\nb\r\n", PROTOCOL},
    {"nested arrays", serve_nested, "", PROTOCOL},
    {"another protocol", serve_words, "HTTP/1.1 400 Bad Request\r\n\r\n", PROTOCOL},
    {"OK and nothing else", serve_words, "+OK\r\n", "not the lease script's"},
    {"an answer with parts missing", serve_words, "*2\r\n$2\r\nOK\r\n$13\r\n1795000000000\r\n",
     "not the lease script's"},
    {"a word that is unknown", serve_words, "*2\r\n$5\r\nMAYBE\r\n$13\r\n1795000000000\r\n",
     "not the lease script's"},
    {"loading", serve_words, "-LOADING Redis is loading the dataset in memory\r\n", "LOADING"},
    {"cannot save", serve_words,
     "-MISCONF Errors writing to the AOF file: No space left on device\r\n", "MISCONF"},
    {"a cluster", serve_words, "-MOVED 3999 127.0.0.1:6381\r\n", "MOVED"},
};

static char name[120]; /* the link */

static void meet(struct redis *r, struct member *m, const struct impostor *who) {
    struct peer p = start_peer(false, who->serve);
    const int from = atomic_load(&m->events);
    set_words(&p, who->says, strlen(who->says));
    lead_to(name, p.path);
    cut_clients(r);
    ok(member_told(m, from, SFID_EREDIS, who->words, name),
       "%s, %s: the holder is told what, and by whom", r->program, who->name);
    ok(member_draws(m, 20, TAP_WAIT_MS), "%s, %s: IDs flow meanwhile", r->program, who->name);
    const int renewed = events_of(m, SFID_EVENT_RENEWED);
    lead_to(name, r->socket);
    stop_peer(&p);
    ok(member_had(m, SFID_EVENT_RENEWED, renewed + 1, TAP_WAIT_MS),
       "%s, %s: it is renewed when its server is back", r->program, who->name);
}

static void test_server(const char *program, int number) {
    struct redis r;
    char app[40];
    redis_start(&r, program, "impostors", 0, NULL);
    lead_to(name, r.socket);
    snprintf(app, sizeof app, "held-%d", number);
    struct member *m = member_at(app, number, "unix://%s?timeout=200", name);
    m->opt.heartbeat_ms = 300;
    m->opt.on_unknown = SFID_TRUST;
    member_open_or_die(m);
    for (size_t i = 0; i < COUNT_OF(impostors); i++)
        meet(&r, m, &impostors[i]);
    is_i64(atomic_load(&m->errors), 0, "%s: no call failed in all that time", program);
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "%s: and no pid was lost", program);
    diag("figure: %s: longest gap of the holder %" PRId64 " ms", program, atomic_load(&m->gap_ms));
    is_i64(member_end(m), 0, "%s: it ends well", program);
    redis_kill(&r);
}

int main(void) {
    faults_begin();
    snprintf(name, sizeof name, "%s/server", socket_dir());
    for (size_t i = 0; i < servers.n; i++)
        test_server(servers.installed[i], (int)i + 1);
    return faults_end("the holders");
}
