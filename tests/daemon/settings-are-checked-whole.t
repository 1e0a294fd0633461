#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --check-config of every daemon says all that is wrong with its settings, each with its place, and starts nothing;
# a start of rgpud says the same.
. "$(dirname "$0")/../lib.sh"

"$BUILD/bin/rgpu-brokerd" --make-key "$TMP/private.key" >/dev/null
install -m 0644 "$TMP/private.key" "$TMP/public.key"

# found FILE LINE REGEX: an error with that place is in $said.
found() { like "$said" "error: $1:$2: $3" "line $2: $3"; }
check() { status=0; said=$("$@" --check-config 2>&1) || status=$?; }
errors() { grep -c 'error: ' <<<"$said" || true; }

# ---- rgpud ----

cat >"$TMP/good.conf" <<END
[box]
listen = 127.0.0.1:0
devices = sim:2
admin_socket = $TMP/admin.sock
[auth]
auth = ticket
key_file = $TMP/private.key
END
check "$BUILD/bin/rgpud" --config "$TMP/good.conf"
is $status 0 "settings of rgpud that are in order"
is "$said" "rgpud: the settings are in order: $TMP/good.conf" "are called so, and nothing else is said"
ok "nothing was started" [ ! -e "$TMP/admin.sock" ]

cat >"$TMP/bad.conf" <<END
[box]
listen = 127.0.0.1:99999, nowhere
devices = nvidia
admin_socket = here
metrics_listen = :
transports = tcp, pigeon
rdma_ports = 9-8
driver = /nowhere/libcuda.so.1
lisen = 1
[workers]
worker_program = /nowhere/rgpu-worker
worker_uids = some
block_count = 2
block_size = 64K
spin_us = many
[auth]
auth = ticket
protection = privacy
key_file = $TMP/public.key
[broker]
broker = unix:/broker
END
all_found() {
    found "$TMP/bad.conf" 2 'listen=127.0.0.1:99999 is not'
    found "$TMP/bad.conf" 2 'listen=nowhere is not'
    found "$TMP/bad.conf" 3 'devices=nvidia is not understood'
    found "$TMP/bad.conf" 4 'admin_socket=here is not'
    found "$TMP/bad.conf" 5 'metrics_listen=: is not'
    found "$TMP/bad.conf" 6 'transports: pigeon is not'
    found "$TMP/bad.conf" 7 'rdma_ports: 9-8 is not'
    found "$TMP/bad.conf" 8 'driver=/nowhere/libcuda.so.1 cannot be read'
    found "$TMP/bad.conf" 9 'unknown option lisen .*did you mean listen'
    found "$TMP/bad.conf" 11 'worker_program=/nowhere/rgpu-worker cannot be run'
    found "$TMP/bad.conf" 12 'worker_uids=some is not'
    found "$TMP/bad.conf" 13 'block_size=64K times block_count=2 is less'
    found "$TMP/bad.conf" 15 'spin_us=many is not'
    found "$TMP/bad.conf" 19 'cannot load key_file='
    found "$TMP/bad.conf" 21 'broker=unix:/broker is not host:port'
    like "$said" 'error: command line: --max-queued: max_queued=-1 is not' "and on the command line"
    is "$(errors)" 16 "and nothing else is wrong"
}
check "$BUILD/bin/rgpud" --config "$TMP/bad.conf" --max-queued -1
is $status 1 "settings of rgpud that are wrong"
all_found
status=0
said=$("$BUILD/bin/rgpud" --config "$TMP/bad.conf" --max-queued -1 2>&1) || status=$?
is $status 2 "a start with them"
all_found

printf '[broker]\nbroker = here:1\n[auth]\nauth = none\nprotection = privacy\n[box]\ndevices = sim:1\n' >"$TMP/apart.conf"
check "$BUILD/bin/rgpud" --config "$TMP/apart.conf"
found "$TMP/apart.conf" 2 'a box of a pool asks for tickets'
found "$TMP/apart.conf" 5 'protection=privacy needs auth=ticket'
check "$BUILD/bin/rgpud" --config "$TMP/nothing.conf"
is $status 1 "a file that is not there"
like "$said" "cannot read configuration file=$TMP/nothing.conf" "is named"

# ---- rgpu-brokerd ----

