/* SPDX-License-Identifier: MIT */
/*
 * uri.h - reads the URL of a Redis server, or of several.
 *
 *     redis://[user:password@]host[:port][/db][?name=value&…]     rediss:// with TLS; or valkey:
 *     unix://[user:password@]/path[?db=N&…]
 *     redis+sentinel://[user:password@]host[:port],…/master-name[/db][?…]     the hosts are
 *                                                                             sentinels
 *     redis+cluster://[user:password@]host[:port],…[?…]                       the hosts are any
 *                                                                             nodes of the cluster
 *
 * Without a user, `:password@`; `user@` if password_file is given. User,
 * password, path, master and values are percent-decoded. A host in brackets is
 * an IPv6 address, with its zone after %25.
 *
 * Each parameter of the table in uri.c (sfid.h says what it means) may be given once; db as path or
 * as parameter; a password as such or as its file.
 *
 * The reader never guesses that a character with a meaning in a URL belongs to
 * a password: an @ may stand once, right before the host. So its errors never
 * show the text before it, nor values of parameters except named_hosts, but may
 * show all else.
 */
#ifndef SFID_REDIS_URI_H
#define SFID_REDIS_URI_H

#include "redis/endpoint.h"

#define SFID__URI_TEXT 256
#define SFID__URI_NODES 16

/*
 * The URL as it was given, in quotes for a shell: behind --store in a message. A URL with a
 * password, or with a character that a quote might not hold, is not known so; nor is a longer one,
 * which would cut the message short.
 */
#define SFID__URI_QUOTED 160

/* Can this build speak TLS? */
#ifdef HAVE_TLS
#define SFID__TLS 1
#else
#define SFID__TLS 0
#endif

/* Whether registrations are kept: for people to see (on), not at all, or for programs that go by
 * them alone (mixed). */
enum sfid__registration { SFID__REGISTRATION_ON, SFID__REGISTRATION_OFF, SFID__REGISTRATION_MIXED };

enum sfid__uri_kind { SFID__URI_SERVER, SFID__URI_SENTINEL, SFID__URI_CLUSTER };

struct sfid__uri {
    enum sfid__uri_kind kind;
    /* who has it, if it has memory of its own: see sfid__uri_copy(); else 0 */
    unsigned users;
    unsigned nodes;                /* 1 for a server; 0 with path */
    char path[108];                /* of a Unix socket; "" with nodes */
    char master[SFID__URI_TEXT];   /* the master's name, with Sentinel; else "" */
    char user[SFID__URI_TEXT];     /* "": none, and AUTH takes the password alone */
    char password[SFID__URI_TEXT]; /* "": none; never "" with a user, except with password_file */
    char password_file
        [SFID__URI_TEXT]; /* absolute path of the password's file, see password.h; "": none */
    char sentinel_user[SFID__URI_TEXT]; /* the same, for the sentinels */
    char sentinel_password[SFID__URI_TEXT];
    char sentinel_password_file[SFID__URI_TEXT];
    uint32_t db;                 /* 0 */
    uint32_t connect_timeout_ms; /* 1000: to look the name up and connect */
    uint32_t timeout_ms;         /* 2000: of one exchange */
    uint32_t replicas;           /* 0: how many replicas a claim waits for */
    /* 0: how many have to be good; 0: one, if the server counts them */
    uint32_t min_good;
    int32_t pid_min, pid_max;         /* -1: not given */
    bool lends_range;                 /* they are given as pids=: the range that the server lends */
    char client_name[SFID__URI_TEXT]; /* "": the default */
    uint32_t registration;            /* enum sfid__registration */
    uint32_t shared;                  /* 1: processes of this user on this host have one pid */
    uint32_t idle_close;              /* 1: no connection is kept between heartbeats */
    bool bare;                        /* no user, no password and no parameter but db was given */
    char quoted[SFID__URI_QUOTED];    /* see there; "": not known */
    bool tls;
    char ca[SFID__URI_TEXT];   /* file or directory of certificates to trust; "": the system's */
    char cert[SFID__URI_TEXT]; /* files of a client certificate and its key; both "": none */
    char key[SFID__URI_TEXT];
    char sni[SFID__URI_TEXT]; /* the name to ask for and to find in the certificate; "": the host */
    char named_hosts
        [SFID__URI_TEXT]; /* whom sentinels and nodes may name, see named.h; "": see allowed.h */
    struct sfid__endpoint
        /* the server, the sentinels, or nodes of the cluster; last: see sfid__uri_copy() */
        node[SFID__URI_NODES];
};

#define SFID__REDIS_PID_MAX 65535 /* Redis names a pid by two bytes */

/*
 * Reads a URL. 0; SFID_EINVAL with what is wrong and what would be right (an unknown parameter by
 * its name); or SFID_EUNSUPPORTED for a scheme with TLS that this build does not have. *out is
 * written on success only.
 */
int sfid__uri_parse(const char *text, struct sfid__uri *out, struct sfid__error *err);

/* The URL of one node, with all else as in uri. A node of the URL is nobody's to name. */
void sfid__uri_of_node(const struct sfid__uri *uri, const struct sfid__endpoint *node,
                       struct sfid__uri *out);

/*
 * A copy for as long as settings or a connection last, or NULL. It has memory for as many nodes as
 * there are, and for one at least: a process may have thousands of connections. So it is never
 * assigned as a whole; sfid__uri_aim() puts another URL of one node in its place. A connection that
 * does not change its URL shares it, so that it is copied out of the caller's memory alone. One
 * thread at a time copies, shares and drops a URL; NULL may be dropped.
 */
struct sfid__uri *sfid__uri_copy(const struct sfid__uri *uri);
struct sfid__uri *sfid__uri_share(const struct sfid__uri *uri);
void sfid__uri_drop(struct sfid__uri *uri);
void sfid__uri_aim(struct sfid__uri *copy, const struct sfid__uri *of_node);

/* The most that sfid__uri_describe writes for one server; and for anything, with all nodes. */
#define SFID__URI_SHOWN (SFID__URI_TEXT + 64)
#define SFID__URI_WHOLE (SFID__URI_NODES * SFID__ENDPOINT_SHOWN + SFID__URI_TEXT + 64)

/*
 * The URL as an operator knows it, without user, password and parameters: "redis://host:port/db",
 * "unix:///path?db=N", "redis+sentinel://host:port,host:port/master/db". If the nodes do not all
 * fit, ",..." stands for the rest. size is SFID__URI_SHOWN at least.
 */
void sfid__uri_describe(const struct sfid__uri *uri, char *out, size_t size);

#endif
