/* SPDX-License-Identifier: MIT */
/* decode.c - sfid decode: takes IDs apart. */
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LAYOUT, FROM, FORMAT, HEADER };

static const struct option_spec options[] = {
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "how the IDs are cut into fields (sfid)"},
    [FROM] = {"from", 0, "FORM", NULL, "how IDs are written that are not digits alone (dec)"},
    [FORMAT] = {"format", 0, "FORMAT", NULL, "text, json or tsv (text)"},
    [HEADER] = {"header", 0, NULL, NULL, "with tsv: the names of the columns first"},
    {NULL, 0, NULL, NULL, NULL},
};

static const char *const formats[] = {[VIEW_TEXT] = "text", [VIEW_JSON] = "json", [VIEW_TSV] = "tsv", NULL};

struct decode {
    struct reader reader;
    struct view view;
    struct in in;
    int status;
};

static void complain(struct decode *decode, const char *unit, uint64_t number, const struct line *line) {
    char why[READER_WHY];
    sfid_wide id;
    if (line->cut)
        snprintf(why, sizeof why, "is longer than any ID");
    else if (reader_read(&decode->reader, line->text, line->len, &id))
        snprintf(why, sizeof why, "sets a bit above the fields of layout %s; another --layout?", decode->view.name);
    else
        reader_explain(&decode->reader, line->text, line->len, why);
    say_bad(unit, number, line->text, line->len, why);
    decode->status = STATUS_BAD_INPUT;
}

static void decode_text(struct decode *decode, const char *unit, uint64_t number, const struct line *line) {
    sfid_wide id;
    if (line->cut || !reader_read(&decode->reader, line->text, line->len, &id) || !view_id(&decode->view, (int64_t)id.low))
        complain(decode, unit, number, line);
}

static void decode_input(struct decode *decode) {
    enum { LONGEST = 256 };
    struct line line;
    int rc;
    in_begin(&decode->in, STDIN_FILENO, LONGEST);
    while ((rc = in_line(&decode->in, &line)) > 0) {
        if (line.len > 0) /* files end in empty lines */
            decode_text(decode, "line", decode->in.line, &line);
        if (!out_good())
            return;
    }
    if (rc < 0) {
        say("standard input: %s", strerror(errno));
        decode->status = STATUS_IO;
    }
}

static bool read_options(const struct args *args, struct decode *decode) {
    sfid_layout layout;
    const int from = args_choice(args, FROM, id_forms);
    const int format = args_choice(args, FORMAT, formats);
    if (from < 0 || format < 0 || !args_layout(args, LAYOUT, &layout))
        return false;
    if (args->value[HEADER] && format != VIEW_TSV) {
        say("--header goes with --format tsv alone");
        return false;
    }
    reader_begin(&decode->reader, (sfid_form)from, false);
    view_begin(&decode->view, &layout, (enum view_format)format);
    if (args->value[HEADER])
        view_header();
    return true;
}

static int run(const struct args *args) {
    static struct decode decode;
    if (!read_options(args, &decode))
        return STATUS_USAGE;
    if (args->operand_count == 0)
        decode_input(&decode);
    for (int i = 0; i < args->operand_count && out_good(); i++)
        if (strcmp(args->operands[i], "-") == 0)
            decode_input(&decode);
        else
            decode_text(&decode, "argument", (uint64_t)i + 1,
                        &(struct line){args->operands[i], strlen(args->operands[i]), false, false});
    return decode.status;
}

const struct command command_decode = {
    .name = "decode",
    .alias = "parse",
    .synopsis = "[--layout LAYOUT] [--from FORM] [--format text|json|tsv] [--header] [ID... | -]",
    .summary = "take IDs apart into time, pid and sequence",
    .about = "Takes apart the IDs given, or those on standard input, one a line, where none or\n"
             "\"-\" is given. Empty lines are passed over. What is no ID of the layout is named on\n"
             "standard error, the rest is done, and the exit status is 1.\n\n"
             "Digits alone are decimal, but of FORM where they are as many as it is written with\n"
             "(hex: 16); 0x is hex.\n"
             "LAYOUT is a preset or TIME:PID:SEQ[/UNIT][@EPOCH_MS], such as 41:10:12/1ms.\n",
    .options = options,
    .run = run,
};
