#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What copies show of their paths is kept by the box, for the next session and its own next start; and the box or the
# program forces a path.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
program=$BUILD/tests/path-copies
mkdir "$TMP/state"
box() { start_box --devices sim:1 --state-dir "$TMP/state" --admin-socket "$TMP/socket" "$@"; }
paths() { "$BUILD/bin/rgpuctl" paths --socket "$TMP/socket" "$@"; }
is_kept() { paths --json | grep -q "\"transport\":\"$1\".*\"copies\":\"to\",\"pattern\":\"latency\",\"size\":4096"; }
# Bytes that the program sent on the link.
sent() {
    on_box RGPU_STATS=1 "$@" "$program" 2>&1 >/dev/null | sed -n 's/.* \([0-9]*\) bytes sent on the link.*/\1/p'
}

box
is "$(paths --json)" "" "a new box knows nothing"
for transport in shm tcp; do
    run=(on_box RGPU_TRANSPORT=$transport)
    run_program "copies are right while their paths are tried over $transport" "$program"
    await "what is known of $transport" is_kept $transport
    pass "and the box has what came of it"
done
like "$(paths)" '127\.0\.0\.1 +GPU-[0-9a-f-]+ +shm +to +latency +4\.0K +(inline|staged) ' "people see it"
for paths in inline staged "staged, inline" direct; do
    run=(on_box "RGPU_PATHS=$paths")
    run_program "copies are right where $paths is forced" "$program"
done
many=$((6000 * 4096)) few=$((3000 * 4096))
ok "what is forced inline travels on the link" test "$(sent RGPU_PATHS=inline)" -gt $many
ok "what is staged does not" test "$(sent RGPU_PATHS=staged)" -lt $few
run_wrong() { on_box RGPU_PATHS=pigeon "$program" 2>&1 || true; }
like "$(run_wrong)" 'RGPU_PATHS is neither auto nor a list of' "another word is refused"

known=$(paths --json | sort)
stop "$BOX_PID"
ok "they are in a file" test -s "$TMP/state/paths"
printf 'nonsense\n127.0.0.1 GPU-1 shm 0 0 12 9 1 1 1 1 1\n' >>"$TMP/state/paths"
box --paths=staged
is "$(paths --json | sort)" "$known" "the next start of the box knows the same, whatever else is in the file"
like "$(cat "$BOX_LOG")" 'paths of copies is damaged path=.* lines=2;' "and says that something is wrong"
ok "the box forces a path as well" test "$(sent)" -lt $few
ok "unless the program does" test "$(sent RGPU_PATHS=inline)" -gt $many
stop "$BOX_PID"
fails "a path that does not exist is refused" \
    "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 127.0.0.1:0 --paths=pigeon
like "$(cat "$TMP/ok.out")" 'paths=pigeon is neither auto nor a list of' "with those that do"
done_testing
