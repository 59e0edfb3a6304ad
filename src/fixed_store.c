/* SPDX-License-Identifier: MIT */
/*
 * fixed_store.c - the right to a fixed pid is the lock of its mark; the window
 * is what the mark covers. The mark is durable before the window it allows is
 * used, so after a power loss everything below it counts as used.
 */
#include "fixed_store.h"

#include "layout.h"
#include "mark.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

struct fixed_store {
    struct sfid__store store; /* first */
    sfid_layout layout;
    uint64_t pid;
    char *app_dir;
    struct sfid__mark mark;
    uint64_t page;    /* nonce of the page in use, for release() */
    uint64_t durable; /* tick up to which this process has seen the mark synced: what was read may still be in memory only */
};

static struct fixed_store *self(struct sfid__store *store) { return (struct fixed_store *)(void *)store; }

static int acquire(struct sfid__store *store, uint64_t now, struct sfid__grant *grant, struct sfid__error *err) {
    struct fixed_store *s = self(store);
    struct sfid__dir app;
    if (sfid__dir_reopen(&app, s->app_dir, err) < 0)
        return err->code;
    struct sfid__position at;
    const int rc = sfid__mark_take(&s->mark, &app, s->pid, sfid__layout_fingerprint(&s->layout), &at, err);
    sfid__dir_close(&app);
    if (rc < 0)
        return rc;
    if (at.damaged) { /* a newer entry may be lost: no window was ever granted beyond this */
        const uint64_t bound = SFID__MIN(now + store->window, sfid__layout_end(&s->layout)) << s->layout.seq_bits;
        at.word = SFID__MAX(at.word, bound);
        at.exact = false;
    }
    *grant = (struct sfid__grant){s->pid, at.word, at.exact, at.page, at.word >> s->layout.seq_bits};
    s->page = at.page;
    return 0;
}

static int renew(struct sfid__store *store, uint64_t now, struct sfid__grant *grant, struct sfid__error *err) {
    struct fixed_store *s = self(store);
    const uint64_t end = sfid__layout_end(&s->layout);
    uint64_t limit = SFID__MIN(now < end ? now + store->window : end, end);
    limit = SFID__MAX(limit, grant->limit); /* a mark that is further ahead stays */
    if (limit <= s->durable && grant->page == s->page)
        return 0;
    const int rc = sfid__mark_write(&s->mark, (struct sfid__position){limit << s->layout.seq_bits, grant->page, false, false}, err);
    if (rc == 0) {
        grant->limit = s->durable = limit;
        s->page = grant->page;
    }
    return rc;
}

static bool leave(struct sfid__store *store) { return sfid__mark_is_last(&self(store)->mark); }

static int release(struct sfid__store *store, uint64_t position, struct sfid__error *err) {
    struct fixed_store *s = self(store);
    return sfid__mark_write(&s->mark, (struct sfid__position){position, s->page, true, false}, err);
}

static void drop(struct sfid__store *store) {
    struct fixed_store *s = self(store);
    sfid__mark_drop(&s->mark);
    free(s->app_dir);
    free(s);
}

static const struct sfid__store_ops ops = {acquire, renew, leave, release, drop};

int sfid__fixed_store_new(struct sfid__store **out, const char *app_dir, const sfid_layout *layout, uint64_t pid,
                          uint64_t max_ahead, struct sfid__error *err) {
    struct fixed_store *s = calloc(1, sizeof *s);
    if (s)
        s->app_dir = strdup(app_dir);
    if (s == NULL || s->app_dir == NULL) {
        free(s);
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    }
    s->store.ops = &ops;
    s->store.window = SFID__MAX(sfid__ms_to_ticks(layout, SFID__MARK_LEAD_MS) + max_ahead, 2) + 1;
    s->layout = *layout;
    s->pid = pid;
    *out = &s->store;
    return 0;
}
