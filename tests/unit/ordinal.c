/* SPDX-License-Identifier: MIT */
/* The text of the store "ordinal:": where it looks for the number, which texts have one, what is
 * refused and in which words. */
#include "lease/options.h"
#include "lease/store.h"
#include "support/tap.h"

#include <sched.h>

static struct sfid__settings out;
static struct sfid__error err;

/* Reads into out, which lets go what was read before. */
static int read_options(const sfid_options *o) {
    sfid__options_end(&out);
    return sfid__options_read(o, &out, &err);
}
static sfid_options opt;
static char file[] = "/tmp/sfid-ordinal-XXXXXX";

static int read_store(const char *text) {
    opt.store = text;
    return read_options(&opt);
}

static void begin(void) {
    opt = (sfid_options)SFID_OPTIONS_INIT;
    opt.app = "orders";
}

/* The pid that a store means, or the error. */
static int64_t pid_of(const char *text) {
    const int rc = read_store(text);
    return rc < 0 ? rc : out.opt.pid;
}

static void refuses(const char *text, const char *words, const char *name) {
    const int rc = read_store(text);
    if (!ok(rc == SFID_EINVAL && strstr(err.text, words), "%s is refused", name))
        diag("%d: %s", rc, rc < 0 ? err.text : "accepted");
}

static void set(const char *value) { need(setenv("SFID_TEST_ORDINAL", value, 1) >= 0, "setenv"); }

#define ENV "ordinal:env=SFID_TEST_ORDINAL"

/* ---- which texts have a number --------------------------------------------- */

static void numbers(void) {
    static const struct {
        const char *text;
        int64_t pid;
    } good[] = {{"0", 0},      {"3", 3},        {"2047", 2047},  {"007", 7},
                {"app-3", 3},  {"app-0", 0},    {"a-b-12", 12},  {"web-7-2047", 2047},
                {"app--5", 5}, {"app-010", 10}, {"my.app-3", 3}, {"1-2", 2}};
    static const char *const bad[] = {"",
                                      "app",
                                      "app3",
                                      "-3",
                                      "app-",
                                      "app-3a",
                                      "app-3 ",
                                      " 3",
                                      "+3",
                                      "3.5",
                                      "0x3",
                                      "-",
                                      "3-",
                                      "app_3",
                                      "app-3-",
                                      "3\n",
                                      "app-\xd9\xa3",
                                      "app-7d9f8b6c5d-bcd12",
                                      "4f0c1a2b3c4d"};
    for (size_t i = 0; i < COUNT(good); i++) {
        set(good[i].text);
        is_i64(pid_of(ENV), good[i].pid, "\"%s\" is pid %" PRId64, good[i].text, good[i].pid);
        ok(out.store == &sfid__store_ordinal && out.elsewhere, "and may have been used elsewhere");
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        set(bad[i]);
        refuses(ENV, "is no number, and no name that ends in one, such as app-3", bad[i]);
        ok(strstr(err.text, "$SFID_TEST_ORDINAL \"") != NULL, "it says where it looked: %s",
           err.text);
    }
    char longest[400];
    memset(longest, 'a', sizeof longest);
    memcpy(longest + 253, "-3", 3);
    set(longest);
    is_i64(pid_of(ENV), 3, "a name of 255 bytes");
    memcpy(longest + 253, "a-3", 4);
    set(longest);
    refuses(ENV, "is no number", "a name of 256 bytes");
    memcpy(longest + 254, "-2048", 6);
    set(longest);
    refuses(ENV, "is no number", "a name that would be a number if it were cut");
}

static void ranges(void) {
    set("app-2048");
    refuses(ENV,
            "$SFID_TEST_ORDINAL \"app-2048\" is out of range; expected a number from 0 to 2047",
            "a number that no pid has");
    set("18446744073709551619");
    refuses(ENV, "\"18446744073709551619\" is out of range", "one beyond 64 bits");
    set("9223372036854775808");
    refuses(ENV, "is out of range", "one beyond 63 bits");
    set("7");
    refuses(ENV "?pid_min=8", "expected a number from 8 to 2047", "one below the store's range");
    refuses(ENV "?pid_min=2&pid_max=6", "expected a number from 2 to 6",
            "one above the store's range");
    is_i64(pid_of(ENV "?pid_min=7&pid_max=7"), 7, "one within it");
    opt.pid_min = 1, opt.pid_max = 6;
    refuses(ENV, "expected a number from 1 to 6", "one above the range of the options");
    opt.pid_max = 7;
    is_i64(pid_of(ENV), 7, "one within it");
    begin();
    sfid_layout icicle;
    need(sfid_layout_parse("icicle", &icicle) >= 0, "icicle");
    opt.layout = &icicle;
    set("0");
    refuses(ENV, "expected a number from 1 to", "pid 0 where the layout's makers begin at 1");
    begin();
}

/* ---- where the number is --------------------------------------------------- */

