#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the rows of the models beside it, two at a time, in whatever directory it is called from: "ok" have to hold, "dup" have to
# find a duplicate ID, or what they say can be reached. Wants spin and a C compiler; each row prints a line of TAP. Exits 0 when
# all are as they should.
models=$(cd "$(dirname "$0")" && pwd)
number=0 failed=0 shown=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# search DIRECTORY FLAG…: prints how many errors; "none" where the search did not come to an end.
search() (
    mkdir "$1" && cd "$1" && shift && ${TIMEOUT:-timeout} 60 spin -a "$@" "$models/$model" >said 2>&1 &&
        ${CC:-cc} -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -w -o pan pan.c && ${TIMEOUT:-timeout} 300 ./pan -E -m300000 >out 2>&1
    if grep -q 'errors: 1$' out; then
        echo 1
    elif grep -q 'errors: 0$' out && ! grep -q 'Search not completed\|max search depth' out; then
        echo 0
    else
        echo none
    fi
)

# look NUMBER WANTED NAME FLAG…
look() {
    at=$dir/$1 number=$1 want=$2 name=$3
    shift 3
    got=$(search "$at" "$@")
    if [ "$got" = "$want" ]; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' "$at/said" "$at/out" | head -n 20
    fi
    echo "# errors: $got, states: $(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$at/out")"
}

# Prints what the rows under way have found.
finish() {
    wait
    while [ "$shown" -lt "$number" ]; do
        shown=$((shown + 1))
        cat "$dir/$shown.tap"
        grep -q '^not ok' "$dir/$shown.tap" && failed=1
        rm -rf "${dir:?}/$shown"
    done
}

# row ok|dup NAME FLAG…
row() {
    want=0 name=$2
    [ "$1" = ok ] || want=1
    shift 2
    number=$((number + 1))
    # shellcheck disable=SC2086 # several words
    look "$number" "$want" "$name" $size "$@" >"$dir/$number.tap" &
    [ $((number % 2)) -ne 0 ] || finish
}

model=pool.pml size="-DTMAX=5 -DLEASES=2"
R="-DPAIR=REORDER" A="-DPAIR=ADDED" D="-DPAIR=REMOVED" M="-DPAIR=MOVED"
row dup "reachable: leases from two servers, one after the other" -DREACH_TURN
row dup "reachable: a holder goes on with a server that has forgotten it" -DF_FLUSH -DREACH_BACK
row dup "reachable: after an init the second configuration is used" $R -DF_INIT -DREACH_OTHER
row ok "no faults"
row ok "a server forgets, or an empty one takes its place" -DF_FLUSH
row ok "a server restarts from an old copy" -DF_OLD
row ok "crashes and lost answers" -DF_CRASH -DF_LOSS
row ok "init of one server while others go on" -DF_INIT
row ok "two configurations, reordered; a server forgets" $R -DF_FLUSH
row ok "two configurations, a range moved; a server forgets" $M -DF_FLUSH
row dup "ranges overlap" -DPAIR=OVERLAP
row dup "reordered, nothing recorded" $R -DLAY=0
row dup "reordered, the pool's ranges recorded but not whose is which" $R -DLAY=1
row dup "added, nothing recorded, and a claim tells the new server" $A -DLAY=0 -DBEGIN
row dup "removed, nothing recorded" $D -DLAY=0
row dup "addresses exchanged, nothing recorded" -DF_SWAP -DLAY=0
row dup "reordered, a server forgets, and a claim tells it anew" $R -DF_FLUSH -DBEGIN
row dup "a range moved, and a claim tells the new server" $M -DBEGIN
row dup "a slot file of another configuration is gone on with" $R -DF_RECONF -DF_FLUSH -DNO_PAGE -DFAULTS=2
row dup "an empty server, claims do not wait for q" -DF_FLUSH -DBEGIN -DNO_Q
row ok "an empty server, claims tell it anew and wait for q" -DF_FLUSH -DBEGIN
row dup "restarts are not noticed on one server" -DF_OLD -DNO_ERA
row dup "init though pids are held (assumption broken)" -DF_LIE
row dup "the pool changed though pids are held (assumption broken)" $R -DF_LIE

# What the store does: a user for each range, claims tell a server that has forgotten, and no server records its range.
size="$size -DUSERS -DBEGIN -DLAY=0"
row dup "users; reachable: after a change the second configuration is used" $R -DF_CHANGE -DREACH_OTHER
row ok "users; a server forgets" -DF_FLUSH
row ok "users; a server restarts from an old copy" -DF_OLD
row ok "users; addresses exchanged, a server forgets (2 faults)" -DF_SWAP -DF_FLUSH -DFAULTS=2
row ok "users; two configurations, reordered; a server forgets" $R -DF_FLUSH
row ok "users; two configurations, a range moved; a server forgets" $M -DF_FLUSH
row ok "users; changed while processes run: added" $A -DF_CHANGE
row ok "users; changed while processes run: removed" $D -DF_CHANGE
row ok "users; changed while processes run: reordered, a server forgets" $R -DF_CHANGE -DF_FLUSH
row ok "users; changed while processes run: moved, addresses exchanged" $M -DF_CHANGE -DF_SWAP
row dup "users; changed, the user kept" $R -DF_CHANGE -DSAME_USER
row dup "users; changed, the app not deleted" $D -DF_CHANGE -DKEEP_APP
row dup "users; changed, a pid given to a server before its old one has lost it" $D -DF_CHANGE -DNEW_FIRST
size="-DTMAX=7 -DLEASES=2 -DUSERS -DBEGIN -DLAY=0"
row dup "users; changed, clocks 2 ticks apart, S 0" $D -DF_CHANGE -DF_OFF
row ok "users; changed, clocks 2 ticks apart, S 2" $D -DF_CHANGE -DF_OFF -DS=2
size="-DTMAX=5 -DLEASES=2 -DBEGIN"
row dup "one user; addresses exchanged and back, a server forgets (3 faults)" -DF_SWAP -DF_FLUSH -DFAULTS=3

