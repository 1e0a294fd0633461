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
BOX=$first,$BOX
# What the client uses is another matter.
out=$TMP/peers.out
ok "copies of every kind between two boxes" \
    on_box RGPU_TRANSPORT=tcp RGPU_LOG=info sh -c "'$peers' calls >'$out' 2>'$TMP/peers.err'"
unlike "$(cat "$out")" '^not ok' "are right"
like "$(cat "$TMP/peers.err")" 'copies between boxes .* by=rdma reason="rxe' "and go over verbs"
like "$(grep 'link with box' "$BOX_LOG")" 'by="rdma".*reason="rxe' "which the boxes tell as well"

# ---- an end that goes ----

mkfifo "$TMP/answer"
exec {answer}<>"$TMP/answer"
start lost env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" RGPU_LOG=error RGPU_TRANSPORT=tcp \
    sh -c "exec '$peers' lost 0 1 <'$TMP/answer'"
await_line lost '^# copies' || bail "the program does not come to its copies"
tells_link() { "$BUILD/bin/rgpuctl" sessions --socket "$TMP/first.socket" | grep -q 'by rdma (rxe'; }
ok "the session says how it is linked" await "what the worker tells" tells_link
for worker in $(pgrep -P "$first_pid" rgpu-worker); do kill -KILL "$worker" 2>/dev/null || true; done
echo gone >&$answer
ok "a box is lost in mid-copy: copies fail, later ones as well" await_line lost '^ok 2 '
like "$(cat "$TMP/lost.log")" '(a copy between boxes has failed.* other|session lost box)=' "the log names the box"
done_testing
