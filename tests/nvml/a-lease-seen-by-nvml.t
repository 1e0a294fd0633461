#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The management library on a node without a GPU: it shows the lease's GPUs and no others, as CUDA does, their memory
# as the budget says, and the lease's processes; it takes no session and no worker, and outlives its box.
. "$(dirname "$0")/../broker/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

library=$BUILD/lib/libnvidia-ml.so.1 driver=$BUILD/lib/libcuda.so.1 polls=$BUILD/tests/nvml-polls
ctl=$BUILD/bin/rgpuctl
export RGPU_CONNECT_TIMEOUT=60s
look() { RGPU_TICKET=$1 python3 "$TOP/tests/nvml/nvml.py" "$library" "${@:2}"; }
# said PATH: a value of what is on standard input.
said() { at "$1"; }
gpus() { python3 -c 'import json, sys; print(len(json.load(sys.stdin)["gpus"]))'; }
same() { python3 -c '
import json, sys
said = json.load(sys.stdin)
ours = [[g[k] for k in ("name", "uuid", "pci", "total")] for g in said["gpus"]]
theirs = [[g[k] for k in ("name", "uuid", "pci", "total")] for g in said["cuda"]]
sys.exit(ours != theirs and "%s is not %s" % (ours, theirs))'; }
# lease JSON: sets TICKET, LEASE
lease() {
    local answer
    answer=$(api POST /v1/leases "{\"request\": $1, \"ticket\": true}")
    TICKET=$(at ticket <<<"$answer") LEASE=$(at lease.id <<<"$answer")
}

start_broker
start_cuda_box box1 --memory-check 50ms --admin-socket "$TMP/one.sock"
box_pid=$PID box_listen=$BOX
start_cuda_box box2 --memory-check 50ms
export RGPU_BROKER=unix:$BROKER_SOCKET

# A whole GPU, and two.
lease '{"gpus": [{}], "box": "box1"}'
whole=$TICKET
# A box is in the pool before its library has answered everything.
is_told() { look "$whole" >"$TMP/whole" && [ "$(said driver <"$TMP/whole")" != None ]; }
await "the library's answers" is_told
is "$(gpus <"$TMP/whole")" 1 "a lease of one GPU shows one"
is "$(said gpus.0.temperature <"$TMP/whole") $(said gpus.0.power <"$TMP/whole")" "3 3" \
    "what a software GPU has not got is not supported"
like "$(said driver <"$TMP/whole")" '^[0-9]' "the box's driver is that of its library"
is "$(said gpus.0.mapped <"$TMP/whole")" 4294967296 "what the box's library answers arrives"
is "$(said gpus.0.links <"$TMP/whole" | grep -o '0000:' | wc -l)" 2 "links to other GPUs are told as NCCL asks for them"
is "$("$ctl" health --socket "$TMP/one.sock" --json | at sessions_total)" 0 "no session was taken for it"
look "$whole" "$driver" >"$TMP/compared"
ok "name, UUID, PCI id and memory are CUDA's" same <"$TMP/compared"
lease '{"gpus": [{"count": 3}]}'
look "$TICKET" "$driver" >"$TMP/three"
is "$(gpus <"$TMP/three")" 3 "GPUs of two boxes are one list"
ok "in CUDA's order" same <"$TMP/three"
ours=$(said gpus.0.uuid <"$TMP/whole")
unlike "$(cat "$TMP/three")" "\"uuid\": \"$ours\"" "and none of another lease is among them"
api DELETE "/v1/leases/$LEASE" >/dev/null

# Processes, memory and utilisation.
start busy env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$whole" "$BUILD/tests/programs/endure" --busy
await_line busy 'round 0' || bail "the program did not start"
busy_pid=$(pgrep -P "$PID" endure || echo "$PID")
sees() { [ "$(look "$whole" | said "$1")" "$2" "$3" ]; }
ok "the lease's process is there, by its number on this host" await "it" sees gpus.0.processes.0.0 = "$busy_pid"
ok "with the memory that it has" await "it" sees gpus.0.processes.0.1 -gt 16777216
ok "and the GPU is busy" await "it" sees gpus.0.utilization -gt 0
ok "more than CUDA's process is taken of it" sees gpus.0.used -gt 67108864
ok "a GPU of a pool's lease, by its name alone" "$ctl" run -- python3 -c '
import ctypes
library, count = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_uint()
assert library.nvmlInit_v2() == 0 and library.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
assert count.value == 1, count.value'
stop "${line_pid[busy]}" KILL

# A share.
gpu=$(said gpus.0.uuid <"$TMP/three")
ok "a GPU is set to shared once no lease holds it" await "it" "$ctl" mode "$gpu" shared
lease '{"gpus": [{"mode": "shared", "memory": 104857600}]}'
share=$TICKET
look "$share" "$driver" >"$TMP/share"
is "$(said gpus.0.total <"$TMP/share")" 104857600 "a share's memory is its budget"
ok "as CUDA says" same <"$TMP/share"
is "$(said gpus.0.mapped <"$TMP/share")" 3 "but not what tells of others on the same GPU"
start other env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$share" "$BUILD/tests/programs/endure" --busy
await_line other 'round 0' || bail "the program did not start"
taken() { local used; used=$(look "$share" | said gpus.0.used); [ "$used" -ge 16777216 ] && [ "$used" -lt 104857600 ]; }
ok "what is taken of it is what is taken of the budget" await "it" taken
lease '{"gpus": [{"mode": "shared", "memory": 104857600}]}' || true
neighbour=$TICKET
look "$neighbour" >"$TMP/neighbour"
if [ "$(said gpus.0.uuid <"$TMP/neighbour")" = "$(said gpus.0.uuid <"$TMP/share")" ]; then
    is "$(said gpus.0.processes <"$TMP/neighbour") $(said gpus.0.used <"$TMP/neighbour") $(said gpus.0.utilization <"$TMP/neighbour")" \
        "[] 0 0" "a neighbour on the same GPU sees none of it"
else
    fail "the neighbour's share is on another GPU"
fi
stop "${line_pid[other]}" KILL

# Who may not look.
fails "without a ticket nobody looks" env RGPU_BOXES="$box_listen" python3 "$TOP/tests/nvml/nvml.py" "$library"
lease '{"gpus": [{"mode": "shared", "memory": 1048576}]}'
gone=$TICKET
api POST "/v1/leases/$LEASE/revoke" >/dev/null || api DELETE "/v1/leases/$LEASE" >/dev/null
refused() { ! look "$gone" >/dev/null 2>&1; }
ok "a lease that has ended shows nothing" await "its end" refused
is "$(env -u RGPU_TICKET -u RGPU_BOXES python3 "$TOP/tests/nvml/nvml.py" "$library" 2>&1 || true)" "error 9 Driver Not Loaded" \
    "nor does a node without a lease, and nothing is written"

# A box that hardly ever asks its management library.
start_box --devices sim:1 --memory-check 1h
seldom() { env -u RGPU_TICKET RGPU_BOXES="$BOX" python3 "$TOP/tests/nvml/nvml.py" "$library" | said "$1"; }
asked() { [ "$(seldom gpus.0.used)" -gt 0 ]; }
ok "a box that asks its library once an hour does so when somebody looks" await "it" asked
before=$(seldom gpus.0.used)
start held env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "$BUILD/tests/programs/endure" --busy
await_line held 'round 0' || bail "the program did not start"
ok "what is allocated after that is told at once" [ "$(seldom gpus.0.used)" -ge $((before + 16777216)) ]
ok "also of the process" [ "$(seldom gpus.0.processes.0.1)" -ge 16777216 ]
is "$(env -u RGPU_TICKET RGPU_BOXES="$BOX" python3 -c '
import ctypes, os, sys
library, device, few = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p(), (ctypes.c_ulong * 20)()
assert library.nvmlInit_v2() == 0 and library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
assert library.nvmlDeviceGetCpuAffinity(device, 20, few) == 0
near = sum(bin(word).count("1") for word in few)
assert library.nvmlDeviceGetMemoryAffinity(device, 20, few, 0) == 0 and few[0] & 1
assert library.nvmlDeviceGetCpuAffinity(device, 0, few) == 2 and library.nvmlDeviceGetMemoryAffinity(device, 20, None, 0) == 2
print(near == os.sysconf("SC_NPROCESSORS_CONF"))' "$library")" True "a remote GPU is near all processors of this host"
stop "${line_pid[held]}" KILL
ok "and what is given back" await "it" eval '[ "$(seldom gpus.0.used)" = "$before" ]'

# A box that has no management library.
start_box --management-library "$TMP/no-such-library.so"
bare() { env -u RGPU_TICKET RGPU_BOXES="$BOX" python3 "$TOP/tests/nvml/nvml.py" "$library" "$@"; }
bare "$driver" >"$TMP/bare"
is "$(gpus <"$TMP/bare")" 2 "a box without a management library: its GPUs are there"
ok "name, UUID, PCI id and memory as CUDA has them" same <"$TMP/bare"
is "$(said gpus.0.mapped <"$TMP/bare") $(said gpus.0.links <"$TMP/bare")" "3 []" "what only the library knows is not supported"

# Bad programs, many threads, unloading, and the box that goes.
with_whole() { RGPU_TICKET=$whole "$polls" "$library" "$1"; }
ok "bad arguments" with_whole garbage
ok "many threads, and children that are forked meanwhile" with_whole threads
ok "unloading the library while threads ask" with_whole unload
start watcher env RGPU_TICKET="$whole" RGPU_LOG=off "$polls" "$library" lost
await_line watcher polling || bail "the watcher did not start"
kill -KILL "$box_pid"
ok "a box that is killed: its GPU is lost" await_line watcher lost
start_box --name box1 --auth ticket --key-file "$TMP/box1.boxkey" --listen "$box_listen" --memory-check 50ms 2>/dev/null || true
ok "and back with it" await_line watcher back
done_testing
