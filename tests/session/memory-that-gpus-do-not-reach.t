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
is "$(cat "$TMP/said") $(cat "$TMP/told")" "pointer: CUDA_SUCCESS " "over tcp it has a pointer for the device, and nothing is told"
says tcp kernel
is "$(cat "$TMP/said") $(cat "$TMP/told")" "kernel: CUDA_SUCCESS 1 " "a kernel that gets its address goes there, too"
says tcp copied
is "$(cat "$TMP/said") $(cat "$TMP/told")" "copied: CUDA_SUCCESS 1 " "and one that finds its address in memory of the GPU"
says tcp hidden
is "$(cat "$TMP/said")" "hidden: CUDA_ERROR_ILLEGAL_ADDRESS 0" "one that nobody has seen coming there fails"
like "$(cat "$TMP/told")" '^rgpu: a kernel used an address that is none.*over tcp.*cuMemHostGetDevicePointer.*shm.*RGPU_MAPPED_HOST=mirror' \
    "and it is told what may be the cause, and what to do"
says tcp hidden RGPU_MAPPED_HOST=mirror
is "$(cat "$TMP/said") $(cat "$TMP/told")" "hidden: CUDA_SUCCESS 1 " "which helps"
says tcp pointer RGPU_MAPPED_HOST=no
is "$(cat "$TMP/said")" "pointer: CUDA_ERROR_NOT_SUPPORTED" "without mirrors there is no address for kernels"
like "$(cat "$TMP/told")" '^rgpu: GPUs of box .* do not reach page-locked memory of this program over tcp \(.*\).* Run .* shm.*RGPU_MAPPED_HOST=auto' \
    "and it is told why, and what to do"
says tcp kernel RGPU_MAPPED_HOST=no
is "$(cat "$TMP/said")" "kernel: CUDA_ERROR_ILLEGAL_ADDRESS 0" "and a kernel that goes there fails"
like "$(cat "$TMP/told")" '^rgpu: a kernel used an address that is none.*over tcp.*shm' "and it is told what may be the cause"
says tcp hidden LD_PRELOAD="$TMP/libnccl.so.2"
like "$(cat "$TMP/told")" "NCCL's kernels wait .* rgpuctl run, which loads rgpu.s own" "a program with NCCL is told what NCCL needs"
unlike "$(cat "$TMP/told")" 'MAPPED_HOST' "and not what does not help it"
for word in auto mirror; do
    says tcp pointer RGPU_MAPPED_HOST=$word LD_PRELOAD="$TMP/libnccl.so.2"
    is "$(cat "$TMP/said")" "pointer: CUDA_SUCCESS" "$word: it gets an address"
    like "$(cat "$TMP/told")" 'is not enough for NCCL' "$word: which is not enough for NCCL, and is said to be"
done
says tcp kernel LD_PRELOAD="$TMP/libnccl.so.2"
is "$(cat "$TMP/told")" "" "a kernel of another library that gets an address is none of NCCL's"
for way in kernel copied hidden; do
    says shm $way
    is "$(cat "$TMP/said") $(cat "$TMP/told")" "$way: CUDA_SUCCESS 1 " "over shm kernels go there ($way), and nothing is told"
done
says tcp hidden RGPU_LOG=off
is "$(cat "$TMP/told")" "" "nor where lines are not wanted"
on_box RGPU_TRANSPORT=tcp "$BUILD/tests/programs/pinned" >/dev/null 2>"$TMP/told" || true
is "$(cat "$TMP/told")" "" "and a program that only copies hears nothing"
done_testing
