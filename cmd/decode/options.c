/* SPDX-License-Identifier: MIT */
/* options.c - the options of sfid decode. */
#include "decode/options.h"

#include "args/any_layout.h"
#include "decode/column.h"
#include "io/say.h"
#include "text/show.h"

enum {
    LAYOUT,
    FROM,
    FORMAT,
    HEADER,
    CSV,
    TSV,
    KEY,
    GREP,
    KEEP,
    COLUMNS,
    UTC,
    LOCAL,
    ZONE,
    AGE,
    PARTITION,
    GUESS,
    KNOWN,
    STATS
};

const struct option_spec decode_options[] = {
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the layout of the IDs (sfid)"},
    [FROM] = {"from", 0, "FORM", NULL,
              "the form of IDs that are not only digits (the layout's form)"},
    [FORMAT] = {"format", 0, "FORMAT", NULL,
                "text, json, tsv, csv or table (text, or that of the input)"},
    [HEADER] = {"header", 0, NULL, NULL,
                "with tsv and csv: the first line has the names of the columns"},
    [CSV] = {"csv", 0, "COLUMN", NULL, "IDs are in this column of CSV: its number or name"},
    [TSV] = {"tsv", 0, "COLUMN", NULL, "IDs are in this column of TSV: its number or name"},
    [KEY] = {"key", 0, "KEY", NULL, "IDs are in this member of JSON objects, one a line"},
    [GREP] = {"grep", 0, NULL, NULL, "IDs are anywhere in lines of text"},
    [KEEP] = {"keep", 0, NULL, NULL,
              "with csv, tsv and key: also pass on the records without an ID"},
    [COLUMNS] = {"columns", 0, "LIST", NULL,
                 "with csv and tsv: add these columns alone, such as time,pid"},
    [UTC] = {"utc", 0, NULL, NULL, "show times in UTC (the default)"},
    [LOCAL] = {"local", 0, NULL, NULL, "show times in the local zone"},
    [ZONE] = {"zone", 0, "ZONE", NULL, "show times in a zone, such as Europe/Berlin or +01:00"},
    [AGE] = {"age", 0, NULL, NULL, "also show how long ago"},
    [PARTITION] = {"partition", 0, "UNIT", NULL, "also show the day or hour"},
    [GUESS] = {"guess", 0, NULL, NULL, "instead, guess which layouts the IDs may have"},
    [KNOWN] = {"known", 0, "ID=TIME...", NULL,
               "with --guess: when this ID was made; once or more often"},
    [STATS] = {"stats", 0, NULL, NULL, "instead, show statistics of all IDs"},
    {NULL, 0, NULL, NULL, NULL},
};

static const char *const formats[] = {
    [VIEW_TEXT] = "text", [VIEW_JSON] = "json",   [VIEW_TSV] = "tsv",
    [VIEW_CSV] = "csv",   [VIEW_TABLE] = "table", NULL};

/* Allows at most one of some options. Returns its index; -1 if none is given; -2, with a message,
 * if several are. */
static int one_of(const struct args *args, const int *list, size_t count) {
    int found = -1;
    for (size_t i = 0; i < count; i++) {
        if (args->value[list[i]] == NULL)
            continue;
        if (found >= 0) {
            say("--%s and --%s cannot be used together", decode_options[found].name,
                decode_options[list[i]].name);
            return -2;
        }
        found = list[i];
    }
    return found;
}

/* ---- layout and form ------------------------------------------------------- */

static bool read_from(const struct args *args, struct decode *decode,
                      const sfid_wide_layout *wide) {
    const int from = args_choice(args, FROM, id_forms);
    if (from < 0)
        return false;
    if (from == SFID_UUID && wide == NULL)
        return refuse(
            "--from uuid needs a layout of 128 bits, such as uuid7; --layout %s has 64 bits",
            decode->view.name);
    if (wide && args->value[FROM] == NULL)
        reader_begin_wide(&decode->reader, wide);
    else
        reader_begin(&decode->reader, (sfid_form)from, wide != NULL);
    return true;
}

