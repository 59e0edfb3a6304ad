/* SPDX-License-Identifier: MIT */
/*
 * shrink.c - a run that fails becomes a short list of events, with which the same check fails.
 *
 * What befell the fleet is recorded as a list (events.c). Events are left out, many at once and
 * then one by one; then hosts and processes; then times move to rounder and earlier ones. What
 * still fails in the same way stays. What threads draw is not in the list, so after a change a run
 * has other luck: each change is tried with a few salts. The number of runs has a limit, so that
 * one run on any machine ends with the same list.
 */
#include "sim.h"

#include <sys/wait.h>
#include <unistd.h>

#define MINUTE (60 * SECOND)
enum { RUNS = 600, SALTS = 3, WORDS = 20, SORT = 40, LINE = 8192, STORY = 40 };

struct state {
    struct events list;
    struct settings with;
};
static struct state best;
static char sort[SORT], try_path[512];
static const char *out_path;
static unsigned runs;
static int64_t failed_at;

/* ---- runs ------------------------------------------------------------------------------ */

/* The words by which a check begins what it says. */
static void sort_of(const char *said, char *to) {
    size_t n = 0;
    while (n + 1 < SORT && ((said[n] >= 'A' && said[n] <= 'Z') || said[n] == ' '))
        n++;
    while (n && said[n - 1] == ' ')
        n--;
    snprintf(to, SORT, "%.*s", (int)n, said);
}

static void copy_list(struct events *to, const struct events *from) {
    to->n = 0;
    for (unsigned i = 0; i < from->n; i++)
        *list_add(to) = from->event[i];
}

static void write_list(const struct state *s) {
    FILE *f = fopen(try_path, "w");
    if (f == NULL)
        broken("%s: %s", try_path, strerror(errno));
    settings = s->with;
    settings_print(f);
    for (unsigned i = 0; i < s->list.n; i++)
        event_print(f, &s->list.event[i]);
    if (fclose(f) != 0)
        broken("%s: %s", try_path, strerror(errno));
}

static FILE *start(const char *const *words, pid_t *child) {
    int out[2];
    char library[600], redis[600], script[600];
    const char *argv[WORDS + 4] = {"sim"};
    size_t n = 1;
    snprintf(library, sizeof library, "--library=%s", best.with.library);
    snprintf(redis, sizeof redis, "--redis=%s", best.with.redis);
    snprintf(script, sizeof script, "--script=%s", best.with.planted ? best.with.planted : "");
    for (; *words; words++)
        argv[n++] = *words;
    argv[n++] = library;
    argv[n++] = redis;
    if (best.with.planted)
        argv[n++] = script;
    if (pipe(out) != 0 || (*child = fork()) < 0)
        broken("no child: %s", strerror(errno));
    if (*child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        close(out[0]);
        execv("/proc/self/exe", (char *const *)argv);
        _exit(127);
    }
    close(out[1]);
    return fdopen(out[0], "r");
}

/* Does it fail? `to` gets the sort. What the run says goes to `said`, if there is one. */
static bool fails(const char *const *words, char *to, FILE *said) {
    static char line[LINE];
    pid_t child;
    FILE *from = start(words, &child);
    int64_t at = 0;
    runs++;
    *to = '\0';
    while (fgets(line, sizeof line, from)) {
        char *end;
        const double when = strtod(line, &end);
        if (*to == '\0' && end != line && *end == ' ')
            at = (int64_t)(when * 1e9);
        if (strncmp(line, "failed: ", 8) == 0)
            sort_of(line + 8, to);
        if (said)
            fputs(line, said);
    }
    fclose(from);
    waitpid(child, NULL, 0);
    if (*to)
        failed_at = at;
    return *to;
}

static bool fails_again(struct state *s) {
    char events[600], got[SORT];
    const char *const words[] = {events, NULL};
    const uint64_t salt = s->with.salt;
    snprintf(events, sizeof events, "--events=%s", try_path);
    for (unsigned i = 0; i < SALTS && runs < RUNS; i++) {
        s->with.salt = salt + i;
        write_list(s);
        if (fails(words, got, NULL) && strcmp(got, sort) == 0)
            return true;
    }
    s->with.salt = salt;
    return false;
}

/* The words of a run that plays no list. */
static const char *const *options_of(const char *record) {
    static char text[1000];
    static const char *words[WORDS];
    FILE *f = fopen(try_path, "r");
    size_t n = 0;
    if (f == NULL || fgets(text, sizeof text, f) == NULL)
        broken("%s: %s", try_path, strerror(errno));
    fclose(f);
    for (char *word = strtok(text, " \n"); word && n + 2 < WORDS; word = strtok(NULL, " \n"))
        words[n++] = word;
    words[n++] = record;
    words[n] = NULL;
    return words;
}

/* ---- changes ----------------------------------------------------------------------------- */

