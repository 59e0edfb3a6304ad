/* SPDX-License-Identifier: MIT */
/* decode.c - sfid decode: takes IDs apart, in any kind of input. */
#include "args/args.h"
#include "decode/candidates.h"
#include "decode/damaged.h"
#include "decode/guess.h"
#include "decode/makers.h"
#include "decode/options.h"
#include "decode/source.h"
#include "decode/stats.h"
#include "io/date.h"
#include "io/out.h"
#include "io/say.h"
#include "text/hint.h"
#include "text/reader.h"
#include "text/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- errors -------------------------------------------------------------- */

/* Explains why a readable ID does not belong to the layout. */
static void explain_layout(const struct decode *decode, sfid_wide id, char why[READER_WHY]) {
    const struct view *view = &decode->view;
    if (!view->wide && id.low < decode->least)
        snprintf(why, READER_WHY,
                 "is below %" PRIu64 ", the first ID of layout %s: older numbers hold no time",
                 decode->least, view->name);
    else if (!view->wide)
        snprintf(why, READER_WHY,
                 "has a bit set above the fields of layout %s; try another --layout", view->name);
    else if (view->wide_layout.kind == SFID_UUID7)
        snprintf(why, READER_WHY, "is not a UUID of version 7, variant 2");
    else
        snprintf(why, READER_WHY, "is above the highest ID of layout %s; try another --layout",
                 view->name);
}

/* Suggests what to type instead. Lines are all alike, so for them the hint is given once. */
static const char *find_hint(struct decode *decode, const struct found *found, bool argument) {
    const struct source *source = &decode->source;
    if (argument)
        return hint_argument(found->id);
    if (source->column.separator && !source->column.header && found->line == 1 && !found->fault &&
        found->len > 0 && (found->id[0] < '0' || found->id[0] > '9') && !decode->hinted)
        return "; if the first line has names: --header";
    if (decode->hinted || (decode->streams && source->key == NULL) ||
        decode->reader.form == SFID_BYTES)
        return "";
    const char *hint = source->key == NULL ? hint_line(found->record, found->record_len, true)
                       : found->fault      ? hint_object(found->record, found->record_len)
                                           : "";
    decode->hinted = hint[0] != '\0';
    return hint;
}

static const char an_argument[] = "argument"; /* replaces source.unit in messages */
static const char *const tasks[] = {
    [TASK_SHOW] = "decode", [TASK_GUESS] = "decode --guess", [TASK_STATS] = "decode --stats"};

/* Reports found->fault, or else what is wrong with the ID. */
static void complain(struct decode *decode, const struct found *found, const char *unit,
                     const char *wrong) {
    const bool argument = unit == an_argument;
    const char *text = found->fault ? found->record : found->id;
    const size_t len = found->fault ? found->record_len : found->len;
    char why[HINT];
    decode->status = STATUS_BAD_INPUT;
    if (!found->fault && damaged_explain(text, len, why))
        ;
    else if (!argument || reader_read(&decode->reader, text, len, &(sfid_wide){0, 0}) ||
             !hint_file(tasks[decode->task], decode->task == TASK_SHOW, text, why))
        snprintf(why, sizeof why, "%s%s", found->fault ? found->fault : wrong,
                 find_hint(decode, found, argument));
    say_bad(unit, found->line, text, len, why);
}

static void complain_of_id(struct decode *decode, const struct found *found, const char *unit) {
    char why[READER_WHY + sizeof MAKERS_NONE] = "";
    struct made made;
    sfid_wide id;
    if (!found->fault && reader_read(&decode->reader, found->id, found->len, &id))
        explain_layout(decode, id, why);
    else if (!found->fault && maker_find(found->id, found->len, &made))
        maker_explain(&made, decode->view.name, why);
    else if (!found->fault) {
        reader_explain(&decode->reader, found->id, found->len, why);
        if (decode->any && maker_is_word(found->id, found->len))
            strcat(why, MAKERS_NONE);
    }
    complain(decode, found, unit, why);
}

/* ---- taking apart -------------------------------------------------------- */

