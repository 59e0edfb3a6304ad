/* SPDX-License-Identifier: MIT */
/*
 * server.c - servers that run the script which the library sends, in the Lua that Redis embeds.
 *
 * redis.lua has what the script asks of a server: hashes, keys with a time to live, a name that
 * changes with each start. What the script answers is read here, too, for the checks: they do not
 * believe the library about what it was granted.
 */
#include "sim.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdarg.h>
#include <strings.h>

enum { SCRIPTS = 8, SHA = 40 };
enum {
    PID_MIN = 12,
    SHARE = 16,
    OWN = 19,
    WITNESS = OWN - 1,
    BASE = OWN + 2,
    SHOWN = OWN + 4,
    MOVES_TO = OWN + 7
};                                        /* in the arguments */
enum { LO = 3, LIMIT, PID };              /* in an answer */
enum { SPOILT = 40, SPOILT_MOVES = 300 }; /* of a thousand */

struct server server[SERVERS];
unsigned servers = 1;
uint64_t exchanges;
static lua_State *lua;
static const char *planted_script;
static struct {
    char sha[SHA + 1];
    int ref;
    bool known_to[SERVERS];
} script[SCRIPTS];
static unsigned scripts, answering;
/* the arguments that all operations have, of the last exchange */
static char settings_of_app[OWN][160];

static int64_t server_ms(unsigned which) {
    return (now_ns + server[which].offset_ns) / MS + INT64_C(1795000000000);
}

/* ---- what redis.lua asks ------------------------------------------------------------------ */

static int lua_now(lua_State *l) {
    lua_pushnumber(l, (double)server_ms(answering));
    return 1;
}

static int lua_nodes(lua_State *l) {
    char text[1024];
    cluster_nodes(answering, text, sizeof text);
    lua_pushstring(l, text);
    return 1;
}

static int lua_slot(lua_State *l) {
    lua_pushinteger(l, (lua_Integer)cluster_slot());
    return 1;
}

/* Text of the length of a SHA-1; that it is another one nobody minds. */
static int lua_hash(lua_State *l) {
    size_t n;
    const char *s = luaL_checklstring(l, 1, &n);
    uint64_t h = UINT64_C(14695981039346656037);
    char text[SHA + 1];
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * UINT64_C(1099511628211);
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64 "%08x", h, h * 31, (unsigned)(h >> 7));
    lua_pushlstring(l, text, SHA);
    return 1;
}

static void call(const char *name, unsigned which, int how) {
    lua_getglobal(lua, name);
    lua_pushinteger(lua, (lua_Integer)which + 1);
    lua_pushinteger(lua, how);
    if (lua_pcall(lua, 2, 0, 0))
        broken("redis.lua: %s", lua_tostring(lua, -1));
}

void servers_begin(const char *path, const char *planted) {
    lua = luaL_newstate();
    luaL_openlibs(lua);
    lua_register(lua, "sim_now", lua_now);
    lua_register(lua, "sim_hash", lua_hash);
    lua_register(lua, "sim_nodes", lua_nodes);
    lua_register(lua, "sim_slot", lua_slot);
    if (luaL_dofile(lua, path))
        broken("%s", lua_tostring(lua, -1));
    planted_script = planted;
    for (unsigned i = 0; i < SERVERS; i++)
        call("sim_restart", i, 0);
}

bool server_registers(unsigned which, uint64_t pid, int64_t ms, bool free) {
    const char key[] = {
        's', 'f', 'i', 'd', ':', 's', 'i', 'm', ':', (char)(pid & 0xff), (char)(pid >> 8)};
    answering = which;
    call("sim_use", which, 0);
    lua_getglobal(lua, "sim_register");
    lua_pushlstring(lua, key, sizeof key);
    lua_pushnumber(lua, (double)ms);
    lua_pushboolean(lua, free);
    if (lua_pcall(lua, 3, 1, 0))
        broken("redis.lua: %s", lua_tostring(lua, -1));
    const bool done = lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    if (done)
        pid_is_registered(pid, ms);
    return done;
}

