#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pool whose processes are killed and stopped, whose network is cut, whose clocks jump, whose disks
# are full and whose database is an older copy keeps every promise. A longer run: make check-kill.
[ -z "${SAN:-}" ] || { echo "1..0 # SKIP a sanitized program cannot be given another library first"; exit; }
here=$(dirname "$0")
command -v ip >/dev/null || { echo "1..0 # SKIP ip is not there"; exit; }
status=0
report=$("$here/in-a-machine-of-its-own" python3 "$here/campaign.py" --seconds "${KILL_SECONDS:-20}" --seed 1 ${KILL_ARGUMENTS:-} 2>&1) || status=$?
[ $status != 77 ] || { echo "1..0 # SKIP no right to make namespaces here"; exit; }
sed 's/^/# /' <<<"$report" >&2
[ $status = 0 ] || printf 'not '
echo "ok 1 - a pool under random faults keeps every promise"
echo 1..1
[ $status = 0 ]
