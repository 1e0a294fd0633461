#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: by blocks or by registered memory of either GPU, copies between two boxes are right whatever is forced, are timed
# where nothing is, and each box keeps for the other what came of it.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
copies=$BUILD/tests/programs/repeated-peers
run=(on_box RGPU_TRANSPORT=tcp)
state=("$TMP/state.0" "$TMP/state.1")
mkdir "${state[@]}"
# start_ends [ARGUMENT...]: two boxes, each with a device of its own.
start_ends() {
    local end address
    for end in 0 1; do
        address=RDMA_VM_ADDRESS_$end
        start_box --listen "${!address}:0" --transports tcp,rdma --rdma-addresses "${!address}" --devices sim:1 \
            --state-dir "${state[end]}" --admin-socket "$TMP/socket.$end" "$@"
        address_of[end]=$BOX log[end]=$BOX_LOG pid[end]=$BOX_PID
    done
    BOX=${address_of[0]},${address_of[1]}
}
address_of=() log=() pid=()
paths() { "$BUILD/bin/rgpuctl" paths --socket "$TMP/socket.$1" --json | grep "another box" || true; }
registrations() { echo "$(grep -c gpudirect=yes "${log[0]}") $(grep -c gpudirect=yes "${log[1]}")"; }

# ---- forced ----

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
is "$(paths 0)$(paths 1)" "" "what is forced tells nothing of other paths"
stop "${pid[0]}"
stop "${pid[1]}"
start_ends --paths direct-target
run=(on_box RGPU_TRANSPORT=tcp)
run_program "copies by direct-target, as the boxes say, are right" "$copies" 200000 4 1
is "$(registrations)" "1 0" "and memory of the target alone is registered"
stop "${pid[0]}"
stop "${pid[1]}"

# ---- measured ----

start_ends
start measured env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" RGPU_TRANSPORT=tcp "$copies" 65536 1000000
measured=$PID
# told END COPIES: rows with the times of all four ways.
told() { paths "$1" | grep "\"copies\":\"$2\"" | grep '"staged":.*"direct":.*"direct-source":.*"direct-target":'; }
for way in "0 to" "0 from" "1 to" "1 from"; do
    read -r end direction <<<"$way"
    ok "box $end times all ways $direction another box" await "times" eval "told $end '$direction another box' | grep -q ."
done
stop "$measured"
like "$(told 0 'to another box')" "\"host\":\"10\.[0-9.]+\".*\"transport\":\"rdma\"" "and keeps them for the other one's address"
known=$(paths 0)

# ---- kept ----

stop "${pid[0]}"
stop "${pid[1]}"
# As if staging had been the best by far.
for end in 0 1; do
    awk '$4 >= 6 { $7 = 1; $8 = 0; $9 = 1000; for (i = 10; i <= NF; i++) if ($i) $i = 2000000000 } { print }' "${state[end]}/paths" \
        >"$TMP/edited"
    cp "$TMP/edited" "${state[end]}/paths"
done
start_ends
is "$(paths 0 | wc -l)" "$(wc -l <<<"$known")" "the next start of a box knows as much"
run_program "copies by the path that is known to be the best" "$copies" 65536 1
is "$(registrations)" "0 0" "go that way from the first one"
done_testing
