#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/apps/run: the same applications natively and through a box, and a table that tells the truth.
. "$(dirname "$0")/../lib.sh"
mkdir "$TMP/native"
ln -s "$BUILD/lib/libcuda-sim.so" "$TMP/native/libcuda.so.1"
export LD_LIBRARY_PATH=$TMP/native

cat >"$TMP/list" <<END
# a comment
good     "$BUILD/tests/programs/saxpy" && echo "time: one thing: 12.5"
away     exit 77
wrong    echo "ok: this"; echo "WRONG: that"; exit 1
remote   [ -z "\$RGPU_BOXES\$RGPU_TRANSPORT" ] || { echo "no GPU here"; exit 3; }
endless  exec sleep 1000
END
run() { "$TOP/bench/apps/run" --build "$BUILD" --devices sim:1 --list "$TMP/list" "$@" >"$TMP/out" 2>"$TMP/err"; }

ok "what passes everywhere is a success" run --only good --only away
like "$(cat "$TMP/out")" '^\| good \| passed, .* s \| passed, .* s \| passed, .* s \|$' "in each column"
like "$(cat "$TMP/out")" 'one thing, ms \| 12.5 \| 12.5 \(1.00\) \| 12.5 \(1.00\)' "its figures have ratios"
like "$(cat "$TMP/out")" 'tcp: 1 passed, 0 failed, 1 not installed' "what is not installed is left out"
ok "what fails natively too is not a box's fault" run --only wrong --transports shm
like "$(cat "$TMP/out")" '^- wrong: that$' "but it is named, with what was wrong"
fails "what fails through a box only is a failure" \
    run --only remote --jobs 2 --transports tcp --output "$TMP/lines" --details "$TMP/details"
like "$(cat "$TMP/out")" '^- remote: status 3: no GPU here$' "with its last words"
statuses='import json, sys
for run in map(json.loads, sys.stdin):
    if run["app"] == "remote":
        print(run["column"], run["status"])'
is "$(python3 -c "$statuses" <"$TMP/lines" | sort | tr '\n' ,)" \
    "native 0,tcp 3," "a line of JSON for each run"
is "$(cat "$TMP/details/remote.tcp.txt")" "no GPU here" "and all that it said"
fails "what does not end is ended" run --only endless --no-native --transports shm --limit 1
like "$(cat "$TMP/out")" '^- endless: status time limit' "and said so"
cat >>"$TMP/list" <<END
same     echo "result 4"; echo "took 1 ms"
other    echo "result \${RGPU_TRANSPORT:-4}"; [ -n "\$RGPU_TRANSPORT" ] || echo "took 1 ms"
random   echo "\$\$"
END
ok "with --compare, lines that change from run to run may differ" run --compare --only same --only random
like "$(cat "$TMP/out")" '^2 that pass natively, too: together .* s, natively .* \(.*\); worst ' "and times are summed"
fails "what both native runs print must be printed through a box" run --compare --only other --transports tcp
like "$(cat "$TMP/out")" '^- other: status 0, did not print: result 4$' "the line is named"
fails "a comparison without native runs is refused" run --compare --no-native
fails "a pattern that names nothing is refused" run --only nothing
echo "alone" >"$TMP/list"
fails "and a line without a command" run
like "$(cat "$TMP/err")" 'list:1: no command' "by its place"
done_testing
