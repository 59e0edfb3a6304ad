/* SPDX-License-Identifier: MIT */
/*
 * memory.h - pages for generators without an app: anonymous memory, shared with
 * forked children, gone when the last of them ends.
 *
 * A process has one page per layout and pid, and keeps it for life. A handle
 * that is closed and opened again resumes where it stopped; two handles at once
 * are refused. Nothing keeps unrelated processes apart; see sfid_open().
 */
#ifndef SFID_DRAW_MEMORY_H
#define SFID_DRAW_MEMORY_H

#include "base/error.h"
#include "draw/page.h"

struct sfid__memory_page;

/* Takes the page of a pid. Returns 0, SFID_EBUSY if it is in use, or SFID_ENOMEM. */
int sfid__memory_take(struct sfid__memory_page **out, uint64_t layout, uint64_t pid,
                      struct sfid__error *err);

struct sfid__page *sfid__memory_page(struct sfid__memory_page *memory);

/* Ends the use. The page stays: late threads may still take positions from it. */
void sfid__memory_leave(struct sfid__memory_page *memory);

#endif
