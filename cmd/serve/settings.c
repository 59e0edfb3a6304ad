/* SPDX-License-Identifier: MIT */
/* settings.c - the options of sfid serve, and the names of what it counts. */
#include "serve/settings.h"

#include "args/store.h"
#include "io/say.h"
#include "text/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MODE_MOST 0777

enum {
    LISTEN,
    EXPOSE,
    PROTOCOL_LIST,
    MODE,
    APP,
    STORE,
    PID,
    LAYOUT,
    FORMAT,
    MAC,
    INTERFACE,
    REGION,
    IP,
    EC2,
    RUN_DIR,
    MAX_IDS = RUN_DIR + 6,
    MAX_CONNECTIONS,
    MAX_PER_ADDRESS,
    MAX_MEMORY,
    WAIT,
    REQUEST,
    IDLE,
    GRACE,
    INTEGERS,
    ACCESS_LOG
};

const struct option_spec serve_options[] = {
    [LISTEN] = {"listen", 0, "ADDRESS...", "SFID_LISTEN",
                "where to listen, repeated ([::1]:3525 and 127.0.0.1:3525)"},
    [EXPOSE] = {"expose", 0, NULL, NULL, "allow addresses that other hosts can reach"},
    [PROTOCOL_LIST] = {"protocols", 0, "LIST", NULL, "the protocols to speak (http,resp,flakeid)"},
    [MODE] = {"mode", 0, "OCTAL", NULL, "the mode of Unix sockets (0660)"},
    [APP] = {"app", 0, "APP", "SFID_APP", "the app"},
    [STORE] = {"store", 0, "STORE", "SFID_STORE",
               "where to lease a pid: local, ordinal: or a Redis URL (local)"},
    [PID] = {"pid", 0, "PID", "SFID_PID", "a fixed process ID instead"},
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the layout of the IDs (sfid)"},
    [FORMAT] = {"format", 0, "FORMAT", NULL,
                "dec, hex, base62, base32, base58, uuid (the layout's own)"},
    HOST_OPTIONS(MAC),
    [EC2] = OPTION_EC2,
    APP_OPTIONS(RUN_DIR),
    [MAX_IDS] = {"max-ids", 0, "N", NULL, "the most IDs in one request (65365)"},
    [MAX_CONNECTIONS] = {"max-connections", 0, "N", NULL, "the most connections at once (1024)"},
    [MAX_PER_ADDRESS] = {"max-per-address", 0, "N", NULL,
                         "the most connections of one address (all; with --expose half of all)"},
    [MAX_MEMORY] = {"max-memory", 0, "BYTES", NULL,
                    "the most memory for answers under way (67108864)"},
    [WAIT] = {"wait-ms", 0, "MS", NULL, "how long a request waits for IDs (1000)"},
    [REQUEST] = {"request-ms", 0, "MS", NULL,
                 "how long a request may take to arrive, or an answer to be read (10000)"},
    [IDLE] = {"idle-ms", 0, "MS", NULL, "how long a connection may be idle (60000)"},
    [GRACE] = {"grace-ms", 0, "MS", NULL, "how long a stop may take (5000)"},
    [INTEGERS] = {"integers", 0, "WHEN", NULL,
                  "whether INCR is answered: auto, always, never (auto)"},
    [ACCESS_LOG] = {"access-log", 0, NULL, NULL, "write a line for each request on standard error"},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct source_options source = {
    APP, STORE, LAYOUT, {PID, MAC, INTERFACE, REGION, IP, EC2}};

struct settings settings;
struct state state;

const char *const protocol_names[] = {"http", "resp", "flakeid", NULL};
const char *const refusal_names[] = {"again",  "lease",       "clock", "stopping",
                                     "memory", "connections", NULL};
const char *const rejection_names[] = {"parse",       "limit",   "timeout", "protocol",
                                       "connections", "address", "host",    NULL};

/* ---- where to listen --------------------------------------------------------- */

static bool add_address(const char *label, const char *text) {
    if (settings.listen_count == LISTEN_MOST)
        return refuse("%s: more than %d addresses", label, LISTEN_MOST);
    settings.listen[settings.listen_count++] = text;
    return true;
}

static bool read_listen(const struct args *args) {
    static char room[LISTEN_MOST * 128];
    char *rest = room;
    settings.listen_label = args->label[LISTEN];
    if (!args->from_env[LISTEN]) {
        for (int i = 0; i < args->list_count; i++)
            if (!add_address("--listen", i < LISTEN_MOST ? args->list[i] : ""))
                return false;
        return true;
    }
    if (snprintf(room, sizeof room, "%s", args->value[LISTEN]) >= (int)sizeof room)
        return refuse("$SFID_LISTEN: longer than %zu bytes", sizeof room - 1);
    for (char *word; (word = strtok_r(rest, " \t\n", &rest)) != NULL;)
        if (!add_address("$SFID_LISTEN", word))
            return false;
    return true;
}

static bool read_protocols(const struct args *args) {
    const char *list = args->value[PROTOCOL_LIST];
    settings.protocols = list ? 0 : (1U << PROTOCOLS) - 1;
    while (list) {
        const size_t len = strcspn(list, ",");
        unsigned i = 0;
        while (i < PROTOCOLS &&
               (strlen(protocol_names[i]) != len || memcmp(protocol_names[i], list, len) != 0))
            i++;
        if (i == PROTOCOLS)
            return refuse("--protocols: %s is not one of http, resp, flakeid",
                          quote(list, len).text);
        settings.protocols |= 1U << i;
        list = list[len] ? list + len + 1 : NULL;
    }
    return true;
}

static bool read_mode(const struct args *args) {
    const char *text = args->value[MODE];
    char *end;
    settings.mode = 0660;
    if (text == NULL)
        return true;
    const unsigned long mode = strtoul(text, &end, 8);
    if (text[0] < '0' || text[0] > '7' || *end || mode > MODE_MOST)
        return refuse("--mode: %s is not an octal mode from 0 to 0777", QUOTE(text));
    settings.mode = (unsigned)mode;
    return true;
}

/* ---- which IDs ----------------------------------------------------------------- */

static bool read_format(const struct args *args) {
    static const char *const forms[] = {"dec", "hex", "base62", "base32", "base58", NULL};
    static const char *const wide_forms[] = {"dec",    "hex",  "base62", "base32",
                                             "base58", "uuid", NULL};
    const char *text = args->value[FORMAT];
    sfid_wide_facts facts;
    const bool wide = settings.layout.wide;
    const int form = args_choice(args, FORMAT, wide ? wide_forms : forms);
    if (form < 0)
        return false;
    settings.form = (sfid_form)form;
    if (wide && text == NULL &&
        sfid_wide_layout_describe(&settings.layout.wide_layout, &facts) == 0) {
        settings.form = facts.form;
        settings.width = facts.width;
    }
    return true;
}

static bool read_app(const struct args *args) {
    return args_given(args, APP) && args_app(args, APP, &settings.opt.app);
}

/* Which generator: pids of a host-named layout come from the host. */
static bool read_pids(const struct args *args) {
    if (host_is_named(&settings.layout))
        return source_read_host(args, &source, &settings.layout, &settings.opt);
    if (!read_app(args) || !source_read(args, &source, &settings.layout, &settings.opt))
        return false;
    settings.local = settings.opt.pid < 0 && strncmp(settings.opt.store, "local", 5) == 0;
    return true;
}

static bool read_ids(const struct args *args) {
    if (!args_any_layout(args, LAYOUT, &settings.layout) || !read_format(args) ||
        !host_check(args, &source.host, &settings.layout) || !read_pids(args))
        return false;
    any_layout_option(&settings.layout, &settings.opt);
    settings.opt.exhaustion = SFID_FAIL;
    settings.opt.max_wait_ms = 0; /* the loop waits, never the generator */
    return app_options(args, RUN_DIR, &settings.opt);
}

/* ---- limits -------------------------------------------------------------------- */

/* Connections take descriptors; listeners, the generator and what it asks need some, too. */
static void fit_descriptors(void) {
    enum { OTHERS = 64 };
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)settings.max_connections + OTHERS;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    const rlim_t now = setrlimit(RLIMIT_NOFILE, &limit) < 0 ? before : limit.rlim_cur;
    if (now >= wanted)
        return;
    settings.max_connections = (uint32_t)(now > 2 * OTHERS ? now - OTHERS : now / 2);
    say("--max-connections is %u here: RLIMIT_NOFILE allows %u descriptors",
        (unsigned)settings.max_connections, (unsigned)now);
}

