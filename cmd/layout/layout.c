/* SPDX-License-Identifier: MIT */
/* layout.c - sfid layout: lists, shows, checks and compares layouts. */
#include "args/any_layout.h"
#include "args/args.h"
#include "io/date.h"
#include "io/json.h"
#include "io/out.h"
#include "io/say.h"
#include "layout/compare.h"
#include "layout/show.h"
#include "layout/sql.h"
#include "layout/sql_forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT, HEADER, SQL, COLUMN, COMPARE };

static const struct option_spec options[] = {
    [FORMAT] = {"format", 0, "FORMAT", NULL, "text, json or tsv; tsv: list only (text)"},
    [HEADER] = {"header", 0, NULL, NULL, "with tsv: the first line has the names of the columns"},
    [SQL] = {"sql", 0, "DIALECT", NULL,
             "with show: as SQL for postgres, mysql, sqlite, duckdb and others"},
    [COLUMN] = {"column", 0, "NAME", NULL, "with --sql: the column of the IDs (id)"},
    COMPARE_OPTIONS(COMPARE),
    {NULL, 0, NULL, NULL, NULL},
};

static const char *const formats[] = {
    [VIEW_TEXT] = "text", [VIEW_JSON] = "json", [VIEW_TSV] = "tsv", NULL};

/* Reads layout i, from 1, of an action. Returns 0, or the exit status: an invalid layout is bad
 * input for check, else misuse. */
static int read_operand(const struct args *args, int i, struct shown *shown) {
    const char *action = args->operands[0], *env = getenv("SFID_LAYOUT");
    const bool given = args->operand_count > i;
    const char *text = given ? args->operands[i] : env;
    struct any_layout any;
    char label[24];
    snprintf(label, sizeof label, "layout %s", action);
    if (!read_any_layout(given ? label : "$SFID_LAYOUT", text, &any))
        return strcmp(action, "check") == 0 ? STATUS_BAD_INPUT : STATUS_USAGE;
    if (any.wide ? layout_look_at_wide(shown, &any.wide_layout)
                 : layout_look_at(shown, &any.layout))
        return STATUS_GOOD;
    return fail(STATUS_INTERNAL, "%s", sfid_strerror(SFID_EINVAL));
}

static int list(const struct args *args, enum view_format format) {
    if (layout_list(format, args->value[HEADER] != NULL))
        return STATUS_GOOD;
    return fail(STATUS_INTERNAL, "%s", sfid_strerror(SFID_EINVAL));
}

/* Accepts a name, perhaps after its table's, that needs no quotes. */
static bool is_column(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_",
                      more[] = ".0123456789";
    char all[sizeof letters + sizeof more];
    snprintf(all, sizeof all, "%s%s", letters, more);
    return name[0] && strchr(letters, name[0]) && name[strspn(name, all)] == '\0' &&
           strlen(name) < SQL_COLUMN;
}

static int show_sql(const struct args *args, enum view_format format) {
    struct shown shown;
    const char *column = args->value[COLUMN] ? args->value[COLUMN] : "id";
    const int dialect = args_choice(args, SQL, sql_dialects);
    if (dialect < 0)
        return STATUS_USAGE;
    if (!is_column(column))
        return fail(
            STATUS_USAGE,
            "--column: %s is not a column name; use fewer than 64 letters, digits, _ and dots, beginning with a letter or _",
            QUOTE(column));
    const int status = read_operand(args, 1, &shown);
    if (status == STATUS_GOOD && shown.wide && shown.kind == SFID_AWSFLAKE)
        return fail(
            STATUS_USAGE,
            "--sql: IDs of %s are in base62, which no database reads; use range for a span of time, or decode --csv for a dump",
            shown.name);
    if (status == STATUS_GOOD && shown.wide && dialect >= SQL_WAREHOUSES)
        return fail(
            STATUS_USAGE,
            "--sql: %s knows no layouts of 128 bits here, such as %s; decode --csv takes a dump apart",
            args->value[SQL], shown.name);
    if (status == STATUS_GOOD)
        layout_sql(&shown, (enum sql_dialect)dialect, column, format == VIEW_JSON);
    return status;
}

