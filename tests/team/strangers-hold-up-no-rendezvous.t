#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Strangers who connect with the process that leads a rendezvous, and say nothing or the wrong thing, hold up nobody.
. "$(dirname "$0")/../lib.sh"
export RGPU_TEAM_DIR=$TMP/teams
mkdir "$RGPU_TEAM_DIR"
environment=("LD_LIBRARY_PATH=$BUILD/lib/sim:$BUILD/lib" RGPU_SIM_DEVICES=2 "RGPU_SIM_STATE=$TMP/native")
begin() {
    local name=$1
    shift
    start "$name" env "LD_PRELOAD=$(preload_for_sanitizers)" "${environment[@]}" "$BUILD/tests/team/joined" "$@"
}
cat >"$TMP/strangers.py" <<'PY'
import os, signal, socket, sys
directory = "/proc/%s/fd/" % sys.argv[1]
own = {os.readlink(directory + name) for name in os.listdir(directory)}
ports = {int(words[1].split(":")[1], 16)
         for table in ("tcp", "tcp6")
         for words in (line.split() for line in open("/proc/net/" + table).read().splitlines()[1:])
         if words[3] == "0A" and "socket:[%s]" % words[9] in own}
if not ports:
    sys.exit(1)
if len(sys.argv) < 3:
    sys.exit(0)
held = []
for number in range(200):
    for port in ports:
        stranger = socket.create_connection(("127.0.0.1", port))
        if number % 2:
            stranger.send(b"x" * (100 if number % 3 else 7))
        held.append(stranger)
print("connected", len(held), flush=True)
signal.pause()
PY
begin leader hello 2 0 1
LEADER=$PID
listens() { python3 "$TMP/strangers.py" "$LEADER"; }
await "the leader" listens
start strangers python3 "$TMP/strangers.py" "$LEADER" crowd
ok "strangers crowd at the process that leads" await_line strangers connected
begin follower hello 2 1 1
ok "the other one meets it beside them" await_line follower '^1\.\.[2-9]'
ok "and it the other one" await_line leader '^1\.\.[2-9]'
done_testing
