/* SPDX-License-Identifier: MIT */
/*
 * pool.pml - pids leased from a pool of independent servers, each of which lends a range of its own: doc/pool.md. run.sh
 * beside this file has the rows.
 *
 * Two servers, two pids, ticks 1 to TMAX. A slot is a lease in the hands of some process: who holds leases from two servers,
 * in turn or at once, is two slots. It may issue any tick of its window at any later time, which stands for pauses, slow
 * networks and the clocks of hosts. One tick of one pid is watched, any: another lease that issues it makes a duplicate ID.
 *
 * A configuration tells which pids are lent at which address. Processes of two configurations run side by side (PAIR):
 *   ONE      no second one: pid 0 is lent at address 0, pid 1 at 1       OVERLAP  the same, but pid 0 lent at both
 *   REORDER  the second exchanges the ranges                             ADDED    address 1 is new, and takes half of 0's
 *   REMOVED  the other way about                                         MOVED    the range is lent at 1 instead of 0
 * What happens: F_FLUSH a server loses everything, or an empty one takes its place; F_OLD server 1 restarts from an older copy of
 * itself; F_SWAP the addresses lead to the other server, for all; F_CRASH a process dies and its slot file with it; F_LOSS
 * answers are lost; F_RECONF a process is restarted, its slot file there, with the other configuration; F_INIT `sfid init`
 * of a server where what it says is true, F_LIE where it need not be; F_OFF the servers' clocks are 2 ticks apart; F_CHANGE the
 * pool gets its second configuration while processes run: each server loses its old user, then the app is deleted and the new
 * user made.
 *
 * USERS: each range has a user of its own, which only the server that lends it knows, whatever becomes of the data. A process
 * that comes to another server is not let in, and a claim may begin the record of an app (BEGIN).
 *
 * Rules to leave out: LAY (2: the server records its own range and refuses whoever shows another; 1: it records which ranges
 * the pool has, not which is its own; 0: nothing); BEGIN (a claim may begin the record of an app that a server does not know);
 * NO_PAGE (a slot file of another configuration is gone on with); NO_Q, NO_G, NO_ERA (the rules of doc/protocol.md) on server
 * 1 alone. FORGET_LAY adds one: a server that was restarted forgets what it has recorded of the pool, too. Of a change:
 * NEW_FIRST (a server gets its new user while others still have the old one), KEEP_APP (the app is not deleted), SAME_USER (the
 * user stays when the range changes). S is how far servers' clocks may differ.
 */
#define ONE 0
#define OVERLAP 1
#define REORDER 2
#define ADDED 3
#define REMOVED 4
#define MOVED 5
#ifndef PAIR
#define PAIR ONE
#endif
#ifndef LAY
#define LAY 2
#endif
#ifndef TMAX
#define TMAX 6
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef LEASES
#define LEASES 3
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef S
#define S 0
#endif
#define W 2
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* Of an app on a server. lay 0: not known; old: as of before a restart. Of each pid: kind 0 no record, 1 held, 2 given back. */
typedef App { byte lay, old, q, g; byte kind[2], tok[2], lim[2] };
typedef Slot { byte tok, cfg, at, nr, lo, lim, issued };

App app[2];
#ifdef F_OLD
App copy; /* of server 1, taken once */
bool taken = 0;
#endif
byte off[2];    /* of the servers' clocks */
byte users[2];  /* whose range a server has the user of: 1 + configuration; 0: it has none */
byte leads = 0; /* address a leads to server a ^ leads */
Slot slot[SLOTS];
byte watched_pid, watched, owner = 0; /* the lease that issued it */
byte now = 1, leases = 0, faults = 0;
#ifdef F_INIT
bool done = 0; /* once is enough */
#endif

#define CLOCK(s) (now + off[s])
#define BIT(p) (1 + (p))

/* Is somebody let in who comes to server s for the range of address a in configuration c? */
#if defined(USERS) && !defined(SAME_USER)
#define LET_IN(s, c, a) (users[s] == 1 + (c) && (s) == (a))
#else
#define LET_IN(s, c, a) true
#endif

