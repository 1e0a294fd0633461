#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two boxes of one host in two network namespaces, as in two containers: their workers share memory where they have a
# directory for sockets in common, and say why where they do not. What links them is shown.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/two_hosts.sh"
PEERS=$BUILD/tests/programs/peers
mkdir -p "$TMP/sockets"
round=0
# copy_between [rgpud arguments]: two boxes, and a copy. Sets LOG, what the program says.
copy_between() {
    local i list=
    round=$((round + 1))
    for i in 0 1; do
        start "box$round-$i" nsenter --net="/proc/${sides[$i]}/ns/net" "$BUILD/bin/rgpud" --standalone --devices sim:1 \
            --listen "10.99.0.$((i + 1)):$((7300 + round))" --admin-socket "$TMP/admin-$round-$i" "$@"
        await_line "box$round-$i" ready || bail "the box did not start"
        list=${list:+$list,}10.99.0.$((i + 1)):$((7300 + round))
    done
    LOG=$(inside 0 env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$list" RGPU_LOG=info "$PEERS" text shared 2>&1)
    like "$LOG" '^ok 1 ' "a copy between the two"
}
copy_between --client-sockets "$TMP/sockets"
like "$LOG" 'copies between boxes .*by=shm reason="same host' "goes by shared memory"
logs "$TMP/box1-0.log" 'link with box=.* by="shm".*reason="same host' "as the box that called says"
logs "$TMP/box1-1.log" 'link with box=.* by="shm".*reason="same host' "and the other one"
copy_between
like "$LOG" "copies between boxes .*by=tcp reason=\"no shm: the other worker's socket is not reached" \
    "without a directory in common it goes by their connection, and the reason is said"
copy_between --client-sockets "$TMP/sockets" --transports tcp
like "$LOG" 'copies between boxes .*by=tcp reason="no shm: the other box has none' "so it does where boxes may not"
done_testing
