/* SPDX-License-Identifier: MIT */
#include "id/wide_plan.h"

#include "id/layout.h"

/* Widths of the engine. Flake's tick loses 17 bits for which a word has no room: it ends in the year 6429. */
static const struct kind {
    unsigned time_bits, pid_bits, seq_bits;
    bool by_host;
    const char *prefix;
} kinds[] = {
    [SFID_FLAKE] = {47, 4, 12, true, "flake"},
    [SFID_AWSFLAKE] = {41, 3, 12, true, "awsflake"},
    [SFID_UUID7] = {48, 16, 14, false, NULL},
    [SFID_FLAKE_GO] = {47, 4, 12, true, "flake-go"},
};

int sfid__wide_plan(const sfid_wide_layout *l, struct sfid__wide_plan *plan) {
    sfid_wide_facts facts;
    if (sfid_wide_layout_describe(l, &facts) < 0)
        return SFID_EINVAL;
    const struct kind *k = &kinds[l->kind];
    *plan = (struct sfid__wide_plan){
        .engine = sfid__layout_make(k->time_bits, k->pid_bits, k->seq_bits, 1, l->epoch_ms),
        .by_host = k->by_host,
        .max_pid = facts.max_pid,
        .prefix = k->prefix,
    };
    return 0;
}

const char *sfid__wide_plan_name(const sfid_layout *engine) {
    const struct kind *k = &kinds[SFID_UUID7];
    const bool is = engine->time_bits == k->time_bits && engine->pid_bits == k->pid_bits && engine->seq_bits == k->seq_bits;
    return is ? "uuid7" : NULL;
}
