/* SPDX-License-Identifier: MIT */
/* queue.c - lists of connections by what they wait for, with one timer for all deadlines; and who
 * connects: how many connections each address has, and how many of them may wait. */
#include "serve/queue.h"

#include "serve/settings.h"

#include <arpa/inet.h>
#include <search.h>
#include <stdlib.h>

/* Each is a ring through its head. */
static struct place heads[QUEUES];
static size_t lengths[QUEUES];

static struct {
    uv_loop_t *loop;
    uv_timer_t timer;
    uint64_t aimed; /* when it fires */
    void (*on_deadline)(struct place *place);
} deadlines;

uint64_t queues_now(void) { return uv_now(deadlines.loop); }

static void on_timer(uv_timer_t *timer);

static void aim(uint64_t deadline) {
    const uint64_t now = queues_now();
    if (deadline >= deadlines.aimed)
        return;
    deadlines.aimed = deadline;
    uv_timer_start(&deadlines.timer, on_timer, deadline > now ? deadline - now : 0, 0);
}

static void on_timer(uv_timer_t *timer) {
    const uint64_t now = queues_now();
    uint64_t first = UINT64_MAX;
    (void)timer;
    for (enum queue queue = 0; queue < QUEUES; queue++)
        while (heads[queue].after->deadline <= now)
            deadlines.on_deadline(heads[queue].after);
    for (enum queue queue = 0; queue < QUEUES; queue++)
        if (heads[queue].after->deadline < first)
            first = heads[queue].after->deadline;
    deadlines.aimed = UINT64_MAX;
    aim(first);
}

void queues_begin(uv_loop_t *loop, void (*on_deadline)(struct place *place)) {
    deadlines.loop = loop;
    deadlines.aimed = UINT64_MAX;
    deadlines.on_deadline = on_deadline;
    uv_timer_init(loop, &deadlines.timer);
    for (int i = 0; i < QUEUES; i++)
        heads[i] = (struct place){&heads[i], &heads[i], DEADLINE_NONE, QUEUES, NULL};
}

static void count(const struct place *place, int step) {
    lengths[place->queue] += (size_t)step;
    if (place->origin && queue_is_wait(place->queue))
        place->origin->waiting += (uint32_t)step;
}

void queue_leave(struct place *place) {
    if (place->queue == QUEUES)
        return;
    place->before->after = place->after;
    place->after->before = place->before;
    count(place, -1);
    place->queue = QUEUES;
}

/* A deadline may be earlier than the last one's, if a request began while an older answer was still
 * under way. */
void queue_move(struct place *place, enum queue queue, uint64_t deadline) {
    queue_leave(place);
    struct place *before = heads[queue].before;
    while (before != &heads[queue] && before->deadline > deadline)
        before = before->before;
    *place = (struct place){before, before->after, deadline, queue, place->origin};
    place->after->before = place;
    before->after = place;
    count(place, 1);
    aim(deadline);
}

bool queue_is_wait(enum queue queue) { return queue == QUEUE_WAIT || queue == QUEUE_TURN; }

struct place *queue_next(const struct place *place) {
    return place->after == &heads[place->queue] ? NULL : place->after;
}

struct place *queue_first(enum queue queue) {
    return heads[queue].after == &heads[queue] ? NULL : heads[queue].after;
}

size_t queue_length(enum queue queue) { return lengths[queue]; }

struct place *queue_longest_idle(const struct origin *origin) {
    static const enum queue idle[] = {QUEUE_LINGER, QUEUE_IDLE, QUEUE_REQUEST};
    struct place *longest = NULL;
    uint64_t since = UINT64_MAX;
    for (size_t i = 0; i < COUNT_OF(idle); i++) {
        struct place *place = queue_first(idle[i]);
        while (place && origin && place->origin != origin)
            place = queue_next(place);
        if (place == NULL)
            continue;
        if (idle[i] == QUEUE_LINGER)
            return place; /* it is to be closed anyway */
        const uint64_t begin =
            place->deadline - (idle[i] == QUEUE_IDLE ? settings.idle_ms : settings.request_ms);
        if (begin < since) {
            since = begin;
            longest = place;
        }
    }
    return longest;
}

/* ---- the other ends ----------------------------------------------------------------- */

static void *origins; /* a tree of those with connections, by key */

static int compare(const void *a, const void *b) {
    const uint64_t x = ((const struct origin *)a)->key, y = ((const struct origin *)b)->key;
    return (x > y) - (x < y);
}

/* A host with one IPv6 address usually has all that begin with the same 64 bits. */
static uint64_t origin_key(const struct listen_address *from) {
    const uint64_t ipv4 = UINT64_C(0xffff) << 32; /* a prefix that is not assigned */
    const uint8_t *bytes = from->in6.sin6_addr.s6_addr;
    uint64_t key = 0;
    if (from->any.sa_family == AF_INET)
        return ipv4 | ntohl(from->in.sin_addr.s_addr);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&from->in6.sin6_addr);
    for (int i = mapped ? 12 : 0; i < (mapped ? 16 : 8); i++)
        key = key << 8 | bytes[i];
    return mapped ? ipv4 | key : key;
}

struct origin *origin_enter(const struct listen_address *from) {
    if (from->any.sa_family != AF_INET && from->any.sa_family != AF_INET6)
        return NULL;
    struct origin wanted = {.key = origin_key(from)}, *origin;
    void *found = tfind(&wanted, &origins, compare);
    if (found) {
        origin = *(struct origin **)found;
    } else {
        origin = malloc(sizeof *origin);
        if (origin == NULL)
            return NULL;
        *origin = wanted;
        if (tsearch(origin, &origins, compare) == NULL) {
            free(origin);
            return NULL;
        }
    }
    origin->open++;
    return origin;
}

void origin_leave(struct origin *origin) {
    if (origin == NULL || --origin->open > 0)
        return;
    tdelete(origin, &origins, compare);
    free(origin);
}

/* A sixteenth of the connections, and of 2 to 17 one. */
static uint32_t most_waiting(uint32_t most) { return most - (most + 14) / 16; }

bool origin_may_wait(const struct origin *origin) {
    return queue_length(QUEUE_WAIT) + queue_length(QUEUE_TURN) <
               most_waiting(settings.max_connections) &&
           (origin == NULL || origin->waiting < most_waiting(settings.max_per_address));
}
