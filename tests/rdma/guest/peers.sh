#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: copies between GPUs of two boxes, each with a device of its own, over verbs.
. "$TOP/tests/rdma/guest/common.sh"
peers=$BUILD/tests/programs/peers
# start_end DEVICE [ARGUMENT...]: a box with that device.
start_end() {
    local address=RDMA_VM_ADDRESS_$1
    shift
    start_box --listen "${!address}:0" --transports tcp,rdma --rdma-addresses "${!address}" --devices sim:1 "$@"
}
start_end 0 --admin-socket "$TMP/first.socket"
first=$BOX first_pid=$BOX_PID
start_end 1
second=$BOX BOX=$first,$BOX
# What the client uses is another matter.
out=$TMP/peers.out
ok "copies of every kind between two boxes" \
    on_box RGPU_TRANSPORT=tcp RGPU_LOG=info sh -c "'$peers' calls >'$out' 2>'$TMP/peers.err'"
unlike "$(cat "$out")" '^not ok' "are right"
like "$(cat "$TMP/peers.err")" 'copies between boxes .* by=rdma reason="rxe' "and go over verbs"
like "$(grep 'link with box' "$BOX_LOG")" 'by="rdma".*reason="rxe' "which the boxes tell as well"

# ---- memory of GPUs, with nothing between ----

like "$(grep gpudirect "$BOX_LOG")" 'gpudirect=yes by="peer memory"' "GPU memory is registered"
start_end 1 --gpudirect no
BOX=$first,$BOX
ok "copies with an end whose memory is not registered" on_box RGPU_TRANSPORT=tcp "$peers" calls
start_end 1 --gpudirect dmabuf --admin-socket "$TMP/staged.socket"
BOX=$first,$BOX
mkfifo "$TMP/staged"
exec {staged}<>"$TMP/staged"
start staged env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" RGPU_TRANSPORT=tcp \
    sh -c "exec '$peers' cut <'$TMP/staged'"
await_line staged '^# linked' || bail "the program does not come to its copies"
tells() { "$BUILD/bin/rgpuctl" sessions --socket "$1" | grep -q "by rdma, $2.*(rxe"; }
ok "the session says why copies are staged" await "the reason" tells "$TMP/staged.socket" 'staged: dma-buf: Operation not supported'
ok "the other one that they are not" await "the means" tells "$TMP/first.socket" 'gpudirect by peer memory'
kill "${line_pid[staged]}" 2>/dev/null || true
BOX=$first,$second

# ---- an end that goes ----

mkfifo "$TMP/answer"
exec {answer}<>"$TMP/answer"
start lost env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" RGPU_LOG=error RGPU_TRANSPORT=tcp \
    sh -c "exec '$peers' lost 0 1 <'$TMP/answer'"
await_line lost '^# copies' || bail "the program does not come to its copies"
ok "the session says how it is linked" await "what the worker tells" tells "$TMP/first.socket" gpudirect
for worker in $(pgrep -P "$(pgrep -P "$first_pid" -x rgpu-spawner)" rgpu-worker); do kill -KILL "$worker" 2>/dev/null || true; done
echo gone >&$answer
ok "a box is lost in mid-copy: copies fail, later ones as well" await_line lost '^ok 2 '
logs "$TMP/lost.log" '(a copy between boxes has failed.* other|session lost box)=' "the log names the box"
done_testing
