#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the rows of pool.pml, in whatever directory it is called from: "ok" have to hold, "dup" have to find a duplicate ID, or
# what they say can be reached. Wants spin and a C compiler; each row prints a line of TAP. Exits 0 when all are as they should.
model=$(cd "$(dirname "$0")" && pwd)/pool.pml
number=0 failed=0 states=
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# search FLAG…: prints how many errors; "none" where the search did not come to an end.
search() (
    cd "$dir" && rm -f pan* out && ${TIMEOUT:-timeout} 20 spin -a -DTMAX=5 -DLEASES=2 "$@" "$model" >said 2>&1 &&
        ${CC:-cc} -O1 -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -w -o pan pan.c && ${TIMEOUT:-timeout} 120 ./pan -E -m100000 >out 2>&1
    if grep -q 'errors: 1$' out; then
        echo 1
    elif grep -q 'errors: 0$' out && ! grep -q 'Search not completed\|max search depth' out; then
        echo 0
    else
        echo none
    fi
)

# row ok|dup NAME FLAG…
row() {
    want=0 name=$2
    [ "$1" = ok ] || want=1
    shift 2
    got=$(search "$@")
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$dir/out")
    number=$((number + 1))
    if [ "$got" = "$want" ]; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        failed=1
        sed 's/^/# /' "$dir/said" "$dir/out" | head -n 20
    fi
    echo "# errors: $got, states: $states"
}

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
echo "1..$number"
exit $failed
