#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks in two network namespaces, as on two client nodes, with a box in each: they meet over the network between these.
. "$(dirname "$0")/../lib.sh"
COLLECT=$BUILD/tests/nccl/ranks_collect
requires ip nsenter unshare
unshare --net true 2>/dev/null || skip_all "no right to make network namespaces here"
sides=()
for i in 0 1; do
    start "side$i" unshare --net bash -c 'ip link set lo up; echo up; exec tail -f /dev/null'
    sides[i]=$PID
    await_line "side$i" '^up' || bail "no namespace"
done
inside() { nsenter --net="/proc/${sides[$1]}/ns/net" "${@:2}"; }
inside 0 ip link add cable0 type veth peer name cable1 netns "${sides[1]}" 2>/dev/null || skip_all "no veth devices here"
boxes=
for i in 0 1; do
    inside $i ip addr add "10.98.0.$((i + 1))/24" dev "cable$i"
    inside $i ip link set "cable$i" up
    start "box$i" nsenter --net="/proc/${sides[$i]}/ns/net" "$BUILD/bin/rgpud" --standalone --devices sim:1 \
        --listen "10.98.0.$((i + 1)):7310" --admin-socket "$TMP/admin-$i"
    await_line "box$i" ready || bail "the box did not start"
    boxes=${boxes:+$boxes,}10.98.0.$((i + 1)):7310
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
