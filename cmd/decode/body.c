/* SPDX-License-Identifier: MIT */
/* body.c - IDs that are judged together: without strays, and whether a gap parts them. */
#include "decode/body.h"

static double distance(sfid_wide from, sfid_wide to) {
    return ((double)to.high - (double)from.high) * 0x1p64 + ((double)to.low - (double)from.low);
}

/* The distance of times that lie a hundredth of the time since the epoch apart: less does not mean
 * anything. */
static double margin(const struct body *body) {
    return distance((sfid_wide){0, 0}, body->id[body->count - 1]) / 100;
}

void body_leave_strays(struct body *body) {
    const size_t few = body->count / 20, most = body->count - few;
    const sfid_wide *id = body->id;
    size_t from = 0, to = body->count;
    for (size_t i = 1; i <= few; i++)
        if (distance(id[i], id[i + most - 1]) < distance(id[from], id[from + most - 1]))
            from = i;
    if (few == 0 ||
        distance(id[from], id[from + most - 1]) > distance(id[0], id[body->count - 1]) / 8)
        return;
    const double near = margin(body) + distance(id[from], id[from + most - 1]);
    to = from + most;
    while (from > 0 && distance(id[from - 1], id[to - 1]) < near)
        from--;
    while (to < body->count && distance(id[from], id[to]) < near)
        to++;
    *body = (struct body){id + from, to - from, body->count - (to - from)};
}

size_t body_find_gap(const struct body *body) {
    enum { ENOUGH = 16 };
    const size_t strays = body->count / 20, least = strays > 0 ? strays + 1 : 2;
    for (size_t i = least; body->count >= ENOUGH && i <= body->count - least; i++)
        if (distance(body->id[i - 1], body->id[i]) >
            distance(body->id[0], body->id[body->count - 1]) / 2)
            return distance(body->id[i - 1], body->id[i]) > margin(body) ? i : 0;
    return 0;
}
