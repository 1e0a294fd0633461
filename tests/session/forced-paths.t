#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copies are right by every path; the box or the program forces one.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
program=$BUILD/tests/path-copies
# Bytes that the program sent on the link.
sent() {
    on_box RGPU_STATS=1 "$@" "$program" 2>&1 >/dev/null | sed -n 's/.* \([0-9]*\) bytes sent on the link.*/\1/p'
}

start_box --devices sim:1
for transport in shm tcp; do
    run=(on_box RGPU_TRANSPORT=$transport)
    run_program "copies over $transport are right" "$program"
done
for paths in inline staged "staged, inline" direct; do
    run=(on_box "RGPU_PATHS=$paths")
    run_program "copies are right where $paths is forced" "$program"
done
many=$((6000 * 4096)) few=$((3000 * 4096))
ok "what is forced inline travels on the link" test "$(sent RGPU_PATHS=inline)" -gt $many
ok "what is staged does not" test "$(sent RGPU_PATHS=staged)" -lt $few
run_wrong() { on_box RGPU_PATHS=pigeon "$program" 2>&1 || true; }
like "$(run_wrong)" 'RGPU_PATHS is neither auto nor a list of' "another word is refused"
stop "$BOX_PID"

start_box --devices sim:1 --paths=staged
ok "the box forces a path as well" test "$(sent)" -lt $few
ok "unless the program does" test "$(sent RGPU_PATHS=inline)" -gt $many
stop "$BOX_PID"
fails "a path that does not exist is refused" \
    "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 127.0.0.1:0 --paths=pigeon
like "$(cat "$TMP/ok.out")" 'paths=pigeon is neither auto nor a list of' "with those that do"
done_testing
