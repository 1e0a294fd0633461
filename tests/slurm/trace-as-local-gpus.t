#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A trace of jobs of all kinds starts in the same order with remote GPUs as with GPUs of the nodes, no
# job is started in vain, and Slurm, broker and boxes agree at every look. TRACE_SEED and TRACE_JOBS
# choose another trace. Jobs start in the order of their submission, without backfill. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_mixed_cluster 4 \
    "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=3600"
start_sync
await "the count" free_licenses_are rgpu 4
export BROKER_SOCKET TOP
seed=${TRACE_SEED:-$RANDOM}
echo "# TRACE_SEED=$seed"
# Who looks at the queue gets no answer now and then, as from a busy slurmctld.
mkdir "$TMP/busy"
echo 0 >"$TMP/looks"
cat >"$TMP/busy/squeue" <<END
#!/bin/bash
looks=\$((\$(cat "$TMP/looks") + 1))
echo "\$looks" >"$TMP/looks"
if [ \$((looks % 5)) = 3 ]; then
    echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2
    exit 1
fi
exec "$(command -v squeue)" "\$@"
END
chmod 755 "$TMP/busy/squeue"
# play GRES [ARGUMENT...]: plays the trace.
play() {
    PATH=$TMP/busy:$PATH python3 "$TOP/tests/slurm/trace.py" "$1" "${TRACE_JOBS:-30}" "$seed" $ALICE "$SLURM_DIR/slurmctld.log" "${@:2}"
}
play gpu >"$TMP/local.json" || bail "the trace with GPUs of the nodes"
play rgpu --sample "PATH=$PATH python3 $TOP/tests/slurm/agree.py $BUILD/tests/broker-api $BROKER_SOCKET" >"$TMP/remote.json" ||
    bail "the trace with remote GPUs"
starts=$(python3 -c 'import json,sys; print(len(json.load(sys.stdin)["order"]))' <"$TMP/local.json")
ok "$starts jobs have started" [ "$starts" -ge $((${TRACE_JOBS:-30} / 2)) ]
is "$(at order <"$TMP/remote.json")" "$(at order <"$TMP/local.json")" "the same order of starts"
[ "$(at order <"$TMP/remote.json")" = "$(at order <"$TMP/local.json")" ] ||
    diag "$(grep -E 'Allocate|Started|blocked|completing|Licen' "$SLURM_DIR/slurmctld.log" | tail -n 150)"
is "$(at in_vain <"$TMP/remote.json")" 0 "no job was started in vain"
is "$(at disagreements <"$TMP/remote.json")" "[]" "Slurm, broker and boxes agree at every look"
diag "local $(at seconds <"$TMP/local.json") s, remote $(at seconds <"$TMP/remote.json") s, looks $(at samples <"$TMP/remote.json")"
ok "all leases have ended" await "no leases" no_leases
ok "the invariants hold" invariants --idle
done_testing
