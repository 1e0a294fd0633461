#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# librgpu on GPUs of one process: natively, of one box, of two boxes, and of two whose GPUs reach each other. One member
# has a GPU alone or shares it.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
PUTS=$BUILD/tests/team/puts

run=(env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib/sim:$BUILD/lib" "RGPU_SIM_STATE=$TMP/native"
    RGPU_SIM_DEVICES=2)
for members in 1 2 3; do
    run_program "natively, two GPUs, $members members: puts" "$PUTS" $members
done
start_box --devices sim:2
run=(on_box)
run_program "two GPUs of a box: puts" "$PUTS"

start_box --devices sim:1
BOXES=$BOX
start_box --devices sim:1
BOXES+=,$BOX
for transport in shm tcp; do
    run=(on_box RGPU_LOG=info "RGPU_TRANSPORT=$transport")
    run_program "$transport: two boxes: puts" "$PUTS"
    like "$(cat "$TMP/program.err")" 'copies between boxes .*by=(shm|rdma|tcp)' "$transport: which go from box to box"
done
is "$(on_box "$BUILD/examples/exchange")" "$(printf 'GPU %d: %d from its neighbour\n' 0 2 1 1)" "the example of the manual runs"
is "$(sed -n '/^```c$/,/^```$/{/^```/!p}' "$TOP/docs/guide/put-notify.md")" "$(cat "$TOP/examples/exchange.c")" "and is the one there"
missing=$(grep -oE '^(enum rgpu_result|void|int|const char \*) ?\*?rgpu_[a-z_]+|^const char \*rgpu_[a-z_]+' "$TOP/client-lib/putnotify/rgpu.h" | grep -oE 'rgpu_[a-z_]+$' |
    while read -r name; do grep -q "^\.Fn $name " "$TOP/docs/man/librgpu.3" || echo "$name"; done)
is "$missing" "" "librgpu(3) has all calls"
run=(on_box RGPU_PEER_LINK=client)
run_program "two boxes that do not reach each other: puts" "$PUTS"
export RGPU_SIM_STATE=$TMP/gpus
start_box --devices sim:1 --peer-gpus=yes
BOXES=$BOX
start_box --devices sim:1 --peer-gpus=yes
unset RGPU_SIM_STATE
BOXES+=,$BOX run=(on_box RGPU_LOG=info)
run_program "two boxes whose GPUs reach each other: puts" "$PUTS"
like "$(cat "$TMP/program.err")" 'the GPU of one box reaches another' "and do"
done_testing
