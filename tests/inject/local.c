/* SPDX-License-Identifier: MIT */
/*
 * Each call of the library that can fail fails in turn, in opens, renewals, closes and forks, with
 * pids of this host: see support/trial.h.
 *
 * Sizes: every third call of a kind (sanitizer: ninth), once with its first error. $SFID_TEST_EACH:
 * each call. Long: each with each of its errors, also with all calls of the kind after it.
 */
#include "draw/page.h"
#include "support/trial.h"

#define TWO "local?pid_min=5&pid_max=6"

/* With the works of the short form. */
static const struct {
    struct scenario s;
    unsigned works; /* a bit each */
} all[] = {
    {{.name = "first local", .store = TWO, .pid = -1, .cold = true}, 1 << TRIAL_OPEN},
    {{.name = "fixed", .pid = 7, .alone = true},
     1 << TRIAL_OPEN | 1 << TRIAL_CLOSE | 1 << TRIAL_RENEW},
    {{.name = "share", .store = TWO, .pid = -1, .share = 1}, 1 << TRIAL_OPEN | 1 << TRIAL_CLOSE},
    {{.name = "joined share", .store = TWO, .pid = -1, .share = 1, .joins = true},
     1 << TRIAL_OPEN | 1 << TRIAL_CLOSE},
    {{.name = "local after a kill", .store = TWO, .pid = -1, .resumes = true}, 1 << TRIAL_OPEN},
    {{.name = "local at the end of a page", .store = TWO, .pid = -1, .lives = SFID__FEW_RECORDS},
     1 << TRIAL_OPEN},
    {{.name = "local with events", .store = TWO, .pid = -1, .events = true},
     1 << TRIAL_RENEW | 1 << TRIAL_FORK},
};
enum {
    WORKS = TRIAL_FORK + 1,
};

int main(void) {
    const bool is_long = getenv("SFID_TEST_LONG") != NULL;
    dirs_make();
    trials_begin();
    for (size_t i = 0; i < COUNT(all); i++) {
        struct scenario s = all[i].s;
        s.renews_ms = 25000; /* more than half of the mark's lead */
        for (unsigned work = 0; work < WORKS; work++)
            if ((is_long && !s.cold) || all[i].works & 1U << work)
                trials(&s, work);
    }
    trials_end();
    return done_testing();
}
