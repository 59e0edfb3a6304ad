/* SPDX-License-Identifier: MIT */
/* The text of a pool: ranges, users, what is refused and in which words; the settings of each
 * server; whose slots fit. */
#include "lease/options.h"

#include "lease/store.h"
#include "support/tap.h"

static struct sfid__settings out;
static struct sfid__error err;

/* Reads into out, which lets go what was read before. */
static int read_options(const sfid_options *o) {
    sfid__options_end(&out);
    return sfid__options_read(o, &out, &err);
}
static sfid_options opt;

static int read_pool(const char *text) {
    opt.store = text;
    return read_options(&opt);
}

static void begin(void) {
    opt = (sfid_options)SFID_OPTIONS_INIT;
    opt.app = "orders";
}

/* Refused, with a sentence that has these words and no password. */
static void refuses(const char *text, const char *words, const char *name) {
    const int rc = read_pool(text);
    if (!ok(rc == SFID_EINVAL && strstr(err.text, words), "%s is refused", name))
        diag("%d: %s", rc, rc < 0 ? err.text : "accepted");
    ok(rc == 0 || strstr(err.text, "sesame") == NULL, "%s: no password is shown", name);
}

#define A "redis://a:sesame@one:7000/2"
#define B "redis://b:sesame@two/0"
#define C "redis://c:sesame@three/0"

static void reads(void) {
    is_i64(read_pool("pool:1-682=" A " 683-1364=" B "  1365-2047=" C), 0, "three ranges");
    ok(out.store == &sfid__store_pool && out.opt.pid_min == 1 && out.opt.pid_max == 2047,
       "the pool has the pids of all");
    is_u64(sfid__options_servers(&out), 3, "it counts its servers");
    const struct sfid__settings *part = sfid__options_server(&out, 1);
    ok(part->store == &sfid__store_redis && part->opt.pid_min == 683 && part->opt.pid_max == 1364,
       "the second has its own range");
    ok(part->lends_range, "which its server lends, and no other pids");
    ok(strcmp(part->uri->user, "b") == 0 && strcmp(part->uri->node[0].host, "two") == 0,
       "and its own URL");
    ok(part->window_ms == 600000 && out.window_ms == 600000 && out.short_ms == 30000 &&
           out.short_every == 8,
       "all have the same windows");
    sfid__options_widen(&out);
    is_i64(part->opt.pid_max, 1364, "who looks at one server asks for its range only");
    is_i64(read_pool("pool:5-9=" B " 1-2=" A), 0, "ranges in another order, with a gap");
    ok(out.opt.pid_min == 1 && out.opt.pid_max == 9,
       "the pool's pids go from the lowest to the highest");
    is_i64(read_pool("pool:7-7=" A " 8-8=" B " "), 0, "ranges of one pid, and a space at the end");
    is_i64(read_pool(A), 0, "one URL");
    is_u64(sfid__options_servers(&out), 1, "is one server");
    ok(sfid__options_server(&out, 0) == &out, "whose settings are those of all");
}

static void refuses_ranges(void) {
    refuses("pool:", "0 ranges are given; a pool has at least two", "no range");
    refuses("pool:1-9=" A, "1 range is given", "one range");
    refuses("pool:1-9=" A " 9-12=" B, "ranges 1-9 and 9-12 overlap", "a pid in two ranges");
    refuses("pool:5-6=" A " 1-12=" B, "overlap", "a range inside another");
    refuses("pool:1-9=" A " 1-9=" B, "overlap", "the same range twice");
    refuses("pool:1-9=" A " 20-30=" B " 9-10=" C, "ranges 1-9 and 9-10 overlap",
            "the third overlapping the first");
    static const char *const bad[] = {
        "9-1=" A,     "1=" A,  "-9=" A, "1-=" A, "x-9=" A,  "1-9x=" A, "1-65536=" A,
        "+1-9=" A,    "1-9=",  "1-9",   A,       "1-9 =" A, "1--9=" A, "1-18446744073709551617=" A,
        "1-9==" A "", "1-9;" A};
    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[200];
        snprintf(text, sizeof text, "pool:%s 10-12=%s", bad[i], B);
        if (!ok(read_pool(text) == SFID_EINVAL, "\"%.60s\" is no range", bad[i]))
            diag("accepted as %" PRId64 " to %" PRId64, out.opt.pid_min, out.opt.pid_max);
    }
    refuses("pool:9-1=" A " 10-12=" B, "MIN-MAX=URL, with pids up to 65535",
            "a range that goes down");
    refuses("pool:1-9=" A " 10-2048=" B, "2048", "a pid that the layout does not have");
    opt.pid_min = 3, opt.pid_max = 5;
    refuses("pool:1-9=" A " 10-12=" B, "differ from the pool", "a range in the options as well");
    begin();
}

