#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The sessions of a team are suspended and resumed in the middle of its puts and collectives, one box after the other: whoever
# waits for them goes on afterwards, and the data are right. A member whose memory another box's GPU reaches is not suspended.
. "$(dirname "$0")/../lib.sh"

# start_two_boxes NAME [rgpud arguments]: sets BOXES.
start_two_boxes() {
    kind=$1
    start_box --devices sim:1 --admin-socket "$TMP/$kind.1" --suspend-timeout 300ms "${@:2}"
    BOXES=$BOX
    start_box --devices sim:1 --admin-socket "$TMP/$kind.2" --suspend-timeout 300ms "${@:2}"
    BOXES+=,$BOX
}
ctl() { local box=$1; shift; "$BUILD/bin/rgpuctl" "$@" --socket "$TMP/$kind.$box"; }
session() { ctl "$1" sessions --json | sed -n 's/.*"session":\([0-9]*\).*/\1/p'; }
runs() { kill -0 "${line_pid[$1]}" 2>/dev/null; }
# begin NAME TRANSPORT PROGRAM [ARGUMENT]: one of tests/team, whose input never ends.
begin() {
    start "$1" env "LD_PRELOAD=$(preload_for_sanitizers)" LD_LIBRARY_PATH="$BUILD/lib" RGPU_LOG=info "RGPU_BOXES=$BOXES" "RGPU_TRANSPORT=$2" \
        sh -c 'never=$1; shift; exec "$@" <"$never"' - "$TMP/never" "$BUILD/tests/team/$3" "${@:4}"
}
# disturb NAME: as long as that program runs its two sessions go and come back by turns. Sets AWAY to how often.
disturb() {
    local box=1 id
    AWAY=0
    while runs "$1"; do
        id=$(session $box)
        if [ -n "$id" ] && ctl $box suspend "$id" 2>>"$TMP/ctl.log"; then
            AWAY=$((AWAY + 1))
            ctl $box resume "$id" 2>>"$TMP/ctl.log" || true # the program may have ended
        fi
        box=$((3 - box))
    done
}

total=0
start_two_boxes far
for transport in shm tcp; do
    begin "puts-$transport" "$transport" puts
    disturb "puts-$transport"
    ok "$transport: puts and barriers come to their end" await_line "puts-$transport" '^1\.\.[1-9]'
    unlike "$(cat "$TMP/puts-$transport.log")" 'failed at|lost' "$transport: with all as it should be"
    total=$((total + AWAY))
done
ok "they have been away meanwhile" [ $total -gt 0 ]

export RGPU_SIM_STATE=$TMP/gpus
start_two_boxes near --peer-gpus=yes
unset RGPU_SIM_STATE
begin near shm bereaved
await_line near '^# waits' || bail "the program does not come to its wait"
logs "$TMP/near.log" 'the GPU of one box reaches another' "two GPUs that reach each other"
idle() { [ -z "$(session 1)$(session 2)" ]; }
for box in 1 2; do
    fails "have sessions that are not suspended" ctl $box suspend "$(session $box)"
    like "$(cat "$TMP/ok.out")" 'a GPU of another box reaches its memory, or its GPU that of another box' "which is said"
done
stop "${line_pid[near]}"
await "two idle boxes" idle
begin lent shm ../programs/peers lent
await_line lent '^# lent' || bail "the program does not come to its wait"
fails "nor is a session that has lent memory which it maps" ctl 2 suspend "$(session 2)"
done_testing
