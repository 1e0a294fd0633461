# SPDX-License-Identifier: BSD-3-Clause
# Programs that hold data on a GPU and look at them when told to, for tests of what becomes of these meanwhile. After lib.sh.
declare -A say_to=()
# start_held NAME "MIB [NANOSECONDS]" COMMAND...: COMMAND runs the program, which has so much in each of three kinds of
# memory, and for which a kernel runs so long.
start_held() {
    local fd
    rm -f "$TMP/$1.in"
    mkfifo "$TMP/$1.in"
    exec {fd}<>"$TMP/$1.in"
    say_to[$1]=$fd
    start "$1" "${@:3}" bash -c 'exec "$1" $2 <"$3"' - "$BUILD/tests/held-data" "$2" "$TMP/$1.in"
}
# look NAME [TIMES]: it looks at its data and changes them.
look() { local i; for ((i = 0; i < ${2:-1}; i++)); do echo look >&"${say_to[$1]}"; done; }
