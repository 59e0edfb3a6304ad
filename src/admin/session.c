/* SPDX-License-Identifier: MIT */
#include "admin/session.h"

#include "base/clock.h"
#include "lease/store.h"

#include <stdio.h>
#include <stdlib.h>

static_assert(SFID__ERROR_TEXT <= SFID_WHY_LEN, "a sentence fits where the header says so");

/* If there is no server to ask, the error says what there is instead. */
int sfid__visit_begin(struct sfid__visit *v, const sfid_options *opt) {
    struct sfid__error *err = &v->error;
    sfid__guest_enter(&v->guest);
    v->begun = true;
    int rc = sfid__options_read(opt, &v->whole, err);
    if (rc < 0)
        return rc;
    const bool served = v->whole.store == &sfid__store_redis || v->whole.store == &sfid__store_pool;
    if (v->whole.elsewhere)
        return sfid__fail(
            err, SFID_EUNSUPPORTED,
            "store \"ordinal:\": %s names a pid that is not leased; its lock is on its host, where `sfid doctor --app %s` "
            "shows it: give the URL of a Redis server",
            v->whole.shown, v->whole.opt.app);
    if (!served && v->whole.opt.pid < 0)
        return sfid__fail(
            err, SFID_EUNSUPPORTED,
            "store \"local\" keeps its leases as locks of this host, which `sfid doctor --app %s` lists: give the "
            "URL of a Redis server",
            v->whole.opt.app);
    if (!served)
        return sfid__fail(
            err, SFID_EUNSUPPORTED,
            "a fixed pid is not leased: leave it at -1, and give the URL of a Redis server");
    v->servers = sfid__options_servers(&v->whole);
    sfid__options_widen(&v->whole);
    return 0;
}

int sfid__visit_server(struct sfid__visit *v, unsigned i) {
    sfid__redis_app_end(&v->app);
    v->app = (struct sfid__redis_app){.name = ""};
    /* Each server has its own, so that one that is away uses up none of another's. */
    v->deadline_ms = sfid__deadline_now_ms() + v->whole.opt.open_timeout_ms;
    v->settings = sfid__options_server(&v->whole, i);
    const int rc = sfid__redis_app_begin(&v->app, v->settings, &v->error);
    sfid__reply_of_many(&v->app.reply, &v->many);
    return rc;
}

int sfid__visit_end(struct sfid__visit *v, int rc, char *why, size_t why_size) {
    if (why && why_size > 0)
        snprintf(why, why_size, "%s",
                 rc == 0                    ? ""
                 : v && v->error.code == rc ? v->error.text
                                            : sfid_strerror(rc));
    if (v == NULL)
        return rc;
    sfid__redis_app_end(&v->app);
    sfid__options_end(&v->whole);
    if (v->begun)
        sfid__guest_leave(&v->guest);
    free(v);
    return rc;
}

int sfid__visit_ask(struct sfid__visit *v, int argc, const char *const *argv,
                    const size_t *lengths) {
    const int64_t most = sfid__deadline_now_ms() + v->settings->uri->timeout_ms;
    const struct sfid__question q = {argc, argv, lengths, SFID__MIN(v->deadline_ms, most), NULL};
    return sfid__route_exchange(&v->app.route, &q, &v->app.reply, &v->error);
}
