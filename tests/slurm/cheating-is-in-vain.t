#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users might try: forged job numbers, licences of their own, tickets of others, licences
# dropped from a running job, counts without GPUs. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
await "parking" free_licenses_are rgpu 4

fails "licences of one's own with -L" as $ALICE sbatch -L rgpu:4 --wrap true
like "$(as $ALICE sbatch -L rgpu:4 --wrap true 2>&1 || true)" 'come with --gres=rgpu' "are refused with the reason"
fails "also those for shares, in another case" as $ALICE srun -L RGPU_MEM:1 true
like "$(as $ALICE sbatch --gres=rgpu:1 -N1-2 --wrap true 2>&1 || true)" 'fixed number of nodes' "a range of nodes"
like "$(as $ALICE sbatch --gres=rgpu:1 -n20 --wrap true 2>&1 || true)" 'say how many nodes' "tasks that fit no node"
like "$(as $ALICE sbatch --gres=rgpu:1 --rgpu-mode=shared --wrap true 2>&1 || true)" 'needs a memory budget' "a share without a budget"

victim=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:2 --wrap 'cp "$RGPU_TICKET_FILE" alice.ticket; chmod 644 alice.ticket; echo >ready; exec cat <gate')
await "the victim" test -e ready
out=$(as $BOB env SLURM_JOB_ID="$victim" SLURM_JOBID="$victim" srun --gres=rgpu:1 true 2>&1 || true)
like "$out" 'Access|denied|Invalid|credential' "a step in another's job is refused by Slurm"
is "$(as $BOB srun sh -c "SLURM_JOB_ID=$victim; export RGPU_COUNT=2; "'echo "${RGPU_TICKET_FILE-none}"')" none "a job without GPUs has no ticket"
out=$(as $BOB env RGPU_COUNT=2 srun --export=ALL,RGPU_COUNT=2 sh -c 'echo "${RGPU_COUNT-none} ${RGPU_TICKET_FILE-none}"')
is "$out" "none none" "a forged count gives none"
out=$(as $BOB env RGPU_TICKET_FILE="$TMP/work/alice.ticket" RGPU_TICKET="$(cat alice.ticket)" srun sh -c 'echo "${RGPU_TICKET-none} ${RGPU_TICKET_FILE-none}"')
is "$out" "none none" "an exported ticket does not come into a job"
fails "the file of another's ticket is not to be read" as $BOB sh -c "cat $TMP/tickets/*"
fails "nor its directory" as $BOB ls "$TMP/tickets"
fails "and a copy is refused by the client library where others could read it" as $BOB env LD_LIBRARY_PATH="$TMP/share/lib" RGPU_TICKET_FILE="$TMP/work/alice.ticket" "$SAXPY"
# ask USER METHOD PATH JSON: a request to the broker with that user's munge credential.
ask() {
    as "$1" python3 - "$MUNGE_SOCKET" "$(stat -c %u "/proc/$BROKER_PID")" "$BROKER" "${@:2}" <<'END'
import hashlib, http.client, subprocess, sys
socket, broker_user, broker, method, path, body = sys.argv[1:7]
text = "%s %s\n%s\n" % (method, path, hashlib.sha256(body.encode()).hexdigest())
digest = hashlib.sha256(text.encode()).hexdigest()
munge = subprocess.run(["munge", "-S", socket, "--restrict-uid", broker_user],
                       input=digest + " " + "5" * 64, capture_output=True, text=True)
connection = http.client.HTTPConnection(broker)
connection.request(method, path, body, {"Authorization": "Munge " + munge.stdout.strip(), "Content-Type": "application/json",
                                        "Content-SHA256": hashlib.sha256(body.encode()).hexdigest()})
answer = connection.getresponse()
print(answer.status, answer.read().decode())
END
}
lease=$(api GET /v1/leases | at leases.0.id)
key=$(api GET /v1/leases | at leases.0.key)
like "$(ask $BOB POST /v1/tickets "{\"lease\": \"$lease\"}")" '^403 ' "the broker gives another's ticket to nobody"
like "$(ask $BOB POST /v1/leases/release "{\"key\": \"$key\"}")" '^403 ' "nor lets him release it"
like "$(ask $BOB POST /v1/leases "{\"request\": {\"gpus\": [{}]}}")" '^403 ' "nor take GPUs past Slurm"
like "$(ask $BOB DELETE "/v1/leases/$lease" '')" '^403 ' "nor end it"
unlike "$(ask $BOB GET "/v1/leases?key_prefix=slurm/" '')" "$lease" "nor find it by its key"

is "$(job_field "$victim" Licenses)" rgpu:2 "the victim's licences"
as $ALICE scontrol update job="$victim" licenses= >/dev/null 2>&1 || true
is "$(job_field "$victim" Licenses)" rgpu:2 "are not dropped while it runs"
as $ALICE scontrol update job="$victim" licenses=rgpu:1 >/dev/null 2>&1 || true
is "$(job_field "$victim" Licenses)" rgpu:2 "nor lowered"
waiting=$(as $ALICE sbatch --parsable -H --gres=rgpu:1 -o late.out --wrap "$DEVICES")
as $ALICE scontrol update job="$waiting" licenses= >/dev/null 2>&1 || true
is "$(job_field "$waiting" Licenses)" rgpu:1 "nor while it waits"
ok "a job that waits may ask for more" as $ALICE scontrol update job="$waiting" gres=rgpu:2
is "$(job_field "$waiting" Licenses)" rgpu:2 "which is counted"
as $ALICE scontrol release "$waiting"
ok "and given" await "its end" job_is "$waiting" COMPLETED
like "$(cat late.out)" '^ok .* both devices' "both of them"
cp alice.ticket "$TMP/old.ticket"
scancel "$victim"
ok "all end" await "no leases" no_leases
chmod 600 "$TMP/old.ticket"
fails "a ticket of a job that is over opens nothing" env LD_LIBRARY_PATH="$TMP/share/lib" RGPU_TICKET_FILE="$TMP/old.ticket" "$SAXPY"
ok "no node is drained" await "idle nodes" nodes_idle
ok "the invariants hold" invariants --idle
done_testing
