# SPDX-License-Identifier: BSD-3-Clause
# For sourcing, after lib.sh: two network namespaces with a cable between them, as two hosts. 10.99.0.1 is the first's.
requires ip nsenter unshare
unshare --net true 2>/dev/null || skip_all "no right to make network namespaces here"
sides=()
for i in 0 1; do
    start "side$i" unshare --net bash -c 'ip link set lo up; echo up; exec tail -f /dev/null'
    sides[i]=$PID
    await_line "side$i" '^up' || bail "no namespace"
done
# inside SIDE COMMAND...:  on that side
inside() { nsenter --net="/proc/${sides[$1]}/ns/net" "${@:2}"; }
inside 0 ip link add cable0 type veth peer name cable1 netns "${sides[1]}" 2>/dev/null || skip_all "no veth devices here"
for i in 0 1; do
    inside $i ip addr add "10.99.0.$((i + 1))/24" dev "cable$i"
    inside $i ip link set "cable$i" up
done
