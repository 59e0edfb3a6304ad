/* SPDX-License-Identifier: MIT */
/*
 * newcomer.pml - first windows, short pids and moves: doc/protocol.md. run.sh beside this file has the rows.
 *
 * Two holders, an ordinary pid (0) and a short one (1), ticks 1 to TMAX - 1. A claim grants a window of SW, a renewal one of W,
 * of the short pid SW. A holder of the short pid may ask for the ordinary one in a renewal. It issues any tick of its window at
 * any later time, which stands for pauses, slow networks and the clocks of hosts; after a move also those of the short one. One
 * tick of one pid is watched, any: another lease that issues it makes a duplicate ID.
 *
 * One server is master at a time. What happens: F_FLUSH it loses everything; F_EMPTY an empty server takes its place, F_FAILOVER
 * one with an older copy; F_SPLIT the former master goes on granting until S past its successor's beginning; F_APART the clocks
 * of the two differ by a tick; F_BACK the clocks are set back by a tick; F_LOSS answers are lost, and the question is asked
 * again under the same token; F_CRASH a process dies; F_LATE a renewal arrives after its lease was released; F_COPY an older copy
 * of the hash is put back, or a record deleted, while the server runs. What is granted between that and the next question of a
 * holder that knows better may be another's, and so may what is granted behind it: that is not counted.
 *
 * Rules to leave out: NO_Q0 (ordinary pids wait for SW + S only), NO_Q1 (short pids do not wait), NO_G (the limit shown is not
 * compared), LONG_CLAIM (a short pid is granted W), LONG_RENEWAL (it is renewed by W), MOVE_EARLY (a move does not wait for q),
 * MOVE_RELEASES (a move writes the short pid as released), NO_WITNESS (who knows better begins no era), NO_DAMAGE (a record that
 * is gone begins none). MIXED gives the second holder a setting without a short part, which
 * NO_LAY lets in.
 */
#ifndef W
#define W 3
#endif
#ifndef SW
#define SW 1
#endif
#ifndef S
#define S 0
#endif
#ifndef TMAX
#define TMAX 5
#endif
#ifndef LEASES
#define LEASES 3
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* Of a pid: kind FREE no record, HELD by `lease` up to `limit`, RELEASED at `limit`. */
#define FREE 0
#define HELD 1
#define RELEASED 2

/* era 0: there is no hash. */
#ifdef F_COPY
typedef Hash { byte era, setting, g, b, n; byte q[2], kind[2], lease[2], limit[2] };
bit doubt;           /* the hash is damaged, and nobody has asked who knows better */
byte doubtful, eras; /* leases, as bits; how many eras have begun */
#define NOTE(h) h.n = MIN(h.n + 1, 3) /* as many as tell a copy from what came after */
#define DOUBTS(l) (doubtful >> (l) & 1)
#define DOUBT(l) doubtful = (doubt -> doubtful | 1 << l : doubtful)
#else
typedef Hash { byte era, setting, g; byte q[2], kind[2], lease[2], limit[2] };
#define NOTE(h) skip
#define DOUBTS(l) 0
#define DOUBT(l) skip
#endif

Hash hash[2];
#if defined F_FAILOVER || defined F_COPY
Hash copy; /* what a failover leaves, or an operator has */
#endif
byte inc[2];        /* which start and role of a server */
byte incs = 2;
byte ahead[2];      /* of the servers' clocks */
byte master = 0;
byte first = 1;     /* the master's clock when it was asked first as such; 0: not yet */
byte now = 1, leases = 0, faults = 0;
byte watched_pid, watched, owner = 0; /* the lease that issued it */

#define CLOCK(s) (now + ahead[s])

/* Setting 0 has a short part, setting 1 none. */
#define SHORT(p) ((p) == 1 && setting == 0)
#ifdef LONG_CLAIM
#define CLAIMED(p) (setting == 0 && (p) == 0 -> SW : W)
#else
#define CLAIMED(p) (setting == 0 -> SW : W)
#endif
#ifdef LONG_RENEWAL
#define RENEWED(p) W
#else
#define RENEWED(p) (SHORT(p) -> SW : W)
#endif
#ifdef NO_Q0
#define WAIT0 SW
#else
#define WAIT0 W
#endif
#ifdef NO_Q1
#define WAIT1 (setting == 0 -> 0 : W + S)
#else
#define WAIT1 (S + (setting == 0 -> SW : W))
#endif
#ifdef NO_G
#define SHOWS(s) true
#else
#define SHOWS(s) (limit >= hash[s].g)
#endif
#ifdef NO_LAY
#define LET_IN(s) true
#else
#define LET_IN(s) (hash[s].era == 0 || hash[s].setting == setting)
#endif

