/* SPDX-License-Identifier: MIT */
/* The local store: which pid it takes, what it grants, what it calls lost; against marks on a real
 * disk. */
#include "lease/store.h"

#include "host/files.h"
#include "host/slot.h"
#include "id/layout.h"
#include "lease/far.h"
#include "lease/settings.h"
#include "support/tap.h"

enum { NOW = 100000, AHEAD = 50, LEAD = 1000, WINDOW = LEAD + AHEAD + 1 };

static const sfid_layout layout = SFID_LAYOUT(41, 3, 12, 1, SFID_EPOCH_MS);
static char state_dir[4200];
static struct sfid__error err;
static struct sfid__passed_over passed_over;
static struct sfid__lease_event grant;
static bool shares; /* stores are made for processes that share */
static int door = -1;
static bool into_the_door;

/* What a caller thinks of each pid, by bit: passes it over, would rather have another, ends the
 * claim. */
static struct opinion { unsigned busy, far, broken, unusable, seen; } opinion;

static int accept(void *accepter, const struct sfid__lease_event *r, bool picky,
                  struct sfid__error *e) {
    struct opinion *o = accepter;
    o->seen++;
    if (into_the_door) { /* after the mark is taken, another process of the app comes in between */
        struct sfid__dir app, state;
        need(sfid__dir_open_state(&state, state_dir, e) >= 0 &&
                 sfid__dir_open_sub(&app, &state, "orders", e) >= 0,
             "%s", e->text);
        door = sfid__door_enter(&app, r->pid, 0, e);
        sfid__dir_close(&app);
        sfid__dir_close(&state);
    }
    if (o->busy & 1u << r->pid)
        return sfid__fail(e, SFID_EBUSY, "its page is in use");
    if (o->unusable & 1u << r->pid) {
        sfid__fail(e, SFID_ESTATE, "page %u cannot be used", (unsigned)r->pid);
        e->one_file = true;
        return SFID_ESTATE;
    }
    if (o->broken & 1u << r->pid)
        return sfid__fail(e, SFID_ESTATE, "its page is broken");
    if (picky && o->far & 1u << r->pid)
        return sfid__fail(e, SFID_EAGAIN, "it is far ahead");
    return 0;
}

static struct sfid__store *make(int64_t pid, int64_t min, int64_t max) {
    struct sfid__settings s = {
        .opt = SFID_OPTIONS_INIT, .lead_ms = LEAD, .synced = true, .shared = shares};
    struct sfid__store *store = NULL;
    s.opt.app = "orders";
    s.opt.layout = &layout;
    s.opt.state_dir = state_dir;
    s.opt.pid = pid;
    s.opt.pid_min = min;
    s.opt.pid_max = max;
    s.opt.max_ahead_ms = AHEAD;
    need(sfid__store_local.make(&store, &s, "host", &err) >= 0, "%s", err.text);
    store->accept = accept;
    store->accepter = &opinion;
    store->passed_over = &passed_over;
    return store;
}

static const struct sfid__lease_action to_claim = {
    .kind = SFID__DO_CLAIM, .now = NOW, .deadline_ms = SFID__FOREVER, .give_up_ms = SFID__FOREVER};

static enum sfid__lease_answer claim(struct sfid__store *store) {
    err = (struct sfid__error){.code = 0};
    grant = (struct sfid__lease_event){.pid = 4711};
    return store->ops->claim(store, &to_claim, &grant, &err);
}

/* The pid claimed by a store of its own; a code when there is none. */
static int64_t claim_with(struct sfid__store *store) {
    return claim(store) == SFID__GRANTED ? (int64_t)grant.pid : err.code;
}

static enum sfid__lease_answer renew(struct sfid__store *store, uint64_t now, uint64_t pid,
                                     uint64_t limit, uint64_t page) {
    const struct sfid__lease_action ask = {
        .kind = SFID__DO_RENEW, .pid = pid, .limit = limit, .now = now, .page_nonce = page};
    err = (struct sfid__error){.code = 0};
    grant = (struct sfid__lease_event){.pid = 4711};
    return store->ops->renew(store, &ask, &grant, &err);
}

static void drop(struct sfid__store *store) { store->ops->drop(store); }

/* ---- which pid --------------------------------------------------------------- */