/* Text is full of numbers that are no IDs. Small ones would date from the layout's first hours;
 * others lie in the future. */
static bool is_likely(const struct view *view, const struct taken *taken) {
    const int64_t epoch = view->wide ? view->wide_layout.epoch_ms : view->layout.epoch_ms;
    return taken->unix_ms - DAY >= epoch && !view_is_future(taken);
}

/* Takes an ID apart. Returns false if it is none. */
static bool read_found(struct decode *decode, const struct found *found, struct taken *taken) {
    sfid_wide id;
    return reader_read(&decode->reader, found->id, found->len, &id) && id.low >= decode->least &&
           view_take(&decode->view, id, taken) &&
           (!decode->source.quiet || is_likely(&decode->view, taken));
}

/* Shows an ID of another maker. Returns false if it is none, or if all IDs have to be of one
 * layout. */
static bool show_other(struct decode *decode, const struct found *found) {
    struct made made;
    return decode->any && !decode->streams && decode->task == TASK_SHOW && !found->fault &&
           maker_find(found->id, found->len, &made) && !made.odd &&
           maker_show(&decode->view, found->id, found->len, &made);
}

/* Counts an ID of another maker that no layout here has: those of version 7 have one. */
static bool guess_other(struct decode *decode, const struct found *found) {
    struct made made;
    if (!decode->any || found->fault || !maker_find(found->id, found->len, &made) || made.odd ||
        strcmp(made.name, "uuid7") == 0)
        return false;
    makers_add(&decode->makers, &made);
    decode->status = STATUS_BAD_INPUT;
    return true;
}

static void guess_found(struct decode *decode, const struct found *found, const char *unit) {
    sfid_wide id;
    if (found->none || guess_other(decode, found))
        return;
    if (!found->fault && guess_add(&decode->guess, found->id, found->len)) {
        if (decode->rounded.open && reader_read(&decode->reader, found->id, found->len, &id))
            rounded_add(&decode->rounded, id.low);
        return;
    }
    if (found->fault || !decode->source.quiet)
        complain(decode, found, unit,
                 decode->any && maker_is_word(found->id, found->len)
                     ? "is not an ID of any layout that has a name" MAKERS_NONE
                     : "is not an ID of any layout that has a name");
}

/* Names a record that has no valid ID, and passes it through if that is wanted and it was read as a
 * whole. */
static void refuse_record(struct decode *decode, const struct found *found, const char *unit,
                          bool keep) {
    complain_of_id(decode, found, unit);
    if (decode->keep_bad && keep && !found->part)
        decode->source.keep(&decode->source, found, &decode->view, NULL);
}

static void decode_found(struct decode *decode, struct found *found, const char *unit, bool keep) {
    struct source *source = &decode->source;
    struct taken taken;
    if (decode->task == TASK_GUESS) {
        (void)source_resolve(source, found);
        guess_found(decode, found, unit);
        return;
    }
    const bool good = !found->fault && !found->none &&
                      (read_found(decode, found, &taken) ||
                       (source_resolve(source, found) && read_found(decode, found, &taken)));
    if (good)
        rounded_add(&decode->rounded, taken.id.low);
    if (!good && !found->none && show_other(decode, found))
        return;
    if (found->fault || (!good && !found->none && !source->quiet))
        refuse_record(decode, found, unit, keep);
    else if (decode->task == TASK_STATS && good)
        stats_add(&decode->stats, taken.id);
    else if (decode->task == TASK_SHOW && keep)
        source->keep(source, found, &decode->view, good ? &taken : NULL);
    else if (decode->task == TASK_SHOW && good)
        view_show(&decode->view, &taken);
}

static void decode_input(struct decode *decode) {
    struct source *source = &decode->source;
    struct found found;
    int rc = 1;
    const int status = source->begin ? source->begin(source, &decode->view) : STATUS_GOOD;
    if (status != STATUS_GOOD) {
        decode->status = status;
        return;
    }
    while (out_good() && (rc = source->next(source, &found)) > 0)
        decode_found(decode, &found, source->unit, source->keep != NULL);
    if (rc < 0) {
        say("standard input: %s", strerror(errno));
        decode->status = STATUS_IO;
    }
}

