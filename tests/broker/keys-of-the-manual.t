#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The manual's steps leave keys that their daemons can read and nobody else, whatever the umask is.
. "$(dirname "$0")/broker.sh"
[ "$(id -u)" = 0 ] || skip_all "files of other users need root"

start_broker
mkdir "$TMP/etc"
export RGPU_BROKER=unix:$BROKER_SOCKET PATH=$BUILD/bin:$PATH
# The users of the units, as numbers; each host is this one; each file is under the test's directory.
BOX_USER=12345 BROKER_USER=12346 ALICE_USER=12347
steps=$(sed -n 's/^    //p' "$TOP/docs/admin/pool.md" | grep -E 'api\.keys|alice|box-key|--make-key|chown' | grep -v '^sed' |
    sed "s|ssh root@gpu01|sh -c|; s|-o rgpu-broker|-o $BROKER_USER|g; s|-o rgpu |-o $BOX_USER |g; s|chown rgpu-broker:|chown $BROKER_USER|; s|-o alice|-o $ALICE_USER|; s|~alice|$TMP|; s|/etc/rgpu|$TMP/etc|g")
is "$(wc -l <<<"$steps")" 7 "the manual's seven steps that make keys"
umask 000
ok "they work as they stand there" bash -euo pipefail -c "$steps"
umask 022
private() { stat -c '%a %u' "$TMP/etc/$1"; }
is "$(private cluster.key)" "600 $BROKER_USER" "the cluster's key is the broker's"
is "$(private api.keys)" "600 $BROKER_USER" "so are the shared keys"
is "$(private ../rgpu.key)" "600 $ALICE_USER" "an administrator's own key is the administrator's"
is "$(cat "$TMP/rgpu.key")" "$(grep '^admin ' "$TMP/etc/api.keys")" "and has one line"
is "$(private box.key)" "600 $BOX_USER" "a box's key is its daemon's"
is "$(cat "$TMP/etc/box.key")" "$(api GET /v1/boxes/gpu01/key | at keys)" "which is the right one"
is "$(cut -d' ' -f1 "$TMP/etc/api.keys" | tr '\n' ' ')" "scheduler admin " "there is a shared key for each role"
done_testing
