#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: copies between two boxes are right by blocks and by registered memory of either GPU, forced or not.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
copies=$BUILD/tests/programs/repeated-peers
run=(on_box RGPU_TRANSPORT=tcp)
# start_ends [ARGUMENT...]: two boxes, each with a device of its own.
start_ends() {
    local end address
    for end in 0 1; do
        address=RDMA_VM_ADDRESS_$end
        start_box --listen "${!address}:0" --transports tcp,rdma --rdma-addresses "${!address}" --devices sim:1 \
            "$@"
        address_of[end]=$BOX log[end]=$BOX_LOG pid[end]=$BOX_PID
    done
    BOX=${address_of[0]},${address_of[1]}
}
address_of=() log=() pid=()
registrations() { echo "$(grep -c gpudirect=yes "${log[0]}") $(grep -c gpudirect=yes "${log[1]}")"; }

start_ends
# forced PATHS EXPECTED: which boxes register memory of their GPU when device 0 has the source, whichever has the stream.
forced() {
    local before after
    before=($(registrations))
    run=(on_box RGPU_TRANSPORT=tcp RGPU_PATHS="$1")
    run_program "copies by $1, as the program says, are right" "$copies" 200000 4 0
    after=($(registrations))
    is "$((after[0] - before[0])) $((after[1] - before[1]))" "$2" "and memory is registered at the ends that need it"
}
forced staged "0 0"
forced direct-source "1 0"
forced direct-target "0 1"
forced direct "1 1"
stop "${pid[0]}"
stop "${pid[1]}"
start_ends --paths direct-target
run=(on_box RGPU_TRANSPORT=tcp)
run_program "copies by direct-target, as the boxes say, are right" "$copies" 200000 4 1
is "$(registrations)" "1 0" "and memory of the target alone is registered"
stop "${pid[0]}"
stop "${pid[1]}"

start_ends
run_program "copies without a forced path are right" "$copies" 200000 4 0
is "$(registrations)" "1 1" "and direct from 64 KiB on"
run_program "shorter ones are right" "$copies" 20000 4 0
is "$(registrations)" "1 1" "and use blocks"
done_testing
