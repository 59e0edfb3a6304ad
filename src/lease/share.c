/* SPDX-License-Identifier: MIT */
#include "lease/share.h"

#include "id/layout.h"
#include "lease/grant.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_fixed(const struct sfid__holder *h) { return h->settings->opt.pid >= 0; }

/* The names of pages begin with it. Pages of another version have other names: an upgrade costs a
 * pid, not an outage. */
static void name_pages(char out[32]) { snprintf(out, 32, "share%d.", SFID__PAGE_VERSION); }

static void page_name(const struct sfid__holder *h, unsigned number, char out[32]) {
    name_pages(out);
    const size_t n = strlen(out);
    if (is_fixed(h))
        snprintf(out + n, 32 - n, "p%" PRIu64, (uint64_t)h->settings->opt.pid);
    else
        snprintf(out + n, 32 - n, "%u", number);
}

static uint64_t last_pid(const struct sfid__holder *h) {
    return sfid__record_pid(&h->slot.page->records[h->slot.records - 1]);
}

/* ---- a page that others have ------------------------------------------------ */

static uint32_t terms_of(const struct sfid__holder *h) {
    /* written before the lock was shared */
    return atomic_load_explicit(&h->slot.page->terms, memory_order_relaxed);
}

/* With a server the terms are part of the app's settings there, so they cannot differ. */
static int check_settings(struct sfid__holder *h) {
    /* as terms_of() */
    if (atomic_load_explicit(&h->slot.page->settings, memory_order_relaxed) == h->store->settings)
        return 0;
    return sfid__fail(
        &h->error, SFID_EBUSY,
        "other processes share app \"%s\" with other settings; ttl_ms, short_ms, skew_budget_ms, pid_min, pid_max and "
        "the parameters registration and min_good have to be the same for all",
        h->settings->opt.app);
}

/* The page's terms are those of the process that let the others in. */
static int accept_terms(struct sfid__holder *h) {
    struct sfid__lease_terms *t = &h->store->terms;
    const bool synced = terms_of(h) & SFID__TERM_SYNCED;
    const uint64_t pid = last_pid(h);
    /* as terms_of() */
    const uint64_t window = atomic_load_explicit(&h->slot.page->window, memory_order_relaxed);
    if (synced != h->synced)
        return sfid__fail(
            &h->error, SFID_EBUSY,
            "other processes share app \"%s\" %s mark=none; all of them have to do the same",
            h->settings->opt.app, synced ? "without" : "with");
    if (pid < t->pid_min || pid > t->pid_max)
        return sfid__fail(&h->error, SFID_EBUSY,
                          "other processes share app \"%s\" under pid %" PRIu64
                          ", which is not within %" PRIu64 " to %" PRIu64,
                          h->settings->opt.app, pid, t->pid_min, t->pid_max);
    if (t->testifies)
        return check_settings(h);
    t->window = t->first_window = window;
    t->heartbeat_ms = t->first_heartbeat_ms = (int64_t)(window * h->generator->layout.unit_ms / 3);
    return 0;
}

static int join_pid(struct sfid__holder *h, int64_t until_ms) {
    if (h->store->ops->join == NULL)
        return 0;
    return h->store->ops->join(h->store, last_pid(h), h->slot.page->id.nonce,
                               (terms_of(h) & SFID__TERM_MARK_BY_FD) != 0, until_ms, &h->error);
}

/* ---- open ------------------------------------------------------------------- */

/* Its doors are waited for until until_ms. *refused: no other page would do. */
static int join_page(struct sfid__holder *h, int64_t until_ms, bool *live, bool *refused) {
    /* As want_of() in holder_open.c does without a mark, which is not known before the page. */
    const uint64_t most =
        sfid__grant_tick_in(h, h->settings->opt.max_skew_ms) + 2 * h->store->terms.window;
    const struct sfid__slot_want want = {h->of_pages, SFID__ANY_PID,
                                         SFID__MIN(most, h->store->terms.end), until_ms};
    struct sfid__dir app;
    char name[32];
    int rc = sfid__dir_open_sub(&app, &h->run, h->settings->opt.app, &h->error);
    if (rc < 0)
        return rc;
    page_name(h, h->page_number, name);
    rc = sfid__slot_join(&h->slot, &app, name, &want, live, &h->error);
    if (rc < 0 || !*live)
        return rc;
    rc = accept_terms(h);
    *refused = rc < 0;
    if (rc == 0)
        rc = join_pid(h, until_ms);
    if (rc < 0)
        sfid__slot_drop(&h->slot);
    return rc;
}