inline wipe(h) {
  h.era = 0; h.setting = 0; h.g = 0; h.q[0] = 0; h.q[1] = 0;
  h.kind[0] = FREE; h.lease[0] = 0; h.limit[0] = 0; h.kind[1] = FREE; h.lease[1] = 0; h.limit[1] = 0
}

inline put(d, h) {
#ifdef F_COPY
  d.b = h.b; d.n = h.n;
#endif
  d.era = h.era; d.setting = h.setting; d.g = h.g; d.q[0] = h.q[0]; d.q[1] = h.q[1];
  d.kind[0] = h.kind[0]; d.lease[0] = h.lease[0]; d.limit[0] = h.limit[0];
  d.kind[1] = h.kind[1]; d.lease[1] = h.lease[1]; d.limit[1] = h.limit[1]
}

inline begin() {
  wipe(hash[s]);
  hash[s].era = inc[s]; hash[s].setting = setting; hash[s].g = CLOCK(s) + S + 1;
#ifdef F_COPY
  eras++; hash[s].b = eras; hash[s].n = 0; doubt = 0;
#endif
  hash[s].q[0] = CLOCK(s) + WAIT0 + S; hash[s].q[1] = CLOCK(s) + WAIT1
}

/* The asker was answered seen_n in era seen_b. */
#ifdef F_COPY
inline heed() {
  if
  :: hash[s].era == inc[s] && (seen_b > hash[s].b || (seen_b == hash[s].b && seen_n > hash[s].n)) ->
     doubt = 0;
#ifndef NO_WITNESS
     begin()
#endif
  :: else
  fi
}
inline heed_record() {
  if
  :: hash[s].era == inc[s] && seen_b == hash[s].b && hash[s].kind[nr] == FREE ->
     doubt = 0;
#ifndef NO_DAMAGE
     begin()
#endif
  :: else
  fi
}
#define SEE got_b = hash[s].b; got_n = hash[s].n
#else
inline heed() { skip }
inline heed_record() { skip }
#define SEE skip
#endif

/* Chooses the server that is asked, and begins a new era there if it is due. s 2: the question is refused. */
inline ask() {
  s = master;
#ifdef F_SPLIT
  if
  :: skip
  :: inc[1 - master] != 0 && (first == 0 || CLOCK(1 - master) <= first + S) -> s = 1 - master
  fi;
#endif
  if
  :: !LET_IN(s) -> s = 2
  :: else ->
     if
     :: hash[s].era != inc[s] -> begin()
     :: else -> heed()
     fi;
     if :: s == master && first == 0 -> first = CLOCK(s) :: else fi
  fi
}

/* What server s has of a pid for a claim under the token `wish`: from `from` up to `till`; nothing if these are the same. */
inline offer(p) {
  from = 0; till = 0;
  if
  :: hash[s].kind[p] == FREE && CLOCK(s) >= hash[s].q[p] -> from = CLOCK(s); till = CLOCK(s) + CLAIMED(p)
#ifdef MOVE_EARLY
  :: lease != 0 && hash[s].kind[p] == FREE && CLOCK(s) < hash[s].q[p] -> from = CLOCK(s); till = CLOCK(s) + CLAIMED(p)
#endif
  :: hash[s].kind[p] == RELEASED && hash[s].limit[p] <= CLOCK(s) + 1 ->
     from = MAX(CLOCK(s), hash[s].limit[p]); till = CLOCK(s) + CLAIMED(p)
  :: hash[s].kind[p] == HELD && hash[s].lease[p] == wish -> /* its answer was lost */
     from = MAX(CLOCK(s), hash[s].limit[p] + 1 - CLAIMED(p)); till = MAX(hash[s].limit[p], CLOCK(s) + CLAIMED(p))
  :: hash[s].kind[p] == HELD && hash[s].lease[p] != wish && hash[s].limit[p] <= CLOCK(s) && CLOCK(s) >= hash[s].q[p] ->
     from = CLOCK(s); till = CLOCK(s) + CLAIMED(p)
  :: else
  fi;
  till = MIN(till, TMAX);
  if :: from >= till -> from = 0; till = 0 :: else fi
}

