#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Page-locked memory of a session over shm is in the program's memory before it is written for the first time.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
run=(on_box RGPU_TRANSPORT=shm)
run_program "32 MiB of it" "$BUILD/tests/pinned-faults"
done_testing
