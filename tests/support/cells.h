/* SPDX-License-Identifier: MIT */
/**
 * cells.h - for tests that tests/options names: which of its cells they have to try.
 *
 * A cell is an option, a store and a kind of open. The list decides, so a test cannot leave a cell out, nor can the list name a test
 * that does not try it.
 */
#ifndef SFID_TESTS_CELLS_H
#define SFID_TESTS_CELLS_H

#include <stdbool.h>

/* Reads the list. The test is named as there: "tests/fleet/options". */
void cells_begin(const char *test);

/* Whether the list names the test for this cell. The test then tries it. */
bool cell_given(const char *option, const char *store, const char *kind);

/* Two checks: there are such cells, and cell_given() was asked for each. */
void cells_end(void);

#endif