/* Writes what was offered. */
inline grant(p) {
  if :: wish == 0 -> leases++; wish = leases :: else fi;
#ifdef F_COPY
  if :: DOUBTS(hash[s].lease[p]) -> doubtful = doubtful | 1 << wish :: else fi;
#endif
  DOUBT(wish);
  NOTE(hash[s]);
  hash[s].kind[p] = HELD; hash[s].lease[p] = wish; hash[s].limit[p] = till
}

#define MAY_WISH (wish != 0 || leases < LEASES)

inline issue(l) {
  assert(owner == 0 || owner == l || DOUBTS(l) || DOUBTS(owner));
  if :: !DOUBTS(l) -> owner = l :: else fi
}

#define CLAIM 1
#define RENEWAL 2
#define MOVE 3

proctype Holder(bit setting) {
  byte lease = 0, nr = 0, lo = 0, limit = 0; /* the record that IDs come from */
  bit issued = 0;                             /* the watched tick, from this record */
  byte old = 0, old_lo = 0, old_limit = 0;    /* the lease of the short pid that it was moved from */
  byte wish = 0;                              /* token of a claim or move that is not answered */
  byte word = 0, from = 0, till = 0, on = 0;  /* an answer under way */
  byte s = 0, t = 0;
#ifdef F_COPY
  byte seen_b = 0, seen_n = 0, got_b = 0, got_n = 0;
#endif
#ifdef F_LATE
  byte late = 0, late_pid = 0, late_limit = 0;
#endif
  do
  :: atomic { lease == 0 && word == 0 && MAY_WISH -> /* claim: by setting 0 of the ordinary pid first */
       ask();
       if
       :: s < 2 ->
          on = setting; offer(on);
          if :: till == 0 -> on = 1 - setting; offer(on) :: else fi;
          if :: till != 0 -> grant(on); word = CLAIM; SEE :: else -> on = 0 fi
       :: else
       fi;
       s = 0 }
  :: atomic { lease != 0 && word == 0 -> /* renew, and perhaps ask to be moved */
       ask();
       if :: s < 2 -> heed_record() :: else fi;
       if
       :: s < 2 && ((hash[s].kind[nr] == FREE && SHOWS(s)) || (hash[s].kind[nr] == HELD && hash[s].lease[nr] == lease)) ->
          if
          :: SHORT(nr) && old == 0 && MAY_WISH -> offer(0)
          :: skip
          fi;
          if
          :: till != 0 ->
             grant(0); word = MOVE;
#ifdef MOVE_RELEASES
             hash[s].kind[1] = RELEASED; hash[s].lease[1] = 0; hash[s].limit[1] = CLOCK(s)
#else
             hash[s].kind[1] = HELD; hash[s].lease[1] = lease; hash[s].limit[1] = MAX(limit, hash[s].limit[1])
#endif
          :: else ->
             till = MAX(MAX(MIN(CLOCK(s) + RENEWED(nr), TMAX), limit), hash[s].limit[nr]);
             hash[s].kind[nr] = HELD; hash[s].lease[nr] = lease; hash[s].limit[nr] = till;
             NOTE(hash[s]);
             DOUBT(lease);
             word = RENEWAL
          fi;
          SEE
       :: else -> /* refused, or lost: it uses up its window, or claims another pid */
          if :: lease = 0; lo = 0; limit = 0; issued = 0; nr = 0; wish = 0 :: skip fi
       fi;
       s = 0 }
  :: atomic { word != 0 -> /* the answer arrives */
       if
       :: word == RENEWAL -> limit = till
       :: else ->
          if :: word == MOVE -> old = lease; old_lo = lo; old_limit = limit :: else fi;
          lease = wish; wish = 0; nr = on; lo = from; limit = till; issued = 0
       fi;
#ifdef F_COPY
       seen_b = got_b; seen_n = got_n; got_b = 0; got_n = 0;
#endif
       word = 0; from = 0; till = 0; on = 0 }
#ifdef F_LOSS
  :: atomic { word != 0 -> word = 0; from = 0; till = 0; on = 0 }
#endif
  :: atomic { lease != 0 && nr == watched_pid && lo <= watched && watched < limit ->
#ifdef REACH_SHORT /* a newcomer uses the short pid while the ordinary one has to wait */
       assert(!(nr == 1 && faults > 0 && lease > 1 && watched < hash[master].q[0] && hash[master].era == inc[master]));
#endif
#ifdef REACH_MOVED /* a holder that was moved issues */
       assert(!(old != 0 && nr == 0));
#endif
       issue(lease); issued = 1 }
  :: atomic { old != 0 && watched_pid == 1 && old_lo <= watched && watched < old_limit -> issue(old) }
  :: atomic { old != 0 -> old = 0; old_lo = 0; old_limit = 0 } /* the new record is published */
  :: atomic { lease != 0 && word == 0 && old == 0 -> /* release: sent once, nothing issued after */
       ask();
       if
       :: s < 2 && hash[s].kind[nr] == HELD && hash[s].lease[nr] == lease ->
          t = (issued -> MAX(lo, watched + 1) : lo);
          do :: t < limit -> t++ :: break od;
          hash[s].kind[nr] = RELEASED; hash[s].limit[nr] = t;
#ifdef F_COPY
          if :: !DOUBTS(lease) -> hash[s].lease[nr] = 0 :: else fi; /* its next holder is behind a doubt, too */
#else
          hash[s].lease[nr] = 0;
#endif
          NOTE(hash[s])
       :: else
       fi;
#ifdef F_LATE
       late = lease; late_pid = nr; late_limit = limit;
#endif
       lease = 0; nr = 0; lo = 0; limit = 0; issued = 0; wish = 0; s = 0; t = 0 }
#ifdef F_LATE
  :: atomic { late != 0 && word == 0 && lease == 0 ->
       limit = late_limit;
       ask();
       if
       :: s < 2 && ((hash[s].kind[late_pid] == FREE && SHOWS(s)) ||
                    (hash[s].kind[late_pid] == HELD && hash[s].lease[late_pid] == late)) ->
          t = MAX(MAX(MIN(CLOCK(s) + RENEWED(late_pid), TMAX), limit), hash[s].limit[late_pid]);
          hash[s].kind[late_pid] = HELD; hash[s].lease[late_pid] = late; hash[s].limit[late_pid] = t
       :: else
       fi;
       late = 0; late_pid = 0; late_limit = 0; limit = 0; s = 0; t = 0 }
#endif
#ifdef F_CRASH
  :: atomic { lease != 0 && faults < FAULTS ->
       faults++;
       lease = 0; nr = 0; lo = 0; limit = 0; issued = 0; old = 0; old_lo = 0; old_limit = 0; wish = 0;
       word = 0; from = 0; till = 0; on = 0 }
#endif
  od
}

