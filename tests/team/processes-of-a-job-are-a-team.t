#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A team of several processes: natively, on one box and on two. They meet by name within their lease or job, and no others;
# if one of them is killed, the others hear of it.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/tickets.sh"
JOINED=$BUILD/tests/team/joined
export RGPU_TEAM_DIR=$TMP/teams
mkdir "$RGPU_TEAM_DIR"

# begin NAME COMMAND...: a process of a team.
begin() {
    local name=$1
    shift
    start "$name" env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib" "RGPU_BOXES=${BOXES:-}" "${environment[@]}" "$@"
}
# together WHERE SIZE FIRST,COUNT...: processes with these members pass all of their checks.
together() {
    local where=$1 size=$2 members
    shift 2
    for members; do begin "$where-$members" "$JOINED" hello "$size" "${members%,*}" "${members#*,}"; done
    for members; do
        ok "$where: members $members of $size" await_line "$where-$members" '^1\.\.[2-9]'
        unlike "$(cat "$TMP/$where-$members.log")" . "$where: with nothing to say about it"
    done
}
# bereaved WHERE: the process with member 1 is killed, while the others wait for its signals.
bereaved() {
    local where=$1 member
    for member in 0 1 2; do begin "$where-b$member" "$JOINED" sad 3 $member 1 wait; done
    for member in 0 1 2; do await_line "$where-b$member" '^# waits' || bail "they do not meet"; done
    kill -KILL "${line_pid[$where-b1]}"
    for member in 0 2; do
        ok "$where: member $member goes on when member 1 is killed" await_line "$where-b$member" '^# lost the process of member 1 is gone'
        ok "$where: and its GPU is usable" await_line "$where-b$member" '^ok 2 '
    done
}

environment=("LD_LIBRARY_PATH=$BUILD/lib/sim:$BUILD/lib" RGPU_SIM_DEVICES=2 "RGPU_SIM_STATE=$TMP/native")
together native 3 0,1 1,1 2,1
together native-pairs 4 2,2 0,2
bereaved native
start_box --devices sim:2
BOXES=$BOX environment=()
together one-box 3 1,1 2,1 0,1
start_box --devices sim:1
first=$BOX
start_box --devices sim:1
BOXES=$first,$BOX
for transport in shm tcp; do
    environment=("RGPU_TRANSPORT=$transport")
    together "two-boxes-$transport" 2 0,1 1,1
    bereaved "two-boxes-$transport"
done

# Who meets whom.
begin alone "$JOINED" shy 2 1 1 meet 200
ok "who waits for others in vain is told" await_line alone '^# met 5 member 0 of team shy did not come in time'
begin leader "$JOINED" shy 2 0 1 meet 200
ok "as is who has member 0" await_line leader '^# met 5 1 of 2 members have come in time'
begin zero "$JOINED" order 2 0 1
begin wrong "$JOINED" order 3 1 1 meet 60000
ok "another size is another team" await_line wrong '^# met 5 the team of that name has another number of members'
begin right "$JOINED" order 2 1 1
for name in zero right; do ok "which does not disturb the one that is meeting" await_line $name '^1\.\.[2-9]'; done
begin one "$JOINED" twice 3 0 1 meet 60000
begin two "$JOINED" twice 3 1 1 meet 60000
is_there() { [ -n "$(find "$RGPU_TEAM_DIR" -type f -size +0)" ]; }
await "member 0 is there" is_there
begin three "$JOINED" twice 3 0 1 meet 60000
ok "a team of that name is forming already" await_line three '^# met 1 another team twice is forming in this job'
begin four "$JOINED" twice 3 2 1 meet 60000
for name in one two four; do ok "which does not keep it from meeting" await_line $name '^# met 0'; done
is "$(ls "$RGPU_TEAM_DIR")" "" "nothing is left of it"

# Jobs, and leases, with the same name.
for job in 7 8; do
    environment=("SLURM_JOB_ID=$job")
    begin job-$job-0 "$JOINED" same 2 0 1
done
for job in 7 8; do
    environment=("SLURM_JOB_ID=$job")
    begin job-$job-1 "$JOINED" same 2 1 1
done
for job in 7 8; do
    for member in 0 1; do ok "two jobs with one name do not meet" await_line job-$job-$member '^1\.\.[2-9]'; done
done
start_ticket_box
BOXES=
tickets=()
for lease in one two; do
    tickets+=("$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" gpubox 3600 "lease=$lease" owner=1000 shared=$((256 * 1024 * 1024)) "$GPU")")
done
for i in 0 1; do
    environment=("RGPU_TICKET=${tickets[$i]}")
    begin lease-$i-0 "$JOINED" same 2 0 1
done
for i in 0 1; do
    environment=("RGPU_TICKET=${tickets[$i]}")
    begin lease-$i-1 "$JOINED" same 2 1 1
done
for i in 0 1; do
    for member in 0 1; do ok "nor do two leases" await_line lease-$i-$member '^1\.\.[2-9]'; done
done
done_testing
