/* SPDX-License-Identifier: MIT */
/* layout.c - sfid layout: tells what follows from a layout. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT };

static const struct option_spec options[] = {
    [FORMAT] = {"format", 0, "FORMAT", NULL, "text or json (text)"},
    {NULL, 0, NULL, NULL, NULL},
};

static const char *const formats[] = {"text", "json", NULL};

struct shown {
    sfid_layout layout;
    sfid_layout_facts facts;
    char name[SFID_LAYOUT_STR_LEN];
    char epoch[DATE_ROOM], last[DATE_ROOM];
    sfid_field fields[SFID_LAYOUT_FIELDS];
    int count;
};

static bool look_at(struct shown *shown) {
    shown->count = sfid_layout_fields(&shown->layout, shown->fields, COUNT_OF(shown->fields));
    if (shown->count < 0 || sfid_layout_describe(&shown->layout, &shown->facts) < 0 ||
        sfid_layout_format(&shown->layout, shown->name, sizeof shown->name) < 0)
        return false;
    date_text(shown->epoch, shown->layout.epoch_ms);
    date_text(shown->last, shown->facts.last_ms - shown->layout.unit_ms);
    return true;
}

/* The names of the fields that make the order, highest first, with something between. */
static void order_text(const struct shown *shown, char *text, size_t size, const char *between) {
    text[0] = '\0';
    for (int i = 0; i < shown->count; i++) {
        const size_t len = strlen(text);
        if (strcmp(shown->fields[i].name, "reserved") != 0)
            snprintf(text + len, size - len, "%s%s", len ? between : "", shown->fields[i].name);
    }
}

/* ---- text ---------------------------------------------------------------- */

static void show_fields(const struct shown *shown) {
    out_print("field           bits  place\n");
    for (int i = 0; i < shown->count; i++) {
        const sfid_field *field = &shown->fields[i];
        const unsigned top = field->shift + field->bits - 1;
        out_print("%-14s  %4u  ", field->name, field->bits);
        if (top == field->shift)
            out_print("%u", top);
        else
            out_print("%u-%u", top, field->shift);
        out_print("%s\n", top == 63 && field->shift == shown->layout.time_shift ? " (the top bit stays 0)" : "");
    }
}

/* A number, and how large it is in round words: 2^41 says more than its digits. */
static void show_amount(const char *label, uint64_t value) {
    const bool power = value >= 1024 && (value & (value - 1)) == 0;
    if (value == UINT64_MAX)
        out_print("%-14s  over %" PRIu64 "\n", label, value);
    else if (power)
        out_print("%-14s  %" PRIu64 " (2^%d)\n", label, value, __builtin_ctzll(value));
    else
        out_print("%-14s  %" PRIu64 "\n", label, value);
}

static void show_text(const struct shown *shown) {
    const uint32_t unit_ms = shown->layout.unit_ms;
    char order[160];
    order_text(shown, order, sizeof order, ", then by ");
    out_print("%-14s  %s\n", "layout", shown->name);
    out_print("%-14s  %" PRIu32 " %s\n", "unit", unit_ms % 1000 ? unit_ms : unit_ms / 1000, unit_ms % 1000 ? "ms" : "s");
    out_print("%-14s  %s (%" PRId64 " ms)\n", "epoch", shown->epoch, shown->layout.epoch_ms);
    out_print("%-14s  %s\n", "last date", shown->last);
    show_amount("processes", shown->facts.processes);
    show_amount("IDs per tick", shown->facts.ids_per_tick);
    show_amount("IDs per second", shown->facts.ids_per_second);
    show_amount("fleet per s", shown->facts.fleet_per_second);
    out_print("%-14s  IDs sort by %s\n", "order", order);
    out_print("%-14s  %016" PRIx64 "\n\n", "fingerprint", shown->facts.fingerprint);
    show_fields(shown);
}

/* ---- JSON ---------------------------------------------------------------- */

static void show_json(const struct shown *shown) {
    char order[160];
    order_text(shown, order, sizeof order, "\",\"");
    out_print("{\"layout\":\"%s\",\"unit_ms\":%" PRIu32 ",\"epoch\":\"%s\",\"epoch_ms\":%" PRId64, shown->name,
              shown->layout.unit_ms, shown->epoch, shown->layout.epoch_ms);
    out_print(",\"last\":\"%s\",\"last_ms\":%" PRId64, shown->last, shown->facts.last_ms - shown->layout.unit_ms);
    out_print(",\"processes\":%" PRIu64 ",\"ids_per_tick\":%" PRIu64 ",\"ids_per_second\":%" PRIu64
              ",\"fleet_per_second\":%" PRIu64,
              shown->facts.processes, shown->facts.ids_per_tick, shown->facts.ids_per_second, shown->facts.fleet_per_second);
    out_print(",\"order\":[\"%s\"],\"fingerprint\":\"%016" PRIx64 "\",\"fields\":[", order, shown->facts.fingerprint);
    for (int i = 0; i < shown->count; i++)
        out_print("%s{\"name\":\"%s\",\"shift\":%u,\"bits\":%u}", i ? "," : "", shown->fields[i].name, shown->fields[i].shift,
                  shown->fields[i].bits);
    out_print("]}\n");
}

/* ---- command ------------------------------------------------------------- */

static bool read_operand(const struct args *args, struct shown *shown) {
    const char *env = getenv("SFID_LAYOUT");
    if (args->operand_count == 2)
        return read_layout("layout show", args->operands[1], &shown->layout);
    shown->layout = SFID_LAYOUT_DEFAULT;
    return env == NULL || env[0] == '\0' || read_layout("$SFID_LAYOUT", env, &shown->layout);
}

static int run(const struct args *args) {
    struct shown shown;
    if (args->operand_count < 1 || args->operand_count > 2 || strcmp(args->operands[0], "show") != 0) {
        if (args->operand_count > 2)
            say("layout: one layout at a time");
        else if (args->operand_count > 0)
            say("layout: unknown action %s", QUOTE(args->operands[0]));
        else
            say("layout: an action is missing");
        return usage(args->command);
    }
    const int format = args_choice(args, FORMAT, formats);
    if (format < 0 || !read_operand(args, &shown))
        return STATUS_USAGE;
    if (!look_at(&shown)) {
        say("%s", sfid_strerror(SFID_EINVAL));
        return STATUS_INTERNAL;
    }
    if (format == 1)
        show_json(&shown);
    else
        show_text(&shown);
    return STATUS_GOOD;
}

const struct command command_layout = {
    .name = "layout",
    .synopsis = "show [--format text|json] [LAYOUT]",
    .summary = "show how a layout cuts IDs into fields, and what follows",
    .about = "Shows the fields of LAYOUT from the top bit down, its unit, epoch and last date, how\n"
             "many IDs and processes it has room for, and by what its IDs sort. Without LAYOUT:\n"
             "that of $SFID_LAYOUT, else the default.\n\n"
             "LAYOUT is a preset or TIME:PID:SEQ[/UNIT][@EPOCH_MS], such as 41:10:12/1ms.\n",
    .options = options,
    .run = run,
};
