#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rgpuctl run sets the environment for a program and becomes it.
. "$(dirname "$0")/../lib.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"
start_box
ctl=$BUILD/bin/rgpuctl
ok "a CUDA program runs on the box named" "$ctl" run --box "$BOX" -- "$BUILD/tests/programs/saxpy"
status=0
"$ctl" run --box "$BOX" -- sh -c 'exit 7' || status=$?
is $status 7 "the program's status is rgpuctl's"
is "$("$ctl" run --box "$BOX" -- sh -c 'echo "$1 $RGPU_BOXES"' _ 'two words')" "two words $BOX" \
    "arguments and environment arrive"
status=0
"$ctl" run --box "$BOX" -- /no/such/program 2>/dev/null || status=$?
is $status 127 "a program that does not exist gives 127"
done_testing
