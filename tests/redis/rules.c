/* SPDX-License-Identifier: MIT */
/*
 * Takes each rule out of the lease script (rules.h) and shows that a test finds it missing: one
 * that goes by the rule, and for those without which two leases get the same tick also the random
 * games. The script as it is passes them all.
 *
 * Sizes: one server, the tests that take no more than seconds, up to 600 games for rules that take
 * few; with the script as it is 60 games. Long: all tests, each server installed, and 2000; with
 * the first of them up to 10000 for all rules. Some take thousands, which are the same games with
 * the next server.
 *
 *   rules --edited NAME   prints the script without that rule: tests/sh/sim-edits.test runs it in
 *                         the simulation
 */
#include "support/app.h"
#include "rules.h"

#include <libgen.h>

enum { PASSED, FOUND, OTHER };

static char tests_dir[1000];

/* ---- edits ---------------------------------------------------------------- */

/* The script with the rule taken out; NULL when it does not have the text exactly once. For
 * free(). */
static char *without(const struct rule *rule) {
    const char *script = app_script(), *at = strstr(script, rule->from);
    char *edited = NULL;
    if (!at || strstr(at + 1, rule->from))
        return NULL;
    need(asprintf(&edited, "%.*s%s%s", (int)(at - script), script, rule->to,
                  at + strlen(rule->from)) >= 0,
         "out of memory");
    return edited;
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "we");
    need(f && fputs(text, f) != EOF && fclose(f) != EOF, "%s: %s", path, strerror(errno));
}

/* An edit that no server can run would be found by anything. */
static bool still_runs(struct redis *r, const char *script) {
    static const char *const ops[] = {"look", "init", "claim", "renew", "look", "release"};
    struct app a = app_new(r);
    a.script = script;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (app_say(&a, ops[i], strcmp(ops[i], "init") == 0 ? "" : "0", "n", "m:0:A", "n1",
                    "1000010", "1000010", NULL)[0] == '-')
            return false;
    return true;
}

/* ---- runs ----------------------------------------------------------------- */

/* The random games end with the first tick granted twice. So many are enough for each rule. */

static const char *games(void) { return getenv("SFID_TEST_LONG") ? "10000" : "600"; }

static void run(const char *test, const char *script, const char *server, const char *output) {
    char path[1100];
    const int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(out, 1);
    snprintf(path, sizeof path, "%s/%s", tests_dir, test);
    setenv("SFID_TEST_SCRIPT", script, 1);
    setenv("SFID_TEST_SERVERS", server, 1);
    setenv("SFID_TEST_GAMES", games(), 0);
    setenv("SFID_TEST_FIRST_FAILURE", "1", 1);
    execl(path, path, (char *)NULL);
    _exit(126);
}

/* Runs one of the tests with that script. said: what failed first. */
static int outcome(const char *test, const char *script, const char *server, char *said,
                   size_t size) {
    char output[4200], line[600];
    int status;
    snprintf(output, sizeof output, "%s/output", tap_tmpdir());
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        run(test, script, server, output);
    need(child >= 0 && waitpid(child, &status, 0) == child, "fork: %s", strerror(errno));
    FILE *f = fopen(output, "re");
    snprintf(said, size, "nothing");
    bool failed = false;
    while (f && !failed && fgets(line, sizeof line, f)) {
        failed = strncmp(line, "not ok", 6) == 0;
        if (failed)
            snprintf(said, size, "%.*s", (int)strcspn(line, "\n"), line);
    }
    if (f)
        fclose(f);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PASSED;
    return failed && WIFEXITED(status) && WEXITSTATUS(status) == 1 ? FOUND : OTHER;
}

static void found_by(const struct rule *rule, const char *test, const char *script,
                     const char *server) {
    char said[300];
    const int64_t begin = tap_now_ms();
    const int how = outcome(test, script, server, said, sizeof said);
    if (ok(how == FOUND, "without \"%s\" %s fails", rule->name, test))
        diag("%s: %s (%" PRId64 " ms)", server, said, tap_now_ms() - begin);
    else
        diag("%s: %s", server, how == PASSED ? "it passed" : "it did not come to its end");
}

static void taken_out(struct redis *r, const struct rule *rule, bool late) {
    char path[4200];
    char *edited = without(rule);
    snprintf(path, sizeof path, "%s/script", tap_tmpdir());
    if (ok(edited != NULL && still_runs(r, edited), "the script has \"%s\" once, and runs without",
           rule->name)) {
        write_file(path, edited);
        found_by(rule, rule->test, path, r->program);
        if (rule->games == SOON || (rule->games == LATE && late))
            found_by(rule, "chaos", path, r->program);
    }
    free(edited);
}

/* Its test is left to the long form. */
static void could_be_taken_out(const struct rule *rule) {
    char *edited = without(rule);
    ok(edited != NULL, "the script has \"%s\" once", rule->name);
    free(edited);
}

static bool is_slow(const char *test) {
    return strcmp(test, "many") == 0 && getenv("SFID_TEST_LONG") == NULL;
}

static void as_it_is(struct redis *r) {
    static const char *const tests[] = {"chaos",  "claim",        "forget", "many", "operator",
                                        "refuse", "registration", "renew",  "short"};
    char path[4200], said[300];
    snprintf(path, sizeof path, "%s/script", tap_tmpdir());
    write_file(path, app_script());
    setenv("SFID_TEST_GAMES", getenv("SFID_TEST_LONG") ? "2000" : "60", 1);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (!is_slow(tests[i]) &&
            !ok(outcome(tests[i], path, r->program, said, sizeof said) == PASSED,
                "%s: with all rules %s passes", r->program, tests[i]))
            diag("%s", said);
    unsetenv("SFID_TEST_GAMES");
}

static void test(struct redis *r) {
    static bool once;
    const char *only = getenv("SFID_TEST_RULE");
    const bool is_long = getenv("SFID_TEST_LONG") != NULL, late = is_long && !once;
    if (once && !is_long)
        return;
    once = true;
    as_it_is(r);
    for (size_t i = 0; i < RULES; i++)
        if (only ? strcmp(only, rules[i].name) == 0 : !is_slow(rules[i].test))
            taken_out(r, &rules[i], late);
        else if (only == NULL)
            could_be_taken_out(&rules[i]);
}

static int print_without(const char *name) {
    const struct rule *rule = rules;
    while (rule < rules + RULES && strcmp(name, rule->name) != 0)
        rule++;
    char *edited = rule < rules + RULES ? without(rule) : NULL;
    const bool printed = edited && fputs(edited, stdout) != EOF;
    free(edited);
    return !printed;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--edited") == 0)
        return print_without(argv[2]);
    snprintf(tests_dir, sizeof tests_dir, "%s", dirname(argv[0]));
    return for_each_server(REDIS_CLOCK, test);
}