static void lowest_free(void) {
    struct sfid__store *s[8];
    for (int i = 0; i < 8; i++) {
        s[i] = make(-1, 0, 7);
        is_i64(claim_with(s[i]), i, "the lowest pid that is free is taken");
    }
    struct sfid__store *more = make(-1, 0, 7), *fixed = make(5, 0, 7);
    is_i64(claim_with(more), SFID_ENOPID, "with all taken there is none");
    ok(strstr(err.text, "all 8 pids (0 to 7) of app \"orders\"") != NULL, "it says \"%s\"",
       err.text);
    is_i64(claim_with(fixed), SFID_EBUSY, "nor is one that is fixed to be had");
    ok(strstr(err.text, "pid 5 is in use") != NULL, "it says \"%s\"", err.text);
    drop(s[2]);
    drop(s[5]);
    is_i64(claim_with(more), 2, "one that was left is taken again");
    is_i64(claim_with(fixed), 5, "and so is one that is fixed");
    for (int i = 0; i < 8; i++)
        if (i != 2 && i != 5)
            drop(s[i]);
    drop(more);
    drop(fixed);
}

static void in_a_range(void) {
    struct sfid__store *a = make(-1, 3, 4), *b = make(-1, 3, 4), *c = make(-1, 3, 4);
    is_i64(claim_with(a), 3, "of a range the first");
    is_i64(claim_with(b), 4, "and the last");
    is_i64(claim_with(c), SFID_ENOPID, "and no other");
    ok(strstr(err.text, "all 2 pids (3 to 4)") != NULL, "it says \"%s\"", err.text);
    drop(a);
    drop(b);
    drop(c);
}

static void as_the_caller_likes(void) {
    struct sfid__store *s = make(-1, 0, 7);
    opinion = (struct opinion){.busy = 3, .far = 4};
    is_i64(claim_with(s), 3,
           "pids whose page is in use are passed over, and one that lies far ahead");
    drop(s);
    s = make(-1, 0, 3);
    opinion = (struct opinion){.busy = 1, .far = 14};
    is_i64(claim_with(s), 1, "where all lie far ahead the first of them is taken");
    drop(s);
    s = make(-1, 0, 7);
    opinion = (struct opinion){.busy = 1, .broken = 2};
    is_i64(claim_with(s), SFID_ESTATE, "what is broken ends the claim");
    opinion = (struct opinion){.busy = 1, .unusable = 6};
    is_i64(claim_with(s), 3, "a file that cannot be used rules out its pid alone");
    ok(passed_over.count == 2 && strstr(passed_over.first.text, "page 1"),
       "and is noted: %u, \"%s\"", passed_over.count, passed_over.first.text);
    drop(s);
    s = make(-1, 0, 7);
    opinion = (struct opinion){.unusable = 255};
    is_i64(claim_with(s), SFID_ESTATE, "where no file can be used there is no pid");
    ok(strstr(err.text, "page 0") != NULL, "and the first is named: \"%s\"", err.text);
    opinion = (struct opinion){.busy = 8, .unusable = 247};
    is_i64(claim_with(s), SFID_ENOPID, "where the others are held they are what is told of");
    ok(passed_over.count == 7, "each is noted once: %u", passed_over.count);
    opinion = (struct opinion){.far = 1};
    is_i64(claim_with(s), 1, "and leaves no lock behind");
    struct sfid__store *t = make(-1, 0, 7);
    opinion = (struct opinion){.far = 0};
    is_i64(claim_with(t), 0, "nor does passing one over");
    drop(s);
    drop(t);
}

/* ---- windows ----------------------------------------------------------------- */

