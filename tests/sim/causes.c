/* SPDX-License-Identifier: MIT */
/*
 * causes.c - what may cost an ID or a lease, and for how long.
 *
 * The table is that of doc/safety.md, section "What happens when": `row` is the event as it stands
 * there, and tests/sh/sim.test looks for it. Once the longest wait of the row is over, a call that
 * gets no ID has no cause. Two rows meet where a host is away while the servers forget: its holders
 * wait as newcomers do.
 *
 * One row has no time of its own, "a lease goes on under another identity of the host". A process
 * that opens while the state directory fails has an identity from the run directory. One with the
 * other identity may go on with its lease, in a slot or in a shared page, at once or long after.
 * The server knows the token, but not under that name. So a loss that shows the token of the lease
 * under another name has its cause in a disk that failed at any time before.
 *
 * A server that has forgotten, or has taken over, begins its era when somebody asks it first.
 * Nobody may be able to for a while. So the waits of those rows are counted from its first answer,
 * too.
 */
#include "sim.h"

#define LONGEST_PAUSE (10 * SECOND) /* RETRY_LONGEST_MS of src/lease/store_redis.c */
#define LEAD_OF_MARK (30 * SECOND)  /* lead_ms */
#define TO_COME_BACK (3 * SECOND)   /* of a short window, behind its heartbeat and S */

/* What was under way when it ended may fail, and the next try comes after a pause. */
static int64_t slack_ns(void) { return terms.deadline * 2 + LONGEST_PAUSE; }

enum wait { NO_WAIT, ONE_EXCHANGE, LEAD, LAST_USE, WINDOW_AND_SKEW };
struct terms terms;

static const struct {
    const char *name, *row;
    enum wait holders, newcomers;
    bool loses; /* a lease whose window is open */
} table[CAUSES] = {
    [CAUSE_KILL] = {"kills", "a process is killed, its page is there", NO_WAIT, NO_WAIT, false},
    [CAUSE_END] = {"ends", "a holder closes, and the same slot opens again", NO_WAIT, NO_WAIT,
                   false},
    [CAUSE_POWER] = {"power losses", "power loss; or a kill, and the page is lost", LEAD, LEAD,
                     false},
    [CAUSE_RUN_GONE] = {"run directories lost", "the run directory is removed", NO_WAIT, NO_WAIT,
                        false},
    [CAUSE_DISK] = {"disks full, bad or slow",
                    "the state directory is full, read-only, or its disk hangs", ONE_EXCHANGE,
                    ONE_EXCHANGE, false},
    [CAUSE_STOPPED] = {"stops", "stopped, frozen or suspended past the window", ONE_EXCHANGE,
                       ONE_EXCHANGE, false},
    [CAUSE_LATE_KEEPERS] =
        {"pairs of stops",
         "two processes that share a page are stopped past the window, each between an answer and the page",
         NO_WAIT, NO_WAIT, true},
    [CAUSE_COPY] = {"copies", "the machine is a copy, and shows it; or it was suspended", LEAD,
                    LEAD, true},
    [CAUSE_CLOCK] = {"clock steps", "the host's clock is set back", NO_WAIT, NO_WAIT, false},
    [CAUSE_AWAY] = {"cuts", "Redis cannot be reached for a while, and is not restarted",
                    ONE_EXCHANGE, ONE_EXCHANGE, false},
    [CAUSE_NEW] = {"new apps", "a new app, no `init`", NO_WAIT, WINDOW_AND_SKEW, false},
    [CAUSE_NUMBERS_MOVED] = {"numbers moved", "`ordinal:` finds no mark here", LAST_USE, NO_WAIT,
                             false},
    [CAUSE_FOREIGN] = {"foreign registrations", "a foreign registration", ONE_EXCHANGE,
                       ONE_EXCHANGE, false},
    [CAUSE_FORGOT] = {"times forgotten", "FLUSHALL, DEL, the hash evicted", NO_WAIT,
                      WINDOW_AND_SKEW, true},
    [CAUSE_FAILS_OVER] =
        {"restarts and failovers",
         "a restart, with whatever data; a failover or fail-back, whatever was lost", NO_WAIT,
         WINDOW_AND_SKEW, true},
    [CAUSE_SLOT_MOVES] = {"moves and epochs",
                          "a cluster moves the slot, or raises the config epoch of its node",
                          NO_WAIT, WINDOW_AND_SKEW, true},
};

