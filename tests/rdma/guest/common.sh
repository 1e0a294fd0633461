# SPDX-License-Identifier: BSD-3-Clause
# What the guest's scripts share: a box on the first device, clients on the second.
. "$TOP/tests/lib.sh"

rdma_resources() { rdma resource | sed 's/ ctx [0-9]*//'; }

rdma_boxes=0
start_rdma_box() {
    RDMA_ADMIN=$TMP/rdma-box.$((rdma_boxes += 1))
    start_box --listen "$RDMA_VM_ADDRESS_0:0" --transports tcp,rdma \
        --rdma-addresses "$RDMA_VM_ADDRESS_0" --admin-socket "$RDMA_ADMIN" "$@"
}
# is_idle WORKERS: of the box that was started last: no client is served, and so many workers are ready for those to come.
is_idle() {
    "$BUILD/bin/rgpuctl" devices --socket "$RDMA_ADMIN" --json |
        grep -q "\"sessions\":0,.*\"warm\":$1,\"starting\":0,"
}
over_rdma() { on_box RGPU_TRANSPORT=rdma RGPU_RDMA_ADDRESS="$RDMA_VM_ADDRESS_1" "$@"; }
