/* SPDX-License-Identifier: MIT */
/* lease.c - the lease machine: what each event does in each situation. */
#include "support/leases.h"

/* ---- the table ------------------------------------------------------------- */

enum situation {
    NEW,
    CLAIMING,
    PAUSING,
    ADOPTING,
    HELD,
    RENEWING,
    RETRYING,
    REPLACING,
    READOPTING,
    RELEASING,
    ENDED,
    GAVE_UP,
    MOVING,
    SWITCHING,
    UNFIT,
    SHOWING,
    SITUATIONS
};

static const char *const situations[] = {"new",        "claiming",  "pausing",  "adopting",
                                         "held",       "renewing",  "retrying", "replacing",
                                         "readopting", "releasing", "ended",    "given up",
                                         "moving",     "switching", "unfit",    "showing"};

static void put_into(enum situation situation) {
    if (situation == NEW || situation == CLAIMING || situation == PAUSING || situation == GAVE_UP ||
        situation == ADOPTING)
        begin(&usual);
    else if (situation == SHOWING)
        begin_held(&usual);
    else if (situation == MOVING || situation == SWITCHING || situation == UNFIT)
        begin_first(SHORT_PID);
    else
        begin_held(&usual);
    if (situation == CLAIMING || situation == PAUSING || situation == ADOPTING ||
        situation == GAVE_UP)
        open_lease();
    if (situation == PAUSING)
        answer(SFID__FAILED);
    if (situation == GAVE_UP)
        answer(SFID__REFUSED);
    if (situation == RENEWING || situation == RETRYING || situation == REPLACING ||
        situation == READOPTING || (situation >= MOVING && situation <= UNFIT))
        wake_when_due();
    if (situation == SWITCHING || situation == UNFIT)
        switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW);
    if (situation == UNFIT)
        unfit();
    if (situation == RETRYING)
        answer(SFID__FAILED);
    if (situation == REPLACING || situation == READOPTING)
        answer(SFID__LOST);
    if (situation == ADOPTING || situation == READOPTING)
        grant(4, TICK, TICK + WINDOW);
    if (situation == RELEASING || situation == ENDED || situation == SHOWING)
        close_lease();
    if (situation == SHOWING)
        answer(SFID__LOST);
    if (situation == ENDED)
        answer(SFID__GRANTED);
}

/* Columns: open, resume, wake too early, wake in time; granted, later, switched, lost, foreign,
 * failed, refused; adopted, adopted but not sure, unfit; close. NULL: no caller does that, such as
 * to hand on an answer where nothing was asked, or to wake it between a question and its answer, or
 * between a grant and what came of the record for it. */
enum { COLUMNS = 15 };
#define NO_ANSWER NULL, NULL, NULL, NULL, NULL, NULL, NULL
#define NO_RECORD NULL, NULL, NULL
static const char *const table[SITUATIONS][COLUMNS] = {
    [NEW] = {"w C", "h NR", "w S", "w S", NO_ANSWER, NO_RECORD, "e S"},
    [CLAIMING] = {"w C", "h NR", NULL, NULL, "w A", "w S", "w FS", "w FS", "w FS", "w FS", "w G",
                  NO_RECORD, "e S"},
    [PAUSING] = {"w C", "h NR", "w S", "w C", NO_ANSWER, NO_RECORD, "e S"},
    [ADOPTING] = {"w C", "h NR", NULL, NULL, NO_ANSWER, "h LS", "h NR", "w G", "e S"},
    [HELD] = {"w C", "h NR", "h S", "h NR", NO_ANSWER, NO_RECORD, "e V"},
    [RENEWING] = {"w C", "h NR", NULL, NULL, "h ENWS", "h FS", "h FS", "w XC", "w ZXC", "h FS",
                  "h FS", NO_RECORD, "e V"},
    [RETRYING] = {"w C", "h NR", "h S", "h NR", NO_ANSWER, NO_RECORD, "e S"},
    [REPLACING] = {"w C", "h NR", NULL, NULL, "w A", "w S", "w FS", "w FS", "w FS", "w FS", "w FS",
                   NO_RECORD, "e S"},
    [READOPTING] = {"w C", "h NR", NULL, NULL, NO_ANSWER, "h MS", "h NR", "w FS", "e S"},
    [RELEASING] = {"e S", "e S", "e S", "e S", "e S", "e S", "e S", "e NR", "e S", "e S", "e S",
                   "e S", "e S", "e S", "e S"},
    [ENDED] = {"e S", "e S", "e S", "e S", NO_ANSWER, "e S", "e S", "e S", "e S"},
    [GAVE_UP] = {"w C", "h NR", "w S", "w S", NO_ANSWER, NO_RECORD, "e S"},
    [MOVING] = {"w C", "h NR", NULL, NULL, "h ENWS", "h FS", "w A", "w XC", "w ZXC", "h FS", "h FS",
                NO_RECORD, "e V"},
    [SWITCHING] = {"w C", "h NR", NULL, NULL, NO_ANSWER, "h MS", "h NR", "w FS", "e S"},
    [UNFIT] = {"w C", "h NR", "w S", "w C", NO_ANSWER, NO_RECORD, "e S"},
    [SHOWING] = {"e S", "e S", "e S", "e S", "e NV", "e S", "e S", "e S", "e S", "e S", "e S",
                 "e S", "e S", "e S", "e S"},
};

static const char *do_column(unsigned column) {
    switch (column) {
    case 0:
        return open_lease();
    case 1:
        return resume(TICK + WINDOW, 0);
    case 2:
        return wake(true);
    case 3:
        now = l.due_ms == SFID__FOREVER ? now + 1000 * HEARTBEAT : l.due_ms;
        return wake(false);
    case 4:
        return grant(4, TICK, TICK + 2 * WINDOW - (l.state == SFID__LEASE_WANTED ? WINDOW : 0));
    case 6:
        return switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW);
    case 11:
        return adopted(TICK + WINDOW, true);
    case 12:
        return adopted(TICK + WINDOW, false);
    case 13:
        return unfit();
    case 14:
        return close_lease();
    default:
        return answer((enum sfid__lease_answer)(column - 4));
    }
}

static void the_table(void) {
    static const char *const columns[COLUMNS] = {
        "open",    "resume", "early wake", "wake",    "granted",     "later", "switched", "lost",
        "foreign", "failed", "refused",    "adopted", "not so sure", "unfit", "close"};
    for (unsigned s = 0; s < SITUATIONS; s++)
        for (unsigned c = 0; c < COLUMNS; c++) {
            if (table[s][c] == NULL)
                continue;
            put_into((enum situation)s);
            is_str(do_column(c), table[s][c], "%s: %s", situations[s], columns[c]);
        }
}

int main(void) {
    the_table();
    return done_testing();
}
