#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: dozens of sessions, four at a time; some leave in the middle of their work.
. "$TOP/tests/rdma/guest/common.sh"
saxpy=$BUILD/tests/programs/saxpy
exits=$BUILD/tests/programs/exits
turns=8
start_rdma_box --devices sim:1 --warm-workers 2
ok "a first session" over_rdma "$saxpy"
descriptors() { ls "/proc/$BOX_PID/fd" | wc -l; }
await "an idle box" is_idle 2
before=$(rdma_resources) open_before=$(descriptors)

failed=0 sessions=1
# in_session PROGRAM...: begins one more.
in_session() {
    over_rdma "$@" >/dev/null 2>&1 &
    running+=($!)
    sessions=$((sessions + 1))
}
for ((turn = 0; turn < turns; turn++)); do
    running=()
    for _ in 1 2 3 4; do in_session "$saxpy"; done
    [ $((turn % 3)) != 0 ] || in_session "$exits" _exit
    for program in "${running[@]}"; do wait "$program" || failed=$((failed + 1)); done
done
is $failed 0 "$sessions sessions, four at a time"
is "$(grep -c 'begins pid=' "$BOX_LOG")" $sessions "and no other"
settled() { [ "$(rdma_resources)" = "$before" ]; }
as_many_open() { [ "$(descriptors)" = "$open_before" ]; }
ok "as many queue pairs, regions and completion queues as before" await "resources to settle" settled
ok "as many descriptors of the box" await "descriptors to be closed" as_many_open
ok "as many workers" await "an idle box" is_idle 2
done_testing