/* ---- answers as text
 * ---------------------------------------------------------------------------- */

struct out {
    char *text;
    size_t n, room;
};

static void put(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct out *o, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(o->text + o->n, o->room - o->n, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= o->room - o->n)
        broken("an answer is too long");
    o->n += (size_t)n;
}

static bool put_field(struct out *o, int at, const char *field, char mark) {
    lua_getfield(lua, at, field);
    const bool is_text = lua_isstring(lua, -1);
    if (is_text)
        put(o, "%c%s\r\n", mark, lua_tostring(lua, -1));
    lua_pop(lua, 1);
    return is_text;
}

static void put_value(struct out *o, int at) {
    switch (lua_type(lua, at)) {
    case LUA_TSTRING:
        put(o, "$%zu\r\n%s\r\n", strlen(lua_tostring(lua, at)), lua_tostring(lua, at));
        break;
    case LUA_TNUMBER:
        put(o, ":%.0f\r\n", lua_tonumber(lua, at));
        break;
    case LUA_TTABLE:
        if (put_field(o, at, "err", '-') || put_field(o, at, "ok", '+'))
            break;
        put(o, "*%d\r\n", (int)lua_objlen(lua, at));
        for (int i = 1; i <= (int)lua_objlen(lua, at); i++) {
            lua_rawgeti(lua, at, i);
            put_value(o, lua_gettop(lua));
            lua_pop(lua, 1);
        }
        break;
    default:
        put(o, "$-1\r\n");
    }
}

/* ---- what an exchange granted
 * ----------------------------------------------------------------------- */

static uint64_t number_at(int table, int i) {
    lua_rawgeti(lua, table, i);
    const char *s = lua_tostring(lua, -1);
    const uint64_t n = s ? strtoull(s, NULL, 10) : 0;
    lua_pop(lua, 1);
    return n;
}

/* The window that the holder shows is open by the server's clock. */
static bool is_open(const struct command *c) {
    const int64_t epoch = atoll(c->argv[6]), unit = atoll(c->argv[7]);
    return c->argc > SHOWN && atoll(c->argv[SHOWN]) > (server_ms(c->server) - epoch) / unit + 1;
}

/* What has a dash behind eight digits; NULL if there is none. */
static const char *era_in(int table) {
    const char *era = NULL;
    for (int i = (int)lua_objlen(lua, table); i > 1 && era == NULL; i--) {
        lua_rawgeti(lua, table, i);
        const char *s = lua_tostring(lua, -1);
        era = s && strcspn(s, "-") == 8 && s[8] ? s : NULL; /* the table keeps it */
        lua_pop(lua, 1);
    }
    return era;
}

struct answered {
    bool claimed, waits, renewed, moved, released, lost, foreign, taken, gone;
};

static struct answered answered(const struct command *c, int table) {
    const char *op = c->argv[4];
    lua_rawgeti(lua, table, 1);
    const char *word = lua_isstring(lua, -1) ? lua_tostring(lua, -1) : "";
    const bool is_ok = strcmp(word, "OK") == 0, renews = strcmp(op, "renew") == 0,
               claims = strcmp(op, "claim") == 0;
    const struct answered a = {.claimed = is_ok && claims,
                               .waits = claims && strcmp(word, "RETRY") == 0,
                               .renewed = is_ok && renews,
                               .released = is_ok && strcmp(op, "release") == 0,
                               .moved = strcmp(word, "MOVED") == 0,
                               .lost = renews &&
                                       (strcmp(word, "LOST") == 0 || strcmp(word, "TAKEN") == 0),
                               .foreign = strcmp(word, "FOREIGN") == 0,
                               .taken = strcmp(word, "TAKEN") == 0,
                               .gone = renews && strcmp(word, "GONE") == 0};
    lua_pop(lua, 1);
    return a;
}

