#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The manual's steps leave keys that their daemons can read and nobody else, whatever the umask is.
. "$(dirname "$0")/broker.sh"
[ "$(id -u)" = 0 ] || skip_all "files of other users need root"

start_broker
mkdir "$TMP/etc" "$TMP/bob"
export RGPU_BROKER=unix:$BROKER_SOCKET PATH=$BUILD/bin:$PATH
# The users of the units, as numbers; each host is this one; each file is under the test's directory.
BOX_USER=12345 BROKER_USER=12346 ALICE_USER=12347 BOB_USER=12348
steps=$(sed -n 's/^    //p' "$TOP/docs/admin/pool.md" | grep -E 'api\.keys|alice|bob|box-key|--make-key|chown' | grep -v '^sed' |
    sed "s|ssh root@gpu01|sh -c|; s|-o rgpu-broker|-o $BROKER_USER|g; s|-o rgpu |-o $BOX_USER |g; s|chown rgpu-broker:|chown $BROKER_USER|; s|-o alice|-o $ALICE_USER|; s|~alice|$TMP|; s|-o bob|-o $BOB_USER|; s|~bob|$TMP/bob|; s|/etc/rgpu|$TMP/etc|g")
is "$(wc -l <<<"$steps")" 9 "the manual's nine steps that make keys"
umask 000
ok "they work as they stand there" bash -euo pipefail -c "$steps"
umask 022
private() { stat -c '%a %u' "$TMP/etc/$1"; }
is "$(private cluster.key)" "600 $BROKER_USER" "the cluster's key is the broker's"
is "$(private api.keys)" "600 $BROKER_USER" "so are the shared keys"
is "$(private ../rgpu.key)" "600 $ALICE_USER" "an administrator's own key is the administrator's"
is "$(cat "$TMP/rgpu.key")" "$(grep '^admin ' "$TMP/etc/api.keys")" "and has one line"
is "$(private ../bob/rgpu.key)" "600 $BOB_USER" "a user's own key is the user's"
is "$(cat "$TMP/bob/rgpu.key")" "$(grep '^user.bob ' "$TMP/etc/api.keys")" "and one line of the broker's"
is "$(private box.key)" "600 $BOX_USER" "a box's key is its daemon's"
is "$(cat "$TMP/etc/box.key")" "$(api GET /v1/boxes/gpu01/key | at keys)" "which is the right one"
is "$(cut -d' ' -f1 "$TMP/etc/api.keys" | tr '\n' ' ')" "scheduler admin user.bob " "there is a shared key for each role and for the user"
done_testing
