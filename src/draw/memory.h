/* SPDX-License-Identifier: MIT */
/*
 * memory.h - pages for generators without an app: anonymous memory, shared
 * with forked children, gone with the last of them.
 *
 * One page per layout and pid of a process, kept for its life: a handle that
 * is closed and opened again goes on where it stopped, and two handles at once
 * are refused. Between processes nothing keeps them apart; see sfid_open().
 */
#ifndef SFID_DRAW_MEMORY_H
#define SFID_DRAW_MEMORY_H

#include "base/error.h"
#include "draw/page.h"

struct sfid__memory_page; /* an entry of this process's list */

/* The page of a pid, now in use. 0, SFID_EBUSY when it is already, SFID_ENOMEM. */
int sfid__memory_take(struct sfid__memory_page **out, uint64_t layout, uint64_t pid, struct sfid__error *err);

struct sfid__page *sfid__memory_page(struct sfid__memory_page *memory);

/* Ends the use. Late threads may still draw from it: it stays. */
void sfid__memory_leave(struct sfid__memory_page *memory);

#endif
