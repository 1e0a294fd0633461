#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study that goes wrong is a result or an error that says the way out: unknown names, damaged files, programs that fail,
# runs that are interrupted. And figures come out as they went in. seconds: 600
. "$(dirname "$0")/../lib.sh"
requires python3
run() { "$TOP/bench/studies/run" --build "$BUILD" "$@" 2>"$TMP/err"; }
# refused DESCRIPTION REGEX ARGUMENTS...
refused() {
    local what=$1 regex=$2 status=0
    shift 2
    run "$@" >"$TMP/out" || status=$?
    is "$status" 1 "$what is refused"
    like "$(cat "$TMP/err")" "$regex" "and says: $regex"
    unlike "$(cat "$TMP/err")" Traceback "in words"
}

refused "an unknown study" "no study 'nonsense'.*there are .*copies," nonsense
refused "an unknown program" "study kernels has no program 'nonsense'; it has .*," kernels:nonsense
refused "an unknown column" "no column sideways; there are .*native" kernels --columns sideways --output "$TMP/none"
refused "a build that is not there" "make studies" --build "$TMP" kernels
[ -e /dev/nvidiactl ] || refused "a real GPU where there is none" "no NVIDIA GPU.*--devices software" --devices real kernels
refused "a column's file that is not there" "no declaration of a column" kernels --column "$TMP/none.ini"
printf '[column]\nname = x\n' >"$TMP/column.ini"
refused "a column without title" "name and title" kernels --column "$TMP/column.ini"
printf '[column]\nname = x\ntitle = X\nlibary = /tmp\n' >"$TMP/column.ini"
refused "a column with a word that is none" "libary; there are .*library" kernels --column "$TMP/column.ini"
mkdir "$TMP/broken"
echo 'from house.declare import Study; STUDY = Study(' >"$TMP/broken/broken.py"
refused "a declaration that is none" "broken.py: is no declaration: SyntaxError" --declared "$TMP/broken" --output "$TMP/none"

# Programs that fail in every way, beside one that does not; and a column of somebody else's system.
mkdir "$TMP/own"
cat >"$TMP/own/faults.py" <<'END'
from house.declare import NATIVE, Need, Plot, Program, SHM, Study

def program(name, script, **more):
    return Program(name, ("sh", "-c", script), miniature=dict(limit=30), limit=30, **more)

GOOD = 'echo "{\\"figure\\": \\"time\\", \\"value\\": 2, \\"unit\\": \\"ms\\", \\"x\\": $STUDY_CLIENT}"'
STUDY = Study(
    name="faults", title="Faults", question="What happens?", columns=(NATIVE, SHM),
    programs=(program("good", GOOD), program("status", "echo too bad >&2; exit 3"), program("signal", "kill -SEGV $$"),
              program("silent", "true"), program("nonsense", 'echo \'{"figure": "x", "value": \''),
              program("markless", GOOD, marks=True), program("gone", "true", needs=(Need("file", "/no/such/file"),)),
              Program("missing", ("/no/such/program",), miniature=dict(limit=30)),
              Program("slow", ("sh", "-c", "exec sleep 1000"), miniature=dict(limit=0.2))),
    plots=(Plot("Time", ("time",)),), measured="Nothing.", unmeasured="All.")
END
mkdir "$TMP/other"
ln -s "$BUILD/lib/libcuda-sim.so" "$TMP/other/libcuda.so.1"
cat >"$TMP/other.ini" <<END
[column]
name = other
title = another system
library = $TMP/other
server = {python} -m http.server --bind 127.0.0.1 {port}
needs = $TMP/other/libcuda.so.1
[environment]
OTHER_SERVER = 127.0.0.1:{port}
END
ok "faults do not end a run" run --declared "$TMP/own" --miniature --column "$TMP/other.ini" --output "$TMP/faults"
# of PROGRAM [COLUMN]: how it ended
of() {
    python3 -c '
import json, sys
for row in map(json.loads, open(sys.argv[1])):
    if row["kind"] in ("done", "skipped") and row["program"] == sys.argv[2] and row["column"] in (None, sys.argv[3]):
        print(row.get("error", row.get("why", row.get("status"))))' "$TMP/faults/results.jsonl" "$1" "${2:-native}"
}
is "$(of good)" ok "what works is measured"
is "$(of good other)" ok "also in another system's column"
is "$(of status)" "status 3: too bad" "what fails is kept with its last words"
like "$(of signal)" '^signal 11' "a signal"
like "$(of silent)" 'printed no figure' "one that says nothing"
like "$(of nonsense)" 'not understood' "one that says nonsense"
like "$(of markless)" 'before it said begin' "one that does not stop where it should"
like "$(of missing)" 'no/such/program: No such file' "one that is not there"
like "$(of slow)" 'took more than 0.2 s' "one that takes too long"
like "$(of gone)" 'no/such/file is not there: .make studies.' "and what cannot run is left out, with the way out"
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
    ok "and a report is made of it" "$TOP/bench/studies/report" --no-pdf "$TMP/faults"
    like "$(cat "$TMP/faults/report.html")" 'status 3: too bad' "which names the failures"
    like "$(cat "$TMP/faults/report.html")" 'another system' "and has the other column"
