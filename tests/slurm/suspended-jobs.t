#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that Slurm suspends gives its GPUs to another, which Slurm then starts, and has them again when it goes on and they
# are free. seconds: 300
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
share "$BUILD/tests/held-data"
mkfifo -m 666 "$TMP/work/gate" "$TMP/work/hold"
exec 9<>"$TMP/work/gate" 8<>"$TMP/work/hold"
lease_of() { api GET "/v1/leases?key_prefix=slurm/test/$1/" | at "leases.0.$2"; }
suspended_is() { [ "$(lease_of "$job" suspension)" = "$1" ]; }
said() { grep -q "$1" "$TMP/work/out"; }
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }
two="--gres=rgpu:2 --rgpu-constraint=box=box1"

await "the count" free_licenses_are rgpu 4
job=$(as $ALICE sbatch --parsable -o "$TMP/work/out" $two --wrap "exec $SHARED/held-data 4 <gate")
ok "a job computes" await "its data" said ready
other=$(submit $two --wrap "$SAXPY && exec cat <hold")
ok "another waits for its GPUs" await "its reason" pending_for "$other" Licenses
scontrol suspend "$job"
ok "when Slurm suspends the first, the other runs" await "its start" job_is "$other" RUNNING
is "$(lease_of "$job" suspension)" suspended "on GPUs that the first has left"
is "$(free_licenses rgpu)" 2 "of which nothing is counted twice"
third=$(submit $two --wrap "$SAXPY")
ok "a third waits" await "its reason" pending_for "$third" Licenses
echo look >&9
scontrol resume "$job"
ok "resumed while another has its GPUs, a job waits for them" await "the lease" suspended_is returning
ok "in silence" test "$(grep -c right "$TMP/work/out")" = 0
scancel "$other"
ok "and goes on with its data when they are free" await "the look" said '^right 1$'
is "$(lease_of "$job" suspension)" "" "as if nothing had been"
like "$(job_state "$third")" '^(PENDING|CONFIGURING)$' "before those in the queue"
ok "all counters agree" await "agreement" counters_agree
scontrol suspend "$job"
ok "suspended once more it lets the third compute" await "its end" job_is "$third" COMPLETED
scancel "$job"
ok "a suspended job can be cancelled" await "the end" no_leases
ok "and nothing is left of it" await "the count" free_licenses_are rgpu 4
ok "no node is drained" await "idle nodes" nodes_idle
ok "the invariants hold" invariants --idle
done_testing
