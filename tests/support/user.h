/* SPDX-License-Identifier: MIT */
/** user.h - for tests that become another user, or give files to one. */
#ifndef SFID_TESTS_USER_H
#define SFID_TESTS_USER_H

#include <stdbool.h>

/**
 * Returns whether this process may give files to another user, use them all the
 * same, and become that user. Root may not where it lacks a capability, or in a
 * namespace without that user.
 * A test that gets false skips: "takes root to be another user".
 */
bool may_be_another_user(void);

#endif
