#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user whose jobs ask for GPUs in ever new ways keeps nobody else's from being counted: he is refused with
# the reason, others are not, and the licences go with the jobs. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
await "the count" free_licenses_are rgpu 4
submit() { as "$1" sbatch --parsable --hold -o /dev/null --gres=rgpu:1 "${@:2}" --wrap true 2>&1; }
kinds() { scontrol show licenses | grep -c '^LicenseName=rgpu_min-memory_[0-9]*M$' || true; }

before=$(kinds) jobs=()
for i in $(seq 16); do
    jobs+=("$(submit $ALICE --rgpu-constraint="min-memory=${i}M")")
done
is "$(printf '%s\n' "${jobs[@]}" | grep -c '^[0-9]*$')" 16 "sixteen ways to ask are taken"
like "$(submit $ALICE --rgpu-constraint='min-memory=17M' || true)" 'in 16 different ways .*, which is the most' "the next one is refused, in words"
jobs+=("$(submit $ALICE --rgpu-constraint='min-memory=3M')")
like "${jobs[16]}" '^[0-9]+$' "one that asks as another does is taken"
theirs=$(submit $BOB --rgpu-constraint='min-memory=18M')
like "$theirs" '^[0-9]+$' "another user's is taken"
ok "each way has a licence" [ "$(kinds)" = $((before + 17)) ]
names() { scontrol show licenses | grep '^LicenseName=rgpu_min-memory'; }
same_names() { [ "$(names)" = "$known" ]; }
known=$(names)
stop "$SLURMCTLD_PID"
start_slurmctld
ok "a slurmctld that starts anew has the same licences" await "the licences" same_names
is "$(job_field "$theirs" Licenses)" rgpu:1,rgpu_min-memory_18M:1 "and a job still names its own, as it is asked for"
scancel "${jobs[@]}" "$theirs"
all_gone() { [ "$(kinds)" = "$before" ]; }
ok "which goes with the last job that asks so" await "the end of the licences" all_gone
like "$(submit $ALICE --rgpu-constraint='min-memory=19M')" '^[0-9]+$' "and the user may ask in new ways"
done_testing