else
    skip "python3-matplotlib is not there"
fi

refused "a size that a program does not have" "program saxpy of study kernels has no size '7'; it has 1024," kernels:saxpy:7 --miniature --output "$TMP/none"
ok "one size of a program is chosen" run kernels:saxpy:16384 --miniature --columns native --output "$TMP/size"
is "$(grep -o '"size": [0-9]*' "$TMP/size/results.jsonl" | sort -u)" '"size": 16384' "and no other is measured"
ok "one program of a study is chosen" run kernels:saxpy --miniature --columns native --output "$TMP/one"
is "$(grep -o '"program": "[^"]*"' <(grep '"kind": "sample"' "$TMP/one/results.jsonl") | sort -u)" '"program": "saxpy"' "and no other runs"
like "$(grep skipped "$TMP/one/results.jsonl")" '"program": "matmul".*not asked for' "which is said"
like "$(grep skipped "$TMP/one/results.jsonl")" '"column": "tcp".*not asked for' "of columns too"
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
    ok "another run has another program" run kernels:matmul --miniature --columns native,shm --output "$TMP/two"
    ok "and a report is made of both" "$TOP/bench/studies/report" --no-pdf "$TMP/one" "$TMP/two"
    left_out=$(sed -n 's|.*Left out here:</p><ul>\(.*\): it was not asked for.*|\1|p' "$TMP/one/report.html")
    like "$left_out" 'program start' "it names what neither run has measured"
    unlike "$left_out" 'saxpy|matmul|column shm' "and nothing that one of them has"
else
    skip "python3-matplotlib is not there"
fi

# Interrupted, and gone on with.
ok "a run whose time is up ends in order" run kernels --miniature --limit 0 --output "$TMP/cut"
like "$(cat "$TMP/err")" 'time is up: 0 of' "and says how far it came"
ends() { grep -c '"kind": "done"' "$TMP/cut/results.jsonl"; }
refused "to begin anew over it" '--resume' kernels --miniature --output "$TMP/cut"
printf '{"kind": "sample", "study": "ker' >>"$TMP/cut/results.jsonl"
ok "it is gone on with, whatever the last line lost" run --resume "$TMP/cut"
all=$(ends)
ok "until all is measured" [ "$all" -gt 10 ]
ok "and then nothing is left" run --resume "$TMP/cut"
is "$(ends)" "$all" "or measured twice"
ok "rounds are added" run --resume "$TMP/cut" --rounds 2
is "$(ends)" "$((2 * all))" "as many as are missing"
refused "to take rounds away" 'has 2 rounds' --resume "$TMP/cut" --rounds 1
fails "what --resume cannot change is refused" run --resume "$TMP/cut" kernels
like "$(cat "$TMP/err")" 'takes studies' "and says so"
cp -r "$TMP/cut" "$TMP/foreign"
sed -i '1s/"host": "[^"]*"/"host": "elsewhere"/' "$TMP/foreign/results.jsonl"
refused "another machine's run" 'another machine: its host .elsewhere, now .* start anew' --resume "$TMP/foreign"
start halted "$TOP/bench/studies/run" --build "$BUILD" kernels --miniature --rounds 99 --output "$TMP/halted"
await "a program has run through a box" grep -q '"column": "tcp".*"kind": "done"\|"kind": "done".*"column": "tcp"' "$TMP/halted/results.jsonl"
children=$(ps -o pid= --ppid "$PID")
ok "a box is there" [ -n "$children" ]
kill -TERM "$PID"
wait "$PID" || true
logs "$TMP/halted.log" 'ended by SIGTERM; bench/studies/run --resume .*/halted goes on' "a run that is told to end does"
gone() { for pid in $children; do ! kill -0 "$pid" 2>/dev/null || return 1; done; }
ok "and leaves nothing behind" await "its children end" gone
ok "and can be gone on with" run --resume "$TMP/halted" --limit 0
mkdir "$TMP/damaged"
{ head -n 3 "$TMP/cut/results.jsonl"; echo '{"kind": "sample", "study": "x"}'; } >"$TMP/damaged/results.jsonl"
refused "a damaged file" 'results.jsonl:4: a line of kind sample has no program' --resume "$TMP/damaged"
: >"$TMP/damaged/results.jsonl"
refused "an empty file" 'is empty: start' --resume "$TMP/damaged"
echo 'hello' >"$TMP/damaged/results.jsonl"
refused "no file of results" 'results.jsonl:1: this line is no result' --resume "$TMP/damaged"
refused "a directory without one" 'no results.jsonl' --resume "$TMP/own"

# Which GPUs are those of a box, where a user has chosen some of several real ones.
is "$(CUDA_VISIBLE_DEVICES=GPU-b,0 python3 - "$TOP/bench/studies" "$TMP" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from house.declare import Box, NATIVE, SHM
from house.machine import visible
from house.places import places
from house.servers import Servers
rows = visible([["0", "GPU-a", "H", "1"], ["1", "GPU-b", "H", "1"], ["2", "GPU-c", "H", "1"]])
servers = Servers(places(sys.argv[2]), sys.argv[2], [{"name": row[2], "memory": 1, "number": int(row[0])} for row in rows], 1)
native, ours = (servers.client_environment(column, [], servers.known)[0].get("CUDA_VISIBLE_DEVICES") for column in (NATIVE, SHM))
print(servers.devices(Box()), servers.devices(Box(gpus=(1,))), native, ours)
END
)" "cuda:1,0 cuda:0 GPU-b,0 None" "CUDA_VISIBLE_DEVICES chooses the GPUs of boxes, and of native programs"