static bool read_limits(const struct args *args) {
    static const char *const when[] = {
        [INTEGERS_AUTO] = "auto", [INTEGERS_ALWAYS] = "always", [INTEGERS_NEVER] = "never", NULL};
    enum { IDS_MOST = 1000000, CONNECTIONS_MOST = 1000000 };
    const int integers = args_choice(args, INTEGERS, when);
    settings.integers = (enum integers)integers;
    if (integers < 0 ||
        !args_between(args, MAX_CONNECTIONS, 1, CONNECTIONS_MOST, &settings.max_connections))
        return false;
    fit_descriptors();
    settings.max_per_address =
        settings.expose ? (settings.max_connections + 1) / 2 : settings.max_connections;
    return args_between(args, MAX_IDS, 1, IDS_MOST, &settings.max_ids) &&
           args_between(args, MAX_PER_ADDRESS, 1, CONNECTIONS_MOST, &settings.max_per_address) &&
           args_number(args, MAX_MEMORY, INT64_MAX, &settings.max_memory) &&
           args_between(args, WAIT, 0, DAY, &settings.wait_ms) &&
           args_between(args, REQUEST, 1, DAY, &settings.request_ms) &&
           args_between(args, IDLE, 1, DAY, &settings.idle_ms) &&
           args_between(args, GRACE, 0, DAY, &settings.grace_ms);
}

int settings_read(const struct args *args) {
    settings = (struct settings){.opt = SFID_OPTIONS_INIT,
                                 .max_ids = FLAKEID_MOST,
                                 .max_connections = 1024,
                                 .max_memory = 64 * 1024 * 1024,
                                 .wait_ms = 1000,
                                 .request_ms = 10000,
                                 .idle_ms = 60000,
                                 .grace_ms = 5000,
                                 .expose = args->value[EXPOSE] != NULL,
                                 .access_log = args->value[ACCESS_LOG] != NULL};
    if (!args_no_operands(args, "; use --listen ADDRESS to say where to listen"))
        return usage(args->command);
    if (!read_listen(args) || !read_protocols(args) || !read_mode(args) || !read_ids(args) ||
        !read_limits(args))
        return STATUS_USAGE;
    return STATUS_GOOD;
}
