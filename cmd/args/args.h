/* SPDX-License-Identifier: MIT */
/* args.h - the options of a command as the user gave them. */
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
    const char *value[ARGS_MAX]; /* in the order of command->options; NULL: not given */
    char label[ARGS_MAX][24];    /* where the value comes from: "--pid", "-n", "$SFID_PID" */
    bool from_env[ARGS_MAX];
    char **operands;
    int operand_count;
};

/* Reads argv[0..argc), which follow the command's name. Returns -1, or the status to end with, after help or a usage message. */
int args_read(struct args *args, const struct command *command, int argc, char **argv);

/* Returns the position of the i-th option's value in a NULL-terminated list; 0 if not given; -1, with a message, if not in it. */
int args_choice(const struct args *args, int i, const char *const *names);

/* Reads a number from 0 to max. Leaves *value alone if the option is not given. Returns false, with a message, if it is invalid. */
bool args_number(const struct args *args, int i, uint64_t max, uint64_t *value);

/* As args_number(), for numbers from `least` to `most`, which fit the value. */
bool args_between(const struct args *args, int i, uint32_t least, uint32_t most, uint32_t *value);

/* Reads a time from a required option. Returns false, with a message, if it is invalid. */
bool args_time(const struct args *args, int i, struct moment now, struct moment *moment);

/* Checks that all required options are given, and no operand is. Returns false, with a message, if not. */
bool args_given(const struct args *args, const int *needed, int count);
bool args_no_operands(const struct args *args, const char *hint);

/* Read an app's name, and a directory. Leave the value alone if not given. Return false, with a message, if invalid. */
bool args_app(const struct args *args, int i, const char **app);
bool args_directory(const struct args *args, int i, const char **directory);
bool is_app_name(const char *name);

/* Reads a layout, or takes the default if none is given. Returns false, with a message, if it is invalid. */
bool args_layout(const struct args *args, int i, sfid_layout *layout);

/* Reads a layout from text. If it is invalid, prints what would be right after the label, and returns false. */
bool read_layout(const char *label, const char *text, sfid_layout *layout);

#endif
