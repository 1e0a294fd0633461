#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Another user of the host reads the names of the sockets of workers. He takes them in the client's network namespace, if the
# box is in another one: the client does not come to him, and gives him no token. Or he fills the queues of the sockets: the
# client gets shared memory all the same.
. "$(dirname "$0")/../lib.sh"
requires unshare nsenter setpriv
[ "$(id -u)" = 0 ] || skip_all "no right to be other users here"
unshare --net true 2>/dev/null || skip_all "no right to make network namespaces here"
start side unshare --net bash -c 'ip link set lo up; echo up; exec tail -f /dev/null'
side=$PID
await_line side '^up' || bail "no namespace"
sockets=$TMP/s
mkdir -m 0711 "$sockets"
chmod a+x "$TMP"
share "$TOP/tests/session/squatter.py" "$TOP/tests/session/queue_filler.py"

start box nsenter --net="/proc/$side/ns/net" "$BUILD/bin/rgpud" --standalone --devices sim:1 \
    --client-sockets "$sockets" --listen "127.0.0.1:0,unix:$sockets/box"
await_line box '127.0.0.1' || bail "the box did not start"
BOXES=unix:$sockets/box
start squatter setpriv --reuid 12345 --regid 12345 --clear-groups /usr/bin/env python3 "$SHARED/squatter.py" "$side"
await_line squatter '^taken rgpu-' || bail "the other user does not get the name"

ok "a program computes" on_box RGPU_LOG=info "$BUILD/tests/programs/saxpy"
like "$(cat "$TMP/ok.out")" 'transport=tcp .*another network namespace' "over the connection that there is"
ok "where the box's directory of sockets is known" on_box RGPU_LOG=info RGPU_CLIENT_SOCKETS="$sockets" "$BUILD/tests/programs/saxpy"
like "$(cat "$TMP/ok.out")" 'transport=shm' "it computes over shared memory"
came=
while read_line squatter 0.5; do
    case $LINE in came*) came+="$LINE " ;; esac
done
is "$came" "" "nothing has come to the other user"

start filler nsenter --net="/proc/$side/ns/net" setpriv --reuid 12345 --regid 12345 --clear-groups \
    /usr/bin/env python3 "$SHARED/queue_filler.py"
await_line filler '^full rgpu-' || bail "the other user does not fill a queue"
ok "beside a user who fills queues a program computes" on_box RGPU_LOG=info nsenter --net="/proc/$side/ns/net" \
    "$BUILD/tests/programs/saxpy"
like "$(cat "$TMP/ok.out")" 'transport=shm' "over shared memory"
done_testing
