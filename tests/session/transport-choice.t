#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Which transport a session gets, and that the log says why.
. "$(dirname "$0")/../lib.sh"
program=$BUILD/tests/programs/saxpy
chosen() { on_box RGPU_LOG=info "$@" "$program" 2>&1 >/dev/null | grep -o 'session opened.*' || true; }

start_box
like "$(chosen)" 'transport=shm reason=".+"' "on one host shared memory is chosen"
like "$(chosen RGPU_TRANSPORT=auto)" 'transport=shm' "auto is the same"
like "$(chosen RGPU_TRANSPORT=tcp)" 'transport=tcp reason=".*asked for.*"' \
    "RGPU_TRANSPORT forces another"
status=0
on_box RGPU_TRANSPORT=pigeon "$program" >"$TMP/out" 2>"$TMP/err" || status=$?
is $status 1 "a transport that does not exist is an error"
like "$(cat "$TMP/err")" 'RGPU_TRANSPORT' "which names the variable"

start_box --transports tcp
like "$(chosen)" 'transport=tcp reason=".+"' "a box that offers TCP only gets TCP"
status=0
on_box RGPU_TRANSPORT=shm "$program" >"$TMP/out" 2>"$TMP/err" || status=$?
is $status 1 "forcing what the box does not offer is an error"
done_testing
