/* SPDX-License-Identifier: MIT */
/* decode.c - sfid decode: takes IDs apart. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LAYOUT, FROM, FORMAT, HEADER };

static const struct option_spec options[] = {
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "how the IDs are cut into fields (sfid)"},
    [FROM] = {"from", 0, "FORM", NULL, "how IDs are written that are not digits alone: dec or hex (dec)"},
    [FORMAT] = {"format", 0, "FORMAT", NULL, "text, json or tsv (text)"},
    [HEADER] = {"header", 0, NULL, NULL, "with tsv: the names of the columns first"},
    {NULL, 0, NULL, NULL, NULL},
};

static const char *const forms[] = {"dec", "hex", NULL};
static const char *const formats[] = {[VIEW_TEXT] = "text", [VIEW_JSON] = "json", [VIEW_TSV] = "tsv", NULL};

/* Digits of the widest 64-bit number, zeros before included. */
#define DEC_WIDTH 20
#define HEX_WIDTH 16

struct decode {
    sfid_form from;
    struct view view;
    struct in in;
    int status;
};

/* An ID as it was given, and how it is read. */
struct given {
    const char *text;
    size_t len;
    sfid_form form;
    const char *digits; /* behind an 0x */
    size_t count;
};

/*
 * Digits alone are decimal. But gen writes hex in 16 digits, and one in some
 * thousand of those happens to have no letter: where hex was announced, that
 * width decides.
 */
static sfid_form form_of(const struct decode *decode, const struct given *given) {
    if (decode->from != SFID_HEX || given->count == 0)
        return decode->from;
    if (given->count == HEX_WIDTH)
        return SFID_HEX;
    for (size_t i = 0; i < given->count; i++)
        if (given->digits[i] < '0' || given->digits[i] > '9')
            return SFID_HEX;
    return SFID_DEC;
}

static struct given look_at(const struct decode *decode, const char *text, size_t len) {
    struct given given = {text, len, SFID_DEC, text, len};
    if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        given.form = SFID_HEX;
        given.digits += 2;
        given.count -= 2;
    } else {
        given.form = form_of(decode, &given);
    }
    return given;
}

/* ---- what is wrong ------------------------------------------------------- */

static size_t first_wrong(const struct given *given) {
    size_t i = 0;
    int64_t value;
    while (i < given->count && sfid_from_text(given->form, given->digits + i, 1, &value) == 0)
        i++;
    return i;
}

static const char *wanted(sfid_form form) {
    return form == SFID_HEX ? "1 to 16 hex digits" : "1 to 19 decimal digits, or 0x and hex digits";
}

static void complain(struct decode *decode, const char *where, const struct given *given, bool cut) {
    char why[160];
    const size_t at = first_wrong(given);
    int64_t id;
    if (given->len == 0)
        snprintf(why, sizeof why, "is empty; wanted: %s", wanted(given->form));
    else if (cut)
        snprintf(why, sizeof why, "is longer than any ID; wanted: %s", wanted(given->form));
    else if (at < given->count)
        snprintf(why, sizeof why, "has no %s digit at character %zu; wanted: %s", given->form == SFID_HEX ? "hex" : "decimal",
                 (size_t)(given->digits - given->text) + at + 1, wanted(given->form));
    else if (given->count > (given->form == SFID_HEX ? HEX_WIDTH : DEC_WIDTH))
        snprintf(why, sizeof why, "has %zu digits; wanted: %s", given->count, wanted(given->form));
    else if (sfid_from_text(given->form, given->digits, given->count, &id) < 0)
        snprintf(why, sizeof why, "is above the highest ID, 9223372036854775807");
    else
        snprintf(why, sizeof why, "sets a bit above the fields of layout %s; another --layout?", decode->view.name);
    say("%s: %s %s", where, quote(given->text, given->len).text, why);
    decode->status = STATUS_BAD_INPUT;
}

/* ---- taking apart -------------------------------------------------------- */

static bool show(struct decode *decode, const struct given *given) {
    int64_t id;
    return given->count <= (given->form == SFID_HEX ? HEX_WIDTH : DEC_WIDTH) &&
           sfid_from_text(given->form, given->digits, given->count, &id) == 0 && view_id(&decode->view, id);
}

static void decode_argument(struct decode *decode, int number, const char *text) {
    const struct given given = look_at(decode, text, strlen(text));
    if (show(decode, &given))
        return;
    char where[32];
    snprintf(where, sizeof where, "argument %d", number);
    complain(decode, where, &given, false);
}

/* Empty lines are passed over: files end in them. */
static void decode_line(struct decode *decode, const struct line *line) {
    const struct given given = look_at(decode, line->text, line->len);
    if (line->len == 0 || (!line->cut && show(decode, &given)))
        return;
    char where[40];
    snprintf(where, sizeof where, "line %llu", (unsigned long long)decode->in.line);
    complain(decode, where, &given, line->cut);
}

static void decode_input(struct decode *decode) {
    struct line line;
    int rc;
    in_begin(&decode->in, STDIN_FILENO);
    while ((rc = in_line(&decode->in, &line)) > 0) {
        decode_line(decode, &line);
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
    const int from = args_choice(args, FROM, forms);
    const int format = args_choice(args, FORMAT, formats);
    if (from < 0 || format < 0 || !args_layout(args, LAYOUT, &layout))
        return false;
    if (args->value[HEADER] && format != VIEW_TSV) {
        say("--header goes with --format tsv alone");
        return false;
    }
    decode->from = from == 1 ? SFID_HEX : SFID_DEC;
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
            decode_argument(&decode, i + 1, args->operands[i]);
    return decode.status;
}

const struct command command_decode = {
    .name = "decode",
    .alias = "parse",
    .synopsis = "[--layout LAYOUT] [--from dec|hex] [--format text|json|tsv] [--header] [ID... | -]",
    .summary = "take IDs apart into time, pid and sequence",
    .about = "Takes apart the IDs given, or those on standard input, one a line, where none or\n"
             "\"-\" is given. Empty lines are passed over. What is no ID of the layout is named on\n"
             "standard error, the rest is done, and the exit status is 1.\n\n"
             "Digits alone are decimal (with --from hex, exactly 16 of them are hex); 0x is hex.\n"
             "LAYOUT is a preset or TIME:PID:SEQ[/UNIT][@EPOCH_MS], such as 41:10:12/1ms.\n",
    .options = options,
    .run = run,
};
