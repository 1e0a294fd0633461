# SPDX-License-Identifier: BSD-3-Clause
# Starting rgpud with the stub worker, for the tests in this folder.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# Workers are other users, and read what a test gives to them.
chmod a+x "$TMP"

CLIENT=$BUILD/tests/probe-client

# start_stub_box [VARIABLE=value...] [rgpud arguments]: sets BOX, BOX_PID, BOX_LOG and ADMIN.
start_stub_box() {
    launch_stub_box "$@"
    await_stub_box
}

launch_stub_box() {
    local variables=()
    while [[ ${1:-} == [A-Z]*=* ]]; do variables+=("$1"); shift; done
    boxes=$((boxes + 1)) BOX_NAME=stub$boxes
    ADMIN=$TMP/$BOX_NAME.sock BOX_LOG=$TMP/$BOX_NAME.log
    start "$BOX_NAME" env RGPU_SIM_DEVICES=2 "${variables[@]}" ${BOX_PREFIX:-} "$BUILD/bin/rgpud" --standalone \
        --devices sim:2 --driver stub --worker-program "$BUILD/tests/stub-worker" \
        --listen 127.0.0.1:0 --admin-socket "$ADMIN" "$@"
    BOX_PID=$PID
}

await_stub_box() {
    await_line "$BOX_NAME" '^rgpud: ready listen=([^ ]+) ' || bail "the box did not start"
    [[ $LINE =~ listen=([^ ]+) ]]
    BOX=${BASH_REMATCH[1]}
}

# hold NAME: a client that opens a session and keeps it until `release NAME`.
declare -A hold_fd=()
hold() {
    local name=$1 fd
    shift
    mkfifo "$TMP/$name.in"
    exec {fd}<>"$TMP/$name.in"
    hold_fd[$name]=$fd
    start "$name" sh -c 'exec <"$1"; shift; exec "$@"' sh "$TMP/$name.in" "$CLIENT" "$BOX" hold "$@"
}
hold_pid() { echo "${line_pid[$1]}"; }
# Kills the holder: its end is what the box must notice.
release() {
    kill "${line_pid[$1]}" 2>/dev/null || true
    wait "${line_pid[$1]}" 2>/dev/null || true
}

log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
await_log() { await "log line /$1/" log_has "$1" || { fail "log: $1"; return 1; }; }
admin() { "$BUILD/bin/rgpuctl" "$@" --socket "$ADMIN" --json; }
# The value of one member of the JSON object on standard input.
member() { python3 -c 'import json,sys; print(json.loads(sys.stdin.readline())[sys.argv[1]])' "$1"; }
alive() { kill -0 "$1" 2>/dev/null; }
gone() { ! alive "$1"; }
# A process that has ended but was not waited for is a zombie, and that counts as gone.
ended() { ! [ -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"; }

# pass_on PROGRAM...: its checks, one by one, and that it ends well.
pass_on() {
    local status=0 line
    "$@" >"$TMP/checks" || status=$?
    while read -r line; do
        case $line in
        ok*) pass "${line#* - }" ;;
        not*) fail "${line#* - }" ;;
        \#*) echo "$line" ;;
        esac
    done <"$TMP/checks"
    is "$status" 0 "the program ends well"
}
