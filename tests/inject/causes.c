/* SPDX-License-Identifier: MIT */
/*
 * Opens in which a call fails, and opens in which two do: what failed is told with its cause, and
 * nothing is left. See support/part.h.
 *
 * Sizes: each fourth call, and each fourth after it. Long: all. tests/inject/pairs has all, too.
 */
#include "support/part.h"
#include "support/tap.h"

int main(void) {
    parts_open(getenv("SFID_TEST_LONG") ? 1 : 4);
    return done_testing();
}