/* For whoever reads what befell a pid. */
static void say(const struct command *c, int table, const struct answered *a) {
    const uint64_t own = strtoull(c->argv[OWN], NULL, 10);
    if (a->claimed || a->renewed || a->moved)
        note("host %d is granted pid %" PRIu64 ", ticks %" PRIu64 " to below %" PRIu64 "%s",
             c->host, number_at(table, PID), number_at(table, LO), number_at(table, LIMIT),
             a->renewed ? " (renewal)" : "");
    if (a->released)
        note("host %d releases pid %" PRIu64 ", free from tick %s on", c->host, own,
             c->argv[OWN + 4]);
    if (a->lost || a->foreign)
        note("host %d is told that pid %" PRIu64 " is lost", c->host, own);
}

static void hold(const struct command *c, int table, const struct answered *a) {
    const uint64_t own = strtoull(c->argv[OWN], NULL, 10);
    if (a->released || a->moved || (a->lost && check_is_granted(own, c->argv[BASE])))
        pid_is_held(c->host, own, 0);
    if (a->claimed || a->renewed || a->moved)
        pid_is_held(c->host, number_at(table, PID), number_at(table, LIMIT));
    const bool ends = a->lost || a->foreign || a->gone;
    if (ends || a->claimed || a->renewed || a->moved)
        generator_has_lost(c->generator, ends && !is_open(c));
    if (a->waits)
        generator_waits(c->generator, c->server);
    if (a->claimed || a->moved)
        pid_follows(number_at(table, PID), a->moved ? c->argv[BASE] : "");
    if (a->claimed || a->renewed || a->moved)
        check_two(c->generator, number_at(table, PID), c->argv[a->moved ? MOVES_TO : BASE],
                  a->renewed);
    if (a->claimed)
        check_hoard(c->host, false);
}

static void judge(const struct command *c, int table) {
    const struct answered a = answered(c, table);
    if (is_silent_one(c->server))
        return;
    if (tracing)
        say(c, table, &a);
    if (a.claimed || a.renewed || a.released)
        check_renewed(a.released ? strtoull(c->argv[OWN], NULL, 10) : number_at(table, PID),
                      !a.released);
    if (a.released)
        check_released(strtoull(c->argv[OWN], NULL, 10), strtoull(c->argv[OWN + 4], NULL, 10));
    if (a.foreign)
        cause_begins(CAUSE_FOREIGN, c->host, now_ns);
    if ((a.foreign || a.taken) && check_is_granted(strtoull(c->argv[OWN], NULL, 10), c->argv[BASE]))
        stranger_has(c->host, strtoull(c->argv[OWN], NULL, 10), true);
    if (a.claimed || a.renewed || a.moved)
        stranger_has(c->host, number_at(table, PID), false);
    check_era(c->server, era_in(table), c->argv[WITNESS]);
    if (a.claimed || a.renewed || a.moved)
        check_grant(c->server, c->host, number_at(table, PID), number_at(table, LO),
                    number_at(table, LIMIT), c->argv[a.moved ? MOVES_TO : BASE],
                    a.claimed || a.moved);
    hold(c, table, &a);
    if (a.lost && c->listened && is_open(c))
        check_lost(c->server, c->host, strtoull(c->argv[OWN], NULL, 10), c->argv[BASE]);
}

static void set_number(int table, int i, uint64_t n) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, n);
    lua_pushstring(lua, text);
    lua_rawseti(lua, table, i);
}

/* Kind spoilt: numbers that no server grants. What is on record is right, so an answer that counts
 * as none costs another exchange. */
