#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Links in the directory of a GPU's MPS daemon, which its user may have put there, have nothing outside removed.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || skip_all "only root gives the MPS daemon a user of its own"

chmod 755 "$TMP"
user=2000000999
mkdir "$TMP/state"
echo revoked >"$TMP/state/revocations"
log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
mps_box() { start_box --devices sim:1 --sharing mps --mps-directory "$TMP/mps" "$@"; }
kept() { is "$(cat "$TMP/state/revocations" 2>&1)" revoked "$1"; }
# The directory as an earlier release had it: the daemon's group writes in it.
plant() {
    rm -rf "$TMP/mps"
    install -d -m 711 "$TMP/mps"
    install -d -g $user -m 770 "$TMP/mps/0"
    "$@"
}
serves() { on_box "$BUILD/tests/programs/saxpy"; }

plant ln -s "$TMP/state" "$TMP/mps/0/pipe"
mps_box --mps-fallback time
await "a daemon that does not start" log_has 'the MPS daemon is gone failures=1 .*mps_directory' &&
    pass "the folder is refused" || fail "the folder is refused"
kept "a link in place of the pipe's folder"
stop "$BOX_PID"

plant install -d -g $user -m 771 "$TMP/mps/0/pipe"
ln -s "$TMP/state/revocations" "$TMP/mps/0/pipe/control"
ln -s "$TMP/state" "$TMP/mps/0/pipe/log"
mps_box
ok "a program runs beside links that are in the pipe's folder" serves
kept "which are removed, and not what they lead to"
is "$(stat -c '%u %g %a' "$TMP/mps" "$TMP/mps/0" "$TMP/mps/0/pipe" "$TMP/mps/0/log" | tr '\n' ' ')" \
    "0 0 711 0 $user 750 0 $user 771 0 $user 770 " "the daemon's user writes in the two folders of its own, and in nothing above them"
supervisor=$(spawned "$BOX_PID" -f "rgpu-mps ")
is "$(awk '/^Uid/ { print $2, $3, $4, $5 }' "/proc/$supervisor/status")" "$user $user $user $user" "its supervisor is its user"
is "$(awk '/^Cap(Prm|Eff)/ { print $2 }' "/proc/$supervisor/status" | sort -u)" 0000000000000000 "without a capability"
stop "$BOX_PID"
done_testing
