#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory that a program registers is mapped elsewhere on the box where something else lies there.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
run=(on_box RGPU_TRANSPORT=shm)
run_program "a file over addresses of freed device memory" "$BUILD/tests/registered-elsewhere"
done_testing
