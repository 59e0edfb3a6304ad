/* SPDX-License-Identifier: MIT */
/*
 * fleet.c - simulates a fleet at one Redis server: what breaks first, and at which number of
 * processes.
 *
 * The server takes one script after another, each for the time it was measured to take
 * (doc/performance.md). Processes follow the lease machine: claims, first renewals, heartbeats,
 * pauses, polls when the answer says. Windows, pids and eras are those of the defaults, with 65,536
 * pids an app and as many apps as the processes need.
 *
 *     fleet PROCESSES [flush] [tls] [idle] [all]
 *
 * All restart within a minute. flush: the server forgets in the middle. idle: no connection is kept
 * between heartbeats (idle=close). all: maxclients lets all in; otherwise it is the default,
 * 10,000.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Milliseconds of the server's processor. Connecting: accept, AUTH and the names; with TLS a
 * handshake. */
#define CLAIM 0.20
#define POLL 0.15
#define RENEWAL 0.08
#define RELEASE 0.10
#define CONNECT 0.06
#define HANDSHAKE 1.0

enum { APP_PIDS = 65536, SHARE = 8 };
enum {
    W = 600000,
    BRIEF = 30000,
    SKEW = 15000,
    HEARTBEAT = 180000,
    TIMEOUT = 2000,
    RESTART = 60000,
    FLUSH_AT = 30000
};

enum what { STOP, START, CLAIMS, RENEWS };

struct process {
    double due, wait_from, limit;
    int pause;
    enum what what;
    bool connected, brief, is_short;
};

static struct process *fleet;
static int *heap, heap_size, processes;
static double server_free, busy, busy_second[1200], longest_wait, longest_queue, last_poll;
static long timeouts, refused, clients, most_clients, ordinary, briefs, exhausted, lost;
static long maxclients = 10000;
static bool flushed, with_flush, with_tls, with_idle;

