/* SPDX-License-Identifier: MIT */
/* uri.c - URLs of Redis servers: what is read, what is refused and in which words, and that no
 * secret is ever in them. */
#include "redis/uri.h"

#include "support/tap.h"
#include "uri_refused.h"

#include <sfid.h>

static struct sfid__error err;
static struct sfid__uri uri;

static int parse(const char *url) {
    err = (struct sfid__error){.code = 0};
    memset(&uri, 0x55, sizeof uri);
    return sfid__uri_parse(url, &uri, &err);
}

/* ---- read --------------------------------------------------------------- */

static const struct {
    const char *url, *user, *password, *host, *path;
    uint16_t port;
    uint32_t db;
    const char *shown;
} good[] = {
    {"redis://localhost", "", "", "localhost", "", 6379, 0, "redis://localhost:6379/0"},
    {"valkey://localhost", "", "", "localhost", "", 6379, 0, "redis://localhost:6379/0"},
    {"redis://localhost/", "", "", "localhost", "", 6379, 0, "redis://localhost:6379/0"},
    {"redis://127.0.0.1:7000/3", "", "", "127.0.0.1", "", 7000, 3, "redis://127.0.0.1:7000/3"},
    {"redis://h:1", "", "", "h", "", 1, 0, "redis://h:1/0"},
    {"redis://h:65535?db=2147483647", "", "", "h", "", 65535, 2147483647,
     "redis://h:65535/2147483647"},
    {"redis://h/?db=4", "", "", "h", "", 6379, 4, "redis://h:6379/4"},
    {"redis://my_cache-1.example.org.:6380", "", "", "my_cache-1.example.org.", "", 6380, 0,
     "redis://my_cache-1.example.org.:6380/0"},
    {"redis://[::1]", "", "", "::1", "", 6379, 0, "redis://[::1]:6379/0"},
    {"redis://[::ffff:10.0.0.1]:7000/1", "", "", "::ffff:10.0.0.1", "", 7000, 1,
     "redis://[::ffff:10.0.0.1]:7000/1"},
    {"redis://[fe80::1%25eth0]:7000", "", "", "fe80::1%eth0", "", 7000, 0,
     "redis://[fe80::1%eth0]:7000/0"},
    {"redis://ann:sesame@h", "ann", "sesame", "h", "", 6379, 0, "redis://h:6379/0"},
    {"redis://:sesame@h:1/2", "", "sesame", "h", "", 1, 2, "redis://h:1/2"},
    {"redis://ann:se:sa:me@[::1]:1", "ann", "se:sa:me", "::1", "", 1, 0, "redis://[::1]:1/0"},
    {"redis://a%3Ann:s%40%2f%3F%23%25%20me@h", "a:nn", "s@/?#% me", "h", "", 6379, 0,
     "redis://h:6379/0"},
    {"redis://ann:s\xc3\xa9same@h", "ann", "s\xc3\xa9same", "h", "", 6379, 0, "redis://h:6379/0"},
    {"unix:///run/redis.sock", "", "", "", "/run/redis.sock", 0, 0, "unix:///run/redis.sock?db=0"},
    {"unix:///run/redis.sock?db=5", "", "", "", "/run/redis.sock", 0, 5,
     "unix:///run/redis.sock?db=5"},
    {"unix:///run/a%20b%40c?db=5", "", "", "", "/run/a b@c", 0, 5, "unix:///run/a b@c?db=5"},
    {"unix:///run/a%0ab", "", "", "", "/run/a\nb", 0, 0, "unix:///run/a?b?db=0"},
    {"unix://ann:sesame@/run/redis.sock", "ann", "sesame", "", "/run/redis.sock", 0, 0,
     "unix:///run/redis.sock?db=0"},
    {"unix://:sesame@/r", "", "sesame", "", "/r", 0, 0, "unix:///r?db=0"},
};

static void test_good(void) {
    for (size_t i = 0; i < COUNT(good); i++) {
        char shown[SFID__URI_SHOWN];
        if (!ok(parse(good[i].url) == 0, "%s is read", good[i].url)) {
            diag("%s", err.text);
            continue;
        }
        is_str(uri.user, good[i].user, "its user");
        is_str(uri.password, good[i].password, "its password");
        is_str(uri.nodes ? uri.node[0].host : "", good[i].host, "its host");
        is_str(uri.path, good[i].path, "its path");
        is_u64(uri.nodes ? uri.node[0].port : 0, good[i].port, "its port");
        is_u64(uri.db, good[i].db, "its database");
        sfid__uri_describe(&uri, shown, sizeof shown);
        is_str(shown, good[i].shown, "as shown");
    }
}

