#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Strangers that claim to continue a session's connection, clients that claim what cannot be, and one that claims twice.
. "$(dirname "$0")/../lib.sh"
start_box --devices sim:1
timeout 120 "$BUILD/tests/resume-claims" "$BOX" >"$TMP/claims" || true
ok "each is dealt with" grep -q '^1\.\.[1-9]' "$TMP/claims"
is "$(grep -c '^not ok' "$TMP/claims")" 0 "as it should be"
logs "$BOX_LOG" 'continues where this side cannot' "the log says of a session that it ends for wrong counters"
logs "$BOX_LOG" 'acknowledges what was not sent' "and for wrong acknowledgements"

mkfifo "$TMP/answer"
exec {answer}<>"$TMP/answer"
start proved sh -c "exec '$BUILD/tests/resume-claims' $BOX proved <'$TMP/answer'"
await_line proved '^# dead is' || bail "no sessions"
logs "$BOX_LOG" "session=${LINE##* } ended" "a client whose host has closed its connection is waited for seconds only"
echo ended >&$answer
ok "but not one that has proved itself since" await_line proved '^ok 2 '
ok "the box serves the next program" on_box RGPU_TRANSPORT=tcp "$BUILD/tests/programs/saxpy"
done_testing
