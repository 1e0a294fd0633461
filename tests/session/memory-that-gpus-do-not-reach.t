#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Where a program wants a GPU to touch page-locked memory that it does not reach, it is told why and what to do, once, and a
# program with NCCL what to do with that. Who does not want it hears nothing.
. "$(dirname "$0")/../lib.sh"
requires cc
start_box --devices sim:1
cc -shared -x c -o "$TMP/libnccl.so.2" /dev/null
says() { # TRANSPORT MODE [VARIABLE...]
    local transport=$1 mode=$2
    shift 2
    on_box RGPU_TRANSPORT="$transport" "$@" "$BUILD/tests/out-of-reach" "$mode" >"$TMP/said" 2>"$TMP/told" || true
}
says tcp pointer
is "$(cat "$TMP/said")" "pointer: CUDA_ERROR_NOT_SUPPORTED" "over tcp there is no address for kernels"
like "$(cat "$TMP/told")" '^rgpu: GPUs of box .* do not reach page-locked memory of this program over tcp \(.*\).* Run .* shm.*RGPU_MAPPED_HOST=mirror' \
    "and it is told why, and what to do"
says tcp kernel
is "$(cat "$TMP/said")" "kernel: CUDA_ERROR_ILLEGAL_ADDRESS" "a kernel that goes there fails"
like "$(cat "$TMP/told")" '^rgpu: a kernel used an address that is none.*over tcp.*shm' "and it is told what may be the cause"
says tcp kernel LD_PRELOAD="$TMP/libnccl.so.2"
like "$(cat "$TMP/told")" "NCCL's kernels wait .* start them on the box itself.*gloo" "a program with NCCL is told what NCCL needs"
unlike "$(cat "$TMP/told")" 'MAPPED_HOST' "and not what does not help it"
says tcp pointer RGPU_MAPPED_HOST=mirror LD_PRELOAD="$TMP/libnccl.so.2"
is "$(cat "$TMP/said")" "pointer: CUDA_SUCCESS" "with mirrors there is an address"
like "$(cat "$TMP/told")" 'mirror is not enough for NCCL' "which is not enough for NCCL, and is said to be"
says shm kernel
is "$(cat "$TMP/said") $(cat "$TMP/told")" "kernel: CUDA_SUCCESS " "over shm kernels go there, and nothing is told"
says tcp kernel RGPU_LOG=off
is "$(cat "$TMP/told")" "" "nor where lines are not wanted"
on_box RGPU_TRANSPORT=tcp "$BUILD/tests/programs/pinned" >/dev/null 2>"$TMP/told" || true
is "$(cat "$TMP/told")" "" "and a program that only copies hears nothing"
done_testing
