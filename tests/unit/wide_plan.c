/* SPDX-License-Identifier: MIT */
/*
 * Generators put wide IDs together by shifts and masks of their own: the same that
 * sfid_wide_compose() makes, for the first and the last of each part and for any in between; and
 * for each kind of layout as many positions as its IDs have room for.
 */
#include "id/wide_plan.h"

#include "id/layout.h"
#include "support/tap.h"

enum { EACH = 20000 };

static uint64_t state = 1;

/* splitmix64 */
static uint64_t rnd(void) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The first, the last, or any up to max. */
static uint64_t some(uint64_t max) {
    return rnd() % 4 == 0 ? 0 : rnd() % 4 == 0 ? max : rnd() & max;
}

static bool is_composed(const sfid_wide_layout *l, const struct sfid__wide_plan *plan) {
    const sfid_layout *engine = &plan->engine;
    const uint64_t tick = some(engine->max_tick), pid = some(engine->max_pid),
                   seq = some(engine->max_seq), any = rnd();
    const uint64_t worker = plan->by_host ? some(plan->max_pid) : 0;
    struct sfid__wide_frame frame = plan->frame;
    sfid_wide_parts parts = {
        .tick = tick, .pid = pid, .seq = seq, .random = any & plan->frame.random};
    if (plan->by_host) {
        frame.low |= worker << frame.worker_shift;
        parts.pid = worker;
        parts.seq = pid << engine->seq_bits | seq;
    }
    const sfid_wide put = sfid__wide_put(&frame, tick, pid, seq, any);
    sfid_wide composed;
    return sfid_wide_compose(l, &parts, &composed) == 0 && sfid_wide_compare(put, composed) == 0;
}

static void kind(const char *name) {
    sfid_wide_layout l;
    sfid_wide_facts facts;
    struct sfid__wide_plan plan;
    uint64_t wrong = 0;
    if (sfid_wide_layout_parse(name, &l) < 0 || sfid_wide_layout_describe(&l, &facts) < 0 ||
        sfid__wide_plan(&l, &plan) < 0)
        bail("%s is no wide layout", name);
    for (int i = 0; i < EACH; i++)
        wrong += !is_composed(&l, &plan);
    is_u64(wrong, 0, "%s: put together as sfid_wide_compose() does", name);
    is_u64(plan.frame.random, facts.max_random, "%s: with as many random bits", name);
    if (!plan.by_host)
        is_u64(facts.facts.fingerprint, sfid__layout_fingerprint(&plan.engine),
               "%s: the app notes the layout of its engine", name);
    const uint64_t parts = plan.by_host ? plan.engine.max_pid + 1 : 1;
    ok(parts * (plan.engine.max_seq + 1) == facts.max_seq + 1 &&
           plan.engine.max_tick <= facts.max_tick,
       "%s: the engine has its sequence, and no tick above its own", name);
}

int main(void) {
    for (size_t i = 0; sfid_wide_layout_preset(i); i++)
        kind(sfid_wide_layout_preset(i));
    return done_testing();
}
