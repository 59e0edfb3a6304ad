/* SPDX-License-Identifier: MIT */
/* command.h - the description of a command and its options. */
#ifndef CMD_ARGS_COMMAND_H
#define CMD_ARGS_COMMAND_H

struct option_spec {
    const char *name; /* without dashes; NULL ends the list */
    char letter;      /* short form, or 0 */
    const char *arg;  /* name of its argument; [=NAME]: optional; NULL: a flag */
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

#endif
