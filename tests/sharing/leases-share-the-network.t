#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Leases on one box get equal parts of its network card over tcp, whatever the number of their sessions, in either direction. One that is
# alone has all of it. No lease moves more than the broker allows.
. "$(dirname "$0")/../broker/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker
start_cuda_box box1 --devices sim:1 --gpu-mode shared --network-bandwidth 40M --admin-socket "$TMP/admin"
export RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key RGPU_TRANSPORT=tcp
# copy NAME to|from MEMORY SESSIONS: a lease whose programs copy until they are stopped.
copy() {
    start "$1" "$BUILD/bin/rgpuctl" run --mem "$3" -- bash -c 'for ((i = 0; i < $1; i++)); do "$2" "--$3" & done; wait' \
        - "$4" "$BUILD/tests/programs/endure" "$2"
    for ((i = 0; i < $4; i++)); do await_line "$1" 'round 0' || bail "$1 does not copy"; done
}
# of SESSIONS MEMBER: its sum over the sessions of the lease that has so many; nothing without the member.
of() { "$BUILD/bin/rgpuctl" sessions --socket "$TMP/admin" --json | python3 -c '
import json, sys
leases = {}
for line in sys.stdin:
    session = json.loads(line)
    leases.setdefault(session["lease"], []).append(session.get(sys.argv[2]))
for found in leases.values():
    if len(found) == int(sys.argv[1]) and None not in found:
        print(sum(found))' "$@"; }
PART=$(((40 << 20) / 100 * 92 / 2))
share_equally() { [ "$(of 1 "limit_$1")" = $PART ] && [ "$(of 4 "limit_$1")" = $((4 * PART)) ]; }
is_free() { [ -z "$(of 4 "limit_$1")" ]; }
moves() { [ "$(of "$1" "bytes_$2")" -gt "$3" ]; }

# moves_fairly in|out: in a while in which the one moves 20 MiB. A busy machine may hold up the one in another while.
moves_fairly() {
    local before=$(of 4 "bytes_$1") mark=$(of 1 "bytes_$1") one
    await "bytes of the one" moves 1 "$1" $((mark + (20 << 20))) || return 1
    one=$(($(of 1 "bytes_$1") - mark))
    [ $(($(of 4 "bytes_$1") - before)) -lt $((2 * one)) ]
}

for way in to from; do
    bytes=$([ $way = to ] && echo in || echo out)
    copy "many-$way" $way 512M 4
    many=$PID
    ok "$way: a lease that is alone has no limit" await "its limit's end" is_free $bytes
    copy "one-$way" $way 128M 1
    ok "$way: beside another each has half of the card" await "equal limits" share_equally $bytes
    ok "$way: four sessions move less than twice as much as one of the other lease" await "a fair while" moves_fairly $bytes
    stop "$PID"
    ok "$way: when the other has gone there is no limit" await "its end" is_free $bytes
    stop "$many"
    await "the end of its sessions" eval '[ -z "$(of 4 calls)" ]'
done

stop "$BROKER_PID" KILL
start_broker --max-bandwidth-per-lease 8M
await "the box in the pool" box_is box1 up
copy bounded to 128M 1
is "$(of 1 limit_in),$(of 1 limit_out)" $((8 << 20)),$((8 << 20)) "a lease has the limit that the broker gives"
mark=$(of 1 bytes_in)
ok "and it copies" await "its copies" moves 1 in $((mark + (16 << 20)))
ok "the invariants hold" invariants
done_testing
