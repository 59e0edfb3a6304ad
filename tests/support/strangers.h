/* SPDX-License-Identifier: MIT */
/* strangers.h - what servers do that are none. */
#ifndef SFID_TESTS_STRANGERS_H
#define SFID_TESTS_STRANGERS_H

#include "support/clients.h"
#include "support/peer.h"

/* What the test has set, as the answer to each command but those of the greeting. */
void serve_words(int fd, struct resp *in, struct peer_shared *s);

/* As an answer to anything. */
void serve_words_at_once(int fd, struct resp *in, struct peer_shared *s);

/* A byte each second, of a reply that would take minutes. */
void serve_drip(int fd, struct resp *in, struct peer_shared *s);
void serve_nothing(int fd, struct resp *in, struct peer_shared *s);

/* Once; then nothing any more. */
void serve_words_once(int fd, struct resp *in, struct peer_shared *s);
void serve_end(int fd, struct resp *in, struct peer_shared *s);
void serve_reset(int fd, struct resp *in, struct peer_shared *s);

/* Arrays nested a million deep. */
void serve_nested(int fd, struct resp *in, struct peer_shared *s);

#endif
