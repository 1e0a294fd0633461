#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A request that finds no memory is told in the log beside every limit that it may have met: the GPU's memory, and
# what the worker may allocate and lock.
. "$(dirname "$0")/../lib.sh"
requires prlimit setpriv
[ -z "${SAN:-}" ] || skip_all "the sanitizers' run-time reserves more memory than a worker may"

log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
export RGPU_SIM_DEVICES=1 RGPU_SIM_MEMORY=300M
start_box --devices cuda:0 --driver "$BUILD/lib/libcuda-sim.so" --transports tcp --worker-memory 1G
is "$(on_box "$BUILD/tests/large-image" 1)" "loaded 0" "an image fits"
unlike "$(cat "$BOX_LOG")" 'used of what there is' "and nothing is told"
is "$(on_box "$BUILD/tests/large-image" 1025)" "loaded 2" "one that is larger than worker_memory does not"
ok "the log says what there was" log_has 'session=2 op=image_begin result=CUDA_ERROR_OUT_OF_MEMORY used of what there is:.* worker_memory=[0-9]+/1073741824 locked=[0-9]+.* times=1$'
ok "and what the GPU had" log_has 'session=2 op=module_load result=CUDA_ERROR_OUT_OF_MEMORY .*: gpu=[0-9]+/314572800 worker_memory=.* times=2$'
stop "$BOX_PID" KILL
unable=()
[ "$(id -u)" != 0 ] || unable=(setpriv --bounding-set -sys_resource --inh-caps -sys_resource)
start prlimited prlimit --memlock=65536:65536 "${unable[@]}" \
    "$BUILD/bin/rgpud" --standalone --devices cuda:0 --driver "$BUILD/lib/libcuda-sim.so" --listen 127.0.0.1:0
await_line prlimited 'ready listen='
logs "$TMP/prlimited.log" 'may lock for devices is limited to 65536 bytes \(RLIMIT_MEMLOCK\)' \
    "a limit of locked memory that cannot be raised is told at the start"
done_testing
