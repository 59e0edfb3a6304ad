/* SPDX-License-Identifier: MIT */
/*
 * orders.c - the library's memory orders, each held to a program that needs it.
 *
 *   orders DIRECTORY FILE…   the sources, FILE as in orders.h; prints TAP
 *
 *   1. The explorer knows the usual small programs (weak_litmus.c).
 *   2. orders.h has every place of the sources with an order stronger than
 *      relaxed, and no other.
 *   3. Each program holds with the orders that the sources have.
 *   4. With any of them one step weaker, a program fails, or orders_why.c says
 *      why the place keeps its order. It says so of no place that needs it.
 */
#include "orders.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 400, PROGRAMS = 100 };

struct place {
    const char *name, *file;
    int nth;
    const char *text;
};

static const struct place places[] = {
#define ROW(name, file, nth, text) {#name, file, nth, text},
    PLACES(ROW)};

static const char *const order_name[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};

static int now[SITES][2];          /* the orders: of the access, and of an exchange that fails */
static bool used[SITES][PROGRAMS]; /* which programs have the place */
static const struct program *programs[PROGRAMS];
static int program_count, running; /* which program */
static bool unlike[SITES];         /* a program makes another kind of call than the place */
static int tests, failures;

static void ok(bool good, const char *name) {
    printf("%sok %d - %s\n", good ? "" : "not ", ++tests, name);
    failures += !good;
}

/* What the place's text calls. */
static enum call call_at(int site) {
    static const struct {
        const char *begins;
        enum call call;
    } calls[] = {{"atomic_load", LOADS},          {"__atomic_load", LOADS},
                 {"atomic_store", STORES},        {"atomic_compare_exchange", SWAPS},
                 {"atomic_fetch", CHANGES},       {"atomic_exchange", CHANGES},
                 {"atomic_thread_fence", FENCES}, {"atomic_signal_fence", FENCES}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strncmp(places[site].text, calls[i].begins, strlen(calls[i].begins)) == 0)
            return calls[i].call;
    return SWAPS; /* raise() in slow.c */
}

int order_at(int at, enum call call) {
    const int site = at - FIRST_SITE;
    used[site][running] = true;
    if (call != FAILS && call != call_at(site) && !unlike[site]) {
        unlike[site] = true;
        printf("# %s: %s makes another call there\n", programs[running]->name, places[site].name);
    }
    return now[site][call == FAILS];
}

/* ---- the sources ------------------------------------------------------------- */

/* The order that begins at p; -1: none does. */
static int order_in(const char *p) {
    static const char *const of_builtins[] = {"RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL",
                                              "SEQ_CST"};
    const bool builtin = strncmp(p, "__ATOMIC_", 9) == 0;
    if (!builtin && strncmp(p, "memory_order_", 13) != 0)
        return -1;
    p += builtin ? 9 : 13;
    for (int o = RLX; o <= SC; o++) {
        const char *name = builtin ? of_builtins[o] : order_name[o];
        if (strncmp(p, name, strlen(name)) == 0 && !isalnum((unsigned char)p[strlen(name)]) &&
            p[strlen(name)] != '_')
            return o;
    }
    return SC; /* memory_order_consume and what is not known: no place has it */
}

/* Comments, texts and characters become blanks. */
static void blank(char *p) {
    while (*p) {
        const char *end = NULL;
        if (strncmp(p, "/*", 2) == 0)
            end = (end = strstr(p + 2, "*/")) ? end + 2 : p + strlen(p);
        else if (strncmp(p, "//", 2) == 0)
            end = p + strcspn(p, "\n");
        else if (*p == '"' || (*p == '\'' && !isalnum((unsigned char)p[-1]))) {
            char *q = p + 1;
            while (*q && *q != *p)
                q += *q == '\\' && q[1] ? 2 : 1;
            end = *q ? q + 1 : q;
        }
        if (end == NULL)
            p++;
        while (end && p < end)
            *p++ = ' ';
    }
}

/* The call around an order, blanks as in orders.h. Returns where it begins. */
static const char *call_around(const char *text, const char *order, char out[TEXT]) {
    const char *p = order, *open;
    int depth = 0, n = 0;
    while (--p > text && (depth > 0 || *p != '('))
        depth += *p == ')' ? 1 : *p == '(' ? -1 : 0;
    open = p;
    while (p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_'))
        p--;
    const char *begin = p;
    for (depth = 0; *p && n < TEXT - 1 && (p <= open || depth > 0); p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (!isspace((unsigned char)*p))
            out[n++] = *p;
        else if (n > 0 && out[n - 1] != ' ' && out[n - 1] != '(')
            out[n++] = ' ';
    }
    out[n] = 0;
    return begin;
}

static bool listed[SITES];

/* True if orders.h has the place: its text comes for the nth time. */
static bool is_listed(const char *file, const char *text, int nth) {
    for (int i = 0; i < SITES; i++)
        if (strcmp(places[i].file, file) == 0 && strcmp(places[i].text, text) == 0 &&
            places[i].nth == nth)
            return listed[i] = true;
    printf("# %s: no row in orders.h: %s (%d)\n", file, text, nth);
    return false;
}

/* How often the text stands among those before. */
static int count_of(char before[][TEXT], int n, const char *text) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += strcmp(before[i], text) == 0;
    return count;
}

