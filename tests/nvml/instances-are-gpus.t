#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Instances of GPUs that an administrator has divided are GPUs of the pool, each with its own name, UUID and memory, leased
# whole; a program sees the one of its lease and nothing else, by CUDA and by the management library.
. "$(dirname "$0")/../broker/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

library=$BUILD/lib/libnvidia-ml.so.1 driver=$BUILD/lib/libcuda.so.1 ctl=$BUILD/bin/rgpuctl
look() { RGPU_TICKET=$1 python3 "$TOP/tests/nvml/nvml.py" "$library" "$driver"; }
run() { env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$1" "${@:2}"; }
# lease JSON: sets TICKET, LEASE
lease() {
    local answer
    answer=$(api POST /v1/leases "{\"request\": $1, \"ticket\": true}")
    TICKET=$(at ticket <<<"$answer") LEASE=$(at lease.id <<<"$answer")
}
# all MEMBER: of the GPUs of the pool, in their order.
all() { "$ctl" gpus --json | python3 -c '
import json, sys
print(*[json.loads(line)[sys.argv[1]] for line in sys.stdin], sep="|")' "$1"; }

start_broker
export RGPU_BROKER=unix:$BROKER_SOCKET RGPU_SIM_MEMORY=4G
# Two GPUs, of which the first is divided into two.
RGPU_SIM_MIG=0/2 start_cuda_box box1 --memory-check 50ms --gpu-mode shared
await "all of them to be ready" sh -c "$ctl gpus --json | grep -c '\"state\":\"free\"' | grep -qx 3"
is "$(all model)" "rgpu software GPU|rgpu software GPU MIG 1/2|rgpu software GPU MIG 1/2" "a GPU, and two instances of another"
is "$(all memory)" "4294967296|2147483648|2147483648" "each with its memory"
is "$(all mode)" "shared|exclusive|exclusive" "instances are given whole, whatever is said of GPUs"
like "$(all uuid)" '^GPU-[0-9a-f-]{36}\|MIG-[0-9a-f-]{36}\|MIG-[0-9a-f-]{36}$' "each with an identity"
[ "$(all uuid | cut -d'|' -f2)" != "$(all uuid | cut -d'|' -f3)" ] && pass "of its own" || fail "of its own"
first=$(all uuid | cut -d'|' -f2)
is "$(error_code POST "/v1/gpus/$first/mode" '{"mode": "shared"}')" bad-request "an instance cannot be shared"
is "$(error_code POST "/v1/gpus/$first/mode" '{"mode": "auto"}')" bad-request "nor become so"
ok "it can be drained by its name" "$ctl" drain "$first" --reason test
ok "and put back" "$ctl" undrain "$first"

lease '{"gpus": [{}], "model": "*MIG*"}'
one=$TICKET
look "$one" >"$TMP/one"
is "$(at gpus.0.name <"$TMP/one")|$(at gpus.0.uuid <"$TMP/one")|$(at gpus.0.total <"$TMP/one")" \
    "rgpu software GPU MIG 1/2|$first|2147483648" "the management library shows the lease's instance"
is "$(python3 -c 'import json, sys; said = json.load(sys.stdin); print(len(said["gpus"]), len(said["cuda"]))' <"$TMP/one")" "1 1" "alone, as CUDA does"
is "$(at cuda.0.name <"$TMP/one")|$(at cuda.0.total <"$TMP/one")" "rgpu software GPU MIG 1/2|2147483648" "and CUDA shows the same"
is "$(at cuda.0.uuid <"$TMP/one" | cut -d- -f2-)" "$(cut -d- -f2- <<<"$first")" "by the same identity"
ok "programs run on it" run "$one" "$BUILD/tests/programs/saxpy"

# The other instance has memory of its own.
start holder env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$one" "$BUILD/tests/hold-memory"
await_line holder holding || bail "the program did not start"
lease '{"gpus": [{}], "model": "*MIG*"}'
look "$TICKET" >"$TMP/two"
unlike "$(at gpus.0.uuid <"$TMP/two")" "^$first\$" "the next lease has the other instance"
is "$(at gpus.0.used <"$TMP/two")" 67108864 "of which nothing is taken but for the worker that waits"
is "$(error_code POST /v1/leases '{"request": {"gpus": [{}], "model": "*MIG*"}}')" busy "and then there is none left"
stop "$PID" KILL 2>/dev/null || true
api DELETE "/v1/leases/$LEASE" >/dev/null
await "its end" lease_is "$LEASE" ended

# The driver shows a process one instance and nothing beside it.
pair=$("$BUILD/tests/issue-ticket" "$TMP/box1.boxkey" "$BOX" box1 3600 lease=pair "$(all uuid | cut -d'|' -f1)" "$(all uuid | cut -d'|' -f3)")
run "$pair" env RGPU_LOG=error "$BUILD/tests/programs/saxpy" >"$TMP/pair" 2>&1 || true
like "$(cat "$TMP/pair")" 'one instance of a divided GPU, and nothing beside it' "who wants two is told why that cannot be"

# A box whose GPUs are all divided.
RGPU_SIM_MIG=0/3 start_box --devices sim:1 --memory-check 50ms --admin-socket "$TMP/divided.sock"
is "$("$ctl" devices --socket "$TMP/divided.sock" --json | wc -l)" 3 "where all GPUs are divided there are instances only"
ok "without a ticket a program has the first" on_box "$BUILD/tests/programs/saxpy"
start_broken() { RGPU_SIM_MIG=$1 "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 127.0.0.1:0 >"$TMP/broken" 2>&1; }
fails "more parts than there can be are refused" start_broken 0/99
like "$(cat "$TMP/broken")" 'name=RGPU_SIM_MIG value=.0/99' "by name"
fails "so are those of a GPU that is not there" start_broken 1/2
done_testing