static void write_file(const char *bytes, size_t n) {
    const int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    need(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && close(fd) >= 0, "%s: %s", file,
         strerror(errno));
}

static void files(void) {
    char store[100], long_name[260];
    snprintf(store, sizeof store, "ordinal:file=%s", file);
    write_file("app-5\n", 6);
    is_i64(pid_of(store), 5, "a file, with a newline at its end");
    write_file("5", 1);
    is_i64(pid_of(store), 5, "and without");
    write_file("5\n\n", 3);
    refuses(store, "is no number", "two newlines");
    write_file("", 0);
    refuses(store, "is no number", "an empty file");
    memset(long_name, 'a', sizeof long_name);
    memcpy(long_name + 253, "-3\n", 3);
    write_file(long_name, 256);
    is_i64(pid_of(store), 3, "255 bytes and a newline");
    memcpy(long_name + 253, "a-2048", 6);
    write_file(long_name, 259);
    refuses(store, "is no number", "a file that would be a number if it were cut");
    refuses("ordinal:file=/nowhere/ordinal", "/nowhere/ordinal cannot be opened: No such file",
            "a file that is not there");
    refuses("ordinal:file=/usr", "/usr is not a regular file", "a directory");
    refuses("ordinal:file=/dev/zero", "/dev/zero is not a regular file", "a device");
    unlink(file);
    need(mkfifo(file, 0600) >= 0, "mkfifo: %s", strerror(errno));
    refuses(store, "is not a regular file", "a pipe without a writer, at once,");
    char *path = malloc(5000);
    need(path != NULL, "malloc");
    memset(path, '/', 4999);
    memcpy(path, "ordinal:file=", 13);
    path[4999] = '\0';
    refuses(path, "longer than", "a path beyond all paths");
    free(path);
}

static void places(void) {
    refuses("ordinal:host",
            "\"host\" names no place; expected ordinal:, ordinal:env=NAME or ordinal:file=/PATH",
            "another place");
    refuses("ordinal:env=", "names no place", "no variable");
    refuses("ordinal:file=x", "names no place", "a relative path");
    refuses("ordinal:file=", "names no place", "no path");
    refuses("ordinal://", "names no place", "slashes");
    refuses("ordinal:\x1b[2J", "\"?[2J\" names no place", "a control character");
    refuses("ordinal",
            "unknown store \"ordinal\"; expected \"local\", \"ordinal:\", \"pool:\" or the URL",
            "no colon");
    unsetenv("SFID_TEST_ORDINAL");
    refuses(ENV, "$SFID_TEST_ORDINAL is not set", "a variable that is not set");
    set("3");
    opt.pid = 3;
    refuses(ENV, "pid 3 and a store are both given", "a pid beside the store");
    begin();
    opt.app = NULL;
    refuses(ENV, "app is not given", "no app");
    begin();
}

static void parameters(void) {
    set("3");
    is_i64(pid_of(ENV "?mark=none&lead_ms=500&share=1"), 3, "parameters of the local store");
    ok(!out.synced && out.lead_ms == 500 && out.shared, "are those of the local store");
    refuses(ENV "?", "store \"ordinal:\": bad parameter \"\"", "an empty parameter");
    refuses(ENV "?replicas=1",
            "store \"ordinal:\": bad parameter \"replicas=1\"; expected mark=none",
            "one of a server");
    refuses(ENV "?pid_min=3&pid_min=3", "store \"ordinal:\": parameter \"pid_min\" is given twice",
            "one given twice");
    is_i64(pid_of("local"), -1, "the local store");
    ok(!out.elsewhere, "is of this host alone");
}

/* The name may be set in a namespace of its own only. */
static void hostname(void) {
    static const struct {
        const char *name;
        int64_t pid;
    } names[] = {{"app-3", 3}, {"app-12.orders.svc.cluster.local", 12}, {"3", 3}};
    if (unshare(CLONE_NEWUTS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWUTS) < 0) {
        skip(6, "cannot make a UTS namespace here");
        return;
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        need(sethostname(names[i].name, strlen(names[i].name)) >= 0, "sethostname: %s",
             strerror(errno));
        is_i64(pid_of("ordinal:"), names[i].pid, "host %s is pid %" PRId64, names[i].name,
               names[i].pid);
    }
    is_i64(pid_of("ordinal:?lead_ms=500"), 3, "with a parameter");
    sethostname("node.zone-3", 11);
    refuses("ordinal:", "hostname \"node\" is no number", "a number in the domain alone");
    sethostname("web", 3);
    refuses("ordinal:", "hostname \"web\" is no number", "a name without a number");
}

int main(void) {
    const int fd = mkstemp(file);
    need(fd >= 0, "mkstemp: %s", strerror(errno));
    close(fd);
    begin();
    numbers();
    ranges();
    files();
    places();
    parameters();
    hostname();
    unlink(file);
    return done_testing();
}
