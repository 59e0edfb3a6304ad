/* SPDX-License-Identifier: MIT */
/*
 * marks.pml - two keepers of one mark (src/host/mark_entries.h), of which one may
 * be stopped anywhere, for as long as it likes. The page may be lost at any
 * moment. Then what the mark says has to cover every limit that was raised.
 *
 * SEATS=1: both write the same two entries, and the newest one counts.
 */
#ifndef SEATS
#define SEATS 2
#endif
#define MAXL 6
byte ser[4], pos[4];   /* entries: 2 per seat */
byte limit, reign;
byte clock;
inline covered() {     /* SEATS 1: newest by serial, as today; else the furthest */
  if :: SEATS == 1 -> if :: ser[0] > ser[1] -> m = pos[0] :: else -> m = pos[1] fi
     :: else -> m = pos[0]; i = 1; do :: i < 4 -> if :: pos[i] > m -> m = pos[i] :: else fi; i++ :: else -> break od
  fi
}
proctype keeper(byte id) {
  byte mine, s, t, i, p, m; bool up;
  do
  :: atomic { reign < 4 -> reign++; mine = reign; } /* takes over, whoever sits there */
     do
     :: reign != mine -> break
     :: reign == mine ->
        d_step { s = 0; i = 0; do :: i < 4 -> if :: ser[i] > s -> s = ser[i] :: else fi; i++ :: else -> break od;
          i = (SEATS == 1 -> 0 : 2 * id); t = (ser[i] > ser[i+1] -> i + 1 : i); p = limit }
        if :: p < MAXL -> p++ :: else -> break fi;
        d_step { ser[t] = s + 1; pos[t] = p }          /* pwrite + fsync: any time later */
        d_step { if :: p > limit -> limit = p :: else fi } /* raise */
     od
  :: break
  od
}
active proctype crash() { byte m, i; atomic { covered(); assert(m >= limit) } }
init { atomic { run keeper(0); run keeper(1) } }
