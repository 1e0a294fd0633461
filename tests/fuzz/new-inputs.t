#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# (seconds: 1500) Every decoder takes inputs that nobody has tried before, for 10 seconds each under the sanitizers. A seed of
# its own makes each check try others; SEED=N tries the same again, as far as the machine's speed allows.
. "$(dirname "$0")/../lib.sh"
requires clang python3
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "the targets have sanitizers of their own"

env -u MAKEFLAGS -u MFLAGS make --no-print-directory -C "$TOP" "-j$(nproc)" fuzz-programs >"$TMP/make.log" 2>&1 ||
    { tail -n 20 "$TMP/make.log" >&2; bail "the targets cannot be built"; }
BUILD=$(tail -n 1 "$TMP/make.log")
export BUILD
targets=("$BUILD"/fuzz/*)
status=0
python3 "$TOP/tests/fuzz/campaign.py" --tap --each --seconds 10 --seed "${SEED:-$(date +%s)}" "${targets[@]##*/}" || status=$?
tap_finished=yes
exit $status
