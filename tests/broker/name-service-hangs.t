#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A name service that does not answer delays neither the lists that have names nor the broker's end.
. "$(dirname "$0")/broker.sh"

mkfifo "$TMP/gate"
preload=$(preload_for_sanitizers)
start_broker LD_PRELOAD="${preload:+$preload:}$BUILD/tests/sync-gate.so" NAME_GATE="$TMP/gate"
start_pool_box box1
api POST /v1/leases '{"request": {"gpus": [{}]}}' >/dev/null
like "$(api GET '/v1/overview?find=nobody-has-this-name')" '"leases"' "a list is answered"
like "$(api GET /v1/overview)" "\"user\": *\"$(id -u)\"" "with the number of the user"
kill -TERM "$BROKER_PID"
gone() { ! kill -0 "$BROKER_PID" 2>/dev/null; }
READY_SECONDS=20
ok "the broker ends all the same" await "its end" gone
done_testing
