/* SPDX-License-Identifier: MIT */
#include "redis/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define IDLE_S 60 /* finds a dead peer between heartbeats, and keeps a NAT awake */
#define PROBE_S 10
#define PROBES 3

static void set(int fd, int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value); /* nothing depends on these options */
}

void sfid__tcp_set_options(int fd) {
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
}

bool sfid__tcp_met_itself(int fd) {
    struct sockaddr_storage here, there;
    socklen_t here_len = sizeof here, there_len = sizeof there;
    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    return getsockname(fd, (struct sockaddr *)&here, &here_len) == 0 &&
           getpeername(fd, (struct sockaddr *)&there, &there_len) == 0 && here_len == there_len &&
           memcmp(&here, &there, here_len) == 0;
}
