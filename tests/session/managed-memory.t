#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Managed memory over each transport, with each way of noticing what the program touches: random programs that keep to
# its rules see what a model says.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
. "$TOP/tests/session/faults.sh"
programs=${MANAGED_PROGRAMS:-400}
first=1
# Whether system calls have to work on memory that is closed.
strict=
if [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/vm/unprivileged_userfaultfd 2>/dev/null)" = 1 ]; then strict=strict; fi
start_box
ways="userfaultfd signals"
python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(323, 0o2000001) < 0)' || ways=signals
[ "$ways" != signals ] || skip "userfaultfd is not to be had here"
for transport in shm tcp; do
    for faults in $ways; do
        run=(on_box "RGPU_TRANSPORT=$transport" "RGPU_MANAGED_FAULTS=$faults")
        run_program "$transport, $faults: both sides use it in turns" "$BUILD/tests/programs/managed"
        run_program "$transport, $faults: variables of modules" \
            "$BUILD/tests/programs/managed-variables"
        run_program "$transport, $faults: beside system calls, children and handlers" \
            "$BUILD/tests/programs/managed-system" $([ $faults = signals ] || echo $strict)
        run_program "$transport, $faults: random programs $first to $((first + programs - 1))" \
            "$BUILD/tests/programs/managed-random" "$first" "$programs"
        first=$((first + programs))
    done
done
# resident PID...: MiB of those that are there.
resident() {
    local pid
    for pid; do grep '^VmRSS' "/proc/$pid/status" 2>/dev/null || true; done | awk '{ sum += $2 } END { print int(sum / 1024) }'
}
mkfifo "$TMP/go"
exec 7<>"$TMP/go"
start untouched bash -c 'exec env LD_LIBRARY_PATH="$0" RGPU_BOXES="$2" "$3" untouched <"$1"' \
    "$BUILD/lib" "$TMP/go" "$BOX" "$BUILD/tests/managed-touch"
await_line untouched '^ready' || bail "a gigabyte of managed memory cannot be had"
took=$(resident "$PID" $(workers))
ok "a gigabyte that nobody touches takes no memory, here or on the box ($took MiB)" [ "$took" -lt 900 ]
echo go >&7
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
