/* SPDX-License-Identifier: MIT */
/*
 * share.pml - processes that share a page (doc/design.md): three that share, and
 * one, X, that does not and wants the same pid. Any of them may be killed
 * between any two steps. The page has locks, a word and a limit, the mark has
 * locks and a position. No position may be issued twice.
 *
 * CONV=0: LOCK_EX becomes LOCK_SH outside the door, so another process can take
 * the pid in between.
 */
#ifndef CONV
#define CONV 1
#endif
#define N 3
#define MAXW 6
byte used[8];
byte pSH, pEX = 9, mSH, mEX = 9, door = 9; /* masks and owners */
byte word, limit; bool open_; bool fresh = true; bool pmark;
byte mpos; bool mexact; byte mpage = 1;    /* mark: how far; 1: of the sharers' page, 2: of X's own */
bool otherpid;
#define BIT(i) (1 << i)
#define NOTME(mask, i) (mask & ~BIT(i))
inline die(i) { d_step { pSH = pSH & ~BIT(i); mSH = mSH & ~BIT(i); if :: pEX == i -> pEX = 9 :: else fi; if :: mEX == i -> mEX = 9 :: else fi; if :: door == i -> door = 9 :: else fi } }
inline issue(w) { d_step { used[w]++; assert(used[w] <= 1); w++ } }
proctype S(byte i) {
  byte lives = 2; bool last;
again:
  if :: lives == 0 -> goto out :: else -> lives-- fi;
join: {
  atomic { door == 9 -> door = i }
  if
  :: atomic { pEX == 9 && pSH == 0 -> pEX = i }   /* cold: alone with the page */
     door = 9;
     if :: atomic { mEX == 9 && NOTME(mSH, i) == 0 -> mEX = i } 
        :: atomic { !(mEX == 9 && NOTME(mSH, i) == 0) -> otherpid = true; die(i) ; goto again } fi;
     if :: goto dead :: skip fi;
     /* where to go on: the page if the mark names it, else above both */
     d_step { if :: open_ && mpage == 1 -> skip
              :: else -> if :: mpage == 1 && mexact && word >= mpos -> skip
                         :: mpage == 1 && mexact && word < mpos -> word = mpos
                         :: else -> if :: mpos > word -> word = mpos :: else fi fi; limit = word; open_ = true fi }
     if :: goto dead :: skip fi;
     if :: limit < MAXW && limit <= word -> d_step { mpos = (limit > word -> limit : word) + 1; mexact = false; mpage = 1 }  /* durable */
           if :: goto dead :: skip fi;
           limit = mpos
        :: else fi;
#if CONV
     atomic { door == 9 -> door = i };
#endif
     mEX = 9; atomic { if :: mEX == 9 -> mSH = mSH | BIT(i) :: else -> goto dead fi };
     pEX = 9; atomic { if :: pEX == 9 -> pSH = pSH | BIT(i) :: else -> goto dead fi };
#if CONV
     door = 9
#endif
  :: atomic { pEX == 9 && pSH != 0 -> pSH = pSH | BIT(i) }  /* live */
     if :: atomic { mEX == 9 -> mSH = mSH | BIT(i) } :: mEX != 9 -> goto dead fi;
     door = 9
  :: atomic { pEX != 9 -> door = 9 }; goto join
  fi }
  do
  :: atomic { open_ && word < limit -> issue(word) }
  :: goto dead
  :: break
  od;
  /* close */
  atomic { door == 9 -> door = i }
  pSH = pSH & ~BIT(i);
  d_step { last = (pSH == 0 && pEX == 9); if :: last -> pEX = i :: else fi };
  door = 9;
  if :: last ->
     atomic { door == 9 -> door = i }
     mSH = mSH & ~BIT(i);
     d_step { last = (mSH == 0 && mEX == 9); if :: last -> mEX = i :: else fi };
     door = 9;
     :: else fi;
  if :: last -> open_ = false; if :: goto dead :: skip fi;
        d_step { mpos = word; mexact = true; mpage = 1 };
        if :: goto dead :: skip fi;
        mEX = 9; pEX = 9
     :: else -> d_step { mSH = mSH & ~BIT(i); if :: pEX == i -> pEX = 9 :: else fi } fi;
  goto again;
dead: die(i); goto again;
out: skip
}
proctype X() { byte w, l, n = 0;
  do :: n < 2 -> n++;
    if :: atomic { mEX == 9 && mSH == 0 && door == 9 -> mEX = 8 } -> /* by the mark's door */
       w = mpos; d_step { if :: w < MAXW -> l = w + 1; mpos = l; mexact = false; mpage = 2 :: else -> l = w fi };
       do :: atomic { w < l -> issue(w) } :: break od;
       if :: d_step { mpos = w; mexact = true; mpage = 2 } :: skip fi;
       mEX = 9
    :: skip fi
  :: break od }
init { atomic { run S(0); run S(1);
#if N > 2
 run S(2);
#endif
 run X() } }
