#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A GPU that is served exclusively takes no session of a second lease, whatever tickets there are;
# shares of several leases go together.
. "$(dirname "$0")/stub.sh"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_stub_box --auth ticket --key-file "$TMP/box.key" --name stubbox
FIRST=GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0 SECOND=GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1
ticket() { RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" stubbox 3600 "$@"); export RGPU_TICKET; }
try() { "$CLIENT" "$BOX" echo hi 2>&1 || true; }

ticket lease=one $FIRST
hold one
await_line one 'open session'
like "$(try)" echoed "another process of the lease"
ticket lease=two $FIRST
like "$(try)" 'error result=.* in use by another lease \(one\)' "no process of a second one"
ticket lease=two $SECOND $FIRST
like "$(try)" 'error result=.* in use by another lease \(one\)' "nor where the GPU is not its only one"
ticket lease=two shared=1048576 $FIRST
like "$(try)" 'error result=.* in use by another lease \(one\)' "nor one with a share"
ticket lease=two $SECOND
like "$(try)" echoed "beside it, on the other GPU"
release one
ticket lease=two $FIRST
ok "when its sessions are over, the second" await "a session" "$CLIENT" "$BOX" echo hi

ticket lease=three shared=1048576 $SECOND
hold three
await_line three 'open session'
ticket lease=four shared=1048576 $SECOND
like "$(try)" echoed "two shares go together"
ticket lease=five $SECOND
like "$(try)" 'error result=.* in use by another lease \(three\)' "but no exclusive lease beside them"
done_testing
