#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# On GPUs that are shared by MPS the broker puts together only whom their box lets be together, and a lease may have a
# part of the multiprocessors.
. "$(dirname "$0")/../broker/broker.sh"

chmod a+x "$TMP"
start_broker
start_cuda_box mpsbox --devices sim:2 --sharing mps --mps-directory "$TMP/mps" --gpu-mode shared --admin-socket "$TMP/mpsbox.sock"
share='{"mode": "shared", "memory": 268435456}'
# take OWNER [MEMBERS]: prints the answer.
take() { api POST /v1/leases "{\"owner\": $1, \"request\": {\"gpus\": [$share]${2:-}}}" || true; }
gpu() { at lease.gpus.0.gpu; }
release() { api DELETE "/v1/leases/$1" >/dev/null; await "the end of $1" lease_is "$1" ended; }

first=$(take 1000)
second=$(take 1000)
is "$(gpu <<<"$second")" "$(gpu <<<"$first")" "leases of one user share a GPU"
other=$(take 1001)
[ "$(gpu <<<"$other")" != "$(gpu <<<"$first")" ] && pass "another user has another one" || fail "another user has another one"
is "$(take 1002 | at error.code)" busy "and a third none"
queued=$(api POST /v1/leases "{\"owner\": 1002, \"queue\": true, \"request\": {\"gpus\": [$share]}}" | at lease.id)
ok "who waits" lease_is "$queued" queued
release "$(at lease.id <<<"$other")"
ok "has the GPU when its user's last lease is over" await "the grant" lease_is "$queued" granted
release "$queued"

part=$(take 1000 ', "compute": 60')
is "$(gpu <<<"$part")" "$(gpu <<<"$first")" "a lease with a part of the multiprocessors is among its user's"
is "$(at lease.request.compute <<<"$part")" 60 "and says which"
more=$(take 1000 ', "compute": 50')
[ "$(gpu <<<"$more")" != "$(gpu <<<"$first")" ] && pass "parts of one GPU are not more than the whole" || fail "parts of one GPU are not more than the whole"
is "$(take 1000 ', "compute": 60' | at error.code)" busy "of no GPU"
is "$(take 1000 ', "compute": 101' | at error.code)" bad-request "nobody has more than the whole"
ok "a broker that is started anew" stop "$BROKER_PID" KILL
wait "$BROKER_PID" || true
start_broker
await "box mpsbox in the pool" box_is mpsbox up
is "$(take 1000 ', "compute": 60' | at error.code)" busy "knows what was promised"
is "$(take 1001 | at error.code)" busy "and to whom"
for lease in "$first" "$second" "$part" "$more"; do release "$(at lease.id <<<"$lease")"; done
ok "the invariants hold" invariants

export RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key
run() { "$BUILD/bin/rgpuctl" run --mem 512M "$@" -- "$BUILD/tests/programs/commanded" 2>&1; }
is "$(run --compute 25% <<<share | tail -n 1)" "share 4 mps=1" "rgpuctl run --compute gives a part"
is "$(run --constraint compute=50 <<<share | tail -n 1)" "share 8 mps=1" "so does a constraint"
is "$(run <<<share | tail -n 1)" "share 16 mps=1" "and without it there is the whole"
like "$(run --compute 200% <<<share || true)" 'compute=200%" is not understood' "more than the whole is refused"
is "$(run --compute 25% <<<"alloc $((600 << 20))" | tail -n 1)" "alloc 2" "the budget holds"
like "$("$BUILD/bin/rgpuctl" gpus --json)" '"sharing": ?"mps-user"' "rgpuctl gpus says how GPUs are shared"
like "$("$BUILD/bin/rgpuctl" devices --socket "$TMP/mpsbox.sock" --json)" '"sharing": ?"mps"' "and so does rgpuctl devices"
done_testing
