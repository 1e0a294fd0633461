#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A reload of the broker applies what can be applied, names what needs a restart, and leaves everything where something is wrong.
. "$(dirname "$0")/broker.sh"
conf=$TMP/broker.conf
printf '[auth]\nanonymous_read = no\n[pool]\nkeep_events = 1000\n' >"$conf"
start_broker --config "$conf"
anonymous() { python3 -c 'import sys, urllib.request as u, urllib.error as e
try: print(u.urlopen(sys.argv[1]).status)
except e.HTTPError as error: print(error.code)' "http://$BROKER/v1/boxes"; }
reloads() { grep -c 'settings reloaded' "$BROKER_LOG" || true; }
reload() {
    local before
    before=$(reloads)
    kill -HUP "$BROKER_PID"
    await "the reload" sh -c "[ \$(grep -c 'settings reloaded' '$BROKER_LOG') -gt $before ]"
}
is "$(anonymous)" 401 "strangers may not look"
printf '[broker]\nmax_connections = 1000\n[auth]\nanonymous_read = yes\n[pool]\nkeep_events = 1000\n' >"$conf"
reload
is "$(anonymous)" 200 "after a reload they may"
logs "$BROKER_LOG" 'needs a restart .*name=max_connections' "a setting that needs a restart is named"
unlike "$(cat "$BROKER_LOG")" 'needs a restart .*name=(listen|socket|state_dir)' "those of the command line have not changed"
printf '[auth]\nanonymous_read = no\nuser_leesas = yes\n' >"$conf"
kill -HUP "$BROKER_PID"
await "the complaint" grep -q 'reload failed' "$BROKER_LOG"
is "$(anonymous)" 200 "where something is wrong nothing changes"
logs "$BROKER_LOG" 'user_leesas' "and the log says what"
ok "the invariants hold" invariants --idle
done_testing
