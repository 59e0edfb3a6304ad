/* SPDX-License-Identifier: MIT */
/*
 * outages.c - how long holders go on whose server is away, and how soon they are back: a table, by
 * how far their clocks are ahead of the server's, by how it is away, and by when that begins.
 * Beside each figure stands what is promised.
 *
 * A round is one way and one beginning, for a host of each offset. The server is away until every
 * window has ended. With a longer gap than a round (--gap) nobody draws before it is away: a
 * promise does not depend on who calls.
 */
#include "kinds.h"

#define GAP SECOND /* between two IDs of one that is at work */
/* by then each has renewed often enough, and the longest window has ended */
#define ROUND (1450 * SECOND)
#define AFTER (700 * SECOND) /* longer than W + S */
#define PAUSE (10 * SECOND)  /* RETRY_LONGEST_MS of src/lease/store_redis.c */
#define LATE_BY (3 * SECOND) /* an answer that nobody waits for any more */
enum { OFFSETS = 8, RENEWED = 2 };

/* seconds, where the window has the default 600 */
static const int64_t offsets[OFFSETS] = {-240, -60, 0, 5, 12, 30, 120, 240};
enum way { REFUSED, SILENT, SLOW, EMPTY, WAYS };
enum beginning { OPENED, BEFORE_FIRST, AFTER_ONE, BEFORE_ONE, BEGINNINGS };
static const char *const ways[] = {"refused", "silent", "slow", "empty"};
static const char *const beginnings[] = {"just opened", "before the first renewal",
                                         "after a renewal", "before a renewal"};

static enum way way;
static enum beginning beginning;
static int64_t back_at;
static unsigned missed;
static struct cell {
    unsigned renewals;
    /* the last ID before a call fails, the first behind that; 0: not yet */
    int64_t away_at, last, first;
    bool failed;
} cell[OFFSETS];

/* A server takes no clock that is off by more than half of a window. */
static int64_t offset_of(int h) { return offsets[h] * (terms.window / 600); }

/* ---- what is promised ------------------------------------------------------------ */

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* W - d - max(H/8, min(H, H - d)) */
static int64_t outlasts(int64_t window, int64_t heartbeat, int64_t ahead) {
    return window - ahead - most(heartbeat / 8, least(heartbeat, heartbeat - ahead));
}

/* Who finds its first window over by its own clock renews before it opens. */
static bool is_brief(int64_t ahead) {
    return terms.brief && (beginning == OPENED || beginning == BEFORE_FIRST) && ahead < terms.brief;
}

/* A clock that is so far ahead gets no short pid. */
static int64_t too_far(int64_t brief) { return brief / 2; }

static int64_t waits_as_newcomer(int64_t ahead) {
    return (terms.brief == 0 || ahead > too_far(terms.brief) ? terms.window : terms.brief) +
           terms.skew;
}

void outages_bounds(void) {
    const int64_t h = terms.heartbeat, whole = outlasts(terms.window, h, 0);
    bound_print("short", waits_as_newcomer(0));
    bound_print("too-far-of-w", too_far(SECOND));
    bound_print("a-window-outlasts", whole);
    bound_print("short-outlasts", outlasts(terms.brief, terms.brief / 3, 0));
    bound_print("free-of-h",
                SECOND - (whole - outlasts(terms.window, h, h)) / MS * SECOND / (h / MS));
}

static int64_t promised_last(int64_t ahead) {
    return is_brief(ahead) ? outlasts(terms.brief, terms.brief / 3, ahead)
                           : outlasts(terms.window, terms.heartbeat, ahead);
}

/* A tick because q is rounded up, and one because nothing is granted in it. */
static int64_t promised_first(int64_t ahead) {
    return PAUSE + 2 * terms.deadline + (way == EMPTY ? waits_as_newcomer(ahead) + 2 * SECOND : 0);
}

/* ---- how it is away ---------------------------------------------------------------- */

static void begins(int h) {
    if (cell[h].away_at)
        return;
    cell[h].away_at = now_ns;
    note("host %d is without its server", h);
    if (way == SILENT)
        host[h].cut_till = back_at;
    else if (way == SLOW)
        host[h].answers_late_till = back_at;
    else
        host[h].refused_till = back_at;
}

static unsigned renews_first(int h) {
    if (beginning == BEFORE_FIRST)
        return is_brief(offset_of(h)) ? 0 : 1;
    return RENEWED;
}

static void begins_now(void *arg) { begins((int)((struct cell *)arg - cell)); }

/* What was on its way when a host is cut off arrives when that is over. */
bool outage_holds(int h, const char *bytes, size_t n) {
    if (back_at == 0 || n == 0)
        return false;
    if (memmem(bytes, n, "\r\nrenew\r\n", 9) && !cell[h].away_at) {
        const unsigned times = ++cell[h].renewals;
        if (beginning == AFTER_ONE && times == RENEWED)
            at_time(now_ns + 10 * MS, begins_now, &cell[h]);
        else if ((beginning == BEFORE_FIRST || beginning == BEFORE_ONE) && times > renews_first(h))
            begins(h);
    }
    return host[h].cut_till > now_ns;
}

int64_t outage_delays(int h) { return now_ns < host[h].answers_late_till ? LATE_BY : 0; }

