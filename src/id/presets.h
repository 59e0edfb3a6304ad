/* SPDX-License-Identifier: MIT */
/* presets.h - the layouts that have a name. */
#ifndef SFID_ID_PRESETS_H
#define SFID_ID_PRESETS_H

#include "base/compiler.h"

#include <sfid.h>

struct sfid__preset {
    const char *name;
    sfid_layout layout;
    /* the fields' own words; layout.pid_low bits of the pid are called pid_low */
    const char *time, *pid_high, *pid_low, *seq;
    uint64_t first_pid; /* the lowest pid that its makers assign */
};

/* Preset i, from 0; NULL past the last. */
const struct sfid__preset *sfid__preset(size_t i);

const struct sfid__preset *sfid__preset_named(const char *name);

/* The preset that a layout is, or the first that cuts IDs alike; NULL if there is neither. */
const struct sfid__preset *sfid__preset_of(const sfid_layout *l);

#endif
