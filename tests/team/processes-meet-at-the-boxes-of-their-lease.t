#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Processes of a lease in two network namespaces with a /tmp of their own each, as on two client nodes that share no directory:
# they meet by name at a box of their lease, whichever boxes their tickets name first.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/two_hosts.sh"
. "$TOP/tests/session/tickets.sh"
JOINED=$BUILD/tests/team/joined
unset RGPU_TEAM_DIR

for i in 0 1; do
    start "box$i" nsenter --net="/proc/${sides[$i]}/ns/net" "$BUILD/bin/rgpud" --standalone --auth ticket --key-file "$TMP/box.key" --name "gpubox$i" \
        --devices sim:1 --listen "10.99.0.$((i + 1)):7310" --admin-socket "$TMP/admin-$i" --memory-check 0
    await_line "box$i" ready || bail "the box did not start"
    gpu[i]=$("$BUILD/bin/rgpuctl" devices --socket "$TMP/admin-$i" --json |
        python3 -c 'import json,sys; print(json.loads(sys.stdin.readline())["uuid"])')
done
# line BOX LEASE: the ticket for the GPU of that box.
line() {
    "$BUILD/tests/issue-ticket" "$TMP/box.key" "10.99.0.$(($1 + 1)):7310" "gpubox$1" 3600 "lease=$2" \
        shared=$((256 * 1024 * 1024)) "${gpu[$1]}"
}
# begin NAME NODE TICKET ARGUMENT...: a process of a team. The GPU of the ticket's first box is its number 0.
begin() {
    start "$1" nsenter --net="/proc/${sides[$2]}/ns/net" unshare --mount bash -c 'case $1 in /tmp/*) ;; *) mount -t tmpfs none /tmp ;; esac; exec "${@:2}"' \
        node "$BUILD" env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib" "RGPU_TICKET=$3" "${environment[@]}" "$JOINED" "${@:4}"
}

leases=(one two)
for i in 0 1; do
    near=$(line 0 "${leases[$i]}") far=$(line 1 "${leases[$i]}")
    straight[i]="$near;$far"
    crossed[i]="$far;$near"
done
environment=()
# Two leases with one name of a team; each node has its own box first in its ticket.
for i in 0 1; do begin "first-$i" 0 "${straight[$i]}" same 2 0 1; done
for i in 0 1; do begin "second-$i" 1 "${crossed[$i]}" same 2 1 1; done
for i in 0 1; do
    ok "lease $i: the process on node 0 meets and computes" await_line "first-$i" '^1\.\.[2-9]'
    ok "lease $i: the one on node 1" await_line "second-$i" '^1\.\.[2-9]'
done
unlike "$(cat "$TMP"/first-*.log "$TMP"/second-*.log)" . "and nobody has anything to say about it"

# Processes that see one GPU each: of a ticket for both, or with one for the job beside their own.
environment=(CUDA_VISIBLE_DEVICES=0)
begin hidden-0 0 "${straight[0]}" apart 2 0 1
begin hidden-1 1 "${crossed[0]}" apart 2 1 1
for i in 0 1; do ok "hidden by CUDA_VISIBLE_DEVICES: the process on node $i reaches the other GPU" await_line "hidden-$i" '^1\.\.[2-9]'; done
tr ';' '\n' <<<"${crossed[1]}" >"$BUILD/tests/job-ticket.$$"
chmod 600 "$BUILD/tests/job-ticket.$$"
environment=("RGPU_JOB_TICKET_FILE=$BUILD/tests/job-ticket.$$")
begin own-0 0 "${straight[1]%;*}" own 2 0 1
begin own-1 1 "${crossed[1]%;*}" own 2 1 1
for i in 0 1; do ok "a ticket of its own: the process on node $i reaches the GPU of the job's" await_line "own-$i" '^1\.\.[2-9]'; done
rm "$BUILD/tests/job-ticket.$$"
unlike "$(cat "$TMP"/hidden-*.log "$TMP"/own-*.log)" . "and nobody has anything to say about it"
environment=()
begin stranger-0 0 "${straight[1]%;*}" alone 2 0 1 meet 60000
begin stranger-1 1 "${straight[1]}" alone 2 1 1 meet 60000
ok "who has no ticket for a member's GPU is told" await_line stranger-0 '^# met 1 this process does not reach the GPUs of all members'

admin_health() { "$BUILD/bin/rgpuctl" health --socket "$TMP/admin-$1" --json; }
begin early 1 "${crossed[0]}" late 2 1 1 meet 60000
waits() { admin_health 1 | grep -q '"rendezvous": *1'; }
await "who comes first waits at its first box" waits
begin leader 0 "${straight[0]}" late 2 0 1 meet 60000
for name in early leader; do ok "$name: who has come early hears it as well" await_line $name '^# met 0'; done

begin in-vain 0 "${straight[0]}" nobody 2 1 1 meet 300
ok "who waits in vain is told" await_line in-vain '^# met 5 member 0 of team nobody did not come in time'
begin one 0 "${straight[0]}" twice 2 0 1 meet 60000
is_told() { admin_health 0 | grep -q '"rendezvous": *1'; }
await "member 0 is there" is_told
begin two 1 "${crossed[0]}" twice 2 0 1 meet 60000
ok "a team of that name is forming already" await_line two '^# met 1 another team twice is forming in this lease'
kill -KILL "${line_pid[one]}"
is_forgotten() { ! is_told; }
await "member 0 is forgotten when it dies" is_forgotten
begin again 0 "${straight[0]}" twice 2 0 1 meet 60000
begin other 1 "${crossed[0]}" twice 2 1 1 meet 60000
for name in again other; do ok "$name: then another one may take its place" await_line $name '^# met 0'; done
done_testing
