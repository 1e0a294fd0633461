#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# RGPU_TRACE shows what the GPU did: each kernel once, under the name of the call that launched it, after that call
# began and before the program knew of its end; copies and sets as well, and what graphs run. A
# client that dies leaves a box that goes on.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
programs=$BUILD/tests/programs
runs() { "$@" >"$TMP/said" 2>"$TMP/err"; }
start_box --devices sim:2

# look FILE: the timeline's GPU events against its calls.
look() { python3 - "$1" <<'PY'
import collections, json, sys
events = json.load(open(sys.argv[1]))
own = next(e["pid"] for e in events if e["name"] == "process_name")
calls = [e for e in events if e["ph"] == "X" and e["pid"] == own and e["cat"] != "wait"]
work = [e for e in events if e["ph"] == "X" and e.get("cat") == "gpu"]
begins = {e["id"]: e for e in events if e["ph"] == "s"}
ends = collections.defaultdict(list)
for e in events:
    if e["ph"] == "f":
        ends[e["id"]].append(e)
last = max(e["ts"] + e["dur"] for e in calls)
launch_of = {}
for call in calls:
    for arrow in begins.values():
        if arrow["tid"] == call["tid"] and arrow["ts"] == call["ts"]:
            launch_of[arrow["id"]] = call
for e in work:
    arrow = "%d.%d" % (own, e["args"]["call"])
    assert e["dur"] >= 0 and e["pid"] != own, e
    call = launch_of[arrow]
    assert any(f["ts"] == e["ts"] and f["pid"] == e["pid"] and f["tid"] == e["tid"] for f in ends[arrow]), e
    assert call["ts"] <= e["ts"] and e["ts"] + e["dur"] <= last, ("outside of its call and the end", call, e)
    if "grid" in e["args"] and call["cat"] == "kernel":
        assert e["name"] == call["args"]["kernel"] and e["args"]["grid"] == call["args"]["grid"], (e, call)
kernels = [e for e in work if "grid" in e["args"]]
launches = [c for c in calls if c["cat"] == "kernel"]
copied = lambda found, way: sum(e["args"]["bytes"] for e in found if way in e["name"])
print("kernels=%d launches=%d" % (sum(launch_of["%d.%d" % (own, e["args"]["call"])]["cat"] == "kernel" for e in kernels),
      len(launches)))
print("to=%d of %d" % (copied(work, "to GPU"), copied([c for c in calls if c["cat"] == "copy"], "HtoD")))
print("sets=%d of %d" % (sum(e["name"] == "set" for e in work), sum("cuMemset" in c["name"] for c in calls)))
print("graphs=%d" % sum("graph" in launch_of["%d.%d" % (own, e["args"]["call"])]["name"].lower() for e in work))
print("streams=%d" % len({(e["pid"], e["tid"]) for e in kernels}))
PY
}
# same TEXT NAME: "NAME=A of A", with A above 0.
same() { [[ $1 =~ $2=([0-9]+)\ (of\ |launches=)([0-9]+) ]] && [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[3]}" ] &&
    [ "${BASH_REMATCH[1]}" -gt 0 ]; }

for transport in shm tcp; do
    trace=$TMP/$transport.json
    ok "$transport: a program with several streams runs" \
        runs on_box RGPU_TRACE="$trace" RGPU_TRANSPORT=$transport "$programs/overlap"
    ok "$transport: what its GPU did lies where its calls allow" runs look "$trace"
    said=$(cat "$TMP/said")
    ok "$transport: each launch has its kernel" same "$said" kernels
    ok "$transport: each byte that was copied to the GPU is in a copy" same "$said" to
    ok "$transport: each set is there" same "$said" sets
    like "$said" 'streams=([2-9]|1[0-9])' "$transport: streams have rows of their own"
    ok "$transport: a program with graphs runs" \
        runs on_box RGPU_TRACE="$TMP/graph.json" RGPU_TRANSPORT=$transport "$programs/graph/graph-repeat"
    runs look "$TMP/graph.json"
    like "$(cat "$TMP/said")" 'graphs=[1-9]' "$transport: what graphs run is there"
done
unlike "$(cat "$BOX_LOG")" 'makes no sense|malformed' "the box and the library understood each other"

start_session traced RGPU_TRACE="$TMP/killed.json"
stop "$PID" KILL
ok "after a client was killed that traced, another one is served" \
    runs on_box RGPU_TRACE="$TMP/after.json" "$programs/overlap"

done_testing
