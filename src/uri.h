/* SPDX-License-Identifier: MIT */
/*
 * uri.h - the URL of a Redis server, taken apart.
 *
 *     redis://[user:password@]host[:port][/db][?name=value&…]     valkey:// is the same
 *     unix://[user:password@]/path[?db=N&…]
 *
 * Without a user, `:password@`. User, password, path and values are
 * percent-decoded; a host in brackets is an IPv6 address, its zone behind %25.
 * Parameters: connect_timeout and timeout (milliseconds, or a number with s or
 * ms behind it), client_name, db, registration (on, off). Each once; db either
 * as path or as parameter.
 *
 * A character that has a meaning in a URL is never guessed to be part of a
 * password: an @ stands at most once, right before the host. So whatever lies
 * behind it is no secret, and of what may lie before it nothing ever stands in
 * an error.
 */
#ifndef SFID_URI_H
#define SFID_URI_H

#include "error.h"

#define SFID__URI_TEXT 256

struct sfid__uri {
    char user[SFID__URI_TEXT];        /* "" for none: then AUTH takes the password alone */
    char password[SFID__URI_TEXT];    /* "" for none; never "" with a user */
    char host[SFID__URI_TEXT];        /* a name or an address; "" with path */
    char path[108];                   /* of a Unix socket; "" with host */
    uint16_t port;                    /* 6379; 0 with path */
    uint32_t db;                      /* 0 */
    uint32_t connect_timeout_ms;      /* 1000: to look the name up and connect */
    uint32_t timeout_ms;              /* 2000: of one exchange */
    char client_name[SFID__URI_TEXT]; /* "" for the default */
    bool registration;                /* true; registration=off */
};

/*
 * Reads a URL whole. 0, or SFID_EINVAL naming what is wrong and what would be
 * right (an unknown parameter by its name), or SFID_EUNSUPPORTED for a scheme
 * that this build cannot use (rediss, valkeys, …+sentinel, …+cluster) or a
 * parameter that belongs to one. *out is written on success only.
 */
int sfid__uri_parse(const char *text, struct sfid__uri *out, struct sfid__error *err);

/* Room for what sfid__uri_describe writes, whatever the URL. */
#define SFID__URI_SHOWN (SFID__URI_TEXT + 48)

/* The server as an operator knows it, without user and password: "redis://host:port/db", "unix:///path?db=N". */
void sfid__uri_describe(const struct sfid__uri *uri, char *out, size_t size);

#endif
