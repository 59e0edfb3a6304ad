/* SPDX-License-Identifier: MIT */
#include "id/wide_plan.h"

#include "id/layout.h"

#define LOW(bits) ((UINT64_C(1) << (bits)) - 1)
#define NOTHING 63 /* a shift of a sequence that leaves nothing of it */

/* Widths of the engine. Flake's tick loses 17 bits for which a word has no room: it ends in the
 * year 6429. */
static const struct kind {
    unsigned time_bits, pid_bits, seq_bits;
    bool by_host;
    const char *prefix;
    struct sfid__wide_frame frame; /* without what is the same in every ID */
} kinds[] = {
    [SFID_FLAKE] =
        {
            .time_bits = 47,
            .pid_bits = 4,
            .seq_bits = 12,
            .by_host = true,
            .prefix = "flake",
            .frame = {.seq_down = NOTHING, .low_seq = LOW(12), .pid_shift = 12, .worker_shift = 16},
        },
    [SFID_AWSFLAKE] =
        {
            .time_bits = 41,
            .pid_bits = 3,
            .seq_bits = 12,
            .by_host = true,
            .prefix = "awsflake",
            .frame = {.tick_down = 28,
                      .low_tick = LOW(28),
                      .tick_shift = 36,
                      .seq_down = NOTHING,
                      .low_seq = LOW(12),
                      .pid_shift = 12,
                      .worker_shift = 15},
        },
    [SFID_UUID7] =
        {
            .time_bits = 48,
            .pid_bits = 16,
            .seq_bits = 14,
            .frame = {.tick_up = 16,
                      .seq_down = 2,
                      .low_seq = LOW(2),
                      .seq_shift = 60,
                      .pid_shift = 44,
                      .random = LOW(44)},
        },
    [SFID_FLAKE_GO] =
        {
            .time_bits = 47,
            .pid_bits = 4,
            .seq_bits = 12,
            .by_host = true,
            .prefix = "flake-go",
            .frame = {.tick_up = 16,
                      .seq_down = NOTHING,
                      .low_seq = LOW(12),
                      .pid_shift = 12,
                      .worker_shift = 16},
        },
};

int sfid__wide_plan(const sfid_wide_layout *l, struct sfid__wide_plan *plan) {
    static const sfid_wide_parts zero = {.tick = 0};
    sfid_wide_facts facts;
    sfid_wide fixed;
    if (sfid_wide_layout_describe(l, &facts) < 0 || sfid_wide_compose(l, &zero, &fixed) < 0)
        return SFID_EINVAL;
    const struct kind *k = &kinds[l->kind];
    *plan = (struct sfid__wide_plan){
        .engine = sfid__layout_make(k->time_bits, k->pid_bits, k->seq_bits, 1, l->epoch_ms),
        .frame = k->frame,
        .by_host = k->by_host,
        .max_pid = facts.max_pid,
        .prefix = k->prefix,
    };
    plan->frame.high = fixed.high;
    plan->frame.low = fixed.low;
    return 0;
}

const char *sfid__wide_plan_name(const sfid_layout *engine) {
    const struct kind *k = &kinds[SFID_UUID7];
    const bool is = engine->time_bits == k->time_bits && engine->pid_bits == k->pid_bits &&
                    engine->seq_bits == k->seq_bits;
    return is ? "uuid7" : NULL;
}
