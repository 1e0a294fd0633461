#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Somebody between client and box who changes, drops, repeats or cuts off any byte of a login is noticed.
# STRIDE=1 tries every byte; otherwise every third one, each time another bit.
. "$(dirname "$0")/stub.sh"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_stub_box --auth ticket --key-file "$TMP/box.key" --name stubbox --warm-workers 2
RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" stubbox 3600 GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1)
export RGPU_TICKET
pass_on "$BUILD/tests/tampered-login" "$BOX" "${STRIDE:-3}"
ok "the box serves afterwards as before" "$CLIENT" "$BOX" echo hi
done_testing
