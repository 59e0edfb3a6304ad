/* SPDX-License-Identifier: MIT */
/* Every preset generates, or says that it has ended: IDs of the pid asked for, of now, increasing,
 * whatever the order of fields. */
#include "base/compiler.h"

#include "support/tap.h"

#include <sfid.h>
#include <time.h>

#define MANY 600 /* more than two ticks of Sonyflake's 256 */

static int64_t now_ms(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* As many IDs as a generator is asked for: one by one, without sleeping where that is possible, and
 * in a run. */
static int64_t draw(sfid *g, int64_t *ids) {
    int64_t n = 0;
    while (n < MANY / 2) {
        int64_t id = n < MANY / 3 ? sfid_next(g) : sfid_try_next(g);
        if (id == SFID_EAGAIN)
            id = sfid_next(g);
        if (id < 0)
            return id;
        ids[n++] = id;
    }
    const int64_t got = sfid_next_n(g, ids + n, (size_t)(MANY - n));
    return got < 0 ? got : n + got;
}

/* What is wrong with a row of IDs; 0 where nothing is. */
static unsigned wrong(const sfid_layout *l, const int64_t *ids, uint64_t pid, int64_t begin,
                      int64_t end) {
    unsigned bad = 0;
    sfid_parts last = {0, 0, 0, 0};
    for (int i = 0; i < MANY; i++) {
        sfid_parts p;
        if (sfid_parse(l, ids[i], &p) < 0 || p.pid != pid || p.unix_ms > end ||
            p.unix_ms <= begin - (int64_t)l->unit_ms)
            bad++;
        /* The number of an ID is its tick and sequence: nothing is passed over within a tick. */
        else if (i > 0 &&
                 (ids[i] <= ids[i - 1] ||
                  (p.tick == last.tick ? p.seq != last.seq + 1 : p.tick < last.tick || p.seq != 0)))
            bad++;
        last = p;
    }
    return bad;
}

static void generates(const char *name, const sfid_layout *l, uint64_t pid) {
    static int64_t ids[MANY];
    sfid *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.layout = l;
    opt.pid = (int64_t)pid;
    int rc = sfid_open(&g, &opt);
    is_i64(rc, 0, "%s opens with pid %" PRIu64, name, pid);
    if (rc == 0) {
        is_i64(sfid_pid(g), (int64_t)pid, "%s: and holds it", name);
        /* Of a tick of seconds the library reads time(), which is as coarse. */
        const int64_t begin = now_ms(CLOCK_REALTIME_COARSE);
        const int64_t n = draw(g, ids), end = now_ms(CLOCK_REALTIME);
        is_i64(n, MANY, "%s: so many IDs are drawn", name);
        if (n == MANY)
            is_u64(wrong(l, ids, pid, begin, end), 0,
                   "%s: of this pid, of now, increasing without a gap", name);
    } else {
        diag("%s", sfid_last_error(g));
    }
    sfid_close(g);
}

static void has_ended(const char *name, const sfid_layout *l) {
    sfid *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.layout = l;
    opt.pid = 1;
    is_i64(sfid_open(&g, &opt), SFID_EOVERFLOW, "%s has ended: it is for reading", name);
    sfid_close(g);
}

static void all_presets(void) {
    unsigned live = 0, ended = 0;
    for (size_t i = 0; sfid_layout_preset(i); i++) {
        sfid_layout l;
        sfid_layout_facts facts;
        const char *name = sfid_layout_preset(i);
        need(sfid_layout_parse(name, &l) >= 0 && sfid_layout_describe(&l, &facts) >= 0,
             "%s is no layout", name);
        if (facts.last_ms <= now_ms(CLOCK_REALTIME)) {
            has_ended(name, &l);
            ended++;
            continue;
        }
        live++;
        generates(name, &l, l.max_pid);
        if (l.max_pid > 1)
            generates(name, &l, l.max_pid / 3 + 1);
    }
    ok(live >= 15 && ended >= 1, "%u presets generate, %u have ended", live, ended);
}

/* A page is left and taken up again: its word has to mean the same IDs to the next process. */
static void goes_on(const char *name) {
    char run[600], state[600];
    sfid_layout l;
    int64_t last = -1;
    unsigned wrong_ids = 0;
    snprintf(run, sizeof run, "%s/run", tap_tmpdir());
    snprintf(state, sizeof state, "%s/state", tap_tmpdir());
    need(sfid_layout_parse(name, &l) >= 0, "%s is no layout", name);
    for (int round = 0; round < 3; round++) {
        sfid *g = NULL;
        sfid_options opt = SFID_OPTIONS_INIT;
        opt.app = name;
        opt.layout = &l;
        opt.pid = (int64_t)l.max_pid - 1;
        opt.run_dir = run;
        opt.state_dir = state;
        if (!ok(sfid_open(&g, &opt) == 0, "%s: round %d opens", name, round))
            diag("%s", sfid_last_error(g));
        for (int i = 0; i < 300; i++) {
            sfid_parts p;
            const int64_t id = sfid_next(g);
            wrong_ids += id <= last || sfid_parse(&l, id, &p) < 0 || p.pid != l.max_pid - 1;
            last = id;
        }
        sfid_close(g);
    }
    is_u64(wrong_ids, 0, "%s: IDs go on increasing when a generator is opened again", name);
}

int main(void) {
    all_presets();
    goes_on("sonyflake");
    goes_on("discord");
    return done_testing();
}
