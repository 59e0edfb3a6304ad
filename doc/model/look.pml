/* SPDX-License-Identifier: MIT */
/*
 * look.pml - the hot path of src/draw/hot.c with one look a tick: K threads that
 * never wait call CALLS times each. A clock ticks meanwhile, and the record is
 * closed and replaced. What is issued is issued once, and in the tick of the
 * hint. What calls take too many does not grow with the number of calls.
 *
 * CLOSES=0: the record stays. NO_CLEAR: a call that fails leaves word_tick.
 * NO_CHECK: the tick is not compared after the add. REACH: a call that stopped
 * between its look and its store lets others fail again.
 */
#ifndef K
#define K 2
#endif
#ifndef CALLS
#define CALLS 5
#endif
#ifndef CLOSES
#define CLOSES 1
#endif
#define S 2 /* positions of a tick */
#define LOOK 255
#ifdef REACH
#define MOST K
#else
#define MOST (K * (K + 1))
#endif
byte word[2];        /* of two records, the second of another pid */
bool closed[2];
byte current;        /* the page's index */
byte record;         /* the handle's pointer */
byte clock, word_tick = LOOK;
byte over[2];        /* by tick of the hint: adds that failed */
bool issued[64];     /* 32 positions of each record */

inline issue(r, n) {
  assert(!issued[r * 32 + n]);
  issued[r * 32 + n] = true
}

/* Row 7 drops what is in hand of a closed record, row 8 issues what is due; a call that does not wait loses the rest. */
inline settle() {
  if :: !shut && n / S <= clock -> issue(r, n) :: else fi
}

/* Rows 11 to 15; one exchange, so one step. */
inline slow() {
  d_step {
    if :: closed[record] -> record = current :: else fi;
    if :: closed[record] -> skip
       :: else ->
          if :: word[record] / S < clock -> word[record] = clock * S :: else fi;
          if :: word[record] / S == clock -> issue(record, word[record]); word[record]++ :: else fi
    fi
  }
}

proctype thread() {
  byte calls, r, hint, n;
  bool shut;
  do
  :: calls == CALLS -> break
  :: calls < CALLS ->
     calls++;
     hint = clock;
     r = record;
     if :: word_tick == hint -> goto add :: else fi;
     if :: !closed[r] && word[r] / S == hint -> word_tick = hint
        :: else -> slow(); goto next
     fi;
add: skip;
     d_step { n = word[r]; shut = closed[r]; word[r]++ };
     if
#ifndef NO_CHECK
     :: shut || n / S != hint ->
        d_step { over[hint]++; assert(over[hint] <= MOST) };
#ifndef NO_CLEAR
        word_tick = LOOK;
#endif
        d_step { settle() }
     :: else ->
#else
     :: true ->
#endif
        d_step { assert(!shut && n / S == hint); issue(r, n) }
     fi;
next: skip
  od
}

proctype keeper() {
  closed[0] = true;
  word[1] = (word[0] / S + 1) * S;
  current = 1
}

init {
  byte i;
  atomic {
    do :: i < K -> run thread(); i++ :: else -> break od;
    if :: CLOSES -> run keeper() :: else fi
  };
  clock = 1
}
