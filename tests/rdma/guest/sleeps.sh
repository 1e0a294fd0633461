#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: how often the worker's thread that copies goes to sleep.
. "$TOP/tests/rdma/guest/common.sh"
start_rdma_box

# The times that threads of that name have gone to sleep, of all workers.
switches() {
    local threads
    threads=$(grep -lx rgpu-one-sided /proc/[0-9]*/task/*/comm 2>/dev/null || true)
    [ -n "$threads" ] || { echo 0; return; }
    sed 's/comm$/status/' <<<"$threads" | xargs awk '/^voluntary/ { n += $2 } END { print n }'
}

mkfifo "$TMP/go"
exec 5<>"$TMP/go"
over_rdma timeout 300 "$BUILD/tests/programs/late-copy" <"$TMP/go" >"$TMP/late" 2>&1 &
late=$!
ok "a copy waits for the GPU" await "the copy" grep -qx waits "$TMP/late"
before=$(switches)
sleep 2 # in which it would look 2000 times
slept=$(($(switches) - before))
ok "the worker leaves it to the GPU to wake it ($slept sleeps)" [ "$slept" -lt 200 ]
echo >&5
ok "the copy is over when the GPU goes on" wait $late
done_testing
