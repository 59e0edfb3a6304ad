/* SPDX-License-Identifier: MIT */
/*
 * uri.h - the URL of a Redis server, or of several, taken apart.
 *
 *     redis://[user:password@]host[:port][/db][?name=value&…]     valkey:// is the same; rediss:// and valkeys:// with TLS
 *     unix://[user:password@]/path[?db=N&…]
 *     redis+sentinel://[user:password@]host[:port],…/master-name[/db][?…]     the hosts are sentinels
 *     redis+cluster://[user:password@]host[:port],…[?…]                       the hosts are nodes of the cluster, any of them
 *
 * Without a user, `:password@`; `user@` where password_file is given. User, password, path, master and values are
 * percent-decoded; a host in brackets is an IPv6 address, its zone behind %25.
 * Parameters: connect_timeout and timeout (milliseconds, or a number with s or
 * ms behind it), client_name, db, registration (on, off), replicas, pid_min,
 * pid_max, password_file; with TLS ca, cert, key, sni; with Sentinel
 * sentinel_user, sentinel_password, sentinel_password_file. Each once; db either
 * as path or as parameter, a password either as such or as the file that holds it.
 *
 * A character that has a meaning in a URL is never guessed to be part of a
 * password: an @ stands at most once, right before the host. So what may lie
 * before it, and values of parameters, never stand in an error; all else does.
 */
#ifndef SFID_REDIS_URI_H
#define SFID_REDIS_URI_H

#include "redis/endpoint.h"

#define SFID__URI_TEXT 256
#define SFID__URI_NODES 16

/* Can this build speak TLS? */
#ifdef HAVE_HIREDIS_SSL
#define SFID__TLS 1
#else
#define SFID__TLS 0
#endif

enum sfid__uri_kind { SFID__URI_SERVER, SFID__URI_SENTINEL, SFID__URI_CLUSTER };

struct sfid__uri {
    enum sfid__uri_kind kind;
    struct sfid__endpoint node[SFID__URI_NODES]; /* the server; the sentinels; nodes of the cluster */
    unsigned nodes;                              /* 1 of a server; 0 with path */
    char path[108];                              /* of a Unix socket; "" with nodes */
    char master[SFID__URI_TEXT];                 /* its name, with Sentinel; else "" */
    char user[SFID__URI_TEXT];                   /* "" for none: then AUTH takes the password alone */
    char password[SFID__URI_TEXT];               /* "" for none; never "" with a user, but with password_file */
    char password_file[SFID__URI_TEXT];          /* absolute: holds the password, see password.h; "" for none */
    char sentinel_user[SFID__URI_TEXT];          /* the same, to the sentinels */
    char sentinel_password[SFID__URI_TEXT];
    char sentinel_password_file[SFID__URI_TEXT];
    uint32_t db;                      /* 0 */
    uint32_t connect_timeout_ms;      /* 1000: to look the name up and connect */
    uint32_t timeout_ms;              /* 2000: of one exchange */
    uint32_t replicas;                /* 0: that a claim is waited for to reach */
    int32_t pid_min, pid_max;         /* -1: not given */
    char client_name[SFID__URI_TEXT]; /* "" for the default */
    bool registration;                /* true; registration=off */
    bool tls;
    char ca[SFID__URI_TEXT];   /* file or directory of certificates to trust; "": the system's */
    char cert[SFID__URI_TEXT]; /* files of a client's certificate and key; both "" for none */
    char key[SFID__URI_TEXT];
    char sni[SFID__URI_TEXT]; /* the name to ask for, and to find in the certificate; "": the host */
};

#define SFID__REDIS_PID_MAX 65535 /* two bytes name one in Redis */

/*
 * Reads a URL whole. 0, or SFID_EINVAL naming what is wrong and what would be
 * right (an unknown parameter by its name), or SFID_EUNSUPPORTED for a scheme
 * with TLS where this build has none. *out is written on success only.
 */
int sfid__uri_parse(const char *text, struct sfid__uri *out, struct sfid__error *err);

/* The URL of one node, everything else as in uri. */
void sfid__uri_of_node(const struct sfid__uri *uri, const struct sfid__endpoint *node, struct sfid__uri *out);

/* Room for what sfid__uri_describe writes of one server, whatever the URL; and of anything, all nodes included. */
#define SFID__URI_SHOWN (SFID__URI_TEXT + 64)
#define SFID__URI_WHOLE (SFID__URI_NODES * SFID__ENDPOINT_SHOWN + SFID__URI_TEXT + 64)

/*
 * What an operator knows it by, as a URL without user, password and parameters: "redis://host:port/db",
 * "unix:///path?db=N", "redis+sentinel://host:port,host:port/master/db". Where there is no room for all nodes, ",..."
 * stands for the others. size is SFID__URI_SHOWN at least.
 */
void sfid__uri_describe(const struct sfid__uri *uri, char *out, size_t size);

#endif
