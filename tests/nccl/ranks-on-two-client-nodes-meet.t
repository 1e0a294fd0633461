#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks in two network namespaces, as on two client nodes, with a box in each: they meet over the network between these.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/two_hosts.sh"
COLLECT=$BUILD/tests/nccl/ranks_collect
boxes=
for i in 0 1; do
    start "box$i" nsenter --net="/proc/${sides[$i]}/ns/net" "$BUILD/bin/rgpud" --standalone --devices sim:1 \
        --listen "10.99.0.$((i + 1)):7310" --admin-socket "$TMP/admin-$i"
    await_line "box$i" ready || bail "the box did not start"
    boxes=${boxes:+$boxes,}10.99.0.$((i + 1)):7310
done
for i in 0 1; do
    start "rank$i" nsenter --net="/proc/${sides[$i]}/ns/net" env "LD_PRELOAD=$(preload_for_sanitizers)" \
        LD_LIBRARY_PATH="$BUILD/lib/nccl:$BUILD/lib" RGPU_BOXES="$boxes" "RGPU_TEAM_INTERFACE=$([ $i = 1 ] || echo cable0)" \
        "$COLLECT" 2 $i 1 "$TMP/id"
done
for i in 0 1; do
    ok "the rank of node $i" await_line "rank$i" '^1\.\.[4-9]'
    unlike "$(cat "$TMP/rank$i.log")" . "and all that it computes is right"
done
done_testing
