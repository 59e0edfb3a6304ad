/* SPDX-License-Identifier: MIT */
/* orders_api.c - close, lists that only grow, what one user of a page hands to the next, and
 * texts. */
#include "orders.h"

/* ---- handle.h, open.c: a call is inside the cold part, and close frees it ------------- */

enum { USERS, COLD, MEMORY };

static void enter_cold(void) {
    long users = load(USERS, RLX);
    await(swap(USERS, &users, users + 1, users_enter));
    if (load(COLD, cold_enter) == 1)
        read_plain(MEMORY);
    add(USERS, -1, users_leave);
}
static void close_handle(void) {
    long cold = load(COLD, cold_close);
    if (!swap(COLD, &cold, 0, cold_take))
        return;
    await(load(USERS, users_alone) == 0);
    write_plain(MEMORY, 0);
}

/* ---- memory.c: the list without an app ------------------------------------------- */

/* The head is the newest node, 1 or 2. A node's value: 10 + the next one. */
enum { HEAD, NODE };

static void walk(long node) {
    while (node) {
        node = read_plain(NODE + (int)node);
        want(node >= 10, "a node that is not filled in");
        node -= 10;
    }
}
static void push(long me) {
    long head = load(HEAD, pages_get);
    walk(head);
    write_plain(NODE + (int)me, 10 + head);
    if (swap(HEAD, &head, me, pages_add))
        return;
    walk(head);
    write_plain(NODE + (int)me, 10 + head);
    await(swap(HEAD, &head, me, pages_add));
}
static void push_1(void) { push(1); }
static void push_2(void) { push(2); }
static void find(void) { walk(load(HEAD, pages_get)); }

/* The same without a look at the nodes before: mapping.c. */
static void put(long me) {
    long head = load(HEAD, RLX);
    write_plain(NODE + (int)me, 10 + head);
    await(swap(HEAD, &head, me, mappings_add));
}
static void put_1(void) { put(1); }
static void put_2(void) { put(2); }
static void look(void) { walk(load(HEAD, mappings_get)); }

/* ---- process.c: of two pages one stays -------------------------------------------- */

static void own(long me) {
    long page = load(HEAD, own_get);
    if (page == 0) {
        write_plain(NODE + (int)me, 1);
        if (swap(HEAD, &page, me, own_set))
            page = me;
    }
    want(read_plain(NODE + (int)page) == 1, "a page that is not mapped");
}
static void own_1(void) { own(1); }
static void own_2(void) { own(2); }

/* ---- one user after another ---------------------------------------------------------- */

enum { IN_USE, LEFT };

static void use(void) {
    long idle = 0;
    if (!swap(IN_USE, &idle, 1, arg(0)))
        return;
    write_plain(LEFT, read_plain(LEFT) + 1);
    store(IN_USE, 0, arg(1));
}

/* resolve.c: the one that leaves last frees. */
enum { HOLDERS, LOOKUP };

static void let_go(void) {
    read_plain(LOOKUP);
    if (add(HOLDERS, -1, holders_drop) == 1)
        write_plain(LOOKUP, 0);
}

/* ---- shared_text.c ------------------------------------------------------------------- */

enum { VERSION, WORDS, WORDS_END = WORDS + 2, CODE };

static void write_text(long value) {
    const long version = load(VERSION, RLX) | 1;
    store(VERSION, version, RLX);
    fence(text_fence);
    for (int i = WORDS; i < WORDS_END; i++)
        store(i, value, RLX);
    store(VERSION, version + 1, text_even);
}
static void write_texts(void) {
    write_text(1);
    write_text(2);
}
static void read_text(void) {
    const long before = load(VERSION, text_before);
    const long a = load(WORDS, RLX), b = load(WORDS + 1, RLX);
    fence(text_look);
    if ((before & 1) == 0 && load(VERSION, RLX) == before)
        want(a == b, "half of a text");
}
static void report_failure(void) {
    write_text(1);
    store(CODE, 1, failure_set);
}
static void read_failure(void) {
    if (load(CODE, failure_get) == 1)
        want(load(VERSION, text_before) == 2, "a failure without a text");
}

/* ---- watch.c: a place gets a new name -------------------------------------------------- */

enum { BELL, NUMBER };

static void take_place(void) {
    store(BELL, 0, RLX);
    add(NUMBER, 1, number_next);
}
static void ring(void) {
    await(load(NUMBER, number_get) == 2);
    long rung = load(BELL, RLX);
    await(swap(BELL, &rung, 7, bell_ring));
}
static void rung(void) { want(last(BELL) == 7, "a bell of the new name is lost"); }

#define USERS_OF(taken, left, name) \
    { \
        name, {use, use, use}, NULL, .arg = { taken, left } \
    }

const struct program api_programs[] = {
    {"close frees the cold part", {enter_cold, close_handle}, NULL, .start = {[COLD] = 1}},
    {"close frees the cold part, two calls inside",
     {enter_cold, enter_cold, close_handle},
     NULL,
     .start = {[COLD] = 1}},
    {"the list of pages without an app", {push_1, push_2, find}, NULL},
    {"the list of mappings", {put_1, put_2, look}, NULL},
    {"two make the process's own page", {own_1, own_2}, NULL},
    USERS_OF(memory_take, memory_leave, "a page without an app is used again"),
    USERS_OF(mapping_take, mapping_leave, "a mapping is used again"),
    {"the lookup of a name is freed", {let_go, let_go}, NULL, .start = {[HOLDERS] = 2}},
    {"a text is read", {write_texts, read_text}, NULL},
    {"a failure is read", {report_failure, read_failure}, NULL},
    {"a watch gets a new name", {take_place, ring}, rung, .start = {[BELL] = 5, [NUMBER] = 1}},
    {.name = NULL}};
