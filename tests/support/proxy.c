/* SPDX-License-Identifier: MIT */
#include "support/proxy.h"

/* ---- inside -------------------------------------------------------------- */

enum { PROXY_LINKS = 256, PROXY_PIECE = 1 << 16, PROXY_LOOK_MS = 5, PROXY_TAIL = 16 };

struct proxy_piece {
    int64_t due_ns;
    size_t n;
    struct proxy_piece *next;
    char bytes[];
};

/* One direction of a connection. */
struct proxy_way {
    int from, to;
    bool ended; /* nothing more comes; pieces on their way still arrive */
    int64_t last_due_ns;
    struct proxy_piece *first;
};

struct proxy_link {
    struct proxy_way request, answer;
    bool used, silent, lose;
    char tail[PROXY_TAIL]; /* end of the last request, for words split over two pieces */
};

static int64_t proxy_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool proxy_one_of(int n) { return n > 0 && random() % n == 0; }

static void proxy_forget(struct proxy_way *way) {
    while (way->first) {
        struct proxy_piece *piece = way->first;
        way->first = piece->next;
        free(piece);
    }
}

static void proxy_cut(struct proxy_link *l) {
    proxy_forget(&l->request);
    proxy_forget(&l->answer);
    close(l->request.from);
    close(l->answer.from);
    l->used = false;
}

static void proxy_accept(int listener, struct proxy_link *links, const char *server,
                         struct proxy_rules *rules) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
        return;
    atomic_fetch_add(&rules->accepted, 1);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", server);
    const int to = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct proxy_link *l = links;
    while (l < links + PROXY_LINKS && l->used)
        l++;
    if (atomic_load(&rules->refuse) || l == links + PROXY_LINKS ||
        connect(to, (struct sockaddr *)&at, sizeof at) < 0) {
        close(client);
        close(to);
        return;
    }
    *l = (struct proxy_link){
        .request = {.from = client, .to = to}, .answer = {.from = to, .to = client}, .used = true};
}

static bool proxy_takes_one(_Atomic int *left) {
    if (atomic_load(left) <= 0)
        return false;
    atomic_fetch_sub(left, 1);
    return true;
}

/* An argument names the kind of exchange. */
static void proxy_read_request(struct proxy_link *l, const char *bytes, size_t n,
                               struct proxy_rules *rules) {
    static const char *const words[] = {"\r\nclaim\r\n", "\r\nrenew\r\n", "\r\nrelease\r\n"};
    _Atomic int *const left[] = {&rules->lose_claims, &rules->lose_renewals, &rules->lose_releases};
    static char text[PROXY_TAIL + PROXY_PIECE];
    memcpy(text, l->tail, PROXY_TAIL);
    memcpy(text + PROXY_TAIL, bytes, n);
    for (int i = 0; i < 3; i++)
        if (memmem(text, PROXY_TAIL + n, words[i], strlen(words[i])) && proxy_takes_one(left[i]))
            l->lose = true;
    memcpy(l->tail, text + n, PROXY_TAIL);
    if (l->lose)
        memset(l->tail, 0, PROXY_TAIL); /* count each exchange once */
}

static void proxy_queue(struct proxy_way *way, const char *bytes, size_t n,
                        const struct proxy_rules *rules) {
    const int jitter = atomic_load(&rules->jitter_ms);
    const int64_t late_ms =
        atomic_load(&rules->delay_ms) + (jitter > 0 ? random() % (jitter + 1) : 0);
    struct proxy_piece *piece = malloc(sizeof *piece + n), **end = &way->first;
    if (!piece)
        _exit(1);
    piece->due_ns = proxy_now() + late_ms * 1000000;
    if (piece->due_ns < way->last_due_ns)
        piece->due_ns = way->last_due_ns;
    way->last_due_ns = piece->due_ns;
    piece->n = n;
    piece->next = NULL;
    memcpy(piece->bytes, bytes, n);
    while (*end)
        end = &(*end)->next;
    *end = piece;
}

