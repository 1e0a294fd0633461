# SPDX-License-Identifier: GPL-2.0-or-later
# A real Slurm cluster in the test's directory: munged, slurmdbd with its database, slurmctld under
# the SlurmUser and three slurmds on this host, set up as a site does it: Slurm's own intervals of
# scheduling, accounting with limits, a container for each job. For tests of rgpu in it, a broker with
# two boxes of two software GPUs each.
#
# What a site has and this cannot: control groups, which all slurmds of a host would share.
. "$(dirname "${BASH_SOURCE[0]}")/../broker/broker.sh"

# Debian keeps daemons where users have no path to.
PATH=$PATH:/usr/sbin:/sbin
SLURM_DIR=$TMP/slurm
SLURM_NODES=(n1 n2 n3)
# Where users may not look, as in a home, Slurm's commands do not take plugins from.
PLUGINS=$TMP/share/slurm
# Two ordinary users, whom every Debian has.
ALICE=daemon BOB=games
# A node that does not answer for so long is down; a loaded machine may keep it from answering.
DOWN_SECONDS=${DOWN_SECONDS:-300}

require_slurm() {
    requires munged slurmctld slurmdbd mariadbd slurmd sbatch srun salloc scancel setpriv
    [ "$(id -u)" = 0 ] || skip_all "jobs of several users need root"
    [ -z "${SAN:-}" ] || skip_all "a sanitized plugin cannot be loaded into Slurm's daemons"
}

require_plugins() {
    require_slurm
    [ -e "$BUILD/lib/slurm/gres_rgpu.so" ] || skip_all "the plugins are not built: Slurm's headers are missing"
}

# free_ports N: prints N TCP ports that nobody listens on just now, below those that the kernel gives
# to connections: one of them could take the port before its daemon does.
free_ports() {
    python3 -c '
import random, socket, sys
held = []
while len(held) < int(sys.argv[1]):
    try:
        held.append(socket.create_server(("", random.randrange(12000, 32000))))
    except OSError:
        pass
print(*[s.getsockname()[1] for s in held])' "$1"
}

start_munged() {
    local dir=$SLURM_DIR/munge
    mkdir -p "$dir"
    chmod 711 "$TMP" "$SLURM_DIR" "$dir"
    MUNGE_SOCKET=$dir/socket
    head -c 128 /dev/urandom >"$dir/key"
    chmod 600 "$dir/key"
    start munged munged --foreground --force --key-file="$dir/key" --socket="$MUNGE_SOCKET" \
        --pid-file="$dir/pid" --log-file="$dir/log" --seed-file="$dir/seed"
    await "munged" munge -n -S "$MUNGE_SOCKET"
}

# slurm_settings [LINE...]: writes slurm.conf; lines given here end it.
slurm_settings() {
    local host ports node i=2
    host=$(hostname -s)
    read -ra ports <<<"$(free_ports $((${#SLURM_NODES[@]} + 2)))"
    install -d -o slurm "$SLURM_DIR/state"
    install -o slurm /dev/null "$SLURM_DIR/slurmctld.log"
    accounting_settings "${ports[1]}" "$host"
    {
        cat <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket=$MUNGE_SOCKET,cred_expire=15
CredType=cred/munge
StateSaveLocation=$SLURM_DIR/state
SlurmdSpoolDir=$SLURM_DIR/spool-%n
SlurmctldPidFile=$SLURM_DIR/state/slurmctld.pid
SlurmdPidFile=$SLURM_DIR/slurmd-%n.pid
SlurmctldLogFile=$SLURM_DIR/slurmctld.log
SlurmdLogFile=$SLURM_DIR/slurmd-%n.log
PlugStackConfig=$SLURM_DIR/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=${ports[1]}
AccountingStoragePass=$MUNGE_SOCKET
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=license/rgpu,license/rgpu_mem
PriorityType=priority/multifactor
PrologFlags=Contain
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=bf_licenses,allow_zero_lic
ReturnToService=2
SlurmdTimeout=$DOWN_SECONDS
MessageTimeout=60
KillWait=${KILL_WAIT:-3}
MailProg=/bin/true
END
        for node in "${SLURM_NODES[@]}"; do
            echo "NodeName=$node NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[$i]} CPUs=8" \
                "RealMemory=1000 ${NODE_EXTRA:-}"
            i=$((i + 1))
        done
        echo "PartitionName=p Nodes=ALL Default=YES State=UP OverSubscribe=NO"
        printf '%s\n' "$@"
    } >"$SLURM_DIR/slurm.conf"
    # Processes are found without control groups, which newer versions insist on unless told.
    if [[ $(slurmd -V) =~ \ (2[4-9]|[3-9][0-9])\. ]]; then
        echo CgroupPlugin=disabled >"$SLURM_DIR/cgroup.conf"
    fi
    [ -e "$SLURM_DIR/plugstack.conf" ] || : >"$SLURM_DIR/plugstack.conf"
    chmod 644 "$SLURM_DIR/slurm.conf" "$SLURM_DIR/plugstack.conf"
    export SLURM_CONF=$SLURM_DIR/slurm.conf
}