/* Behind --store in a message. */
static void test_quoted(void) {
    static const char ca[] = "rediss://ann@h:1/2?password_file=/run/p&ca=/etc/ca.pem";
    char url[SFID__URI_QUOTED + 20];
    if (SFID__TLS && ok(parse(ca) == 0, "%s is read", ca)) {
        snprintf(url, sizeof url, "'%s'", ca);
        is_str(uri.quoted, url, "it is shown whole, in quotes");
    }
    static const char *const not_shown[] = {
        "redis://ann:sesame@h", "redis://:sesame@h?timeout=3s", "unix:///run/it's?timeout=3s",
        "unix:///run/$HOME?timeout=3s", "redis+sentinel://h/m?sentinel_password=sesame"};
    for (size_t i = 0; i < COUNT(not_shown); i++)
        if (ok(parse(not_shown[i]) == 0, "%s is read", not_shown[i]))
            is_str(uri.quoted, "", "it is not shown");
    const int room =
        SFID__URI_QUOTED - 3 - (int)strlen("redis://h?client_name=&idle=keep&timeout=");
    snprintf(url, sizeof url, "redis://h?client_name=%0*d&idle=keep&timeout=30s", room - 3, 0);
    ok(parse(url) == 0 && strlen(uri.quoted) + 1 == SFID__URI_QUOTED, "the longest that is");
    snprintf(url, sizeof url, "redis://h?client_name=%0*d&idle=keep&timeout=30ms", room - 3, 0);
    ok(parse(url) == 0 && uri.quoted[0] == '\0', "one byte more, and it is not");
}

static void test_parameters(void) {
    ok(parse("redis://h") == 0 && uri.connect_timeout_ms == 1000 && uri.timeout_ms == 2000 &&
           uri.client_name[0] == '\0' && uri.registration == SFID__REGISTRATION_ON &&
           uri.min_good == 0 && uri.pid_min == -1 && uri.pid_max == -1,
       "what holds without parameters");
    ok(parse("redis://h?connect_timeout=300&timeout=10&client_name=a%2Bb&db=7&registration=off") ==
               0 &&
           uri.connect_timeout_ms == 300 && uri.timeout_ms == 10 &&
           strcmp(uri.client_name, "a+b") == 0 && uri.db == 7 &&
           uri.registration == SFID__REGISTRATION_OFF,
       "all parameters at once");
    ok(parse("unix:///s?timeout=250ms&connect_timeout=600s&registration=on") == 0 &&
           uri.timeout_ms == 250 && uri.connect_timeout_ms == 600000 &&
           uri.registration == SFID__REGISTRATION_ON,
       "timeouts with a unit");
    ok(parse("redis://h?registration=mixed&min_good=2") == 0 &&
           uri.registration == SFID__REGISTRATION_MIXED && uri.min_good == 2 && uri.replicas == 0,
       "pids shared with programs that keep no record, and two good replicas");
    ok(parse("redis+cluster://h?min_good=100&replicas=1") == 0 && uri.min_good == 100 &&
           uri.replicas == 1,
       "as many good replicas as can be");
    ok(parse("redis://h?pid_min=0&pid_max=65535") == 0 && uri.pid_min == 0 && uri.pid_max == 65535,
       "a range of pids");
    ok(parse("redis://h?pids=8-15") == 0 && uri.pid_min == 8 && uri.pid_max == 15 &&
           uri.lends_range,
       "of the server's own");
    ok(parse("unix:///s?pid_max=3") == 0 && !uri.lends_range && uri.pid_min == -1 &&
           uri.pid_max == 3,
       "or one end of it");
    ok(parse("redis://h?timeout=600000") == 0 && uri.timeout_ms == 600000, "the longest timeout");
    ok(parse("redis://h?client_name=%7Bapp%7D.1") == 0 && strcmp(uri.client_name, "{app}.1") == 0,
       "a name with braces");
}

