#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A GPU that others have filled has no room for a context: cuInit and the other GPUs of the box work, the context of the full one
# is CUDA_ERROR_OUT_OF_MEMORY, as by a driver in the host, and can be made once there is room.
. "$(dirname "$0")/../lib.sh"
requires python3
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which python3 does not do"
cat >"$TMP/ask.py" <<'EOF'
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
count, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
data = ctypes.create_string_buffer(4096)
def call(name, *arguments):
    return getattr(cuda, name)(*arguments)
def use(device):
    result = call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    if result:
        return "context %d" % result
    results = [call("cuCtxSetCurrent", context), call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4096)),
               call("cuMemsetD8_v2", memory, 7, ctypes.c_size_t(4096)),
               call("cuMemcpyDtoH_v2", data, memory, ctypes.c_size_t(4096))]
    return "computes" if not any(results) and data.raw == b"\x07" * 4096 else "fails %s" % results
print("init %d" % call("cuInit", 0), flush=True)
print("devices", call("cuDeviceGetCount", ctypes.byref(count)), count.value, flush=True)
print("first", use(0), flush=True)
print("created", call("cuCtxCreate_v2", ctypes.byref(context), 0, 0), flush=True)
print("second", use(1), flush=True)
sys.stdin.readline()
print("first", use(0), flush=True)
EOF
export RGPU_SIM_MEMORY=150M,1G RGPU_SIM_STATE=$TMP/gpus RGPU_SIM_CONTEXT_COST=64M
natively true
start holder env LD_LIBRARY_PATH="$TMP/native" RGPU_SIM_DEVICES=2 "$BUILD/tests/hold-memory"
holder=$PID
await_line holder '^holding' || bail "the first GPU cannot be filled"
mkfifo "$TMP/go"
exec 7<>"$TMP/go"
# asked TRANSPORT WHAT-THEN: the first GPU is full until the program has looked at both; then it may try again.
asked() {
    local out=$TMP/out-$1 asks
    start_box
    start "asks-$1" bash -c 'exec env LD_LIBRARY_PATH="$0" RGPU_BOXES="$1" RGPU_TRANSPORT="$2" python3 "$3" <"$4" >"$5"' \
        "$BUILD/lib" "$BOX" "$1" "$TMP/ask.py" "$TMP/go" "$out"
    asks=$PID
    await "both GPUs are asked" grep -q '^second' "$out" || true
    is "$(cat "$out")" "init 0
devices 0 2
first context 2
created 2
second computes" "$1: one full GPU of two"
    "${@:2}"
    echo >&7
    wait "$asks" 2>/dev/null || true
}
make_room() {
    kill "$holder"
    wait "$holder" 2>/dev/null || true
}
asked shm true
is "$(tail -n 1 "$TMP/out-shm")" "first context 2" "shm: the full one stays so"
asked tcp make_room
is "$(tail -n 1 "$TMP/out-tcp")" "first computes" "tcp: once it has room it computes"
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
