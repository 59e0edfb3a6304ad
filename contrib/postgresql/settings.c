/* SPDX-License-Identifier: MIT */
/* settings.c - the parameters of the extension. */
#include "pgsfid.h"

#include "miscadmin.h"
#include "utils/guc.h"

sfid_layout pgsfid_layout;
int pgsfid_max_wait_ms = 10000;

#define LAYOUT_WHAT "How an ID is cut into time, process ID and sequence."
#define LAYOUT_MORE "A preset's name, or TIME:PID:SEQ[/UNIT][@EPOCH_MS]."

static char *layout_text, *app, *store, *run_dir, *state_dir;
static int fixed_pid = -1;

/* Memory that the server frees when the value is no longer used. */
#if PG_VERSION_NUM >= 160000
#define KEPT(size) guc_malloc(LOG, size)
#else
#define KEPT(size) malloc(size)
#endif

/* ---- checks ----------------------------------------------------------------- */

static bool check_layout(char **value, void **extra, GucSource source) {
    char presets[400] = "";
    const char *name;
    sfid_layout parsed;
    if (sfid_layout_parse(*value, &parsed) == 0) {
        *extra = KEPT(sizeof parsed);
        if (*extra)
            memcpy(*extra, &parsed, sizeof parsed);
        return *extra != NULL;
    }
    for (size_t i = 0; (name = sfid_layout_preset(i)) != NULL; i++)
        snprintf(presets + strlen(presets), sizeof presets - strlen(presets), "%s, ", name);
    GUC_check_errdetail("\"%s\" is not a layout.", *value);
    GUC_check_errhint("Give one of %sor TIME:PID:SEQ[/UNIT][@EPOCH_MS].", presets);
    return false;
}

static void assign_layout(const char *value, void *extra) {
    memcpy(&pgsfid_layout, extra, sizeof pgsfid_layout);
}

static bool check_app(char **value, void **extra, GucSource source) {
    const size_t n = strlen(*value);
    if (n >= 1 && n <= 64 && **value != '.' &&
        strspn(*value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.{}-") == n)
        return true;
    GUC_check_errdetail("\"%s\" is not the name of an app.", *value);
    GUC_check_errhint("Give 1 to 64 of A-Z a-z 0-9 _ . { } -, no dot first.");
    return false;
}

/* Only the scheme: the library checks the rest when the keeper opens the store. What follows the
 * scheme may hold a password. */
static bool check_store(char **value, void **extra, GucSource source) {
    static const char *const schemes[] = {"redis://",          "rediss://",
                                          "valkey://",         "valkeys://",
                                          "redis+sentinel://", "rediss+sentinel://",
                                          "redis+cluster://",  "rediss+cluster://",
                                          "unix://",           "pool:",
                                          "ordinal:"};
    if (strcmp(*value, "local") == 0 || strncmp(*value, "local?", 6) == 0)
        return true;
    for (size_t i = 0; i < lengthof(schemes); i++)
        if (strncmp(*value, schemes[i], strlen(schemes[i])) == 0)
            return true;
    GUC_check_errdetail("\"%.*s\" is not a store.", (int)strcspn(*value, ":?"), *value);
    GUC_check_errhint(
        "Give \"local\", or the URL of a Redis server, such as \"redis://host:6379/0\".");
    return false;
}

static bool check_directory(char **value, void **extra, GucSource source) {
    if (**value == '\0' || **value == '/')
        return true;
    GUC_check_errdetail("\"%s\" is not an absolute path.", *value);
    GUC_check_errhint(
        "Give a path that begins with \"/\", or nothing for the default of the library.");
    return false;
}

/* ---- parameters --------------------------------------------------------------- */

/* A value that a check refuses becomes the default, with a warning only. No ID shall be made by
 * such settings. */
static void insist(const char *name, bool good) {
    if (!good)
        ereport(FATAL, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("sfid does not start with a wrong value of \"%s\"", name),
                        errhint("The warning before this message says what would be right.")));
}

/* Before the parameter is defined; NULL: it is not set. */
static const char *asked_of(const char *name) {
    const char *asked = GetConfigOption(name, true, false);
    return asked ? pstrdup(asked) : NULL;
}

/* All processes share one page, so what it depends on is fixed at the server's start. */
static void define_for_keeper(const char *name, const char *what, const char *more, char **value,
                              const char *initial, int flags, GucStringCheckHook check,
                              GucStringAssignHook assign) {
    const char *asked = asked_of(name);
    DefineCustomStringVariable(name, what, more, value, initial, PGC_POSTMASTER, flags, check,
                               assign, NULL);
    insist(name, asked == NULL || strcmp(asked, *value) == 0);
}

static void define_all_for_keeper(void) {
    const char *asked = asked_of("sfid.pid");
    int pid = 0;
    DefineCustomIntVariable("sfid.pid", "A fixed process ID in place of a lease; -1: lease one.",
                            NULL, &fixed_pid, -1, -1, INT_MAX, PGC_POSTMASTER, 0, NULL, NULL, NULL);
    insist("sfid.pid", asked == NULL || (parse_int(asked, &pid, 0, NULL) && pid == fixed_pid));
    define_for_keeper("sfid.layout", LAYOUT_WHAT, LAYOUT_MORE, &layout_text, "sfid", 0,
                      check_layout, assign_layout);
    define_for_keeper("sfid.store",
                      "Where the process ID is leased: local, or the URL of a Redis server.", NULL,
                      &store, "local", GUC_SUPERUSER_ONLY, check_store, NULL);
    define_for_keeper("sfid.app",
                      "The name of the space of IDs; all that make IDs for it use the same.", NULL,
                      &app, "postgresql", 0, check_app, NULL);
    define_for_keeper("sfid.run_dir",
                      "Directory of the page, on a tmpfs; empty: the library's default.", NULL,
                      &run_dir, "", GUC_SUPERUSER_ONLY, check_directory, NULL);
    define_for_keeper(
        "sfid.state_dir", "Directory of the durable marks; empty: the library's default.",
        "It must not lie in the data directory: a restored backup would set the marks back.",
        &state_dir, "", GUC_SUPERUSER_ONLY, check_directory, NULL);
    MarkGUCPrefixReserved("sfid");
}

void pgsfid_define_settings(bool preloaded) {
    DefineCustomIntVariable(
        "sfid.max_wait", "How long sfid_next() may wait for an ID; 0: not at all.", NULL,
        &pgsfid_max_wait_ms, 10000, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
    if (preloaded)
        define_all_for_keeper();
    else
        DefineCustomStringVariable("sfid.layout", LAYOUT_WHAT, LAYOUT_MORE, &layout_text, "sfid",
                                   PGC_USERSET, 0, check_layout, assign_layout, NULL);
}

int pgsfid_open(sfid **out, uint64 share, uint32 timeout_ms,
                void (*on_event)(void *, const sfid_event *)) {
    sfid_options opt = SFID_OPTIONS_INIT;
    Assert(IsUnderPostmaster);
    opt.app = app;
    opt.store = fixed_pid < 0 ? store : NULL;
    opt.pid = fixed_pid;
    opt.layout = &pgsfid_layout;
    opt.run_dir = *run_dir ? run_dir : NULL;
    opt.state_dir = *state_dir ? state_dir : NULL;
    opt.exhaustion = SFID_FAIL; /* waits are made here, by latch */
    opt.open_timeout_ms = timeout_ms;
    opt.share = share;
    opt.on_event = on_event;
    return sfid_open(out, &opt);
}