/* The pids lent at an address, as bits. */
#if PAIR == ONE
#define RANGE(c, a) (1 + (a))
#elif PAIR == OVERLAP
#define RANGE(c, a) 1
#elif PAIR == REORDER
#define RANGE(c, a) (1 + ((a) ^ (c)))
#elif PAIR == ADDED
#define RANGE(c, a) ((c) -> 1 + (a) : 3 * (1 - (a)))
#elif PAIR == REMOVED
#define RANGE(c, a) ((c) -> 3 * (1 - (a)) : 1 + (a))
#elif PAIR == MOVED
#define RANGE(c, a) ((c) == (a) -> 1 : 0)
#endif

/* What a server records of the pool: never 0. */
#if LAY == 2
#define SHOWN(c, a) (1 + RANGE(c, a))
#elif LAY == 1 && (PAIR == ADDED || PAIR == REMOVED)
#define SHOWN(c, a) (1 + (c))
#else
#define SHOWN(c, a) 1
#endif

#ifdef NO_Q
#define WAITED(s) (s == 1 || CLOCK(s) >= app[s].q)
#else
#define WAITED(s) (CLOCK(s) >= app[s].q)
#endif
#ifdef NO_G
#define SHOWS(s, l) (s == 1 || (l) >= app[s].g)
#define SHOWS_FROM_NOW(s, l) (s == 1 || (l) > CLOCK(s))
#else
#define SHOWS(s, l) ((l) >= app[s].g)
#define SHOWS_FROM_NOW(s, l) ((l) > CLOCK(s))
#endif
#ifdef NO_ERA
#define OLD_ERA(s) (s == 0 && app[s].old)
#else
#define OLD_ERA(s) (app[s].old)
#endif

inline clear(d) {
  d.lay = 0; d.old = 0; d.q = 0; d.g = 0;
  d.kind[0] = 0; d.tok[0] = 0; d.lim[0] = 0; d.kind[1] = 0; d.tok[1] = 0; d.lim[1] = 0
}
inline put(d, x) {
  d.lay = x.lay; d.old = x.old; d.q = x.q; d.g = x.g;
  d.kind[0] = x.kind[0]; d.tok[0] = x.tok[0]; d.lim[0] = x.lim[0];
  d.kind[1] = x.kind[1]; d.tok[1] = x.tok[1]; d.lim[1] = x.lim[1]
}
inline begin(s, shown) {
  clear(app[s]);
  app[s].lay = shown; app[s].q = CLOCK(s) + W + S + 1; app[s].g = CLOCK(s) + S + 1
}

/* A restarted server forgets who holds what, but, unless FORGET_LAY, not what it lends. */
inline notice(s) {
  if
  :: app[s].lay != 0 && OLD_ERA(s) ->
#ifdef FORGET_LAY
     clear(app[s])
#else
     begin(s, app[s].lay)
#endif
  :: else
  fi
}

#define FREE(s, p) (app[s].kind[p] == 0 && WAITED(s))
#define LEFT(s, p) (app[s].kind[p] == 2 && app[s].lim[p] <= CLOCK(s) + 1)
#define OVER(s, p) (app[s].kind[p] == 1 && app[s].lim[p] <= CLOCK(s) && WAITED(s))

inline drop(i) {
  slot[i].tok = 0; slot[i].cfg = 0; slot[i].at = 0; slot[i].nr = 0; slot[i].lo = 0; slot[i].lim = 0; slot[i].issued = 0
}