static void test_files(void) {
    ok(parse("redis://h") == 0 && uri.password_file[0] == '\0', "no password in a file");
    ok(parse("redis://h?password_file=%2frun/a%20b") == 0 &&
           strcmp(uri.password_file, "/run/a b") == 0 && uri.password[0] == '\0' &&
           uri.user[0] == '\0',
       "a password in a file");
    ok(parse("unix://ann@/s?password_file=/f&db=2") == 0 && strcmp(uri.user, "ann") == 0 &&
           uri.password[0] == '\0' && strcmp(uri.password_file, "/f") == 0,
       "and a user, with a Unix socket");
    ok(parse("redis+cluster://a%3Ann@h,i?password_file=/f") == 0 && strcmp(uri.user, "a:nn") == 0,
       "with a cluster");
    ok(parse("redis+sentinel://h/m?sentinel_user=s&sentinel_password_file=/s&password_file=/f") ==
               0 &&
           strcmp(uri.sentinel_user, "s") == 0 && strcmp(uri.sentinel_password_file, "/s") == 0 &&
           strcmp(uri.password_file, "/f") == 0,
       "with sentinels, one for each");
    ok(parse("redis+sentinel://:p@h/m?sentinel_password_file=/s") == 0 &&
           strcmp(uri.password, "p") == 0,
       "one in a file, one not");
}

/* ---- several hosts ------------------------------------------------------ */

static void test_several(void) {
    char shown[SFID__URI_SHOWN], url[2048] = "redis+cluster://";
    ok(parse(
           "redis+sentinel://ann:sesame@a,b:1,[::1]:2/my.master/3?sentinel_user=s&sentinel_password=p%40&replicas=2") ==
               0 &&
           uri.kind == SFID__URI_SENTINEL && uri.nodes == 3 && uri.db == 3 && uri.replicas == 2,
       "three sentinels");
    ok(strcmp(uri.node[0].host, "a") == 0 && uri.node[0].port == 26379 &&
           strcmp(uri.node[2].host, "::1") == 0 && uri.node[2].port == 2 &&
           strcmp(uri.master, "my.master") == 0,
       "with their ports, and the master's name");
    ok(strcmp(uri.user, "ann") == 0 && strcmp(uri.password, "sesame") == 0 &&
           strcmp(uri.sentinel_user, "s") == 0 && strcmp(uri.sentinel_password, "p@") == 0,
       "and users of their own");
    sfid__uri_describe(&uri, shown, sizeof shown);
    is_str(shown, "redis+sentinel://a:26379,b:1,[::1]:2/my.master/3", "as shown");
    ok(parse("valkey+sentinel://h/m") == 0 && uri.nodes == 1 && uri.db == 0,
       "one sentinel, no database");
    ok(parse("redis+cluster://a:7000,b:7001?registration=off") == 0 &&
           uri.kind == SFID__URI_CLUSTER && uri.nodes == 2 &&
           uri.registration == SFID__REGISTRATION_OFF,
       "two nodes of a cluster");
    sfid__uri_describe(&uri, shown, sizeof shown);
    is_str(shown, "redis+cluster://a:7000,b:7001", "as shown");
    ok(parse("redis+cluster://a/0") == 0 && parse("redis+cluster://a/") == 0,
       "database 0 of a cluster");
    for (int i = 0; i < SFID__URI_NODES; i++)
        snprintf(url + strlen(url), sizeof url - strlen(url),
                 "%sa-rather-long-name-of-node-%d.example", i ? "," : "", i);
    ok(parse(url) == 0 && uri.nodes == SFID__URI_NODES, "sixteen nodes");
    sfid__uri_describe(&uri, shown, sizeof shown);
    ok(strlen(shown) < sizeof shown && strcmp(shown + strlen(shown) - 4, ",...") == 0,
       "are more than is shown");
    char whole[SFID__URI_WHOLE];
    sfid__uri_describe(&uri, whole, sizeof whole);
    ok(strstr(whole, "node-15.example:6379") && strncmp(whole, shown, strlen(shown) - 4) == 0,
       "where there is no room");
}

/* ---- refused ------------------------------------------------------------ */

static void test_refused(void) {
    for (size_t i = 0; i < COUNT(refused); i++) {
        const bool right = parse(refused[i].url) == refused[i].rc && err.code == refused[i].rc &&
                           strstr(err.text, refused[i].says);
        if (!ok(right, "\"%s\" is refused", refused[i].url))
            diag("code %d, \"%s\"\nwant %d, \"...%s...\"", err.code, err.text, refused[i].rc,
                 refused[i].says);
        ok(uri.nodes == 0x55555555, "and nothing is written");
    }
}

