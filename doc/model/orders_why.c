/* SPDX-License-Identifier: MIT */
/*
 * orders_why.c - places that keep an order although every program beside this
 * file holds with a weaker one. orders.c also weakens all of them at once, so
 * no two reasons rest on each other.
 */
#include "orders.h"

#define STOP_IS_A_WORD \
    "nothing lies behind the word; pokes, locks and joins order the rest. All of its accesses look alike"

const struct why whys[] = {
    {stop_clock, RLX, STOP_IS_A_WORD},
    {stop_rest, RLX, STOP_IS_A_WORD},
    {stop_run, RLX, STOP_IS_A_WORD},
    {stop_attend, RLX, STOP_IS_A_WORD},
    {stop_set, RLX, STOP_IS_A_WORD},
    {stop_turn, RLX, STOP_IS_A_WORD},
    {stop_pool, RLX, STOP_IS_A_WORD},
    {stop_cluster, RLX, STOP_IS_A_WORD},
    {stop_sentinel, RLX, STOP_IS_A_WORD},

    {cold_callback, RLX,
     "the cold part is there before the caller has the handle, or before next_walk finds the handle"},
    {cold_close, RLX,
     "the cold part is there before the caller has the handle; the exchange that follows decides"},
    {closed_bury, RLX, "no thread walks the list: it keeps handles reachable for leak checkers"},
    {mover_take, RLX,
     "the load before has acquired what the last mover wrote; a newer time is read by the next call"},
    {mover_none, RLX, "nothing was written since the exchange; as at the other store of this word"},

    {own_set, REL, "an exchange that succeeds finds NULL, with nothing behind it"},
    {alive_note_after, AR,
     "for the compiler alone: the kernel reads the pointer in this thread, or once it is dead"},
    {alive_note_before, AR,
     "for the compiler alone: the kernel reads the pointer in this thread, or once it is dead"},
    {family_set, REL, "an exchange that succeeds finds NULL, with nothing behind it"},
    {crew_add, REL, "the crew before this one is not followed"},
    {crew_add, FAILING + RLX, "ours() looks again"},
    {pages_add, REL,
     "what an exchange that succeeds finds was walked under the load, or under the one that failed"},
    {memory_take, ACQ, "the release half: who takes a page hands nothing on; who leaves it does"},
    {mapping_take, ACQ,
     "the release half: who takes a mapping hands nothing on; who leaves it does"},

    {from_set, RLX, "the value is all there is: [move] orders what it was made of"},
    {from_get, RLX, "the value is all there is: [move] orders what it was made of"},
    {word_close, REL,
     "the acquire half: nobody releases by a word. What the closer then writes to files stays behind the closing"},
    {record_newest, REL, "the acquire half: the record that is replaced is dropped, not followed"},
    {word_settle, RLX,
     "a position that is dropped harms nobody, and the next look is at everything"},

    {owner_start, ACQ,
     "the release half: nobody reads behind STARTING; k->thread is behind RUNNING and ENDED"},
    {owner_runs, REL, "the acquire half: the value replaced is this thread's own"},
    {reign_late, RLX, "compared, and nothing read behind it: a late keeper leaves out a report"},
    {reign_set, REL,
     "the acquire half: reign_get has read the value that is replaced, and no reign comes back"},
    {poke_thread, ACQ,
     "the release half: calls read nothing that a thread of its own has written; as in a crew"},
    {watch_get, RLX, "the exchange that follows acquires; elsewhere it is compared alone"},
    {watch_take, ACQ, "the release half: the exchange that ends the turn releases"},
    {watch_pass, REL,
     "the acquire half: the value replaced is this crew's own, so nobody had the page in between"},
    {nonce_swap, FAILING + RLX, "after a failure the words are loaded again"},
    {.text = NULL}};