proctype Lease(byte i) {
  byte s, a, c, p, t;
  do
  :: atomic { slot[i].tok == 0 && leases < LEASES ->                                    /* claim */
       if :: a = 0 :: a = 1 fi;
#if PAIR > OVERLAP
       if :: c = 0 :: c = 1 fi;
#endif
       if :: RANGE(c, a) & 1 -> p = 0 :: RANGE(c, a) & 2 -> p = 1 :: else -> a = 2 fi;
       if
       :: a < 2 && LET_IN(a ^ leads, c, a) ->
          s = a ^ leads;
          notice(s);
#ifdef BEGIN
          if :: app[s].lay == 0 -> begin(s, SHOWN(c, a)) :: else fi;
#endif
          if
          :: app[s].lay == SHOWN(c, a) && CLOCK(s) < TMAX && (FREE(s, p) || LEFT(s, p) || OVER(s, p)) ->
             leases++;
             slot[i].tok = leases; slot[i].cfg = c; slot[i].at = a; slot[i].nr = p;
             slot[i].lo = (app[s].kind[p] == 2 -> MAX(CLOCK(s), app[s].lim[p]) : CLOCK(s));
             slot[i].lim = MIN(CLOCK(s) + W, TMAX + 1);
             app[s].kind[p] = 1; app[s].tok[p] = leases; app[s].lim[p] = slot[i].lim
          :: else
          fi
       :: else
       fi;
       s = 0; a = 0; c = 0; p = 0 }
#define KNOWN LET_IN(slot[i].at ^ leads, slot[i].cfg, slot[i].at)
  :: atomic { slot[i].tok != 0 && KNOWN ->                                              /* renew; refused: use it up, or drop it */
       p = slot[i].nr; s = slot[i].at ^ leads;
       notice(s);
       if
       :: app[s].lay == 0 && SHOWS_FROM_NOW(s, slot[i].lim) -> begin(s, SHOWN(slot[i].cfg, slot[i].at))
       :: else
       fi;
       if
       :: app[s].lay == SHOWN(slot[i].cfg, slot[i].at) &&
          ((app[s].kind[p] == 0 && SHOWS(s, slot[i].lim)) || (app[s].kind[p] == 1 && app[s].tok[p] == slot[i].tok)) ->
#ifdef REACH_BACK /* a holder goes on with a server that has forgotten it */
          assert(app[s].kind[p] != 0);
#endif
          t = MAX(MIN(CLOCK(s) + W, TMAX + 1), slot[i].lim);
          if :: app[s].kind[p] == 1 -> t = MAX(t, app[s].lim[p]) :: else fi;
          app[s].kind[p] = 1; app[s].tok[p] = slot[i].tok; app[s].lim[p] = t;
          if
          :: slot[i].lim = t
#ifdef F_LOSS
          :: skip /* the answer is lost */
#endif
          fi
       :: else -> if :: drop(i) :: skip fi
       fi;
       s = 0; p = 0; t = 0 }
  :: atomic { slot[i].tok != 0 && slot[i].nr == watched_pid && slot[i].lo <= watched && watched < slot[i].lim ->
       assert(owner == 0 || owner == slot[i].tok);                                      /* issue */
       owner = slot[i].tok; slot[i].issued = 1;
#ifdef REACH_TURN /* a pid of the second server is used after one of the first is */
       assert(!(watched_pid == 1 && slot[i].tok == 2 && slot[1 - i].tok == 1));
#endif
#ifdef REACH_OTHER /* pids are lent by the second configuration, after an init */
       assert(!(slot[i].cfg == 1 && slot[i].at == 1));
#endif
       skip }
  :: atomic { slot[i].tok != 0 && !KNOWN -> drop(i) }                                   /* or it uses up its window */
  :: atomic { slot[i].tok != 0 && KNOWN ->                                              /* release: sent once, nothing issued after */
       p = slot[i].nr; s = slot[i].at ^ leads;
       notice(s);
       if
       :: app[s].lay == SHOWN(slot[i].cfg, slot[i].at) && app[s].kind[p] == 1 && app[s].tok[p] == slot[i].tok ->
          t = (slot[i].issued -> watched + 1 : slot[i].lo);
          do :: t < slot[i].lim -> t++ :: break od;
          app[s].kind[p] = 2; app[s].tok[p] = 0; app[s].lim[p] = t
       :: else
       fi;
       drop(i); s = 0; p = 0; t = 0 }
#ifdef F_CRASH
  :: atomic { slot[i].tok != 0 && faults < FAULTS -> faults++; drop(i) }
#endif
#ifdef F_RECONF
  :: atomic { slot[i].tok != 0 && faults < FAULTS -> faults++;
#ifdef NO_PAGE
       slot[i].cfg = 1 - slot[i].cfg; p = slot[i].nr;
       if /* asked where its pid is lent now */
       :: RANGE(slot[i].cfg, 0) & BIT(p) -> slot[i].at = 0
       :: RANGE(slot[i].cfg, 1) & BIT(p) -> slot[i].at = 1
       :: else -> drop(i)
       fi;
       p = 0
#else
       drop(i)
#endif
     }
#endif
  od
}

