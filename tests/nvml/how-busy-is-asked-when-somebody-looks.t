#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How busy a GPU is is what it is when somebody looks, not what it was at the last comparison of memory, which here is the
# one of the box's start; many who look at once are one question, and nobody's looking is none.
. "$(dirname "$0")/../lib.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which python is not told"

export RGPU_LOG=debug
start_box --devices sim:1 --memory-check 1h
unset RGPU_LOG
look() { RGPU_BOXES=$BOX python3 "$TOP/tests/nvml/nvml.py" "$BUILD/lib/libnvidia-ml.so.1"; }
rate() { look | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0]["utilization"])'; }
questions() { grep -c 'how busy the GPUs are' "$BOX_LOG" || true; }
sees() { [ "$(rate)" "$@" ]; }

start busy env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "$BUILD/tests/programs/endure" --busy
await_line busy 'round 0' || bail "the program did not start"
is "$(questions)" 0 "while nobody looks nothing is asked"
ok "a GPU that has become busy is" await "it" sees -gt 0
stop "${line_pid[busy]}" KILL
ok "and is not when the program has gone" await "it" sees -eq 0
before=$(questions)
looks=()
for _ in 1 2 3 4 5 6; do look >"$TMP/look.$_" & looks+=($!); done
ok "six look at once" wait "${looks[@]}"
after=$(questions)
ok "and are answered by no more questions than they are" [ $((after - before)) -le 6 ]

monitor=$(pgrep -P "$BOX_PID" rgpu-monitor)
kill -STOP "$monitor"
ok "a library that hangs keeps nobody from an answer" sees -ge 0
kill -CONT "$monitor"
asked_again() { rate >/dev/null && [ "$(questions)" -gt "$after" ]; }
ok "and is asked again when it goes on" await "it" asked_again
done_testing
