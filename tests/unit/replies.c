/* SPDX-License-Identifier: MIT */
/* replies.c - what an error of a server asks for. Lines of real servers: connection_redis.c. */
#include "redis/replies.h"

#include "support/tap.h"

#include <sfid.h>

#define RETRY SFID__REPLY_RETRY, SFID_EREDIS
#define RESOLVE SFID__REPLY_RESOLVE, SFID_EREDIS
#define PERSON SFID__REPLY_CONFIG, SFID_EREDIS
#define RIGHTS SFID__REPLY_CONFIG, SFID_EAUTH

static const struct {
    const char *line;
    enum sfid__reply_class class;
    int code;
} lines[] = {
    {"LOADING Redis is loading the dataset in memory", RETRY},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     RETRY},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
     RETRY},
    {"OOM command not allowed when used memory > 'maxmemory'.", RETRY},
    {"OOM command not allowed when used memory > 'maxmemory'. script: 91dc, on @user_script:1.",
     RETRY},
    {"NOREPLICAS Not enough good replicas to write.", RETRY},
    {"TRYAGAIN Multiple keys request during rehashing of slot", RETRY},
    {"ERR Script attempted to access a non local key in a cluster node", RETRY},
    {"Lua script attempted to access a non local key in a cluster node", RETRY},
    {"ERR Script attempted to access a slot not served", RETRY},
    {"ERR Script attempted to execute a command while the cluster is down", RETRY},
    {"Lua script attempted to execute a write command while the cluster is down and readonly",
     RETRY},
    {"CLUSTERDOWN The cluster is down", RETRY},
    {"ERR max number of clients reached", RETRY},
    {"ERR max number of clients + cluster connections reached", RETRY},
    {"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not allowed",
     RETRY},
    {"READONLY You can't write against a read only replica.", RESOLVE},
    {"ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write against a read only",
     RESOLVE},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", RESOLVE},
    {"MOVED 3999 127.0.0.1:6381", RESOLVE},
    {"ASK 3999 127.0.0.1:6381", RETRY},
    {"REDIRECT 127.0.0.1:6381", RESOLVE},
    {"NOAUTH Authentication required.", RIGHTS},
    {"NOAUTH", RIGHTS},
    {"WRONGPASS invalid username-password pair or user is disabled.", RIGHTS},
    {"NOPERM this user has no permissions to run the 'eval' command", RIGHTS},
    {"DENIED Redis is running in protected mode because protected mode is enabled", RIGHTS},
    {"ERR invalid password", RIGHTS},
    {"ERR Client sent AUTH, but no password is set", RIGHTS},
    {"ERR AUTH <password> called without any password configured for the default user.", RIGHTS},
    {"ERR The user executing the script can't run this command or subcommand script: 1a8c, on @user_script:1.",
     RIGHTS},
    {"ERR ACL failure in script: User bob has no permissions to run the 'time' command script: 1a8c",
     RIGHTS},
    {"ERR unknown command 'EVAL', with args beginning with: 'x' ", PERSON},
    {"ERR DB index is out of range", PERSON},
    {"ERR Error running script (call to f_1): @user_script:1: attempt to index a nil value",
     PERSON},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", PERSON},
    {"CROSSSLOT Keys in request don't hash to the same slot", PERSON},
    {"NOSCRIPT No matching script.", RETRY},
    {"BUSYGROUP Consumer Group name already exists", PERSON},
    {"BUSYKEY Target key name already exists.", PERSON},
    {"ASKING", PERSON},
    {"loading", PERSON},
    {"ERR", PERSON},
    {"", PERSON},
    {" ", PERSON},
};

int main(void) {
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const struct sfid__reply_meaning m = sfid__reply_classify(lines[i].line);
        is_i64(m.class, lines[i].class, "class of \"%s\"", lines[i].line);
        is_i64(m.code, lines[i].code, "and its code");
        ok(m.known != NULL, "and it is in the table or not");
    }
    return done_testing();
}
