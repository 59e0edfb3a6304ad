/* SPDX-License-Identifier: MIT */
#include "support/wide.h"

const struct kind kinds[4] = {
    {"flake", INT64_C(0x02420a000001), NULL, NULL},
    {"awsflake", SFID_AWS_PID(4, 0x0a000102), NULL, NULL},
    {"uuid7", -1, "uuids", "local"},
    {"flake-go", INT64_C(0x3ac18a57ec78), NULL, NULL},
};

sfid_wide_layout wide_layout(const char *name) {
    sfid_wide_layout l;
    must(sfid_wide_layout_parse(name, &l) == 0, "no wide layout: %s", name);
    return l;
}

sfid_options wide_options(const struct kind *k, const sfid_wide_layout *l) {
    sfid_options opt = options_of(k->app, k->pid, NULL);
    opt.store = k->store;
    opt.wide = l;
    return opt;
}

int wide_within(sfid *g, sfid_wide *id, unsigned limit_ms) {
    const int64_t end = mono_ns() + (int64_t)limit_ms * NS_PER_MS;
    for (;;) {
        const int rc = sfid_next_wide(g, id);
        if ((rc != SFID_EAGAIN && rc != SFID_ECLOCK && rc != SFID_ELEASE) || mono_ns() > end)
            return rc;
        nap_us(1000);
    }
}

/* ---- generated IDs ------------------------------------------------------- */

struct drawn *drawn_new(uint64_t room) {
    struct drawn *d = shared_memory(sizeof *d + room * sizeof *d->ids);
    d->room = room;
    return d;
}

bool drawn_add(struct drawn *d, sfid *g) {
    const uint64_t n = atomic_load_explicit(&d->count, memory_order_relaxed);
    const int rc = n < d->room ? wide_within(g, &d->ids[n], TAP_WAIT_MS) : 0;
    if (rc < 0)
        atomic_store(&d->error, rc);
    if (rc < 0 || n == d->room)
        return false;
    atomic_store_explicit(&d->count, n + 1, memory_order_release);
    return true;
}

bool increases(const sfid_wide *ids, uint64_t n) {
    for (uint64_t i = 1; i < n; i++)
        if (sfid_wide_compare(ids[i - 1], ids[i]) >= 0)
            return false;
    return true;
}

static int by_value(const void *a, const void *b) {
    return sfid_wide_compare(*(const sfid_wide *)a, *(const sfid_wide *)b);
}

uint64_t repeated(struct drawn *const *lists, size_t n, const sfid_wide_layout *l) {
    sfid_wide_facts facts;
    uint64_t total = 0, twice = 0;
    must(sfid_wide_layout_describe(l, &facts) >= 0, "no such layout");
    for (size_t i = 0; i < n; i++)
        total += lists[i]->count;
    sfid_wide *all = malloc((total + 1) * sizeof *all);
    must(all != NULL, "out of memory");
    total = 0;
    for (size_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < lists[i]->count; k++, total++)
            all[total] =
                (sfid_wide){lists[i]->ids[k].high, lists[i]->ids[k].low & ~facts.max_random};
    qsort(all, total, sizeof *all, by_value);
    for (uint64_t i = 1; i < total; i++)
        twice += sfid_wide_compare(all[i - 1], all[i]) == 0;
    free(all);
    return twice;
}
