/* SPDX-License-Identifier: MIT */
/* layout_text.h - a part of reading layouts that wide ones share. */
#ifndef SFID_ID_LAYOUT_TEXT_H
#define SFID_ID_LAYOUT_TEXT_H

#include "id/layout.h"

/* Reads Unix milliseconds with or without a minus. NULL where there are none, else what comes behind. */
const char *sfid__read_epoch(const char *p, int64_t *epoch_ms);

#endif