static bool read_source(const char *file) {
    static char text[1 << 20], call[200][TEXT];
    FILE *f = fopen(file, "r");
    const size_t size = f ? fread(text + 1, 1, sizeof text - 2, f) : 0;
    const char *last = NULL;
    bool good = true;
    int n = 0;
    if (f)
        fclose(f);
    if (size == 0 || size == sizeof text - 2) {
        printf("# %s: cannot be read\n", file);
        return false;
    }
    text[0] = ' ';
    text[size + 1] = 0;
    blank(text + 1);
    for (const char *p = text; *p && n < 200; p++) {
        if (order_in(p) <= RLX || isalnum((unsigned char)p[-1]) || p[-1] == '_')
            continue;
        const char *begin = call_around(text, p, call[n]);
        if (begin == last) /* its second order */
            continue;
        last = begin;
        good = is_listed(file, call[n], count_of(call, n, call[n]) + 1) && good;
        n++;
    }
    return good && n < 200;
}

static bool compare(int count, char **files) {
    bool good = true;
    for (int i = 0; i < count; i++)
        good = read_source(files[i]) && good;
    for (int i = 0; i < SITES; i++)
        if (!listed[i]) {
            printf("# %s: orders.h has what is not there: %s (%d)\n", places[i].file,
                   places[i].text, places[i].nth);
            good = false;
        }
    return good;
}

/* ---- the programs ---------------------------------------------------------------- */

static void read_orders(void) {
    for (int i = 0; i < SITES; i++) {
        int n = 0;
        for (const char *p = places[i].text; *p; p++)
            if (order_in(p) >= 0 && n < 2)
                now[i][n++] = order_in(p);
    }
}

static void add_programs(const struct program *p) {
    for (; p->name; p++)
        programs[program_count++] = p;
}

static void hold(int i) {
    char name[200];
    running = i;
    const struct outcome o = explore(programs[i]);
    snprintf(name, sizeof name, "holds as written: %s", programs[i]->name);
    ok(o.failed == NULL && o.ends > 0, name);
    printf("# %lu graphs, %lu complete\n", o.states, o.ends);
    if (o.failed)
        printf("# fails: %s\n", o.failed);
}

/* Which program fails; -1: none. */
static int failing_program(int site, const char **text) {
    for (running = 0; running < program_count; running++) {
        *text = used[site][running] ? explore(programs[running]).failed : NULL;
        if (*text)
            return running;
    }
    return -1;
}

static const struct why *why_of(int site, int weaker) {
    for (const struct why *w = whys; w->text; w++)
        if (w->site == site + FIRST_SITE && w->weaker == weaker)
            return w;
    return NULL;
}

static void weaken(int site, bool failing, int weaker) {
    const int written = now[site][failing];
    const struct why *why = why_of(site, weaker + (failing ? FAILING : 0));
    const char *text;
    char name[TEXT];
    now[site][failing] = weaker;
    const int p = failing_program(site, &text);
    now[site][failing] = written;
    snprintf(name, sizeof name, "%s (%s): %s%s, if %s: %s", places[site].name, places[site].file,
             order_name[written], failing ? " where it fails" : "", order_name[weaker],
             p >= 0 ? programs[p]->name
             : why  ? "nothing fails"
                    : "why not?");
    ok((p >= 0) != (why != NULL), name);
    if (p >= 0)
        printf("# %s\n", text);
    if (why)
        printf("# %s%s\n", p >= 0 ? "void: " : "kept: ", why->text);
}

static void weaken_each(int site) {
    for (int failing = 0; failing < 2; failing++)
        switch (now[site][failing]) {
        case SC:
            weaken(site, failing,
                   failing || call_at(site) == LOADS ? ACQ
                   : call_at(site) == STORES         ? REL
                                                     : AR);
            break;
        case AR:
            weaken(site, failing, ACQ);
            weaken(site, failing, REL);
            break;
        case ACQ:
        case REL:
            weaken(site, failing, RLX);
            break;
        default:
            break;
        }
}

/* All that orders_why.c explains, weaker at once. */
static void weaken_kept(void) {
    bool good = true;
    for (const struct why *w = whys; w->text; w++) {
        int *at = &now[w->site - FIRST_SITE][w->weaker >= FAILING];
        const int weaker = w->weaker % FAILING;
        *at = *at == AR || *at == weaker ? weaker : RLX; /* of two halves none is left */
    }
    for (running = 0; running < program_count; running++) {
        const struct outcome o = explore(programs[running]);
        if (o.failed)
            printf("# %s: %s\n", programs[running]->name, o.failed);
        good = good && o.failed == NULL;
    }
    ok(good, "what is kept for another reason is needed by no program, all of it weaker at once");
    read_orders();
}

int main(int argc, char **argv) {
    if (argc < 3 || chdir(argv[1]) < 0)
        return 2;
    read_orders();
    add_programs(draw_programs);
    add_programs(api_programs);
    add_programs(lease_programs);
    ok(litmus(), "the explorer finds what the model allows, and nothing else");
    ok(compare(argc - 2, argv + 2),
       "orders.h has each order of the sources that is stronger than relaxed");
    for (int i = 0; i < program_count; i++)
        hold(i);
    for (int i = 0; i < SITES; i++)
        weaken_each(i);
    weaken_kept();
    ok(memchr(unlike, true, sizeof unlike) == NULL, "programs call what the places call");
    printf("1..%d\n", tests);
    return failures != 0;
}