/* Returns false if the connection was cut. */
static bool proxy_read(struct proxy_link *l, struct proxy_way *way, struct proxy_rules *rules) {
    static char bytes[PROXY_PIECE];
    const ssize_t n = recv(way->from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0) {
        way->ended = n == 0 || (errno != EAGAIN && errno != EINTR);
        return true;
    }
    if (proxy_one_of(atomic_load(&rules->cut_one_of))) {
        atomic_fetch_add(&rules->cut, 1);
        proxy_cut(l);
        return false;
    }
    if (!l->silent && proxy_one_of(atomic_load(&rules->silence_one_of))) {
        atomic_fetch_add(&rules->silenced, 1);
        l->silent = true;
    }
    if (l->silent)
        return true;
    if (way == &l->request) {
        proxy_read_request(l, bytes, (size_t)n, rules);
    } else if (l->lose) {
        atomic_fetch_add(&rules->lost, 1);
        l->lose = false;
        return true;
    }
    if (way == &l->answer && atomic_load(&rules->hold))
        atomic_fetch_add(&rules->held, 1);
    proxy_queue(way, bytes, (size_t)n, rules);
    return true;
}

static void proxy_write(struct proxy_way *way) {
    while (way->first && way->first->due_ns <= proxy_now()) {
        struct proxy_piece *piece = way->first;
        way->first = piece->next;
        if (!say(way->to, piece->bytes, piece->n))
            way->ended = true;
        free(piece);
    }
}

/* A connection that has ended is done when all pieces have arrived. */
static void proxy_turn(struct proxy_link *l, struct proxy_rules *rules) {
    if (!l->request.ended && !proxy_read(l, &l->request, rules))
        return;
    if (!l->answer.ended && !proxy_read(l, &l->answer, rules))
        return;
    proxy_write(&l->request);
    if (!atomic_load(&rules->hold))
        proxy_write(&l->answer);
    if ((l->request.ended && !l->request.first) || (l->answer.ended && !l->answer.first))
        proxy_cut(l);
}

static void proxy_wait(int listener, const struct proxy_link *links) {
    static struct pollfd fds[2 * PROXY_LINKS + 1];
    nfds_t n = 0;
    fds[n++] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (const struct proxy_link *l = links; l < links + PROXY_LINKS; l++) {
        if (l->used && !l->request.ended)
            fds[n++] = (struct pollfd){.fd = l->request.from, .events = POLLIN};
        if (l->used && !l->answer.ended)
            fds[n++] = (struct pollfd){.fd = l->answer.from, .events = POLLIN};
    }
    poll(fds, n, PROXY_LOOK_MS);
}

static void proxy_serve(int listener, const char *server, struct proxy_rules *rules) {
    static struct proxy_link links[PROXY_LINKS];
    for (;;) {
        proxy_wait(listener, links);
        proxy_accept(listener, links, server, rules);
        const bool all = atomic_load(&rules->cut_now) != 0;
        for (struct proxy_link *l = links; l < links + PROXY_LINKS; l++) {
            if (l->used && all) {
                atomic_fetch_add(&rules->cut, 1);
                proxy_cut(l);
            }
            if (l->used)
                proxy_turn(l, rules);
        }
        if (all)
            atomic_store(&rules->cut_now, 0);
    }
}

/* ---- outside ------------------------------------------------------------- */

struct proxy proxy_start(const struct redis *r, unsigned seed) {
    struct peer at = {.pid = -1};
    struct proxy p = {.pid = -1};
    const int listener = listen_tcp(&at, 64);
    p.port = at.port;
    p.rules = shared_memory(sizeof *p.rules);
    fflush(NULL);
    need(fcntl(listener, F_SETFL, O_NONBLOCK) >= 0 && (p.pid = fork()) >= 0, "no proxy: %s",
         strerror(errno));
    if (p.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        srandom(seed);
        proxy_serve(listener, r->socket, p.rules);
    }
    close(listener);
    return p;
}

void proxy_end(struct proxy *p) {
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    munmap(p->rules, sizeof *p->rules);
}
