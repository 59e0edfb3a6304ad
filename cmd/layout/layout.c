/* SPDX-License-Identifier: MIT */
/* layout.c - sfid layout: lists, shows and checks layouts. */
#include "layout/all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT, HEADER, SQL, COLUMN };

static const struct option_spec options[] = {
    [FORMAT] = {"format", 0, "FORMAT", NULL, "text or json; list: also tsv (text)"},
    [HEADER] = {"header", 0, NULL, NULL, "with tsv: the first line has the names of the columns"},
    [SQL] = {"sql", 0, "DIALECT", NULL, "with show: as SQL for postgres, mysql, sqlite, duckdb or clickhouse"},
    [COLUMN] = {"column", 0, "NAME", NULL, "with --sql: the column of the IDs (id)"},
    {NULL, 0, NULL, NULL, NULL},
};

static const char *const formats[] = {[VIEW_TEXT] = "text", [VIEW_JSON] = "json", [VIEW_TSV] = "tsv", NULL};

/* Reads the layout of an action. Returns 0, or the exit status: an invalid layout is bad input for check, and misuse for show. */
static int read_operand(const struct args *args, struct shown *shown) {
    const char *action = args->operands[0], *env = getenv("SFID_LAYOUT");
    const bool given = args->operand_count == 2;
    const char *text = given ? args->operands[1] : env && env[0] ? env : NULL;
    struct any_layout any;
    char label[16];
    snprintf(label, sizeof label, "layout %s", action);
    if (!read_any_layout(given ? label : "$SFID_LAYOUT", text, &any))
        return strcmp(action, "check") == 0 ? STATUS_BAD_INPUT : STATUS_USAGE;
    if (any.wide ? layout_look_at_wide(shown, &any.wide_layout) : layout_look_at(shown, &any.layout))
        return STATUS_GOOD;
    say("%s", sfid_strerror(SFID_EINVAL));
    return STATUS_INTERNAL;
}

static int list(const struct args *args, enum view_format format) {
    if (layout_list(format, args->value[HEADER] != NULL))
        return STATUS_GOOD;
    say("%s", sfid_strerror(SFID_EINVAL));
    return STATUS_INTERNAL;
}

/* Accepts a name, perhaps after its table's, that needs no quotes. */
static bool is_column(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", more[] = ".0123456789";
    char all[sizeof letters + sizeof more];
    snprintf(all, sizeof all, "%s%s", letters, more);
    return name[0] && strchr(letters, name[0]) && name[strspn(name, all)] == '\0' && strlen(name) < SQL_COLUMN;
}

static int show_sql(const struct args *args, enum view_format format) {
    struct shown shown;
    const char *column = args->value[COLUMN] ? args->value[COLUMN] : "id";
    const int dialect = args_choice(args, SQL, sql_dialects);
    if (dialect < 0)
        return STATUS_USAGE;
    if (!is_column(column)) {
        say("--column: %s is not a column name; use fewer than 64 letters, digits, _ and dots, beginning with a letter or _",
            QUOTE(column));
        return STATUS_USAGE;
    }
    const int status = read_operand(args, &shown);
    if (status == STATUS_GOOD && shown.wide && shown.kind == SFID_AWSFLAKE) {
        say("--sql: IDs of %s are in base62, which no database reads; use range for a span of time, or decode --csv for a dump",
            shown.name);
        return STATUS_USAGE;
    }
    if (status == STATUS_GOOD)
        layout_sql(&shown, (enum sql_dialect)dialect, column, format == VIEW_JSON);
    return status;
}

static int show(const struct args *args, enum view_format format) {
    struct shown shown;
    if (args->value[SQL])
        return show_sql(args, format);
    const int status = read_operand(args, &shown);
    if (status != STATUS_GOOD)
        return status;
    if (format == VIEW_TEXT) {
        layout_text(&shown);
        return STATUS_GOOD;
    }
    json_open(NULL, '{');
    layout_json(&shown);
    json_end();
    return STATUS_GOOD;
}

static int check(const struct args *args, enum view_format format) {
    struct shown shown;
    const int status = read_operand(args, &shown);
    if (status == STATUS_GOOD && shown.wide) {
        say("layout check: %s has 128 bits; expected a layout of 64 bits", shown.name);
        return STATUS_BAD_INPUT;
    }
    return status == STATUS_GOOD ? layout_check(&shown, format == VIEW_JSON, moment_now()) : status;
}

static const struct {
    const char *name;
    int operands; /* the action's name, and at most one layout */
    int (*run)(const struct args *args, enum view_format format);
} actions[] = {{"list", 1, list}, {"show", 2, show}, {"check", 2, check}};

static const char *action_name(size_t i) { return i < COUNT_OF(actions) ? actions[i].name : NULL; }

static size_t find_action(const char *name) {
    size_t i = 0;
    while (i < COUNT_OF(actions) && strcmp(name, actions[i].name) != 0)
        i++;
    return i;
}

/* Checks that options fit the action and each other. Returns false after a message. */
static bool are_fitting(const struct args *args, const char *action, enum view_format format) {
    const char *wrong = NULL;
    if (format == VIEW_TSV && strcmp(action, "list") != 0)
        wrong = "--format tsv needs layout list";
    else if (args->value[HEADER] && format != VIEW_TSV)
        wrong = "--header needs --format tsv";
    else if (args->value[SQL] && strcmp(action, "show") != 0)
        wrong = "--sql needs layout show";
    else if (args->value[COLUMN] && args->value[SQL] == NULL)
        wrong = "--column needs --sql";
    if (wrong)
        say("%s", wrong);
    return wrong == NULL;
}

static int run(const struct args *args) {
    const char *name = args->operand_count > 0 ? args->operands[0] : "list";
    const size_t i = find_action(name);
    if (i == COUNT_OF(actions)) {
        const char *near = nearest(name, action_name);
        say("layout: unknown action %s%s%s%s", QUOTE(name), near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
        return usage(args->command);
    }
    if (args->operand_count > actions[i].operands) {
        say("layout %s: unexpected argument %s", name, QUOTE(args->operands[actions[i].operands]));
        return usage(args->command);
    }
    const int format = args_choice(args, FORMAT, formats);
    if (format < 0 || !are_fitting(args, name, (enum view_format)format))
        return STATUS_USAGE;
    return actions[i].run(args, (enum view_format)format);
}

const struct command command_layout = {
    .name = "layout",
    .synopsis = "[list | show [LAYOUT] | check [LAYOUT]] [--format text|json|tsv] [--header] [--sql DIALECT [--column NAME]]",
    .summary = "list, show and check layouts",
    .about = "list   lists the layouts that have a name: unit, epoch, last date and widths; the default\n"
             "show   shows the fields of LAYOUT from the top bit down, its unit, epoch and last date,\n"
             "       how many IDs and processes it has room for, and the order of its IDs; with --sql\n"
             "       the expressions for time, pid, seq, their parts and day, each on a line after its name,\n"
             "       then bound, the lowest ID of a time, and range, the IDs of a span of time\n"
             "check  checks that LAYOUT is valid (if not, says why; exit status 1) and can generate IDs\n"
             "       now (if not, exit status 78), and says how long it lasts and what to consider\n\n"
             "Without LAYOUT, $SFID_LAYOUT is used, else the default. LAYOUT is a preset,\n"
             "TIME:PID:SEQ[/UNIT][@EPOCH_MS], such as 41:10:12/1ms, or for list and show also one of\n"
             "128 bits: flake, flake-go, awsflake[@EPOCH_MS], uuid7.\n",
    .options = options,
    .run = run,
};
