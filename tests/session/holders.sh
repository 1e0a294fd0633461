# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of memory between processes: processes that do with it what they are told.
. "$TOP/tests/session/tickets.sh"
MIB=$((1024 * 1024))

# holder NAME LEASE [OWNER]: a process of that lease, with 256 MiB, which does what it is told.
declare -A to pid
holder() {
    local in ticket
    mkfifo "$TMP/$1.in"
    exec {in}<>"$TMP/$1.in"
    ticket=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" gpubox 3600 "lease=$2" "owner=${3:-1000}" shared=$((256 * MIB)) "$GPU")
    start "$1" env LD_PRELOAD="$(preload_for_sanitizers)" LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$ticket" \
        bash -c 'exec "$1" <"$2"' - "$BUILD/tests/token-holder" "$TMP/$1.in"
    to[$1]=$in pid[$1]=$PID
    await_line "$1" ready
}
# tell NAME COMMAND...: its answer.
tell() {
    local name=$1
    shift
    echo "$*" >&"${to[$name]}"
    await_line "$name"
    echo "$LINE"
}
left() { tell "$1" left | sed 's/left //'; }
forged() { echo "${1:0:20}$([ "${1:20:1}" = 0 ] && echo 1 || echo 0)${1:21}"; }
