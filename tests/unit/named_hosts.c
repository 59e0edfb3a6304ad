/* SPDX-License-Identifier: MIT */
/*
 * named.c and network.c - parameter named_hosts of a URL: which lists are read, which items fit a
 * name or an address; networks, and the classes of addresses.
 */
#include "redis/named.h"

#include "redis/uri.h"
#include "support/tap.h"

#include <arpa/inet.h>
#include <sfid.h>
#include <sys/un.h>

static struct sfid__error err;
static struct sfid__uri uri;

/* ---- networks ---------------------------------------------------------------- */

static bool network(const char *text, struct sfid__network *out) {
    return sfid__network_read((struct sfid__part){text, strlen(text)}, out);
}

static const struct sockaddr *address(const char *text) {
    static struct sockaddr_storage at;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&at;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at;
    memset(&at, 0, sizeof at);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        v4->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
        v6->sin6_family = AF_INET6;
    else
        bail("no address: %s", text);
    return (const struct sockaddr *)&at;
}

static const struct {
    const char *network, *first, *last, *before, *after; /* the last two do not lie in it */
} networks[] = {
    {"10.1.2.3", "10.1.2.3", "::ffff:10.1.2.3", "10.1.2.2", "10.1.2.4"},
    {"10.1.2.3/32", "10.1.2.3", "10.1.2.3", "10.1.2.2", "10.1.2.4"},
    {"10.0.0.0/8", "10.0.0.0", "::ffff:10.255.255.255", "9.255.255.255", "11.0.0.0"},
    {"10.0.0.0/31", "10.0.0.0", "10.0.0.1", "9.255.255.255", "10.0.0.2"},
    {"10.128.0.0/9", "10.128.0.0", "10.255.255.255", "10.127.255.255", "11.0.0.0"},
    {"0.0.0.0/0", "0.0.0.0", "::ffff:255.255.255.255", "::1", "::fffe:a00:1"},
    {"::ffff:10.0.0.0/104", "10.0.0.0", "10.255.255.255", "9.255.255.255", "::a00:0"},
    {"::/0", "::", "2001:db8::1", "127.0.0.1", "::ffff:127.0.0.1"},
    {"::1", "::1", "::1", "::", "127.0.0.1"},
    {"fd00::/8", "fd00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fcff::", "fe00::"},
    {"fe80::/10", "fe80::1", "febf::1", "fe7f::1", "fec0::"},
    {"2001:DB8::/33", "2001:db8::", "2001:db8:7fff::", "2001:db8:8000::", "2001:db7:ffff::"},
};

static void test_networks(void) {
    static const char *const none[] = {"",
                                       "/",
                                       "/8",
                                       "10",
                                       "10.0.0",
                                       "10.0.0.256",
                                       "10.0.0.0/",
                                       "10.0.0.0/33",
                                       "10.0.0.0/-1",
                                       "10.0.0.0/+8",
                                       "10.0.0.0/8/8",
                                       "10.0.0.7/8",
                                       "10.0.0.1/31",
                                       "128.0.0.0/0",
                                       "::/129",
                                       "::1/127",
                                       "fd00::1/64",
                                       "[::1]",
                                       "fe80::1%eth0",
                                       "::g",
                                       "redis",
                                       "010.0.0.1",
                                       " 10.0.0.1",
                                       "1111:2222:3333:4444:5555:6666:7777:8888:9999"};
    struct sfid__network n;
    for (size_t i = 0; i < COUNT(networks); i++) {
        ok(network(networks[i].network, &n), "%s is a network", networks[i].network);
        ok(sfid__network_has(&n, address(networks[i].first)), "of %s", networks[i].first);
        ok(sfid__network_has(&n, address(networks[i].last)), "and %s", networks[i].last);
        ok(!sfid__network_has(&n, address(networks[i].before)), "not of %s", networks[i].before);
        ok(!sfid__network_has(&n, address(networks[i].after)), "nor %s", networks[i].after);
    }
    for (size_t i = 0; i < COUNT(none); i++)
        ok(!network(none[i], &n), "\"%s\" is none", none[i]);
    const struct sockaddr_un here = {.sun_family = AF_UNIX};
    ok(network("::/0", &n) && !sfid__network_has(&n, (const struct sockaddr *)&here),
       "a Unix socket lies in none");
    ok(network("0.0.0.0/0", &n) && !sfid__network_has(&n, (const struct sockaddr *)&here),
       "in none at all");
}

