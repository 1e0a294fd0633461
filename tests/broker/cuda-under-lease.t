#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unmodified CUDA programs under leases: on one box, on two, side by side in shares of one GPU.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker
start_cuda_box box1
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
none_left() { [ -z "$("$ctl" leases --json)" ]; }

ok "a program runs on a GPU of the pool" "$ctl" run -- "$BUILD/tests/programs/saxpy"
unlike "$("$ctl" run -n 2 -- "$BUILD/tests/programs/devices")" '^not ok|SKIP' "it sees as many GPUs as it asked for"
like "$("$ctl" run -n 1 -- "$BUILD/tests/programs/devices")" 'SKIP one device only' "and no more"
ok "all leases are over" await "the end" none_left
fails "without a ticket the box serves nobody" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "$BUILD/tests/programs/saxpy"

ok "a GPU is set to shared" "$ctl" mode box1:0 shared
"$ctl" run --mem 100M -- "$BUILD/tests/programs/saxpy" >"$TMP/one" 2>&1 &
one=$!
"$ctl" run --mem 100M -- "$BUILD/tests/programs/saxpy" >"$TMP/two" 2>&1 &
two=$!
ok "one share works" wait "$one"
ok "beside another" wait "$two"
ok "and an exclusive GPU on the same box" "$ctl" run -- "$BUILD/tests/programs/saxpy"
start_cuda_box box2
ok "a program on the other box" "$ctl" run --constraint box=box2 -- "$BUILD/tests/programs/saxpy"
like "$("$ctl" run -n 2 --constraint different-boxes -- "$BUILD/tests/programs/devices" || true)" \
    '^ok .* both devices computed at once' "one program computes on GPUs of two boxes"
ok "all leases are over" await "the end" none_left
ok "the invariants hold" invariants --idle
done_testing
