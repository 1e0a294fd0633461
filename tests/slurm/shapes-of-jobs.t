#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Arrays, several nodes, steps with fewer GPUs side by side, ranks, constraints, modes. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
job=$(as $ALICE sbatch --parsable -o 'array.%a' --array=0-5 --gres=rgpu:1 --wrap "$SAXPY && echo fine")
array_done() { [ "$(cat array.* 2>/dev/null | grep -c fine)" = 6 ]; }
ok "an array of six on four GPUs" await "the array" array_done
ok "gives all back" await "no leases" no_leases

out=$(as $ALICE srun -N2 --gres=rgpu:2 "$SHOW")
is "$(wc -l <<<"$out")" 2 "a step on two nodes"
is "$(uuids <<<"$out" | wc -l)" 4 "has two GPUs on each, four in all"
like "$(as $ALICE srun -N2 --gres=rgpu:2 "$DEVICES" || true)" '^ok .* both devices' "and computes on each"

cat >steps.sh <<END
#!/bin/sh
srun --exact -n1 -c1 --gres=rgpu:1 sh -c '$SHOW; echo here >>meet; until [ \$(wc -l <meet) = 2 ]; do :; done' >first &
srun --exact -n1 -c1 --gres=rgpu:1 sh -c '$SHOW; echo here >>meet; until [ \$(wc -l <meet) = 2 ]; do :; done' >second &
wait
srun -n1 --gres=none sh -c 'echo "\${RGPU_COUNT-none} \${RGPU_TICKET_FILE-none}"' >third
END
: >meet
chmod 777 meet steps.sh
ok "steps side by side" batch $ALICE -o steps.out -n2 --gres=rgpu:2 steps.sh
is "$(cat first second | uuids | wc -l)" 2 "have different GPUs of their job"
like "$(cat first)" 'count=1 ' "one each"
is "$(cat third)" "none none" "and a step with --gres=none has none"

ok "a constraint" as $ALICE srun --gres=rgpu:2 --rgpu-constraint=box=box2 "$SAXPY"
out=$(as $ALICE srun --gres=rgpu:2 --rgpu-constraint=different-boxes sh -c 'wc -l <$RGPU_TICKET_FILE')
is "$out" 2 "GPUs of different boxes"
out=$(as $ALICE srun --gres=rgpu:1 --rgpu-constraint=colour=red true 2>&1 || true)
like "$out" 'colour=red.* not understood' "a constraint that is none is refused at once, by name"

ok "exclusive with a least memory" as $ALICE srun --gres=rgpu:1 --rgpu-mode=exclusive --rgpu-mem=1G "$SAXPY"
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
await "no leases" no_leases
"$ctl" drain box1:0 >/dev/null && "$ctl" mode box1:0 shared >/dev/null && "$ctl" undrain box1:0 >/dev/null
memory_to_share() { [ "$(free_licenses rgpu_mem)" -ge 2 ]; }
await "the shared GPU" memory_to_share
cat >shares.sh <<END
#!/bin/sh
$SAXPY >/dev/null && echo here >>meet2
until [ \$(wc -l <meet2) = 2 ]; do :; done
END
: >meet2
chmod 777 meet2 shares.sh
as $ALICE srun --gres=rgpu:1 --rgpu-mem=200M ./shares.sh &
one=$!
as $BOB srun --gres=rgpu:1 --rgpu-mode=shared --rgpu-mem=200M ./shares.sh &
two=$!
ok "two users' shares of one GPU" wait "$one"
ok "at the same time" wait "$two"

rgpu_settings 'ranks = local'
out=$(as $ALICE srun -n4 --gres=rgpu:2 "$SHOW" | sort)
like "$out" '^0 count=1 GPU-[^ ]*$' "where ranks are given GPUs by their local number a rank has one"
is "$(sed -n '1p;3p' <<<"$out" | uuids | wc -l)" 1 "the first and the third rank the same"
is "$(uuids <<<"$out" | wc -l)" 2 "and all together two"
ok "all end" await "no leases" no_leases
ok "the invariants hold" invariants --idle
ok "no ticket and no lock is left" await "the end of the tickets" no_tickets
done_testing
