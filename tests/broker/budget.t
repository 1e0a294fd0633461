#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A share's budget holds for all processes of its lease together, to the byte; what a process held is
# back when it has gone, also when it was killed.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/hold_memory.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker
start_cuda_box box1 --gpu-mode shared
export RGPU_BROKER=unix:$BROKER_SOCKET
MIB=$((1 << 20))
context=$(api GET /v1/gpus/box1:0 | at gpu.context)
lease=$(api POST /v1/leases "{\"request\": {\"gpus\": [{\"mode\": \"shared\", \"memory\": $((1000 * MIB))}]}, \"ticket\": true}")
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET

OOM=CUDA_ERROR_OUT_OF_MEMORY

program one
pid_one=$PID
is "$(tell one total)" "total $((1000 * MIB))" "cuDeviceTotalMem shows the budget"
is "$(tell one info)" "free $((1000 * MIB)) total $((1000 * MIB))" "and cuMemGetInfo, all of it free"
is "$(tell one take $((1001 * MIB)))" $OOM "one byte more than the budget is too much"
logs "$TMP/one.log" "rgpu: an allocation of $((1001 * MIB)) bytes does not fit into the lease's share of GPU memory on box box1.*: ask for a larger share" \
    "of which the user is told, without any variable set"
is "$(tell one take $((600 * MIB)))" CUDA_SUCCESS "600 of 1000 MiB"
is "$(tell one graph $((401 * MIB)))" $OOM "a graph gets no more than what is left"
is "$(tell one graph $((300 * MIB)))" CUDA_SUCCESS "but what there is, when it runs"
is "$(tell one take $((101 * MIB)))" $OOM "and what it has is nobody else's"
is "$(tell one end)" CUDA_SUCCESS "until it has gone"
is "$(tell one info)" "free $((400 * MIB)) total $((1000 * MIB))" "with its memory"
is "$(tell one array 401)" $OOM "an array gets no more either"
is "$(tell one array 400)" CUDA_SUCCESS "but that, to the last byte"
is "$(tell one info)" "free 0 total $((1000 * MIB))" "and has it"
is "$(tell one look)" CUDA_SUCCESS "an object to read it by takes nothing"
is "$(tell one managed 1)" $OOM "managed memory, of which the GPU's part counts, gets none"
is "$(tell one levels 1)" $OOM "so that there is none for another"
is "$(tell one drop)" CUDA_SUCCESS "until it has gone"
is "$(tell one levels 301)" $OOM "levels count"
is "$(tell one levels 200)" CUDA_SUCCESS "where they fit"
like "$(tell one info)" "free 1[34][0-9]{7} " "with all that they take"
is "$(tell one drop)" CUDA_SUCCESS "and give it back"
is "$(tell one info)" "free $((400 * MIB)) total $((1000 * MIB))" "all of it"
is "$(tell one managed $((400 * MIB + 1)))" $OOM "managed memory gets no more either"
is "$(tell one managed $((400 * MIB)))" CUDA_SUCCESS "but that, to the last byte"
is "$(tell one array 1)" $OOM "and what it has is not there for arrays"
is "$(tell one free)" CUDA_SUCCESS "until it is freed"
program two
is "$(tell two info)" "free $((400 * MIB - context)) total $((1000 * MIB))" "a second process sees what is left, less its own context"
is "$(tell two take $((400 * MIB)))" $OOM "and gets no more than that"
is "$(tell two take $((400 * MIB - context)))" CUDA_SUCCESS "but that, to the last byte"
is "$(tell one take 1)" $OOM "then nothing is left for the first"
is "$(tell two free)" CUDA_SUCCESS "what one frees"
is "$(tell one take $((100 * MIB)))" CUDA_SUCCESS "the other gets"
is "$(tell one free)" CUDA_SUCCESS "and back"
kill -KILL -- "-$pid_one"
regained() { [ "$(tell two info)" = "free $((1000 * MIB - context)) total $((1000 * MIB))" ]; }
ok "a process that is killed gives everything back" await "the memory" regained

other=$(api POST /v1/leases "{\"request\": {\"gpus\": [{\"mode\": \"shared\", \"memory\": $((500 * MIB))}], \"box\": \"box1\", \"policy\": \"pack\"}, \"ticket\": true}")
is "$(at lease.gpus.0.gpu <<<"$other")" "$(at lease.gpus.0.gpu <<<"$lease")" "another lease on the same GPU"
RGPU_TICKET=$(at ticket <<<"$other")
program three
is "$(tell three info)" "free $((500 * MIB)) total $((500 * MIB))" "has a budget of its own"
start images env LD_LIBRARY_PATH="$BUILD/lib" "$BUILD/tests/images-running"
images=$PID
await_line images '^running' || bail "no work with arrays under the lease"
left=$(tell three info | cut -d' ' -f2)
is "$(tell three take $((left + 1)))" $OOM "beside arrays and managed memory of another process there is less"
is "$(tell three take "$left")" CUDA_SUCCESS "and all that there is can be had"
is "$(tell two take $((1000 * MIB - context)))" CUDA_SUCCESS "beside all of the first"
api DELETE "/v1/leases/$(at lease.id <<<"$other")" >/dev/null
ok "a lease that is released takes its sessions with it" await "the end" lease_is "$(at lease.id <<<"$other")" ended
images_ended() { ! kill -0 "$images" 2>/dev/null; }
ok "also one that is at work with arrays and textures" await "its end" images_ended
tell three info >/dev/null
logs "$TMP/three.log" 'rgpu: the session with box box1.* is lost: .*lease' "their users are told why"
is "$(tell two info)" "free 0 total $((1000 * MIB))" "and leaves the others alone"

# 128 processes of one share. One context is counted by the broker, the others have to fit.
small=$(api POST /v1/leases "{\"request\": {\"gpus\": [{\"mode\": \"shared\", \"memory\": $((100 * MIB))}]}, \"ticket\": true}")
RGPU_TICKET=$(at ticket <<<"$small")
fitting=$((1 + 100 * MIB / context))
for ((i = 1; i <= fitting; i++)); do program "small$i"; done
pass "$fitting processes have their contexts within 100 MiB"
one_more() {
    env LD_LIBRARY_PATH="$BUILD/lib" timeout 60 "$BUILD/tests/broker-hold-memory" </dev/null \
        >"$TMP/more$1.out" 2>"$TMP/more$1.err"
}
export -f one_more
export BUILD TMP
seq $((fitting + 1)) 128 | xargs -P 4 -I{} bash -c 'one_more {}; true'
is "$(cat "$TMP"/more*.out | grep -c ready)" 0 "none of the 128 gets in beside them"
is "$(cat "$TMP"/more*.err | grep -c 'no room for the context of one more process')" $((128 - fitting)) \
    "and every one is told why"
left=$((100 * MIB - (fitting - 1) * context))
is "$(tell small1 take $((left + 1)))" $OOM "what the contexts take is not there for allocations"
is "$(tell small1 take $left)" CUDA_SUCCESS "the rest is"
tell small1 free >/dev/null
stop "$PID"
fits_again() { one_more again && grep -q ready "$TMP/moreagain.out"; }
ok "when one process ends, another fits" await "room" fits_again
ok "the invariants hold" invariants
done_testing
