/* SPDX-License-Identifier: MIT */
/* layout_text.h - the part of reading a layout that wide layouts share. */
#ifndef SFID_ID_LAYOUT_TEXT_H
#define SFID_ID_LAYOUT_TEXT_H

#include "id/layout.h"

/* Reads Unix milliseconds with an optional minus. Returns a pointer behind them, or NULL if there
 * are none. */
const char *sfid__read_epoch(const char *p, int64_t *epoch_ms);

#endif
