#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The ticket of a step whose slurmstepd was killed is removed by the next step on that node; those of
# steps that run are not. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
begin() {
    rm -f ready
    job=$(as $ALICE sbatch --parsable --no-requeue -w n1 -o /dev/null --gres=rgpu:1 --wrap 'echo $PPID >ready; exec cat <gate')
    await "the job" test -s ready
}
tickets() { find "$TMP/tickets" -name '*.ticket.*' -printf '%f\n' | sort | cut -d. -f1 | xargs; }
begin
killed=$job
read -r step <ready
begin
lives=$job
is "$(tickets)" "$killed $lives" "two jobs have tickets"
is "$(cat "/proc/$step/comm")" slurmstepd "which slurmstepd minds"
kill -KILL "$step"
scancel "$killed"
one_lease() { leases_are 1; }
await "the end of the first" one_lease
is "$(tickets)" "$killed $lives" "one is left behind"
ok "another step" as $ALICE srun -w n1 --gres=rgpu:1 "$SAXPY"
only_one() { [ "$(tickets)" = "$lives" ]; }
ok "removes it, and leaves the one in use" await "the end of its own" only_one
scancel "$lives"
ok "all end" await "no leases" no_leases
ok "no ticket is left" await "the end of the tickets" no_tickets
done_testing
