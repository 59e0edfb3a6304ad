/* SPDX-License-Identifier: MIT */
/* args.h - the options of a command as they were given. */
#ifndef CMD_ARGS_ARGS_H
#define CMD_ARGS_ARGS_H

#include "args/command.h"
#include "io/date.h"

#include <sfid.h>
#include <stdbool.h>
#include <stdint.h>

#define ARGS_MAX 24

struct args {
    const struct command *command;
    const char *value[ARGS_MAX]; /* by place in command->options; NULL: not given */
    char label[ARGS_MAX][24];    /* where the value comes from: "--pid", "-n", "$SFID_PID" */
    bool from_env[ARGS_MAX];
    char **operands;
    int operand_count;
};

/* Reads argv[0..argc), all behind the command's name. Returns -1, or the exit status to end with (help was asked for, or misuse told). */
int args_read(struct args *args, const struct command *command, int argc, char **argv);

/* The i-th option's value as one of a NULL-terminated list: its place there, 0 when not given; -1 when it is none, which is told. */
int args_choice(const struct args *args, int i, const char *const *names);

/* As a number of at most max; *value is left alone when the option is not given. False when it is none, which is told. */
bool args_number(const struct args *args, int i, uint64_t max, uint64_t *value);

/* The same from `least` to `most`, where those fit the value. */
bool args_between(const struct args *args, int i, uint32_t least, uint32_t most, uint32_t *value);

/* As a time; it has to be given. False when it is none, which is told. */
bool args_time(const struct args *args, int i, struct moment now, struct moment *moment);

/* Whether options that a command cannot do without are there, and no operand is; told, when not. */
bool args_given(const struct args *args, const int *needed, int count);
bool args_no_operands(const struct args *args, const char *hint);

/* As the name of an app, and as a directory; left alone when not given. False when it is none, which is told. */
bool args_app(const struct args *args, int i, const char **app);
bool args_directory(const struct args *args, int i, const char **directory);
bool is_app_name(const char *name);

/* As a layout; the default when not given. False when it is none, which is told. */
bool args_layout(const struct args *args, int i, sfid_layout *layout);

/* Reads a layout; tells what would be right, with label before it, when text is none. */
bool read_layout(const char *label, const char *text, sfid_layout *layout);

#endif
