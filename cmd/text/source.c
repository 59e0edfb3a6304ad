/* SPDX-License-Identifier: MIT */
/*
 * source.c - where the pids of a generator come from: an option, a store, or the host's name, which
 * is a MAC address in IDs of flake and flake-go, a region and an IPv4 address in those of awsflake.
 */
#include "text/source.h"

#include "io/say.h"
#include "net/ec2.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

/* ---- valid options ---------------------------------------------------------- */

bool host_is_named(const struct any_layout *any) {
    return any->wide && any->wide_layout.kind != SFID_UUID7;
}

static bool is_by_mac(const struct any_layout *any) {
    return host_is_named(any) && any->wide_layout.kind != SFID_AWSFLAKE;
}

/* Returns whether the option was given; a variable may be meant for other layouts. */
static bool is_given(const struct args *args, int i) {
    return args->value[i] && !args->from_env[i];
}

static bool only_with(const struct args *args, int i, bool fits, const char *whom) {
    if (fits || !is_given(args, i))
        return true;
    return refuse("%s needs %s", args->label[i], whom);
}

static bool not_both(const struct args *args, int i, int k) {
    if (!is_given(args, i) || !is_given(args, k))
        return true;
    return refuse("%s and %s cannot be used together", args->label[i], args->label[k]);
}

bool host_check(const struct args *args, const struct host_options *at,
                const struct any_layout *any) {
    const bool flake = is_by_mac(any);
    const bool awsflake = any->wide && any->wide_layout.kind == SFID_AWSFLAKE;
    return only_with(args, at->mac, flake, "layout flake or flake-go") &&
           only_with(args, at->region, awsflake, "layout awsflake") &&
           only_with(args, at->ip, awsflake, "layout awsflake") &&
           (at->ec2 < 0 || only_with(args, at->ec2, awsflake, "layout awsflake")) &&
           only_with(args, at->interface, flake || awsflake,
                     "layout flake, flake-go or awsflake") &&
           not_both(args, at->mac, at->interface) && not_both(args, at->mac, at->pid) &&
           not_both(args, at->interface, at->pid) && not_both(args, at->region, at->pid) &&
           not_both(args, at->ip, at->pid) && not_both(args, at->ip, at->interface);
}

/* ---- addresses --------------------------------------------------------------- */

static int hex_value(char c) {
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | 0x20) : NULL; /* lower case; digits stay unchanged */
    return at ? (int)(at - digits) : -1;
}

/* Reads six pairs of hex digits, separated by ':' or by '-' throughout. */
static bool read_mac(const char *text, uint64_t *mac) {
    enum { OCTETS = 6, LENGTH = 3 * OCTETS - 1 };
    if (strlen(text) != LENGTH || (text[2] != ':' && text[2] != '-'))
        return false;
    *mac = 0;
    for (int i = 0; i < LENGTH; i++) {
        const int value = hex_value(text[i]);
        if (i % 3 == 2 ? text[i] != text[2] : value < 0)
            return false;
        if (i % 3 != 2)
            *mac = *mac << 4 | (uint64_t)value;
    }
    return true;
}

static bool no_interface(const struct args *args, int i, const char *what) {
    return refuse("%s: %s is not an interface with %s address", args->label[i],
                  QUOTE(args->value[i]), what);
}

static bool find_mac(const struct args *args, const struct host_options *at, int64_t *pid) {
    uint64_t mac;
    if (is_given(args, at->interface)) {
        if (sfid_mac_address(args->value[at->interface], &mac) < 0)
            return no_interface(args, at->interface, "a MAC");
    } else if (args->value[at->mac] == NULL) {
        return true; /* the library finds one itself */
    } else if (!read_mac(args->value[at->mac], &mac)) {
        return refuse("%s: %s is not a MAC address; use one such as 02:42:ac:11:00:02",
                      args->label[at->mac], QUOTE(args->value[at->mac]));
    }
    *pid = (int64_t)mac;
    return true;
}

/* ---- regions ----------------------------------------------------------------- */

/* A bad value of a variable is no misuse of the command. */
static bool refuse_option(const struct args *args, int i, const char *what) {
    say("%s: %s is not %s", args->label[i], QUOTE(args->value[i]), what);
    if (args->from_env[i])
        end_with(STATUS_CONFIG);
    return false;
}

static bool has_ec2(const struct args *args, const struct host_options *at) {
    return at->ec2 >= 0 && args->value[at->ec2];
}

