/* SPDX-License-Identifier: MIT */
/* convert.c - sfid convert: writes IDs in another form. */
#include "args/args.h"
#include "io/in.h"
#include "io/out.h"
#include "io/say.h"
#include "text/hint.h"
#include "text/ids.h"
#include "text/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TO, FROM, WIDTH, WIDE };

static const struct option_spec options[] = {
    [TO] = {"to", 0, "FORM", NULL,
            "the form to write: dec, hex, base62, base32, base58, uuid or bytes"},
    [FROM] = {"from", 0, "FORM", NULL, "the form of IDs that are not only digits (dec)"},
    [WIDTH] = {"width", 0, "DIGITS", NULL,
               "write at least this many digits (the form's own width)"},
    [WIDE] = {"wide", 0, NULL, NULL, "IDs have 128 bits, such as UUIDs"},
    {NULL, 0, NULL, NULL, NULL},
};

struct convert {
    struct reader reader;
    sfid_form to;
    unsigned width; /* 0: the form's default */
    struct in in;
    bool hinted; /* the hint was given */
    int status;
};

/* Returns the length, or SFID_EINVAL for a width that the form does not have. */
static int write_id(const struct convert *convert, sfid_wide id, char *p) {
    if (convert->reader.wide)
        return sfid_wide_to_text(convert->to, id, convert->width, p, SFID_WIDE_TEXT_LEN);
    return sfid_to_text_padded(convert->to, (int64_t)id.low, convert->width, p, SFID_TEXT_LEN);
}

static const char an_argument[] = "argument";

static const char *find_hint(struct convert *convert, const char *unit, const struct line *line) {
    if (unit == an_argument)
        return hint_argument(line->text);
    if (convert->hinted || convert->reader.form == SFID_BYTES)
        return "";
    const char *hint = hint_line(line->text, line->len, false);
    convert->hinted = hint[0] != '\0';
    return hint;
}

static void complain(struct convert *convert, const char *unit, uint64_t number,
                     const struct line *line) {
    char typed[40], wrong[READER_WHY], why[HINT];
    convert->status = STATUS_BAD_INPUT;
    snprintf(typed, sizeof typed, "convert --to %s", id_forms[convert->to]);
    reader_explain(&convert->reader, line->text, line->len, wrong);
    if (unit != an_argument || !hint_file(typed, false, line->text, why))
        snprintf(why, sizeof why, "%s%s", line->cut ? "is longer than any ID" : wrong,
                 find_hint(convert, unit, line));
    say_bad(unit, number, line->text, line->len, why);
}

static void convert_text(struct convert *convert, const char *unit, uint64_t number,
                         const struct line *line) {
    sfid_wide id;
    if (line->cut || !reader_read(&convert->reader, line->text, line->len, &id)) {
        complain(convert, unit, number, line);
        return;
    }
    char *p = out_room(SFID_WIDE_TEXT_LEN + 1);
    p += write_id(convert, id, p); /* cannot fail: read_width() has tried the width */
    if (convert->to != SFID_BYTES)
        *p++ = '\n';
    out_until(p);
}

static void convert_input(struct convert *convert) {
    enum { LONGEST = 256 };
    const bool bytes = convert->reader.form == SFID_BYTES;
    struct line line;
    int rc;
    in_begin(&convert->in, STDIN_FILENO, LONGEST);
    while ((rc = bytes ? in_block(&convert->in, convert->reader.most, &line)
                       : in_line(&convert->in, &line)) > 0) {
        if (line.len > 0)
            convert_text(convert, bytes ? "ID" : "line", convert->in.line, &line);
        if (!out_good())
            return;
    }
    if (rc < 0) {
        say("standard input: %s", strerror(errno));
        convert->status = STATUS_IO;
    }
}

static bool read_convert(const struct args *args, struct convert *convert) {
    const int to = args_choice(args, TO, id_forms), from = args_choice(args, FROM, id_forms);
    if (to < 0 || from < 0)
        return false;
    convert->to = (sfid_form)to;
    reader_begin(&convert->reader, (sfid_form)from,
                 args->value[WIDE] || to == SFID_UUID || from == SFID_UUID);
    return read_width(args, WIDTH, args->value[TO], to, convert->reader.wide, &convert->width);
}

static int run_convert(const struct args *args) {
    static struct convert convert;
    if (!args_given(args, TO))
        return usage(args->command);
    if (!read_convert(args, &convert))
        return STATUS_USAGE;
    if (args->operand_count == 0)
        convert_input(&convert);
    for (int i = 0; i < args->operand_count && out_good(); i++) {
        const char *text = args->operands[i];
        if (strcmp(text, "-") == 0)
            convert_input(&convert);
        else
            convert_text(&convert, an_argument, (uint64_t)i + 1,
                         &(struct line){.text = text, .len = strlen(text)});
    }
    return convert.status;
}

const struct command command_convert = {
    .name = "convert",
    .synopsis = "--to FORM [--from FORM] [--width DIGITS] [--wide] [ID... | -]",
    .summary = "write IDs in another form",
    .about =
        "Writes IDs in another form: the arguments, or with none or \"-\", the lines of standard\n"
        "input. Empty lines are ignored. Text that is not an ID is reported on standard error, the\n"
        "other IDs are written, and the exit status is 1.\n\n"
        "Text of digits only is decimal, unless it has the full width of FORM; 0x begins hex.\n"
        "hex, base32, base58 and base62 are written at full width, so that they sort bytewise as\n"
        "the IDs do. base62 and base58 need a column that is binary: if case is ignored, two IDs can\n"
        "be equal. --width 1 omits leading zeros; with --width 19 dec sorts as well. bytes are\n"
        "big-endian, 8 per ID (16 with --wide), with nothing in between.\n",
    .options = options,
    .run = run_convert,
};