static void decode_argument(struct decode *decode, int number, const char *text) {
    const size_t len = strlen(text);
    decode_found(
        decode,
        &(struct found){
            .record = text, .record_len = len, .id = text, .len = len, .line = (uint64_t)number},
        an_argument, false);
}

/* Reports what needs all IDs. Returns the exit status. */
static int finish_decode(struct decode *decode) {
    const enum view_format format = decode->view.format;
    progress_clear();
    rounded_tell(&decode->rounded);
    if (decode->task == TASK_GUESS)
        makers_tell(&decode->makers, decode->guess.count);
    if (decode->task == TASK_SHOW || (decode->makers.all > 0 && decode->guess.count == 0))
        return decode->status;
    const int status = decode->task == TASK_GUESS
                           ? guess_report(&decode->guess, format, decode->header)
                           : stats_report(&decode->stats, format);
    return status == STATUS_GOOD ? decode->status : status;
}

static int run_decode(const struct args *args) {
    static struct decode decode;
    if (!decode_read_options(args, &decode))
        return STATUS_USAGE;
    if (decode.task != TASK_SHOW)
        progress_silent();
    if (args->operand_count == 0)
        decode_input(&decode);
    for (int i = 0; i < args->operand_count && out_good(); i++)
        if (strcmp(args->operands[i], "-") == 0) {
            decode_input(&decode);
        } else if (decode.streams) {
            return misuse(
                args,
                "decode: unexpected argument %s: IDs are read from standard input; put < before the name of a file",
                QUOTE(args->operands[i]));
        } else {
            decode_argument(&decode, i + 1, args->operands[i]);
        }
    return finish_decode(&decode);
}

const struct command command_decode = {
    .name = "decode",
    .alias = "parse",
    .synopsis =
        "[--layout LAYOUT] [--from FORM] [--format FORMAT] [--header] [--csv COLUMN | --tsv COLUMN | --key KEY | --grep] "
        "[--keep] [--columns LIST] "
        "[--utc | --local | --zone ZONE] [--age] [--partition day|hour] [--guess [--known ID=TIME]... | --stats] [ID... | -]",
    .summary = "take IDs apart into time, pid and sequence",
    .about =
        "Takes IDs apart: the arguments, or with none or \"-\", the lines of standard input. Empty\n"
        "lines are ignored. Text that is not an ID of the layout is reported on standard error, the\n"
        "other IDs are shown, and the exit status is 1.\n\n"
        "Text of digits only is decimal, unless it has the full width of FORM (hex: 16); 0x begins\n"
        "hex. LAYOUT is a preset, TIME:PID:SEQ[/UNIT][@EPOCH_MS], such as 41:10:12/1ms, or one of\n"
        "128 bits: flake, flake-go, awsflake[@EPOCH_MS], uuid7. Without LAYOUT and FORM, other makers'\n"
        "IDs are taken apart, too: ULID, KSUID, ObjectId, xid, TSID and UUIDs.\n\n"
        "--csv, --tsv and --key keep the other columns and members, and add the parts of the ID: as\n"
        "columns sfid_time, sfid_unix_ms, sfid_tick, sfid_pid and sfid_seq, or as a member \"sfid\".\n"
        "--keep also keeps the records without an ID. Dots in KEY lead into objects: user.id. --grep\n"
        "adds the time after each likely ID in the text. If --format differs from the input, CSV and\n"
        "TSV keep their columns with csv, tsv or json; otherwise only the IDs are shown.\n\n"
        "--guess finds the widths of the layout, and its epoch if --known says when one of the IDs was\n"
        "made, or if they were made just now. If the answer is not certain, the exit status is 3, and\n"
        "the layout ends in \"?\". --stats shows the first and last time, duplicates, ordering errors,\n"
        "peaks and gaps, and the busiest pids.\n",
    .options = decode_options,
    .run = run_decode,
};
