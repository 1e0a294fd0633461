#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease carries the protection that it was asked for with, and the broker's setting is the least.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"
ctl=$BUILD/bin/rgpuctl
program=$BUILD/tests/programs/saxpy

start_broker
start_cuda_box box1
export RGPU_BROKER=unix:$BROKER_SOCKET
opened() { RGPU_LOG=info "$ctl" run "$@" -- "$program" 2>&1 >/dev/null | grep -o 'session opened.*protection=[a-z]*' || true; }
like "$(opened)" 'protection=authenticate' "unless asked otherwise both ends prove themselves, and no more"
like "$(opened --protection privacy)" 'protection=privacy' "rgpuctl run --protection asks for privacy"
like "$(opened --constraint protection=privacy)" 'protection=privacy' "so does a constraint, wherever constraints are taken"
status=0
"$ctl" run --protection secrecy -- "$program" 2>"$TMP/err" || status=$?
is "$status" 2 "another word is an error"
like "$(cat "$TMP/err")" '\-\-protection secrecy: authenticate.privacy is what it takes' "which names the choices"
is "$(error_code POST /v1/leases '{"request": {"gpus": [{"count": 1}], "protection": "secrecy"}}')" bad-request "for the broker too"

lease=$(api POST /v1/leases '{"request": {"gpus": [{"count": 1}], "protection": "privacy"}, "ticket": true}')
RGPU_TICKET=$(at ticket <<<"$lease")
like "$(RGPU_TICKET=$RGPU_TICKET LD_LIBRARY_PATH=$BUILD/lib RGPU_LOG=info "$program" 2>&1)" 'session opened.*protection=privacy' \
    "a lease that was asked for with privacy gives it to whoever uses the ticket"
id=$(at lease.id <<<"$lease")
is "$(api GET "/v1/leases/$id" | at lease.request.protection)" privacy "and shows it"
stop "$BROKER_PID" KILL
start_broker
fresh() { api POST /v1/tickets "{\"lease\": \"$id\"}" >"$TMP/fresh"; }
await "a ticket after the restart" fresh
like "$(RGPU_TICKET=$(at ticket <"$TMP/fresh") LD_LIBRARY_PATH=$BUILD/lib RGPU_LOG=info "$program" 2>&1)" \
    'session opened.*protection=privacy' "also after the broker was killed and started again"
ok "the lease is given back" api DELETE "/v1/leases/$id"

stop "$BROKER_PID"
start_broker --protection privacy
fresh() { opened | grep privacy; }
ok "with protection = privacy the broker's tickets all ask for it" await "privacy" fresh
done_testing
