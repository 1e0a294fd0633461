# SPDX-License-Identifier: BSD-3-Clause
# Processes of a lease (RGPU_TICKET) that hold memory as they are told. After broker.sh.
declare -A input=()

# program NAME: one process of the lease. tell NAME WORDS: its answer to a command.
program() {
    mkfifo "$TMP/$1.in"
    start "$1" env LD_LIBRARY_PATH="$BUILD/lib" sh -c 'exec "$0" <"$1"' "$BUILD/tests/broker-hold-memory" "$TMP/$1.in"
    exec {input[$1]}<>"$TMP/$1.in"
    await_line "$1" ready || bail "no session"
}
tell() { echo "${*:2}" >&"${input[$1]}"; await_line "$1" .; echo "$LINE"; }
