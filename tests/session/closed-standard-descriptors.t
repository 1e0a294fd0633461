#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that have closed their standard input, output or errors: no descriptor of the library is there, so what they
# print goes nowhere and not into a socket or a ring. Programs that close the library's own get errors that say so.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
for transport in shm tcp; do
    for closed in - 0 1 2 12 012; do
        run=(on_box "RGPU_TRANSPORT=$transport")
        run_program "$transport: without $closed" "$BUILD/tests/rough-process" closed "$closed"
    done
done
run=(on_box RGPU_STATS=1 RGPU_LOG=debug "RGPU_TRACE=$TMP/trace" "CUDA_LOG_FILE=$TMP/errors")
run_program "with all files that a user can ask for" "$BUILD/tests/rough-process" closed 012

# Natively that breaks the driver, too. Here it is said.
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    run_program "$transport: a program that closes all of them meanwhile" "$BUILD/tests/rough-process" swept
    output=$("${run[@]}" "$BUILD/tests/rough-process" swept 2>&1 >"$TMP/out" || true)
    like "$output" "this process has closed a descriptor of the library" "$transport: and it is said"
done

# The programs themselves: a daemon without standard descriptors serves, and rgpuctl says that it cannot print.
start closed bash -c 'exec "$0" --standalone --devices sim:1 --listen 127.0.0.1:0 --admin-socket "$1" 0<&- 2>&-' \
    "$BUILD/bin/rgpud" "$TMP/admin"
await_line closed '([0-9.]+:[0-9]+)'
BOX=${BASH_REMATCH[1]}
for fd in 0 2; do
    is "$(readlink "/proc/$PID/fd/$fd")" / "descriptor $fd of rgpud is no file or socket of its own"
done
run=(on_box)
run_program "a box without standard descriptors serves" "$BUILD/tests/programs/saxpy"
done_testing
