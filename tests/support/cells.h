/* SPDX-License-Identifier: MIT */
/**
 * cells.h - for tests that tests/options names: which of its cells they have to try.
 *
 * A cell is an option, a store and a kind of open. The list decides, so a test cannot leave a cell
 * out, nor can the list name a test that does not try it.
 */
#ifndef SFID_TESTS_CELLS_H
#define SFID_TESTS_CELLS_H

#include <stdbool.h>

/* The stores of the list, with the options of time that their texts have; they share a layout.
 * Redis stands where the server's socket goes. */
struct cell_store {
    const char *name, *text;
    bool served;
};
enum { CELL_STORES = 5, CELL_LEAD_MS = 2500, CELL_PID = 3 };
extern const struct cell_store cell_stores[CELL_STORES];
extern const char cell_layout[];

/* Reads the list. The test is named as there: "tests/fleet/options". */
void cells_begin(const char *test);

/* Whether the list names the test for this cell. The test then tries it. */
bool cell_given(const char *option, const char *store, const char *kind);

/* Two checks: there are such cells, and cell_given() was asked for each. */
void cells_end(void);

#endif