static int show_layout(const struct args *args, enum view_format format) {
    struct shown shown;
    if (args->value[SQL])
        return show_sql(args, format);
    const int status = read_operand(args, 1, &shown);
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
    const int status = read_operand(args, 1, &shown);
    if (status == STATUS_GOOD && shown.wide)
        return fail(STATUS_BAD_INPUT, "layout check: %s has 128 bits; expected a layout of 64 bits",
                    shown.name);
    return status == STATUS_GOOD ? layout_check(&shown, format == VIEW_JSON, moment_now()) : status;
}

static int compare(const struct args *args, enum view_format format) {
    struct shown old, next;
    if (args->operand_count != 3)
        return misuse(args, "layout compare: expected two layouts, OLD and NEW");
    int status = read_operand(args, 1, &old);
    if (status == STATUS_GOOD)
        status = read_operand(args, 2, &next);
    return status == STATUS_GOOD ? layout_compare(args, COMPARE, &old, &next, format == VIEW_JSON)
                                 : status;
}

static const struct {
    const char *name;
    int operands; /* at most: the action's name, and layouts */
    int (*run)(const struct args *args, enum view_format format);
} actions[] = {
    {"list", 1, list}, {"show", 2, show_layout}, {"check", 2, check}, {"compare", 3, compare}};

static const char *action_name(size_t i) { return i < COUNT_OF(actions) ? actions[i].name : NULL; }

static size_t find_action(const char *name) {
    size_t i = 0;
    while (i < COUNT_OF(actions) && strcmp(name, actions[i].name) != 0)
        i++;
    return i;
}

/* Returns the option of compare that is given, or NULL. */
static const char *compare_option(const struct args *args) {
    for (int i = COMPARE; i < COMPARE + COMPARE_COUNT; i++)
        if (args->value[i])
            return args->label[i];
    return NULL;
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
    else if (compare_option(args) && strcmp(action, "compare") != 0) {
        return refuse("%s needs layout compare", compare_option(args));
    }
    return wrong == NULL;
}

static int run_layout(const struct args *args) {
    const char *name = args->operand_count > 0 ? args->operands[0] : "list";
    const size_t i = find_action(name);
    if (i == COUNT_OF(actions)) {
        say_unknown("layout: unknown action", name, action_name);
        return usage(args->command);
    }
    if (args->operand_count > actions[i].operands)
        return misuse(args, "layout %s: unexpected argument %s", name,
                      QUOTE(args->operands[actions[i].operands]));
    const int format = args_choice(args, FORMAT, formats);
    if (format < 0 || !are_fitting(args, name, (enum view_format)format))
        return STATUS_USAGE;
    return actions[i].run(args, (enum view_format)format);
}

const struct command command_layout = {
    .name = "layout",
    .synopsis = "[list | show [LAYOUT] | check [LAYOUT] | compare OLD NEW] [OPTION]...",
    .summary = "list, show, check and compare layouts",
    .about =
        "list   lists the layouts that have a name: unit, epoch, last date and widths; the default\n"
        "show   shows the fields of LAYOUT from the top bit down, its unit, epoch and last date,\n"
        "       how many IDs and processes it has room for, and the order of its IDs; with --sql\n"
        "       the expressions for time, pid, seq, their parts and day, each on a line after its name,\n"
        "       then bound, the lowest ID of a time, and range, the IDs of a span of time. DIALECT is\n"
        "       postgres, mysql, sqlite, duckdb, clickhouse, bigquery, snowflake, redshift, sqlserver\n"
        "check  checks that LAYOUT is valid (if not, says why; exit status 1) and can generate IDs\n"
        "       now (if not, exit status 78), and says how long it lasts and what to consider\n"
        "compare  says whether NEW can take over from OLD: all IDs that NEW gives are above all that\n"
        "       OLD has given; some are below (exit status 1); or some can be equal (exit status 78).\n"
        "       Names the first equal ID, and from when on NEW may begin. TIME is as for sfid range\n\n"
        "Without LAYOUT, $SFID_LAYOUT is used, else the default. LAYOUT is a preset,\n"
        "TIME:PID:SEQ[/UNIT][@EPOCH_MS], such as 41:10:12/1ms, or but for check also one of\n"
        "128 bits: flake, flake-go, awsflake[@EPOCH_MS], uuid7.\n",
    .options = options,
    .run = run_layout,
};
