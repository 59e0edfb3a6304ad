/* SPDX-License-Identifier: MIT */
/* scripts.h - what the library has Redis run; src/lease_script.lua has its arguments and answers. */
#ifndef SFID_SCRIPTS_H
#define SFID_SCRIPTS_H

extern const char sfid__lease_script[];

#endif
