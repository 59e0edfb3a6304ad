/* SPDX-License-Identifier: MIT */
#include "redis/replies.h"

#include <sfid.h>
#include <string.h>

/*
 * Error replies begin with a word in capitals. ERR is the general one: only its text says what is
 * wrong. The sources are "Redis error messages" and "Common Redis errors" of the Redis
 * documentation (redis.io/docs/latest/develop/reference/errors/), the pages of AUTH, ACL and EVAL
 * there, and what redis-server 7.0.15 and valkey-server 8.0.1 say when provoked
 * (tests/unit/connection_redis.c). The first row that fits counts. A person has to look at an error
 * that is in no row.
 */
static const struct sfid__reply_meaning rows[] = {
    /* The server cannot do it now. */
    {SFID__REPLY_RETRY, SFID_EREDIS, "LOADING"},
    {SFID__REPLY_RETRY, SFID_EREDIS, "BUSY"},
    {SFID__REPLY_RETRY, SFID_EREDIS, "MISCONF"},
    {SFID__REPLY_RETRY, SFID_EREDIS, "OOM"},
    {SFID__REPLY_RETRY, SFID_EREDIS, "NOREPLICAS"},
    {SFID__REPLY_RETRY, SFID_EREDIS, "TRYAGAIN"},
    {SFID__REPLY_RETRY, SFID_EREDIS, "CLUSTERDOWN"},
    /* the key's slot is moving: the lease script writes nothing elsewhere meanwhile */
    {SFID__REPLY_RETRY, SFID_EREDIS, "ASK"},
    {SFID__REPLY_RETRY, SFID_EREDIS, "NOSCRIPT"},
    /* the key's slot is moving */
    {SFID__REPLY_RETRY, SFID_EREDIS, "ERR Script attempted to access a non local key"},
    /* the same before Redis 7 */
    {SFID__REPLY_RETRY, SFID_EREDIS, "Lua script attempted to access a non local key"},
    /* Redis 7.4, Valkey 8 */
    {SFID__REPLY_RETRY, SFID_EREDIS, "ERR Script attempted to access a slot not served"},
    {SFID__REPLY_RETRY, SFID_EREDIS,
     "ERR Script attempted to execute"}, /* "… a command while the cluster is down" */
    /* the same before Redis 7 */
    {SFID__REPLY_RETRY, SFID_EREDIS, "Lua script attempted to execute"},
    {SFID__REPLY_RETRY, SFID_EREDIS,
     "ERR max number of clients"}, /* and "… + cluster connections reached" */
    /* It is not, or no longer, the right server. */
    {SFID__REPLY_RESOLVE, SFID_EREDIS, "READONLY"},
    {SFID__REPLY_RESOLVE, SFID_EREDIS, "MASTERDOWN"},
    {SFID__REPLY_RESOLVE, SFID_EREDIS, "MOVED"},
    {SFID__REPLY_RESOLVE, SFID_EREDIS, "REDIRECT"}, /* Valkey 8, during a failover */
    /* It does not let us in. */
    {SFID__REPLY_CONFIG, SFID_EAUTH, "NOAUTH"},
    {SFID__REPLY_CONFIG, SFID_EAUTH, "WRONGPASS"},
    {SFID__REPLY_CONFIG, SFID_EAUTH, "NOPERM"},
    /* protected mode */
    {SFID__REPLY_CONFIG, SFID_EAUTH, "DENIED"},
    /* before Redis 6 */
    {SFID__REPLY_CONFIG, SFID_EAUTH, "ERR invalid password"},
    /* before Redis 6 */
    {SFID__REPLY_CONFIG, SFID_EAUTH, "ERR Client sent AUTH, but no password is set"},
    /* Redis 6 and later */
    {SFID__REPLY_CONFIG, SFID_EAUTH, "ERR AUTH <password> called without any password"},
    /* for a command in a script; Redis 7.0 */
    {SFID__REPLY_CONFIG, SFID_EAUTH, "ERR The user executing the script"},
    /* Redis 7.2, Valkey */
    {SFID__REPLY_CONFIG, SFID_EAUTH, "ERR ACL failure in script"},
};

/* Does line begin with the words as whole words (BUSY, not BUSYKEY)? */
static bool begins(const char *line, const char *words) {
    const size_t len = strlen(words);
    return strncmp(line, words, len) == 0 && !sfid__is_ascii_alnum(line[len]);
}

/*
 * Before Redis 7 an error inside a script arrives wrapped: "ERR Error running script (call to f_…):
 * @user_script:1: @user_script: 1: -OOM command …".
 */
static const char *unwrapped(const char *line) {
    const char *inner = begins(line, "ERR Error running script") ? strstr(line, ": -") : NULL;
    return inner ? inner + 3 : line;
}

struct sfid__reply_meaning sfid__reply_classify(const char *line) {
    line = unwrapped(line);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (line[0] == rows[i].known[0] && begins(line, rows[i].known))
            return rows[i];
    return (struct sfid__reply_meaning){SFID__REPLY_CONFIG, SFID_EREDIS, ""};
}

bool sfid__reply_is_unknown(const char *text) {
    static const char *const words[] = {"unknown command", "unknown subcommand",
                                        "unsupported command", "command is not allowed"};
    bool says = false;
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        says = says || strcasestr(text, words[i]) != NULL;
    return says;
}