# ---- accounting ----

accounting_settings() {
    install -m 600 -o slurm /dev/stdin "$SLURM_DIR/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$MUNGE_SOCKET
DbdHost=$2
DbdAddr=127.0.0.1
DbdPort=$1
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_acct
LogFile=$SLURM_DIR/state/slurmdbd.log
PidFile=$SLURM_DIR/state/slurmdbd.pid
END
}

# as_slurm COMMAND...: under the SlurmUser; ends with the test, as everything that is started.
as_slurm() { start "$1" setpriv --reuid slurm --regid slurm --init-groups --pdeathsig KILL "${@:2}"; }

# start_database: MariaDB over $SLURM_DIR/database, and slurmdbd.
start_database() {
    as_slurm mariadbd "${DATABASE[@]}" --socket="$SLURM_DIR/database/socket" \
        --pid-file="$SLURM_DIR/database/pid" --skip-networking
    DATABASE_PID=$PID
    await "the database" test -S "$SLURM_DIR/database/socket"
    as_slurm slurmdbd env MYSQL_UNIX_PORT="$SLURM_DIR/database/socket" slurmdbd -D
    await "slurmdbd" sacctmgr -n show cluster
}

# make_accounting DIRECTORY: makes the database there, with an account that everybody of these tests is in.
make_accounting() {
    # MariaDB's own files, which newer versions name after it.
    local tables=/usr/share/mariadb/mariadb_system_tables
    [ -e "$tables.sql" ] || tables=/usr/share/mysql/mysql_system_tables
    install -d -o slurm "$SLURM_DIR/database"
    # slurmdbd would make its own database, but with MariaDB's library 3.4.10 it reads no answer after that.
    { printf '%s\n' 'create database slurm_acct;' 'create database mysql;' 'use mysql;'; cat "$tables".sql "$tables"_data.sql; } |
        setpriv --reuid slurm --regid slurm --clear-groups "${DATABASE[@]}" --bootstrap \
            2>"$TMP/bootstrap.log" || bail "the database was not made: $(tail -n 5 "$TMP/bootstrap.log")"
    start_database
    sacctmgr -i -Q >/dev/null add cluster test
    sacctmgr -i -Q >/dev/null add account everybody
    sacctmgr -i -Q >/dev/null add user "root,slurm,$ALICE,$BOB" account=everybody
    stop "$PID"
    stop "$DATABASE_PID"
    cp -a "$SLURM_DIR/database" "$1.$$"
    # Of two that make it at once, one has it.
    mv -T "$1.$$" "$1" 2>/dev/null || rm -rf "$1.$$"
}

