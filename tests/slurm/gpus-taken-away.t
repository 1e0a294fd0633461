#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job whose GPUs the administrator takes away is told so, and goes back into the queue, is ended or
# goes on, as the settings say; a job that only waits or ends by itself is none of these. seconds: 600
. "$(dirname "$0")/cluster.sh"
export RGPU_SIM_FAULTS=$TMP/faults
: >"$RGPU_SIM_FAULTS"
start_pool_cluster
start_sync
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
begin() {
    rm -f ready
    job=$(as $ALICE sbatch --parsable -o out "$@" --wrap 'echo >ready; exec cat <gate')
    await "the job" test -e ready
}
lease() { api GET "/v1/leases?state=granted" | at leases.0.id; }
restarted() { [ "$(job_field "$job" Restarts)" = 1 ] && job_is "$job" RUNNING; }
told() { grep -q "remote GPUs were taken away ($1)" out; }
policy() { stop "$SYNC_PID"; rgpu_settings "lost_gpus = $1" "${@:2}"; start_sync; }

begin --gres=rgpu:2
"$ctl" revoke "$(lease)" >/dev/null
ok "revoke sends a job back into the queue, and it starts again" await "its next start" restarted
logs "$TMP/sync.log" "job=$job has lost its GPUs reason=\"revoked\": it goes back into the queue" "the log says why"
like "$(scontrol show job "$job")" 'AdminComment=rgpu: exclusive box' "scontrol show job has its new GPUs"
is "$(leases state=granted)" 1 "it has GPUs again"
scancel "$job"
await "no leases" no_leases

begin --gres=rgpu:1 --no-requeue
box=$(api GET "/v1/leases?state=granted" | at leases.0.gpus.0.box)
"$ctl" drain --force --reason 'fan 3 rattles' "$box" >/dev/null
ok "what must not be requeued is ended by drain --force" await "its end" job_is "$job" CANCELLED
ok "the job's output has the administrator's words" await "the word" told "drained by force: fan 3 rattles"
"$ctl" undrain "$box" >/dev/null

begin --gres=rgpu:1 --no-requeue
box=$(api GET "/v1/leases?state=granted" | at leases.0.gpus.0.box) gpu=$(api GET "/v1/leases?state=granted" | at leases.0.gpus.0.index)
echo "$gpu xid 79" >>"$RGPU_SIM_FAULTS"
ok "a fault of its GPU ends a job" await "its end" job_is "$job" CANCELLED
ok "whose output names the fault" await "the word" told "drained by force: Xid 79, the GPU has fallen off the bus .RESTART_BM."
ok "rgpuctl test puts the GPU back" "$ctl" test "$box:$gpu" --mem 1M
for box in $(api GET /v1/boxes | python3 -c 'import json, sys; [print(box["name"]) for box in json.load(sys.stdin)["boxes"]]'); do
    "$ctl" undrain "$box:$gpu" >/dev/null
done

policy end
begin --gres=rgpu:1
"$ctl" revoke "$(lease)" >/dev/null
ok "lost_gpus = end ends it" await "its end" job_is "$job" CANCELLED
ok "and says so" await "the word" told revoked
as $ALICE srun --gres=rgpu:1 sh -c 'echo >ready2; exec cat <gate' >srun.out 2>&1 &
await "an srun" test -e ready2
"$ctl" revoke "$(lease)" >/dev/null
wait "$!" || true
like "$(cat srun.out)" 'taken away \(revoked\)' "an srun ends with the reason"

stop "$BROKER_PID"
start_broker --munge yes --munge-socket "$MUNGE_SOCKET" --away-after 3s
for box in box1 box2; do await "box $box" box_is $box up; done
policy end "lost_after = 2s"
begin --gres=rgpu:1 --no-requeue
box=$(api GET "/v1/leases?state=granted" | at leases.0.gpus.0.box)
declare -n box_pid=BOX_PID_$box
kill -STOP "$box_pid"
ok "a box that is away for longer than lost_after ends a job" await "its end" job_is "$job" CANCELLED
ok "whose output says so" await "the word" told "box $box has been away for [0-9]* s"
kill -CONT "$box_pid"
ok "when the box is back the lease ends" await "no leases" no_leases
await "the box" box_is "$box" up

policy notify
begin --gres=rgpu:1
"$ctl" revoke "$(lease)" >/dev/null
ok "lost_gpus = notify says so" await "the word" told revoked
ok "and lets it run" job_is "$job" RUNNING
rounds() { [ "$(grep -c "job=$job has lost its GPUs" "$TMP/sync.log")" -ge 1 ]; }
await "the log" rounds
begin --gres=rgpu:1
is "$(grep -c "taken away" out)" 0 "another job is not told"
scancel -u $ALICE
ok "all end" await "no leases" no_leases
is "$(grep -c 'has lost its GPUs' "$TMP/sync.log")" 7 "each loss is dealt with once"
ok "the invariants hold" invariants --idle
done_testing