model=newcomer.pml size="-DTMAX=5 -DLEASES=3"
row dup "newcomers; reachable: the short pid is used while the ordinary one waits" -DF_FLUSH -DREACH_SHORT
row dup "newcomers; reachable: a holder that was moved issues" -DF_FLUSH -DREACH_MOVED
row ok "newcomers; no faults"
row ok "newcomers; a server forgets" -DF_FLUSH
row dup "newcomers; ordinary pids wait for w + S only" -DF_FLUSH -DNO_Q0
row dup "newcomers; short pids do not wait" -DF_FLUSH -DNO_Q1
row dup "newcomers; a limit shown is not compared with g" -DF_FLUSH -DNO_G
row dup "newcomers; short pids are granted W" -DF_FLUSH -DLONG_CLAIM
row dup "newcomers; short pids are renewed by W" -DF_FLUSH -DLONG_RENEWAL
row dup "newcomers; a move does not wait for q" -DF_FLUSH -DMOVE_EARLY
row dup "newcomers; a move writes the short pid as released" -DF_FLUSH -DMOVE_RELEASES
row ok "newcomers; two settings, nothing forgotten" -DMIXED
row dup "newcomers; two settings, not recorded" -DF_FLUSH -DMIXED -DNO_LAY
size="-DTMAX=5 -DLEASES=2"
row ok "newcomers; a server forgets twice" -DF_FLUSH -DFAULTS=2
row ok "newcomers; a server forgets, renewals after releases" -DF_FLUSH -DF_LATE
row ok "newcomers; a server forgets, lost answers, a crash (2 faults)" -DF_FLUSH -DF_LOSS -DF_CRASH -DFAULTS=2
row ok "newcomers; an empty server takes over, the former one goes on" -DF_EMPTY -DF_SPLIT
size="-DTMAX=5 -DLEASES=2 -DW=2"
row ok "newcomers; a failover" -DF_FAILOVER
size="-DTMAX=4 -DLEASES=2 -DW=2"
row ok "newcomers; a failover, the former master goes on" -DF_FAILOVER -DF_SPLIT
row ok "newcomers; a failover and a flush" -DF_FAILOVER -DF_FLUSH -DFAULTS=2
row ok "newcomers; an old copy comes back, or a record is deleted" -DF_COPY
row dup "newcomers; the same, and who knows better begins no era" -DF_COPY -DNO_WITNESS
row dup "newcomers; the same, and a record that is gone begins none" -DF_COPY -DNO_DAMAGE
size="-DTMAX=7 -DLEASES=2"
row dup "newcomers; two settings, forgotten twice (assumption broken)" -DF_FLUSH -DMIXED -DFAULTS=2
size="-DTMAX=6 -DLEASES=2 -DW=2"
row dup "newcomers; an empty server with its clock a tick apart, S 0" -DF_EMPTY -DF_APART
row ok "newcomers; the same and a split, S 1" -DF_EMPTY -DF_APART -DF_SPLIT -DS=1
row ok "newcomers; a server forgets, its clock is set back, S 1 (2 faults)" -DF_FLUSH -DF_BACK -DFAULTS=2 -DS=1

model=share.pml size=
row ok "processes share a page, beside one that does not"
row dup "shared; the kind of a lock changes outside the door" -DCONV=0
model=marks.pml
row ok "a keeper is late, each with a seat of its own"
row dup "a keeper is late, both on one seat" -DSEATS=1
model=alive.pml
row ok "a thread's life: never two, none stays with the dead"
row dup "a thread's life: noted after the take" -DNOTE_LATE=1
row dup "a thread's life: forgotten before the word is left" -DFORGET_EARLY=1
row dup "a thread's life: looked at and stored" -DLOOK_ONLY=1
row dup "a thread's life, one number in two namespaces; reachable: two at once" -DSAME=1
row ok "a thread's life, one number in two namespaces: one of them counts" -DSAME=1 -DCOUNTS=1
model=ends.pml
row ok "ends; the server loses its record"
row ok "ends; it loses it twice" -DFLUSHES=2
row ok "ends; it loses it, and the operator says that nobody runs" -DINIT=1
row dup "ends; reachable: the next life goes on with what a close left" -DREACH
row dup "ends; the slot is left before the release" -DLOCK_FIRST
row dup "ends; what is left stays set while the release is under way" -DSET_AFTER
row dup "ends; no answer counts as nothing written" -DTIMEOUT_IS_GONE
row dup "ends; the release is sent without a question; reachable: a server that is away costs the pid" -DNO_QUESTION
row dup "ends; a life goes on unasked, and the operator says that nobody runs" -DINIT=1 -DUNASKED
model=look.pml
row ok "one look a tick"
row ok "one look a tick; more calls, the record stays" -DCALLS=8 -DCLOSES=0
row ok "one look a tick; three threads, the record stays" -DK=3 -DCALLS=3 -DCLOSES=0
row dup "one look a tick; reachable: more adds fail than there are threads" -DCLOSES=0 -DREACH
row dup "one look a tick; a call that fails leaves word_tick" -DCALLS=8 -DCLOSES=0 -DNO_CLEAR
row dup "one look a tick; the tick is not compared after the add" -DNO_CHECK
finish
echo "1..$number"
exit $failed