static void push(int i) {
    int at = heap_size++;
    for (; at > 0 && fleet[heap[(at - 1) / 2]].due > fleet[i].due; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = i;
}

static int pop(void) {
    const int top = heap[0], last = heap[--heap_size];
    int at = 0;
    for (int child; (child = 2 * at + 1) < heap_size; at = child) {
        if (child + 1 < heap_size && fleet[heap[child + 1]].due < fleet[heap[child]].due)
            child++;
        if (fleet[heap[child]].due >= fleet[last].due)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static double random_part(double most) { return most * rand() / ((double)RAND_MAX + 1); }

/* Runs a script. False if its answer comes after the timeout. */
static bool serve(double now, double cost) {
    const double begin = server_free > now ? server_free : now;
    server_free = begin + cost;
    busy += cost;
    if (begin / 1000 < 1200)
        busy_second[(int)(begin / 1000)] += cost;
    if (server_free - now > longest_queue)
        longest_queue = server_free - now;
    timeouts += server_free - now > TIMEOUT;
    return server_free - now <= TIMEOUT;
}

static void back_off(struct process *p, double now) {
    p->pause = p->pause ? (p->pause * 2 > 10000 ? 10000 : p->pause * 2) : 100;
    p->due = now + p->pause - random_part(p->pause / 10.0);
}

static bool connects(struct process *p, double now) {
    if (p->connected)
        return true;
    if (clients >= maxclients) {
        refused++;
        return false;
    }
    p->connected = true;
    if (++clients > most_clients)
        most_clients = clients;
    return serve(now, CONNECT + (with_tls ? HANDSHAKE : 0));
}

static void hang_up(struct process *p) {
    if (with_idle && p->connected)
        p->connected = false, clients--;
}

/* True if the server grants: in a new era short pids 45 s after the flush, ordinary ones after 615
 * s. */
static bool grants(struct process *p, double now) {
    const long apps = (processes + APP_PIDS - 1) / APP_PIDS, all = apps * APP_PIDS;
    const double era = flushed ? now - FLUSH_AT : 1e9;
    if (era >= W + SKEW && ordinary < all - all / SHARE)
        ordinary++, p->is_short = false;
    else if (era >= BRIEF + SKEW && briefs < all / SHARE)
        briefs++, p->is_short = true;
    else
        return false;
    return true;
}

static void claim(struct process *p, double now) {
    const bool polls = p->wait_from < now - 1 && flushed;
    if (!connects(p, now) || !serve(now, polls ? POLL : CLAIM)) {
        back_off(p, now);
        return;
    }
    p->pause = 0;
    if (!grants(p, now)) {
        exhausted++;
        const double open = FLUSH_AT + (now < FLUSH_AT + BRIEF + SKEW ? BRIEF + SKEW : W + SKEW),
                     soon = now + 2000 < open ? now + 2000 : open;
        last_poll = (last_poll + 10 > soon ? last_poll + 10 : soon);
        p->due = last_poll > now ? last_poll : now + 10;
        return;
    }
    if (now - p->wait_from > longest_wait)
        longest_wait = now - p->wait_from;
    p->what = RENEWS;
    p->brief = true;
    p->limit = now + BRIEF;
    p->due = now + BRIEF / 3.0 * (1 - random_part(0.1));
    hang_up(p);
}

static void renew(struct process *p, double now) {
    if (now > p->limit)
        lost++, p->limit = 1e18; /* counted once */
    if (!connects(p, now) || !serve(now, RENEWAL)) {
        back_off(p, now);
        return;
    }
    p->pause = 0;
    p->brief = p->is_short;
    p->limit = now + (p->brief ? BRIEF : W);
    p->due = now + (p->brief ? BRIEF / 3.0 : HEARTBEAT) * (1 - random_part(0.1));
    hang_up(p);
}

static void step(struct process *p, double now) {
    switch (p->what) {
    case STOP:
        if (p->connected)
            serve(now, RELEASE), clients--;
        p->connected = false;
        *(p->is_short ? &briefs : &ordinary) -= 1;
        p->what = START;
        p->due = now + 500;
        break;
    case START:
        p->what = CLAIMS;
        p->wait_from = p->due = now;
        break;
    case CLAIMS:
        claim(p, now);
        break;
    case RENEWS:
        renew(p, now);
        break;
    }
}

int main(int argc, char **argv) {
    processes = argc > 1 ? atoi(argv[1]) : 10000;
    for (int i = 2; i < argc; i++)
        with_flush |= strcmp(argv[i], "flush") == 0, with_tls |= strcmp(argv[i], "tls") == 0,
            with_idle |= strcmp(argv[i], "idle") == 0,
            maxclients = strcmp(argv[i], "all") == 0 ? processes : maxclients;
    fleet = calloc((size_t)processes, sizeof *fleet);
    heap = calloc((size_t)processes, sizeof *heap);
    if (fleet == NULL || heap == NULL || processes < 1)
        return 1;
    ordinary = processes;
    for (int i = 0; i < processes; i++) {
        struct process *p = &fleet[i];
        p->connected = !with_idle && clients < maxclients;
        clients += p->connected;
        p->due = random_part(RESTART);
        p->limit = W;
        push(i);
    }
    while (heap_size > 0) {
        const int i = pop();
        struct process *p = &fleet[i];
        const double now = p->due;
        if (now > 1000000)
            break;
        flushed = with_flush && now >= FLUSH_AT;
        step(p, now);
        push(i);
    }
    double most = 0;
    for (int i = 0; i < 1000; i++)
        most = busy_second[i] > most ? busy_second[i] : most;
    printf(
        "%d processes%s%s%s: busiest second %.0f %% of a core, longest queue %.0f ms, %ld answers late, %ld connections refused (most %ld), "
        "longest wait for a pid %.0f s, %ld polls, %ld windows over\n",
        processes, with_flush ? ", flush" : "", with_tls ? ", TLS" : "",
        with_idle ? ", idle=close" : "", most / 10, longest_queue, timeouts, refused, most_clients,
        longest_wait / 1000, exhausted, lost);
    free(fleet);
    free(heap);
    return 0;
}
