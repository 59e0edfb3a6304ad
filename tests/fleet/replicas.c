/* SPDX-License-Identifier: MIT */
/*
 * replicas=N: a claim is waited for to reach as many replicas, in sfid_status() stands how many it
 * reached, and an event tells of too few; the lease is had all the same, and soon.
 */
#include "support/fleet.h"

#define LAYOUT "39:9:8/10ms"

struct heard {
    _Atomic int told; /* UNREPLICATED */
    int code;
    int64_t value;
    char text[300];
};

static void note_event(void *user, const sfid_event *e) {
    struct heard *h = user;
    if (e->kind != SFID_EVENT_UNREPLICATED)
        return;
    h->code = e->code;
    h->value = e->value;
    snprintf(h->text, sizeof h->text, "%s", e->text);
    atomic_store(&h->told, 1);
}

/* An open handle of an app of its own, whose exchange takes this long, with parameters behind
 * that. */
static sfid *open_with(struct redis *r, const char *app, const char *user, const char *parameters,
                       struct heard *h) {
    char store[300];
    sfid_options opt = fleet_options(r, app, &layout);
    snprintf(store, sizeof store, "unix://%s%s?timeout=%s", user, r->socket, parameters);
    opt.store = store;
    memset(h, 0, sizeof *h);
    opt.on_event = note_event;
    opt.user = h;
    return open_or_die(&opt);
}

static int64_t replicas_of(sfid *g) {
    sfid_status_info st;
    return sfid_status(g, &st) == 0 ? st.replicas : -100;
}

static void tells(sfid *g, struct heard *h, int64_t value, const char *words) {
    ok(flag_wait(&h->told, 1, TAP_WAIT_MS) && h->value == value && strstr(h->text, words),
       "an event tells: %s", words);
    diag("%d: %s", h->code, h->text);
    ok(sfid_next(g) >= 0, "IDs are drawn all the same");
}

static void test_replicas(struct redis *master) {
    struct redis replica;
    struct heard h;
    redis_start(&replica, master->program, "replica", REDIS_PORT, NULL);
    sfid *g = open_with(master, "none", "", "15s", &h);
    is_i64(replicas_of(g), -1, "nothing is waited for unless asked");
    sfid_close(g);
    const int64_t began = tap_now_ms();
    g = open_with(master, "alone", "", "2s&replicas=1", &h);
    in_time(took_since(began), 2500, "a claim that reaches nobody is waited for half an exchange");
    is_i64(replicas_of(g), 0, "a master without replicas");
    tells(g, &h, 0, "0 of 1 replicas have the claim");
    sfid_close(g);
    redis_replicate(&replica, master);
    g = open_with(master, "both", "", "15s&replicas=1", &h);
    is_i64(replicas_of(g), 1, "a master with one");
    sfid_close(g);
    is_i64(atomic_load(&h.told), 0, "and no event");
    redis_do(master, "ACL", "SETUSER", "few", "on", ">sesame", "~sfid:*", "+@all", "-wait", NULL);
    g = open_with(master, "denied", "few:sesame@", "15s&replicas=1", &h);
    is_i64(replicas_of(g), -1, "whoever may not wait does not know");
    tells(g, &h, 0, "NOPERM");
    is_i64(h.code, SFID_EAUTH, "and why");
    sfid_close(g);
    redis_kill(&replica);
}

int main(void) { return fleet_main(LAYOUT, 1, REDIS_PORT, test_replicas); }
