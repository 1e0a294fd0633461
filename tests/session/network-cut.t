#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cable is pulled: client and box lie in two network namespaces whose link goes down. The
# client gets an error that stays, its memory comes back, and a session on the box's own side
# does not notice.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
. "$TOP/tests/two_hosts.sh"
on_box_side=(nsenter --net="/proc/${sides[0]}/ns/net")
on_client_side=(nsenter --net="/proc/${sides[1]}/ns/net")

start box "${on_box_side[@]}" "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 0.0.0.0:0
BOX_PID=$PID BOX_LOG=$TMP/box.log
await_line box 'ready' || bail "the box did not start"
[[ $LINE =~ :([0-9]+) ]] || bail "no port in: $LINE"
port=${BASH_REMATCH[1]}

near=(env "LD_LIBRARY_PATH=$BUILD/lib" "RGPU_BOXES=127.0.0.1:$port")
free_mib() { "${on_box_side[@]}" "${near[@]}" "$ENDURE" --free; }
start neighbour "${on_box_side[@]}" "${near[@]}" "$ENDURE"
await_line neighbour '^round 1$' || bail "the neighbour does not start"
before=$(free_mib)
far=(env "LD_LIBRARY_PATH=$BUILD/lib" "RGPU_BOXES=10.99.0.1:$port" RGPU_TRANSPORT=tcp RGPU_RECONNECT=0)
start holder "${on_client_side[@]}" "${far[@]}" "$ENDURE" --hold 512
await_line holder '^holding' || bail "no memory held"
start victim "${on_client_side[@]}" "${far[@]}" "$ENDURE"
await_line victim '^round 1$' || bail "the session does not start"

"${on_client_side[@]}" ip link set cable1 down
ok "the client that is cut off gets an error" await_line victim '^error '
diag "$LINE"
ok "which stays" await_line victim '^sticky'
ok "its memory, and that of an idle client, is free again" comes_true free_again $((before - 256))
ok "the session beside it goes on" goes_on neighbour
done_testing
