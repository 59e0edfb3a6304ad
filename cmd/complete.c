/* SPDX-License-Identifier: MIT */
/* complete.c - completion of command lines, from the tables that read the options and write the
 * help. */
#include "complete.h"

#include "args/args.h"
#include "commands.h"
#include "io/out.h"
#include "io/say.h"

#include <stdio.h>
#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

/* ---- words that are offered ------------------------------------------------ */

/* `head` is what the word being completed begins with already: --format= of --format=json. */
static void offer(const char *head, const char *word, size_t len, const char *about) {
    out_print("%s%.*s%s%s\n", head, (int)len, word, about ? "\t" : "", about ? about : "");
}

static void offer_word(const char *head, const char *word) {
    offer(head, word, strlen(word), NULL);
}

static void offer_commands(void) {
    for (size_t i = 0; command_at(i); i++)
        offer("", command_at(i)->name, strlen(command_at(i)->name), command_at(i)->summary);
}

static void offer_options(const struct command *command) {
    for (const struct option_spec *option = command->options; option->name; option++)
        if (option->help)
            offer("--", option->name, strlen(option->name), option->help);
    offer("--", "help", strlen("help"), "show this help");
}

static void offer_layouts(const char *head) {
    for (size_t i = 0; sfid_layout_preset(i); i++)
        offer_word(head, sfid_layout_preset(i));
    for (size_t i = 0; sfid_wide_layout_preset(i); i++)
        offer_word(head, sfid_wide_layout_preset(i));
}

static void offer_forms(const char *head) {
    for (int form = 0; sfid_form_name((sfid_form)form); form++)
        offer_word(head, sfid_form_name((sfid_form)form));
}

static void offer_stores(const char *head) {
    static const char *const stores[] = {"local",
                                         "redis://",
                                         "rediss://",
                                         "valkey://",
                                         "valkeys://",
                                         "redis+sentinel://",
                                         "redis+cluster://",
                                         "unix:///",
                                         "ordinal:",
                                         "pool:"};
    for (size_t i = 0; i < COUNT_OF(stores); i++)
        offer_word(head, stores[i]);
}

/* Returns the length of what stands between two words of a list, or 0. */
static size_t gap_of(const char *text) {
    return strncmp(text, ", ", 2) == 0 ? 2 : strncmp(text, " or ", 4) == 0 ? 4 : 0;
}

/* Offers the values that the help of an option lists: "wait, borrow or fail (wait)". The default
 * follows in brackets. */
static void offer_listed(const char *head, const char *help) {
    bool inside = false;
    while (*help && *help != '(') {
        size_t len = strspn(help, letters);
        if (len > 0)
            len += strspn(help + len, "0123456789");
        const size_t gap = len > 0 ? gap_of(help + len) : 0;
        if (gap > 0 || (len > 0 && inside))
            offer(head, help, len, NULL);
        inside = gap > 0;
        help += len + gap > 0 ? len + gap : 1;
    }
}

/* ---- what belongs to the place of the cursor ------------------------------- */

static void offer_values(const char *head, const struct option_spec *option) {
    static const char *const listed[] = {"DIALECT", "FORMAT", "HOW", "UNIT", "WHEN"};
    const char *arg = option->arg;
    if (strcmp(arg, "DIR") == 0 || strcmp(arg, "FILE") == 0)
        offer_word("", arg);
    else if (strcmp(arg, "LAYOUT") == 0)
        offer_layouts(head);
    else if (strcmp(arg, "STORE") == 0)
        offer_stores(head);
    else if (strcmp(arg, "FORM") == 0)
        offer_forms(head);
    for (size_t i = 0; i < COUNT_OF(listed); i++)
        if (strcmp(arg, listed[i]) == 0)
            offer_listed(head, option->help);
}

/* What the synopsis has before the first option: its actions are in small letters. */
static void offer_operand(const struct command *command, int before) {
    const char *at = command->synopsis;
    const char *end = at + strcspn(at, "-");
    bool offered = false;
    if (strcmp(at, "[COMMAND]") == 0 && before == 0) {
        offer_commands();
        return;
    }
    while (before == 0 && at < end) {
        const size_t len = strspn(at, letters);
        if (len > 0)
            offer("", at, len, NULL);
        offered = offered || len > 0;
        at += len > 0 ? len : 1;
    }
    const char *layout = strstr(command->synopsis, "[LAYOUT]");
    if (before > 0 && layout && layout < end)
        offer_layouts("");
    if (!offered)
        offer_options(command);
}

static const struct option_spec *option_of(const struct command *command, const char *word) {
    const size_t len = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
    for (const struct option_spec *option = command->options; option->name; option++)
        if ((len > 0 && strlen(option->name) == len && strncmp(option->name, word + 2, len) == 0) ||
            (len == 0 && option->letter && word[1] == option->letter && word[2] == '\0'))
            return option;
    return NULL;
}

/* Returns whether the word before the last one leaves its value to the next. An optional value
 * follows a '='. */
static bool wants_value(const struct option_spec *option, const char *word) {
    return option && option->arg && option->arg[0] != '[' && strchr(word, '=') == NULL;
}

static void complete_last(const struct command *command, const char *last,
                          const struct option_spec *waiting, int operands) {
    const struct option_spec *option = strchr(last, '=') ? option_of(command, last) : NULL;
    char head[64] = "";
    if (waiting) {
        offer_values("", waiting);
    } else if (last[0] != '-') {
        offer_operand(command, operands);
    } else if (option == NULL) {
        offer_options(command);
    } else if (option->arg) {
        /* a name in the table is far shorter */
        snprintf(head, sizeof head, "%.*s", (int)strcspn(last, "=") + 1, last);
        offer_values(head, option);
    }
}

int complete(int count, char **words) {
    const char *last = count > 0 ? words[count - 1] : "";
    const struct command *command = count > 1 ? command_of(words[0]) : NULL;
    const struct option_spec *waiting = NULL; /* for its value */
    int operands = 0;
    if (count <= 1 && last[0] == '-')
        out_print("--help\n--version\n");
    else if (count <= 1)
        offer_commands();
    if (command == NULL)
        return STATUS_GOOD;
    for (int i = 1; i < count - 1; i++) {
        const char *word = words[i];
        if (strcmp(word, "=") == 0) /* bash makes three words of --format=json */
            continue;
        const struct option_spec *option =
            waiting == NULL && word[0] == '-' ? option_of(command, word) : NULL;
        operands += waiting == NULL && word[0] != '-';
        waiting = wants_value(option, word) ? option : NULL;
        if (strcmp(word, "--") == 0 ||
            (operands > 0 && strstr(command->synopsis, " COMMAND [ARGUMENT"))) {
            offer_word("", "FILE"); /* a program and its arguments, or operands */
            return STATUS_GOOD;
        }
    }
    complete_last(command, strcmp(last, "=") == 0 ? "" : last, waiting, operands);
    return STATUS_GOOD;
}
