/* SPDX-License-Identifier: MIT */
/* tcp.h - what a socket needs that is for TCP. */
#ifndef SFID_REDIS_TCP_H
#define SFID_REDIS_TCP_H

#include "base/compiler.h"

/* Sends at once, and finds out about a peer that is gone. */
void sfid__tcp_set_options(int fd);

/* A socket that connects to a free port of the loopback may be given that port itself: then it
 * meets itself. */
bool sfid__tcp_met_itself(int fd);

#endif
