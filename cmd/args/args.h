/* SPDX-License-Identifier: MIT */
/* args.h - the description of a command and its options. */
#ifndef CMD_ARGS_ARGS_H
#define CMD_ARGS_ARGS_H

#include "io/date.h"
#include "io/say.h"

struct option_spec {
    const char *name; /* without dashes; NULL ends the list */
    char letter;      /* short form, or 0 */
    /* name of its argument; [=NAME]: optional; NAME...: the option may be repeated; NULL: a flag */
    const char *arg;
    const char *env;  /* environment variable with the same meaning, or NULL */
    const char *help; /* NULL: not listed */
};

struct args;

struct command {
    const char *name;
    const char *alias;    /* or NULL */
    const char *synopsis; /* what follows the name */
    const char *summary;  /* one line, no full stop */
    const char *about;    /* shown below the options */
    const struct option_spec *options;
    int (*run)(const struct args *args);
};

/* Returns the name nearest to a misspelt one, or NULL if none is near. next(i) lists the names,
 * then returns NULL. */
const char *nearest(const char *text, const char *(*next)(size_t i));

/* Says that `name` is an unknown one of what there is, such as "unknown command", and what it may
 * be meant for. */
void say_unknown(const char *what, const char *name, const char *(*next)(size_t i));

/* Prints the usage line of a command on standard error, misuse() after a message of say(). Return
 * STATUS_USAGE. */
int usage(const struct command *command);
#define misuse(args, ...) (say(__VA_ARGS__), usage((args)->command))

/* Prints the full help of a command on standard output. */
void help_command(const struct command *command);

/* The version of the library, and in parentheses those of the libraries that it uses. */
const char *version_text(void);

#define ARGS_MAX 32
#define ARGS_LIST 16

struct args {
    const struct command *command;
    const char *value[ARGS_MAX]; /* in the order of command->options; NULL: not given */
    char label[ARGS_MAX][24];    /* where the value comes from: "--pid", "-n", "$SFID_PID" */
    bool from_env[ARGS_MAX];
    const char *list[ARGS_LIST]; /* the values of the option that may be repeated */
    int list_count;              /* how often it was given; above ARGS_LIST the rest is missing */
    char **operands;
    int operand_count;
};

/* Reads argv[0..argc), which follow the command's name. Returns -1, or the status to end with,
 * after help or a usage message. */
int args_read(struct args *args, const struct command *command, int argc, char **argv);

/* Returns the position of the i-th option's value in a NULL-terminated list; 0 if not given; -1,
 * with a message, if not in it. */
int args_choice(const struct args *args, int i, const char *const *names);

/* Reads a number from 0 to max. Leaves *value alone if the option is not given. Returns false, with
 * a message, if it is invalid. */
bool args_number(const struct args *args, int i, uint64_t max, uint64_t *value);

/* As args_number(), for numbers from `least` to `most` (0: a day in milliseconds), which fit the
 * value. */
bool args_between(const struct args *args, int i, uint32_t least, uint32_t most, uint32_t *value);

/* As args_between(), for an option of sfid_open(). */
#define args_option(args, i, opt, name) \
    args_between(args, i, LEAST_##name, MOST_##name, &(opt)->name)
enum {
#define NUMBER(name, type, initial, least, most, stores) \
    LEAST_##name = (least), MOST_##name = (most),
#define POINTER(name, stores)
    SFID_OPTION_LIST(NUMBER, POINTER)
#undef NUMBER
#undef POINTER
};

/* Reads a time from a required option. Returns false, with a message, if it is invalid. */
bool args_time(const struct args *args, int i, struct moment now, struct moment *moment);

/* Checks that all required options are given, and no operand is. Returns false, with a message, if
 * not. */
#define args_given(args, ...) \
    args_are_given(args, (const int[]){__VA_ARGS__}, COUNT_OF(((const int[]){__VA_ARGS__})))
bool args_are_given(const struct args *args, const int *needed, size_t count);
bool args_no_operands(const struct args *args, const char *hint);

/* Read an app's name, and a directory. Leave the value alone if not given. Return false, with a
 * message, if invalid. */
bool args_app(const struct args *args, int i, const char **app);
bool args_directory(const struct args *args, int i, const char **directory);
bool is_app_name(const char *name);

/* Reads a layout of 64 bits, or takes the default if none is given. Returns false, with a message,
 * if it is invalid. */
bool args_layout(const struct args *args, int i, sfid_layout *layout);

/* Reads a layout from text. If it is invalid, prints after the label what would be right, with the
 * presets, and returns false. */
bool read_layout(const char *label, const char *text, const char *(*preset)(size_t i),
                 sfid_layout *layout);

/* Returns what is wrong with an invalid layout of numbers. The answer may lie in `room`. */
const char *layout_fault(const char *text, char *room, size_t size);

#endif