/* Behind the failure nothing counts. A run with other luck may fail a little later. */
static void cut_end(struct state *s) {
    unsigned n = 0;
    for (unsigned i = 0; i < s->list.n; i++)
        if (s->list.event[i].at <= failed_at)
            s->list.event[n++] = s->list.event[i];
    s->list.n = n;
    s->with.hours = (double)(failed_at + failed_at / 8 + MINUTE) / (double)(3600 * SECOND);
}

/* The change stays if it still fails. */
static bool keep_if_fails(struct state *s) {
    const bool kept = fails_again(s);
    if (kept) {
        cut_end(s);
        best.with = s->with;
        copy_list(&best.list, &s->list);
    }
    return kept;
}

static struct state *changed(void) {
    static struct state s;
    s.with = best.with;
    copy_list(&s.list, &best.list);
    return &s;
}

static bool drop(unsigned from, unsigned n) {
    struct state *s = changed();
    s->list.n = from;
    for (unsigned i = from + n; i < best.list.n; i++)
        *list_add(&s->list) = best.list.event[i];
    return keep_if_fails(s);
}

static bool drop_kind(const char *kind) {
    struct state *s = changed();
    s->list.n = 0;
    for (unsigned i = 0; i < best.list.n; i++)
        if (strcmp(best.list.event[i].kind, kind) != 0)
            *list_add(&s->list) = best.list.event[i];
    return s->list.n < best.list.n && keep_if_fails(s);
}

static bool drop_kinds(void) {
    bool any = false;
    for (unsigned i = 0; i < best.list.n;) {
        char kind[sizeof best.list.event->kind];
        memcpy(kind, best.list.event[i].kind, sizeof kind);
        const bool is_first = i == 0 || strcmp(best.list.event[i - 1].kind, kind) != 0;
        const bool dropped = is_first && drop_kind(kind);
        any |= dropped;
        i = dropped ? 0 : i + 1;
    }
    return any;
}

/* Halves, quarters, and so on to single events. */
static bool drop_parts(void) {
    bool any = false;
    for (unsigned n = (best.list.n + 1) / 2; n > 0; n = n == 1 ? 0 : (n + 1) / 2)
        for (unsigned i = 0; i < best.list.n;)
            if (drop(i, n < best.list.n - i ? n : best.list.n - i))
                any = true;
            else
                i += n;
    return any;
}

static int host_of(const struct event *e) {
    for (unsigned i = 0; i < e->arguments; i++)
        if (strcmp(e->argument[i].name, "host") == 0)
            return (int)e->argument[i].value;
    return -1;
}

static bool fewer_hosts(unsigned n) {
    struct state *s = changed();
    s->with.hosts = n;
    s->list.n = 0;
    for (unsigned i = 0; i < best.list.n; i++)
        if (host_of(&best.list.event[i]) < (int)n)
            *list_add(&s->list) = best.list.event[i];
    return keep_if_fails(s);
}

/* Those of the list become the first ones. */
static bool first_hosts(void) {
    struct state *s = changed();
    int place[HOSTS], used = 0;
    memset(place, -1, sizeof place);
    for (unsigned i = 0; i < s->list.n; i++)
        for (unsigned k = 0; k < s->list.event[i].arguments; k++)
            if (strcmp(s->list.event[i].argument[k].name, "host") == 0) {
                int64_t *h = &s->list.event[i].argument[k].value;
                if (place[*h] < 0)
                    place[*h] = used++;
                *h = place[*h];
            }
    s->with.hosts = used ? (unsigned)used : 1;
    return s->with.hosts < best.with.hosts && keep_if_fails(s);
}

static bool fewer_processes(unsigned n) {
    struct state *s = changed();
    s->with.per_host = n;
    return keep_if_fails(s);
}

static bool smaller_fleet(void) {
    bool any = first_hosts();
    for (unsigned n = 1; n < best.with.hosts; n++)
        if (fewer_hosts(n))
            any = true;
    for (unsigned n = 1; n < best.with.per_host; n++)
        if (fewer_processes(n))
            any = true;
    return any;
}

/* ---- times ----------------------------------------------------------------------------------- */

static int64_t rounded(int64_t ns, int64_t to) { return (ns + to / 2) / to * to; }

static void round_event(struct event *e, int64_t to) {
    e->at = rounded(e->at, to);
    for (unsigned i = 0; i < e->arguments; i++)
        if (e->argument[i].is == ARGUMENT_SPAN)
            e->argument[i].value = rounded(e->argument[i].value, to);
}

static bool is_round(const struct event *e, int64_t to) {
    struct event r = *e;
    round_event(&r, to);
    return memcmp(&r, e, sizeof r) == 0;
}

static bool is_sorted(const struct events *l) {
    for (unsigned i = 1; i < l->n; i++)
        if (l->event[i - 1].at > l->event[i].at)
            return false;
    return true;
}

static bool round_some(unsigned from, unsigned n, int64_t to) {
    struct state *s = changed();
    bool differs = false;
    for (unsigned i = from; i < from + n; i++) {
        differs |= !is_round(&s->list.event[i], to);
        round_event(&s->list.event[i], to);
    }
    return differs && is_sorted(&s->list) && keep_if_fails(s);
}

