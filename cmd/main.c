/* SPDX-License-Identifier: MIT */
/* main.c - sfid(1): the list of its commands, which it runs, describes and completes. */
#include "args/args.h"
#include "args/store.h"
#include "io/out.h"
#include "io/say.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The commands, in the order of the help. Each is an object of its own source, command_gen of
 * text/gen.c and so on. */
/* clang-format off */
#define COMMAND_LIST(X) \
    X(gen) X(decode) X(encode) X(convert) X(range) X(layout) X(init) X(lease) X(keep) X(exec) \
    COMMAND_IF_SERVE(X) X(get) X(bench) X(doctor) X(help)
/* clang-format on */
#ifdef HAVE_SERVE
#define COMMAND_IF_SERVE(X) X(serve)
#else
#define COMMAND_IF_SERVE(X)
#endif
#define DECLARE_COMMAND(name) extern const struct command command_##name;
COMMAND_LIST(DECLARE_COMMAND)
#undef DECLARE_COMMAND

#define COMMAND_PLACE(name) &command_##name,
static const struct command *const commands[] = {COMMAND_LIST(COMMAND_PLACE)};
#undef COMMAND_PLACE

/* Returns a command by its name or alias; NULL if there is none. */
static const struct command *command_of(const char *name) {
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

static int command_run(int argc, char **argv) {
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

/* ---- completion, from the tables that read the options: words that are offered ---- */

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

/* `head` is what the word being completed begins with already: --format= of --format=json. */
static void offer(const char *head, const char *word, size_t len, const char *about) {
    out_print("%s%.*s%s%s\n", head, (int)len, word, about ? "\t" : "", about ? about : "");
}

static void offer_word(const char *head, const char *word) {
    offer(head, word, strlen(word), NULL);
}

static void offer_commands(void) {
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        offer("", commands[i]->name, strlen(commands[i]->name), commands[i]->summary);
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

/* ---- completion: what belongs to the place of the cursor ---- */

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

/*
 * `sfid complete WORD...`: what the shells of packaging/completion ask when TAB is pressed. The
 * words follow the name of the program, up to the cursor; the last one is incomplete. Prints the
 * words that may stand there, a line each, with a TAB and a description where there is one; or a
 * line FILE or DIR where a path belongs. The shell drops those that do not begin as the last word
 * does. Returns the exit status.
 */
static int complete(int count, char **words) {
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

/* ---- the process ---------------------------------------------------------- */

/*
 * A parent may have closed a standard descriptor. The next file opened would
 * take its number, and IDs or messages would go into a state file. The stand-in
 * has the wrong direction, so its first use fails.
 */
static void fill_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(STATUS_INTERNAL);
}

int main(int argc, char **argv) {
    fill_standard_descriptors();
    /* write(2) then reports a broken pipe, and the generator is closed before the end */
    signals_begin();
    const bool asked = argc > 1 && strcmp(argv[1], "complete") == 0; /* by a shell */
    const int status = asked ? complete(argc - 2, argv + 2) : command_run(argc, argv);
    progress_clear();
    return close_output(status);
}