/* ---- classes ------------------------------------------------------------------- */

static const struct {
    const char *class, *addresses[12];
} classes[] = {
    {"loopback",
     {"127.0.0.0", "127.0.0.1", "127.255.255.255", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1",
      "::ffff:0.0.0.0"}},
    {"link-local",
     {"169.254.0.0", "169.254.169.254", "169.254.255.255", "fe80::1", "febf::ffff",
      "::ffff:169.254.1.1"}},
    {"private",
     {"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0",
      "192.168.255.255", "100.64.0.0", "100.127.255.255", "fc00::", "fdff::1", "::ffff:10.0.0.1"}},
    {"public",
     {"9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
      "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "0.0.0.1",
      "255.255.255.255"}},
    {"public",
     {"169.253.255.255", "169.255.0.0", "::2", "fbff::1", "fe00::1", "fe7f::1", "fec0::1",
      "2001:db8::1", "::ffff:8.8.8.8", "64:ff9b::a00:1"}},
};

static void test_classes(void) {
    const struct sockaddr_un here = {.sun_family = AF_UNIX};
    for (size_t i = 0; i < COUNT(classes); i++)
        for (size_t k = 0; k < COUNT(classes[0].addresses) && classes[i].addresses[k]; k++)
            is_str(sfid__address_class_name(sfid__address_class(address(classes[i].addresses[k]))),
                   classes[i].class, "%s", classes[i].addresses[k]);
    is_i64(sfid__address_class((const struct sockaddr *)&here), SFID__LOOPBACK,
           "a Unix socket is of this host");
    static const char *const shown[] = {"10.0.0.1", "::1", "::ffff:10.0.0.1"};
    char text[SFID__ADDRESS_SHOWN];
    for (size_t i = 0; i < COUNT(shown); i++) {
        sfid__address_describe(address(shown[i]), text);
        is_str(text, shown[i], "%s is shown so", shown[i]);
    }
    sfid__address_describe((const struct sockaddr *)&here, text);
    is_str(text, "?", "one of another kind is not");
}

/* ---- lists in URLs ------------------------------------------------------------- */

static int parse(const char *scheme, const char *list) {
    char url[600];
    snprintf(url, sizeof url, "%s%s?named_hosts=%s", scheme,
             strstr(scheme, "sentinel") ? "h/m" : "h", list);
    memset(&uri, 0x55, sizeof uri);
    err = (struct sfid__error){.code = 0};
    return sfid__uri_parse(url, &uri, &err);
}

static void test_read(void) {
    static const char *const good[] = {"10.0.0.7",        "10.0.0.0/8,fd00::/8,::1",
                                       "redis-1.example", "*.redis.example,redis-*,r*s_*.x.",
                                       "0.0.0.0/0,::/0",  "1.example,1-2,x",
                                       "LOCALHOST"};
    for (size_t i = 0; i < COUNT(good); i++)
        ok(parse("redis+sentinel://", good[i]) == 0 && strcmp(uri.named_hosts, good[i]) == 0,
           "\"%s\" is read", good[i]);
    ok(parse("redis+cluster://", "a%2Cb%2e*") == 0 && strcmp(uri.named_hosts, "a,b.*") == 0,
       "decoded, and with a cluster");
    ok(sfid__uri_parse("redis+cluster://h", &uri, &err) == 0 && uri.named_hosts[0] == '\0', "none");
}

