/* SPDX-License-Identifier: MIT */
/*
 * args.c - options of a command, from its arguments and the environment.
 *
 * getopt_long() is not used: it accepts abbreviations, which break scripts when
 * a later version adds an option. Also, an argument such as -5 has to reach the
 * command, which can say what is wrong with it.
 */
#include "args/args.h"

#include "io/digits.h"
#include "io/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading the arguments ----------------------------------------------- */

static int find_long(const struct command *command, const char *name, size_t len) {
    for (int i = 0; command->options[i].name; i++)
        if (strlen(command->options[i].name) == len &&
            memcmp(command->options[i].name, name, len) == 0)
            return i;
    return -1;
}

static int find_letter(const struct command *command, char letter) {
    for (int i = 0; command->options[i].name; i++)
        if (command->options[i].letter == letter && letter)
            return i;
    return -1;
}

static void set_value(struct args *args, int i, const char *value, const char *label_head,
                      const char *label) {
    const char *arg = args->command->options[i].arg;
    args->value[i] = value;
    if (arg && strstr(arg, "...") && args->list_count++ < ARGS_LIST)
        args->list[args->list_count - 1] = value;
    args->from_env[i] = label_head[0] == '$';
    snprintf(args->label[i], sizeof args->label[i], "%s%s", label_head, label);
}

static int bad_option(const struct args *args, const char *before, const char *option, size_t len,
                      const char *after) {
    return misuse(args, "%s: %s %s%s", args->command->name, before, quote(option, len).text, after);
}

struct cursor {
    int argc;
    char **argv;
    int at;
};

static int help_wanted(const struct args *args) {
    help_command(args->command);
    return STATUS_GOOD;
}

/* Reads --name, --name=value or --name value. Returns as args_read(). */
static int read_long(struct args *args, struct cursor *cursor) {
    const char *word = cursor->argv[cursor->at++];
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    const size_t len = equals ? (size_t)(equals - name) : strlen(name);
    if (strcmp(name, "help") == 0)
        return help_wanted(args);
    const int i = find_long(args->command, name, len);
    if (i < 0)
        return bad_option(args, "unknown option", word, len + 2, "");

    const char *spec_name = args->command->options[i].name;
    if (args->command->options[i].arg == NULL) {
        if (equals)
            return bad_option(args, "option", word, len + 2, " takes no value");
        set_value(args, i, "", "--", spec_name);
    } else if (equals) {
        set_value(args, i, equals + 1, "--", spec_name);
    } else if (args->command->options[i].arg[0] == '[') {
        set_value(args, i, "", "--", spec_name);
    } else if (cursor->at < cursor->argc) {
        set_value(args, i, cursor->argv[cursor->at++], "--", spec_name);
    } else {
        return bad_option(args, "option", word, len + 2, " needs a value");
    }
    return -1;
}

/* Reads -n value or -nvalue. Letters without a value may be joined. Returns as args_read(). */
static int read_letters(struct args *args, struct cursor *cursor) {
    const char *word = cursor->argv[cursor->at++];
    for (const char *p = word + 1; *p; p++) {
        const char letter[2] = {*p, '\0'};
        if (*p == 'h')
            return help_wanted(args);
        const int i = find_letter(args->command, *p);
        if (i < 0)
            return bad_option(args, "unknown option", word, strlen(word), "");
        if (args->command->options[i].arg == NULL) {
            set_value(args, i, "", "-", letter);
            continue;
        }
        if (p[1] == '\0' && cursor->at == cursor->argc)
            return bad_option(args, "option", word, strlen(word), " needs a value");
        set_value(args, i, p[1] ? p + 1 : cursor->argv[cursor->at++], "-", letter);
        break;
    }
    return -1;
}

/* "-" means standard input; -5 is meant as an ID. */
static bool is_option(const char *word) {
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9');
}

/* An empty variable is somebody's mistake, such as the name of a secret that is not there: it is
 * named, not taken for unset. */
static bool read_environment(struct args *args) {
    for (int i = 0; args->command->options[i].name; i++) {
        const char *env = args->command->options[i].env;
        const char *value = env && args->value[i] == NULL ? getenv(env) : NULL;
        if (value && !value[0])
            return refuse("$%s is set and empty; unset it, or give it a value", env);
        if (value)
            set_value(args, i, value, "$", env);
    }
    return true;
}

int args_read(struct args *args, const struct command *command, int argc, char **argv) {
    memset(args, 0, sizeof *args);
    args->command = command;
    args->operands = argv;
    struct cursor cursor = {argc, argv, 0};
    while (cursor.at < argc) {
        char *word = argv[cursor.at];
        int rc = -1;
        if (strcmp(word, "--") == 0) {
            cursor.at++;
            break;
        }
        if (!is_option(word))
            /* in place: never ahead of the read position */
            args->operands[args->operand_count++] = argv[cursor.at++];
        else if (word[1] == '-')
            rc = read_long(args, &cursor);
        else
            rc = read_letters(args, &cursor);
        if (rc >= 0)
            return rc;
    }
    while (cursor.at < argc)
        args->operands[args->operand_count++] = argv[cursor.at++];
    return read_environment(args) ? -1 : STATUS_USAGE;
}

