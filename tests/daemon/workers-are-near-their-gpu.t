#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Workers run on the processors that are near their GPU and take the RDMA devices there, in a machine of two nodes that
# hwloc is told of; and where they are is shown. A machine of one node is used as a whole.
. "$(dirname "$0")/../lib.sh"
[ "$(nproc)" -ge 2 ] || skip_all "two processors are needed"
here=$(dirname "$0")
devices() { "$BUILD/bin/rgpuctl" devices --socket "$TMP/admin" --json; }
is_warm() { devices | grep -q '"warm":1'; }
# The processors of the box's worker.
processors() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$(spawned "$BOX_PID" -x rgpu-worker)/status"; }
near() { # PCI-ADDRESS NODE RDMA-DEVICE
    export RGPU_SIM_PCI=$1
    HWLOC_XMLFILE=$here/two-nodes.xml start_box --devices sim:1 --admin-socket "$TMP/admin"
    await "a worker" is_warm
    like "$(devices)" "\"pci\":\"$1\".*\"place\":\"node $2, processors $2, $3\"" "a GPU on node $2 is said to be there"
    is "$(processors)" "$2" "its worker runs there"
    ok "and serves programs" on_box "$BUILD/tests/programs/saxpy"
    stop "$BOX_PID"
}
near 0000:17:00.0 0 mlx5_0
near 0000:a1:00.0 1 mlx5_1

start_box --devices sim:1 --admin-socket "$TMP/admin"
await "a worker" is_warm
if [ "$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)" -le 1 ]; then
    like "$(devices)" '"place":"one node"' "a machine of one node is said to be that"
    is "$(processors)" "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)" "and its workers use all of it"
else
    like "$(devices)" '"place":"(node|not)' "the place in this machine is told"
fi
ok "a program runs" on_box "$BUILD/tests/programs/saxpy"
done_testing
