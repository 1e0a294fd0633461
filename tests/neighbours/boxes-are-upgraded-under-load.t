#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# (seconds: 900) A rolling upgrade: one of ten boxes after the other gets the programs of a release to come, and its rgpud is
# restarted, while a program computes under a lease on each. No session and no lease is lost, and new sessions are of that release.
. "$(dirname "$0")/../broker/broker.sh"
. "$(dirname "$0")/../broker/held_leases.sh"
. "$TOP/tests/neighbours/neighbours.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "other releases are not built with sanitizers"
BOXES=10

# A release whose messages are others, but for those that concern a session that runs.
next=$TMP/next
mkdir -p "$next"
cp -r "$TOP"/{Makefile,scripts,proto,common,transport,daemon} "$next"
sed -i 's/^VERSION := .*/VERSION := 98.7.6/' "$next/Makefile"
sed -i 's/^message 38 SETUP .*/&\n    novelty u32/' "$next/proto/control.spec"
build_neighbour "$next" build/bin/rgpud build/bin/rgpu-worker build/bin/rgpu-spawner

# install_of FOLDER BOX: the programs of that build, in the place of those that run.
install_of() {
    local file
    mkdir -p "$TMP/$2/bin"
    for file in rgpud rgpu-worker rgpu-spawner rgpu-monitor; do
        [ -e "$1/bin/$file" ] || continue
        cp "$1/bin/$file" "$TMP/$2/bin/$file.new"
        mv "$TMP/$2/bin/$file.new" "$TMP/$2/bin/$file"
    done
    ln -sfn "$BUILD/lib" "$TMP/$2/lib"
}
# start_installed BOX: its rgpud, beside its spawner.
start_installed() {
    start "$1" "$TMP/$1/bin/rgpud" --standalone --name "$1" --devices sim:1 --listen 127.0.0.1:0 --auth ticket --key-file "$TMP/$1.boxkey" \
        --broker "$BROKER" --state-dir "$TMP/$1/state" --spawner "$TMP/$1/orders.sock" --gpu-mode shared
    await_line "$1" '^rgpud: ready' || bail "$1 does not start"
}
right() { local name; for name; do look "$name" 3; done; for name; do for _ in 1 2 3; do await_line "$name" '^right' || return 1; done; done; }

start_broker
export RGPU_BROKER=unix:$BROKER_SOCKET
names=()
for ((i = 1; i <= BOXES; i++)); do
    box=box$i names+=("program$i")
    install_of "$BUILD" "$box"
    mkdir -p "$TMP/$box/state"
    api GET "/v1/boxes/$box/key" | at keys >"$TMP/$box.boxkey"
    chmod 600 "$TMP/$box.boxkey"
    start "spawner$i" "$TMP/$box/bin/rgpu-spawner" --standalone --name "$box" --devices sim:1 --orders "$TMP/$box/orders.sock" --for "$(id -u)"
    await "the spawner of $box" test -S "$TMP/$box/orders.sock"
    start_installed "$box"
    await "$box in the pool" box_is "$box" up
    hold_lease "program$i" 1 --mem 64M --constraint "box=$box" --transport "$([ $((i % 2)) = 0 ] && echo tcp || echo shm)"
done
ok "programs compute on ten boxes" right "${names[@]}"
for ((i = 1; i <= BOXES; i++)); do
    box=box$i
    install_of "$next/build" "$box"
    kill -USR1 "${line_pid[$box]}"
    wait "${line_pid[$box]}" || fail "rgpud of $box does not leave its sessions"
    start_installed "$box"
    ok "$box is upgraded: all programs compute on" right "${names[@]}"
    logs "$TMP/$box.log" 'session=1 is taken over' "$box: the session is taken over"
done
up_as() { [ "$("$BUILD/bin/rgpuctl" boxes --json | grep -c '"version":"98.7.6"')" = "$1" ]; }
ok "the pool has ten boxes of the release to come" await "their versions" up_as $BOXES
is "$("$BUILD/bin/rgpuctl" leases --json | grep -c '"state":"granted"')" $BOXES "and all leases"
ok "a new session is served by its workers" "$BUILD/bin/rgpuctl" run --mem 64M -- "$BUILD/tests/programs/saxpy"
ok "the invariants hold" invariants
done_testing