/* ---- hints -------------------------------------------------------------- */

/* What is no URL of ours, and the end of the error: "" where nothing is certain, and the forms are
 * listed. */
static const struct {
    const char *text, *hint;
} hints[] = {
    /* no scheme */
    {"127.0.0.1:6379", "has no scheme; did you mean \"redis://127.0.0.1:6379\"?"},
    {"127.0.0.1", "has no scheme; did you mean \"redis://127.0.0.1\"?"},
    {"localhost", "has no scheme; did you mean \"redis://localhost\"?"},
    {"localhost:6379/3", "has no scheme; did you mean \"redis://localhost:6379/3\"?"},
    {"redis:6379", "has no scheme; did you mean \"redis://redis:6379\"?"},
    {"cache.example.org", "has no scheme; did you mean \"redis://cache.example.org\"?"},
    {"[::1]:6379", "has no scheme; did you mean \"redis://[::1]:6379\"?"},
    {"[::1]", "has no scheme; did you mean \"redis://[::1]\"?"},
    {"/run/redis.sock", "has no scheme; did you mean \"unix:///run/redis.sock\"?"},
    {"/redis.sock", "has no scheme; did you mean \"unix:///redis.sock\"?"},
    {"/run/redis", "has no scheme; did you mean \"unix:///run/redis\"?"},
    /* one colon */
    {"redis:127.0.0.1:6379", "has no scheme; did you mean \"redis://127.0.0.1:6379\"?"},
    {"unix:/run/redis.sock", "has no scheme; did you mean \"unix:///run/redis.sock\"?"},
    {"redis:/run/redis.sock", "has no scheme; did you mean \"unix:///run/redis.sock\"?"},
    /* another scheme */
    {"tls://h:1", "has an unknown scheme; did you mean \"rediss://h:1\"?"},
    {"tls:///h:1", "has an unknown scheme; did you mean \"rediss://h:1\"?"},
    {"tls:///", "has an unknown scheme; write rediss://host:port"},
    {"tls://", "has an unknown scheme; write rediss://host:port"},
    {"TCP://h/2", "has an unknown scheme; did you mean \"redis://h/2\"?"},
    {"Valkeys://h", "has an unknown scheme; did you mean \"valkeys://h\"?"},
    {"ssl://u:p@h", "has an unknown scheme; write rediss://host:port"},
    {"ssl://h?timeout=1s", "has an unknown scheme; write rediss://host:port"},
    {"redis-socket:///run/redis.sock",
     "has an unknown scheme; did you mean \"unix:///run/redis.sock\"?"},
    {"redis+socket://run/redis.sock", "has an unknown scheme; write unix:///path"},
    {"redis-sentinel://h:26379/m",
     "has an unknown scheme; write redis+sentinel://host:port,host:port/master"},
    {"rediss-cluster://h", "has an unknown scheme; write rediss+cluster://host:port,host:port"},
    /* three slashes */
    {"redis:///127.0.0.1:6379",
     "where the host is missing; did you mean \"redis://127.0.0.1:6379\"?"},
    {"redis:///h", "where the host is missing; did you mean \"redis://h\"?"},
    {"redis:////h", "where the host is missing; did you mean \"redis://h\"?"},
    {"redis:///h/1", "where the host is missing; did you mean \"redis://h/1\"?"},
    {"redis:///[::1]:7/1", "where the host is missing; did you mean \"redis://[::1]:7/1\"?"},
    {"valkey:///0", "where the host is missing; did you mean \"valkey://localhost:6379/0\"?"},
    {"redis:///", "where the host is missing; write redis://host:port"},
    {"redis:///run/redis.sock",
     "where the host is missing; did you mean \"unix:///run/redis.sock\"?"},
    {"redis:///redis.sock", "where the host is missing; did you mean \"unix:///redis.sock\"?"},
    {"redis:///tmp/redis", "where the host is missing; did you mean \"unix:///tmp/redis\"?"},
    {"redis:///h:1?db=1", "where the host is missing; write redis://host:port"},
    {"redis+sentinel:///h/m",
     "where the host is missing; write redis+sentinel://host:port,host:port/master"},
    {"redis+cluster:///h", "where the host is missing; write redis+cluster://host:port,host:port"},
    /* nothing is certain */
    {"h", ""},
    {"h:", ""},
    {"h:0", ""},
    {"h:65536", ""},
    {"h.example:1:2", ""},
    {"h.example:1/x", ""},
    {"h.example/2147483648", ""},
    {"h.example,i.example", ""},
    {"[::g]", ""},
    {"[::1", ""},
    {"[::1]6379", ""},
    {"u@h.example", ""},
    {"h.example:1?db=1", ""},
    {"//run/redis.sock", ""},
    {"/redis", ""},
    {"/", ""},
    {"http://h", ""},
    {"redi://h", ""},
};

