#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# seconds: 900
# A virtual machine under QEMU has a window into the box on its host: its programs find it and use it, and when the machine
# is killed in the middle of work the box has everything back.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/windows.sh"
[ -z "${VALGRIND:-}${SAN:-}" ] || skip_all "the emulated machine is too slow for checked programs"
export TOP BUILD
requires qemu-system-x86_64 busybox
start_windowed_box
# The window comes and goes as that of a job of Slurm does.
of_slurm() { # prolog | epilog [CONSTRAINT]
    env RGPUCTL="$BUILD/bin/rgpuctl" RGPU_ADMIN="$ADMIN" RGPU_VM_STATE="$TMP/state" RGPU_VM_SIZE=128M SLURM_JOB_ID=77 \
        SLURM_JOB_UID="$(id -u)" SLURM_JOB_CONSTRAINTS="${2:-}" "$TOP/config/vm/slurm-$1.sh"
}
ok "a job that asks for no machine" of_slurm prolog bigmem
is "$(vm list --json)" "" "has no window"
ok "the prolog of a job that asks for one" of_slurm prolog "bigmem&vm"
like "$(cat "$TMP/state/job77")" "^-chardev socket,id=rgpu,path=$WINDOWS/vm-job77 " "says what QEMU is to be told"

# The guest's files outlive it in a directory that this host sees all along.
mkdir "$TMP/machine"
start machine env TMPDIR="$TMP/machine" "${RDMA_VM:-$TOP/scripts/rdma-vm}" --timeout 800 --memory 1536 --window "$WINDOWS/vm-job77" \
    bash "$TOP/tests/vm/guest/programs.sh" "${BOX##*:}"
machine=$PID
checks=
# One line of the guest's, which becomes a line of this test's.
relay() {
    case "$LINE" in
    "ok "*SKIP*) skip "guest: ${LINE#*SKIP }" ;;
    "ok "*) pass "guest: ${LINE#*- }" ;;
    "not ok "*) fail "guest: ${LINE#*- }" ;;
    1..*) checks=${LINE#1..} ;;
    *) diag "guest: $LINE" ;;
    esac
}
ended=
while [ -z "$checks" ] && [ -z "$ended" ]; do
    kill -0 "$machine" 2>/dev/null || ended=yes
    while read_line machine 0.5; do relay; done
done
if [ -z "$checks" ]; then
    status=0
    wait "$machine" || status=$?
    reason=$(sed -n 's/^rdma-vm: //p' "$TMP/machine.log" | tail -n 1)
    if [ $status = 125 ]; then skip "no virtual machine here: $reason"; else fail "the machine ended before its part ($status): $reason"; fi
    done_testing
fi
await "a session is in the window" has job77 sessions 1 && pass "the machine has a session at work"

# ---- killed in the middle of work ----
qemu=$(pgrep -f "^qemu-system-x86_64 .*path=$WINDOWS/vm-job77") || bail "no machine runs"
kill -KILL "$qemu"
await "the box has everything back" has job77 taken 0 && pass "a machine that is killed leaves nothing in its window"
await "nobody has the window" has job77 machines 0
is "$(window job77 sessions)" 0 "nor a session"
ok "the window serves who comes next" in_window job77 "$BUILD/tests/programs/saxpy"
ok "the epilog of the job" of_slurm epilog
no_window() { [ -z "$(vm list --json)" ]; } # the worker of the last session may not have ended yet
ok "leaves no window" await "the end of the window" no_window
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
