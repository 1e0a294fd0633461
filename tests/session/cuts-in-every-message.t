#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Twenty sessions at once over tcp, of which half copy, while a proxy cuts their connections before, inside and after messages of
# every kind, those of the opening and of the reconnection too: all find what they find undisturbed. seconds: 900
# A campaign over all programs: ALL=1 CUTS=1000 OFTEN=3 tests/session/cuts-in-every-message.t. The table goes to standard error.
. "$(dirname "$0")/../lib.sh"
PROGRAMS=$BUILD/tests/programs
ADMIN=$TMP/admin
# Two processes whose GPUs are on two boxes, each a rank of a communicator.
ranks="for r in 0 1; do LD_LIBRARY_PATH=$BUILD/lib/nccl:$BUILD/lib RGPU_BOXES=\$BOTH $BUILD/tests/nccl/ranks_collect 2 \$r 1 $TMP/id.\$JOB & p=\"\$p \$!\"; done; for i in \$p; do wait \$i || exit; done"

# jobs: what runs; the first group copies.
jobs() {
    local program copying=(overlap pinned rectangles registered small-copies)
    if [ -n "${ALL:-}" ]; then copying+=(copies large batches repeated late-copy textures pools array/array-random static/overlap); fi
    printf "exec $PROGRAMS/%s\n" "${copying[@]}"
    echo
    if [ -z "${ALL:-}" ]; then
        printf "exec $PROGRAMS/%s\n" threads graph/graph-memory
        return
    fi
    echo "RGPU_BOXES=\$BOTH exec $PROGRAMS/peers"
    echo "$ranks"
    # `virtual` looks at how much memory the GPU has left, which others take meanwhile.
    for program in "$PROGRAMS"/{,graph/,array/,static/}*; do
        case " ${copying[*]} exits idle endure commanded static/sgemm virtual " in *" ${program#"$PROGRAMS"/} "*) continue ;; esac
        [ ! -f "$program" ] || [ ! -x "$program" ] || echo "exec $program"
    done
}
campaign() {
    jobs | env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TRANSPORT=tcp RGPU_TCP_CONNECTIONS=1 RGPU_RECONNECT=30 OFTEN="${OFTEN:-400}" \
        python3 -B "$TOP/tests/session/cut_campaign.py" "${LANES:-20}" "${CUTS:-100}" "${SEED:-1}" "$first" "$BOX" >"$TMP/table" 2>"$TMP/cuts"
}
descriptors() { ls "/proc/$first_pid/fd" | wc -l; }
as_many_open() { [ "$(descriptors)" -le "$before" ]; }
no_sessions() { [ -z "$("$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" --json)" ]; }

# Room for all of them at once.
export RGPU_SIM_MEMORY=${RGPU_SIM_MEMORY:-$((16 << 30))}
start_box --devices sim:2 --admin-socket "$ADMIN"
first=$BOX first_pid=$BOX_PID
start_box --devices sim:2 --admin-socket "$ADMIN.2"
ok "a session" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$first" RGPU_TRANSPORT=tcp "$PROGRAMS/saxpy"
ok "is over" await "the session to end" no_sessions
before=$(descriptors)
ok "20 sessions at once find what they find undisturbed" campaign
diag "$(cat "$TMP/table")"
ok "no session is left" await "sessions to end" no_sessions
ok "and no descriptor" await "descriptors to be closed" as_many_open
done_testing
