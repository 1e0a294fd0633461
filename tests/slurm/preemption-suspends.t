#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# With PreemptMode=SUSPEND a job of higher priority has the GPUs of others for a while: those are suspended, and go on with
# their data when it has ended. What gang scheduling suspends lends its GPUs, too. seconds: 600
. "$(dirname "$0")/cluster.sh"
BOX_OPTIONS=([box2]="--suspend-timeout 1s")
start_pool_cluster PreemptType=preempt/partition_prio PreemptMode=SUSPEND,GANG SchedulerTimeSlice=5 \
    "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=1" \
    "PartitionName=low Nodes=ALL PriorityTier=1 OverSubscribe=FORCE:1 State=UP" \
    "PartitionName=urgent Nodes=ALL PriorityTier=10 OverSubscribe=FORCE:1 State=UP" \
    "PartitionName=turns Nodes=n1 PriorityTier=1 OverSubscribe=FORCE:2 State=UP"
start_sync
share "$BUILD/tests/held-data"
declare -A gate=()
# holder NAME "MIB [NANOSECONDS]" [OPTION...]: a job that looks at its data when told to. Sets job.
holder() {
    local fd
    mkfifo -m 666 "$TMP/work/$1.in"
    exec {fd}<>"$TMP/work/$1.in"
    gate[$1]=$fd
    job=$(as $ALICE sbatch --parsable -o "$1.out" "${@:3}" --wrap "exec $SHARED/held-data $2 <$1.in")
    await "the data of $1" says "$1" ready
}
says() { grep -q "$2" "$1.out"; }
look() { echo look >&"${gate[$1]}"; }
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }
lends() { [[ $(scontrol show job "$1") == *"SystemComment=rgpu: suspended, its GPUs are lent to job $2"* ]]; }
mkfifo -m 666 "$TMP/work/hold"
exec 8<>"$TMP/work/hold"
hold="$SAXPY && exec cat <hold"

await "the count" free_licenses_are rgpu 4
holder one 4 -p low --gres=rgpu:2 --rgpu-constraint=box=box1
one=$job
holder two "1 600000000000" -p low --gres=rgpu:2 --rgpu-constraint=box=box2
two=$job
urgent=$(submit -p urgent --gres=rgpu:1 --rgpu-constraint=box=box1 --wrap "$hold")
ok "an urgent job runs" await "its start" job_is "$urgent" RUNNING
ok "in the place of one that is suspended" job_is "$one" SUSPENDED
ok "which says for whose sake" lends "$one" "$urgent"
ok "a job that has nothing of use to it runs on" job_is "$two" RUNNING
look one
second=$(submit -p urgent --gres=rgpu:1 --rgpu-constraint=box=box1 --wrap "$hold")
ok "what the first left is for another" await "its start" job_is "$second" RUNNING
equal=$(submit -p low --gres=rgpu:1 --rgpu-constraint=box=box1 --wrap "$SAXPY")
ok "one of lower rank waits" await "its reason" pending_for "$equal" Licenses
scancel "$second"
ok "until something is free" await "its end" job_is "$equal" COMPLETED
scancel "$urgent"
ok "after the urgent job the suspended one runs" await "it" job_is "$one" RUNNING
ok "with its data" await "the look" says one '^right 1$'
unlike "$(scontrol show job "$one")" 'SystemComment=rgpu' "and its comment is gone"

urgent=$(submit -p urgent --gres=rgpu:1 --rgpu-constraint=box=box1 --wrap "$hold")
await "its start" job_is "$urgent" RUNNING
stop "$SLURMCTLD_PID"
start_slurmctld
look one
scancel "$urgent"
ok "also where slurmctld was started anew meanwhile" await "the look" says one '^right 2$'
ok "and runs" await "it" job_is "$one" RUNNING

urgent=$(submit -p urgent --gres=rgpu:1 --rgpu-constraint=box=box2 --wrap "$hold")
refused() { [[ $(scontrol show job "$two") == *"SystemComment=rgpu: its GPUs cannot be lent: its work on the GPU"* ]]; }
ok "one whose kernel does not end keeps its GPUs, and says so" await "the word" refused
ok "it runs" await "it" job_is "$two" RUNNING
ok "who wanted them waits" await "its reason" pending_for "$urgent" Licenses
scancel "$two"
ok "until that has ended" await "its start" job_is "$urgent" RUNNING
scancel "$urgent" "$one"
ok "all end" await "no leases" no_leases

# By turns on the processors of one node, with all GPUs between them.
holder first 4 -p turns -c 8 --gres=rgpu:2 --rgpu-constraint=box=box1
first=$job
holder other 4 -p turns -c 8 --gres=rgpu:2 --rgpu-constraint=box=box2
third=$(submit -p low -w n2 --gres=rgpu:1 --wrap "$SAXPY")
ok "what gang scheduling has suspended lends its GPUs" await "the end of a third" job_is "$third" COMPLETED
look first
look other
ok "and goes on with its data" await "the look" says first '^right 1$'
ok "so does the other" await "the look" says other '^right 1$'
scancel "$first" "$job"
ok "all end" await "no leases" no_leases
ok "all is free" await "the count" free_licenses_are rgpu 4
ok "no node is drained" await "idle nodes" nodes_idle
ok "the invariants hold" invariants --idle
done_testing
