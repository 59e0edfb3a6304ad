/* SPDX-License-Identifier: MIT */
/* usage.c - usage and help, from the same table that reads the options. */
#include "args/all.h"

int usage(const struct command *command) {
    say("usage: sfid %s %s", command->name, command->synopsis);
    say("more: sfid %s --help", command->name);
    return STATUS_USAGE;
}

static void help_option(const struct option_spec *option) {
    char left[48], letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->arg && option->arg[0] != '[' ? " " : "",
             option->arg ? option->arg : "");
    out_print("  %-22s  %s%s%s%s\n", left, option->help, option->env ? " [$" : "", option->env ? option->env : "",
              option->env ? "]" : "");
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