static void test_refused(void) {
    static const struct {
        const char *list, *says;
    } bad[] = {
        {"", "named_hosts has to be followed by = and a value"},
        {",", "ends where a host has to follow"},
        {"a,", "ends where a host has to follow"},
        {",a", "\"\" is no host or network"},
        {"a,,b", "\"\" is no host or network"},
        {"a,10.0.0.7/8",
         "\"10.0.0.7/8\" is no host or network; give items such as 10.0.0.7, 10.0.0.0/8"},
        {"10.0.0.*", "\"10.0.0.*\" is no"},
        {"10.0.0", "\"10.0.0\" is no"},
        {"10", "\"10\" is no"},
        {"10.0.0.0/33", "\"10.0.0.0/33\" is no"},
        {"*", "\"*\" is no"},
        {"*.*", "\"*.*\" is no"},
        {".example", "\".example\" is no"},
        {"redis:6379", "\"redis:6379\" is no"},
        {"10.0.0.1:6379", "\"10.0.0.1:6379\" is no"},
        {"[::1]", "\"[::1]\" is no"},
        {"fe80::1%25eth0", "\"fe80::1%eth0\" is no"},
        {"redis/8", "\"redis/8\" is no"},
        {"a%20b", "\"a b\" is no"},
        {"a%0ab", "\"a?b\" is no"},
        {"b%c3%bccher", "\"b??cher\" is no"},
        {"a%00", "named_hosts has a NUL"},
        {"a%4", "named_hosts has a % without"},
        {"a&named_hosts=a", "parameter named_hosts is given twice"},
    };
    char list[300] = "";
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (!ok(parse("redis+cluster://", bad[i].list) == SFID_EINVAL &&
                    strstr(err.text, bad[i].says),
                "\"%s\" is refused", bad[i].list))
            diag("%s", err.text);
        ok(uri.nodes == 0x55555555, "and nothing is written");
    }
    memset(list, 'a', 254);
    ok(parse("redis+cluster://", list) == SFID_EINVAL && strstr(err.text, "is no host"),
       "a name of 254 characters is none");
    list[253] = '\0';
    ok(parse("redis+cluster://", list) == 0, "one of 253 is");
    memset(list, 'a', 256);
    ok(parse("redis+cluster://", list) == SFID_EINVAL &&
           strstr(err.text, "named_hosts is longer than 255 bytes"),
       "a long list");
    ok(parse("redis://", "a") == SFID_EINVAL &&
           strstr(err.text, "only for redis+sentinel:// and redis+cluster://"),
       "where nobody names hosts it is of no use");
}

/* ---- what fits ------------------------------------------------------------------ */

static const struct {
    const char *list, *name, *address;
    bool fits;
} fits[] = {
    {"redis", "redis", "1.1.1.1", true},
    {"redis", "REDIS.", "1.1.1.1", true},
    {"Redis.", "redis", "1.1.1.1", true},
    {"redis", "redis.x", "1.1.1.1", false},
    {"redis", "redi", "1.1.1.1", false},
    {"redis", "xredis", "1.1.1.1", false},
    {"redis", NULL, "1.1.1.1", false},
    {"redis*", "redis", "1.1.1.1", true},
    {"redis*", "redis-12", "1.1.1.1", true},
    {"redis*", "redis-1.evil", "1.1.1.1", false},
    {"*.x", "a.x", "1.1.1.1", true},
    {"*.x", "a.b.x", "1.1.1.1", false},
    {"*.x", "a.x.b.x", "1.1.1.1", false},
    {"*.x", "x", "1.1.1.1", false},
    {"*.x", "a.xx", "1.1.1.1", false},
    {"a*.b", "a.x.b", "1.1.1.1", false},
    {"*a*b", "xaxaxb", "1.1.1.1", true},
    {"*a*b", "xbxa", "1.1.1.1", false},
    {"*aab", "aaab", "1.1.1.1", true},
    {"a**b", "ab", "1.1.1.1", true},
    {"r-*.*.x", "r-1.eu.x", "1.1.1.1", true},
    {"r-*.*.x", "r-1.eu.y.x", "1.1.1.1", false},
    {"a,b", "b", "1.1.1.1", true},
    {"a,b", "a,b", "1.1.1.1", false},
    {"a,1.1.1.1", "c", "1.1.1.1", true}, /* by its address */
    {"a,1.1.1.0/24", NULL, "1.1.1.7", true},
    {"a,1.1.1.0/24", NULL, "1.1.2.7", false},
    {"a,1.1.1.0/24", NULL, "::ffff:1.1.1.7", true},
    {"1.1.1.1", "1.1.1.1", "2.2.2.2", false}, /* an address that somebody looks up as a name */
    {"fd00::/8", NULL, "fd12::1", true},
};

static void test_fits(void) {
    for (size_t i = 0; i < COUNT(fits); i++)
        ok(sfid__named_hosts_have(fits[i].list, fits[i].name, address(fits[i].address)) ==
               fits[i].fits,
           "%s: %s at %s %s", fits[i].list, fits[i].name ? fits[i].name : "(no name)",
           fits[i].address, fits[i].fits ? "fits" : "does not");
}

int main(void) {
    test_networks();
    test_classes();
    test_read();
    test_refused();
    test_fits();
    return done_testing();
}
