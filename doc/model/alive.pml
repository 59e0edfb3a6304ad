/* SPDX-License-Identifier: MIT */
/*
 * alive.pml - the word that shows whether a thread lives (src/base/alive.h), as
 * a seat of keepers (src/lease/keeper.c). Threads take it, sit down by raising
 * the reign, leave, and come again. Any of them may be killed between any two
 * steps; then the kernel marks the word that the thread has noted, if it has the
 * thread's number. No two have the word at once, and no word stays with a thread
 * that is dead.
 *
 * NOTE_LATE=1: a thread notes the word after it took it. FORGET_EARLY=1: it
 * forgets the word before it leaves it. LOOK_ONLY=1: it looks and stores, in two
 * steps. SAME=1: two threads have one number, in two PID namespaces. Then two
 * can have the word at once, which COUNTS=1 allows: what counts is the reign, and
 * it has no more than one of them.
 */
#ifndef NOTE_LATE
#define NOTE_LATE 0
#endif
#ifndef FORGET_EARLY
#define FORGET_EARLY 0
#endif
#ifndef LOOK_ONLY
#define LOOK_ONLY 0
#endif
#ifndef SAME
#define SAME 0
#endif
#ifndef COUNTS
#define COUNTS 0
#endif
#define N 3
#define TIMES 2
#define DEAD 9
#define NUMBER(i) (SAME && i == 1 -> 1 : i + 1)
byte word, reign, ended;
bool noted[N], has[N];
byte mine[N];

inline die(i) { d_step { if :: noted[i] && word == NUMBER(i) -> word = DEAD :: else fi; has[i] = false; mine[i] = 0; noted[i] = false } }
inline takes(i) {
  has[i] = true;
#if !COUNTS
  assert(has[0] + has[1] + has[2] == 1)
#endif
}

proctype T(byte i) {
  byte seen, times, before; bool ours;
  do
  :: times == TIMES -> break
  :: times < TIMES -> times++;
    seen = word;
    if :: seen == 0 || seen == DEAD -> skip :: else -> goto next fi;
    if :: goto dead :: skip fi;
    before = reign;
#if !NOTE_LATE
    noted[i] = true;
    if :: goto dead :: skip fi;
#endif
#if LOOK_ONLY
    d_step { word = NUMBER(i); takes(i) };
#else
    if
    :: d_step { word == seen -> word = NUMBER(i); takes(i) }
    :: d_step { word != seen -> noted[i] = false }; goto next
    fi;
#endif
    if :: goto dead :: skip fi;
#if NOTE_LATE
    noted[i] = true;
    if :: goto dead :: skip fi;
#endif
    if
    :: d_step { reign == before -> reign++; mine[i] = reign }
    :: reign != before -> goto leave
    fi;
    /* a step begins only so: I3 */
    do
    :: d_step { mine[i] == reign -> assert((mine[0] == reign) + (mine[1] == reign) + (mine[2] == reign) == 1) }
    :: break
    od;
    if :: goto dead :: skip fi;
leave: skip;
#if FORGET_EARLY
    noted[i] = false;
    if :: goto dead :: skip fi;
#endif
    d_step { ours = (word == NUMBER(i)); if :: ours -> word = 0 :: else fi; has[i] = false; mine[i] = 0 };
    if :: goto dead :: skip fi;
    if :: ours -> noted[i] = false :: else fi;
next: skip
  od;
dead:
  die(i);
  d_step { ended++; assert(ended < N || word == 0 || word == DEAD) }
}
init { atomic { run T(0); run T(1); run T(2) } }
