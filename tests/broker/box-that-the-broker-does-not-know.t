#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box is healthy if its broker knows it: a wrong key, or a broker that is away, is in its health, with the reason, and in its metrics.
. "$(dirname "$0")/broker.sh"
start_broker
health() { HEALTH=0; SAID=$("$BUILD/bin/rgpuctl" health --socket "$1" --json 2>&1) || HEALTH=$?; }
registered() { web "http://127.0.0.1:$(grep -o 'metrics_listen=.* port=[0-9]*' "$1" | grep -o '[0-9]*$')/metrics" | sed -n 's/^rgpu_box_registered //p'; }
start_pool_box box1 --admin-socket "$TMP/box1.sock" --metrics-listen 127.0.0.1:0
good=$BOX_LOG
health "$TMP/box1.sock"
is $HEALTH 0 "a box in the pool is healthy"
is "$(at broker <<<"$SAID")" registered "and registered"
ok "its broker has answered just now" [ "$(at broker_heard <<<"$SAID")" -ge 0 ]
is "$(registered "$good")" 1 "its metrics say so"

api GET /v1/boxes/other/key | at keys >"$TMP/box2.boxkey"
chmod 600 "$TMP/box2.boxkey"
mkdir "$TMP/box-box2"
start_stub_box --name box2 --auth ticket --key-file "$TMP/box2.boxkey" --broker "$BROKER" --state-dir "$TMP/box-box2" \
    --admin-socket "$TMP/box2.sock" --metrics-listen 127.0.0.1:0
await "the box's doubt" grep -q 'is not believed' "$BOX_LOG"
health "$TMP/box2.sock"
is $HEALTH 1 "a box with another one's key is not healthy"
like "$(at last_error <<<"$SAID")" 'see that key_file holds the key of box box2' "and says why"
is "$(at broker_heard <<<"$SAID")" -1 "its broker has never answered"
is "$(registered "$BOX_LOG")" 0 "its metrics say that it is not registered"

stop "$BROKER_PID" KILL
is_away() { health "$TMP/box1.sock"; [ "$(at broker <<<"$SAID")" = away ]; }
ok "without the broker" await "the health" is_away
is $HEALTH 1 "a box is not healthy"
like "$(at last_error <<<"$SAID")" 'no connection' "and says why"
start_broker --listen "$BROKER"
is_back() { health "$TMP/box1.sock"; [ $HEALTH = 0 ]; }
ok "with it, it is again" await "the health" is_back
is "$(at last_error <<<"$SAID")" "" "and names no error"
for _ in 1 2 3; do
    stop "$BROKER_PID" KILL
    start_broker --listen "$BROKER"
    await "the health" is_back
done
is "$(grep -c 'is not believed' "$good" || true)" 0 "a restart of the broker is no reason to doubt it"
done_testing
