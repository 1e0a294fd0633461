#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The lists and `rgpuctl top` show what one asks for: filters, order, columns, users by name, whatever the width.
. "$(dirname "$0")/broker.sh"

start_broker
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
PYTHONPATH=$TOP/tests/broker start fake python3 -c '
import sys, pool
boxes = [pool.FakeBox(sys.argv[1], name, gpus=4, shared=1) for name in ("gpubox-with-a-long-name01", "gpubox-with-a-long-name02", "small")]
for gpu in boxes[0].gpus + boxes[1].gpus:
    gpu["model"] = "NVIDIA H200 with 141 GB HBM3e"
for box in boxes: box.start()
for box in boxes: box.ready.wait()
api = pool.Api(sys.argv[1])
def take(owner, job, **request):
    lease = api.call("POST", "/v1/leases", {"owner": owner, "job": job, "queue": True, "ticket": True, "request": request})["lease"]
    if lease["gpus"]:
        next(box for box in boxes if box.name == lease["gpus"][0]["box"]).open_session(lease["id"])
api.call("POST", "/v1/gpus/gpubox-with-a-long-name02:1/drain", {"reason": "a long story about a fan that rattles whenever it is warm"})
take(1, "train a network of many layers", model="*H200*", box="*01", gpus=[{"count": 2}])
take(2, "solve", box="small", gpus=[{"count": 3}])
take(1, "wait", model="*H200*", box="*02", same_box=True, gpus=[{"count": 3}])
take(2, "later", box="small", gpus=[{"count": 1}])
print("here", flush=True)
boxes[0].join()' "$BROKER_SOCKET"
await_line fake here
one=$(id -nu 1) two=$(id -nu 2)
sessions_are() { [ "$("$ctl" sessions --json | wc -l)" = "$1" ]; }
await "the sessions" sessions_are 2

# ---- widths ----
too_wide() { awk -v most="$1" 'length($0) > most { print; exit 1 }'; }
for list in boxes gpus leases sessions usage top; do
    for width in 40 80 200; do
        "$ctl" $list --width $width >"$TMP/$list.$width"
        ok "$list fits $width columns" too_wide $width <"$TMP/$list.$width"
        is "$(grep -c . <"$TMP/$list.$width")" "$("$ctl" $list | grep -c .)" "with all its rows"
    done
done
like "$(cat "$TMP/boxes.40")" '^gpub[^ ]*\.\.[^ ]*01 +up ' "names keep their beginning and end"
like "$(cat "$TMP/gpus.80")" ' a long [^ ]* ?[^ ]*\.\.$' "sentences keep their beginning"
like "$(cat "$TMP/gpus.200")" '^gpubox-with-a-long-name01 +0 ' "where there is room nothing is shortened"
like "$("$ctl" gpus)" ' GPU-gpubox-with-a-long-name01-0 ' "nor where the output is no terminal"

# ---- colours ----
drawn() { env "$@" TERM="${TERMINAL:-xterm}" python3 "$TOP/tests/broker/terminal.py" 200x40 -- "$ctl" boxes; }
like "$(drawn -u NO_COLOR)" $'small +\033\\[32mup *\033\\[0m' "a state has a colour on a terminal"
unlike "$(drawn NO_COLOR=1)" $'\033' "but not with NO_COLOR"
unlike "$(TERMINAL=dumb drawn)" $'\033' "nor where there are none"
unlike "$("$ctl" boxes)" $'\033' "nor where the output is no terminal"

# ---- columns, order, rows, names ----
is "$("$ctl" sessions --format owner,box --sort owner --only 'box=gpu*' | tr -s ' ' | head -2 | tail -1)" "$one gpubox-with-a-long-name01" "sessions: columns, order, rows, users by name"
is "$("$ctl" boxes --sort -used --format box | sed -n 2p)" small "boxes by what is used"
is "$("$ctl" gpus --only 'box=small,state=used' --json | wc -l)" 3 "GPUs that are so"
is "$("$ctl" leases --only "owner=$two" --sort job --format job | tr '\n' ' ')" "JOB later solve " "leases of one user"
like "$("$ctl" leases --only job=later)" '0 of 3 GPUs of its kind are free, it wants 1' "why one waits"
like "$("$ctl" leases --only job=wait)" 'wants 3; 1 is drained \(gpubox-with-a-long-name02:1: a long story' "with the drain that it waits for"

# ---- top ----
top() { "$ctl" top --json "$@" | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(" ".join(sorted({row["list"] + ":" + str(row.get("name") or row.get("uuid") or row.get("job") or row.get("user")) for row in rows})))'; }
ended=$("$ctl" top)
like "$ended" '^3 boxes \(3 up, 0 drained\), 12 GPUs \([0-9]+ free\), 2 leases, 2 wait, 2 sessions$' "top begins with sums"
is "$(top --user "$two")" "boxes:small gpus:GPU-small-1 gpus:GPU-small-2 gpus:GPU-small-3 leases:later leases:solve sessions:$two" "top of a user: his leases, what they hold, his sessions"
is "$(top --box '*02' | tr ' ' '\n' | grep -v gpus: | tr '\n' ' ')" "boxes:gpubox-with-a-long-name02 leases:wait " "of a box: also who waits for it"
is "$(top --model Fake | tr ' ' '\n' | grep -v gpus: | tr '\n' ' ')" "boxes:small leases:solve sessions:$two " "of a model"
is "$(top --state queued)" "leases:later leases:wait" "of a state"
is "$(top --state draine'*')" "gpus:GPU-gpubox-with-a-long-name02-1" "also of GPUs"
is "$(top --user nobody-of-this-name)" "" "of somebody who has nothing"
is "$("$ctl" top --sort -job | awk '$1 ~ /^L1/ { print $4 }' | tr '\n' ' ')" "wait train solve later " "leases by a column that only they have"
is "$("$ctl" top --sort job --json | head -1 | at list)" boxes "the other lists stay"
status=0; "$ctl" top --sort colour 2>"$TMP/err" || status=$?
is "$status $(cat "$TMP/err")" "2 rgpuctl top: no list has a column colour" "a column that no list has"

for size in 40x24 80x24 200x60; do
    start screen python3 "$TOP/tests/broker/terminal.py" $size 'small' keys:s 'by BOX' keys:r 'by -BOX' keys:q -- "$ctl" top --interval 3600
    ok "top on a terminal of $size: a screen that fits, sorted by a key" await_line screen 'by -BOX'
    ok "and q ends it" await_line screen '^status 0'
done
start screen python3 "$TOP/tests/broker/terminal.py" 80x12 '... 3 boxes' keys:q -- "$ctl" top --interval 3600
ok "on few lines it says how many rows there are besides" await_line screen '^status 0'
done_testing
