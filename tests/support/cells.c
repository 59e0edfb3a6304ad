/* SPDX-License-Identifier: MIT */
#include "support/cells.h"

#include "support/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char cell_layout[] = "41:5:3/1ms";

const struct cell_store cell_stores[CELL_STORES] = {
    {"fixed", NULL, false},
    {"local", "local?lead_ms=2500&pid_min=3&pid_max=3", false},
    {"ordinal", "ordinal:env=SFID_TEST_NUMBER?lead_ms=2500", false},
    {"redis", "unix://%s?pid_min=1&pid_max=6", true},
    {"pool", "pool:1-3=unix://low:pw@%1$s 4-6=unix://high:pw@%1$s", true},
};

enum { LINES = 100, CELLS = 1000, LINE = 400 };

struct line {
    char *options, *stores, *kinds, *by, text[LINE];
};

static struct line lines[LINES];
static size_t line_count;
static const char *own;
static char stores[LINE], kinds[LINE], asked[CELLS][80];
static size_t asked_count;

static bool names(const char *list, const char *word) {
    const size_t len = strlen(word);
    if (strcmp(list, "*") == 0)
        return true;
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += len)
        if ((at == list || at[-1] == ',' || at[-1] == ' ') &&
            (at[len] == ',' || at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

void cells_begin(const char *test) {
    const char *dir = getenv("srcdir");
    char path[4200], text[LINE];
    snprintf(path, sizeof path, "%s/tests/options", dir ? dir : ".");
    FILE *f = fopen(path, "re");
    need(f, "cannot read %s", path);
    own = test;
    while (fgets(text, sizeof text, f)) {
        struct line *l = &lines[line_count];
        text[strcspn(text, "\n")] = '\0';
        if (text[0] == '#' || (sscanf(text, "stores\t%399[^\n]", stores) == 1) ||
            (sscanf(text, "kinds\t%399[^\n]", kinds) == 1))
            continue;
        need(line_count < LINES, "%s is too long", path);
        memcpy(l->text, text, sizeof text);
        char *rest = l->text;
        l->options = strsep(&rest, "\t");
        l->stores = strsep(&rest, "\t");
        l->kinds = strsep(&rest, "\t");
        l->by = strsep(&rest, "\t");
        need(l->by, "%s: \"%s\" has less than five fields", path, text);
        line_count++;
    }
    fclose(f);
}

static bool is_own(const char *option, const char *store, const char *kind) {
    for (size_t i = 0; i < line_count; i++)
        if (names(lines[i].options, option) && names(lines[i].stores, store) &&
            names(lines[i].kinds, kind))
            return strcmp(lines[i].by, own) == 0;
    return false;
}

static bool was_asked(const char *cell) {
    for (size_t i = 0; i < asked_count; i++)
        if (strcmp(asked[i], cell) == 0)
            return true;
    return false;
}

bool cell_given(const char *option, const char *store, const char *kind) {
    char cell[sizeof asked[0]];
    snprintf(cell, sizeof cell, "%s, %s, %s", option, store, kind);
    need(names(stores, store) && names(kinds, kind), "tests/options does not know %s", cell);
    if (!is_own(option, store, kind))
        return false;
    need(asked_count < CELLS, "too many cells");
    if (!was_asked(cell))
        memcpy(asked[asked_count++], cell, sizeof cell);
    return true;
}

/* Calls visit for each cell of one option. */
static size_t untried(const char *option) {
    char all_stores[LINE], all_kinds[LINE], cell[sizeof asked[0]], *at_store = NULL,
                                                                   *at_kind = NULL;
    size_t missing = 0;
    snprintf(all_stores, sizeof all_stores, "%s", stores);
    for (char *s = strtok_r(all_stores, " ", &at_store); s; s = strtok_r(NULL, " ", &at_store)) {
        snprintf(all_kinds, sizeof all_kinds, "%s", kinds);
        for (char *k = strtok_r(all_kinds, " ", &at_kind); k; k = strtok_r(NULL, " ", &at_kind)) {
            snprintf(cell, sizeof cell, "%s, %s, %s", option, s, k);
            if (is_own(option, s, k) && !was_asked(cell)) {
                diag("not tried: %s", cell);
                missing++;
            }
        }
    }
    return missing;
}

void cells_end(void) {
    size_t missing = 0;
    for (size_t i = 0; i < line_count; i++) {
        char options[LINE], *rest = options;
        snprintf(options, sizeof options, "%s", lines[i].options);
        for (char *option; strcmp(options, "*") != 0 && (option = strsep(&rest, ",")) != NULL;)
            missing += untried(option);
    }
    ok(asked_count > 0, "tests/options names this test for %zu cells", asked_count);
    is_u64(missing, 0, "all of them are tried");
}