inline promote() {
  master = 1 - master; first = 0;
  incs++; inc[master] = incs
}

proctype World() {
  do
  :: atomic { now < TMAX -> now++ }
#ifdef F_BACK
  :: atomic { faults < FAULTS && now > 1 -> faults++; now-- }
#endif
#ifdef F_FLUSH
  :: atomic { faults < FAULTS -> faults++; wipe(hash[master]) }
#endif
#ifdef F_EMPTY
  :: atomic { faults < FAULTS -> faults++; promote(); wipe(hash[master]) }
#endif
#ifdef F_COPY
  :: atomic { faults < FAULTS && copy.b == 0 -> put(copy, hash[master]) }
  :: atomic { faults < FAULTS && copy.b != 0 -> faults++; doubt = 1; put(hash[master], copy) }
  :: atomic { faults < FAULTS -> faults++; doubt = 1; hash[master].kind[watched_pid] = FREE }
#endif
#ifdef F_FAILOVER
  :: atomic { put(copy, hash[master]) }
  :: atomic { faults < FAULTS -> faults++; promote(); put(hash[master], copy) }
#endif
  od
}

init {
  atomic {
    if :: watched_pid = 0 :: watched_pid = 1 fi;
    watched = 1;
    do :: watched < TMAX - 1 -> watched++ :: break od;
#ifdef F_APART
    if :: ahead[0] = 1 :: ahead[1] = 1 :: skip fi;
#endif
    inc[0] = 1;
    hash[0].era = 1; /* initialised */
#ifdef F_COPY
    eras = 1; hash[0].b = 1;
#endif
#ifdef F_FAILOVER
    put(copy, hash[0]);
#endif
    run Holder(0);
#ifdef MIXED
    run Holder(1);
#else
    run Holder(0);
#endif
    run World()
  }
}
