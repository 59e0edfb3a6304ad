/* SPDX-License-Identifier: MIT */
/** locks.h - for tests that count descriptors. */
#ifndef SFID_TESTS_LOCKS_H
#define SFID_TESTS_LOCKS_H

/**
 * Returns how many descriptors a lock on a mapped file in this directory takes:
 * 0 where the mapping keeps the lock, 1 where it does not, as on overlayfs.
 */
int fds_of_a_lock(const char *dir);

#endif