static void spoil(const struct command *c, int table) {
    const struct answered a = answered(c, table);
    if (!has_kind("spoilt") || !(a.claimed || a.renewed || a.moved) ||
        !chance(&streams.network, a.moved ? SPOILT_MOVES : SPOILT))
        return;
    const uint64_t window = (uint64_t)(terms.window / SECOND), far = 10 * window,
                   share = strtoull(c->argv[SHARE], NULL, 10);
    const uint64_t what = a.renewed ? 0 : below(&streams.network, 4);
    note("host %d is granted what nobody can be granted", c->host);
    cause_spoilt_try(c->host, now_ns);
    if (what == 0 || what == 1)
        set_number(table, LIMIT,
                   number_at(table, LIMIT) + (a.renewed || what == 1 ? far : window / 2));
    if (what == 1)
        set_number(table, LO, number_at(table, LO) + far);
    if (what == 2)
        set_number(table, PID, strtoull(c->argv[PID_MIN + 1], NULL, 10) + 1);
    if (what == 3)
        set_number(table, PID, a.moved ? share - 1 : strtoull(c->argv[PID_MIN], NULL, 10) - 1);
}

static void trace(const struct command *c, const struct out *o, size_t from) {
    char said[400] = "", told[100];
    size_t n = 0;
    for (int i = OWN; i < c->argc && i < OWN + 8; i++)
        snprintf(said + strlen(said), sizeof said - strlen(said), " %.44s", c->argv[i]);
    for (size_t i = from; i < o->n && n + 1 < sizeof told; i++)
        if (o->text[i] != '\r')
            told[n++] = o->text[i] == '\n' ? ' ' : o->text[i];
    told[n] = '\0';
    note("server %u, host %d: %s%s -> %s", c->server, c->host, c->argv[4], said, told);
}

static void evaluate(const struct command *c, int ref, struct out *o) {
    const size_t from = o->n;
    for (int i = 0; i < OWN && i < c->argc && c->argv[i] != settings_of_app[i]; i++)
        snprintf(settings_of_app[i], sizeof settings_of_app[i], "%s", i == 1 ? "" : c->argv[i]);
    exchanges++;
    answering = c->server;
    call("sim_use", c->server, 0);
    lua_newtable(lua);
    lua_pushstring(lua, c->argv[3]);
    lua_rawseti(lua, -2, 1);
    lua_setglobal(lua, "KEYS");
    lua_newtable(lua);
    for (int i = 4; i < c->argc; i++) {
        lua_pushlstring(lua, c->argv[i], c->len[i]);
        lua_rawseti(lua, -2, i - 3);
    }
    lua_setglobal(lua, "ARGV");
    lua_rawgeti(lua, LUA_REGISTRYINDEX, ref);
    if (lua_pcall(lua, 0, 1, 0))
        broken("the script: %s", lua_tostring(lua, -1));
    if (lua_istable(lua, -1)) {
        judge(c, lua_gettop(lua));
        spoil(c, lua_gettop(lua));
    }
    put_value(o, lua_gettop(lua));
    lua_pop(lua, 1);
    for (size_t i = from; i < o->n; i++)
        digest((unsigned char)o->text[i]);
    if (tracing)
        trace(c, o, from);
}

/* ---- commands
 * --------------------------------------------------------------------------------------------- */

static unsigned script_of(const char *sha) {
    for (unsigned i = 0; i < scripts; i++)
        if (strcmp(script[i].sha, sha) == 0)
            return i;
    if (scripts == SCRIPTS)
        broken("too many scripts");
    snprintf(script[scripts].sha, sizeof script->sha, "%s", sha);
    script[scripts].ref = LUA_NOREF;
    return scripts++;
}

/* EVALSHA had the name of the text. */
static void eval(const struct command *c, struct out *o) {
    const unsigned i = *c->asked;
    if (script[i].ref == LUA_NOREF) {
        const int bad = planted_script ? luaL_loadfile(lua, planted_script)
                                       : luaL_loadbuffer(lua, c->argv[1], c->len[1], "@script");
        if (bad)
            broken("the script: %s", lua_tostring(lua, -1));
        script[i].ref = luaL_ref(lua, LUA_REGISTRYINDEX);
    }
    script[i].known_to[c->server] = true;
    evaluate(c, script[i].ref, o);
}

