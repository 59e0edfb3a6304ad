#!/bin/sh
# SPDX-License-Identifier: MIT
# What sets libsfid apart, in ten seconds: two processes with leased pids; one is killed and starts again at once,
# the server forgets everything, then it is gone, and no ID comes twice. `./bootstrap demo` runs this; without it, sfid, worker
# (examples/worker.c) and redis-server or valkey-server have to be in $PATH. It leaves nothing behind.
set -eu
export LC_ALL=C
unset SFID_APP SFID_PID SFID_LAYOUT SFID_STORE
dir=$(mktemp -d)
pids=
trap 'clean_up' EXIT
trap 'exit 130' HUP INT TERM

# The shell would say who was killed; the IDs say more.
exec 9>&2 2>"$dir/said"

clean_up() {
    status=$?
    # shellcheck disable=SC2086 # numbers
    kill -9 $pids 2>/dev/null || :
    rm -rf "$dir"
    exit "$status"
}

fail() {
    echo "demo: $1" >&9
    cat "$dir"/*.log >&9
    exit 1
}

step() { printf '\n== %s\n' "$1"; }
because() { printf '   %s\n' "$1"; }

# within_ten_seconds WHAT COMMAND…
within_ten_seconds() {
    what=$1 left=500
    shift
    until "$@"; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "$what"
        sleep 0.02
    done
}

answers() { "$client" -s "$dir/sock" ping >"$dir/ping" && grep -q PONG "$dir/ping"; }
has_ids() { [ "$(wc -l <"$dir/$1.ids")" -gt "$2" ]; }

# work NAME: starts a worker, whose IDs are in NAME.ids, and sets started.
work() {
    worker orders "$store" >"$dir/$1.ids" 2>"$dir/$1.log" &
    started=$!
    pids="$pids $started"
    within_ten_seconds "$1 generates no ID" has_ids "$1" 0
}

# goes_on NAME PROCESS: shows how many more IDs there are a moment later.
goes_on() {
    before=$(wc -l <"$dir/$1.ids")
    within_ten_seconds "$1 has stopped" has_ids "$1" $((before + 20))
    echo "$2 has generated $(($(wc -l <"$dir/$1.ids") - before)) more IDs"
}

# kill_and_restart PROCESS OLD NEW: early in a second in which OLD has generated an ID.
kill_and_restart() {
    second=$(date +%s)
    until [ "$(date +%s)" -gt "$second" ]; do sleep 0.02; done
    within_ten_seconds "$2 has stopped" has_ids "$2" "$(wc -l <"$dir/$2.ids")"
    kill -9 "$1"
    wait "$1" || : # it has its slot until it is gone
    work "$3"
    { tail -n 1 "$dir/$2.ids"; head -n 1 "$dir/$3.ids"; } | sfid decode --format table
}

server=$(command -v redis-server || command -v valkey-server) || fail "no redis-server and no valkey-server here"
client=${server%-server}-cli
store=unix://$dir/sock
export SFID_RUN_DIR="$dir/run" SFID_STATE_DIR="$dir/state"
"$server" --port 0 --unixsocket "$dir/sock" --dir "$dir" --save '' --appendonly no >"$dir/server.log" 2>&1 &
pids=$!
within_ten_seconds "$server does not start" answers
sfid init --app orders --store "$store" >"$dir/init.log" 2>&1 || fail "sfid init"

step "Two processes, A and B, lease a process ID (pid) each from a Redis server"
work A
a=$started
work B
b=$started
sfid lease ls --app orders --store "$store"
because "An ID is a time, a pid and a sequence number. A and B have different pids, so their IDs differ."

step "A is killed (kill -9) and starts again at once"
kill_and_restart "$a" A A2
a2=$started
because "The last ID before, the first one after: same pid and, in the same second, the next number. Shared memory outlives a process."

step "The server forgets everything (FLUSHALL)"
"$client" -s "$dir/sock" flushall
goes_on A2 A
goes_on B B
because "A lease is good for a window of time. In it A and B need no server; then they show the server their leases."

step "A newcomer asks for a pid"
! sfid gen --app orders --store "$store" --timeout-ms 2000 >"$dir/refused" 2>&1 || fail "a newcomer has an ID"
sed 's/; .*//' "$dir/refused"
because "Until every window that may be open has ended (about 45 s), a newcomer gets an error and no ID."

step "The server stops, and B is killed and starts again"
"$client" -s "$dir/sock" shutdown nosave || :
kill_and_restart "$b" B B2
b2=$started
goes_on A2 A
because "B, too, finds its lease in shared memory. A process that has run for a while goes on for about seven minutes like this."

step "Every ID of A and B, before and after"
kill "$a2" "$b2"
wait "$a2" "$b2" || :
cat "$dir"/*.ids | sort >"$dir/all"
echo "$(wc -l <"$dir/all") IDs, $(uniq -d "$dir/all" | wc -l) of them twice"
because "Where libsfid cannot promise that, a call returns an error."
pids=
[ -z "$(uniq -d "$dir/all")" ]
