/* SPDX-License-Identifier: MIT */
/* queue.c - lists of connections by what they wait for. */
#include "serve/all.h"

/* Each is a ring through its head. */
static struct place heads[QUEUES];
static size_t lengths[QUEUES];

void queues_begin(void) {
    for (int i = 0; i < QUEUES; i++)
        heads[i] = (struct place){&heads[i], &heads[i], UINT64_MAX, QUEUES};
}

void queue_leave(struct place *place) {
    if (place->queue == QUEUES)
        return;
    place->before->after = place->after;
    place->after->before = place->before;
    lengths[place->queue]--;
    place->queue = QUEUES;
}

/* A deadline may be earlier than the last one's, if a request began while an older answer was still under way. */
void queue_move(struct place *place, enum queue queue, uint64_t deadline) {
    queue_leave(place);
    struct place *before = heads[queue].before;
    while (before != &heads[queue] && before->deadline > deadline)
        before = before->before;
    *place = (struct place){before, before->after, deadline, queue};
    place->after->before = place;
    before->after = place;
    lengths[queue]++;
}

struct place *queue_next(const struct place *place) {
    return place->after == &heads[place->queue] ? NULL : place->after;
}

struct place *queue_first(enum queue queue) {
    return heads[queue].after == &heads[queue] ? NULL : heads[queue].after;
}

size_t queue_length(enum queue queue) { return lengths[queue]; }

uint64_t queues_deadline(void) {
    uint64_t first = UINT64_MAX;
    for (int i = 0; i < QUEUE_TURN; i++)
        if (heads[i].after->deadline < first)
            first = heads[i].after->deadline;
    return first;
}