/* Do newcomers wait for what was lost? */
static bool server_begins_anew(enum cause c) { return table[c].loses && c != CAUSE_LATE_KEEPERS; }

static uint64_t times[CAUSES];
static int64_t outrun_till;
static int64_t holders_till[HOSTS], newcomers_till[HOSTS], losses_till[HOSTS], away_till[HOSTS],
    behind_till[HOSTS];
static int64_t spoilt_till[HOSTS], unmarked_till[HOSTS];
static int64_t befell_till[HOSTS], waits_till[HOSTS], forgot_at, forgot_till;
static int64_t disk_till[HOSTS];
static bool disk_failed[HOSTS], is_unasked[SERVERS];

static int64_t wait_ns(enum wait w) {
    switch (w) {
    case ONE_EXCHANGE:
        return terms.deadline;
    case LEAD:
        return LEAD_OF_MARK;
    case LAST_USE: /* the first one may be max_ahead_ms ahead of the clock again */
        return LEAD_OF_MARK + terms.skew + SECOND;
    case WINDOW_AND_SKEW:
        return terms.window + terms.skew;
    default:
        return 0;
    }
}

static void raise(int64_t *till, int64_t to) { *till = to > *till ? to : *till; }

/* A holder with a short window, which it may have renewed a third of it ago, comes back with a
 * limit that proves its right. What is over as it is noticed has lasted nobody knows how long. */
static bool is_brief(int64_t ns) {
    return ns > 0 && ns < terms.brief - terms.brief / 3 - terms.skew - TO_COME_BACK;
}

