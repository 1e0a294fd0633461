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

# Keys and users of the API.
asks() { python3 "$TOP/tests/broker/signed.py" "$BROKER" "$TMP/late.key" GET /v1/whoami | sed -n 1p; }
printf 'user.12345 %064d\n' 8 >"$TMP/late.key"
chmod 600 "$TMP/late.key"
cp -p "$TMP/api.keys" "$TMP/few.keys"
is "$(asks)" 401 "a key that the file does not have is refused"
cat "$TMP/late.key" >>"$TMP/api.keys"
reload
is "$(asks)" 200 "after a reload it is a user's"
printf '[auth]\nadmins = no-such-user\nanonymous_read = yes\n[pool]\nkeep_events = 1000\n' >"$conf"
cat "$TMP/few.keys" >"$TMP/api.keys"
kill -HUP "$BROKER_PID"
logs "$BROKER_LOG" 'there is no user no-such-user' "an administrator who does not exist fails a reload"
logs "$BROKER_LOG" 'reload failed' "as a whole"
is "$(asks)" 200 "and the keys stay, too"
printf '[auth]\nadmins = 12345\nanonymous_read = yes\n[pool]\nkeep_events = 1000\n' >"$conf"
cat "$TMP/late.key" >>"$TMP/api.keys"
reload
like "$(python3 "$TOP/tests/broker/signed.py" "$BROKER" "$TMP/late.key" GET /v1/whoami)" '"admin": ?true' "a new administrator is one after a reload"
cat "$TMP/few.keys" >"$TMP/api.keys"
reload
is "$(asks)" 401 "and a key that is gone is refused"
printf '[auth]\nanonymous_read = no\nuser_leesas = yes\n' >"$conf"
kill -HUP "$BROKER_PID"
logs "$BROKER_LOG" 'user_leesas' "the log says what is wrong"
is "$(anonymous)" 200 "where something is wrong nothing changes"
ok "the invariants hold" invariants --idle
done_testing
