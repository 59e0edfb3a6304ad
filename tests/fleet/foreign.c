/* SPDX-License-Identifier: MIT */
/*
 * Beside clients that go by the registrations alone, as the Rust crate sfid does: a pid that such a
 * client has set (SET key value EX 600 NX, the key ending in the pid as two bytes, low byte first)
 * is passed over and its key never touched; and its SET NX finds our key where we hold a pid.
 */
#include "support/fleet.h"

#define APP "beside"
#define LAYOUT "39:9:8/10ms"

enum { IN_VAIN_MS = 1500, TRIES = 3 };

/* What the foreign client does. True when it got the pid. */
static bool foreign_set(struct redis *r, int64_t pid, const char *value) {
    char key[100];
    const size_t size = registration_of(APP, pid, key);
    const char *const args[] = {"SET", key, value, "EX", "600", "NX"};
    const size_t sizes[] = {3, size, strlen(value), 2, 3, 2};
    return strcmp(redis_text_n(r, COUNT_OF(args), args, sizes), "OK") == 0;
}

static bool is_value(struct redis *r, int64_t pid, const char *value) {
    return strcmp(registration_text(r, "GET", APP, pid), value) == 0;
}

static bool is_gone(struct redis *r, int64_t pid) { return is_value(r, pid, "nil"); }

static sfid_options range(struct redis *r, int64_t pid_min, int64_t pid_max) {
    sfid_options opt = fleet_options(r, APP, &layout);
    opt.pid_min = pid_min;
    opt.pid_max = pid_max;
    return opt;
}

/* One pid after the other of a range, each but one foreign: that one is had. Pids on both sides of
 * a byte's end. */
static void test_passed_over(struct redis *r) {
    unsigned wrong = 0, overwritten = 0;
    for (int64_t pid = 253; pid <= 258; pid++)
        if (pid != 256)
            wrong += !foreign_set(r, pid, "rust-host:0");
    const sfid_options opt = range(r, 253, 258);
    struct member *m = members_new(1, &opt);
    is_i64(member_open_one(m), 0, "with five of six pids in foreign hands one is had");
    is_i64(atomic_load(&m->pid), 256, "the sixth");
    ok(member_draws(m, 10, TAP_WAIT_MS), "and drawn from");
    ok(!foreign_set(r, 256, "rust-host:1"), "there the foreign client's SET NX finds our key");
    ok(!is_gone(r, 256) && !is_value(r, 256, "rust-host:1"), "which is not its own");
    ok(member_event(m, SFID_EVENT_RENEWED, 0, TAP_WAIT_MS), "it is renewed");
    ok(!foreign_set(r, 256, "rust-host:1"), "then, too");
    is_i64(member_end(m), 0, "it closes");
    for (int64_t pid = 253; pid <= 258; pid++)
        overwritten += pid != 256 && !is_value(r, pid, "rust-host:0");
    is_u64(wrong + overwritten, 0, "no foreign key was overwritten or removed");
    nap_us((opt.skew_budget_ms + layout.unit_ms) * 1000L + 20000);
    ok(is_gone(r, 256), "skew_budget_ms after its last tick ours is gone");
    ok(foreign_set(r, 256, "rust-host:1"), "so that the foreign client may have that pid");
}

/* One that comes too late to ask gets no reason, and tries again. */
static int open_in_vain(struct member *m, const char *reason) {
    for (int tries = 0;
         member_open_one(m) == SFID_ENOPID && !strstr(m->text, reason) && tries < TRIES; tries++)
        member_end(m);
    return m->rc;
}

static void test_all_foreign(struct redis *r) {
    sfid_options opt = range(r, 253, 258);
    struct member *m = members_new(1, &opt);
    unsigned overwritten = 0;
    m->opt.open_timeout_ms = IN_VAIN_MS;
    is_i64(open_in_vain(m, "rust-host"), SFID_ENOPID, "with all six in foreign hands: SFID_ENOPID");
    diag("%s", m->text);
    ok(strstr(m->text, "rust-host") != NULL, "its text names who has them");
    for (int64_t pid = 253; pid <= 258; pid++)
        overwritten += !is_value(r, pid, pid == 256 ? "rust-host:1" : "rust-host:0");
    is_u64(overwritten, 0, "and leaves them alone");
    is_i64(member_end(m), 0, "ends well");
    registration_text(r, "DEL", APP, 254);
    m->opt.open_timeout_ms = TAP_WAIT_MS;
    is_i64(member_open_one(m), 0, "one of them given back is had");
    is_i64(atomic_load(&m->pid), 254, "that one");
    ok(member_draws(m, 1, TAP_WAIT_MS), "and drawn from");
    is_i64(member_end(m), 0, "ends well, too");
}

/* A registration is no evidence to us: with it gone or another's, the holder goes on, and nobody of
 * ours gets its pid. */
static void test_registration_lost(struct redis *r) {
    const sfid_options opt = range(r, 10, 10);
    struct member *m = members_new(1, &opt), *other = members_new(1, &opt);
    is_i64(member_open_one(m), 0, "a pid is held");
    ok(member_draws(m, 1, TAP_WAIT_MS), "and drawn from");
    registration_text(r, "DEL", APP, 10);
    other->opt.open_timeout_ms = IN_VAIN_MS;
    is_i64(open_in_vain(other, "is taken"), SFID_ENOPID,
           "its registration removed, another process does not get it");
    member_end(other);
    const int from = atomic_load(&m->events);
    ok(member_event(m, SFID_EVENT_RENEWED, from, TAP_WAIT_MS), "the holder renews it");
    ok(!foreign_set(r, 10, "rust-host:2"), "and the registration is back");
    member_is_well(m, "the holder");
    is_i64(member_end(m), 0, "ends well");
}

static void test_beside(struct redis *r) {
    test_passed_over(r);
    test_all_foreign(r);
    test_registration_lost(r);
    judge(LAYOUT, "per-file", UINT64_MAX, "beside");
}

int main(void) { return fleet_main(LAYOUT, 1, 0, test_beside); }