/* An IP may come from an interface, a region only from here. */
static bool miss_region(const struct args *args, const struct host_options *at) {
    say("%s: the region is missing; give --region%s or set $AWSFLAKE_REGION", args->command->name,
        at->ec2 < 0 ? "" : ", --ec2");
    if (args->value[at->ip] == NULL)
        say("%s: $AWSFLAKE_IP is not set either", args->command->name);
    end_with(STATUS_CONFIG);
    return false;
}

/* No name is suggested for a wrong one: two regions under one number repeat IDs. */
static bool find_region(const struct args *args, const struct host_options *at, int *region) {
    static const char known[] = "a region that awsflake has a number for; sfid-gen(1) lists them";
    char text[EC2_FACT + 1];
    if (args->value[at->region]) {
        *region = sfid_aws_region(args->value[at->region]);
        return *region >= 0 || refuse_option(args, at->region, known);
    }
    if (!has_ec2(args, at))
        return miss_region(args, at);
    if (!ec2_ask(EC2_REGION, text))
        return false;
    *region = sfid_aws_region(text);
    if (*region >= 0)
        return true;
    say("--ec2: %s is not %s", QUOTE(text), known);
    end_with(STATUS_CONFIG);
    return false;
}

static bool read_ip(const char *text, uint32_t *ip) {
    struct in_addr in;
    if (inet_pton(AF_INET, text, &in) != 1)
        return false;
    *ip = ntohl(in.s_addr);
    return true;
}

static bool find_ip(const struct args *args, const struct host_options *at, uint32_t *ip) {
    char text[EC2_FACT + 1];
    if (is_given(args, at->interface))
        return sfid_ipv4_address(args->value[at->interface], ip) == 0 ||
               no_interface(args, at->interface, "an IPv4");
    if (args->value[at->ip])
        return read_ip(args->value[at->ip], ip) || refuse_option(args, at->ip, "an IPv4 address");
    if (has_ec2(args, at)) {
        if (!ec2_ask(EC2_ADDRESS, text))
            return false;
        if (read_ip(text, ip))
            return true;
        say("--ec2: %s is not an IPv4 address", QUOTE(text));
        end_with(STATUS_UNREACHABLE);
        return false;
    }
    if (sfid_ipv4_address(NULL, ip) == 0)
        return true;
    say("%s: no interface of this host has an IPv4 address; give --ip or set $AWSFLAKE_IP",
        args->command->name);
    end_with(STATUS_CONFIG);
    return false;
}

bool host_pid(const struct args *args, const struct host_options *at, const struct any_layout *any,
              int64_t *pid) {
    uint64_t number;
    uint32_t ip = 0;
    int region = 0;
    *pid = -1;
    if (is_given(args, at->pid)) {
        if (!args_number(args, at->pid, any_layout_max_pid(any), &number))
            return false;
        *pid = (int64_t)number;
        return true;
    }
    if (is_by_mac(any))
        return find_mac(args, at, pid);
    if (!find_region(args, at, &region) || !find_ip(args, at, &ip))
        return false;
    *pid = SFID_AWS_PID(region, ip);
    return true;
}

/* ---- any source -------------------------------------------------------------- */

bool source_read(const struct args *args, const struct source_options *at,
                 const struct any_layout *any, sfid_options *opt) {
    const int p = at->host.pid;
    const bool pid = args->value[p] != NULL, store = args->value[at->store] != NULL;
    uint64_t value;
    if (pid && store && !args->from_env[p] && !args->from_env[at->store])
        return refuse("%s and %s cannot be used together: a store chooses the pid", args->label[p],
                      args->label[at->store]);
    if (!pid || (store && !args->from_env[at->store])) {
        opt->store = store ? args->value[at->store] : "local";
        return true;
    }
    if (!args_number(args, p, any_layout_max_pid(any), &value))
        return false;
    opt->pid = (int64_t)value;
    return true;
}

bool source_read_host(const struct args *args, const struct source_options *at,
                      const struct any_layout *any, sfid_options *opt) {
    if (args->value[at->app] && !args->from_env[at->app])
        return refuse(
            "%s: layout %s has no apps: processes with the same worker share its sequence",
            args->label[at->app], args->value[at->layout]);
    if (args->value[at->store] && !args->from_env[at->store])
        opt->store = args->value[at->store];
    return host_pid(args, &at->host, any, &opt->pid);
}
