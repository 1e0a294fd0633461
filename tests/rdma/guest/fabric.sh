#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: which devices, GIDs, ports and packets sessions use, and a link that is down.
. "$TOP/tests/rdma/guest/common.sh"
saxpy=$BUILD/tests/programs/saxpy
mine=RGPU_RDMA_ADDRESS=$RDMA_VM_ADDRESS_1

log_of() { on_box RGPU_LOG=info "$@" 2>&1 >/dev/null; }
# box LOG-PATTERN OPTION...: one on its first address, of any device; waits for that line of its worker.
box() {
    local line=$1
    shift
    start_box --listen "$RDMA_VM_ADDRESS_0:0" --transports tcp,rdma --parallel-starts 1 "$@" # in their order
    await "$line" grep -Eq -- "$line" "$BOX_LOG" || true
}
used() { sed -n 's/.*session=[0-9]* transport=rdma reason=".*, \(rxe[01]\) port 1.*/\1/p' "$BOX_LOG" | uniq | xargs; }

# ---- devices ----

box 'worker ready' --rdma-devices rxe0:1,rxe1 --rdma-mtu 2048
for _ in 1 2 3 4; do log_of $mine "$saxpy" >>"$TMP/log"; done
is "$(grep -c 'transport=rdma' "$TMP/log")" 4 "a box with two devices, named: sessions over verbs"
like "$(used)" '^(rxe0 rxe1 rxe0 rxe1|rxe1 rxe0 rxe1 rxe0)$' "alternate between them"
for _ in 1 2 3 4; do log_of "RGPU_RDMA_DEVICES=rxe0, rxe1:1" "$saxpy" >>"$TMP/own"; done
is "$(sed -n 's/.*rdma device="\(rxe.\) port 1 .*/\1/p' "$TMP/own" | sort | xargs)" "rxe0 rxe0 rxe1 rxe1" \
    "so do a client's own"
log=$(log_of RGPU_RDMA_DEVICES=mlx5_7,rxe1 "$saxpy")
like "$log" 'rdma device="rxe1 port 1' "a device that is not there is left out"
like "$(log_of RGPU_RDMA_DEVICES=rxe1:2 "$saxpy")" 'no rdma: no address .* belongs to device rxe1:2' \
    "where none is left, that is told"

# ---- GID and packets ----

like "$(log_of $mine RGPU_RDMA_GID_INDEX=1 "$saxpy")" 'rdma device="rxe1 port 1 GID 1 ' "a GID by its index"
like "$(log_of $mine RGPU_RDMA_GID_INDEX=0 "$saxpy")" 'no rdma: GID 0 of rxe1 port 1 is not that of an address' \
    "not one that belongs to no address"
watch_packets() {
    mkfifo "$TMP/watching"
    python3 "$TOP/tests/rdma/guest/packets.py" "$1" <"$TMP/watching" >"$TMP/packets" &
    watcher=$!
    exec 9>"$TMP/watching"
    await "the watcher" grep -q watching "$TMP/packets"
}
stop_watching() {
    exec 9>&-
    wait $watcher
    seen=$(tail -n 1 "$TMP/packets")
}
watch_packets rdma1
log=$(log_of $mine RGPU_RDMA_MTU=512 RGPU_RDMA_CLASS=104 RGPU_RDMA_SL=3 "$saxpy")
stop_watching
like "$log" 'rdma device="rxe1 port 1 GID 1 MTU 512 service level 3' "the smaller packets of the two sides"
like "$seen" '^largest=5[0-9][0-9] ' "no packet is larger"
like "$seen" ' classes=104$' "and all are of the traffic class"
like "$(grep "transport=rdma reason" "$BOX_LOG" | tail -n 1)" 'MTU 512 service level 0' "the worker sends such packets too"
like "$(log_of $mine RGPU_RDMA_MTU=4096 "$saxpy")" 'MTU 2048 ' "more than the box wants is not sent"
like "$(log_of $mine RGPU_RDMA_MTU=1000 "$saxpy")" 'MTU is not 256' "sizes that do not exist are refused"

# ---- the worker's part ----

stop "$BOX_PID"
box 'no rdma|rdma device' --rdma-gid-index 0
logs "$BOX_LOG" 'no rdma reason="GID 0 of rxe. port 1 is not that' "a box with a GID of no address says so"
stop "$BOX_PID"
box 'all in use' --rdma-addresses "$RDMA_VM_ADDRESS_0" --rdma-ports 7400-7401 --warm-workers 3
like "$(grep -o 'port=740.' "$BOX_LOG" | sort | xargs)" '^port=7400 port=7401$' "workers listen on the ports that are set"
logs "$BOX_LOG" 'no rdma reason="ports 7400 to 7401 are all in use"' "one too many says what is missing"
stop "$BOX_PID"
fails "a range that is none is refused" "$BUILD/bin/rgpud" --standalone --devices sim:1 --rdma-ports 7401-7400

# ---- links ----

by_verbs() { log_of $mine "$saxpy" >"$TMP/log"; grep -q transport=rdma "$TMP/log"; }
box 'rdma device' --rdma-addresses "$RDMA_VM_ADDRESS_0"
tc qdisc add dev rdma1 root netem loss 100%
for _ in 1 2; do log_of RGPU_TRANSPORT=rdma RGPU_RDMA_DEVICES=rxe1,rxe0 "$saxpy" >>"$TMP/lossy"; done
tc qdisc del dev rdma1 root
is "$(sed -n 's/.*rdma device="\(rxe.\) port 1 .*/\1/p' "$TMP/lossy" | xargs)" "rxe0 rxe0" \
    "where one leads nowhere the other is taken"
ip link set rdma1 down
like "$(log_of $mine "$saxpy")" 'transport=tcp .*no rdma: port 1 of rxe1 is not active' \
    "a client whose link is down takes TCP"
ip link set rdma1 up
# The worker that was made meanwhile found its port down.
ok "and verbs again when it is up, on a worker made meanwhile" await "a session over verbs" by_verbs
done_testing
