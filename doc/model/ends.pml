/* SPDX-License-Identifier: MIT */
/*
 * ends.pml - the end of a process, and the next one in its slot (doc/lease.md,
 * "What a process leaves"): three lives of one slot, the server, and another
 * host that wants the pid. All of it happens inside one window of the lease, so
 * nobody else may have the pid unless it was released, or the operator's word
 * makes it free after a loss.
 *
 * A life may be killed between any two steps. Messages may be lost or late, and
 * the server may be away, or lose its record (FLUSHES). With INIT=1 the operator
 * says that nobody runs: true, and from then on the server is reached and loses
 * nothing.
 *
 * LOCK_FIRST: the slot is left before the release. SET_AFTER: what is left stays
 * set while the release is under way. NO_QUESTION: the release is sent without
 * asking first. TIMEOUT_IS_GONE: no answer counts as GONE. UNASKED: a life goes on
 * with an open window and asks later. REACH: a life goes on with what a close
 * left, and is answered.
 */
#ifndef FLUSHES
#define FLUSHES 1
#endif
#ifndef INIT
#define INIT 0
#endif
#define LIVES 3
mtype = { HELD, FREE, OTHER, NONE, OK, GONE, LOST, NOTHING };
mtype record = HELD;  /* the pid's, at the server: ours, released, another's, none */
bool up = true, stated, used_by_other, heard;
byte lock = 1, current, flushes, running = 1; /* lock: 1 + the life that has it */
bool closed[LIVES], left[LIVES];
bool sent[LIVES];              /* a release is under way */
mtype answer[LIVES] = NOTHING; /* to it */

byte used; /* 1 + the life that issues now */

inline dies(i) { atomic { if :: lock == i + 1 -> lock = 0 :: else fi; if :: used == i + 1 -> used = 0 :: else fi; running-- } }

active proctype Server() {
  byte i;
end:
  do
  :: atomic { up && !stated -> up = false }
  :: atomic { !up -> up = true; heard = true }
  :: d_step { flushes < FLUSHES && !stated -> record = NONE; flushes++ }
  :: d_step { up && sent[0] -> i = 0; sent[0] = false;
       if :: record == HELD -> record = FREE; answer[i] = OK :: record == NONE -> answer[i] = GONE :: else -> answer[i] = LOST fi }
  :: d_step { up && sent[1] -> i = 1; sent[1] = false;
       if :: record == HELD -> record = FREE; answer[i] = OK :: record == NONE -> answer[i] = GONE :: else -> answer[i] = LOST fi }
  :: d_step { sent[0] && !stated -> sent[0] = false } /* it is lost, and no answer comes */
  :: d_step { sent[1] && !stated -> sent[1] = false }
#if INIT
  :: d_step { !stated && running == 0 && !sent[0] && !sent[1] -> stated = true; up = true }
#endif
  od
}

/* Another host is granted what is free. What nobody knows of is free only by the operator's word. */
active proctype Other() {
end:
  do
  :: d_step { up && (record == FREE || (record == NONE && stated)) && !used_by_other -> record = OTHER; used_by_other = true;
       assert(used == 0) }
  od
}

proctype Life(byte i) {
  bool goes_on, from_close;
  if
  :: i > 0 ->
end:
    atomic { lock == 0 -> lock = i + 1; running++ };
    if :: dies(i); goto dead :: skip fi;
    from_close = closed[current];
    goes_on = !from_close || left[current];
    if :: !goes_on -> goto leaves :: else fi;
    d_step { closed[current] = true; current = i } /* a record of its own */
    if :: dies(i); goto dead :: skip fi;
#ifdef UNASKED
    d_step { used = i + 1; assert(!used_by_other) }
#endif
    if
    :: atomic { up -> /* it asks, and is answered */
         if
         :: record == HELD || record == NONE -> record = HELD;
#ifdef REACH
           assert(!from_close)
#endif
         :: else -> goes_on = false
         fi }
    :: !stated -> skip /* no answer came */
    fi;
    if :: !goes_on -> d_step { closed[i] = true; if :: used == i + 1 -> used = 0 :: else fi }; goto leaves :: else fi;
    d_step { used = i + 1; assert(!used_by_other) }
  :: else -> used = 1
  fi;
  if :: dies(i); goto dead :: skip fi;
  d_step { used = 0; closed[i] = true; heard = up };
  if :: dies(i); goto dead :: skip fi;
  left[i] = true;
  if :: dies(i); goto dead :: skip fi;
#ifdef LOCK_FIRST
  lock = 0;
#endif
#ifndef NO_QUESTION
  if :: up -> skip :: !up -> goto done :: goto done /* no answer in time */ fi;
#endif
#ifndef SET_AFTER
  left[i] = false;
#endif
  if :: dies(i); goto dead :: skip fi;
  d_step { if :: up -> sent[i] = true :: else fi };
  do
  :: atomic { answer[i] != NOTHING -> break }
  :: true -> break /* no longer waited for */
  :: dies(i); goto dead
  od;
  if
  :: answer[i] == GONE -> left[i] = true
#ifdef TIMEOUT_IS_GONE
  :: answer[i] == NOTHING -> left[i] = true
#endif
  :: else -> left[i] = false
  fi;
done:
#ifndef LOCK_FIRST
  assert(heard || left[i]); /* a server that was away all the time costs nothing */
#endif
leaves: skip;
  d_step { if :: lock == i + 1 -> lock = 0 :: else fi; running-- };
dead: skip
}

init { atomic { run Life(0); run Life(1); run Life(2) } }