# Figures of a run that was never made: medians, spread, ratios and what changed.
make_run() {
    python3 - "$@" <<'END'
import json, os, sys
directory, shm = sys.argv[1], float(sys.argv[2])
machine = dict(host="h", cpu="c", cores=2, memory=1, gpus=[], gpu="the software GPU", driver="", kernel="k", system="s",
               python="3", rgpu="r", rdma=[], virtual=False, load=0)
settings = dict(studies=["kernels"], chosen=[], more=[], rounds=5, miniature=False, devices="software", declared=None)
rows = [dict(kind="run", version=1, machine=machine, studies=["kernels"], settings=settings, time="now")]
for column, time in (("native", 10), ("shm", shm)):
    for number in range(5):
        at = dict(study="kernels", program="saxpy", column=column, size=1024, round=number)
        noise = (1 + number) if column == "native" else (1 + number) * (1.2 if number == 4 else 1)
        rows.append(dict(at, kind="sample", figure="time", value=time * noise, unit="ms", x=1024))
        rows.append(dict(at, kind="sample", figure="rate", value=100 / time, unit="GB/s", x=1024))
        rows.append(dict(at, kind="done", status="ok", wall=1))
os.mkdir(directory)
open(directory + "/results.jsonl", "w").writelines(json.dumps(row) + "\n" for row in rows)
END
}
make_run "$TMP/a" 20
make_run "$TMP/b" 200
compared=$("$TOP/bench/studies/compare" "$TMP/a" "$TMP/b")
like "$compared" '^10\.00 .*kernels +saxpy +time .* 60 ms -> 600 ms|^10\.00 .*saxpy +time' "what changed is found"
like "$compared" '^10\.00 .*rate .*5 GB/s -> 0.5 GB/s' "a rate that fell is worse too"
like "$compared" '^4 figures in both runs, 2 differ' "and what did not is left out"
like "$("$TOP/bench/studies/compare" --ratios "$TMP/a" "$TMP/b")" 'time .* 2 × -> 20 ×' "ratios are of each round: noise that all columns share is none"
fails "a run that is not there" "$TOP/bench/studies/compare" "$TMP/a" "$TMP/nowhere"
gzip -k "$TMP/a/results.jsonl"
rm "$TMP/a/results.jsonl"
like "$("$TOP/bench/studies/compare" --all "$TMP/a" "$TMP/a")" 'kernels' "packed results are read"
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
    ok "a report of two runs" "$TOP/bench/studies/report" --no-pdf "$TMP/a" "$TMP/b" --output "$TMP/both" --note "On a <quiet> day."
    like "$(cat "$TMP/both/report.html")" '<p class="note">On a &lt;quiet&gt; day\.</p>' "says what it is told to say"
    like "$(cat "$TMP/both/report.html")" 'figures spread by more than 10 %' "says that figures spread"
    fails "what is no result makes none" "$TOP/bench/studies/report" --no-pdf "$TMP/damaged"
fi
for program in run report compare; do ok "$program --help" "$TOP/bench/studies/$program" --help; done
done_testing
