#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# On a machine with a real GPU: runs every program of tests/programs and the benchmark, from a
# directory that scripts/bundle made. Continues after failures; takes at most LIMIT seconds
# (480).
# usage: BUNDLE/bench/device-run.sh RESULTS [programs] [bench]      (default: both)
here=$(cd "$(dirname "$0")/.." && pwd)
results=${1:?usage: device-run.sh RESULTS}
shift
parts=" ${*:-programs bench} "
build=$here/build
export LD_LIBRARY_PATH=$here/deps${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$build/bin:$PATH
mkdir -p "$results"
results=$(cd "$results" && pwd)
end=$((SECONDS + ${LIMIT:-480}))
summary=$results/summary.txt
details=$results/details.txt
: >"$summary" >"$details"
work=$(mktemp -d)
box_pid=

stop() {
    [ -z "$box_pid" ] || kill -TERM -- "-$box_pid" 2>/dev/null
    [ -z "$box_pid" ] || timeout 10 tail --pid="$box_pid" -f /dev/null
    [ -z "$box_pid" ] || kill -KILL -- "-$box_pid" 2>/dev/null
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 143' INT TERM
say() { echo "$*" | tee -a "$summary"; }
left() { echo $((end - SECONDS)); }

say "$(nvidia-smi -L 2>/dev/null | head -n 8 || true)"
say "$(uname -r), $(nproc) cores, $(ldd --version 2>/dev/null | head -n 1)"

start_box() {
    mkfifo "$work/box"
    exec 8<>"$work/box"
    setsid "$build/bin/rgpud" --standalone --devices "${DEVICES:-cuda:all}" --listen 127.0.0.1:0 \
        ${BOX_ARGS:-} >"$work/box" 2>"$results/box.log" 8>&- &
    box_pid=$!
    if IFS= read -r -t 90 line <&8 && [[ $line =~ ([0-9.]+:[0-9]+) ]]; then
        box=${BASH_REMATCH[1]}
        say "box: $line"
        return 0
    fi
    say "box: did not start; see box.log"
    tail -n 5 "$results/box.log" | tee -a "$summary"
    return 1
}

# one COLUMN PROGRAM [ARGUMENT]: runs a program; returns 0 passed, 1 failed, 2 skipped.
one() {
    local column=$1 program=$2 status=0 run=()
    shift
    [ "$column" = native ] || run=(env "LD_LIBRARY_PATH=$build/lib:$LD_LIBRARY_PATH"
        "RGPU_BOXES=$box" "RGPU_TRANSPORT=$column" RGPU_LOG="${CLIENT_LOG:-warn}")
    "${run[@]}" timeout --kill-after=5 "${PROGRAM_SECONDS:-40}" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
    if [ $status != 0 ]; then
        {
            echo "==== $column ${program#"$build"/tests/programs/}: status $status"
            grep -A4 '^not ok' "$work/out" | head -n 40
            tail -n 2 "$work/out"
            tail -n 30 "$work/err"
        } >>"$details"
        return 1
    fi
    grep -q '^1\.\.0 # SKIP' "$work/out" && return 2
    return 0
}

programs() {
    local column=$1 program name passed=0 failed=() skipped=()
    for program in "$build"/tests/programs/* "$build"/tests/programs/*/*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        name=${program#"$build"/tests/programs/}
        [ "$(left)" -gt 60 ] || { say "$column: no time left at $name"; break; }
        case "$name" in exits | idle | endure) continue ;; esac
        [ "$column/$name" != native/handles ] || continue
        one "$column" "$program"
        case $? in
        0) passed=$((passed + 1)) ;;
        2) skipped+=("$name") ;;
        *) failed+=("$name") ;;
        esac
    done
    say "$column: $passed passed, ${#failed[@]} failed (${failed[*]:-none}), skipped: ${skipped[*]:-none}"
}

if [[ $parts == *" programs "* ]]; then
    [ "${NATIVE:-yes}" = no ] || programs native
    if start_box; then
        for column in ${TRANSPORTS:-shm tcp}; do programs "$column"; done
        kill -0 "$box_pid" 2>/dev/null && say "box: alive after all programs" || say "box: GONE"
        kill -TERM -- "-$box_pid" 2>/dev/null
        timeout 10 tail --pid="$box_pid" -f /dev/null
    fi
fi
if [[ $parts == *" bench "* ]] && [ "$(left)" -gt 30 ]; then
    timeout --kill-after=10 "$(left)" python3 "$here/bench/run" --build "$build" \
        --transports "$(echo "${TRANSPORTS:-shm tcp}" | tr ' ' ,)" --output "$results/bench.jsonl" \
        ${BENCH_ARGS:-} >"$results/bench.txt" 2>"$results/bench.err"
    say "bench: status $?"
    cat "$results/bench.txt" | tee -a "$summary"
    grep -v '^bench: [a-z]* \.\.\.$' "$results/bench.err" | tail -n 30 | tee -a "$summary"
fi
say "took $SECONDS s"
