# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of faults: programs that run on while others die.

ENDURE=$BUILD/tests/programs/endure

# workers: the worker processes of the box.
workers() { spawned "$BOX_PID" rgpu-worker || true; }

free_mib() { on_box "$ENDURE" --free; }

# free_again MIB: as much memory is free as before.
free_again() { [ "$(free_mib)" -ge "$1" ]; }

# start_session NAME [VARIABLE=VALUE...]: a session that computes and checks until it is stopped.
# Sets PID.
start_session() {
    local name=$1
    shift
    start "$name" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "$@" "$ENDURE"
    await_line "$name" '^round 1$' || bail "session $name does not start"
}

# goes_on NAME: the session completes further rounds.
goes_on() { drain "$1"; await_line "$1" '^round' && await_line "$1" '^round'; }

# comes_true COMMAND...: the command succeeds sooner or later; tells how long it took. How fast that is
# depends on the machine's load, so it is shown and not checked.
comes_true() {
    local begin=$EPOCHREALTIME
    await "$*" "$@" || return 1
    diag "after $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000)) ms: $*"
}