# The database and slurmdbd. The database is a copy of one that is made once for each version of Slurm, as that takes half of the
# cluster's start.
start_accounting() {
    local made
    made=$BUILD/tests/slurm-accounting-$(slurmdbd -V | tr ' ' -)
    DATABASE=(mariadbd --no-defaults --datadir="$SLURM_DIR/database" --tmpdir="$SLURM_DIR/database" --skip-grant-tables
        --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M --innodb-log-file-size=16M)
    [ -d "$made" ] || make_accounting "$made"
    rm -rf "$SLURM_DIR/database"
    cp -a "$made" "$SLURM_DIR/database"
    start_database
}

# Both take variables for the daemon's environment. A slurmctld that was killed is started with -i: since
# 25.05 it ends if a file is missing that it writes only every few minutes.
start_slurmctld() {
    as_slurm slurmctld env "${DAEMON_ENV[@]}" slurmctld -D "$@"
    SLURMCTLD_PID=$PID
    await "slurmctld" scontrol_ping
}
start_slurmd() {
    mkdir -p "$SLURM_DIR/spool-$1"
    start "slurmd-$1" env "${DAEMON_ENV[@]}" slurmd -D -N "$1"
    SLURMD_PID[$1]=$PID
}
DAEMON_ENV=()
declare -A SLURMD_PID=()

scontrol_ping() { scontrol ping | grep -q 'UP$'; }
node_is() { [ "$(sinfo -h -n "$1" -N -o %T)" = "$2" ]; }
# A node is listed once for every partition that it is in.
nodes_idle() {
    [ "$(sinfo -h -N -o '%N %T' | sort -u | awk '{ print $2 }' | uniq -c | xargs)" = \
        "${#SLURM_NODES[@]} idle" ]
}

