# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of suspended sessions, on a box whose administration socket is $TMP/admin.
. "$TOP/tests/session/faults.sh"
. "$TOP/tests/session/held.sh"

ctl() { "$BUILD/bin/rgpuctl" "$@" --socket "$TMP/admin"; }

# hold NAME "MIB [NANOSECONDS]" [VARIABLE=VALUE...]: a program of start_held that has its data.
hold() {
    local name=$1 mib=$2 where=("RGPU_BOXES=$BOX")
    shift 2
    [[ "$*" != RGPU_TICKET=* ]] || where=() # which says where
    start_held "$name" "$mib" env LD_LIBRARY_PATH="$BUILD/lib" "${where[@]}" "$@"
    await_line "$name" ready || bail "$name does not start"
}

last_session() { ctl sessions --json | sed -n 's/.*"session":\([0-9]*\).*/\1/p' | sort -n | tail -n 1; }
state_of() { ctl sessions --json | grep "\"session\":$1," | sed -n 's/.*"suspension":"\([^"]*\)".*/\1/p'; }
is_state() { [ "$(state_of "$1")" = "$2" ]; }
worker_of() { ctl sessions --json | sed -n "s/.*\"session\":$1,\"pid\":\([0-9]*\).*/\1/p"; }
taken() { ctl devices --json | sed -n 's/.*"driver_bytes":\([0-9]*\).*/\1/p'; }
taken_below() { local now; now=$(taken); [ -z "$now" ] || [ "$now" -lt $(($1 << 20)) ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }
log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