static void test_hints(void) {
    for (size_t i = 0; i < COUNT(hints); i++) {
        const char *want =
            hints[i].hint[0] ? hints[i].hint : "or redis+cluster://host:port,host:port";
        ok(parse(hints[i].text) == SFID_EINVAL, "\"%s\" is refused", hints[i].text);
        const size_t len = strlen(err.text), tail = strlen(want);
        if (!ok(len >= tail && strcmp(err.text + len - tail, want) == 0, "and the hint fits"))
            diag("\"%s\"\nwant \"...%s\"", err.text, want);
    }
    char text[300] = "";
    memset(text, 'h', 101);
    memcpy(text + 90, ".example:1", 11);
    ok(parse(text) == SFID_EINVAL && strstr(err.text, "did you mean \"redis://hhh"),
       "a name of 100 bytes is repeated");
    memset(text, 'h', 102);
    memcpy(text + 91, ".example:1", 11);
    ok(parse(text) == SFID_EINVAL && strstr(err.text, "did you mean") == NULL, "one of 101 is not");
}

/* ---- secrets ------------------------------------------------------------ */

/* URLs whose user is "alice" and whose password has "sesame", or that somebody may have meant that
 * way. */
static const char *const secret[] = {
    "redis://alice:se@sesame@host", /* two @ */
    "redis://alice:sesame@w@host",  /* two @ */
    "redis://@:sesame@host",        /* two @ */
    /* taken apart by /, ? and # it would be another host */
    "redis://alice:se/sesame@host/0", "redis://alice:1/sesame@host", /* with a good port */
    "redis://alice:1?sesame@host",                /* with a good port and a parameter */
    "redis://alice:1?timeout=sesame@h",           /* with a value */
    "redis://alice:1?db=1&sesame=1@h",            /* and another parameter */
    "redis://alice:1#sesame@host",                /* with a fragment */
    "redis://alice:sesame",                       /* no host */
    "redis://alice:sesame/0",                     /* no host */
    "redis://alice:sesame?db=1",                  /* no host */
    "redis://sesame@host",                        /* no user */
    "redis://alice:@host",                        /* no password */
    "redis://alice:sesame@",                      /* no host */
    "redis://alice:sesame@/0",                    /* no host */
    "redis://alice:sesame@host:99999",            /* the port is wrong */
    "redis://alice:sesame@ho,st",                 /* the host is */
    "redis://alice:sesame@[::g]",                 /* the address is */
    "redis://alice:sesame@host/x",                /* the database is */
    "redis://alice:sesame@host?timeout",          /* a parameter is */
    "redis://alice:sesame@host?x=1",              /* there is no such parameter */
    "redis://host?password=sesame",               /* not there */
    "redis://host?user=alice",                    /* not there */
    "redis://alice@host?password_file=../sesame", /* upwards */
    "redis://alice:sesame@host?password_file=/x", /* given twice */
    "redis://alice@host?password_file=%00sesame", /* a NUL */
    "redis://host?password:sesame",               /* nor so */
    "redis://host?password%3Dsesame",             /* nor so */
    "redis://alice:sesame%@host",                 /* an escape cut off */
    "redis://alice:sesame%zz@host",               /* no escape */
    "redis://alice:sesame%00@host",               /* a NUL */
    "redis://alice%:sesame@host",                 /* in the user */
    "redis://alice:sesame @host",                 /* a space */
    "redis://alice:sesame\n@host",                /* a line end */
    "rediss://alice:sesame@host?key=x",           /* no certificate, or no TLS in this build */
    "redis+sentinel://alice:sesame@h",            /* no master */
    "redis+sentinel://alice:sesame/m,h",          /* no @ */
    /* no such parameter */
    "redis+sentinel://h/m?sentinel_password=sesame&sentinel_user=alice&x=1",
    "redis+sentinel://h/m?sentinel_password=sesame&sentinel_password=sesame", /* twice */
    "redis+sentinel://h/m?sentinel_password=sesame%00",                       /* a NUL */
    "redis://alice:sesame@host?ca=/x",                                        /* no TLS */
    "http://alice:sesame@host",                                               /* another scheme */
    "alice:sesame@host",                                                      /* none */
    "alice:sesame://host",                                                    /* no scheme either */
    "sesame://host",                                                          /* nor this */
    "unix://alice:sesame@",                                                   /* no path */
    /* a path that is not absolute */
    "unix://alice:sesame@run/r", "unix://alice:sesame/run/r", /* no @ */
    "unix:///run@alice:sesame@/run/r",                        /* two @ */
    /* a slash before them */
    "unix:///alice:sesame@/run/r",
    /* the same of a server */
    "redis:///alice:sesame@host", "redis:///alice:sesame", /* and no @ */
    "redis:///host?password=sesame",                       /* a parameter */
    "tls://alice:sesame@host",                             /* another scheme */
    "tls:///alice:sesame",                                 /* and no @ */
    "tls://host?user=alice&password=sesame",               /* and parameters */
    "redis-sentinel://alice:sesame@host/m",                /* another scheme */
    "redis:alice:sesame@host",                             /* one colon */
    "redis:/alice:sesame@host:6379",                       /* and one slash */
    "alice:sesame@host.example:6379",                      /* no scheme */
    "host.example:6379?password=sesame",                   /* nor here */
    "/run/redis.sock?password=sesame",                     /* nor here */
};

