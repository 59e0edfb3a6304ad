/* SPDX-License-Identifier: MIT */
/* commands.c - the list of commands, and sfid help. */
#include "commands.h"

#include "args/args.h"
#include "args/store.h"
#include "io/out.h"
#include "io/say.h"

#include <stdio.h>
#include <string.h>

#define COMMAND_PLACE(name) &command_##name,
static const struct command *const commands[] = {COMMAND_LIST(COMMAND_PLACE)};
#undef COMMAND_PLACE

const struct command *command_at(size_t i) { return i < COUNT_OF(commands) ? commands[i] : NULL; }

const struct command *command_of(const char *name) {
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(name, commands[i]->name) == 0 ||
            (commands[i]->alias && strcmp(name, commands[i]->alias) == 0))
            return commands[i];
    return NULL;
}

static int usage_all(void) {
    char list[160] = "";
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        const size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i == 0 ? "" : "|", commands[i]->name);
    }
    return fail(STATUS_USAGE, "usage: sfid %s ..., sfid --help, sfid --version", list);
}

static const char *command_name(size_t i) {
    return i < COUNT_OF(commands) ? commands[i]->name : NULL;
}

static int command_unknown(const char *name) {
    if (strcmp(name, "serve") == 0)
        return fail(
            STATUS_CONFIG,
            "serve: this build has none, since libuv was not there; build it with libuv1-dev installed");
    say_unknown("unknown command", name, command_name);
    return usage_all();
}

static void help_all(void) {
    out_print("Usage: sfid COMMAND [OPTION]...\n\n"
              "Unique, time-ordered 64-bit IDs.\n\n"
              "Commands:\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        const struct command *command = commands[i];
        out_print("  %-8s  %s%s%s%s\n", command->name, command->summary,
                  command->alias ? " (also: " : "", command->alias ? command->alias : "",
                  command->alias ? ")" : "");
    }
    out_print(
        "\nOptions:\n"
        "  --help     show this help; after a command, the help of that command\n"
        "  --version  show the version of the library, and of those that it uses\n\n"
        "Data goes to standard output, diagnostics to standard error.\n"
        "Exit status: 0 success, 1 some input invalid, 2 usage, 69 server cannot be reached, 70 internal\n"
        "or clock, 73 directory, 74 input or output failed, 75 pid in use, 76 lease lost, 77 not\n"
        "authorised, 78 configuration.\n");
}

static const struct option_spec options[] = {{NULL, 0, NULL, NULL, NULL}};

static int run_help(const struct args *args) {
    if (args->operand_count > 1)
        return misuse(args, "help: unexpected argument %s; name one command",
                      QUOTE(args->operands[1]));
    if (args->operand_count == 0) {
        help_all();
        return STATUS_GOOD;
    }
    const struct command *command = command_of(args->operands[0]);
    if (command == NULL)
        return command_unknown(args->operands[0]);
    help_command(command);
    return STATUS_GOOD;
}

const struct command command_help = {
    .name = "help",
    .synopsis = "[COMMAND]",
    .summary = "list the commands, or describe one",
    .about = "Lists the commands, or describes COMMAND.\n",
    .options = options,
    .run = run_help,
};

/* ---- running a command ---------------------------------------------------- */

static int run_command(const struct command *command, int argc, char **argv) {
    struct args args;
    const int rc = args_read(&args, command, argc, argv);
    if (rc >= 0)
        return rc;
    store_hide_password(&args);
    return command->run(&args);
}

int command_run(int argc, char **argv) {
    if (argc < 2)
        return usage_all();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_all();
        return STATUS_GOOD;
    }
    if (strcmp(argv[1], "--version") == 0) {
        out_print("sfid %s\n", version_text());
        return STATUS_GOOD;
    }
    if (argv[1][0] == '-') {
        say("unknown option %s", QUOTE(argv[1]));
        return usage_all();
    }
    const struct command *command = command_of(argv[1]);
    return command ? run_command(command, argc - 2, argv + 2) : command_unknown(argv[1]);
}
