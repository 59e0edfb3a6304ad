/* SPDX-License-Identifier: MIT */
/* words.c - user input of the command: times, zones, numbers, invalid layouts, and options. The
 * first byte says which. */
#include "args/args.h"

#include "command.h"
#include "io/digits.h"
#include "io/say.h"

#include <errno.h>

static const struct moment now = {INT64_C(1795257000123), true};

/* A time that was read is written, and reads back the same, in any zone. */
static void comes_back(int64_t unix_ms, const struct zone *zone) {
    char text[DATE_ROOM * 2];
    struct date date = {.zone = *zone};
    struct moment back;
    *put_date(&date, text, unix_ms) = '\0';
    HOLDS(strlen(text) < DATE_ROOM && read_time(text, now, &back) == NULL &&
          back.unix_ms == unix_ms && !back.more);
}

static void a_time(const char *text) {
    struct moment m = {0, false};
    const char *wrong = read_time(text, now, &m);
    if (wrong)
        HOLDS(wrong[0] != '\0');
    /* its date exists in every zone */
    else if (m.unix_ms > INT64_MIN + 86400000 && m.unix_ms < INT64_MAX - 86400000)
        comes_back(m.unix_ms, &(struct zone){.kind = ZONE_UTC});
}

static void a_zone(const char *text) {
    struct zone zone;
    const char *wrong = zone_begin(&zone, text);
    if (wrong) {
        HOLDS(wrong[0] != '\0');
        return;
    }
    HOLDS(zone.kind != ZONE_FIXED || (zone.shift > -86400 && zone.shift < 86400));
    for (int64_t ms = INT64_C(-62135596800001); ms < INT64_C(300000000000000);
         ms += INT64_C(23456789012345))
        comes_back(ms, &zone);
}

static void a_number(const char *text) {
    uint64_t value = 77;
    char *end;
    errno = 0;
    const unsigned long long naive = strtoull(text, &end, 10);
    const bool digits = text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
    HOLDS(read_u64(text, UINT64_MAX, &value) == (digits && errno == 0));
    HOLDS(value == (digits && errno == 0 ? naive : 77));
    HOLDS(read_u64(text, 100, &value) == (digits && errno == 0 && naive <= 100));
}

static void a_fault(const char *text) {
    char room[120] = "";
    sfid_layout layout = SFID_LAYOUT_DEFAULT;
    said = 0;
    const bool good = read_layout("--layout", text, sfid_layout_preset, &layout);
    HOLDS(good == (sfid_layout_parse(text, &layout) == 0) && said == !good);
    if (!good && text[0] >= '0' && text[0] <= '9') {
        const char *fault = layout_fault(text, room, sizeof room);
        HOLDS(fault[0] != '\0' && memchr(room, '\0', sizeof room) != NULL);
    }
}

/* ---- options ----------------------------------------------------------------- */

enum { FLAG, COUNT, CHOICE, APP, TIME, LAYOUT, DIRECTORY, OPTIONS };

static const struct option_spec specs[] = {
    [FLAG] = {"flag", 'f', NULL, NULL, ""},          [COUNT] = {"count", 'n', "N", NULL, ""},
    [CHOICE] = {"choice", 0, "CHOICE", NULL, ""},    [APP] = {"app", 'a', "APP", "FUZZ_APP", ""},
    [TIME] = {"time", 't', "TIME", NULL, ""},        [LAYOUT] = {"layout", 0, "LAYOUT", NULL, ""},
    [DIRECTORY] = {"directory", 0, "DIR", NULL, ""}, {NULL, 0, NULL, NULL, NULL},
};
static const struct command fuzzed = {.name = "fuzzed", .options = specs};

static void values(const struct args *args) {
    static const char *const choices[] = {"first", "second", NULL};
    uint64_t number = 7;
    uint32_t between = 7;
    const char *app = "app", *directory = "/";
    struct moment moment = now;
    sfid_layout layout;
    said = 0;
    bool good = args_choice(args, CHOICE, choices) >= 0;
    HOLDS(good == (said == 0));
    HOLDS(!args_number(args, COUNT, 1000, &number) || number <= 1000);
    HOLDS(!args_between(args, COUNT, 5, 50, &between) || (between >= 5 && between <= 50));
    HOLDS(!args_app(args, APP, &app) || is_app_name(app));
    HOLDS(!args_directory(args, DIRECTORY, &directory) || directory[0] != '\0');
    HOLDS(args->value[TIME] == NULL || args_time(args, TIME, now, &moment) ==
                                           (read_time(args->value[TIME], now, &moment) == NULL));
    HOLDS(!args_layout(args, LAYOUT, &layout) || sfid_layout_check(&layout) == 0);
    HOLDS(args_given(args, COUNT) == (args->value[COUNT] != NULL));
    HOLDS(args_no_operands(args, "") == (args->operand_count == 0));
}

/* Each line is one argument. */
static void options(char *text) {
    static struct args args;
    char *argv[18];
    int argc = 0;
    for (char *p = text; p && argc < 16;) {
        argv[argc++] = p;
        p = strchr(p, '\n');
        if (p)
            *p++ = '\0';
    }
    argv[argc] = NULL;
    said = 0;
    const int rc = args_read(&args, &fuzzed, argc, argv);
    if (rc >= 0) {
        HOLDS((rc == STATUS_GOOD && said == 0) || (rc == STATUS_USAGE && said > 0));
        return;
    }
    HOLDS(args.operand_count <= argc && said == 0);
    for (int i = 0; i < OPTIONS; i++)
        HOLDS(args.value[i] == NULL || args.label[i][0] == '-');
    values(&args);
}

static const char *name_at(size_t i) { return i < OPTIONS ? specs[i].name : NULL; }

int fuzz_words(const uint8_t *data, size_t size) {
    const uint64_t what = fuzz_take(&data, &size, 1) % 6;
    char *text = fuzz_copy(data, size, 1);
    switch (what) {
    case 0:
        a_time(text);
        break;
    case 1:
        a_zone(text);
        break;
    case 2:
        a_number(text);
        break;
    case 3:
        a_fault(text);
        break;
    case 4:
        options(text);
        break;
    default:
        HOLDS(nearest(text, name_at) == NULL || strlen(text) < 100);
        say_unknown("unknown", text, name_at);
        break;
    }
    free(text);
    return 0;
}

FUZZ_TARGET(words)