static bool is_away(enum cause c) {
    return c == CAUSE_AWAY || c == CAUSE_FOREIGN || c == CAUSE_STOPPED || c == CAUSE_DISK ||
           c == CAUSE_POWER;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* What waits for a time of the host's clock waits longer by what that is set back, before and
 * after. */
static void clock_is_set_back(int h, int64_t ns) {
    holders_till[h] = later(holders_till[h], now_ns) + ns;
    newcomers_till[h] = later(newcomers_till[h], now_ns) + ns;
    behind_till[h] = later(behind_till[h], now_ns) + ns;
}

/* The wait begins as the mark is looked for, which a disk delays, and begins anew where a loss of
 * power took the mark. */
static void looks_for_mark(bool moved, int h, int64_t at) {
    if (!moved && now_ns > unmarked_till[h])
        return;
    raise(&holders_till[h], at + wait_ns(LAST_USE));
    raise(&unmarked_till[h], at + wait_ns(LAST_USE) + slack_ns());
}

static void begins_on(enum cause c, int h, int64_t till) {
    raise(&befell_till[h], till);
    const int64_t both = terms.window + terms.skew + slack_ns();
    if (c == CAUSE_CLOCK)
        clock_is_set_back(h, till - now_ns);
    raise(&holders_till[h], (table[c].holders == LEAD ? later(till, behind_till[h]) : till) +
                                wait_ns(table[c].holders));
    raise(&newcomers_till[h], (table[c].newcomers == LEAD ? later(till, behind_till[h]) : till) +
                                  wait_ns(table[c].newcomers));
    if (table[c].loses)
        raise(&losses_till[h], till + both);
    if (c == CAUSE_DISK) {
        disk_failed[h] = true;
        raise(&disk_till[h], till);
    }
    if (c == CAUSE_NUMBERS_MOVED || c == CAUSE_DISK || c == CAUSE_POWER)
        looks_for_mark(c == CAUSE_NUMBERS_MOVED, h, later(till, disk_till[h]));
    const bool away = c == CAUSE_POWER || (is_away(c) && !is_brief(till - now_ns));
    if (away)
        raise(&away_till[h], till);
    /* Who waits as a newcomer does waits again if the servers forget again. */
    if ((away && forgot_till > now_ns) ||
        (server_begins_anew(c) &&
         (away_till[h] + terms.window > now_ns || waits_till[h] > now_ns))) {
        raise(&holders_till[h], till + both);
        raise(&waits_till[h], till + both);
    }
}

void cause_begins(enum cause c, int where, int64_t till) {
    times[c]++;
    if (where < 0)
        note("all: %s until %.3f", table[c].name, (double)till / 1e9);
    else
        note("host %d: %s until %.3f", where, table[c].name, (double)till / 1e9);
    for (int h = 0; h < (int)hosts; h++)
        if (where == EVERYWHERE || h == where)
            begins_on(c, h, till);
    if (server_begins_anew(c) || c == CAUSE_NEW)
        raise(&forgot_till, till + terms.window + terms.skew);
    if (!server_begins_anew(c))
        return;
    raise(&forgot_at, till);
    for (int i = 0; i < SERVERS && c != CAUSE_COPY; i++)
        is_unasked[i] = true;
}

/* A short window has this much left at its renewal, behind S. If the clock of the server that takes
 * over is further ahead, it proves nothing. */
static void look_at_clock(unsigned which) {
    static int64_t before[SERVERS];
    int64_t least = before[which];
    for (unsigned i = 0; i < servers; i++)
        least = before[i] < least ? before[i] : least;
    before[which] = server[which].offset_ns;
    if (before[which] - least > terms.brief - terms.brief / 3 - terms.skew - TO_COME_BACK)
        raise(&outrun_till, now_ns + terms.window + terms.skew);
}

bool short_window_is_outrun(void) { return now_ns <= outrun_till; }

void server_is_asked(unsigned which) {
    if (!is_unasked[which])
        return;
    is_unasked[which] = false;
    look_at_clock(which);
    note("server %u is asked for the first time since it forgot or took over", which);
    for (int h = 0; h < (int)hosts; h++)
        begins_on(CAUSE_FORGOT, h, now_ns);
    raise(&forgot_at, now_ns);
    raise(&forgot_till, now_ns + terms.window + terms.skew);
}

void causes_copied(int from, int to) {
    raise(&holders_till[to], holders_till[from]);
    raise(&newcomers_till[to], newcomers_till[from]);
    raise(&losses_till[to], losses_till[from]);
    raise(&waits_till[to], waits_till[from]);
    raise(&away_till[to], away_till[from]);
    raise(&behind_till[to], behind_till[from]);
    disk_failed[to] |= disk_failed[from];
}

/* What stopped one process alone is the cause of its own waits: steps.c. */
static bool was_stopped(void) {
    return me && me->process->stopped_till && now_ns <= me->process->stopped_till + slack_ns();
}

bool holder_is_excused(int where) {
    return was_stopped() || now_ns <= holders_till[where] + slack_ns();
}

bool newcomer_is_excused(int where) {
    return was_stopped() ||
           now_ns <= (newcomers_till[where] > holders_till[where] ? newcomers_till[where]
                                                                  : holders_till[where]) +
                         slack_ns();
}

bool forgot_soon_after(int64_t opened_at) {
    return forgot_at <= opened_at + 2 * terms.deadline && forgot_at >= opened_at - terms.deadline;
}
/* It went on from a slot, the window of which may have been nearly over, and its first renewal was
 * spoilt. */
bool spoilt_soon_after(int where, int64_t opened_at) {
    return spoilt_till[where] >= opened_at - terms.deadline && now_ns <= opened_at + slack_ns();
}
bool servers_forgot(void) { return now_ns <= forgot_till; }

bool loss_is_excused(int where, bool renamed) {
    return now_ns <= losses_till[where] || (renamed && disk_failed[where]);
}

/* Several in a row may be spoilt. Each makes a wait longer that has a cause, and is none for
 * another wait: a window outlasts it. */
void cause_spoilt_try(int where, int64_t till) {
    raise(&befell_till[where], till);
    raise(&spoilt_till[where], till);
    if (newcomer_is_excused(where))
        raise(&newcomers_till[where], till);
    if (holder_is_excused(where))
        raise(&holders_till[where], till);
}

void cause_short_cut(int where, int64_t till) { raise(&spoilt_till[where], till); }

bool host_is_at_peace(int where) {
    return now_ns > befell_till[where] + terms.window + terms.skew + slack_ns();
}

void causes_bounds(void) {
    bound_print("lead", wait_ns(LEAD));
    bound_print("last-use", wait_ns(LAST_USE));
    bound_print("window", wait_ns(WINDOW_AND_SKEW));
    bound_print("ahead", terms.ahead);
    bound_print("to-come-back", TO_COME_BACK);
}

void causes_report(void) {
    const char *between = "";
    for (int c = 0; c < CAUSES; c++)
        if (times[c]) {
            printf("%s%" PRIu64 " %s", between, times[c], table[c].name);
            between = ", ";
        }
    if (*between)
        putchar('\n');
}
