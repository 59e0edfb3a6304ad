/* SPDX-License-Identifier: MIT */
/* scripts.h - what the library has Redis run; src/check_script.lua and src/lease_script.lua have their arguments and answers. */
#ifndef SFID_SCRIPTS_H
#define SFID_SCRIPTS_H

extern const char sfid__check_script[], sfid__lease_script[];

#endif