/* Does slot i stand against saying that nobody holds a pid of a range, nor runs with another configuration? */
#define AGAINST(i, c, range) (slot[i].tok != 0 && (slot[i].cfg != c || ((range) & BIT(slot[i].nr))))
#if SLOTS == 2
#define ANY_AGAINST(c, range) (AGAINST(0, c, range) || AGAINST(1, c, range))
#else
#define ANY_AGAINST(c, range) (AGAINST(0, c, range) || AGAINST(1, c, range) || AGAINST(2, c, range))
#endif
/* Of the ticks from now on, one was issued already. */
#define BEGUN(range) (owner != 0 && watched >= now && ((range) & BIT(watched_pid)))

inline init_server(where, which) { /* spin would put a name into itself for ever, if these were a and c */
  s = (where) ^ leads;
  begin(s, SHOWN(which, where));
  app[s].q = 0
}

proctype World() {
  byte s, a, c;
#ifdef F_CHANGE
  byte step = 0;
#endif
  do
  :: atomic { now < TMAX -> now++ }
#ifdef F_CHANGE
#ifdef NEW_FIRST
  :: atomic { step < 2 -> clear(app[step]); users[step] = 2; step++ }
#else
  :: atomic { step < 2 -> users[step] = 0; step++ }
  :: atomic { step >= 2 && step < 4 ->
#ifndef KEEP_APP
       clear(app[step - 2]);
#endif
       users[step - 2] = 2; step++ }
#endif
#endif
#ifdef F_FLUSH
  :: atomic { faults < FAULTS -> faults++; if :: s = 0 :: s = 1 fi; clear(app[s]); s = 0 }
#endif
#ifdef F_OLD
  :: atomic { !taken -> taken = 1; put(copy, app[1]) }
  :: atomic { faults < FAULTS -> faults++; put(app[1], copy); app[1].old = (app[1].lay -> 1 : 0) }
#endif
#ifdef F_SWAP
  :: atomic { faults < FAULTS -> faults++; leads = 1 - leads }
#endif
#ifdef F_INIT /* of one server; nobody holds one of its pids, or runs with another configuration */
  :: atomic { !done -> if :: a = 0 :: a = 1 fi;
#if PAIR > OVERLAP
       c = 1;
#endif
       if
       :: RANGE(c, a) == 0 -> skip
       :: RANGE(c, a) != 0 && !ANY_AGAINST(c, RANGE(c, a)) && now < TMAX && !BEGUN(RANGE(c, a)) ->
#if PAIR > OVERLAP /* and every other one is told the same, or is known to be out of use */
          init_server(1 - a, c);
#endif
          init_server(a, c); done = 1
       :: else
       fi;
       s = 0; a = 0; c = 0 }
#endif
#ifdef F_LIE
  :: atomic { faults < FAULTS && PAIR <= OVERLAP -> faults++; if :: a = 0 :: a = 1 fi; init_server(a, 0); s = 0; a = 0 }
  :: atomic { faults < FAULTS && PAIR > OVERLAP -> faults++; init_server(0, 1); init_server(1, 1); s = 0 }
#endif
  od
}

init {
  byte s, a;
  atomic {
    if :: watched_pid = 0 :: watched_pid = 1 fi;
    watched = 1;
    do :: watched < TMAX -> watched++ :: break od;
#ifdef F_OFF
    off[1] = 2;
#endif
    users[0] = 1; users[1] = 1;
    /* Initialised with the first configuration. */
    if :: RANGE(0, 0) -> init_server(0, 0) :: else fi;
    if :: RANGE(0, 1) -> init_server(1, 0) :: else fi;
#ifdef F_OLD
    put(copy, app[1]);
#endif
    s = 0;
    do :: a < SLOTS -> run Lease(a); a++ :: else -> break od;
    a = 0;
    run World()
  }
}
