/* SPDX-License-Identifier: MIT */
/*
 * TLS and fork: children that draw and close do not touch their parent's session, and one that
 * outlives it renews over a session of its own.
 */
#include "support/tls.h"

struct family {
    _Atomic int heir, child_renewals, child_left;
    _Atomic int events[SFID_EVENT_KINDS];
};

static void family_event(void *user, const sfid_event *e) {
    struct family *f = user;
    if ((unsigned)e->kind < SFID_EVENT_KINDS)
        atomic_fetch_add(&f->events[e->kind], 1);
}

static bool renews(struct family *f, int more) {
    _Atomic int *renewed = &f->events[SFID_EVENT_RENEWED];
    return flag_wait(renewed, atomic_load(renewed) + more, TAP_WAIT_MS);
}

/* What a child does: draws, and closes its handle. Nothing of it may reach the parent's
 * connection. */
static int visit(void *arg) {
    sfid *g = arg;
    const bool good = next_within(g, TAP_WAIT_MS) >= 0;
    sfid_close(g);
    return good ? 0 : 1;
}

struct heir {
    sfid *g;
    struct family *f;
};

/* Its parent is gone: it renews over a connection of its own. */
static int inherit(void *arg) {
    const struct heir *h = arg;
    struct patience p = {0};
    const int before = atomic_load(&h->f->events[SFID_EVENT_RENEWED]);
    prctl(PR_SET_PDEATHSIG, 0);
    atomic_store(&h->f->heir, 1);
    while (patient(&p, TAP_WAIT_MS) &&
           /* one may still be the parent's */
           atomic_load(&h->f->events[SFID_EVENT_RENEWED]) < before + 3) {
        (void)!sfid_next(h->g); /* refused while its window is over: it renews all the same */
        nap_us(5000);
    }
    atomic_store(&h->f->child_renewals, atomic_load(&h->f->events[SFID_EVENT_RENEWED]) - before);
    sfid_close(h->g);
    atomic_store(&h->f->child_left, 1);
    return 0;
}

struct house {
    struct tls_server *s;
    struct family *f;
};

static int parent(void *arg) {
    const struct house *house = arg;
    char url[URL];
    sfid *g = NULL;
    /* with a timeout that fits the window */
    snprintf(url, sizeof url, "rediss://%s?ca=%s/ca.pem", house->s->name, certificates);
    sfid_options opt = fault_options("family", url);
    opt.on_unknown = SFID_TRUST;
    opt.heartbeat_ms = 500;
    opt.ttl_ms = 2 * WINDOW_MS; /* an heir begins when it finds that half of it is over */
    opt.on_event = family_event;
    opt.user = house->f;
    must(sfid_open(&g, &opt) >= 0, "%s", sfid_last_error(g));
    struct tls_server server = *house->s;
    server.r.conn = NULL; /* the test's, in this process */
    int64_t before;
    int failed, tries = 0;
    do { /* a renewal that fails closes its connection */
        failed = atomic_load(&house->f->events[SFID_EVENT_RENEW_FAILED]);
        before = tls_connections(&server);
        for (int i = 0; i < 8; i++) {
            const int status = child_wait(child_start(visit, g), TAP_WAIT_MS);
            must(status == 0, "a child ended with %d", status);
        }
        must(renews(house->f, 2), "no renewals after children");
    } while (atomic_load(&house->f->events[SFID_EVENT_RENEW_FAILED]) > failed && ++tries < 10);
    must(tls_connections(&server) == before, "a child cost the connection");
    child_start(inherit, &(struct heir){g, house->f});
    must(flag_wait(&house->f->heir, 1, TAP_WAIT_MS), "no heir");
    return 0; /* without a close */
}

static void test_fork(struct tls_server *s) {
    struct family *f = shared_memory(sizeof *f);
    struct house house = {s, f};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    is_i64(child_wait(child_start(parent, &house), 4 * TAP_WAIT_MS), 0,
           "children draw and close; the parent's connection stays");
    ok(flag_wait(&f->child_left, 1, 2 * TAP_WAIT_MS) && atomic_load(&f->child_renewals) >= 2,
       "a child renews when its parent is gone");
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

int main(void) {
    tls_first(test_fork);
    return done_testing();
}
