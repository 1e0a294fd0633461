#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# GPUs that the broker refuses send a job back into the queue, no node is drained, and the user sees
# why; a node whose slurmd has no plugin, or one of another version, gives no GPU and says so. seconds: 600
. "$(dirname "$0")/cluster.sh"
# Slurm's count does not follow the pool here, so that Slurm starts jobs that the broker has nothing for.
RGPU_JOBS=('count = no')
LICENSES=rgpu:16,rgpu_mem:262144
start_pool_cluster
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET

outsider=$(api POST /v1/leases '{"request": {"gpus": [{"count": 4}]}}' | at lease.id)
job=$(as $ALICE sbatch --parsable -o out --gres=rgpu:1 --wrap "$SAXPY && echo fine")
requeued() { [ "$(job_field "$job" Restarts)" -ge 1 ] && job_is "$job" PENDING; }
ok "a job without GPUs goes back into the queue" await "the requeue" requeued
like "$(scontrol show job "$job")" 'SystemComment=rgpu: no GPUs of the pool fit this job now' "and says why"
ok "no node is drained" await "idle nodes" nodes_idle
ok "nothing is left of the attempt" await "its end" leases_are 1
api DELETE "/v1/leases/$outsider" >/dev/null
ok "it runs when there are GPUs" await "its end" job_is "$job" COMPLETED
unlike "$(scontrol show job "$job")" 'SystemComment=rgpu' "and the reason is gone"
is "$(cat out)" "$(grep -v fine out; echo fine)" "with its GPUs"

outsider=$(api POST /v1/leases '{"request": {"gpus": [{"count": 4}]}}' | at lease.id)
out=$(as $ALICE srun --gres=rgpu:1 true 2>&1 || true)
like "$out" 'no GPUs of the pool fit' "an srun ends with the reason after a longer wait"
api DELETE "/v1/leases/$outsider" >/dev/null

job=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 --rgpu-constraint='model=*nothing*' --wrap true)
held() { [ "$(job_field "$job" Priority)" = 0 ] && job_is "$job" PENDING; }
ok "a job that no pool could serve is held" await "the hold" held
like "$(scontrol show job "$job")" 'could ever satisfy' "and says why"
scancel "$job"

running=$(as $ALICE sbatch --parsable -o started --gres=rgpu:1 --wrap 'echo started; exec sleep 3600')
await "its start" grep -qs started started
stop "$BROKER_PID" KILL
rc=0
out=$(as $ALICE srun --jobid="$running" --overlap --gres=rgpu:1 echo 'the program ran' 2>&1) || rc=$?
is "$rc" 1 "a step that starts while the broker is away fails"
like "$out" 'remote GPUs cannot be used: .*broker' "and says why"
unlike "$out" 'the program ran' "its program does not run"
scancel "$running"
job=$(as $ALICE sbatch --parsable -o out2 --gres=rgpu:1 --wrap "$SAXPY && echo fine")
configuring() { scontrol show job "$job" | grep -q 'JobState=CONFIGURING\|Restarts=[1-9]'; }
await "its start" configuring
start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
await "box1" box_is box1 up
await "box2" box_is box2 up
ok "a job that starts while the broker is away waits for it" await "its end" job_is "$job" COMPLETED
start_sync # releases what ended while the broker was away
ok "all is back" await "no leases" no_leases

ok "health on a node that is well" sh -c "RGPU_SLURM_CONF=$SLURM_DIR/rgpu.conf '$ctl' health 2>&1 | grep -q 'pid ${SLURMD_PID[n3]})' && exit 1; exit 0"
# wrong_version SOURCE TARGET: the plugin as it would be for the Slurm of one patch level before.
wrong_version() {
    python3 - "$@" <<'END'
import struct, subprocess, sys
data = bytearray(open(sys.argv[1], "rb").read())
names = subprocess.run(["nm", "-D", sys.argv[1]], capture_output=True, text=True).stdout.split("\n")
address = next(int(n.split()[0], 16) for n in names if n.endswith(" plugin_version"))
start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
for i in range(count):
    kind, _, offset, virtual, _, length = struct.unpack_from("<IIQQQQ", data, start + i * size)
    if kind == 1 and virtual <= address < virtual + length:
        at = address - virtual + offset
        struct.pack_into("<I", data, at, struct.unpack_from("<I", data, at)[0] - 1)
open(sys.argv[2], "wb").write(data)
END
}
for fault in missing of-another-version; do
    mkdir -p "$TMP/$fault"
    cp "$PLUGINS"/{prep_rgpu,job_submit_rgpu,spank_rgpu,rgpu_step}.so "$TMP/$fault/"
    [ $fault = missing ] || wrong_version "$PLUGINS/gres_rgpu.so" "$TMP/$fault/gres_rgpu.so"
    sed "s|^PluginDir=[^:]*|PluginDir=$TMP/$fault|" "$SLURM_DIR/slurm.conf" >"$SLURM_DIR/$fault.conf"
    stop "${SLURMD_PID[n3]}"
    start "slurmd-n3" env "${DAEMON_ENV[@]}" SLURM_CONF="$SLURM_DIR/$fault.conf" slurmd -D -N n3
    SLURMD_PID[n3]=$PID
    await "idle nodes" nodes_idle
    health=$(RGPU_SLURM_CONF=$SLURM_DIR/rgpu.conf "$ctl" health 2>&1 || true)
    like "$health" "slurmd \(pid ${SLURMD_PID[n3]}\) has not loaded gres_rgpu.so" "health on a node whose plugin is $fault"
    out=$(as $ALICE srun -w n3 --gres=rgpu:1 sh -c 'echo ${RGPU_TICKET_FILE-none}' 2>&1 || true)
    like "$out" '^none$' "a job there has no ticket"
    fails "and no GPU" as $ALICE srun -w n3 --gres=rgpu:1 env LD_LIBRARY_PATH="$TMP/share/lib" "$SAXPY"
    ok "which leaves nothing" await "no leases" no_leases
done

config=$("$ctl" slurm-config)
like "$config" "^Licenses=rgpu:2147483647,rgpu_mem:2147483647" "slurm-config names the licences, whose count is the pool's"
like "$config" "^PluginDir=$BUILD/lib/slurm:" "and where the plugins are"
ok "the invariants hold" invariants --idle
done_testing