mkdir "$TMP/state"
cat >"$TMP/good.conf" <<END
[broker]
listen = 127.0.0.1:0
socket = $TMP/broker.sock
state_dir = $TMP/state
[tickets]
cluster_key = $TMP/private.key
END
check "$BUILD/bin/rgpu-brokerd" --config "$TMP/good.conf"
is "$status $said" "0 rgpu-brokerd: the settings are in order" "settings of rgpu-brokerd that are in order"
is "$(ls "$TMP/state")" "" "nothing was started"

cat >"$TMP/bad.conf" <<END
[broker]
listen = unix:/somewhere, 10.0.0.1
socket = /$(printf '%0120d' 0)
state_dir = $TMP/nothing
log_level = loud
[tickets]
cluster_key = $TMP/public.key
lifetime = 1ms
max_ticket_lifetime = 1us
[auth]
key_file = $TMP/admin.keys
admins = root, no-such-user-here
schedulers = nor-this-one
[pool]
heartbeat = 10
away_after = 1s
END
check "$BUILD/bin/rgpu-brokerd" --config "$TMP/bad.conf"
is $status 1 "settings of rgpu-brokerd that are wrong"
found "$TMP/bad.conf" 2 'listen=unix:/somewhere is not HOST:PORT'
found "$TMP/bad.conf" 2 'listen=10.0.0.1 is not HOST:PORT'
found "$TMP/bad.conf" 3 'socket=.* is too long'
found "$TMP/bad.conf" 4 'state_dir='
found "$TMP/bad.conf" 5 'log_level=loud is not a level'
found "$TMP/bad.conf" 7 'cluster_key=.*it must belong to the user who reads it, with mode 0600'
found "$TMP/bad.conf" 8 '.tickets. lifetime must be'
found "$TMP/bad.conf" 9 'max_ticket_lifetime must not be shorter'
found "$TMP/bad.conf" 11 'key_file=.*No such file'
found "$TMP/bad.conf" 12 'admins: there is no user no-such-user-here'
found "$TMP/bad.conf" 13 'schedulers: there is no user nor-this-one'
found "$TMP/bad.conf" 15 'heartbeat=10 is not'
found "$TMP/bad.conf" 16 'away_after must be twice heartbeat'
is "$(errors)" 13 "and nothing else is wrong"

# ---- the shell ----

completed() {
    bash -c '. "$1"; PATH=$2:$PATH; COMP_WORDS=("$3" "$4"); COMP_CWORD=1; _rgpu_daemon; echo "${COMPREPLY[*]}"' \
        sh "$TOP/common/service/daemon.bash-completion" "$BUILD/bin" "$@"
}
is "$(completed rgpud --check)" "--check-config" "the shell completes it for rgpud"
is "$(completed rgpu-brokerd --check)" "--check --check-config" "and for rgpu-brokerd"
is "$(completed rgpu-brokerd state)" "" "and leaves to its own completion what is no option"

# ---- rgpu-slurm-sync ----

if [ ! -x "$BUILD/bin/rgpu-slurm-sync" ]; then
    skip "rgpu-slurm-sync is not built: Slurm's headers are not there"
    done_testing
fi
sync=(env RGPU_SLURM_CONF="$TMP/slurm.conf" "$BUILD/bin/rgpu-slurm-sync")
printf '[slurm]\nbroker = here:1\n' >"$TMP/slurm.conf"
check "${sync[@]}"
is "$status $said" "0 rgpu-slurm-sync: the settings are in order" "settings of rgpu-slurm-sync that are in order"
printf '[slurm]\nbroker = here:there\nbroker_key = %s\n' "$TMP/public.key" >"$TMP/slurm.conf"
check "${sync[@]}"
is $status 1 "settings of rgpu-slurm-sync that are wrong"
found "$TMP/slurm.conf" 2 'here:there is no address of a broker'
found "$TMP/slurm.conf" 3 'key file .*: it must belong to the user who reads it, with mode 0600'
printf '[jobs]\nranks = few\n[sync]\ninterval = 3\n' >"$TMP/slurm.conf"
check "${sync[@]}"
found "$TMP/slurm.conf" 2 'ranks=few is not one of all local'
found "$TMP/slurm.conf" 4 'interval=3 is not'
done_testing