/* ---- values -------------------------------------------------------------- */

int args_choice(const struct args *args, int i, const char *const *names) {
    char list[160] = "";
    if (args->value[i] == NULL)
        return 0;
    for (int n = 0; names[n]; n++) {
        if (strcmp(args->value[i], names[n]) == 0)
            return n;
        const size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", n == 0 ? "" : ", ", names[n]);
    }
    say("%s: %s is not one of %s", args->label[i], QUOTE(args->value[i]), list);
    return -1;
}

bool args_number(const struct args *args, int i, uint64_t max, uint64_t *value) {
    if (args->value[i] == NULL || read_u64(args->value[i], max, value))
        return true;
    return refuse("%s: %s is not a decimal number from 0 to %llu", args->label[i],
                  QUOTE(args->value[i]), (unsigned long long)max);
}

bool args_between(const struct args *args, int i, uint32_t least, uint32_t most, uint32_t *value) {
    uint64_t number;
    if (args->value[i] == NULL)
        return true;
    most = most ? most : DAY;
    if (read_u64(args->value[i], most, &number) && number >= least) {
        *value = (uint32_t)number;
        return true;
    }
    return refuse("%s: %s is not a decimal number from %lu to %lu", args->label[i],
                  QUOTE(args->value[i]), (unsigned long)least, (unsigned long)most);
}

bool is_app_name(const char *name) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.{}-";
    const size_t len = strlen(name);
    return len >= 1 && len <= 64 && name[0] != '.' && strspn(name, letters) == len;
}

bool args_app(const struct args *args, int i, const char **app) {
    const char *value = args->value[i];
    if (value && !is_app_name(value))
        return refuse(
            "%s: %s is not an app name; use 1 to 64 of A-Z a-z 0-9 _ . { } -, with no dot first",
            args->label[i], QUOTE(value));
    *app = value ? value : *app;
    return true;
}

bool args_directory(const struct args *args, int i, const char **directory) {
    const char *value = args->value[i];
    if (value && value[0] == '\0')
        return refuse("%s: '' is not a directory", args->label[i]);
    *directory = value ? value : *directory;
    return true;
}

bool args_time(const struct args *args, int i, struct moment now, struct moment *moment) {
    const char *wrong = read_time(args->value[i], now, moment);
    if (wrong)
        say("%s: %s %s", args->label[i], QUOTE(args->value[i]), wrong);
    return wrong == NULL;
}

bool args_are_given(const struct args *args, const int *needed, size_t count) {
    for (size_t n = 0; n < count; n++)
        if (args->value[needed[n]] == NULL)
            return refuse("%s: --%s is missing", args->command->name,
                          args->command->options[needed[n]].name);
    return true;
}

bool args_no_operands(const struct args *args, const char *hint) {
    if (args->operand_count == 0)
        return true;
    return refuse("%s: unexpected argument %s%s", args->command->name, QUOTE(args->operands[0]),
                  hint);
}

/* ---- misspelt names --------------------------------------------------------- */