static bool rounder_times(void) {
    static const int64_t steps[] = {MINUTE, 10 * SECOND, SECOND};
    bool any = false;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        if (round_some(0, best.list.n, steps[k])) {
            any = true;
            break;
        }
        for (unsigned i = 0; i < best.list.n; i++)
            any |= !(k > 0 && is_round(&best.list.event[i], steps[k - 1])) &&
                   round_some(i, 1, steps[k]);
    }
    return any;
}

/* An event and all that come behind it. */
static bool earlier(unsigned from, int64_t by) {
    struct state *s = changed();
    for (unsigned i = from; i < s->list.n; i++)
        s->list.event[i].at -= by;
    return keep_if_fails(s);
}

static bool earlier_times(void) {
    bool any = false;
    for (unsigned i = 0; i < best.list.n; i++)
        for (int64_t left = 10 * SECOND; i < best.list.n; left *= 4) {
            const int64_t before = i ? best.list.event[i - 1].at : SECOND,
                          gap = best.list.event[i].at - before;
            if (gap <= left)
                break;
            if (earlier(i, rounded(gap - left, SECOND))) {
                any = true;
                break;
            }
        }
    return any;
}

/* ---- the whole
 * ---------------------------------------------------------------------------------- */

/* The pid that the check names, or the process. */
static const char *what_failed(FILE *said) {
    static char word[40];
    char line[LINE];
    int n;
    *word = '\0';
    rewind(said);
    while (*word == '\0' && fgets(line, sizeof line, said)) {
        const char *mine = strstr(line, "process "), *check = strstr(line, sort),
                   *pid = check ? strstr(check, " pid ") : NULL;
        if (check == NULL || (strncmp(line, "failed: ", 8) != 0 && mine == NULL))
            continue;
        if (pid && sscanf(pid, " pid %d", &n) == 1)
            snprintf(word, sizeof word, "pid %d", n);
        else if (mine && sscanf(mine, "process %d", &n) == 1)
            snprintf(word, sizeof word, "process %d", n);
    }
    return word;
}

static bool names(const char *line, const char *word) {
    const char *at = strstr(line, word);
    return at && (at[strlen(word)] < '0' || at[strlen(word)] > '9');
}

/* What befell it, as far as a reader can take it in. */
static void tell_story(FILE *out, FILE *said) {
    char line[LINE];
    const char *word = what_failed(said);
    unsigned n = 0, i = 0;
    rewind(said);
    while (fgets(line, sizeof line, said))
        n += names(line, word);
    fprintf(out, "#\n# What the run says of %s:\n", word);
    rewind(said);
    while (*word && fgets(line, sizeof line, said))
        if (names(line, word) && ++i + STORY > n)
            fprintf(out, "# %.*s\n", (int)strcspn(line, "\n"), line);
}

/* The list with what the run says about each event, and below it the story. */
static void tell(unsigned before) {
    char events[600], record[600], got[SORT];
    const char *const words[] = {events, record, "--trace", NULL};
    snprintf(events, sizeof events, "--events=%s", try_path);
    snprintf(record, sizeof record, "--record=%s", out_path);
    write_list(&best);
    FILE *said = tmpfile();
    if (said == NULL || !fails(words, got, said) || strcmp(got, sort) != 0)
        broken("the list that failed does not fail");
    FILE *out = fopen(out_path, "a");
    if (out == NULL)
        broken("%s: %s", out_path, strerror(errno));
    tell_story(out, said);
    fclose(said);
    if (fclose(out) != 0)
        broken("%s: %s", out_path, strerror(errno));
    unlink(try_path);
    printf("%s: %u events before, %u in %s; %u hosts with %u processes, %.0f s, %u runs\n", sort,
           before, best.list.n, out_path, best.with.hosts, best.with.per_host,
           (double)failed_at / 1e9, runs);
}

int shrink(const char *path) {
    char record[600];
    const struct settings with = settings;
    out_path = path;
    snprintf(try_path, sizeof try_path, "%s.try", path);
    snprintf(record, sizeof record, "--record=%s", path);
    best.with = with;
    write_list(&best); /* without events: the options of the run */
    if (!fails(options_of(record), sort, NULL)) {
        puts("no check fails");
        return 2;
    }
    settings = with;
    list_read(&best.list, path);
    best.with = settings;
    for (unsigned i = 0; i < best.list.n; i++)
        best.list.event[i].told[0] = '\0';
    const unsigned before = best.list.n;
    struct state *s = changed();
    cut_end(s);
    if (!keep_if_fails(s)) {
        printf("%s: a list of the %u events does not fail\n", sort, before);
        return 2;
    }
    for (bool again = true; again && runs < RUNS;) {
        drop_kinds();
        drop_parts();
        again = smaller_fleet();
        again |= rounder_times();
        again |= earlier_times();
    }
    tell(before);
    return 1;
}
