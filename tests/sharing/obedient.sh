# SPDX-License-Identifier: BSD-3-Clause
# Programs that do what they are told while others run, for the tests in this folder.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# obedient NAME [VARIABLE=value...]: starts tests/programs/commanded with the driver in LIBRARIES.
declare -A told_fd=()
obedient() {
    local name=$1 fd
    shift
    rm -f "$TMP/$name.in"
    mkfifo "$TMP/$name.in"
    exec {fd}<>"$TMP/$name.in"
    told_fd[$name]=$fd
    start "$name" sh -c 'exec <"$1"; shift; exec "$@"' sh "$TMP/$name.in" \
        env LD_PRELOAD="$(preload_for_sanitizers)" LD_LIBRARY_PATH="$LIBRARIES" "$@" "$BUILD/tests/programs/commanded"
    await_line "$name" ready
}
# told NAME COMMAND: what it answers.
told() {
    echo "$2" >&"${told_fd[$1]}"
    await_line "$1"
    echo "$LINE"
}
dismiss() { stop "${line_pid[$1]}"; }
