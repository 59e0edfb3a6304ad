/* SPDX-License-Identifier: MIT */
/*
 * Processes that lease from a server where no state directory can be made: they get their pids,
 * their host's identity lives in the run directory, and an event says so. Beside processes of the
 * same host that have a state directory they have other slots and other pids, also where one goes
 * on in the slot that the other was killed in. The local store refuses, and names a way out.
 */
#include "support/fleet.h"

#define LAYOUT "39:4:14/10ms"
#define NOWHERE "/proc/sfid-state" /* where nobody can make anything */

static void look_at_event(const struct member *m, bool wanted) {
    member_event(m, SFID_EVENT_LEASED, 0, TAP_WAIT_MS); /* comes after it */
    const struct seen *e = member_event(m, SFID_EVENT_NO_STATE_DIR, 0, wanted ? TAP_WAIT_MS : 0);
    is_i64(e != NULL, wanted, "%s",
           wanted ? "it is told that there is no state directory"
                  : "nothing is told of a state directory");
    if (e)
        ok(e->code == SFID_ESTATE && e->pid == atomic_load(&m->pid) && strstr(e->text, NOWHERE) &&
               strstr(e->text, "run directory"),
           "%s", e->text);
}

/* The identity of a member, as its pid's record has it. */
static const char *identity_of(struct redis *r, const struct member *m, char line[RECORD]) {
    record_of(r, m->opt.app, atomic_load(&m->pid), line);
    const char *base = strrchr(line, ' ');
    char *token = strrchr(line, ':');
    if (base == NULL || token == NULL)
        return "none";
    *token = '\0';
    return base + 1;
}

static void test_beside(struct redis *r) {
    sfid_options opt = fleet_options(r, "beside", &layout);
    on_host(&opt, 1);
    struct member *all = members_new(2, &opt);
    char line[2][RECORD], path[4400];
    all[0].opt.state_dir = NOWHERE;
    for (int i = 0; i < 2; i++)
        is_i64(member_open_one(&all[i]), 0, "process %d gets a pid (%s)", i, all[i].text);
    for (int i = 0; i < 2; i++)
        ok(member_draws(&all[i], 50, TAP_WAIT_MS), "process %d draws", i);
    look_at_event(&all[0], true);
    look_at_event(&all[1], false);
    snprintf(path, sizeof path, "%s/.state/machine_id", opt.run_dir);
    ok(access(path, R_OK) == 0, "the identity is in the run directory");
    ok(atomic_load(&all[0].pid) != atomic_load(&all[1].pid), "they have different pids");
    const char *of[2] = {identity_of(r, &all[0], line[0]), identity_of(r, &all[1], line[1])};
    ok(strcmp(of[0], of[1]) != 0 && of[0][strlen(of[0]) - 1] == '0' &&
           of[1][strlen(of[1]) - 1] == '1',
       "under different identities, in slots 0 and 1: %s, %s", of[0], of[1]);
    const int64_t pid = atomic_load(&all[0].pid);
    is_i64(member_end(&all[0]), 0, "the first one ends");
    is_i64(member_open_one(&all[0]), 0, "and starts again");
    is_i64(atomic_load(&all[0].pid), pid, "with its pid: the identity is still there");
    for (int i = 0; i < 2; i++)
        is_i64(member_end(&all[i]), 0, "process %d ends", i);
    judge(LAYOUT, "per-file", UINT64_MAX, "side by side");
}

/* One is killed, and the other goes on in its slot under another identity; both ways. */
static void test_in_its_slot(struct redis *r, bool first_has_state) {
    const char *what = first_has_state ? "without a state directory behind one with"
                                       : "with a state directory behind one without";
    sfid_options opt = fleet_options(r, first_has_state ? "with" : "without", &layout);
    on_host(&opt, 2);
    struct member *all = members_new(2, &opt);
    all[first_has_state].opt.state_dir = NOWHERE;
    /* they draw from one page: to the checker that is one lease */
    all[0].by_slot = all[1].by_slot = true;
    is_i64(member_open_one(&all[0]), 0, "%s: the first one opens", what);
    ok(member_draws(&all[0], 50, TAP_WAIT_MS), "%s: draws", what);
    member_kill(&all[0]);
    is_i64(member_open_one(&all[1]), 0, "%s: the second one opens", what);
    ok(atomic_load(&all[1].pid) != atomic_load(&all[0].pid),
       "%s: with another pid, since it has asked first", what);
    ok(member_draws(&all[1], 50, TAP_WAIT_MS), "%s: and draws", what);
    member_is_well(&all[1], what);
    is_i64(member_end(&all[1]), 0, "%s: ends", what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

static void test_local(void) {
    sfid *g = NULL;
    sfid_options opt = local_options("local", "local", &layout);
    opt.state_dir = NOWHERE;
    is_i64(sfid_open(&g, &opt), SFID_ESTATE, "the local store needs a state directory");
    ok(strstr(sfid_last_error(g), NOWHERE) &&
           strstr(sfid_last_error(g), "state_dir or SFID_STATE_DIR"),
       "%s", sfid_last_error(g));
    sfid_close(g);
}

static void test_stateless(struct redis *r) {
    test_beside(r);
    test_in_its_slot(r, true);
    test_in_its_slot(r, false);
}

int main(void) {
    fleet_begin(LAYOUT);
    test_local();
    on_servers(1, 0, test_stateless);
    return done_testing();
}