start_slurm() {
    local node
    start_accounting
    start_slurmctld -c
    for node in "${SLURM_NODES[@]}"; do start_slurmd "$node"; done
    await "idle nodes" nodes_idle || {
        tail -n 20 "$SLURM_DIR"/*.log | sed 's/^/#   /' >&2
        bail "the cluster did not start"
    }
}

# Steps outlive their slurmd: whatever has this cluster's configuration in its environment goes, except this session.
end_steps() {
    local found pid name session ours
    [ -n "${SLURM_CONF:-}" ] || return 0
    ours=$(ps -o sid= -p $$)
    found=$(grep -lzsxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ | cut -d/ -f3 | paste -sd,) || true
    [ -n "$found" ] || return 0
    while read -r pid session name; do
        [[ $session -ne $ours && $name =~ ^(slurmstepd|sleep|slurm_script|sh|bash|cat) ]] && kill -KILL "$pid" 2>/dev/null
    done < <(ps -o pid=,sid=,comm= -p "$found") || true
}
eval "$(declare -f stop_all | sed '1s/stop_all/stop_started/')"
stop_all() {
    stop_started
    end_steps
}

# as USER COMMAND...: as that user, with an environment of one's own.
as() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups \
        env HOME=/ USER="$user" LOGNAME="$user" "$@"
}

# batch USER ARGUMENT...: runs a batch job, prints its number, and fails unless the job completed. `sbatch --wait` looks every ten
# seconds only.
batch() {
    local job READY_SECONDS=400
    job=$(as "$1" sbatch --parsable "${@:2}") || return
    echo "$job"
    await "the end of job $job" job_ended "$job" && ! job_state "$job" | grep -vqx COMPLETED
}
job_ended() { ! grep -qE '^(PENDING|CONFIGURING|RUNNING|SUSPENDED|COMPLETING|)$' <<<"$(job_state "$1")"; }
job_state() { scontrol show job "$1" | sed -n 's/^ *JobState=\([A-Z_]*\).*/\1/p'; }
job_is() { [ "$(job_state "$1")" = "$2" ]; }
job_field() { scontrol show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"; }

# ---- rgpu in the cluster ----

# start_cuda_box NAME [rgpud arguments]: a box of the pool with two software GPUs.
start_cuda_box() {
    local name=$1
    shift
    mkdir -p "$TMP/box-$name"
    [ -e "$TMP/$name.boxkey" ] || {
        api GET "/v1/boxes/$name/key" | at keys >"$TMP/$name.boxkey"
        chmod 600 "$TMP/$name.boxkey"
    }
    start_box --name "$name" --auth ticket --key-file "$TMP/$name.boxkey" --broker "$BROKER" \
        --state-dir "$TMP/box-$name" "$@"
    declare -g "BOX_PID_$name=$PID"
    await "box $name in the pool" box_is "$name" up
}

# What jobs of other users need, where they can read it.
share_programs() {
    mkdir -p "$TMP/share/lib"
    cp "$BUILD/lib/libcuda.so.1" "$TMP/share/lib/"
    cp -r "$BUILD/lib/slurm" "$TMP/share/"
    cp "$BUILD"/tests/programs/{saxpy,matmul,devices,endure} "$TMP/share/"
    SAXPY=$TMP/share/saxpy DEVICES=$TMP/share/devices SHOW=$TMP/share/show-gpus
    cat >"$SHOW" <<'END'
#!/usr/bin/python3
# What a process may use, read from its ticket.
import base64, os
found = []
for line in open(os.environ["RGPU_TICKET_FILE"]):
    payload = line.split()[2].split(".")[1]
    claims = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode()
    found += [word.strip('"') for word in claims.replace(",", " ").replace(":", " ").split()
              if word.strip('"[]{}').startswith("GPU-")]
print(os.environ.get("SLURM_PROCID", "-"), "count=" + os.environ["RGPU_COUNT"], *sorted(found))
END
    chmod 755 "$SHOW"
    chmod -R a+rX "$TMP/share"
    mkdir -p -m 1777 "$TMP/work"
}

# rgpu_settings [LINE...]: the settings of the plugins; lines given here, and RGPU_JOBS, stand in [jobs].
RGPU_JOBS=()
rgpu_settings() {
    local line given=("${RGPU_JOBS[@]}" "$@")
    {
        printf '%s\n' '[slurm]' "broker = $BROKER" "munge_socket = $MUNGE_SOCKET" "broker_user = $(id -u)" \
            '[sync]' "interval = ${SYNC_INTERVAL:-300ms}" '[jobs]' "library = $TMP/share/lib" \
            "ticket_dir = $TMP/tickets"
        # A setting stands once: the test's own, where it has one.
        for line in 'acquire_wait = 3s' 'interactive_wait = 10s'; do
            [[ " ${given[*]}" == *" ${line%% *} ="* ]] || echo "$line"
        done
        [ ${#given[@]} = 0 ] || printf '%s\n' "${given[@]}"
    } >"$SLURM_DIR/rgpu.conf"
}

# Of the boxes that start_pool_cluster starts, by name: arguments, and what their GPUs can compute.
declare -A BOX_OPTIONS=() BOX_CAPABILITY=()
# start_pool_cluster [LINE...]: munged, the broker, two boxes, Slurm with the plugins. LICENSES, NODE_GRES
# and GRES_TYPES may be set before.
start_pool_cluster() {
    local box
    require_plugins
    start_munged
    start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
    # shellcheck disable=SC2086
    for box in box1 box2; do
        RGPU_SIM_CAPABILITY=${BOX_CAPABILITY[$box]:-9.0} start_cuda_box $box ${BOX_OPTIONS[$box]:-}
    done
    share_programs
    rgpu_settings
    DAEMON_ENV=(RGPU_SLURM_CONF="$SLURM_DIR/rgpu.conf")
    export RGPU_SLURM_CONF=$SLURM_DIR/rgpu.conf
    echo "optional $PLUGINS/spank_rgpu.so" >"$SLURM_DIR/plugstack.conf"
    NODE_EXTRA="Gres=${NODE_GRES:-rgpu:64}" slurm_settings \
        "PluginDir=$PLUGINS:$(slurm_plugin_dir)" "GresTypes=${GRES_TYPES:-rgpu}" JobSubmitPlugins=rgpu \
        PrEpPlugins=prep/script,prep/rgpu "Licenses=${LICENSES:-rgpu:2147483647,rgpu_mem:2147483647}" "$@"
    start_slurm
    cd "$TMP/work"
    unset RGPU_SLURM_CONF
}

# start_mixed_cluster NODES [LINE...]: the same with so many nodes, each of which has a GPU of its own, gpu:1, as well.
start_mixed_cluster() {
    # shellcheck disable=SC2207
    SLURM_NODES=($(seq -f n%g "$1"))
    mkdir -p "$SLURM_DIR"
    echo "NodeName=n[1-$1] Name=gpu File=/dev/null" >"$SLURM_DIR/gres.conf"
    chmod 644 "$SLURM_DIR/gres.conf"
    GRES_TYPES=rgpu,gpu NODE_GRES=rgpu:64,gpu:1 start_pool_cluster "${@:2}"
}

# rgpu-slurm-sync, as on the host of slurmctld.
start_sync() {
    as_slurm sync env RGPU_SLURM_CONF="$SLURM_DIR/rgpu.conf" "$BUILD/bin/rgpu-slurm-sync"
    SYNC_PID=$PID
    await_line sync 'is ready' || bail "rgpu-slurm-sync did not start"
}

# The GPUs in the output of $SHOW, each once.
uuids() { tr ' ' '\n' | grep -o 'GPU-[0-9a-f-]*' | sort -u; }
slurm_plugin_dir() {
    local prefix
    prefix=$(dirname "$(dirname "$(command -v slurmctld)")")
    dirname "$(ls -d "${prefix:-/usr}"/lib{,64,/*}/slurm*/select_cons_tres.so 2>/dev/null | head -n 1)"
}
leases() { api GET "/v1/leases${1:+?$1}" | at leases.#; }
no_leases() { [ "$(leases)" = 0 ]; }
leases_are() { [ "$(leases)" = "$1" ]; }
# What Slurm would still give to jobs: its licences less those in use and those parked.
free_licenses() {
    scontrol show license "$1" | tr ' ' '\n' | awk -F= '
        $1 == "Total" { t = $2 } $1 == "Used" { u = $2 } $1 == "Reserved" { r = $2 }
        END { print t - u - r }'
}
free_licenses_are() { [ "$(free_licenses "$1")" = "$2" ]; }
# What Slurm counts as used is what the leases of its jobs hold.
leased() { api GET "/v1/leases?key_prefix=slurm/" | python3 -c '
import json, sys
held = [hold for lease in json.load(sys.stdin)["leases"] for hold in lease["gpus"] if hold["held"]]
print(sum(hold["mode"] == "exclusive" for hold in held),
      sum(hold["memory"] + (1 << 20) - 1 >> 20 for hold in held if hold["mode"] == "shared"))'; }
counters_agree() { [ "$(leased)" = "$(license_field rgpu Used) $(license_field rgpu_mem Used)" ]; }
# granted_in_order JOB...: these jobs in the order in which the broker gave them GPUs, the last time each;
# Slurm's own times are whole seconds.
granted_in_order() {
    api GET "/v1/events?after=-200" | python3 -c '
import json, sys
granted = [event["detail"]["job"] for event in json.load(sys.stdin)["events"] if event["kind"] == "lease.granted"]
place = {job: i for i, job in enumerate(granted)}
print(*sorted(sys.argv[1:], key=lambda job: place["slurm job " + job]))' "$@"
}
# Tickets and their locks; a step that has just ended takes its own away.
no_tickets() { [ -z "$(ls -A "$TMP/tickets")" ]; }
pending_reason() { squeue -h -j "$1" -o %r; }
pending_for() { [ "$(pending_reason "$1")" = "$2" ]; }
license_field() { scontrol show license "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"; }
