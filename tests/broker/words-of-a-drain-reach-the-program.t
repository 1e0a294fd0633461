#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What an administrator says with `drain --force --reason` is in the error of the program whose lease it ends, and in the line of
# `rgpuctl run`.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"
ctl=$BUILD/bin/rgpuctl
start_broker
start_cuda_box box1
export RGPU_BROKER=unix:$BROKER_SOCKET
unset RGPU_BOXES RGPU_TICKET RGPU_TICKET_FILE
mkfifo "$TMP/orders"
exec {orders}<>"$TMP/orders"
hold() { "$ctl" run -- "$BUILD/tests/held-data" 8 <"$TMP/orders" >"$TMP/out" 2>"$TMP/errors" {orders}>&- & }
is_ready() { grep -q ready "$TMP/out"; }
hold
pid=$!
ok "a program holds data" await "the program" is_ready
ok "its box is drained by force" "$ctl" drain box1 --force --reason 'fan 3 rattles, case 4711'
echo >&"$orders"
status=0
wait $pid || status=$?
ok "the program fails" [ $status != 0 ]
like "$(grep -v '^rgpuctl' "$TMP/errors")" 'the lease has ended: drained by force: fan 3 rattles, case 4711' "its own error has the words"
like "$(cat "$TMP/errors")" '^rgpuctl run: lease L[0-9a-z]+ has ended: drained by force: fan 3 rattles, case 4711; run the program again to get another one$' "and so has the line of rgpuctl run"
"$ctl" undrain box1
: >"$TMP/out"
hold
pid=$!
await "the program" is_ready
"$ctl" revoke "$(api GET '/v1/leases?state=granted' | at leases.0.id)"
echo >&"$orders"
wait $pid || true
like "$(grep -v '^rgpuctl' "$TMP/errors")" 'the lease has ended: revoked' "a lease that is revoked says so"
: >"$TMP/out"
ok "a program that fails by itself is told nothing of its lease" sh -c "! '$ctl' run -- false 2>'$TMP/errors'; ! grep -q 'has ended' '$TMP/errors'"
done_testing
