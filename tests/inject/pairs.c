/* SPDX-License-Identifier: MIT */
/* tests/inject/causes with each call and each pair of calls, for `make check-apart`. */
#include "support/part.h"
#include "support/tap.h"

int main(void) {
    parts_open(1);
    return done_testing();
}
