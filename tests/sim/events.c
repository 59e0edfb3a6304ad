/* SPDX-License-Identifier: MIT */
/*
 * events.c - the faults of a run as a list, which can be written, changed and played again.
 *
 *   # a comment
 *   --seed=1 --world=all --kinds=brief …     options of the run (sim.c)
 *   72.5s kill_one host=3 process=0          when, what, and what was drawn for it
 *
 * A fault draws from the stream of faults, and so does what follows from it later; each number
 * drawn is an argument of its event. When a list is played, arguments come from there; one that is
 * missing is drawn. What the network does to a segment is an event, too: it befalls the first
 * segment of that host from that time on. What threads draw is no part of the list.
 */
#include "sim.h"

struct event *acting;
static struct events played;
static bool plays, records;
static const char *next_name;

bool events_are_played(void) { return plays; }

struct event *list_add(struct events *l) {
    if (l->n == l->room)
        l->event = realloc(l->event, (l->room = 2 * l->room + 64) * sizeof *l->event);
    if (l->event == NULL)
        broken("no memory");
    return memset(&l->event[l->n++], 0, sizeof *l->event);
}

/* ---- text ------------------------------------------------------------------------------ */

static void print_span(FILE *to, int64_t ns) {
    char text[40];
    int n = snprintf(text, sizeof text, "%" PRId64 ".%09" PRId64, ns / SECOND, ns % SECOND);
    while (text[n - 1] == '0')
        n--;
    n -= text[n - 1] == '.';
    fprintf(to, "%.*ss", n, text);
}

static int64_t read_span(const char *text) {
    char *end;
    int64_t ns = strtoll(text, &end, 10) * SECOND, digit = SECOND / 10;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, digit /= 10)
            ns += (*end - '0') * digit;
    if (strcmp(end, "s") != 0)
        broken("%s is no time", text);
    return ns;
}

void event_print(FILE *to, const struct event *e) {
    print_span(to, e->at);
    fprintf(to, " %s", e->kind);
    for (unsigned i = 0; i < e->arguments; i++) {
        fprintf(to, " %s=", e->argument[i].name);
        if (e->argument[i].is == ARGUMENT_SPAN)
            print_span(to, e->argument[i].value);
        else if (e->argument[i].is == ARGUMENT_COIN)
            fputs(e->argument[i].value ? "yes" : "no", to);
        else
            fprintf(to, "%" PRId64, e->argument[i].value);
    }
    for (const char *line = e->told; *line;) {
        const size_t n = strcspn(line, "\n");
        fprintf(to, "%s# %.*s", line == e->told ? "  " : "\n    ", (int)n, line);
        line += n + (line[n] == '\n');
    }
    putc('\n', to);
}

static void read_argument(struct event *e, const char *word) {
    const char *value = strchr(word, '=');
    if (value == NULL || value - word >= WORD || e->arguments == ARGUMENTS)
        broken("what is %s?", word);
    snprintf(e->argument[e->arguments].name, WORD, "%.*s", (int)(value - word), word);
    const bool is_coin = strcmp(++value, "yes") == 0 || strcmp(value, "no") == 0;
    const enum argument is = is_coin              ? ARGUMENT_COIN
                             : strchr(value, 's') ? ARGUMENT_SPAN
                                                  : ARGUMENT_COUNT;
    e->argument[e->arguments].is = is;
    e->argument[e->arguments++].value = is == ARGUMENT_COIN   ? *value == 'y'
                                        : is == ARGUMENT_SPAN ? read_span(value)
                                                              : strtoll(value, NULL, 10);
}

static void read_line(struct events *l, char *line) {
    char *word = strtok(line, " \n");
    if (word == NULL || *word == '#')
        return;
    if (*word == '-') {
        for (; word; word = strtok(NULL, " \n"))
            setting_take(word);
        return;
    }
    struct event *e = list_add(l);
    e->at = read_span(word);
    word = strtok(NULL, " \n");
    snprintf(e->kind, sizeof e->kind, "%s", word ? word : "");
    while ((word = strtok(NULL, " \n")) != NULL && *word != '#')
        read_argument(e, word);
}

void list_read(struct events *l, const char *path) {
    FILE *f = fopen(path, "r");
    char line[4096];
    if (f == NULL)
        broken("%s: %s", path, strerror(errno));
    l->n = 0;
    while (fgets(line, sizeof line, f))
        read_line(l, line);
    fclose(f);
    for (unsigned i = 1; i < l->n; i++)
        for (unsigned k = i; k && l->event[k - 1].at > l->event[k].at; k--) {
            const struct event e = l->event[k];
            l->event[k] = l->event[k - 1];
            l->event[k - 1] = e;
        }
}

/* ---- what happens ------------------------------------------------------------------------ */

void argument_is_called(const char *name) { next_name = name; }

