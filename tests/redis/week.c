/* SPDX-License-Identifier: MIT */
/*
 * Days of leases in simulated time: holders of all pids of an app renew each 200 s, stop for a
 * while, end, come back and lose answers; the server forgets everything once a day. A window always
 * ends ttl_ms after the server's now, no holder comes to ticks that another may have used, and the
 * app needs no more memory on the last day than on the first.
 *
 * Sizes: 2 days each server (long: 7).
 */
#include "support/app.h"
#include "support/tap.h"

enum { PIDS = 16, WINDOW = 600, STEP = 200, A_DAY = 86400 / STEP, TEXT = 40 };

static struct seat {
    int64_t pid, limit;                       /* pid -1: it wants one */
    unsigned asleep;                          /* for so many steps */
    char base[TEXT], nonce[TEXT], next[TEXT]; /* next: shown, and the answer was lost; "": none */
} seats[PIDS];

static int64_t used[PIDS]; /* the end of what anybody may have used */
static uint64_t number, rng, grants, renewals, losses, retries, drifts, overlaps, nonsense;

static unsigned below(unsigned n) {
    rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(rng >> 33) % n;
}

static void new_text(char text[TEXT], const char *head) {
    snprintf(text, TEXT, "%s%016" PRIx64, head, ++number);
}

static int64_t tick_of(const struct app *a) { return (a->now - a->epoch) / a->unit; }

/* A window that was granted: floor and limit in ticks. */
static void judge(const struct app *a, int64_t floor, int64_t limit, int64_t pid, int64_t least) {
    drifts += limit != tick_of(a) + WINDOW;
    overlaps += floor < least || floor > limit || pid < 0 || pid >= PIDS;
}

static void claim(struct app *a, struct seat *s) {
    char start[TEXT];
    int64_t floor, limit, pid;
    snprintf(start, sizeof start, "%u", below(PIDS));
    new_text(s->base, "m:0:");
    new_text(s->nonce, "n");
    s->next[0] = '\0';
    const char *answer = app_say(a, "claim", start, s->nonce, s->base, NULL);
    if (sscanf(answer, "OK %" SCNd64 " %" SCNd64 " %" SCNd64, &floor, &limit, &pid) == 3) {
        judge(a, floor, limit, pid, pid >= 0 && pid < PIDS ? used[pid] : 0);
        s->pid = pid;
        s->limit = used[pid] = limit;
        grants++;
    } else if (strncmp(answer, "RETRY ", 6) == 0) {
        retries++;
    } else if (nonsense++ == 0) {
        diag("claim: %s", answer);
    }
}

static void renew(struct app *a, struct seat *s, bool lost) {
    char pid[TEXT], at[TEXT];
    int64_t floor, limit, same;
    snprintf(pid, sizeof pid, "%" PRId64, s->pid);
    snprintf(at, sizeof at, "%" PRId64, s->limit);
    if (s->next[0] == '\0')
        new_text(s->next, "n");
    const char *answer = app_say(a, "renew", pid, s->nonce, s->base, s->next, at, NULL);
    if (lost)
        return;
    if (sscanf(answer, "OK %" SCNd64 " %" SCNd64 " %" SCNd64, &floor, &limit, &same) >= 2) {
        judge(a, floor, limit, s->pid, s->limit);
        memcpy(s->nonce, s->next, sizeof s->nonce);
        s->next[0] = '\0';
        s->limit = used[s->pid] = limit;
        renewals++;
    } else if (strncmp(answer, "LOST", 4) == 0 || strncmp(answer, "GONE", 4) == 0) {
        s->pid = -1;
        losses++;
    } else if (nonsense++ == 0) {
        diag("renew: %s", answer);
    }
}

static void release(struct app *a, struct seat *s) {
    char pid[TEXT], at[TEXT], position[TEXT];
    const int64_t from = s->limit - WINDOW, here = from + below(WINDOW);
    snprintf(pid, sizeof pid, "%" PRId64, s->pid);
    snprintf(at, sizeof at, "%" PRId64, s->limit);
    snprintf(position, sizeof position, "%" PRId64, here);
    if (strcmp(app_say(a, "release", pid, s->nonce, s->base, s->next, position, at, NULL), "OK") ==
        0)
        used[s->pid] = here;
    s->pid = -1;
}

static void attend(struct app *a, struct seat *s) {
    const unsigned chance = below(100);
    if (s->asleep > 0)
        s->asleep--;
    else if (s->pid < 0)
        claim(a, s);
    else if (chance < 2) /* it has ended, and told nobody */
        s->pid = -1;
    else if (chance < 5)
        release(a, s);
    else if (chance < 7)
        s->asleep = below(6);
    else
        renew(a, s, chance < 10);
}

static int64_t memory(struct redis *r, const char *key) {
    return redis_do(r, "MEMORY", "USAGE", key, "SAMPLES", "0", NULL);
}

static void test(struct redis *r) {
    struct app a = app_new(r);
    const unsigned days = getenv("SFID_TEST_LONG") ? 7 : 2;
    int64_t first_day = 0, most = 0, fields = 0;
    a.window = WINDOW * 1000, a.slack = 15000, a.pid_max = PIDS - 1;
    rng = 20261126;
    grants = renewals = losses = retries = drifts = overlaps = nonsense = 0;
    memset(used, 0, sizeof used);
    for (unsigned i = 0; i < PIDS; i++)
        seats[i] = (struct seat){.pid = -1};
    need(strcmp(app_say(&a, "init", "", NULL), "OK") == 0, "init: %s", a.said);
    for (unsigned k = 1; k <= days * A_DAY; k++) {
        app_at(&a, T0 + (int64_t)k * STEP, below(1000));
        for (unsigned i = 0; i < PIDS; i++)
            attend(&a, &seats[i]);
        const int64_t now = memory(r, a.key), n = redis_do(r, "HLEN", a.key, NULL);
        fields = n > fields ? n : fields;
        if (k < A_DAY)
            first_day = now > first_day ? now : first_day;
        most = now > most ? now : most;
        if (k % A_DAY == 0)
            redis_do(r, "FLUSHALL", NULL);
    }
    diag("figure: %u days: %" PRIu64 " grants, %" PRIu64 " renewals, %" PRIu64
         " lost leases, %" PRIu64 " claims put off; %" PRId64 " bytes at most, %" PRId64
         " on the first day",
         days, grants, renewals, losses, retries, most, first_day);
    ok(grants > 0 && renewals > grants && losses > 0 && retries > 0,
       "leases are granted, renewed and lost");
    is_u64(nonsense, 0, "nothing else is said");
    is_u64(overlaps, 0, "no window begins in what somebody may have used");
    is_u64(drifts, 0, "each ends ttl_ms from now");
    ok(most <= first_day + first_day / 50, "the app takes no more memory than on its first day");
    ok(fields <= PIDS + 10, "and has a field a pid, and those of its own (%" PRId64 ")", fields);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
