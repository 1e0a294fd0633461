#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The box that lends shares for the study of sharing gives each client a budget of its own, and as much of the GPU as it says.
. "$(dirname "$0")/../lib.sh"
requires python3
programs=$TOP/bench/studies/programs
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export TMPDIR=$TMP
start lent python3 "$programs/lent_box.py" "$BUILD" "$port" 2 25 sim:1
await_line lent ready || bail "the box is not ready"
declare -A input=()
# client NUMBER: one client of the study; tell NUMBER WORDS: its answer to a command.
client() {
    mkfifo "$TMP/$1.in"
    start "client$1" env LD_LIBRARY_PATH="$BUILD/lib" STUDY_LENT_PORT="$port" STUDY_CLIENT="$1" sh -c 'exec "$@" <"$0"' \
        "$TMP/$1.in" python3 "$programs/with_budget.py" "$BUILD/tests/broker-hold-memory"
    exec {input[$1]}<>"$TMP/$1.in"
    await_line "client$1" ready || bail "no session of client $1"
}
tell() { echo "${*:2}" >&"${input[$1]}"; await_line "client$1" .; echo "$LINE"; }
client 0
client 1
budget=$(tell 0 total | cut -d' ' -f2)
ok "a client has a part of the GPU" [ "${budget:-0}" -gt 0 ]
is "$(tell 1 total)" "total $budget" "each the same"
is "$(tell 0 take $((budget * 3 / 4)))" CUDA_SUCCESS "one takes most of its budget"
is "$(tell 1 take $((budget * 3 / 4)))" CUDA_SUCCESS "and the other as much of its own"
is "$(tell 1 take $((budget / 2)))" CUDA_ERROR_OUT_OF_MEMORY "but no more than that"
is "$(LD_LIBRARY_PATH=$BUILD/lib RGPU_BOXES=127.0.0.1:$port timeout 60 "$BUILD/tests/programs/saxpy" >/dev/null 2>&1 && echo in || echo out)" \
    out "without a ticket nobody is served"
done_testing