static void comes_back(void *arg) {
    if (way == EMPTY) {
        cause_begins(CAUSE_FORGOT, EVERYWHERE, now_ns);
        server_change(0, SERVER_FORGETS);
    }
    (void)arg;
}

/* ---- those that hold ----------------------------------------------------------------- */

static void draws(struct cell *c, sfid *g, struct seen *seen) {
    const int64_t id = lib.try_next(g);
    if (id >= 0)
        check_id(seen, id);
    c->failed |= id < 0 && c->away_at;
    if (id >= 0 && !c->failed)
        c->last = now_ns;
    else if (id >= 0 && c->first == 0)
        c->first = now_ns;
}

static void *hold(void *arg) {
    struct cell *c = &cell[me->process->host];
    struct seen seen = {.got_at = now_ns, .opened_at = now_ns};
    sfid *g;
    while ((g = kind_open(now_ns)) == NULL) /* that has its cause, or was blamed */
        nap(SECOND);
    if (beginning == OPENED)
        begins(me->process->host);
    for (int64_t drawn = now_ns;; nap(GAP))
        if (c->away_at || now_ns >= drawn + settings.gap_ns) {
            drawn = now_ns;
            draws(c, g, &seen);
        }
    return arg;
}

static int64_t known_at;

/* One that makes the app known: behind it everybody gets an ordinary pid. */
static void *know(void *arg) {
    while (kind_open(now_ns) == NULL)
        nap(SECOND);
    known_at = known_at ? known_at : now_ns;
    me->process->exits = true;
    wait_on(0, FOREVER);
    return arg;
}

/* ---- rounds --------------------------------------------------------------------------- */

static void nothing(void *arg) { (void)arg; }

static void pass(int64_t till) {
    at_time(till, nothing, NULL);
    turns_run(till);
}

static void rest_of(void) {
    for (unsigned h = 0; h < hosts; h++) {
        kill_all(&host[h]);
        host_boot(&host[h], false);
    }
    back_at = 0;
    process_start(OFFSETS, know, NULL, now_ns);
    pass(now_ns + AFTER);
}

/* The table goes on. */
static void misses(const char *what, int h) {
    missed++;
    excuse("%s: %s, %s, %+" PRId64 " s", what, ways[way], beginnings[beginning],
           offset_of(h) / SECOND);
}

static void says(int h) {
    const struct cell *c = &cell[h];
    const int64_t ahead = offset_of(h), last = c->last - c->away_at, first = c->first - back_at;
    const int64_t least_last = promised_last(ahead), most_first = promised_first(ahead);
    printf(
        "%-7s %-24s %+5" PRId64
        " s: the last ID %5.1f s after it is away, promised %5.1f; the first %5.1f s after it is back, "
        "promised %5.1f\n",
        ways[way], beginnings[beginning], offset_of(h) / SECOND, (double)last / 1e9,
        (double)least_last / 1e9, (double)first / 1e9, (double)most_first / 1e9);
    /* A limit lies up to a tick below the window, and IDs are drawn with pauses. */
    if (!c->failed || last + SECOND + 2 * GAP < least_last)
        misses("TOO SHORT", h);
    if (c->first == 0 || first > most_first)
        misses("TOO LATE", h);
}

static void play(void) {
    memset(cell, 0, sizeof cell);
    back_at = now_ns + ROUND;
    at_time(back_at, comes_back, NULL);
    for (int h = 0; h < OFFSETS; h++)
        process_start(h, hold, NULL, now_ns + h * SECOND);
    pass(back_at + AFTER);
    for (int h = 0; h < OFFSETS; h++)
        says(h);
    rest_of();
}

bool world_is_table(void) { return strcmp(settings.world, "outages") == 0; }

void outages_table(void) {
    if (settings.pids < 8 * OFFSETS) /* one of eight is short, and each may want one */
        settings.pids = 8 * OFFSETS;
    kinds_begin();
    wire_good_till = FOREVER; /* but for what is done here */
    if (has_kind("mixed")) {
        terms.brief = 0; /* there is no short pid then */
        /* By a clock that is behind the server's by more than S they repeat IDs: doc/protocol.md,
         * "With the Rust crate". */
        crates_go_to(OFFSETS);
    }
    hosts = OFFSETS + 1;
    for (unsigned h = 0; h < hosts; h++) {
        host[h].drift_ppm = 0;
        host[h].offset_ns = h < OFFSETS ? offset_of((int)h) : 0;
        host_boot(&host[h], false);
    }
    cause_begins(CAUSE_NEW, EVERYWHERE, now_ns);
    const int64_t began = now_ns,
                  most_first = PAUSE + 2 * terms.deadline + waits_as_newcomer(0) + 2 * SECOND;
    rest_of();
    printf("a new app: the first pid after %.1f s, promised %.1f\n",
           (double)(known_at - began) / 1e9, (double)most_first / 1e9);
    if (known_at == 0 || known_at - began > most_first) {
        missed++;
        excuse("TOO LATE: a new app");
    }
    for (way = 0; way < WAYS; way++)
        for (beginning = way == EMPTY ? BEFORE_ONE : OPENED; beginning < BEGINNINGS && !blamed;
             beginning++)
            play();
    if (missed)
        blame("MISSED: %u", missed);
}
