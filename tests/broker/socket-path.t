#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# At the path of its unix socket the broker removes what a broker left there, and nothing else.
. "$(dirname "$0")/broker.sh"

path=$TMP/here
# another NAME: a broker with a state of its own and the same path.
another() { mkdir -p "$TMP/$1"; "$BUILD/bin/rgpu-brokerd" --state-dir "$TMP/$1" --socket "$path" --listen 127.0.0.1:0 --munge no --cluster-key ""; }
launch() { start "$1" "$BUILD/bin/rgpu-brokerd" --state-dir "$TMP/state-$1" --socket "$path" --listen 127.0.0.1:0 --munge no --cluster-key ""; }
mkdir "$TMP/state-first" "$TMP/state-second"
ask() { "$BUILD/tests/broker-api" "$path" GET /healthz; }

echo "dear diary" >"$path"
out=$(another a 2>&1) && fail "a file was taken for a socket" || pass "a file at the path is an error"
like "$out" 'something else is there, which is not removed' "which says why"
is "$(cat "$path")" "dear diary" "and the file is as it was"
rm "$path"
ln -s "$TMP/nowhere" "$path"
fails "a symbolic link too" another a
ok "which stays" test -L "$path"
rm "$path"

launch first
first=$PID
await_line first 'is ready'
out=$(another a 2>&1) && fail "another program's socket was taken over" || pass "a socket that somebody listens on is an error"
like "$out" 'another program listens there' "which says so"
ok "and he is still reached" ask
stop "$first" KILL
ok "a broker that is killed leaves its socket" test -S "$path"
launch second
second=$PID
ok "which the next one removes" await_line second 'is ready'
logs "$TMP/second.log" 'left by a program that has ended, removed' "with a line in its log"
ok "and serves there" ask
stop "$second"
fails "one that is told to stop leaves none" test -e "$path"

launch first
first=$PID
await_line first 'is ready'
rm "$path"
echo "somebody's file" >"$path"
stop "$first"
is "$(cat "$path")" "somebody's file" "what took the socket's place meanwhile stays"
done_testing
