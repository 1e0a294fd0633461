#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The box's management library is asked what only clients want while a client wants it, and hardly ever otherwise.
. "$(dirname "$0")/../lib.sh"

mkfifo "$TMP/wants"
exec 7<>"$TMP/wants"
start monitor bash -c 'exec "$0" "$1" 20 <"$2" >"$3"' "$BUILD/bin/rgpu-monitor" "$BUILD/tests/counting-nvml.so" \
    "$TMP/wants" "$TMP/rounds"
rounds() { grep -sc '^round$' "$TMP/rounds" || true; }
have_rounds() { [ "$(rounds)" -ge "$1" ]; }
answers() { grep -s '^answer ' "$TMP/rounds" | sort -u | wc -l; }

await "the rounds" have_rounds 40
is "$(answers)" 1 "in forty rounds it is asked once"
printf x >&7
has_new() { [ "$(answers)" -gt 1 ]; }
ok "when a client wants answers it is asked again" await "another answer" has_new
before=$(rounds)
await "the rounds" have_rounds $((before + 40))
ok "and goes on being asked, as who has looked looks again" [ "$(answers)" -gt 3 ]
done_testing
