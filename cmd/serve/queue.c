/* SPDX-License-Identifier: MIT */
/* queue.c - lists of connections by what they wait for, and one timer for all deadlines. */
#include "serve/queue.h"

#include "serve/settings.h"

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