static void refuses_urls(void) {
    refuses("pool:1-9=" A " 10-12=redis://two/0", "range 10-12: the URL has no user",
            "a URL without a user");
    refuses("pool:1-9=" A " 10-12=redis://:sesame@two/0", "has no user",
            "a password without a user");
    refuses("pool:1-9=" A " 10-12=redis://a:other@two/0", "two ranges have the user a;",
            "one user for two ranges");
    refuses("pool:1-9=" A " 10-12=" B " 13-14=redis://a:x@three", "two ranges have the user a;",
            "the third with the first one's");
    refuses("pool:1-9=" A "?pid_min=1 10-12=" B, "pids, pid_min and pid_max belong before the URL",
            "pid_min in a URL");
    refuses("pool:1-9=" A "?pids=1-9 10-12=" B, "pids, pid_min and pid_max belong before the URL",
            "pids in a URL");
    refuses("pool:1-9=" A " 10-12=" B "?pid_max=12",
            "range 10-12: pids, pid_min and pid_max belong", "pid_max in a URL");
    refuses("pool:1-9=" A " 10-12=" B "?nonsense=1", "range 10-12: ", "an unknown parameter");
    refuses("pool:1-9=" A " 10-12=local", "range 10-12: ", "the local store as a member");
    refuses("pool:1-9=" A " 10-12=pool:1-2=" B, "range 10-12: ", "a pool in a pool");
    refuses("pool:1-9=" A "?registration=off 10-12=" B, "registration differs",
            "registration off in one only");
    char text[6000];
    memset(text, 'x', sizeof text);
    const int n = snprintf(text, sizeof text, "pool:1-9=%s 10-12=redis://b:sesame@", A);
    text[n] = 'x';
    text[5500] = '\0';
    refuses(text, "range 10-12: the URL is too long", "a URL of 5000 characters");
}

static void counts(void) {
    char text[4000] = "pool:";
    size_t used = strlen(text);
    for (unsigned i = 0; i < 17; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%u-%u=redis://u%u:sesame@h%u/0 ",
                                 i * 10, i * 10 + 9, i, i);
        if (i != 15)
            continue;
        is_i64(read_pool(text), 0, "sixteen ranges");
        is_u64(sfid__options_servers(&out), 16, "are sixteen servers");
        is_str(sfid__options_server(&out, 15)->uri->user, "u15", "the last one has its user");
    }
    refuses(text, "more than 16 ranges", "a seventeenth");
}

static uint64_t pages(const char *text) {
    need(read_pool(text) >= 0, "%s: %s", text, err.text);
    return out.of_pages;
}

/* A slot is continued only by who has the same list: the pid in it names the server. */
static void fingerprints(void) {
    const uint64_t usual = pages("pool:1-9=" A " 10-12=" B);
    ok(usual != out.fingerprint, "a pool's slots are not those of one server");
    ok(pages("pool:1-9=redis://a:sesame@one:7000/2 10-12=redis://b:another@two/0") == usual,
       "another password is the same list");
    ok(pages("pool:1-9=" A " 10-13=" B) != usual, "another range is another list");
    ok(pages("pool:1-9=" B " 10-12=" A) != usual, "so are servers exchanged");
    ok(pages("pool:1-9=redis://a:sesame@one:7001/2 10-12=" B) != usual, "another port");
    ok(pages("pool:1-9=redis://a:sesame@one:7000/3 10-12=" B) != usual, "another database");
    ok(pages("pool:1-9=" A " 10-12=" B " 13-14=" C) != usual, "a server more");
}

int main(void) {
    begin();
    reads();
    refuses_ranges();
    refuses_urls();
    counts();
    fingerprints();
    return done_testing();
}
