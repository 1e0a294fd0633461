#!/bin/bash
# A full box makes clients wait; it does not turn them away.
. "$(dirname "$0")/stub.sh"
queued() { [ "$(admin health | member queued)" = 1 ]; }

start_stub_box --max-sessions 1
hold first
await_line first 'open session'
start second "$CLIENT" "$BOX" echo hi
await "the second client waits" queued
is "$(admin sessions | wc -l)" 1 "max_sessions holds"
release first
await_line second 'echoed'
pass "the next client is served when a session ends"

start_stub_box --max-handshakes 2 --handshake-timeout 5s
exec {a}<>"/dev/tcp/${BOX%:*}/${BOX#*:}" {b}<>"/dev/tcp/${BOX%:*}/${BOX#*:}"
await "two silent connections" sh -c "$BUILD/bin/rgpuctl health --json --socket $ADMIN | grep -q '\"handshakes\":2'"
ok "a client behind silent connections is served once they time out" \
    env RGPU_CONNECT_TIMEOUT=60s "$CLIENT" "$BOX" echo hi
like "$(cat "$BOX_LOG")" 'code=timeout' "the silent ones are logged"
exec {a}>&- {b}>&-
done_testing