/* away: why the store's server does not answer, if that was found out. */
static int all_stuck(struct sfid__holder *h, const struct sfid__error *away) {
    if (away->code) {
        h->error = *away;
        return away->code;
    }
    char lockers[160], prefix[32];
    struct sfid__dir app;
    struct sfid__error ignored;
    lockers[0] = '\0';
    name_pages(prefix);
    if (!is_fixed(h) && sfid__dir_open_sub(&app, &h->run, h->settings->opt.app, &ignored) == 0) {
        sfid__file_list_lockers(&app, prefix, 0, SFID__SHARED_PAGES - 1, lockers, sizeof lockers);
        sfid__dir_close(&app);
    }
    const struct sfid__error cause = h->error;
    return sfid__fail(&h->error, SFID_EBUSY, "app \"%s\" cannot be shared: %.200s%s%s",
                      h->settings->opt.app, cause.text,
                      lockers[0] ? "; locks are held by processes " : "", lockers);
}

/* The page can be used by others only (its mark is gone: they go on, and nobody joins them), or its
 * file by nobody. */
static bool is_barred(const struct sfid__holder *h, int rc, bool live) {
    return rc == SFID_ESTATE && (live || h->error.one_file) && !is_fixed(h);
}

/* The next page after this one whose file is there; 0: none. */
static unsigned page_behind(struct sfid__holder *h) {
    unsigned found = 0;
    struct sfid__dir app;
    struct sfid__error ignored;
    struct stat st;
    char name[32];
    if (is_fixed(h) || sfid__dir_open_sub(&app, &h->run, h->settings->opt.app, &ignored) < 0)
        return 0;
    for (unsigned number = h->page_number + 1; number < SFID__SHARED_PAGES && found == 0;
         number++) {
        page_name(h, number, name);
        if (fstatat(app.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            found = number;
    }
    sfid__dir_close(&app);
    return found;
}

/*
 * A process may be stopped while it begins or ends a page. Then there is a next one, with a pid of
 * its own. The same holds for a page that is barred.
 */
int sfid__share_join(struct sfid__holder *h, bool *live) {
    const int64_t began_ms = sfid__holder_monotonic_ms(h),
                  spell_ms = SFID__MAX((h->deadline_ms - began_ms) / (SFID__SHARED_PAGES + 1), 1);
    const int64_t ask_ms = h->deadline_ms - SFID__MIN(spell_ms, h->store->exchange_ms);
    int64_t nap_ns = SFID__PAUSE_FIRST_NS, first = h->page_number;
    struct sfid__error away = {.code = 0};
    bool refused = false, asked = h->store->ops->probe == NULL;
    *live = false;
    for (;;) {
        const int64_t spells = (sfid__holder_monotonic_ms(h) - began_ms) / spell_ms,
                      number = first + spells;
        h->page_number = (unsigned)SFID__MIN(number, SFID__SHARED_PAGES - 1);
        const int64_t until_ms = SFID__MIN(h->deadline_ms, began_ms + (spells + 1) * spell_ms);
        const int rc = join_page(h, until_ms, live, &refused);
        if (is_barred(h, rc, *live) && number < SFID__SHARED_PAGES - 1) {
            first++;
            continue;
        }
        /* Who only joins looks at all of them: those who began the first one may have left it. */
        const unsigned behind = rc == 0 && !*live && h->settings->joins ? page_behind(h) : 0;
        if (behind) {
            sfid__slot_drop(&h->slot);
            first += behind - h->page_number;
            continue;
        }
        if (rc != SFID_EBUSY || refused)
            return rc;
        const int64_t after_ms = sfid__holder_monotonic_ms(h);
        if (!asked && after_ms >= ask_ms &&
            /* a page that is being begun for so long may wait for the server */
            after_ms < h->deadline_ms) {
            asked = true;
            if (h->store->ops->probe(h->store, h->deadline_ms, &away) == 0)
                away.code = 0;
        }
        const int64_t now_ms = sfid__holder_monotonic_ms(h),
                      left_ms = SFID__MAX(until_ms - now_ms, 0);
        if (now_ms >= h->deadline_ms)
            return all_stuck(h, &away);
        const int64_t nap =
            SFID__MIN(sfid__pause_ns(&nap_ns), SFID__MIN(left_ms, SFID__PAUSE_MOST_NS) * 1000000);
        h->generator->clock->sleep_ns(h->generator->clock, nap);
    }
}

int sfid__share_name_begin(struct sfid__holder *h, const char *name,
                           const struct sfid__slot_want *want, struct sfid__slot_naming *n,
                           struct sfid__error *err) {
    const bool others = h->slot.records && last_pid(h) != want->pid;
    if ((others || h->slot.records >= SFID__PAGE_RECORDS / 2) &&
        sfid__slot_replace(&h->slot, h->of_pages, others ? NULL : sfid__grant_to_carry(h), err) < 0)
        return err->code;
    const int rc = sfid__slot_name_begin(&h->slot, name, want, n, err);
    if (rc == 0)
        h->beside = n->found;
    return rc;
}

/* Puts the position that another page knows into a record without a window. */
static int carry_over(struct sfid__holder *h, uint64_t pid, uint64_t position,
                      struct sfid__error *err) {
    const sfid_layout *l = &h->generator->layout;
    const struct sfid__start start = {.layout = l,
                                      .pid = pid,
                                      .position = position,
                                      .limit = position >> l->seq_bits,
                                      .now = sfid__grant_clock_tick(h),
                                      .max_ahead = h->generator->max_ahead,
                                      .signs = &h->signs,
                                      .reaches = true};
    if (sfid__slot_reserve(&h->slot, h->slot.records, err) < 0)
        return err->code;
    sfid__record_append(h->slot.page, h->slot.records++, &start);
    return 0;
}

int sfid__share_name_end(struct sfid__holder *h, const struct sfid__slot_naming *n, uint64_t pid,
                         bool take, struct sfid__error *err) {
    const uint64_t known = sfid__record_furthest(h->slot.page, h->slot.records, pid);
    const int rc =
        take && n->found.position > known ? carry_over(h, pid, n->found.position, err) : 0;
    const int named = sfid__slot_name_end(&h->slot, n, take && rc == 0, err);
    return rc < 0 ? rc : named;
}

/* True while it is worth trying once more: another process stays in a door. Nothing has been done
 * before a door. */
static bool again(const struct sfid__holder *h, int rc) {
    if (rc != SFID_EBUSY || sfid__holder_monotonic_ms(h) >= h->deadline_ms)
        return false;
    h->generator->clock->sleep_ns(h->generator->clock, SFID__PAUSE_FIRST_NS);
    return true;
}

int sfid__share_let_in(struct sfid__holder *h) {
    struct sfid__page *page = h->slot.page;
    bool by_fd = false;
    int rc = 0;
    do
        if (h->store->ops->share)
            rc = h->store->ops->share(h->store, page->id.nonce, &by_fd, &h->error);
    while (again(h, rc));
    if (rc < 0)
        return rc;
    /* Relaxed: alone with the page until the lock is shared. */
    atomic_store_explicit(&page->window, h->store->terms.window, memory_order_relaxed);
    atomic_store_explicit(&page->settings, h->store->settings, memory_order_relaxed);
    atomic_store_explicit(&page->asked_ms, 0, memory_order_relaxed);
    atomic_store_explicit(&page->terms,
                          (h->synced ? SFID__TERM_SYNCED : 0) | (by_fd ? SFID__TERM_MARK_BY_FD : 0),
                          memory_order_relaxed);
    do
        rc = sfid__slot_share(&h->slot, &h->error);
    while (again(h, rc));
    return rc;
}

/* ---- later ------------------------------------------------------------------ */

/*
 * If the page is gone from its path, nobody joins it any more. All who have it have a share of the
 * mark, too, so that decides. One that lost its mark finds the record closed, and needs a mark for
 * the next one. With a server nobody has a mark.
 */
bool sfid__share_is_last(struct sfid__holder *h) {
    if (h->store->ops->is_last == NULL)
        return sfid__slot_is_last(&h->slot);
    return (sfid__slot_is_last(&h->slot) || !sfid__slot_in_place(&h->slot)) &&
           h->store->ops->is_last(h->store);
}

bool sfid__share_is_replaced(const struct sfid__holder *h) {
    return sfid__page_index(h->slot.page) + 1 != h->slot.records;
}

bool sfid__share_moved_on(const struct sfid__holder *h) {
    /* A keeper without a pid may have closed the record itself: R12. */
    return sfid__share_is_replaced(h) || (h->lease.state == SFID__LEASE_HELD &&
                                          sfid__grant_is_closed(sfid__page_current(h->slot.page)));
}