static bool read_kind(const struct args *args, struct decode *decode, enum view_format format) {
    struct any_layout any;
    if (!args_any_layout(args, LAYOUT, &any))
        return false;
    view_begin(&decode->view, &any, format);
    return read_from(args, decode, any.wide ? &any.wide_layout : NULL);
}

/* ---- times ----------------------------------------------------------------- */

static bool read_partition(const struct args *args, struct view *view) {
    static const char *const units[] = {"day", "hour", NULL};
    const int unit = args_choice(args, PARTITION, units);
    view->partition = unit == 0 ? PARTITION_DAY : PARTITION_HOUR;
    return unit >= 0;
}

static bool read_times(const struct args *args, struct view *view) {
    static const int zones[] = {UTC, LOCAL, ZONE};
    const int zone = one_of(args, zones, COUNT_OF(zones));
    if (zone == -2 || (args->value[PARTITION] && !read_partition(args, view)))
        return false;
    view->age = args->value[AGE] != NULL;
    if (zone == -1)
        return true; /* UTC, as view_begin() has left it */
    const char *text = zone == ZONE ? args->value[ZONE] : zone == LOCAL ? "local" : "utc";
    const char *wrong = zone_begin(&view->date.zone, text);
    if (wrong)
        say("--zone: %s %s", QUOTE(text), wrong);
    return wrong == NULL;
}

/* ---- input ----------------------------------------------------------------- */

/* Digits mean a column's number, anything else its name. */
static bool read_column(const struct args *args, int i, struct column *column) {
    const char *text = args->value[i];
    uint64_t number;
    *column =
        (struct column){.separator = i == CSV ? ',' : '\t', .header = args->value[HEADER] != NULL};
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
        column->name = text;
        return true;
    }
    if (!read_u64(text, IN_LINE_MAX, &number) || number == 0)
        return refuse("--%s: %s is not a column; the first one is 1", decode_options[i].name,
                      QUOTE(text));
    column->index = (size_t)number - 1;
    return true;
}

static bool read_place(const struct args *args, struct decode *decode, int from,
                       enum view_format format) {
    struct column column;
    struct source *source = &decode->source;
    switch (from) {
    case CSV:
    case TSV:
        if (!read_column(args, from, &column))
            return false;
        source_column(source, &decode->reader, &column, format);
        break;
    case KEY:
        source_key(source, &decode->reader, args->value[KEY], format == VIEW_JSON);
        break;
    case GREP:
        source_grep(source, &decode->reader, format == VIEW_TEXT);
        break;
    default:
        source_lines(source, &decode->reader);
        break;
    }
    decode->streams = from >= 0;
    if (!decode->streams || decode->reader.form != SFID_BYTES)
        return true;
    return refuse("--from bytes and --%s cannot be used together", decode_options[from].name);
}

/* ---- task -------------------------------------------------------------------- */

/* Returns false, with a message, if an option does not fit the task. */
static bool free_of(const struct args *args, int task, const int *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (args->value[list[i]] && !args->from_env[list[i]])
            return refuse("--%s and --%s cannot be used together", decode_options[task].name,
                          decode_options[list[i]].name);
    return true;
}

static bool read_knowns(const struct args *args, struct guess *guess) {
    bool good = args->list_count <= ARGS_LIST;
    if (!good)
        say("--known: at most %d times", ARGS_LIST);
    for (int i = 0; good && i < args->list_count; i++)
        good = guess_know(guess, args->list[i]);
    return good;
}

