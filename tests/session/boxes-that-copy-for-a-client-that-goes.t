#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a program while two boxes copy for it: both sessions end, their memory is free again, and the boxes serve and
# link others.
. "$(dirname "$0")/../lib.sh"
PEERS=$BUILD/tests/programs/peers
both=() sockets=()
for i in 0 1; do
    sockets[i]=$TMP/admin.$i
    start_box --devices sim:1 --admin-socket "${sockets[i]}"
    both+=("$BOX")
done
BOXES=${both[0]},${both[1]}
# has SOCKET TEXT: what the box says of its GPU.
has() { "$BUILD/bin/rgpuctl" devices --socket "$1" --json | grep -q "$2"; }
memory_of() { "$BUILD/bin/rgpuctl" sessions --socket "$1" --json; }
n=0
for way in shm tcp client; do
    name=copier-$((++n))
    mkfifo "$TMP/$name.fifo"
    exec {answer}<>"$TMP/$name.fifo"
    start "$name" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOXES" RGPU_LOG=info "RGPU_PEER_LINK=$way" \
        sh -c "exec '$PEERS' lost 0 $((n % 2)) <'$TMP/$name.fifo'"
    await_line "$name" '^# copies' || bail "the program does not come to its copies"
    logs "$TMP/$name.log" "copies between boxes .*by=$way" "$way: two boxes copy"
    stop "$PID" KILL
    for i in 0 1; do
        ok "$way: box $i serves nobody any more" await "its end" has "${sockets[i]}" '"sessions":0,'
        is "$(memory_of "${sockets[i]}")" "" "$way: and keeps nothing of it"
    done
done
ok "others' copies are right" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOXES" "$PEERS" text others
done_testing