static void windows(void) {
    struct sfid__store *s = make(-1, 6, 6);
    ok(claim(s) == SFID__GRANTED && grant.bound == 0 && grant.floor == grant.limit &&
           grant.page_nonce == 0 && !grant.exact,
       "a pid never used is granted, with no window so far");
    ok(renew(s, NOW, 6, 0, 77) == SFID__GRANTED, "it is renewed");
    is_u64(grant.limit, NOW + WINDOW, "to what was asked for ahead");
    ok(renew(s, NOW - 500, 6, NOW + WINDOW, 77) == SFID__GRANTED,
       "and again when the clock went back");
    is_u64(grant.limit, NOW + WINDOW, "never to less");
    ok(renew(s, s->terms.end - 5, 6, NOW + WINDOW, 77) == SFID__GRANTED &&
           grant.limit == s->terms.end,
       "never past the end of the layout");
    drop(s);

    s = make(-1, 5, 5);
    const uint64_t ahead = (uint64_t)(NOW + 5000) << 12 | 77;
    const struct sfid__lease_action far = {.kind = SFID__DO_RENEW,
                                           .pid = 5,
                                           .limit = NOW + 5000,
                                           .now = NOW,
                                           .page_nonce = 3,
                                           .position = ahead};
    ok(claim(s) == SFID__GRANTED && s->ops->renew(s, &far, &grant, &err) == SFID__GRANTED,
       "a pid that stands past its window");
    drop(s);
    s = make(-1, 5, 5);
    ok(claim(s) == SFID__GRANTED && grant.bound == ahead,
       "is marked where it stands, not where the tick begins");
    drop(s);

    s = make(-1, 6, 6);
    ok(claim(s) == SFID__GRANTED && grant.bound == s->terms.end << 12 && !grant.exact &&
           grant.page_nonce == 77,
       "whoever comes next finds how far it went, and on which page");
    const struct sfid__lease_action ask = {.kind = SFID__DO_RELEASE, .now = NOW, .position = 4711};
    ok(s->ops->is_last(s), "who is alone leaves last");
    s->ops->release(s, &ask, &err);
    drop(s);
    s = make(-1, 6, 6);
    ok(claim(s) == SFID__GRANTED && grant.bound == 4711 && grant.exact && grant.page_nonce == 77,
       "and gives back an exact position");
    drop(s);
}

/* ---- a clock that was wrong ---------------------------------------------------- */

/* Leaves the mark of a pid so far ahead of NOW, as a kill does. */
static void leave(int64_t pid, uint64_t ahead) {
    struct sfid__store *s = make(-1, pid, pid);
    need(claim(s) == SFID__GRANTED &&
             renew(s, NOW + ahead - WINDOW, (uint64_t)pid, 0, 77) == SFID__GRANTED,
         "%s", err.text);
    drop(s);
}

/* The bound of far.c: each of three settings counts as its default at least, and max_ahead_ms three
 * times. */