static void put_role(unsigned which, struct out *o) {
    call("sim_use", which, 0);
    lua_getglobal(lua, "sim_role");
    if (lua_pcall(lua, 0, 1, 0))
        broken("redis.lua: %s", lua_tostring(lua, -1));
    put(o, "*3\r\n$%zu\r\n%s\r\n:0\r\n*0\r\n", strlen(lua_tostring(lua, -1)),
        lua_tostring(lua, -1));
    lua_pop(lua, 1);
}

size_t server_answer(const struct command *c, char *text, size_t room) {
    struct out o = {text, 0, room};
    const char *name = c->argv[0];
    if ((o.n = server_refuses_to(c, text, room)) > 0 || (o.n = sentinel_answers(c, text, room)) > 0)
        return o.n;
    if (strncasecmp(name, "EVAL", 4) == 0 && (o.n = cluster_refuses(c->server, text, room)) > 0)
        return o.n;
    if (strcasecmp(name, "EVALSHA") == 0) {
        const unsigned i = script_of(c->argv[1]);
        if (script[i].known_to[c->server]) {
            evaluate(c, script[i].ref, &o);
        } else {
            *c->asked = i;
            put(&o, "-NOSCRIPT No matching script.\r\n");
        }
    } else if (strcasecmp(name, "EVAL") == 0) {
        eval(c, &o);
    } else if (strcasecmp(name, "ROLE") == 0) {
        put_role(c->server, &o);
    } else {
        put(&o, "+OK\r\n");
    }
    return o.n;
}

bool server_init(unsigned which) {
    enum { CLOCK = 10, OP = 4 };
    char text[256], nothing[1] = "", *argv[OWN + 1];
    size_t len[OWN + 1];
    struct out o = {text, 0, sizeof text};
    int ref = LUA_NOREF;
    for (unsigned i = 0; i < scripts; i++)
        ref = script[i].ref == LUA_NOREF ? ref : script[i].ref;
    if (ref == LUA_NOREF)
        return false;
    snprintf(settings_of_app[OP], sizeof settings_of_app[OP], "init");
    snprintf(settings_of_app[CLOCK], sizeof settings_of_app[CLOCK], "%" PRId64, server_ms(which));
    settings_of_app[WITNESS][0] = '\0';
    for (int i = 0; i <= OWN; i++) {
        argv[i] = i < OWN ? settings_of_app[i] : nothing;
        len[i] = strlen(argv[i]);
    }
    evaluate(&(struct command){.server = which, .argc = OWN + 1, .argv = argv, .len = len}, ref,
             &o);
    return true;
}

/* ---- what happens to a server
 * ------------------------------------------------------------------------------- */

void server_change(unsigned which, enum change what) {
    if (what == SERVER_SAVES) {
        call("sim_save", which, 0);
        return;
    }
    if (what == SERVER_FLUSHES || what == SERVER_EVICTS) {
        call(what == SERVER_EVICTS ? "sim_evict" : "sim_flush", which, 0);
        return;
    }
    if (what == SERVER_GETS_SAVE || what == SERVER_GETS_HASH) {
        call("sim_put_back", which, what == SERVER_GETS_HASH);
        check_old_copy(which);
        return;
    }
    server[which].first_connection = connections_made() + 1;
    for (unsigned i = 0; i < scripts; i++)
        script[i].known_to[which] = false;
    if (what == SERVER_FAILS_OVER)
        call("sim_promote", which, 0);
    else
        call("sim_restart", which, what == SERVER_LOADS_SAVE ? 1 : what == SERVER_FORGETS ? 2 : 0);
}

void server_follows(unsigned which, unsigned of) {
    /* a replica that begins ends what its clients have */
    server[which].first_connection = connections_made() + 1;
    call("sim_follow", which, (int)of + 1);
}

void server_parts(unsigned which) { call("sim_part", which, 0); }
void server_takes_over(unsigned which) { call("sim_take_over", which, 0); }
void server_counts_replicas(unsigned which, unsigned good) { call("sim_count", which, (int)good); }
void server_is_node(unsigned which) { call("sim_node", which, 0); }
void server_gets_keys(unsigned to, unsigned from) { call("sim_migrate", to, (int)from + 1); }
