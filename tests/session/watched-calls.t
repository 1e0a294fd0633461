#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program can be watched without a change of it: RGPU_STATS, RGPU_TRACE and RGPU_LOG=debug. What ends it
# is told without any of them.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
programs=$BUILD/tests/programs
start_box

# row CALL: its line in the summary, blanks squeezed.
row() { sed -n "s/^rgpu: *\($1 .*\)/\1/p" "$TMP/err" | tr -s ' '; }
runs() { "$@" >"$TMP/out" 2>"$TMP/err"; }
field() { cut -d' ' -f"$2" <<<"$(row "$1")"; }

ok "a program runs" runs on_box "$programs/saxpy"
is "$(grep -vc '^#' "$TMP/err" || true)" 0 "and says nothing of itself if nobody asks"

for transport in shm tcp; do
    ok "a program runs with RGPU_STATS over $transport" \
        runs on_box RGPU_STATS=1 RGPU_TRANSPORT=$transport "$programs/copies"
    summary=$(cat "$TMP/err")
    like "$summary" "rgpu: summary of process [0-9]+ \(copies\), which ran for [0-9.]+ s" "$transport: whose summary it is"
    like "$(row cuInit)" '^cuInit 1 0 [0-9]+ [0-9.]+ [0-9.]+ [0-9.]+$' "$transport: a call, its number and its times"
    like "$summary" 'waited for the GPU: [0-9.]+ s, [0-9]+ times' "$transport: how long it waited for the GPU"
    like "$summary" 'waited for an answer: [0-9.]+ s, [0-9]+ times, the shortest [0-9.]+ us' "$transport: and for the box"
    like "$summary" 'copied to the GPU: [1-9][0-9]* bytes in [0-9]+ copies' "$transport: bytes to the GPU"
    like "$summary" 'copied from the GPU: [1-9][0-9]* bytes' "$transport: and back"
    like "$summary" "box .*, session [0-9]+, over $transport \(.*\): [1-9][0-9]* bytes sent on the link" \
        "$transport: the transport, why, and what went over it"
done
# most CALL NUMBER: the box was asked at most so often.
most() { [ "$(field "$1" 2)" -ge 300 ] && [ "$(field "$1" 4)" -le "$2" ]; }
ok "a program asks of functions again and again" runs on_box RGPU_STATS=1 RGPU_TRANSPORT=tcp "$programs/asked-again"
ok "of occupancy it hears without asking the box again" most cuOccupancyMaxActiveBlocksPerMultiprocessor 4
ok "of limits too" most cuCtxGetLimit 8
ok "of attributes too" most cuFuncGetAttribute 12
ok "and what has a value already is not set again" most cuFuncSetAttribute 7
ok "nor that of a kernel" most cuKernelSetAttribute 2

ok "one that gets errors" runs on_box RGPU_STATS=1 "$programs/refusals"
[ "$(awk '/^rgpu:   cu/ { failed += $4 } END { print failed }' "$TMP/err")" -gt 5 ] && pass "its failed calls are counted" ||
    fail "its failed calls are counted"
runs on_box RGPU_STATS=1 "$programs/threads" || true
like "$(cat "$TMP/err")" 'summary of process [0-9]+ \(threads\)' "a program of many threads has one summary"
ok "a program that forks" runs on_box RGPU_STATS=1 "$programs/forks"
is "$(grep -c 'summary of process' "$TMP/err")" 2 "gives one for each process that had a GPU, and none for others"

# What the timeline holds, as Python reads it: N events of calls, of kernels, ...
timeline() { python3 - "$1" <<'PY'
import collections, json, sys
text = open(sys.argv[1]).read()
events = json.loads(text if text.rstrip().endswith("]") else text + "]")
kinds = collections.Counter(e.get("cat", "meta") for e in events)
print(" ".join("%s=%d" % item for item in sorted(kinds.items())))
for e in events:
    if e["ph"] == "X":
        assert e["dur"] >= 0 and e["ts"] > 0 and e["pid"] > 0 and e["tid"] > 0, e
kernels = {e["args"]["kernel"] for e in events if e.get("cat") == "kernel"}
print("kernels", *sorted(kernels))
by_thread = collections.defaultdict(list)
for e in events:
    if e["ph"] == "X" and e["cat"] not in ("wait", "gpu"):
        by_thread[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
for spans in by_thread.values():
    spans.sort()
    assert all(a[1] <= b[0] + 0.01 for a, b in zip(spans, spans[1:])), "calls of one thread overlap"
PY
}
ok "a program runs with RGPU_TRACE" runs on_box RGPU_TRACE="$TMP/trace-%p.json" "$programs/saxpy"
trace=$(echo "$TMP"/trace-[0-9]*.json)
out=$(timeline "$trace")
like "$out" 'call=[1-9][0-9]* copy=[1-9][0-9]* gpu=[1-9][0-9]* kernel=[1-9][0-9]* meta=[1-9] wait=[1-9]' "the timeline has calls, copies, kernels and waits"
like "$out" 'kernels .*saxpy' "and the kernels' names"
ok "over many threads as well" runs on_box RGPU_TRACE="$TMP/many.json" "$programs/threads"
like "$(timeline "$TMP/many.json")" 'call=[1-9]' "it can be read"

kept=$TMP/kept.json
start_session killed RGPU_TRACE="$kept"
killed=$PID
ok "a second process, while the first one writes there" runs on_box RGPU_TRACE="$kept" "$programs/saxpy"
like "$(timeline "$kept".[0-9]*)" 'kernel=[1-9]' "has a file of its own"
stop "$killed" KILL
ok "what a killed process has written can be read" timeline "$kept"
ok "a timeline that cannot be written" runs on_box RGPU_TRACE=/nowhere/trace.json "$programs/saxpy"
like "$(cat "$TMP/err")" 'rgpu: RGPU_TRACE: cannot write /nowhere/trace.json: No such file' "is told, and the program runs"
ok "a full disk" runs on_box RGPU_TRACE=/dev/full "$programs/saxpy"
like "$(cat "$TMP/err")" 'rgpu: RGPU_TRACE: .*No space left on device' "is told, too"

ok "RGPU_LOG=debug" runs on_box RGPU_LOG=debug "$programs/refusals"
like "$(cat "$TMP/err")" 'call failed name=cu[A-Za-z0-9_]+ result=[0-9]+' "names each call that failed"

# What ends a program's GPUs.
start_session lost RGPU_STATS=0
worker=$(workers | head -n 1)
for worker in $(workers); do kill -KILL "$worker"; done
await_line lost '^sticky'
told() { grep -c 'rgpu: the session with box .* is lost: .* start it again' "$TMP/lost.log"; }
is "$(told)" 1 "a program whose session is lost is told so, once, with what to do"
start_session silent RGPU_LOG=off
for worker in $(workers); do kill -KILL "$worker"; done
await_line silent '^sticky'
is "$(grep -vc '^#' "$TMP/silent.log" || true)" 0 "RGPU_LOG=off silences that"
done_testing