static void too_far(void) {
    enum {
        LEAD_LEAST = 30000,
        BUDGET = 15000,
        AHEAD_LEAST = 10000,
        REACH = LEAD_LEAST + BUDGET + 3 * AHEAD_LEAST + 3,
        MORE = 7000
    };
    static const struct {
        uint32_t lead_ms, budget_ms, ahead_ms;
        unsigned more;
        const char *what;
    } rows[] = {{0, 0, 0, 0, "less than the defaults: they count"},
                {LEAD_LEAST + MORE, 0, 0, MORE, "lead_ms"},
                {0, BUDGET + MORE, 0, MORE, "skew_budget_ms"},
                {0, 0, AHEAD_LEAST + MORE, 3 * MORE, "max_ahead_ms, three times"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sfid__settings s = {.opt = SFID_OPTIONS_INIT, .lead_ms = rows[i].lead_ms};
        s.opt.layout = &layout;
        s.opt.skew_budget_ms = rows[i].budget_ms;
        s.opt.max_ahead_ms = rows[i].ahead_ms;
        const struct sfid__far far = sfid__far_of(&s);
        is_u64(far.reach, REACH + rows[i].more, "the bound: %s", rows[i].what);
        is_i64(sfid__mark_refuse_far(&far, "mark", "", 1, NOW, 0, &err), SFID_ECLOCK, "its error");
        is_i64(strstr(err.text, " --max-ahead-ms 17000 ") != NULL, rows[i].ahead_ms != 0,
               "what lowers a mark has to know of one more");
    }
    leave(3, REACH);
    leave(4, REACH + 1);
    struct sfid__store *s = make(3, 0, 7);
    is_i64(claim_with(s), 3, "a fixed pid with a mark at the bound is had");
    drop(s);
    s = make(4, 0, 7);
    is_i64(claim_with(s), SFID_ECLOCK, "and one beyond it is not");
    ok(strstr(err.text, "/orders/pid-4 says 20") &&
           strstr(err.text, "run `sfid init --app orders --pid 4 --clock-was-wrong`"),
       "it says \"%s\"", err.text);
    drop(s);
    s = make(-1, 4, 4);
    is_i64(claim_with(s), 4, "of a range that is leased it is had, for whoever is patient");
    drop(s);
}

/* ---- losses ------------------------------------------------------------------ */

static void lost(void) {
    char path[4400], moved[4400];
    struct sfid__store *s = make(-1, 0, 7), *other = make(-1, 0, 7);
    opinion = (struct opinion){.seen = 0};
    is_i64(claim_with(s), 0, "a pid is held");
    ok(renew(s, NOW, 1, NOW, 7) == SFID__LOST,
       "another that somebody else of the family got is not");
    snprintf(path, sizeof path, "%s/orders", state_dir);
    snprintf(moved, sizeof moved, "%s/moved", state_dir);
    need(rename(path, moved) >= 0, "cannot move %s", path);
    ok(renew(s, NOW, 0, NOW, 7) == SFID__LOST, "with its directory gone it is lost");
    ok(strstr(err.text, "orders/pid-0 was removed") != NULL, "it says \"%s\"", err.text);
    is_i64(claim_with(other), 0, "somebody else gets it in a new directory");
    is_i64(claim_with(s), SFID_EBUSY, "then it is not to be had again");
    ok(strstr(err.text, "pid 0 is in use") != NULL, "it says \"%s\"", err.text);
    drop(other);
    is_i64(claim_with(s), 0, "and no other is taken: when it is free again, it is that");
    ok(renew(s, NOW, 0, NOW, 7) == SFID__GRANTED, "which is renewed");
    drop(s);
}

/* A mark that is lost is made anew only while the page in use keeps others off it. */
static void lost_with_its_page(void) {
    static const struct sfid__slot nowhere = {.dir = SFID__DIR_NONE};
    char moved[4400];
    struct sfid__store *s = make(-1, 3, 3), *other = make(-1, 3, 3);
    struct stat st;
    s->slot = &nowhere;
    snprintf(moved, sizeof moved, "%s.moved", state_dir);
    is_i64(claim_with(s), 3, "a pid is held");
    ok(renew(s, NOW, 3, 0, 9) == SFID__GRANTED, "and renewed");
    need(rename(state_dir, moved) >= 0, "cannot move %s", state_dir);
    ok(renew(s, NOW + 1, 3, NOW + WINDOW, 9) == SFID__LOST,
       "with the state directory gone it is lost");
    ok(claim(s) == SFID__REFUSED && err.code == SFID_ELEASE,
       "with its page gone, too, it stays lost");
    ok(strstr(err.text, state_dir) && strstr(err.text, "put the directories back"),
       "it says \"%s\"", err.text);
    ok(stat(state_dir, &st) < 0, "and no state directory is made");
    need(rename(moved, state_dir) >= 0, "cannot move %s back", state_dir);
    is_i64(claim_with(other), SFID_ENOPID,
           "the directory comes back: the mark was locked all the time");
    ok(claim(s) == SFID__GRANTED && grant.page_nonce == 9 &&
           grant.bound == (uint64_t)(NOW + WINDOW) << 12,
       "and its holder goes on with it as it was");
    ok(renew(s, NOW + 1, 3, NOW + WINDOW, 9) == SFID__GRANTED, "and renews it");
    need(rename(state_dir, moved) >= 0, "cannot move %s", state_dir);
    s->slot = NULL;
    ok(claim(s) == SFID__GRANTED && grant.bound == 0, "with its page there the mark is made anew");
    drop(s);
    drop(other);
}

/* A keeper makes the mark anew that all lost, and cannot share it at once. */
static void shared_anew(void) {
    char moved[4400];
    bool by_fd;
    shares = true;
    struct sfid__store *s = make(-1, 6, 6), *other = make(-1, 6, 6);
    is_i64(claim_with(s), 6, "a pid to be shared");
    is_i64(s->ops->share(s, 9, &by_fd, &err), 0, "is shared");
    snprintf(moved, sizeof moved, "%s.away", state_dir);
    need(rename(state_dir, moved) >= 0, "cannot move %s", state_dir);
    into_the_door = true;
    ok(claim(s) == SFID__REFUSED, "its mark is lost, and the new one's door is closed: %s",
       err.text);
    into_the_door = false;
    sfid__door_leave(door);
    is_i64(claim_with(s), 6, "at the next try it is held");
    ok(renew(s, NOW, 6, NOW, 9) == SFID__GRANTED, "and renewed");
    is_i64(other->ops->join(other, 6, 9, false, 0, &err), 0, "others can join it: %s", err.text);
    drop(other);
    drop(s);
}

int main(void) {
    snprintf(state_dir, sizeof state_dir, "%s/state", tap_tmpdir());
    lowest_free();
    in_a_range();
    as_the_caller_likes();
    windows();
    too_far();
    lost();
    lost_with_its_page();
    shared_anew();
    return done_testing();
}
