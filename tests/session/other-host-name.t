#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A client in a container of its own on the box's host (another host name, another mount
# namespace, its own /tmp and /dev/shm) is still on the same host: it gets shared memory.
. "$(dirname "$0")/../lib.sh"
requires unshare
unshare --uts --mount true 2>/dev/null || skip_all "no right to make namespaces here"
start_box
cat >"$TMP/inside" <<'END'
set -e
hostname some-container
mount -t tmpfs tmpfs /dev/shm
mkdir -p "$1/empty"
mount -t tmpfs tmpfs "$1/empty"
exec "$2"
END
for program in saxpy pinned copies; do
    status=0
    on_box RGPU_LOG=info unshare --uts --mount bash "$TMP/inside" "$TMP/$program" \
        "$BUILD/tests/programs/$program" >"$TMP/out" 2>&1 || status=$?
    is $status 0 "$program computes in a container"
    [ $status = 0 ] || diag "$(tail -n 20 "$TMP/out")"
    like "$(cat "$TMP/out")" 'transport.*shm' "$program: over shared memory, as the log says"
done
done_testing
