# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of sessions with tickets: a box with a key, and tickets for it.

printf 'k1 %064d\n' 7 >"$TMP/box.key"
printf 'k1 %064d\n' 8 >"$TMP/other.key"
chmod 600 "$TMP/box.key" "$TMP/other.key"

# start_ticket_box [rgpud arguments]: one software GPU; sets BOX, BOX_LOG, ADMIN and GPU, its UUID.
start_ticket_box() {
    ADMIN=$TMP/admin.$boxes
    start_box --auth ticket --key-file "$TMP/box.key" --name gpubox --devices sim:1 --admin-socket "$ADMIN" "$@"
    GPU=$("$BUILD/bin/rgpuctl" devices --socket "$ADMIN" --json |
        python3 -c 'import json,sys; print(json.loads(sys.stdin.readline())["uuid"])')
}

# ticket_for ADDRESS [KEY [BOX]]: a ticket for the GPU; TICKET_PROTECTION=privacy asks for that.
ticket_for() {
    "$BUILD/tests/issue-ticket" "${2:-$TMP/box.key}" "$1" "${3:-gpubox}" 3600 \
        "protection=${TICKET_PROTECTION:-authenticate}" "$GPU"
}

# with_ticket TICKET [NAME=value...] PROGRAM...
with_ticket() {
    local ticket=$1 preload
    shift
    preload=$(preload_for_sanitizers)
    env -u RGPU_BOXES ${preload:+LD_PRELOAD="$preload"} LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$ticket" "$@"
}