static void test_secrets(void) {
    char url[8192];
    for (size_t i = 0; i < COUNT(secret); i++) {
        ok(parse(secret[i]) < 0, "%s is refused", secret[i]);
        if (!ok(!strstr(err.text, "sesame") && !strstr(err.text, "alice"),
                "and neither user nor password are shown"))
            diag("%s", err.text);
    }
    /* Too long, each where it can be. */
    char longest[300];
    memset(longest, 's', sizeof longest);
    snprintf(url, sizeof url, "redis://alice:%.256s@host", longest);
    ok(parse(url) == SFID_EINVAL && strstr(err.text, "the password is longer than 255") &&
           !strstr(err.text, "ssss"),
       "a password of 256 bytes is refused");
    snprintf(url, sizeof url, "redis://alice:%.255s@host", longest);
    ok(parse(url) == 0 && strlen(uri.password) == 255, "one of 255 is not");
    snprintf(url, sizeof url, "redis://%.256s:sesame@host", longest);
    ok(parse(url) == SFID_EINVAL && strstr(err.text, "the user is longer than 255") &&
           !strstr(err.text, "ssss"),
       "a user of 256 bytes is refused");
    snprintf(url, sizeof url, "redis://%.254s", longest);
    ok(parse(url) == SFID_EINVAL && strstr(err.text, "host is longer than 253"),
       "a host of 254 is refused");
    snprintf(url, sizeof url, "unix:///%.107s", longest);
    ok(parse(url) == SFID_EINVAL && strstr(err.text, "the path is longer than 107"),
       "a path of 108 is refused");
    snprintf(url, sizeof url, "unix:///%.106s", longest);
    ok(parse(url) == 0 && strlen(uri.path) == 107, "one of 107 is not");
    snprintf(url, sizeof url, "redis://h?client_name=%.129s", longest);
    ok(parse(url) == SFID_EINVAL && strstr(err.text, "client_name"),
       "a client's name of 129 is refused");
    memset(url, 's', sizeof url);
    memcpy(url, "redis://h?", 10);
    url[4097] = '\0';
    ok(parse(url) == SFID_EINVAL && strstr(err.text, "4096"), "a URL of 4097 bytes is refused");
    url[4096] = '\0';
    ok(parse(url) == SFID_EINVAL && strstr(err.text, "unknown parameter"),
       "one of 4096 is looked at");
}

/* A description fits any room. */
static void test_room(void) {
    char shown[12];
    parse("redis://ann:sesame@some.host:7000/1");
    memset(shown, 'x', sizeof shown);
    sfid__uri_describe(&uri, shown, 8);
    ok(strcmp(shown, "redis:/") == 0 && shown[8] == 'x',
       "a description is cut where there is no room");
}

int main(void) {
    test_good();
    test_quoted();
    test_parameters();
    test_files();
    test_several();
    test_refused();
    test_hints();
    test_secrets();
    test_room();
    return done_testing();
}