static bool read_task(const struct args *args, struct decode *decode, enum view_format format) {
    static const int tasks[] = {GUESS, STATS}, plain[] = {UTC, LOCAL, ZONE, AGE, PARTITION},
                     layout[] = {LAYOUT};
    const int task = one_of(args, tasks, COUNT_OF(tasks));
    if (args->value[KNOWN] && task != GUESS)
        return refuse("--known needs --guess");
    if (task < 0)
        return task == -1;
    if (!free_of(args, task, plain, COUNT_OF(plain)))
        return false;
    decode->source.keep = NULL; /* what is said of all IDs is the only output */
    if (task == GUESS) {
        decode->task = TASK_GUESS;
        guess_begin(&decode->guess, args->value[FROM] ? decode->reader.form : SFID_DEC);
        return free_of(args, task, layout, COUNT_OF(layout)) && read_knowns(args, &decode->guess);
    }
    decode->task = TASK_STATS;
    stats_begin(&decode->stats, &decode->view);
    if (format == VIEW_TEXT || format == VIEW_JSON)
        return true;
    return refuse("--stats needs --format text or --format json");
}

/* After the times, since partition is a column only if its unit is given. */
static bool read_columns(const struct args *args, struct decode *decode, enum view_format format,
                         bool shown) {
    if (args->value[COLUMNS] == NULL)
        return true;
    if (shown && (format == VIEW_CSV || format == VIEW_TSV))
        return view_choose(&decode->view, args->label[COLUMNS], args->value[COLUMNS]);
    return refuse("--columns needs CSV or TSV as output");
}

static bool read_keep(const struct args *args, struct decode *decode) {
    decode->keep_bad = args->value[KEEP] != NULL;
    if (!decode->keep_bad ||
        (decode->task == TASK_SHOW && decode->source.keep && !decode->source.quiet))
        return true;
    return refuse("--keep needs --csv, --tsv or --key, and a format that keeps the record");
}

/*
 * The first ID of Twitter's that a snowflake was, 2010-11-04 (the one that
 * github.com/oduwsdl/tweetedat goes by): those below come from a counter.
 */
static void find_least(struct decode *decode) {
    const uint64_t first_of_twitter = UINT64_C(29700859247);
    decode->least =
        !decode->view.wide && strcmp(decode->view.name, "twitter") == 0 ? first_of_twitter : 0;
}

bool decode_read_options(const struct args *args, struct decode *decode) {
    static const int sources[] = {CSV, TSV, KEY, GREP};
    const int from = one_of(args, sources, COUNT_OF(sources));
    const bool shown = args->value[GUESS] == NULL && args->value[STATS] == NULL;
    int format = VIEW_TEXT;
    if (args->value[FORMAT])
        format = args_choice(args, FORMAT, formats);
    else if (shown)
        format = from == CSV   ? VIEW_CSV
                 : from == TSV ? VIEW_TSV
                 : from == KEY ? VIEW_JSON
                               : VIEW_TEXT;
    if (from == -2 || format < 0)
        return false;
    const bool named = format == VIEW_TSV || format == VIEW_CSV,
               columns = from == CSV || from == TSV;
    if (args->value[HEADER] && !named && !columns)
        return refuse("--header needs columns: --csv, --tsv, --format tsv or --format csv");
    if (!read_kind(args, decode, (enum view_format)format) || !read_times(args, &decode->view) ||
        !read_place(args, decode, from, (enum view_format)format) ||
        !read_task(args, decode, (enum view_format)format))
        return false;
    if (!read_keep(args, decode) || !read_columns(args, decode, (enum view_format)format, shown))
        return false;
    find_least(decode);
    rounded_begin(&decode->rounded, decode->task == TASK_GUESS ? NULL : &decode->view.layout);
    if (decode->view.wide || from == GREP)
        decode->rounded.open = 0;
    decode->header = args->value[HEADER] != NULL;
    decode->any =
        args->value[FROM] == NULL && (args->value[LAYOUT] == NULL || decode->task == TASK_GUESS);
    if (shown && (format == VIEW_TABLE || (decode->header && !columns)))
        view_header(&decode->view);
    return true;
}