static unsigned min3(unsigned a, unsigned b, unsigned c) {
    const unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Returns how many letters to change, add or drop. Names are short; long ones count as far away. */
static unsigned distance(const char *a, const char *b) {
    enum { LONGEST = 24 };
    const size_t n = strlen(b);
    unsigned row[LONGEST + 1];
    if (strlen(a) > LONGEST || n > LONGEST)
        return LONGEST;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const unsigned above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

const char *nearest(const char *text, const char *(*next)(size_t i)) {
    const char *best = NULL;
    unsigned best_distance = 3;
    for (size_t i = 0; next(i); i++) {
        const char *name = next(i);
        unsigned d = distance(text, name);
        if (text[0] && strncmp(text, name, strlen(text)) == 0)
            d = 1; /* an abbreviation */
        if (d < best_distance && d < strlen(name)) {
            best = name;
            best_distance = d;
        }
    }
    return best;
}

void say_unknown(const char *what, const char *name, const char *(*next)(size_t i)) {
    const char *near = nearest(name, next);
    say("%s %s%s%s%s", what, QUOTE(name), near ? ", did you mean '" : "", near ? near : "",
        near ? "'?" : "");
}

/* ---- layouts --------------------------------------------------------------- */

/* Copies the text from *p up to one of the marks or the end, and moves *p there. Returns false if
 * it does not fit the room. */
static bool take_piece(const char **p, const char *marks, char *piece, size_t size) {
    const size_t len = strcspn(*p, marks);
    if (len >= size)
        return false;
    memcpy(piece, *p, len);
    piece[len] = '\0';
    *p += len;
    return true;
}

static const char *find_width_fault(const uint64_t width[3], char *room, size_t size) {
    static const struct {
        const char *name;
        uint64_t least, most;
    } fields[] = {{"time", 2, 63}, {"pid", 0, 32}, {"seq", 0, 61}};
    const uint64_t sum = width[0] + width[1] + width[2];
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (width[i] < fields[i].least || width[i] > fields[i].most) {
            snprintf(room, size, "%s has %llu bit%s; %llu to %llu are allowed", fields[i].name,
                     (unsigned long long)width[i], width[i] == 1 ? "" : "s",
                     (unsigned long long)fields[i].least, (unsigned long long)fields[i].most);
            return room;
        }
    if (sum > 64) {
        snprintf(room, size, "the widths add up to %llu bits, but an ID has 64",
                 (unsigned long long)sum);
        return room;
    }
    return NULL;
}

/* Returns whether the library accepts a small layout with this text after its widths. */
static bool is_good_with(const char *tail) {
    char text[80];
    sfid_layout layout;
    return snprintf(text, sizeof text, "2:0:0%s", tail) < (int)sizeof text &&
           sfid_layout_parse(text, &layout) == 0;
}

const char *layout_fault(const char *text, char *room, size_t size) {
    char piece[48];
    uint64_t width[3];
    const char *p = text;
    for (int i = 0; i < 3; i++) {
        if ((i > 0 && *p++ != ':') || !take_piece(&p, ":/@", piece, sizeof piece) ||
            !read_u64(piece, 999, &width[i]))
            return "it needs three widths in bits, TIME:PID:SEQ";
    }
    if (*p == ':')
        return "it has more than three widths";
    const char *fault = find_width_fault(width, room, size);
    if (fault)
        return fault;
    if (*p == '/' && (!take_piece(&p, "@", piece, sizeof piece) || !is_good_with(piece)))
        return "the unit must be digits and ms or s, such as /10ms, at most 4294967295ms";
    if (*p == '@' && !is_good_with(p))
        return "the epoch must be Unix milliseconds between the years 1 and 9999, such as @1288834974657";
    return "its last tick is out of range; use fewer bits of time, or a shorter unit";
}

bool read_layout(const char *label, const char *text, const char *(*preset)(size_t i),
                 sfid_layout *layout) {
    if (sfid_layout_parse(text, layout) == 0)
        return true;
    if (text[0] >= '0' && text[0] <= '9') {
        char room[120];
        return refuse("%s: %s is not a layout: %s", label, QUOTE(text),
                      layout_fault(text, room, sizeof room));
    }
    char list[400] = "";
    for (size_t i = 0; preset(i); i++) {
        const size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i == 0 ? "" : ", ", preset(i));
    }
    const char *near = nearest(text, preset);
    return refuse(
        "%s: %s is not a layout%s%s%s; use a preset (%s) or TIME:PID:SEQ[/UNIT][@EPOCH_MS], such as 41:10:12/1ms",
        label, QUOTE(text), near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "",
        list);
}

bool args_layout(const struct args *args, int i, sfid_layout *layout) {
    const char *text = args->value[i];
    sfid_wide_layout wide;
    *layout = SFID_LAYOUT_DEFAULT;
    if (text == NULL || sfid_wide_layout_parse(text, &wide) < 0)
        return text == NULL || read_layout(args->label[i], text, sfid_layout_preset, layout);
    return refuse("%s: %s has more than 64 bits; %s needs a layout of 64", args->label[i],
                  QUOTE(text), args->command->name);
}

/* ---- usage and help, from the same table that reads the options; version ---- */

int usage(const struct command *command) {
    say("usage: sfid %s %s", command->name, command->synopsis);
    return fail(STATUS_USAGE, "more: sfid %s --help", command->name);
}

static void help_option(const struct option_spec *option) {
    char left[48], letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
             option->arg && option->arg[0] != '[' ? " " : "", option->arg ? option->arg : "");
    out_print("  %-22s  %s%s%s%s\n", left, option->help, option->env ? " [$" : "",
              option->env ? option->env : "", option->env ? "]" : "");
}

void help_command(const struct command *command) {
    out_print("Usage: sfid %s %s\n\n", command->name, command->synopsis);
    if (command->alias)
        out_print("Alias: sfid %s\n\n", command->alias);
    out_print("Options:\n");
    for (const struct option_spec *option = command->options; option->name; option++)
        if (option->help)
            help_option(option);
    out_print("  %-22s  %s\n\n%s", "-h, --help", "show this help", command->about);
}

const char *version_text(void) {
    static char text[200];
    const char *tls = sfid_version_of("OpenSSL");
    snprintf(text, sizeof text, "%s (hiredis %s, libuuid %s, %s%s)", sfid_version(),
             sfid_version_of("hiredis"), sfid_version_of("libuuid"), tls ? "OpenSSL " : "no TLS",
             tls ? tls : "");
    return text;
}