int64_t event_argument(enum argument is, int64_t drawn, int64_t n) {
    static const char *const usual[] = {
        [ARGUMENT_COUNT] = "n", [ARGUMENT_SPAN] = "for", [ARGUMENT_COIN] = "coin"};
    struct event *e = acting;
    const char *name = next_name ? next_name : usual[is];
    unsigned i = e->taken;
    next_name = NULL;
    while (i < e->arguments && strcmp(e->argument[i].name, name) != 0)
        i++;
    if (e->taken == ARGUMENTS)
        broken("%s draws too often", e->kind);
    const bool is_listed = i < e->arguments;
    const int64_t value = plays && is_listed ? e->argument[i].value : drawn;
    if (!is_listed)
        i = e->arguments < ARGUMENTS ? e->arguments++ : ARGUMENTS - 1;
    for (; i > e->taken; i--) /* those that were left out come later, or not */
        e->argument[i] = e->argument[i - 1];
    snprintf(e->argument[i].name, WORD, "%s", name);
    e->argument[i].is = is;
    e->argument[i].value = value < n ? value : n - 1;
    return e->argument[e->taken++].value;
}

void event_says(const char *format, va_list ap) {
    const size_t n = strlen(acting->told);
    char text[TOLD];
    vsnprintf(text, sizeof text, format, ap);
    snprintf(acting->told + n, TOLD - n, "%s%.3f %s", n ? "\n" : "", (double)now_ns / 1e9, text);
}

static void happen(struct event *e) {
    acting = e;
    e->happened = true;
    fault_happens(e->kind);
    acting = NULL;
}

/* It stays where it is: what follows from it knows it. */
static struct event *event_new(const char *kind, int64_t at) {
    struct event *e = memory(sizeof *e);
    e->at = at;
    snprintf(e->kind, sizeof e->kind, "%s", kind);
    return e;
}

static struct event **recorded;
static unsigned recorded_n;

static void record(struct event *e) {
    if (recorded_n % 1024 == 0)
        recorded = realloc(recorded, (recorded_n + 1024) * sizeof(struct event *));
    if (recorded == NULL)
        broken("no memory");
    recorded[recorded_n++] = e;
}

static void play(void *arg) {
    struct event *e = arg;
    record(e);
    happen(e);
}

void event_now(const char *kind) {
    if (records)
        play(event_new(kind, due_ns));
    else
        fault_happens(kind);
}

bool is_of_network(const char *kind) {
    return strcmp(kind, "late") == 0 || strcmp(kind, "half_answer") == 0 ||
           strcmp(kind, "no_answer") == 0;
}

/* Of several at one time each is a nanosecond behind the one before. */
static int64_t segment_at(int where) {
    static int64_t last[HOSTS], n[HOSTS];
    n[where] = last[where] == now_ns ? n[where] + 1 : 0;
    last[where] = now_ns;
    return now_ns + n[where];
}

static int64_t listed_at_segment(int where, const char *kind, int64_t at) {
    static unsigned from;
    while (from < played.n &&
           (played.event[from].happened || !is_of_network(played.event[from].kind)))
        from++;
    for (unsigned i = from; i < played.n && played.event[i].at <= at; i++) {
        struct event *e = &played.event[i];
        if (e->happened || strcmp(e->kind, kind) != 0 || e->arguments != 2 ||
            e->argument[0].value != where)
            continue;
        e->happened = true;
        e->taken = 2;
        record(e);
        return e->argument[1].value;
    }
    return -1;
}

int64_t event_at_segment(int where, const char *kind, enum argument is, int64_t drawn) {
    const int64_t at = segment_at(where);
    if (plays)
        return listed_at_segment(where, kind, at);
    if (records && drawn >= 0) {
        struct event *e = event_new(kind, at);
        record(e);
        acting = e;
        argument_is_called("host");
        event_argument(ARGUMENT_COUNT, where, HOSTS);
        event_argument(is, drawn, INT64_MAX);
        acting = NULL;
    }
    return drawn;
}

/* ---- a run that plays a list, or makes one
 * ---------------------------------------------------- */

void events_read(const char *path) {
    plays = true;
    list_read(&played, path);
}

void events_begin(bool recorded_too) {
    records = recorded_too;
    for (unsigned i = 0; i < played.n; i++)
        if (!is_of_network(played.event[i].kind))
            at_time(played.event[i].at, play, &played.event[i]);
}

void events_write(const char *path, const char *why) {
    FILE *f = fopen(path, "w");
    if (f == NULL)
        broken("%s: %s", path, strerror(errno));
    fprintf(f, "# %s\n", why);
    settings_print(f);
    for (unsigned i = 0; i < recorded_n; i++) {
        recorded[i]->arguments = recorded[i]->taken;
        event_print(f, recorded[i]);
    }
    if (fclose(f) != 0)
        broken("%s: %s", path, strerror(errno));
}
