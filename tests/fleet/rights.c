/* SPDX-License-Identifier: MIT */
/*
 * A running fleet whose password is rotated, from a file, and whose user loses and regains
 * permissions: renewals fail for as long as they must, no call does, and nobody loses a pid.
 */
#include "support/fleet.h"

#define LAYOUT "39:6:14/10ms"

enum { HEARTBEAT = 500, MEMBERS = 6 };

struct scene {
    struct redis *r;
    struct crowd crowd;
    char file[200];
};

static void write_password(const struct scene *s, const char *password) {
    char next[220];
    snprintf(next, sizeof next, "%s.next", s->file);
    FILE *out = fopen(next, "we");
    must(out != NULL && fprintf(out, "%s\n", password) >= 0 && fclose(out) == 0 &&
             rename(next, s->file) == 0,
         "%s: %s", next, strerror(errno));
}

static void user(struct scene *s, const char *rule) {
    redis_do(s->r, "ACL", "SETUSER", "fleet", rule, NULL);
}

static void cut(struct scene *s) {
    redis_do(s->r, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL);
}

static void goes_on(struct scene *s, const char *what) {
    crowd_note(&s->crowd);
    ok(tap_wait_until(crowd_has_renewed, &s->crowd, TAP_WAIT_MS), "%s: everybody renews", what);
    crowd_is_well(&s->crowd, what);
}

/* Whether all have been told of a failure since a moment. */
struct failing {
    struct scene *s;
    int before[MEMBERS];
};

static bool all_failed(void *arg) {
    const struct failing *f = arg;
    for (unsigned i = 0; i < f->s->crowd.n; i++)
        if (events_of(&f->s->crowd.m[i], SFID_EVENT_RENEW_FAILED) <= f->before[i])
            return false;
    return true;
}

static void fails(struct scene *s, const char *what) {
    struct failing f = {s, {0}};
    const struct member *m = &s->crowd.m[0];
    const int from = atomic_load(&m->events);
    for (unsigned i = 0; i < s->crowd.n; i++)
        f.before[i] = events_of(&s->crowd.m[i], SFID_EVENT_RENEW_FAILED);
    ok(tap_wait_until(all_failed, &f, TAP_WAIT_MS), "%s: everybody is told", what);
    const struct seen *e = member_told(m, from, SFID_EAUTH, "", "");
    ok(e && !strstr(e->text, "first-word") && !strstr(e->text, "third-word"),
       "%s: with its code and no secret", what);
    if (e)
        diag("%s: %s", what, e->text);
}

static void test_password(struct scene *s) {
    user(s, ">second-word");
    write_password(s, "second-word");
    user(s, "<first-word");
    goes_on(s, "the old password is taken away");
    cut(s);
    goes_on(s, "new connections, with the new one");
    user(s, "resetpass");
    user(s, ">third-word");
    cut(s);
    fails(s, "changed at the server first");
    write_password(s, "third-word");
    goes_on(s, "then in the file");
}

static void test_permissions(struct scene *s) {
    static const char *const needed[] = {"info", "hset", "time"};
    char rule[40];
    user(s, "-evalsha");
    goes_on(s, "without +evalsha");
    user(s, "+evalsha");
    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        snprintf(rule, sizeof rule, "-%s", needed[i]);
        user(s, rule);
        fails(s, rule);
        rule[0] = '+';
        user(s, rule);
        goes_on(s, rule);
    }
    user(s, "-eval");
    user(s, "-evalsha");
    fails(s, "neither EVAL nor EVALSHA");
    user(s, "+evalsha");
    user(s, "+eval");
    goes_on(s, "both again");
    user(s, "resetkeys");
    fails(s, "no key");
    user(s, "~sfid:*");
    goes_on(s, "keys again");
}

static void test_rights(struct redis *r) {
    static struct scene s;
    char store[400];
    s = (struct scene){.r = r};
    snprintf(s.file, sizeof s.file, "%s/password", socket_dir());
    write_password(&s, "first-word");
    redis_do(r, "ACL", "SETUSER", "fleet", "on", ">first-word", "~sfid:*", "+@all", "-@dangerous",
             "+info", "+client|setname", NULL);
    sfid_options opt = fleet_lease(r, "rights", FLEET_TTL_MS, HEARTBEAT);
    snprintf(store, sizeof store, "unix://fleet@%s?timeout=15s&password_file=%s", r->socket,
             s.file);
    opt.store = store;
    crowd_begin(&s.crowd, "rights", MEMBERS, &opt);
    test_password(&s);
    test_permissions(&s);
    crowd_end(&s.crowd);
    judge(LAYOUT, "per-file", UINT64_MAX, "rights");
}

int main(void) { return fleet_main(LAYOUT, 0, 0, test_rights); }
