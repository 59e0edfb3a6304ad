/* SPDX-License-Identifier: MIT */
/* SFID__MIN and SFID__MAX: each argument is evaluated once, and the result has the type of the
 * sum. */
#include "base/compiler.h"
#include "support/tap.h"

static unsigned calls;

static int64_t counted(int64_t value) {
    calls++;
    return value;
}

int main(void) {
    is_i64(SFID__MIN(counted(3), counted(4)), 3, "the lower one");
    is_i64(SFID__MIN(counted(4), counted(3)), 3, "in any order");
    is_i64(SFID__MAX(counted(3), counted(4)), 4, "the higher one");
    is_i64(SFID__MAX(counted(4), counted(3)), 4, "in any order");
    is_u64(calls, 8, "each argument is evaluated once");
    is_i64(SFID__MIN(SFID__MAX(counted(1), 2), counted(5)), 2, "one in the other");
    is_u64(calls, 10, "and those of the inner one, too");
    is_i64(SFID__MIN(-1, 1), -1, "of int");
    is_u64(SFID__MAX(1U, UINT32_MAX), UINT32_MAX, "of unsigned");
    is_i64(SFID__MIN(INT64_MIN, INT64_C(0)), INT64_MIN, "of int64_t");
    is_u64(SFID__MAX(UINT64_MAX, UINT64_C(0)), UINT64_MAX, "of uint64_t");
    is_u64(SFID__MAX(UINT64_MAX, 1U), UINT64_MAX, "of two types");
    is_u64(SFID__MIN(sizeof(int), SIZE_MAX), sizeof(int), "of size_t");
    return done_testing();
}
